"""Tool calls and their results. What a result holds is read and written by `messages.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.dialects.bedrock.tables import EMPTY_ERROR, NAME
from interlingua.dialects.bedrock.text import TEXT, is_plain
from interlingua.dialects.kernel.calls import UNSIGNED, arguments_field
from interlingua.dialects.kernel.errors import ShapeError, read_each, require, require_key
from interlingua.dialects.kernel.fields import Field, Reading, Table, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import arguments
from interlingua.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock

_HOSTED = "server_tool_use"


# -- calls ----------------------------------------------------------------------------------------


def _read_input(value: Any) -> Reading:
    """What input that is no object comes to."""
    if type(value) is dict:
        return {"input": value}
    return {"input": arguments.recover(value).input if type(value) is str else {}}


def _write_type(call: Any, recorder: LossRecorder) -> str | None:
    if call.executor != "provider":
        recorder.lost(call, "executor")
        return None
    return _HOSTED


CALL = Table(
    ToolUseBlock,
    plain("toolUseId", "id", str),
    plain("name", "name", str),
    arguments_field("input", _read_input),
    Field(
        "type",
        ("executor",),
        lambda value: {"executor": "provider"} if value == _HOSTED else {},
        _write_type,
    ),
    *UNSIGNED,
    silent=("cache",),
)


def read_call(inner: Any) -> ToolUseBlock:
    id, name = require_key(require(inner, dict), "toolUseId", str), require_key(inner, "name", str)
    arguments = inner.get("input")
    if type(arguments) is dict and len(inner) == 3:  # the usual call
        return ToolUseBlock(id, name, arguments)
    return _read_call(inner)


def _read_call(inner: Wire) -> ToolUseBlock:
    if "input" not in inner:
        raise ShapeError(".input", "an object", None)
    return CALL.read_value(ToolUseBlock, inner, NAME)


def write_call(block: ToolUseBlock, recorder: LossRecorder, answer: bool) -> Wire:
    if block.raw is None and block.executor == "client" and _is_usual(block):
        return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": block.input}}
    return {"toolUse": CALL.write_value(block, recorder)}


def _is_usual(block: ToolUseBlock) -> bool:
    return block.raw_arguments is None and block.signature is None and block.call_type is None


# -- results --------------------------------------------------------------------------------------

RESULT = Table(
    ToolResultBlock,
    plain("toolUseId", "tool_use_id", str),
    Field(
        "status",
        ("is_error",),
        lambda value: {"is_error": True} if value == "error" else {},
        lambda _, __: "error",
    ),
    beside=("content",),
    silent=("content", "tool_name", "cache"),
)


def read_result(inner: Any, read_inside: Callable[[Any], Any]) -> ToolResultBlock:
    id = require_key(require(inner, dict), "toolUseId", str)
    content = tuple(read_each(inner.get("content"), ".content", read_inside))
    if len(inner) == 2:  # the usual result
        return ToolResultBlock(id, content)
    return _read_result(inner, content)


def _read_result(inner: Wire, content: Any) -> ToolResultBlock:
    preserved = Preserved()
    if inner.get("status") == "error" and not content:
        preserved.keep_respelled("content", [])
    return RESULT.read_value(ToolResultBlock, inner, NAME, preserved, content=content)


def write_result(block: ToolResultBlock, content: list[Wire], recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, block.raw)
    if block.is_error and not content and "content" not in spelling_in(own_raw).get("as", ()):
        content.append({"text": EMPTY_ERROR})
        recorder.filled(block, "content", EMPTY_ERROR)
    out: Wire = {"toolUseId": block.tool_use_id, "content": content}
    if block.is_error:
        out["status"] = "error"
    return {"toolResult": restore_raw(out, block, block.raw, recorder)}


# -- texts in results -----------------------------------------------------------------------------


def read_json(value: Any) -> TextBlock:
    return TextBlock(msgspec.json.encode(value).decode(), raw={NAME: {"$form": {"kind": "json"}}})


def _json_of(text: str) -> Wire | None:
    """The part for a text that was read from a `json` part, as long as it still says one."""
    try:
        value = msgspec.json.decode(text)
        if msgspec.json.encode(value).decode() == text:
            return {"json": value}
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return None


def write_text(block: TextBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    """A text in a result."""
    if block.text and is_plain(block):
        return {"text": block.text}
    spelling = spelling_of(NAME, block.raw)
    if not block.text and "odd" not in spelling:
        recorder.dropped(block, "empty", "info")
        return None
    if block.citations:
        recorder.lost(block, "citations", "a result cites nothing")
    out = TEXT.write_value(block, recorder)
    part = _json_of(block.text) if spelling.get("kind") == "json" else None
    if part is not None:
        del out["text"]
    return {**(part or {}), **out}
