"""Cohere's chat wire as facts: v2 here, v1 in `cohere_v1`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.laws.facts import cohere_v1
from tests.laws.facts.shape import (
    Facts,
    Piece,
    Tool,
    compact,
    counts,
    data_url,
    fresh,
    opaque,
    parsed,
    parted,
    put,
)

STOPS = {
    "COMPLETE": "end_turn",
    "STOP_SEQUENCE": "stop_sequence",
    "MAX_TOKENS": "max_tokens",
    "TOOL_CALL": "tool_use",
    "ERROR": "error",
    "TIMEOUT": "error",
}
OPTIONS = {
    "max_tokens": "max_output_tokens",
    "temperature": "temperature",
    "p": "top_p",
    "k": "top_k",
    "seed": "seed",
    "stop_sequences": "stop",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stream": "stream",
}


def request(wire: Any) -> Facts:
    if "messages" not in wire and ("message" in wire or "chat_history" in wire):
        return cohere_v1.request(wire)
    facts = Facts()
    documents = [_document(each, "user") for each in wire.get("documents") or ()]
    for message in wire.get("messages") or ():
        if message.get("role") == "user":
            facts.pieces += documents
            documents = []
        facts.pieces += _message(message)
    facts.pieces += documents
    strict = wire.get("strict_tools")
    for tool in wire.get("tools") or ():
        function = tool.get("function") or {}
        facts.tools.append(
            Tool(
                function["name"],
                "function",
                function.get("description"),
                function.get("parameters"),
                strict,
            )
        )
    facts.options = _options(wire)
    return facts


def _message(message: Any) -> list[Piece]:
    role = message["role"]
    pieces = _content(message.get("content"), role)
    if role == "tool":
        return _result(message, pieces)
    cites = message.get("citations") or ()
    for cited in cites:
        at = cited.get("content_index") or 0
        if cited.get("type") != "PLAN" and at < len(pieces) and pieces[at].kind == "text":
            pieces[at].cites += (_cited(cited),)
    if message.get("tool_plan"):
        plan = Piece("text", role, message["tool_plan"], phase="commentary")
        plan.cites = tuple(_cited(each) for each in cites if each.get("type") == "PLAN")
        pieces.append(plan)
    return [*pieces, *[_call(call) for call in message.get("tool_calls") or ()]]


def _content(content: Any, role: str) -> list[Piece]:
    if isinstance(content, str):
        return [Piece("text", role, content)] if content else []
    return [_part(part, role) for part in content or ()]


def _part(part: Any, role: str) -> Piece:
    match part.get("type"):
        case "text":
            return Piece("text", role, part["text"])
        case "thinking":
            return Piece("thinking", role, part["thinking"])
        case "image_url":
            media_type, data = data_url(part["image_url"]["url"])
            image = Piece("image", role, data=data, media_type=media_type)
            image.detail = part["image_url"].get("detail")
            return image
        case "document" if role == "tool":
            return _output(part["document"])
        case "document":
            return _document(part["document"], role)
    return opaque(role, part)


def _document(document: Any, role: str) -> Piece:
    """A text, or an object of which the text is the most."""
    data = document if isinstance(document, str) else document["data"]
    if isinstance(data, str):
        return Piece("document", role, data=data, media_type="text/plain")
    for key in ("text", "snippet"):
        if isinstance(data.get(key), str):
            title = data.get("title")
            found = Piece("document", role, data=data[key], media_type="text/plain")
            found.title = title if isinstance(title, str) else None
            return found
    return Piece("document", role, data=compact(data), media_type="text/plain")


def _output(document: Any) -> Piece:
    """What a tool returned. Results have documents for all data, so that only a text with nothing
    but a title beside it is one."""
    data = document if isinstance(document, str) else document["data"]
    if isinstance(data, str):
        return Piece("text", "tool", data)
    if set(data) - {"title"} in ({"text"}, {"snippet"}):
        return _document(document, "tool")
    return Piece("text", "tool", compact(data))


def _cited(citation: Any) -> str:
    """The first source is the one that is named."""
    sources = citation.get("sources") or [{}]
    document = sources[0].get("document") or {}
    for key in ("url", "title", "text"):
        if document.get(key):
            return str(document[key])
    return "None"


def _result(message: Any, parts: list[Piece]) -> list[Piece]:
    texts = [part.text for part in parts if part.kind == "text"]
    result = Piece("result", "tool", "\n".join(texts), message.get("tool_call_id"))
    return [result, *[part for part in parts if part.kind != "text"]]


def _call(call: Any) -> Piece:
    function = call.get("function") or {}
    arguments = parsed(function.get("arguments") or "")
    return Piece("call", "assistant", id=call.get("id"), name=function.get("name"), data=arguments)


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, name in OPTIONS.items():
        put(options, name, wire.get(key))
    choices = {"REQUIRED": "any", "NONE": "none"}
    if wire.get("tool_choice") in choices:
        options["tool_choice"] = (choices[wire["tool_choice"]], ())
    thinking = wire.get("thinking") or {}
    if thinking:
        options["reasoning.mode"] = "off" if thinking["type"] == "disabled" else "on"
    put(options, "reasoning.budget_tokens", thinking.get("token_budget"))
    form = wire.get("response_format") or {}
    schema = form.get("json_schema")
    if form.get("type") == "json_object":
        options["response_format.kind"] = "json" if schema is None else "json_schema"
    put(options, "response_format.schema", schema)
    if form.get("type") == "text":
        options["response_format.kind"] = "text"
    if wire.get("logprobs"):
        options["logprobs"] = 0
    return options


def response(wire: Any) -> Facts:
    if isinstance(wire.get("message"), str):
        return Facts(error=wire["message"])
    if "message" not in wire:
        return cohere_v1.response(wire)
    facts = Facts(_message({**wire["message"], "role": "assistant"}))
    word = wire.get("finish_reason")
    facts.stop = STOPS.get(word, "other") if word else None
    facts.usage = _usage(wire.get("usage") or {})
    return facts


def _usage(wire: Any) -> dict[str, int]:
    tokens = wire.get("tokens") or {}
    cached = wire.get("cached_tokens")
    billed = (wire.get("billed_units") or {}).get("search_units")
    found = counts(
        input=fresh(tokens.get("input_tokens"), cached),
        cached=cached,
        output=tokens.get("output_tokens"),
        reasoning=tokens.get("reasoning_tokens"),
    )
    return {**found, **parted("tools", [("search_unit", billed)])}


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    """Everything that is told in pieces, put together as a whole answer has it."""
    frames = list(frames)
    if any(isinstance(data, dict) and "event_type" in data for _, data in frames):
        return [cohere_v1.stream([data for _, data in frames])]
    content: dict[int, Any] = {}
    calls: dict[int, Any] = {}
    message: dict[str, Any] = {"tool_plan": "", "citations": []}
    last: dict[str, Any] = {}
    error = None
    ended = False
    for _, data in frames:
        kind = data.get("type") if isinstance(data, dict) else None
        items = ((data.get("delta") or {}).get("message") or {}) if kind else {}
        match kind:
            case "content-start":
                content[data["index"]] = dict(items["content"])
            case "content-delta":
                _grow(content[data["index"]], items["content"])
            case "tool-plan-delta":
                _grow(message, items)
            case "tool-call-start":
                calls[data["index"]] = {**items["tool_calls"], "function": {}}
                _grow(calls[data["index"]]["function"], items["tool_calls"]["function"])
            case "tool-call-delta":
                _grow(calls[data["index"]]["function"], items["tool_calls"]["function"])
            case "citation-start":
                message["citations"].append(items["citations"])
            case "message-end":
                last, ended = data.get("delta") or {}, True
                error = last.get("error")
    message["content"] = [content[index] for index in sorted(content)]
    message["tool_calls"] = [calls[index] for index in sorted(calls)]
    facts = response({**last, "message": message})
    facts.error, facts.ended = error, ended
    return [facts]


def _grow(whole: dict[str, Any], piece: Any) -> None:
    for key, text in piece.items():
        if isinstance(text, str) and key != "type":
            whole[key] = (whole.get(key) or "") + text
