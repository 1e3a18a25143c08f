"""Results: of the client's functions, and of tools that Google runs.

A result without an id answers the first open call of its name, and is written without one again."""

from __future__ import annotations

from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.answers import read_answer, split_answer, write_answer
from interlingua.dialects.gemini.calls import is_plain, put_id, raw_of
from interlingua.dialects.gemini.media import read_media_part, write_media
from interlingua.dialects.gemini.spelling import Taking, account, dress, mine
from interlingua.dialects.gemini.tables import CODE, NAME, NAMELESS, OUTCOMES, SERVER_TOOLS
from interlingua.dialects.gemini.turn import Calls, Turn
from interlingua.model.blocks import ResultBlock, TextBlock, ToolResultBlock, UnknownBlock

_SAID = frozenset({"tool_use_id", "content", "is_error", "tool_name"})

# -- reading --------------------------------------------------------------------------------------


def quick_result(inner: Wire, calls: Calls) -> ToolResultBlock | None:
    """A result in the plain spelling; None for any other."""
    name, response = inner.get("name"), inner.get("response")
    if type(name) is not str or type(response) is not dict or not is_plain(inner):
        return None
    text = response.get("output")
    if len(response) != 1 or type(text) is not str or not text or calls.model:
        return None
    form: Wire = {}
    id = calls.answered(inner.get("id"), name, form)
    raw = {NAME: {"$form": {"functionResponse": form}}} if form else None
    return ToolResultBlock(id, (TextBlock(text),), tool_name=name, raw=raw)


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
    return ToolResultBlock(id, tuple(content), is_error, name, raw=raw_of(part, inner))


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
    return ToolResultBlock(id, tuple(content), is_error, name, raw=raw_of(part, inner))


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
    return ToolResultBlock(id, content, is_error, CODE, raw=raw_of(part, inner))


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


# -- writing --------------------------------------------------------------------------------------


def write_result(block: ToolResultBlock, turn: Turn) -> Wire | None:
    rest, form = mine(block.raw)
    kind = form.get("kind") or _result_kind(block, turn)
    if kind is None:
        turn.scribe.dropped(block, "the result of a tool that another provider ran")
        return None
    inner = _RESULTS[kind](block, turn, form.get(kind) or {}, rest.get(kind) or {})
    put_id(inner, block.tool_use_id, form.get(kind))
    account(block, _SAID, turn.scribe)
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
