"""Google's Interactions wire as facts, in both revisions: steps, and turns with `outputs` (from the
types of google-genai 1.55.0 and 1.73.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.laws.facts.shape import (
    MEDIA,
    Facts,
    Piece,
    Tool,
    counts,
    derived,
    fresh,
    listed,
    opaque,
    parsed,
    plain,
    put,
)

STOPS = {
    "completed": "end_turn",
    "requires_action": "tool_use",
    "incomplete": "max_tokens",
    "budget_exceeded": "max_tokens",
    "requires_continuation": "pause",
    "in_progress": "pause",
    "queued": "pause",
    "cancelled": "cancelled",
    "failed": "error",
}
CONFIG = {
    "max_output_tokens": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop_sequences": "stop",
}
CONTENT = frozenset({"text", *MEDIA})


def request(wire: Any) -> Facts:
    facts = Facts()
    if wire.get("system_instruction"):
        facts.pieces.append(Piece("text", "system", wire["system_instruction"]))
    value = wire.get("input")
    if isinstance(value, str):
        value = [{"type": "text", "text": value}] if value else []
    for step in [value] if isinstance(value, dict) else value or ():
        facts.pieces += _step(step) if "type" in step else _turn(step)
    for tool in wire.get("tools") or ():
        facts.tools.append(_tool(tool))
    facts.options = _options(wire)
    put(facts.continues, "response_id", wire.get("previous_interaction_id") or None)
    put(facts.continues, "token", wire.get("continuation_token") or None)
    return facts


def _step(step: Any) -> list[Piece]:
    match step.get("type"):
        case "user_input":
            return [each for part in step.get("content") or () for each in _given(part)]
        case "model_output" if step.get("content"):
            return [_content("assistant", part) for part in step["content"]]
        case "model_output" if set(step) <= {"type", "content"}:
            return []
        case "thought":
            return _thought(step)
        case "function_call":
            call = Piece("call", "assistant", id=step["id"], name=step["name"])
            call.data = step.get("arguments") or {}
            call.signature = step.get("signature") or None
            return [call]
    return (
        _given(step)
        if step.get("type") in (*CONTENT, "function_result")
        else [opaque("assistant", step)]
    )


def _turn(turn: Any) -> list[Piece]:
    """A turn of the older revision: content of all kinds, whose speaker is its role."""
    content = turn.get("content") or []
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    role = turn.get("role") or "user"
    if role == "user" and turn:
        return [each for part in parts for each in _given(part)]
    if role == "model":
        return [each for part in parts for each in _item(part)]
    return [opaque("assistant", turn)]


def _item(part: Any) -> list[Piece]:
    """What a model made, in the older revision."""
    if part.get("type") in CONTENT:
        return [_content("assistant", part)]
    is_users = part.get("type") in ("user_input", "function_result", "model_output")
    return [opaque("assistant", part)] if is_users else _step(part)


def _given(part: Any) -> list[Piece]:
    return _result(part) if part.get("type") == "function_result" else [_content("user", part)]


def _content(role: str, part: Any) -> Piece:
    kind = part.get("type")
    if kind == "text":
        cites = (_cited(each) for each in part.get("annotations") or ())
        return Piece("text", role, part["text"], cites=tuple(cites))
    where = part.get("data") or part.get("uri")
    if kind not in MEDIA or where is None:
        return opaque(role, part)
    piece = Piece(kind, role, data=where, media_type=part.get("mime_type"), name=part.get("name"))
    piece.detail = part.get("resolution") if kind == "image" else None
    return piece


def _cited(note: Any) -> str:
    keys = ("url", "document_uri", "title", "file_name", "name", "source")
    words = (note.get(key) for key in keys)
    return str(next((word for word in words if word), None))


def _thought(step: Any) -> list[Piece]:
    pieces = [Piece("thinking", "assistant", _summed(p)) for p in step.get("summary") or ()]
    pieces = pieces or [Piece("thinking", "assistant")]
    pieces[-1].signature = step.get("signature") or None
    for piece in pieces:
        piece.issuer = "google"
    return pieces


def _summed(part: Any) -> str:
    return part["text"] if part.get("type") == "text" else ""


def _result(step: Any) -> list[Piece]:
    piece = Piece("result", "tool", id=step["call_id"], name=step.get("name"))
    piece.is_error = step.get("is_error") is True
    value = step.get("result")
    if isinstance(value, str) or value is None:
        piece.text = value or ""
        return [piece]
    if not isinstance(value, list):
        piece.text = plain(value)
        return [piece]
    parts = [_content("tool", part) for part in value]
    piece.text = "\n".join(part.text for part in parts if part.kind == "text")
    return [piece, *[part for part in parts if part.kind != "text"]]


def _tool(tool: Any) -> Tool:
    kind = tool.get("type")
    if kind != "function":
        return Tool(tool.get("name") or kind, kind)
    return Tool(tool["name"], "function", tool.get("description"), tool.get("parameters"))


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    config = wire.get("generation_config") or {}
    for key, name in CONFIG.items():
        put(options, name, config.get(key))
    put(options, "reasoning.effort", config.get("thinking_level"))
    shown = {"auto": True, "none": False}.get(config.get("thinking_summaries"))
    put(options, "reasoning.visible", shown)
    for key, name in (("response_modalities", "modalities"), ("labels", "labels")):
        put(options, name, wire.get(key))
    for name in ("service_tier", "stream"):
        put(options, name, wire.get(name))
    _format(wire, options)
    _choice(config.get("tool_choice"), options)
    return options


def _format(wire: Any, options: dict[str, Any]) -> None:
    form, kind = wire.get("response_format"), wire.get("response_mime_type")
    form = form[0] if isinstance(form, list) and len(form) == 1 else form
    schema = None
    if isinstance(form, dict):
        known = form.get("type") in ("text", "image", "audio", "video")
        schema = form.get("schema") if known else form
        kind = form.get("mime_type") or kind or "text/plain"
    if schema is not None:
        options["response_format.kind"] = "json_schema"
        options["response_format.schema"] = schema
    elif kind is not None:
        options["response_format.kind"] = "json" if kind == "application/json" else "text"


def _choice(choice: Any, options: dict[str, Any]) -> None:
    if isinstance(choice, str):
        options["tool_choice"] = ("auto" if choice == "validated" else choice, ())
    elif isinstance(choice, dict):
        allowed = choice.get("allowed_tools") or {}
        mode = allowed.get("mode") or "auto"
        names = tuple(sorted(allowed.get("tools") or ()))
        options["tool_choice"] = ("auto" if mode == "validated" else mode, names)


def response(wire: Any) -> Facts:
    if not {"status", "steps", "outputs"} & wire.keys():
        error = wire.get("error")
        return Facts(error=str(error.get("message") if isinstance(error, dict) else error))
    facts = Facts()
    for step in wire.get("steps") or ():
        value = step.get("type") in ("user_input", "function_result")
        facts.pieces += [opaque("assistant", step)] if value else _step(step)
    for part in () if "steps" in wire else wire.get("outputs") or ():
        facts.pieces += _item(part)
    word = wire.get("status")
    facts.stop = STOPS.get(word, "other") if word else None
    facts.usage = usage(wire.get("usage") or {})
    if word == "failed" and wire.get("errors"):
        facts.error = str(wire["errors"][0].get("message"))
    return facts


def usage(wire: Any) -> dict[str, int]:
    reply = wire.get("total_output_tokens")
    thought = wire.get("total_thought_tokens", wire.get("total_reasoning_tokens"))
    tools, total = wire.get("total_tool_use_tokens"), wire.get("total_tokens")
    prompt, reply = derived(wire.get("total_input_tokens"), reply, total, thought, tools)
    cached = wire.get("total_cached_tokens")
    output = None if reply is None and thought is None else (reply or 0) + (thought or 0)
    tokens = counts(input=fresh(prompt, cached), cached=cached, output=output, reasoning=thought)
    tokens |= listed("prompt", wire.get("input_tokens_by_modality"), "modality", "tokens")
    tokens |= listed("answer", wire.get("output_tokens_by_modality"), "modality", "tokens")
    tools = listed("tools", wire.get("grounding_tool_count"), "type", "count")
    return {
        **tokens,
        **{name.replace("google_search", "web_search"): tools[name] for name in tools},
    }


STARTS = frozenset({"interaction.created", "interaction.start"})
ENDS = frozenset({"interaction.completed", "interaction.complete"})


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    steps: dict[int, dict[str, Any]] = {}
    contents: dict[int, dict[str, Any]] = {}
    last: dict[str, Any] = {}
    error, ended = None, False
    for _, data in frames:
        kind = data.get("event_type") if isinstance(data, dict) else None
        if kind == "error" or (kind is None and isinstance(data, dict) and "error" in data):
            error = str(data["error"].get("message"))
        elif kind in STARTS | ENDS:
            last = {**last, **data["interaction"]}
            ended = kind in ENDS
        elif kind == "content.start":
            contents[data["index"]] = {**data["content"]}
        elif kind == "content.delta":
            _join(contents.setdefault(data["index"], {}), data["delta"])
        elif kind == "step.start":
            steps[data["index"]] = {**data["step"]}
        elif kind == "step.delta":
            step = steps.setdefault(data["index"], {"type": "model_output"})
            _add(step, data["delta"])
    for step in steps.values():
        if "pieces" in step:
            step["arguments"] = parsed("".join(step.pop("pieces")))
    whole: dict[str, Any] = {"steps": [steps[at] for at in sorted(steps)]}
    if contents:
        items = [contents[at] for at in sorted(contents)]
        whole = {"outputs": [item for item in items if len(item) > 1 or "thought" in item.values()]}
    elif not steps and "outputs" in last:
        whole = {}
    facts = response({"status": None, **last, **whole})
    facts.error = error or facts.error
    facts.ended = ended
    return [facts]


def _add(step: dict[str, Any], delta: Any) -> None:
    kind = delta["type"]
    if kind == "arguments_delta":
        step.setdefault("pieces", []).append(delta.get("arguments") or "")
    elif kind == "thought_signature":
        step["signature"] = delta["signature"]
    elif kind == "thought_summary":
        _go_on(step, "summary", delta["content"])
    elif kind == "text_annotation_delta":
        text = step["content"][-1]
        text["annotations"] = [*text.get("annotations", ()), *delta["annotations"]]
    elif kind in CONTENT:
        _go_on(step, "content", delta)
    else:
        step.update({key: item for key, item in delta.items() if key != "type"})


def _join(content: dict[str, Any], delta: Any) -> None:
    """A piece of the older revision: a text goes on, all else is there with its one piece."""
    match delta["type"]:
        case "text" | "text_annotation":
            content["type"] = "text"
            content["text"] = content.get("text", "") + (delta.get("text") or "")
            noted = [*content.get("annotations", ()), *(delta.get("annotations") or ())]
            content |= {"annotations": noted} if noted else {}
        case "thought_summary":
            content["type"] = "thought"
            _go_on(content, "summary", delta["content"])
        case "thought_signature":
            content |= {"type": "thought", "signature": delta.get("signature")}
        case _:
            content |= delta


def _go_on(step: dict[str, Any], key: str, part: Any) -> None:
    """A text goes on with the one before it; all else stands by itself."""
    parts = step.setdefault(key, [])
    if parts and part["type"] == parts[-1]["type"] == "text":
        parts[-1]["text"] += part["text"]
    else:
        parts.append(dict(part))
