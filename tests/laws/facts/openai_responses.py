"""OpenAI's Responses wire as facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.laws.facts.shape import (
    Facts,
    Piece,
    Tool,
    allowed,
    calls_of,
    change,
    counts,
    data_url,
    derived,
    fresh,
    opaque,
    parsed,
    parted,
    plain,
    put,
)

REASONS = {
    "max_output_tokens": "max_tokens",
    "content_filter": "content_filter",
    "steered": "pause",
    "max_messages": "other",
}
VENDORS = {
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": None,
    "tool_search_call": "arguments",
    "mcp_approval_request": None,
}
"""Calls of tools that the vendor defines and the client runs, and where their arguments are."""
OUTPUTS = frozenset(
    {"local_shell_call_output", "shell_call_output", "apply_patch_call_output"}
    | {"computer_call_output", "tool_search_output", "mcp_approval_response"}
)
ASIDES = frozenset({"additional_tools", "configuration_update"})


def request(wire: Any) -> Facts:
    facts = Facts(lasts="30m")
    if wire.get("instructions"):
        facts.pieces.append(Piece("text", "system", wire["instructions"]))
    facts.tools = [each for tool in wire.get("tools") or () for each in _tools(tool)]
    items = wire.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}] if items else []
    for item in items or ():
        if item.get("type") == "item_reference" or set(item) == {"id"}:
            facts.continues.setdefault("items", []).append(item["id"])
            continue
        if item.get("type") in ASIDES:
            _aside(facts, item)
        facts.pieces += _item(item)
    facts.options = _options(wire)
    conversation = wire.get("conversation")
    put(facts.continues, "response_id", wire.get("previous_response_id"))
    put(
        facts.continues,
        "conversation_id",
        conversation.get("id") if isinstance(conversation, dict) else conversation,
    )
    put(facts.continues, "prompt", wire.get("prompt"))
    return facts


def _aside(facts: Facts, item: Any) -> None:
    """Tools that are there from here on."""
    for tool in item.get("tools") or ():
        for each in _tools(tool):
            each.since = len(facts.pieces)
            facts.tools.append(each)


def _changes(item: Any) -> list[Piece]:
    names = [each.name for tool in item.get("tools") or () for each in _tools(tool)]
    effort = (item.get("reasoning") or {}).get("effort")
    schema = ((item.get("text") or {}).get("format") or {}).get("schema")
    items = [change("addition", name) for name in names]
    items += [change("effort", effort)] if effort is not None else []
    return items + ([change("format", schema)] if schema is not None else [])


def _item(item: Any) -> list[Piece]:
    kind = item.get("type") or "message"
    match kind:
        case "message":
            return _message(item)
        case "reasoning":
            return _reasoning(item)
        case "function_call":
            return [
                Piece(
                    "call",
                    "assistant",
                    id=item.get("call_id"),
                    name=item["name"],
                    data=parsed(item.get("arguments") or ""),
                    caller=(item.get("caller") or {}).get("caller_id"),
                )
            ]
        case "custom_tool_call":
            return [
                Piece(
                    "call",
                    "assistant",
                    "custom",
                    item.get("call_id"),
                    item["name"],
                    {"input": item["input"]},
                    caller=(item.get("caller") or {}).get("caller_id"),
                )
            ]
        case "function_call_output" | "custom_tool_call_output":
            return _result(item)
        case "image_generation_call" if item.get("result"):
            form = item.get("output_format")
            return [
                Piece(
                    "image",
                    "assistant",
                    data=item["result"],
                    media_type=f"image/{form}" if form else None,
                )
            ]
        case "compaction" | "compaction_summary":
            return [
                Piece(
                    "compaction", "assistant", data=item.get("encrypted_content"), issuer="openai"
                )
            ]
    if kind in VENDORS and _is_clients(item):
        return [_vendors(item, kind)]
    if kind in OUTPUTS and _is_clients(item):
        return _output(item, kind)
    if kind in ASIDES:
        return _changes(item)
    return [opaque("assistant", item)]


def _is_clients(item: Any) -> bool:
    return bool(item.get("execution") != "server")


def _vendors(item: Any, kind: str) -> Piece:
    room = VENDORS[kind]
    known = {"type", "id", "call_id", "status", "pending_safety_checks"}
    rest = {key: value for key, value in item.items() if key not in known}
    data = item.get(room) if room is not None else rest
    return Piece(
        "call",
        "assistant",
        "vendor",
        item.get("call_id") or item.get("id"),
        kind.removesuffix("_call"),
        data,
    )


def _output(item: Any, kind: str) -> list[Piece]:
    id = item.get("call_id") or item.get("approval_request_id") or item.get("id")
    result = Piece("result", "tool", id=id, is_error=item.get("status") == "failed")
    output = item.get("output")
    if kind == "shell_call_output":
        result.text = "\n".join(
            each[word] for each in output or () for word in ("stdout", "stderr") if each.get(word)
        )
    elif kind == "tool_search_output":
        result.text = ""  # which tools there are is no text that a model would be shown
    elif kind == "mcp_approval_response":
        result.is_error = item.get("approve") is False
    elif isinstance(output, dict):
        media_type, data = data_url(output.get("image_url") or "")
        data = data or output.get("file_id")
        return [result, Piece("image", "tool", data=data, media_type=media_type)]
    else:
        result.text = output or ""
    return [result]


def _message(item: Any) -> list[Piece]:
    role = item.get("role") or "assistant"
    content = item.get("content")
    if isinstance(content, str):
        pieces = [Piece("text", role, content)] if content else []
    else:
        pieces = [_part(part, role) for part in content or ()]
    for piece in pieces:
        piece.phase = item.get("phase")
    return pieces


def _part(part: Any, role: str) -> Piece:
    kind = part.get("type")
    match kind:
        case "input_text" | "output_text" | "text":
            piece = Piece("text", role, part["text"])
            piece.cites = tuple(_cited(each) for each in part.get("annotations") or ())
        case "refusal":
            piece = Piece("refusal", role, part["refusal"])
        case "input_image":
            media_type, data = data_url(part.get("image_url") or "")
            piece = Piece("image", role, data=data or part.get("file_id"), media_type=media_type)
            piece.detail = part.get("detail")
        case "input_file":
            media_type, data = data_url(part.get("file_data") or part.get("file_url") or "")
            piece = Piece("document", role, name=part.get("filename"), media_type=media_type)
            piece.data = data or part.get("file_id")
        case _:
            return opaque(role, part)
    mark = part.get("prompt_cache_breakpoint")
    piece.cache = (mark.get("ttl") or "") if isinstance(mark, dict) else None
    return piece


def _cited(annotation: Any) -> str:
    return str(annotation.get("url") or annotation.get("file_id") or annotation.get("filename"))


def _reasoning(item: Any) -> list[Piece]:
    parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
    pieces = [Piece("thinking", "assistant", part.get("text") or "") for part in parts]
    pieces = pieces or [Piece("thinking", "assistant")]
    pieces[-1].signature = item.get("encrypted_content") or None
    for piece in pieces:
        piece.id, piece.issuer = item.get("id"), "openai"
    return pieces


def _result(item: Any) -> list[Piece]:
    output = item.get("output")
    result = Piece("result", "tool", id=item.get("call_id"))
    if isinstance(output, str) or output is None:
        result.text = output or ""
        return [result]
    if not isinstance(output, list):
        result.text = plain(output)
        return [result]
    parts = [_part(part, "tool") for part in output]
    result.text = "\n".join(part.text for part in parts if part.kind == "text")
    marks = [part.cache for part in parts if part.kind == "text" and part.cache is not None]
    result.cache = marks[-1] if marks else None
    return [result, *[part for part in parts if part.kind != "text"]]


def _tools(tool: Any) -> list[Tool]:
    kind = tool.get("type") or "function"
    if kind == "namespace":
        return [each for inner in tool.get("tools") or () for each in _tools(inner)]
    found = Tool(tool.get("name") or tool.get("server_label") or kind, kind)
    if kind not in ("function", "custom"):
        return [found]
    found.description = tool.get("description")
    found.deferred = tool.get("defer_loading")
    found.callers = allowed(tool.get("allowed_callers"))
    found.is_async = tool.get("async") is True
    if kind == "function":
        found.schema, found.strict = tool.get("parameters"), tool.get("strict")
        found.output_schema = tool.get("output_schema")
    form = tool.get("format") or {}
    if form.get("type") == "grammar":
        found.grammar = form["syntax"], form["definition"]
    return [found]


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key in (
        "max_output_tokens",
        "temperature",
        "top_p",
        "parallel_tool_calls",
        "service_tier",
        "metadata",
        "stream",
    ):
        put(options, key, wire.get(key))
    put(options, "user", wire.get("safety_identifier") or wire.get("user"))
    put(options, "cache_key", wire.get("prompt_cache_key"))
    put(options, "cache_retention", wire.get("prompt_cache_retention"))
    caching = wire.get("prompt_cache_options") or {}
    put(options, "cache_mode", caching.get("mode"))
    put(options, "cache_ttl", caching.get("ttl"))
    if "message.output_text.logprobs" in (wire.get("include") or ()):
        options["logprobs"] = wire.get("top_logprobs") or 0
    reasoning = wire.get("reasoning") or {}
    put(options, "reasoning.effort", reasoning.get("effort"))
    if reasoning.get("summary"):
        options["reasoning.visible"] = True
    elif "summary" in reasoning:
        options["reasoning.visible"] = False
    for entry in wire.get("context_management") or ():
        options["compaction"] = True
        put(options, "compaction.threshold", entry.get("compact_threshold"))
    text = wire.get("text") or {}
    put(options, "verbosity", text.get("verbosity"))
    form = text.get("format") or {}
    kinds = {"json_object": "json", "json_schema": "json_schema", "text": "text"}
    put(options, "response_format.kind", kinds.get(form.get("type")))
    for key in ("name", "schema", "strict", "description"):
        put(options, f"response_format.{key}", form.get(key))
    _choice(wire.get("tool_choice"), options)
    return options


def _choice(choice: Any, options: dict[str, Any]) -> None:
    words = {"auto": "auto", "none": "none", "required": "any"}
    if isinstance(choice, str):
        options["tool_choice"] = (words.get(choice, choice), ())
    elif isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        names = sorted(str(tool.get("name") or tool.get("type")) for tool in choice["tools"])
        options["tool_choice"] = (words[choice["mode"]], tuple(names))
    elif isinstance(choice, dict):
        options["tool_choice"] = ("any", (str(choice.get("name") or choice.get("type")),))


def response(wire: Any) -> Facts:
    if "output" not in wire:
        error = wire.get("error") or wire.get("detail")
        return Facts(error=str(error.get("message") if isinstance(error, dict) else error))
    facts = Facts([each for item in wire.get("output") or () for each in _item(item)])
    facts.usage = usage(wire.get("usage") or {})
    if wire.get("usage"):
        facts.usage |= _runs(wire)
    facts.stop = _stop(wire, facts.pieces)
    if wire.get("error"):
        facts.error = str(wire["error"].get("message"))
    return facts


RUNS = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_execution",
    "image_generation_call": "image_generation",
}


def _runs(wire: Any) -> dict[str, int]:
    """Runs of OpenAI's own tools: as the body counts them, else its items."""
    if wire.get("tool_usage") is not None:
        searches = wire["tool_usage"].get("web_search") or {}
        return parted("tools", [("web_search", searches.get("num_requests"))])
    names = [
        RUNS[item["type"]]
        for item in wire.get("output") or ()
        if item.get("type") in RUNS
        and item.get("status") != "failed"
        and (item.get("action") or {"type": "search"}).get("type") == "search"
    ]
    return parted("tools", [(name, names.count(name)) for name in names])


def _stop(wire: Any, pieces: list[Piece]) -> str | None:
    status = wire.get("status")
    if status == "incomplete":
        return REASONS.get((wire.get("incomplete_details") or {}).get("reason"), "other")
    if status in ("failed", "cancelled"):
        return {"failed": "error", "cancelled": "cancelled"}[status]
    if status in ("queued", "in_progress"):
        return "pause"
    if any(piece.kind == "refusal" for piece in pieces):
        return "refusal"
    return "tool_use" if calls_of(pieces) else "end_turn"


def usage(wire: Any) -> dict[str, int]:
    inside = wire.get("input_tokens_details") or {}
    cached, creation = inside.get("cached_tokens"), inside.get("cache_write_tokens")
    prompt, output = wire.get("input_tokens"), wire.get("output_tokens")
    prompt, output = derived(prompt, output, wire.get("total_tokens"))
    tokens = counts(
        input=fresh(prompt, cached, creation),
        cached=cached,
        creation=creation,
        output=output,
        reasoning=(wire.get("output_tokens_details") or {}).get("reasoning_tokens"),
    )
    lives = inside.get("cache_write_tokens_details") or {}
    return {**tokens, **parted("writes", [(key.split("_")[1], lives[key]) for key in lives])}


ENDS = ("response.completed", "response.incomplete", "response.failed")


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    """One answer for each `response.created`; a part's own end is believed above its pieces."""
    found: list[Facts] = []
    items: dict[int, dict[str, Any]] = {}
    begun = False
    for _, data in frames:
        kind = data.get("type") if isinstance(data, dict) else None
        if kind == "response.created":
            items, begun = {}, True
        elif kind in ENDS:
            found.append(_ended(data["response"], items))
            items, begun = {}, False
        elif kind == "error":
            facts = _ended({"status": "failed"}, items)
            inner = data.get("error") or data
            facts.error = str(inner.get("message"))
            return [*found, facts]
        elif kind is not None:
            _step(items, kind, data)
    if begun or items:
        found.append(_ended({"status": "in_progress"}, items))
        found[-1].ended = False
    return found


def _ended(final: Any, items: dict[int, dict[str, Any]]) -> Facts:
    """What was told piece by piece; the last word fills gaps only."""
    collected = [items[index] for index in sorted(items)]
    return response({**final, "output": collected or final.get("output") or []})


def _step(items: dict[int, dict[str, Any]], kind: str, data: Any) -> None:
    number = _number(items, data)
    if kind in ("response.output_item.added", "response.output_item.done"):
        items[number] = data["item"] if kind.endswith("done") else _opened(data["item"])
        return
    rooms = {
        "output_text": ("content", "output_text", "text"),
        "refusal": ("content", "refusal", "refusal"),
        "reasoning_text": ("content", "reasoning_text", "text"),
        "reasoning_summary_text": ("summary", "summary_text", "text"),
    }
    _, _, rest = kind.partition(".")
    word, _, step = rest.partition(".")
    item = items.setdefault(number, {"type": "message", "role": "assistant", "content": []})
    if word in rooms and step in ("delta", "done"):
        room, type_, key = rooms[word]
        index = data.get("content_index", data.get("summary_index")) or 0
        parts = item.setdefault(f"#{room}", {})
        part = parts.setdefault(index, {"type": type_, key: ""})
        part[key] = part[key] + data["delta"] if step == "delta" else data.get(key, part[key])
        item[room] = [parts[at] for at in sorted(parts)]
    elif word in ("function_call_arguments", "custom_tool_call_input"):
        key = "arguments" if word.startswith("function") else "input"
        before = item.get(key) or ""
        item[key] = before + data["delta"] if step == "delta" else data.get(key, before)


def _number(items: dict[int, dict[str, Any]], data: Any) -> int:
    """Which item a step is of; some servers number it only when it begins."""
    value = data.get("output_index")
    if value is not None:
        return int(value)
    id = (data.get("item") or {}).get("id") or data.get("item_id")
    return next((at for at, item in items.items() if id and item.get("id") == id), 0)


def _opened(item: Any) -> dict[str, Any]:
    """A new item has what its pieces will say still before it."""
    return {**item, "arguments": ""} if item.get("type") == "function_call" else dict(item)
