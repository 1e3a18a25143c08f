"""Ollama's native chat wire as facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.laws.facts.shape import Facts, Piece, Tool, calls_of, counts, data_url, parsed, put

STOPS = {"stop": "end_turn", "length": "max_tokens"}
OPTIONS = {
    "num_predict": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "seed": "seed",
    "stop": "stop",
    "repeat_penalty": "repetition_penalty",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}


def request(wire: Any) -> Facts:
    facts = Facts()
    for message in wire.get("messages") or ():
        facts.pieces += _message(message)
    _name_calls(facts.pieces)
    for tool in wire.get("tools") or ():
        function = tool.get("function") or {}
        facts.tools.append(
            Tool(
                function["name"],
                "function",
                function.get("description"),
                function.get("parameters"),
            )
        )
    facts.options = _options(wire)
    return facts


def _name_calls(pieces: list[Piece]) -> None:
    """Ids are optional: a result without one answers the first open call of its name, or the first
    open call where it has no name either."""
    waiting: list[Piece] = []
    for number, piece in enumerate(pieces):
        if piece.kind == "call":
            piece.id = piece.id or f"#{number}"
            waiting.append(piece)
        elif piece.kind == "result":
            own = [call for call in waiting if piece.id in (None, call.id)]
            named = [call for call in own if piece.name in (None, call.name)]
            if piece.id is None and named:
                piece.id = named[0].id
            waiting = [call for call in waiting if call.id != piece.id]


def _message(message: Any) -> list[Piece]:
    role = str(message.get("role", "user")).lower()
    content = message.get("content") or ""
    images = [_image(each, role) for each in message.get("images") or ()]
    if role == "tool":
        result = Piece("result", "tool", content, message.get("tool_call_id") or None)
        result.name = message.get("tool_name") or message.get("name")
        return [result, *images]
    pieces = []
    if message.get("thinking"):
        pieces.append(Piece("thinking", role, message["thinking"]))
    if content:
        pieces.append(Piece("text", role, content))
    return [*pieces, *images, *[_call(call) for call in message.get("tool_calls") or ()]]


def _image(data: str, role: str) -> Piece:
    """The first bytes tell the type, and nothing else does."""
    data = data_url(data)[1]
    heads = {"iVBOR": "png", "/9j/": "jpeg", "R0lG": "gif", "UklGR": "webp"}
    known = [f"image/{word}" for head, word in heads.items() if data.startswith(head)]
    return Piece("image", role, data=data, media_type=known[0] if known else None)


def _call(call: Any) -> Piece:
    function = call["function"]
    arguments = parsed(function.get("arguments") or {})
    return Piece("call", "assistant", id=call.get("id"), name=function["name"], data=arguments)


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, name in OPTIONS.items():
        put(options, name, (wire.get("options") or {}).get(key))
    if options.get("max_output_tokens") == -1:
        del options["max_output_tokens"]
    options["stream"] = wire.get("stream", True)
    think = wire.get("think")
    if isinstance(think, bool):
        options["reasoning.mode"] = "on" if think else "off"
        put(options, "reasoning.visible", think or None)
    elif think:
        options["reasoning.effort"] = think
    form = wire.get("format")
    if form == "json":
        options["response_format.kind"] = "json"
    elif isinstance(form, dict):
        options["response_format.kind"] = "json_schema"
        options["response_format.schema"] = form
    if wire.get("logprobs"):
        options["logprobs"] = wire.get("top_logprobs") or 0
    return options


def response(wire: Any) -> Facts:
    if "message" not in wire:
        return Facts(error=str(wire.get("error")))
    facts = Facts(_message({**wire["message"], "role": "assistant"}))
    _name_calls(facts.pieces)
    word = wire.get("done_reason")
    facts.stop = STOPS.get(word, "other") if word else None
    if facts.stop is None and wire.get("done"):
        facts.stop = "end_turn" if word is None else "other"
    if facts.stop == "end_turn" and calls_of(facts.pieces):
        facts.stop = "tool_use"
    facts.usage = counts(input=wire.get("prompt_eval_count"), output=wire.get("eval_count"))
    return facts


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    whole: dict[str, Any] = {"content": "", "thinking": "", "tool_calls": [], "images": []}
    last: dict[str, Any] = {}
    error = None
    for _, data in frames:
        if "error" in data:
            error = str(data["error"])
            continue
        message = data.get("message") or {}
        for key in ("content", "thinking"):
            whole[key] += message.get(key) or ""
        for key in ("tool_calls", "images"):
            whole[key] += message.get(key) or []
        last = {**last, **data}
    facts = response({**last, "message": whole})
    facts.error = error
    facts.ended = last.get("done") is True
    return [facts]
