"""Calls of tools and their results: of the client's own, which come back in the user's turn, and of
those that the service itself runs, both in the model's turn.

A hosted result's content is read as blocks as far as blocks can hold it (`INNER`); opaque parts are
preserved, since the service wants them back unchanged."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.tables import INNER, NAME, PROGRAM, PROGRAMS
from interlingua.dialects.anthropic.text import (
    CACHE,
    HOSTED,
    RESULT,
    USER,
    Scope,
    is_odd,
    is_silent,
    read_content,
    read_part,
    read_parts,
    write_content,
    write_parts,
)
from interlingua.dialects.kernel.calls import report_recovered
from interlingua.dialects.kernel.errors import at_path
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, lost, plain
from interlingua.dialects.kernel.preserved import NOTHING, Preserved, raw_of, spelling_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.reasons import because

# -- calls ----------------------------------------------------------------------------------------


def _report_arguments(block: Any, recorder: LossRecorder) -> None:
    """Arguments that were repaired are reported by `tell_repaired`."""
    if not block.input:
        report_recovered(block, recorder)


def report_repaired(message: Message, recorder: LossRecorder) -> None:
    """Reports arguments that were recovered from text that is not strict JSON, if a diagnostic
    of the message names any."""
    for block in message.content if message.metadata.diagnostics else ():
        if type(block) is ToolUseBlock and block.input:
            report_recovered(block, recorder)


def _read_caller(value: Any) -> Reading:
    """Reads the caller; empty if it is the model itself."""
    match value:
        case {"type": "direct", **more} if not more:
            return {}
        case {"type": str(kind), "tool_id": str(caller), **more} if not more:
            return {"caller": caller} if PROGRAMS.fullmatch(kind) else NOT_OURS
    return NOT_OURS


def _write_caller(block: Any, recorder: LossRecorder) -> Wire:
    return {"type": PROGRAM, "tool_id": block.caller}


_CALLED = (
    plain("id", "id", str),
    plain("name", "name", str),
    plain("input", "input", dict),
    CACHE,
    Field("caller", ("caller",), _read_caller, _write_caller),
)
CALL = Table(
    ToolUseBlock,
    *_CALLED,
    Field("", ("raw_arguments",), lambda _: {}, _report_arguments),
    lost("signature", because("call_signature")),
    lost("call_type", because("custom_call_as_function"), kind="downgraded"),
    beside=("type",),
    silent=("executor",),
)
HOSTED_CALL = Table(ToolUseBlock, *_CALLED, beside=("type",), silent=("executor",))


def read_tool_use(part: Wire, scope: Scope) -> ToolUseBlock:
    if len(part) == 4:
        id, name, arguments = part.get("id"), part.get("name"), part.get("input")
        if type(id) is str and type(name) is str and type(arguments) is dict:
            return ToolUseBlock(id, name, arguments)
    return CALL.read_value(ToolUseBlock, part, NAME)


def read_hosted_use(part: Wire, scope: Scope) -> ToolUseBlock:
    preserved = Preserved(spelling={"type": part["type"]})
    return HOSTED_CALL.read_value(ToolUseBlock, part, NAME, preserved, executor="provider")


def write_tool_use(block: ToolUseBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    if block.executor != "client":
        kind = spelling_of(NAME, block.raw).get("type")
        if type(kind) is not str or block.executor != "provider":
            recorder.dropped(block, because("hosted_tool_foreign"))
            return None
        return HOSTED_CALL.write_value(block, recorder, {"type": kind})
    if not scope.is_models and not is_odd(block.raw):
        recorder.dropped(block, because("role_calls_no_tools"))
        return None
    bare = block.signature is None and (block.call_type or block.cache or block.caller) is None
    if bare and (block.input or block.raw_arguments is None) and is_silent(block.raw):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    return CALL.write_value(block, recorder, {"type": "tool_use"})


# -- results --------------------------------------------------------------------------------------

ANSWERED = Table(
    ToolResultBlock,
    plain("tool_use_id", "tool_use_id", str),
    plain("is_error", "is_error", bool, blank=True),
    CACHE,
    beside=("type", "content"),
    silent=("content", "tool_name"),
)
HOSTED_RESULT = Table(
    ToolResultBlock,
    plain("tool_use_id", "tool_use_id", str),
    CACHE,
    beside=("type", "content", "is_error"),
    silent=("content", "tool_name", "is_error"),
)


def read_tool_result(part: Wire, scope: Scope) -> ToolResultBlock:
    preserved = Preserved()
    content = _read_content(part, RESULT, preserved)
    if scope is not USER:
        preserved.spelling["type"] = "tool_result"
    return ANSWERED.read_value(ToolResultBlock, part, NAME, preserved, content=content)


def write_tool_result(block: ToolResultBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    spelling: Wire = NOTHING if block.raw is None else spelling_of(NAME, block.raw)
    kind = spelling.get("type")
    if type(kind) is str and kind != "tool_result":
        return _write_hosted_result(block, kind, spelling, recorder)
    if scope is not USER and kind is None:
        recorder.dropped(block, because("hosted_result_foreign"))
        return None
    if block.cache is None and (block.raw is None or block.raw == _STRING):
        out: Wire = {"type": "tool_result", "tool_use_id": block.tool_use_id}
        if content := write_content(block.content, RESULT, spelling, recorder):
            out["content"] = content
        if block.is_error:
            out["is_error"] = True
        return out
    return _write_tool_result(block, spelling, recorder)


_STRING = {NAME: {"$form": {"content": "string"}}}


def _write_tool_result(block: ToolResultBlock, spelling: Wire, recorder: LossRecorder) -> Wire:
    out: Wire = {"type": "tool_result"}
    if content := write_content(block.content, RESULT, spelling, recorder):
        out["content"] = content
    return ANSWERED.write_value(block, recorder, out)


def _read_content(part: Wire, scope: Scope, preserved: Preserved) -> tuple[Any, ...]:
    content = part.get("content")
    if content is not None and content != "" and content != []:
        return at_path(".content", read_content, content, scope, preserved.spelling)
    if "content" in part:
        preserved.keep_spelling("content", content)
    return ()


# -- results of hosted tools ----------------------------------------------------------------------


def read_hosted_result(part: Wire, scope: Scope) -> ToolResultBlock:
    """Reads a result object whose type names the failure; some hosts also set a flag."""
    preserved = Preserved(spelling={"type": part["type"]})
    flag, inner = preserved.may_take(part, "is_error", bool), part.get("content")
    if flag is not None:
        preserved.spelling["flagged"] = True
    content: Any = _read_inner(inner, preserved) if type(inner) is dict else None
    if content is None:
        content = _read_content(part, HOSTED, preserved)
    more = {"content": content, "is_error": flag is True or _is_error(inner)}
    return HOSTED_RESULT.read_value(ToolResultBlock, part, NAME, preserved, **more)


def _is_error(inner: Any) -> bool:
    kind = inner.get("type") if type(inner) is dict else None
    return type(kind) is str and kind.endswith("_error")


def _inner_key(inner: Wire) -> str | None:
    kind = inner.get("type")
    return INNER.get(kind) if type(kind) is str else None


def _read_inner(inner: Wire, preserved: Preserved) -> tuple[Any, ...]:
    """The blocks in a result object; the object without them is content."""
    key = _inner_key(inner)
    value = inner.get(key) if key is not None else None
    blocks: tuple[Block, ...] = ()
    if type(value) is str:
        blocks = (TextBlock(value),) if value else ()
    elif type(value) is dict:
        blocks = (at_path(f".content.{key}", read_part, value, HOSTED),)
    elif type(value) is list:
        blocks = at_path(f".content.{key}", read_parts, value, HOSTED)
    else:
        key = None
    preserved.spelling["inner"] = "whole" if key is None else type(value).__name__
    preserved.rest["content"] = {name: each for name, each in inner.items() if name != key}
    return blocks


def _write_hosted_result(
    block: ToolResultBlock, kind: str, spelling: Wire, recorder: LossRecorder
) -> Wire:
    out: Wire = {"type": kind}
    inner = raw_of(NAME, block.raw).get("content")
    if type(inner) is dict and "inner" in spelling:
        out["content"] = _write_inner(block, inner, spelling["inner"], recorder)
    elif content := write_content(block.content, HOSTED, spelling, recorder):
        out["content"] = content
    if spelling.get("flagged"):
        out["is_error"] = block.is_error
    elif block.is_error is not _is_error(inner):
        recorder.lost(block, "is_error", because("error_by_type"))
    return HOSTED_RESULT.write_value(block, recorder, out)


def _write_inner(block: ToolResultBlock, inner: Wire, shape: Any, recorder: LossRecorder) -> Wire:
    blocks, key = block.content, _inner_key(inner)
    if key is not None and shape == "list":
        return {**inner, key: write_parts(blocks, HOSTED, recorder)}
    first = blocks[:1] if key is not None else ()
    value: Any = None
    if shape == "str":
        first = first if first and type(first[0]) is TextBlock else ()
        value = first[0].text if first else ""  # type: ignore[union-attr]  # a text
        for each in first:
            recorder.unwritten(each, frozenset({"text", "raw"}))
    elif shape == "dict":
        value = next(iter(write_parts(first, HOSTED, recorder)), None)
    for left in blocks[len(first) if shape in ("str", "dict") else 0 :]:
        recorder.dropped(left, because("result_holds_one"))
    return inner if value is None or key is None else {**inner, key: value}
