"""Anthropic's Messages wire as facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.laws.facts.shape import (
    Facts,
    Piece,
    Tool,
    allowed,
    by_claude,
    change,
    counts,
    opaque,
    parsed,
    put,
)

STOPS = {
    "end_turn": "end_turn",
    "stop_sequence": "stop_sequence",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "tool_use": "tool_use",
    "refusal": "refusal",
    "pause_turn": "pause",
    "compaction": "pause",
}


def request(wire: Any) -> Facts:
    facts = Facts(lasts="5m")
    system = wire.get("system")
    for block in _blocks(system):
        facts.pieces += _piece("system", block)
    tools = [_tool(tool) for tool in wire.get("tools") or ()]
    facts.tools = tools
    for each in wire.get("messages") or ():
        message = {"role": "user", "content": each} if isinstance(each, str) else each
        for block in _blocks(message.get("content")):
            if block.get("type") in ("tool_addition", "tool_removal"):
                _change(facts, block)
            facts.pieces += _piece(message["role"], block)
        _configured(facts, message)
    facts.options = _options(wire)
    return facts


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or []


def _change(facts: Facts, block: Any) -> None:
    """A tool that is there from here on only."""
    name = (block.get("tool") or {}).get("name")
    for tool in facts.tools:
        if tool.name == name and block["type"] == "tool_addition":
            tool.since = len(facts.pieces)


def _configured(facts: Facts, message: Any) -> None:
    """What holds from this message on."""
    config = message.get("output_config") or {}
    fields = {"effort": config.get("effort"), "clear_at": message.get("clear_at")}
    fields["format"] = (config.get("format") or {}).get("schema")
    facts.pieces += [change(what, value) for what, value in fields.items() if value is not None]


def _piece(role: str, block: Any) -> list[Piece]:
    kind = block.get("type")
    cache = _cache(block)
    match kind:
        case "text":
            cites = tuple(_cited(each) for each in block.get("citations") or ())
            return [Piece("text", role, block["text"], cache=cache, cites=cites)]
        case "thinking":
            signature = block.get("signature") or None
            text = block["thinking"]
            return [Piece("thinking", role, text, signature=signature, issuer="anthropic")]
        case "redacted_thinking":
            return [Piece("redacted", role, data=block["data"], issuer="anthropic")]
        case "tool_use":
            return [
                Piece(
                    "call",
                    role,
                    id=block["id"],
                    name=block["name"],
                    data=block["input"],
                    cache=cache,
                    caller=(block.get("caller") or {}).get("tool_id"),
                )
            ]
        case "tool_result":
            return _result(block, cache)
        case "container_upload":
            return [Piece("document", role, data=block["file_id"], cache=cache)]
        case "image" | "document":
            return [_media(kind, role, block, cache)]
        case "compaction":
            data = block.get("encrypted_content")
            return [
                Piece(
                    "compaction",
                    role,
                    block.get("content") or "",
                    data=data,
                    signature=block.get("signature"),
                    issuer="anthropic",
                )
            ]
        case "search_result":
            texts = [part.get("text", "") for part in block.get("content") or ()]
            return [
                Piece(
                    "document",
                    role,
                    data="\n".join(texts),
                    title=block.get("title"),
                    name=block.get("source"),
                    cache=cache,
                )
            ]
        case "tool_reference":
            return [Piece("text", role, block["tool_name"])]
        case "tool_addition" | "tool_removal":
            return [change(kind.removeprefix("tool_"), (block.get("tool") or {}).get("name"))]
    return [opaque(role, block)]


def _cited(citation: Any) -> str:
    for key in ("url", "source", "file_id", "document_title", "title"):
        if isinstance(citation.get(key), str):
            return str(citation[key])
    return str(citation.get("cited_text") or citation.get("document_index"))


def _cache(block: Any) -> str | None:
    mark = block.get("cache_control")
    return (mark.get("ttl") or "") if isinstance(mark, dict) else None


def _result(block: Any, cache: str | None) -> list[Piece]:
    content = block.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    inner = [each for part in parts for each in _piece("tool", part)]
    texts = [piece.text for piece in inner if piece.kind == "text"]
    result = Piece("result", "tool", "\n".join(texts), block["tool_use_id"], cache=cache)
    result.is_error = block.get("is_error") is True
    return [result, *[piece for piece in inner if piece.kind != "text"]]


def _media(kind: str, role: str, block: Any, cache: str | None) -> Piece:
    source = block["source"]
    piece = Piece(kind, role, media_type=source.get("media_type"), cache=cache)
    piece.title = block.get("title") or None
    match source.get("type"):
        case "base64" | "text":
            piece.data = source["data"]
        case "url":
            piece.data = source["url"]
        case "file":
            piece.data = source["file_id"]
        case _:
            content = source.get("content")
            texts = [part.get("text", "") for part in _blocks(content)]
            piece.data = "\n".join(texts)
    return piece


def _tool(tool: Any) -> Tool:
    kind = tool.get("type") or "custom"
    if kind != "custom":
        return Tool(tool.get("name") or tool.get("mcp_server_name") or kind, kind)
    return Tool(
        tool["name"],
        "function",
        tool.get("description"),
        tool.get("input_schema"),
        tool.get("strict"),
        cache=_cache(tool),
        deferred=tool.get("defer_loading"),
        callers=allowed(tool.get("allowed_callers")),
    )


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, name in (
        ("max_tokens", "max_output_tokens"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("top_k", "top_k"),
        ("stop_sequences", "stop"),
        ("service_tier", "service_tier"),
        ("stream", "stream"),
    ):
        put(options, name, wire.get(key))
    put(options, "user", (wire.get("metadata") or {}).get("user_id"))
    put(options, "cache", _cache(wire))
    output = wire.get("output_config") or {}
    put(options, "reasoning.effort", output.get("effort"))
    budget = output.get("task_budget") or {}
    put(options, "task_budget.total", budget.get("total"))
    put(options, "task_budget.remaining", budget.get("remaining"))
    form = output.get("format") or wire.get("output_format") or {}
    if form.get("type") == "json_schema":
        options["response_format.kind"] = "json_schema"
        put(options, "response_format.schema", form.get("schema"))
    _thinking(wire.get("thinking") or {}, options)
    _compaction(wire.get("context_management") or {}, options)
    _choice(wire.get("tool_choice") or {}, options)
    return options


def _thinking(thinking: Any, options: dict[str, Any]) -> None:
    modes = {"enabled": "on", "disabled": "off"}
    kind = thinking.get("type")
    if kind is not None:
        options["reasoning.mode"] = modes.get(kind, kind)
    put(options, "reasoning.budget_tokens", thinking.get("budget_tokens"))
    display = thinking.get("display")
    if display is not None:
        options["reasoning.visible"] = display != "omitted"


def _compaction(management: Any, options: dict[str, Any]) -> None:
    edits = management.get("edits") or ()
    found = [edit for edit in edits if edit.get("type") == "compact_20260112"]
    if len(found) == 1:
        options["compaction"] = True
        put(options, "compaction.threshold", (found[0].get("trigger") or {}).get("value"))
        put(options, "compaction.instructions", found[0].get("instructions"))
        put(options, "compaction.pause", found[0].get("pause_after_compaction"))


def _choice(choice: Any, options: dict[str, Any]) -> None:
    kind = choice.get("type")
    if kind == "tool":
        options["tool_choice"] = ("any", (choice["name"],))
    elif kind is not None:
        options["tool_choice"] = (kind, ())
    off = choice.get("disable_parallel_tool_use")
    if off is not None:
        options["parallel_tool_calls"] = not off


def response(wire: Any) -> Facts:
    if wire.get("type") == "error" or "content" not in wire:
        reply = wire.get("error") or wire
        return Facts(error=str(reply.get("message") or reply.get("Message")))
    pieces = [each for block in wire["content"] for each in _piece("assistant", block)]
    facts = Facts(pieces, usage=usage(wire.get("usage") or {}))
    word = wire.get("stop_reason")
    facts.stop = STOPS.get(word, "other") if word is not None else None
    return facts


def usage(wire: Any) -> dict[str, int]:
    details = wire.get("output_tokens_details") or {}
    tokens = counts(
        input=wire.get("input_tokens"),
        cached=wire.get("cache_read_input_tokens"),
        creation=wire.get("cache_creation_input_tokens"),
        output=wire.get("output_tokens"),
        reasoning=details.get("thinking_tokens"),
    )
    return {**tokens, **by_claude(wire)}


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    found: list[Facts] = []
    message: dict[str, Any] | None = None
    for _, data in frames:
        kind = data.get("type") if isinstance(data, dict) else None
        if kind == "message_start":
            message = {**data["message"], "content": []}
            begun = enumerate(data["message"].get("content") or ())
            whole: dict[int, dict[str, Any]] = {at: dict(block) for at, block in begun}
        elif kind == "error":
            facts = _told(message, whole) if message is not None else Facts()
            facts.error = str((data.get("error") or {}).get("message"))
            return [*found, facts]
        elif message is not None:
            _step(message, whole, data)
            if kind == "message_stop":
                found.append(_told(message, whole))
                message = None
    if message is not None:
        found.append(_told(message, whole))
        found[-1].ended = False
    return found


def _told(message: dict[str, Any], whole: dict[int, dict[str, Any]]) -> Facts:
    for block in whole.values():
        pieces = block.pop("partial", None)
        if pieces is not None:
            block["input"] = parsed(pieces)
    return response({**message, "content": [whole[index] for index in sorted(whole)]})


def _step(message: dict[str, Any], whole: dict[int, dict[str, Any]], data: Any) -> None:
    match data.get("type"):
        case "content_block_start":
            whole[data["index"]] = dict(data["content_block"])
        case "content_block_delta":
            _delta(whole[data["index"]], data["delta"])
        case "message_delta":
            message.update({key: item for key, item in data["delta"].items() if item is not None})
            new = {key: item for key, item in (data.get("usage") or {}).items() if item is not None}
            message["usage"] = {**(message.get("usage") or {}), **new}


def _delta(block: dict[str, Any], delta: Any) -> None:
    match delta.get("type"):
        case "text_delta":
            block["text"] = block.get("text", "") + delta["text"]
        case "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "input_json_delta":
            block["partial"] = block.get("partial", "") + delta["partial_json"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        case "compaction_delta":
            block.update({k: v for k, v in delta.items() if k != "type" and v is not None})
