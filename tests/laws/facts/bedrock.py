"""Bedrock's Converse wire as facts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from tests.laws.facts.shape import Facts, Piece, Tool, change, counts, listed, opaque, parsed, put

STOPS = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
FORMATS = {
    "image": {each: f"image/{each}" for each in ("png", "jpeg", "gif", "webp")},
    "audio": {"mp3": "audio/mpeg", "m4a": "audio/mp4"},
    "video": {"three_gp": "video/3gpp", "mov": "video/quicktime", "mkv": "video/x-matroska"},
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    },
}


def request(wire: Any) -> Facts:
    facts = Facts(lasts="5m")
    facts.tools = _tools((wire.get("toolConfig") or {}).get("tools") or ())
    for block in wire.get("system") or ():
        _add(facts.pieces, "system", block)
    for message in wire.get("messages") or ():
        for block in message.get("content") or ():
            added = (block.get("toolAddition") or {}).get("tool") or {}
            for tool in facts.tools:
                if tool.name == added.get("name"):
                    tool.since = len(facts.pieces)
            _add(facts.pieces, message["role"], block)
    facts.options = _options(wire)
    return facts


def _add(pieces: list[Piece], role: str, block: Any) -> None:
    """A breakpoint is a block of its own, behind what it marks."""
    if "cachePoint" in block and pieces:
        pieces[-1].cache = block["cachePoint"].get("ttl") or ""
    elif "cachePoint" not in block:
        pieces += _pieces(role, block)


def _pieces(role: str, block: Any) -> list[Piece]:
    match block:
        case {"text": str(text)}:
            return [Piece("text", role, text)]
        case {"citationsContent": cited}:
            text = "".join(part.get("text", "") for part in cited.get("content") or ())
            cites = tuple(_cited(each) for each in cited.get("citations") or ())
            return [Piece("text", role, text, cites=cites)]
        case {"reasoningContent": {"reasoningText": thought}}:
            signature = thought.get("signature") or None
            return [
                Piece("thinking", role, thought["text"], signature=signature, issuer="anthropic")
            ]
        case {"reasoningContent": {"redactedContent": data}}:
            return [Piece("redacted", role, data=_unsealed(data), issuer="anthropic")]
        case {"toolUse": call} if call.get("type") != "server_tool_use":
            return [
                Piece("call", role, id=call["toolUseId"], name=call["name"], data=call["input"])
            ]
        case {"toolResult": result} if not result.get("type"):
            return _result(result)
        case {"searchResult": found}:
            texts = [part.get("text", "") for part in found.get("content") or ()]
            return [
                Piece(
                    "document",
                    role,
                    data="\n".join(texts),
                    title=found.get("title"),
                    name=found.get("source"),
                )
            ]
        case {"toolAddition": {"tool": found}}:
            return [change("addition", found.get("name"))]
        case {"toolRemoval": {"tool": found}}:
            return [change("removal", found.get("name"))]
    for kind in ("image", "audio", "video", "document"):
        if kind in block:
            return [_media(kind, role, block[kind])]
    return [opaque(role, block)]


def _unsealed(data: str) -> str:
    """A blob is written in base64; what Anthropic sealed is text."""
    try:
        return base64.b64decode(data, validate=True).decode("ascii")
    except ValueError:
        return data


def _cited(citation: Any) -> str:
    location = citation.get("location") or {}
    url = (location.get("web") or {}).get("url")
    texts = [each.get("text") for each in citation.get("sourceContent") or ()]
    return str(url or citation.get("source") or citation.get("title") or texts)


def _result(result: Any) -> list[Piece]:
    texts, inner = [], []
    for part in result.get("content") or ():
        if "text" in part:
            texts.append(part["text"])
        elif "json" in part:
            texts.append(json.dumps(part["json"], ensure_ascii=False))
        else:
            inner += _pieces("tool", part)
    piece = Piece("result", "tool", "\n".join(texts), result["toolUseId"])
    piece.is_error = result.get("status") == "error"
    return [piece, *inner]


def _media(kind: str, role: str, wire: Any) -> Piece:
    source = wire.get("source") or {}
    form = wire.get("format")
    known = FORMATS.get(kind, {}).get(form, f"{kind}/{form}") if form else None
    piece = Piece(kind, role, name=wire.get("name"), media_type=known)
    piece.title = wire.get("context")
    where = source.get("s3Location") or {}
    inside = [part.get("text", "") for part in source.get("content") or ()]
    piece.data = (
        _bytes(source.get("bytes")) or where.get("uri") or source.get("text") or "\n".join(inside)
    )
    return piece


def _bytes(data: Any) -> Any:
    """Base64; scripts that dump what an SDK was given have numbers."""
    if isinstance(data, dict):
        numbers = data.get("data") or [data[str(index)] for index in range(len(data))]
        return base64.b64encode(bytes(numbers)).decode()
    return data


def _tools(wire: Iterable[Any]) -> list[Tool]:
    tools: list[Tool] = []
    for each in wire:
        spec = each.get("toolSpec")
        if "cachePoint" in each and tools:
            tools[-1].cache = each["cachePoint"].get("ttl") or ""
        elif spec is not None:
            schema = (spec.get("inputSchema") or {}).get("json")
            tools.append(
                Tool(spec["name"], "function", spec.get("description"), schema, spec.get("strict"))
            )
        elif "systemTool" in each:
            tools.append(Tool(each["systemTool"]["name"], "systemTool"))
    return tools


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    config = wire.get("inferenceConfig") or {}
    more = wire.get("additionalModelRequestFields") or {}
    put(options, "max_output_tokens", config.get("maxTokens"))
    put(options, "temperature", config.get("temperature"))
    put(options, "top_p", config.get("topP"))
    put(options, "stop", config.get("stopSequences"))
    put(options, "top_k", more.get("top_k"))
    put(options, "metadata", wire.get("requestMetadata"))
    put(options, "service_tier", (wire.get("serviceTier") or {}).get("type"))
    output = wire.get("outputConfig") or {}
    put(options, "reasoning.effort", output.get("effort"))
    _format(output.get("textFormat") or {}, options)
    _thinking(more, options)
    choice = (wire.get("toolConfig") or {}).get("toolChoice") or {}
    if "tool" in choice:
        options["tool_choice"] = ("any", (choice["tool"]["name"],))
    elif choice:
        options["tool_choice"] = (next(iter(choice)), ())
    return options


def _thinking(more: Any, options: dict[str, Any]) -> None:
    """Each vendor's own words, in the free fields: Anthropic's (an older name too), Nova's, those
    of gpt-oss."""
    nova = more.get("reasoningConfig") or {}
    thinking = more.get("thinking") or more.get("reasoning_config") or nova
    if thinking.get("type") is not None:
        modes = {"enabled": "on", "disabled": "off"}
        options["reasoning.mode"] = modes.get(thinking["type"], thinking["type"])
    put(options, "reasoning.budget_tokens", thinking.get("budget_tokens"))
    inner = {**(more.get("reasoning") or {}), **(more.get("output_config") or {})}
    put(options, "reasoning.effort", more.get("reasoning_effort") or inner.get("effort"))
    put(options, "reasoning.effort", nova.get("maxReasoningEffort"))
    if thinking.get("display") is not None:
        options["reasoning.visible"] = thinking["display"] != "omitted"


def _format(form: Any, options: dict[str, Any]) -> None:
    if form.get("type") != "json_schema":
        return
    shape = (form.get("structure") or {}).get("jsonSchema") or {}
    options["response_format.kind"] = "json_schema"
    put(options, "response_format.name", shape.get("name"))
    put(options, "response_format.description", shape.get("description"))
    if shape.get("schema") is not None:
        options["response_format.schema"] = parsed(shape["schema"])


def response(wire: Any) -> Facts:
    if "output" not in wire:
        return Facts(error=str(wire.get("message") or wire.get("Message")))
    facts = Facts(usage=usage(wire.get("usage") or {}))
    for block in wire["output"]["message"].get("content") or ():
        _add(facts.pieces, "assistant", block)
    word = wire.get("stopReason")
    facts.stop = STOPS.get(word, "other") if word is not None else None
    return facts


def usage(wire: Any) -> dict[str, int]:
    tokens = counts(
        input=wire.get("inputTokens"),
        cached=wire.get("cacheReadInputTokens"),
        creation=wire.get("cacheWriteInputTokens"),
        output=wire.get("outputTokens"),
    )
    return {**tokens, **listed("writes", wire.get("cacheDetails"), "ttl", "inputTokens")}


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    blocks: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for event, data in frames:
        match event:
            case "contentBlockStart":
                blocks[data["contentBlockIndex"]] = _started(data.get("start") or {})
            case "contentBlockDelta":
                _delta(blocks.setdefault(data["contentBlockIndex"], {}), data.get("delta") or {})
            case "messageStop":
                whole["stopReason"] = data.get("stopReason")
            case "metadata":
                whole["usage"] = data.get("usage")
            case "messageStart" | "contentBlockStop":
                pass
            case _ if event is not None and event.endswith("Exception"):
                facts = _told(whole, blocks)
                facts.error = str(data.get("message") or data.get("originalMessage"))
                return [facts]
    facts = _told(whole, blocks)
    facts.ended = "stopReason" in whole
    return [facts]


def _started(start: Any) -> dict[str, Any]:
    if "toolUse" in start:
        return {"toolUse": {**start["toolUse"], "input": ""}}
    return {key: dict(item) for key, item in start.items()}


def _told(whole: dict[str, Any], blocks: dict[int, dict[str, Any]]) -> Facts:
    content = []
    for index in sorted(blocks):
        block = blocks[index]
        if "toolUse" in block:
            block = {"toolUse": {**block["toolUse"], "input": parsed(block["toolUse"]["input"])}}
        content.append(block)
    return response({**whole, "output": {"message": {"content": content}}})


def _delta(block: dict[str, Any], delta: Any) -> None:
    match delta:
        case {"text": str(text)}:
            if "citationsContent" in block:
                block["citationsContent"]["content"].append({"text": text})
            else:
                block["text"] = block.get("text", "") + text
        case {"toolUse": {"input": str(text)}}:
            block["toolUse"]["input"] += text
        case {"reasoningContent": {"redactedContent": data}}:
            block["reasoningContent"] = {"redactedContent": data}
        case {"reasoningContent": thought}:
            inner = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})
            inner["reasoningText"]["text"] += thought.get("text") or ""
            if thought.get("signature"):
                inner["reasoningText"]["signature"] = thought["signature"]
        case {"citation": citation}:
            text = block.pop("text", None)
            cited = block.setdefault("citationsContent", {"content": [], "citations": []})
            cited["content"] += [{"text": text}] if text is not None else []
            cited["citations"].append(citation)
        case {"toolResult": list(parts)}:
            block.setdefault("toolResult", {}).setdefault("content", []).extend(parts)
        case {"image": image}:
            block.setdefault("image", {}).update(image)
