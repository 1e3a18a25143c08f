"""Cohere's v1 chat wire as facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.laws.facts.shape import Facts, Piece, Tool, compact, counts, fresh, parsed, parted, put

STOPS = {
    "COMPLETE": "end_turn",
    "STOP_SEQUENCE": "stop_sequence",
    "MAX_TOKENS": "max_tokens",
    "ERROR_LIMIT": "max_tokens",
    "ERROR_TOXIC": "content_filter",
    "USER_CANCEL": "cancelled",
    "ERROR": "error",
    "TIMEOUT": "error",
}
ROLES = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}
TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
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


# -- requests -------------------------------------------------------------------------------------


def request(wire: Any) -> Facts:
    facts = Facts()
    pieces = [Piece("text", "system", wire["preamble"])] if wire.get("preamble") else []
    open_calls: list[Piece] = []
    for turn in wire.get("chat_history") or ():
        if turn["role"].upper() == "TOOL":
            pieces += _results(turn.get("tool_results"), open_calls, len(pieces))
            continue
        role = ROLES[turn["role"].upper()]
        if turn.get("message"):
            pieces.append(Piece("text", role, turn["message"]))
        if role == "assistant":
            made = _calls(turn.get("tool_calls"), len(pieces))
            open_calls += made
            pieces += made
    if wire.get("message"):
        pieces.append(Piece("text", "user", wire["message"]))
    pieces += _results(wire.get("tool_results"), open_calls, len(pieces))
    facts.pieces = _with_documents(pieces, wire.get("documents") or ())
    facts.tools = [_tool(tool) for tool in wire.get("tools") or ()]
    facts.options = _options(wire)
    put(facts.continues, "conversation_id", wire.get("conversation_id"))
    return facts


def _with_documents(pieces: list[Piece], documents: Any) -> list[Piece]:
    """Documents are read before what the user says first."""
    found = [_document(each) for each in documents]
    at = next((n for n, piece in enumerate(pieces) if piece.role == "user"), len(pieces))
    return [*pieces[:at], *found, *pieces[at:]]


def _document(wire: Any) -> Piece:
    data = {key: value for key, value in wire.items() if key != "id"}
    for key in ("text", "snippet"):
        if isinstance(data.get(key), str):
            piece = Piece("document", "user", data=data[key], media_type="text/plain")
            piece.title = data["title"] if isinstance(data.get("title"), str) else None
            return piece
    return Piece("document", "user", data=compact(data), media_type="text/plain")


def _calls(listed: Any, place: int) -> list[Piece]:
    """Calls have no ids: what answers what is told by the place of a call."""
    return [
        Piece("call", "assistant", id=f"{place}-{n}", name=call["name"], data=call["parameters"])
        for n, call in enumerate(listed or ())
    ]


def _results(listed: Any, open_calls: list[Piece], place: int) -> list[Piece]:
    """Each result names its call; one that nobody made before is told here."""
    made: list[Piece] = []
    results: list[Piece] = []
    for number, wire in enumerate(listed or ()):
        named = wire["call"]
        for call in open_calls:
            if call.name == named["name"] and call.data == named.get("parameters", call.data):
                open_calls.remove(call)
                break
        else:
            [call] = _calls([{"parameters": {}, **named}], 1000 * place + number)
            made.append(call)
        results += _result(wire["outputs"], call)
    return [*made, *results]


def _result(outputs: Any, call: Piece) -> list[Piece]:
    """An object is text, but for a text with nothing but a title beside it."""
    texts: list[str] = []
    documents: list[Piece] = []
    for output in outputs or ():
        if set(output) == {"output"} and isinstance(output["output"], str):
            texts.append(output["output"])
        elif set(output) - {"title"} in ({"text"}, {"snippet"}):
            documents.append(_document(output))
            documents[-1].role = "tool"
        else:
            texts.append(compact(output))
    return [Piece("result", "tool", "\n".join(texts), call.id), *documents]


def _tool(tool: Any) -> Tool:
    defined = tool.get("parameter_definitions")
    schema: dict[str, Any] | None = None
    if defined is not None:
        schema = {"type": "object", "properties": {}}
        for name, each in defined.items():
            shape = {"type": TYPES[each["type"]]} if each.get("type") in TYPES else {}
            if each.get("type") in ("list", "List[str]"):
                shape = {"type": "array"}
            if each.get("type") == "List[str]":
                shape["items"] = {"type": "string"}  # type: ignore[assignment]  # a schema inside
            put(shape, "description", each.get("description"))
            schema["properties"][name] = shape
        required = [name for name, each in defined.items() if each.get("required")]
        put(schema, "required", required or None)
    return Tool(tool["name"], "function", tool.get("description"), schema)


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, name in OPTIONS.items():
        put(options, name, wire.get(key))
    form = wire.get("response_format") or {}
    if form.get("type") == "json_object":
        options["response_format.kind"] = "json" if form.get("schema") is None else "json_schema"
    if form.get("type") == "text":
        options["response_format.kind"] = "text"
    put(options, "response_format.schema", form.get("schema"))
    return options


# -- answers --------------------------------------------------------------------------------------


def response(wire: Any) -> Facts:
    pieces = [Piece("text", "assistant", wire["text"])] if wire.get("text") else []
    documents = {each.get("id"): each for each in wire.get("documents") or ()}
    for citation in wire.get("citations") or ():
        if pieces and citation.get("type") != "PLAN":
            pieces[0].cites += (_cited(citation, documents),)
    facts = Facts([*pieces, *_calls(wire.get("tool_calls"), 0)])
    word = wire.get("finish_reason")
    facts.stop = STOPS.get(word, "other") if word else None
    if word == "COMPLETE" and wire.get("tool_calls"):
        facts.stop = "tool_use"
    facts.usage = _usage(wire)
    return facts


def _cited(citation: Any, documents: dict[Any, Any]) -> str:
    """The first document is the one that is named."""
    ids = citation.get("document_ids") or [None]
    document = documents.get(ids[0]) or {}
    for key in ("url", "title", "snippet", "text"):
        if document.get(key):
            return str(document[key])
    return "None"


def _usage(wire: Any) -> dict[str, int]:
    meta, older = wire.get("meta") or {}, wire.get("token_count") or {}
    tokens = meta.get("tokens")
    if tokens is None:
        tokens = {
            "input_tokens": older.get("prompt_tokens"),
            "output_tokens": older.get("response_tokens"),
        }
    cached = meta.get("cached_tokens")
    billed = (meta.get("billed_units") or {}).get("search_units")
    found = counts(
        input=fresh(tokens.get("input_tokens"), cached),
        cached=cached,
        output=tokens.get("output_tokens"),
    )
    return {**found, **parted("tools", [("search_unit", billed)])}


def stream(frames: Iterable[Any]) -> Facts:
    """What is told in pieces; the answer at the end says the rest."""
    text, error = "", None
    calls: dict[int, Any] = {}
    whole: dict[str, Any] = {"citations": []}
    found: list[Any] = []
    last: dict[str, Any] | None = None
    for data in frames:
        if not isinstance(data, dict):
            continue
        delta = data.get("tool_call_delta") or {}
        match data.get("event_type"):
            case "text-generation":
                text += data.get("text") or ""
            case "tool-calls-chunk":
                text += (data.get("text") or "") + (delta.get("text") or "")
                if "name" in delta or "parameters" in delta:
                    call = calls.setdefault(int(delta.get("index") or 0), {"parameters": ""})
                    call["name"] = delta.get("name") or call.get("name")
                    call["parameters"] += delta.get("parameters") or ""
            case "tool-calls-generation":
                text = text or data.get("text") or ""
                whole["tool_calls"] = data["tool_calls"]
            case "search-results":
                found += data.get("documents") or ()
            case "citation-generation":
                whole["citations"] += data["citations"]
            case "stream-end":
                last = data
    if calls and "tool_calls" not in whole:
        collected = [calls[number] for number in sorted(calls)]
        whole["tool_calls"] = [
            {**call, "parameters": parsed(call["parameters"])} for call in collected
        ]
    snapshot = (last or {}).get("response") or {}
    merged = {"documents": found, **whole, **{k: v for k, v in snapshot.items() if v}}
    merged |= {"text": text or snapshot.get("text") or ""}
    if whole.get("tool_calls"):
        merged["tool_calls"] = whole["tool_calls"]
    if (last or {}).get("finish_reason"):
        merged["finish_reason"] = last["finish_reason"]  # type: ignore[index]  # there is one
    facts = response(merged)
    facts.error, facts.ended = error, last is not None
    return facts
