"""Gemini's generateContent wire as facts. Keys may be spelled with underscores as well."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tests.laws.facts.gemini_stream import assembled
from tests.laws.facts.schemas import from_google
from tests.laws.facts.shape import (
    Facts,
    Piece,
    Tool,
    calls_of,
    counts,
    derived,
    fresh,
    listed,
    opaque,
    plain,
    put,
)

FILTERS = (
    *("SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION", "LANGUAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
STOPS = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "pause",
    "OTHER": "error",
    **dict.fromkeys(FILTERS, "content_filter"),
}
NUMBERED = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}
STAND_IN = "skip_thought_signature_validator"
FREE = frozenset(
    {"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "labels"}
    | {"responseJsonSchema", "partMetadata"}
)
"""Keys under which the names are the user's own."""
CONFIG = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "seed": "seed",
    "stopSequences": "stop",
    "maxOutputTokens": "max_output_tokens",
    "candidateCount": "n",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}


def camel(wire: Any) -> Any:
    if isinstance(wire, list):
        return [camel(item) for item in wire]
    if not isinstance(wire, dict):
        return wire
    out = {}
    for key, item in wire.items():
        name = re.sub(r"_([a-z])", lambda found: found[1].upper(), key)
        out[name] = item if name in FREE else camel(item)
    return out


def request(wire: Any) -> Facts:
    wire = camel(wire)
    facts = Facts()
    system = wire.get("systemInstruction") or {}
    for part in _listed(system.get("parts")):
        facts.pieces += _pieces("system", part)
    for content in wire.get("contents") or ():
        role = "assistant" if content.get("role") == "model" else "user"
        for part in _listed(content.get("parts")):
            facts.pieces += _pieces(role, part)
    _pair(facts.pieces)
    for tool in _listed(wire.get("tools")):
        facts.tools += _tools(tool)
    facts.options = _options(wire)
    put(facts.continues, "token", wire.get("continuationToken"))
    return facts


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _pair(pieces: list[Piece]) -> None:
    """Calls without an id are answered in order, by name."""
    waiting: list[Piece] = []
    for number, piece in enumerate(pieces):
        if piece.kind == "call":
            piece.id = piece.id or f"#{number}"
            waiting.append(piece)
        elif piece.kind == "result" and piece.id is None:
            own = [call for call in waiting if call.name == piece.name]
            if own:
                piece.id = own[0].id
                waiting.remove(own[0])
        elif piece.kind == "result":
            waiting = [call for call in waiting if call.id != piece.id]


LEVELS = {
    f"MEDIA_RESOLUTION_{level.upper()}": level for level in ("low", "medium", "high", "ultra_high")
}


def _pieces(role: str, part: Any) -> list[Piece]:
    signature = part.get("thoughtSignature") or None
    pieces = _unsigned(role, part)
    if pieces[0].kind == "image":
        pieces[0].detail = LEVELS.get((part.get("mediaResolution") or {}).get("level"))
    if signature is not None:
        pieces[0].signature, pieces[0].issuer = signature, "google"
    return pieces


def _unsigned(role: str, part: Any) -> list[Piece]:
    match part:
        case {"functionCall": call}:
            return [
                Piece(
                    "call",
                    role,
                    id=call.get("id"),
                    name=call.get("name"),
                    data=call.get("args") or {},
                )
            ]
        case {"functionResponse": result}:
            return _result(result)
        case {"inlineData": data}:
            return [_media(role, data.get("mimeType"), data.get("data"), data.get("displayName"))]
        case {"fileData": file}:
            return [
                _media(role, file.get("mimeType"), file.get("fileUri"), file.get("displayName"))
            ]
        case {"text": str(text)}:
            return [Piece("thinking" if part.get("thought") else "text", role, text)]
    if set(part) <= {"thoughtSignature", "thought"}:
        return [Piece("thinking" if part.get("thought") else "text", role)]
    return [opaque(role, part)]


def _media(role: str, media_type: str | None, data: Any, name: str | None) -> Piece:
    kind = (media_type or "").split("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "document"
    return Piece(kind, role, name=name, data=data, media_type=media_type)


def _result(result: Any) -> list[Piece]:
    piece = Piece("result", "tool", id=result.get("id"), name=result.get("name"))
    body = result.get("response")
    body = {} if body is None else body
    keys = set(body) if isinstance(body, dict) else set()
    if keys == {"error"}:
        piece.is_error = True
    # `result` is what Google's own SDK wraps what a function gives in.
    content = body[next(iter(keys))] if keys in ({"error"}, {"output"}, {"result"}) else body
    piece.text = content if isinstance(content, str) else plain(content)
    inner = [each for part in result.get("parts") or () for each in _pieces("tool", part)]
    return [piece, *inner]


def _tools(tool: Any) -> list[Tool]:
    found = []
    for key, item in tool.items():
        if key != "functionDeclarations":
            found += [Tool(key, key)] if item is not None else []
            continue
        for each in _listed(item):
            schema = each.get("parametersJsonSchema")
            schema = from_google(each.get("parameters")) if schema is None else schema
            out = each.get("responseJsonSchema")
            out = from_google(each.get("response")) if out is None else out
            new = Tool(each["name"], "function", each.get("description"), schema, output_schema=out)
            new.is_async = each.get("behavior") == "NON_BLOCKING"
            found.append(new)
    return found


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    config = wire.get("generationConfig") or {}
    for key, name in CONFIG.items():
        put(options, name, config.get(key))
    if config.get("responseLogprobs"):
        options["logprobs"] = config.get("logprobs") or 0
    kinds = config.get("responseModalities")
    put(options, "modalities", [each.lower() for each in kinds] if kinds else None)
    put(options, "labels", wire.get("labels"))
    put(options, "service_tier", wire.get("serviceTier"))
    _format(config, options)
    _thinking(config.get("thinkingConfig") or {}, options)
    choice = (wire.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if choice.get("mode"):
        words = {"AUTO": "auto", "ANY": "any", "NONE": "none", "VALIDATED": "auto"}
        names = tuple(sorted(choice.get("allowedFunctionNames") or ()))
        options["tool_choice"] = (words.get(choice["mode"].upper(), choice["mode"]), names)
    return options


def _format(config: Any, options: dict[str, Any]) -> None:
    schema = config.get("responseJsonSchema")
    schema = from_google(config.get("responseSchema")) if schema is None else schema
    kind = config.get("responseMimeType")
    if schema is not None:
        options["response_format.kind"] = "json_schema"
        options["response_format.schema"] = schema
    elif kind == "application/json":
        options["response_format.kind"] = "json"
    elif kind == "text/plain":
        options["response_format.kind"] = "text"


def _thinking(config: Any, options: dict[str, Any]) -> None:
    put(options, "reasoning.visible", config.get("includeThoughts"))
    level = config.get("thinkingLevel")
    put(options, "reasoning.effort", level.lower() if level else None)
    budget = config.get("thinkingBudget")
    if budget == 0:
        options["reasoning.mode"] = "off"
    elif budget == -1:
        options["reasoning.mode"] = "adaptive"
    else:
        put(options, "reasoning.budget_tokens", budget)


def response(wire: Any) -> Facts:
    wire = camel(wire)
    if isinstance(wire, list):
        wire = wire[0]
    if "error" in wire:
        return Facts(error=str(wire["error"].get("message")))
    answers = [_answer(each) for each in wire.get("candidates") or ()]
    blocked = Facts(stop="content_filter") if "promptFeedback" in wire else Facts()
    first = answers[0] if answers else blocked
    first.others = answers[1:]
    first.usage = usage(wire.get("usageMetadata") or {})
    return first


def _answer(candidate: Any) -> Facts:
    facts = Facts()
    for part in _listed((candidate.get("content") or {}).get("parts")):
        facts.pieces += _pieces("assistant", part)
    _pair(facts.pieces)
    _cited(facts.pieces, candidate)
    word = candidate.get("finishReason")
    word = NUMBERED.get(word, word) if isinstance(word, int) else word
    facts.stop = STOPS.get(word, "other") if word else None
    if facts.stop == "end_turn" and calls_of(facts.pieces):
        facts.stop = "tool_use"
    return facts


def _cited(pieces: list[Piece], candidate: Any) -> None:
    """What an answer rests on is said beside it, by chunk."""
    ground = candidate.get("groundingMetadata") or {}
    chunks = ground.get("groundingChunks") or []
    used = {
        n
        for each in ground.get("groundingSupports") or ()
        for n in each.get("groundingChunkIndices") or ()
    }
    cites = []
    for index in sorted(used):
        chunk = next(iter(chunks[index].values()), {}) if index < len(chunks) else {}
        cites += [str(chunk["uri"])] if chunk.get("uri") else []
    cites += [
        str(each["uri"])
        for each in (candidate.get("citationMetadata") or {}).get("citations") or ()
        if each.get("uri")
    ]
    texts = [piece for piece in pieces if piece.kind == "text"]
    if texts:
        texts[0].cites = tuple(cites)


def usage(wire: Any) -> dict[str, int]:
    out, thoughts = wire.get("candidatesTokenCount"), wire.get("thoughtsTokenCount")
    tools, total = wire.get("toolUsePromptTokenCount"), wire.get("totalTokenCount")
    prompt, out = derived(wire.get("promptTokenCount"), out, total, thoughts, tools)
    cached = wire.get("cachedContentTokenCount")
    output = None if out is None and thoughts is None else (out or 0) + (thoughts or 0)
    tokens = counts(input=fresh(prompt, cached), cached=cached, output=output, reasoning=thoughts)
    for of, key in (("prompt", "promptTokensDetails"), ("answer", "candidatesTokensDetails")):
        tokens |= listed(of, wire.get(key), "modality", "tokenCount")
    return tokens


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    whole, error = assembled(camel(data) for _, data in frames)
    facts = response(whole)
    facts.error = error
    facts.ended = all(each.stop is not None for each in [facts, *facts.others])
    return [facts]
