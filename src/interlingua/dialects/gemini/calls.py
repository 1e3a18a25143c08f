"""Calls and results: those of the client's functions, and those of tools that Google runs.

Ids are optional on this wire. A call without one gets an id made of its place, a result without one
answers the first open call of its name; neither is written back."""

from __future__ import annotations

from typing import Any

from interlingua.arguments import spelled
from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.answers import read_answer, split_answer, write_answer
from interlingua.dialects.gemini.media import read_media_part, write_media
from interlingua.dialects.gemini.spelling import Taking, account, dress, mine
from interlingua.dialects.gemini.tables import CODE, NAME, NAMELESS, OUTCOMES, SERVER_TOOLS
from interlingua.dialects.gemini.turn import Calls, Turn
from interlingua.ids import is_synthetic_tool_id
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    ResultBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)

_SAID_CALL = frozenset({"id", "name", "input", "signature", "raw_arguments"})
_SAID_HOSTED = _SAID_CALL | {"executor"}
_EXECUTORS = frozenset({"client", "provider"})
_SAID_RESULT = frozenset({"tool_use_id", "content", "is_error", "tool_name"})

# -- the plain spelling, which nearly all calls and results have -------------------------------------


def quickly(part: Any, calls: Calls) -> ToolUseBlock | ToolResultBlock | None:
    """A client's call or result that has nothing to remember; None for anything else."""
    if type(part) is dict:
        if type(inner := part.get("functionCall")) is dict:
            return _quick_call(inner, part, calls)
        if type(inner := part.get("functionResponse")) is dict and len(part) == 1:
            return _quick_result(inner, calls)
    return None


def _quick_call(inner: Wire, part: Wire, calls: Calls) -> ToolUseBlock | None:
    name, args, signature = inner.get("name"), inner.get("args"), part.get("thoughtSignature")
    if type(name) is not str or type(args) is not dict or not _is_plain(inner):
        return None
    if len(part) != 1 and (len(part) != 2 or type(signature) is not str):
        return None
    id = calls.called(inner.get("id"), name, {})
    return ToolUseBlock(id, name, args, signature=signature)


def _quick_result(inner: Wire, calls: Calls) -> ToolResultBlock | None:
    name, response = inner.get("name"), inner.get("response")
    if type(name) is not str or type(response) is not dict or not _is_plain(inner):
        return None
    text = response.get("output")
    if len(response) != 1 or type(text) is not str or not text or calls.model:
        return None
    form: Wire = {}
    id = calls.answered(inner.get("id"), name, form)
    raw = {NAME: {"$form": {"functionResponse": form}}} if form else None
    return ToolResultBlock(id, (TextBlock(text),), tool_name=name, raw=raw)


def _is_plain(inner: Wire) -> bool:
    """Whether beside two other keys there is an id that says nothing special, or none."""
    id = inner.get("id")
    if id is None:
        return len(inner) == 2
    return len(inner) == 3 and type(id) is str and id != "" and id[:3] != "il_"


# -- calls ----------------------------------------------------------------------------------------


def read_call(part: Taking, calls: Calls) -> ToolUseBlock:
    inner = part.inside("functionCall")
    assert inner is not None
    given = inner.take("id", str)
    name = inner.take("name", str, due=True) or ""
    args = inner.take("args", dict, due=True)
    id = calls.called(given, name, inner.form)
    signature = part.take("thoughtSignature", str)
    return ToolUseBlock(id, name, args or {}, signature=signature, raw=_raw(part, inner))


def read_code(part: Taking, calls: Calls) -> ToolUseBlock:
    """`executableCode`: the input is the language and the code."""
    inner = part.inside("executableCode")
    assert inner is not None
    given = inner.take("id", str)
    id = calls.called(given, CODE, inner.form, hosted=True)
    input, inner.left = inner.left, {}
    signature = part.take("thoughtSignature", str)
    raw = _raw(part, inner)
    return ToolUseBlock(id, CODE, input, signature=signature, executor="provider", raw=raw)


def read_tool_call(part: Taking, calls: Calls) -> ToolUseBlock:
    inner = part.inside("toolCall")
    assert inner is not None
    given = inner.take("id", str)
    name = inner.take("toolType", str, due=True) or ""
    args = inner.take("args", dict, due=True)
    id = calls.called(given, name, inner.form, hosted=True)
    signature = part.take("thoughtSignature", str)
    if name not in SERVER_TOOLS:
        part.form["kind"] = "toolCall"
    raw = _raw(part, inner)
    return ToolUseBlock(id, name, args or {}, signature=signature, executor="provider", raw=raw)


def _raw(part: Taking, inner: Taking) -> Raw | None:
    assert inner.place is not None
    part.absorb(str(inner.place[1]), inner)
    return part.raw()


def write_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    turn.names[block.id] = block.name
    if block.executor == "provider":
        return _write_hosted_call(block, turn)
    call: Wire = {"name": block.name, "args": block.input}
    part: Wire = {"functionCall": call}
    if block.signature is not None:
        part["thoughtSignature"] = block.signature
    if block.raw is None and block.id[:3] != "il_":
        call["id"] = block.id
    else:
        _put_id(call, block.id, mine(block.raw)[1].get("functionCall"))
        dress(part, "functionCall", block.raw)
    if block.call_type is not None or block.executor not in _EXECUTORS:
        turn.scribe.unsaid(block, _SAID_CALL)
    else:
        account(block, _SAID_CALL, turn.scribe)
    if block.raw_arguments is not None and not spelled(block.raw_arguments, block.input):
        reason = "arguments are an object here; the text that they were recovered from is not sent"
        turn.scribe.lost(block, "raw_arguments", reason, severity="info")
    return part


def _put_id(inner: Wire, id: str, form: Any) -> None:
    """The id as the wire had it: made-up ids are not written, unless they stood there."""
    form = form if type(form) is dict else {}
    if form.get("paired") == id or (is_synthetic_tool_id(id) and form.get("id") is not True):
        if form.get("id") == "":
            inner["id"] = ""
    else:
        inner["id"] = id


def _write_hosted_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    form = mine(block.raw)[1]
    if block.name == CODE and "kind" not in form:
        kind, inner = "executableCode", dict(block.input)
    elif block.name in SERVER_TOOLS or form.get("kind") == "toolCall":
        kind, inner = "toolCall", {"toolType": block.name, "args": block.input}
    else:
        turn.scribe.dropped(block, "tools that another provider runs are not known here")
        return None
    _put_id(inner, block.id, form.get(kind))
    part = {kind: inner}
    if block.signature is not None:
        part["thoughtSignature"] = block.signature  # type: ignore[assignment]  # a part is any JSON
    if block.call_type is not None:
        turn.scribe.unsaid(block, _SAID_HOSTED)
    else:
        account(block, _SAID_HOSTED, turn.scribe)
    return dress(part, kind, block.raw)


# -- results --------------------------------------------------------------------------------------


def read_result(part: Taking, calls: Calls) -> ToolResultBlock:
    inner = part.inside("functionResponse")
    assert inner is not None
    given = inner.take("id", str)
    name = inner.take("name", str, due=True)
    content, is_error = _read_response(inner)
    parts = inner.take("parts", list)
    if parts is not None:
        place = (inner.place, "parts")
        content += [read_media_part(each, (place, at)) for at, each in enumerate(parts)]
        if not parts:
            inner.form["void"] = ["parts"]
    id = calls.answered(given, name or "", inner.form)
    if calls.model:
        part.form["kind"] = "functionResponse"
    return ToolResultBlock(id, tuple(content), is_error, name, raw=_raw(part, inner))


def _read_response(inner: Taking) -> tuple[list[ResultBlock], bool]:
    response = inner.take("response", dict, due=True)
    if response is None:
        return [], False
    text, is_error, form = read_answer(response)
    inner.form.update(form)
    return [TextBlock(text)] if text else [], is_error


def read_tool_response(part: Taking, calls: Calls) -> ToolResultBlock:
    inner = part.inside("toolResponse")
    assert inner is not None
    given = inner.take("id", str)
    name = inner.take("toolType", str, due=True)
    content, is_error = _read_response(inner)
    id = calls.answered(given, name or "", inner.form, hosted=True)
    if not calls.model or name not in SERVER_TOOLS:
        part.form["kind"] = "toolResponse"
    return ToolResultBlock(id, tuple(content), is_error, name, raw=_raw(part, inner))


def read_code_result(part: Taking, calls: Calls) -> ToolResultBlock:
    inner = part.inside("codeExecutionResult")
    assert inner is not None
    given = inner.take("id", str)
    output = inner.take("output", str)
    is_error = _read_outcome(inner)
    if output == "":
        inner.form["void"] = ["output"]
    content = (TextBlock(output),) if output else ()
    id = calls.answered(given, CODE, inner.form, hosted=True)
    if not calls.model:
        part.form["kind"] = "codeExecutionResult"
    return ToolResultBlock(id, content, is_error, CODE, raw=_raw(part, inner))


def _read_outcome(inner: Taking) -> bool:
    """Whether code failed; a word that says more than that stays."""
    outcome = inner.left.get("outcome")
    if type(outcome) is not str:
        if outcome is None:
            inner.take("outcome", str, due=True)
        return False
    is_error = bool(OUTCOMES.read(outcome))
    if OUTCOMES.write(is_error) == outcome:
        del inner.left["outcome"]
    return is_error


def write_result(block: ToolResultBlock, turn: Turn) -> Wire | None:
    rest, form = mine(block.raw)
    kind = form.get("kind") or _result_kind(block, turn)
    if kind is None:
        turn.scribe.dropped(block, "the result of a tool that another provider ran")
        return None
    inner = _RESULTS[kind](block, turn, form.get(kind) or {}, rest.get(kind) or {})
    _put_id(inner, block.tool_use_id, form.get(kind))
    account(block, _SAID_RESULT, turn.scribe)
    part = {kind: inner}
    return part if block.raw is None else dress(part, kind, block.raw)


def _result_kind(block: ToolResultBlock, turn: Turn) -> str | None:
    if not turn.model:
        return "functionResponse"
    name = block.tool_name or turn.names.get(block.tool_use_id)
    if name == CODE:
        return "codeExecutionResult"
    return "toolResponse" if name in SERVER_TOOLS else None


def _write_function_response(block: ToolResultBlock, turn: Turn, form: Wire, rest: Wire) -> Wire:
    text, media = split_answer(block, turn.scribe)
    inner: Wire = {"name": block.tool_name, "response": write_answer(text, block.is_error, form)}
    if block.tool_name is None and not _was_missing(form, "name"):
        inner["name"] = turn.names.get(block.tool_use_id) or NAMELESS
    parts = [part for each in media if (part := _write_inside(each, turn)) is not None]
    if parts or "parts" in form.get("void", ()):
        inner["parts"] = parts
    return inner


def _was_missing(form: Wire, name: str) -> bool:
    return name in form.get("absent", ()) or name in form.get("nil", ())


def _write_inside(block: ResultBlock, turn: Turn) -> Wire | None:
    if type(block) is UnknownBlock:
        return write_unknown(block, turn)
    return write_media(block, turn)  # type: ignore[arg-type]  # texts were split off


def write_unknown(block: UnknownBlock, turn: Turn) -> Wire | None:
    """Our own go home unchanged, others' have no place."""
    part = block.raw.get(NAME)
    if type(part) is not dict:
        turn.scribe.dropped(block, "another dialect's")
        return None
    if block.cache is not None or len(block.raw) > 1:
        turn.scribe.unsaid(block, frozenset())
    return part


def _write_tool_response(block: ToolResultBlock, turn: Turn, form: Wire, rest: Wire) -> Wire:
    text = _text_alone(block, turn)
    name = block.tool_name
    if name is None and not _was_missing(form, "toolType"):
        name = turn.names.get(block.tool_use_id)
    return {"toolType": name, "response": write_answer(text, block.is_error, form)}


def _write_code_result(block: ToolResultBlock, turn: Turn, form: Wire, rest: Wire) -> Wire:
    if block.tool_name not in (CODE, None):
        turn.scribe.lost(block, "tool_name", "the result of code names no tool")
    text = _text_alone(block, turn)
    outcome = rest.get("outcome")
    if outcome is None or bool(OUTCOMES.read(outcome)) is not block.is_error:
        outcome = OUTCOMES.write(block.is_error)
        if not block.is_error and _was_missing(form, "outcome"):
            outcome = None
    inner: Wire = {"outcome": outcome}
    if text or "output" in form.get("void", ()):
        inner["output"] = text
    return inner


def _text_alone(block: ToolResultBlock, turn: Turn) -> str:
    text, media = split_answer(block, turn.scribe)
    for each in media:
        turn.scribe.dropped(each, "only text comes back from tools that are run here")
    return text


_RESULTS = {
    "functionResponse": _write_function_response,
    "toolResponse": _write_tool_response,
    "codeExecutionResult": _write_code_result,
}
