"""Calls of the client's own tools, and their results."""

from __future__ import annotations

from interlingua.dialects.anthropic import hosted
from interlingua.dialects.anthropic.kept import finish, form_of, is_odd, read_cache, spare
from interlingua.dialects.anthropic.parts import (
    ANSWER,
    ASSISTANT,
    RESULT,
    USER,
    Place,
    put_result_content,
    read_result_content,
)
from interlingua.dialects.anthropic.shape import may_take, take
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import tell_recovered
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock

_TOOL_USE = frozenset({"type", "id", "name", "input", "cache_control"})
_TOOL_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def read_tool_use(part: Wire, place: Place) -> ToolUseBlock:
    id, name, given = part.get("id"), part.get("name"), part.get("input")
    if type(id) is not str or type(name) is not str or type(given) is not dict:
        id, name, given = take(part, "id", str), take(part, "name", str), take(part, "input", dict)
    if len(part) == 4:
        return ToolUseBlock(id, name, given)
    form: Wire = {}
    spelled: Wire = {}
    cache = read_cache(part, spelled, form)
    raw = spare(part, _TOOL_USE, spelled, form)
    return ToolUseBlock(id, name, given, cache=cache, raw=raw)


def write_tool_use(block: ToolUseBlock, place: Place, scribe: Scribe) -> Wire | None:
    if block.executor != "client":
        return hosted.write_call(block, scribe)
    if place is not ASSISTANT and place is not ANSWER and not is_odd(block.raw):
        scribe.dropped(block, "only a model calls tools")
        return None
    out: Wire = {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    if block.signature is not None:
        scribe.lost(block, "signature", "signs no call here")
    if block.call_type is not None:
        scribe.lost(block, "call_type", "an object that holds the text", kind="downgraded")
    if block.raw_arguments is not None and not block.input:
        tell_recovered(block, scribe)
    if block.raw is None and block.cache is None:
        return out
    return finish(out, block, scribe)


def read_tool_result(part: Wire, place: Place) -> ToolResultBlock:
    id = take(part, "tool_use_id", str)
    form: Wire = {}
    spelled: Wire = {}
    blocks = read_result_content(part, RESULT, spelled, form)
    if len(part) == 3 and blocks and place is USER:
        return ToolResultBlock(id, blocks, raw={NAME: {"$form": form}} if form else None)
    is_error = may_take(part, "is_error", bool, spelled)
    if is_error is False:
        spelled["is_error"] = False
    if place is not USER:
        form["type"] = "tool_result"
    cache = read_cache(part, spelled, form)
    raw = spare(part, _TOOL_RESULT, spelled, form)
    return ToolResultBlock(id, blocks, is_error is True, None, cache, raw)


def write_tool_result(block: ToolResultBlock, place: Place, scribe: Scribe) -> Wire | None:
    form: Wire = _NOTHING if block.raw is None else form_of(block.raw)
    kind = form.get("type")
    if type(kind) is str and kind != "tool_result":
        return hosted.write_result(block, kind, scribe)
    if place is not USER and kind is None:
        scribe.dropped(block, "no hosted tool of this service gave it")
        return None
    out: Wire = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    if block.content:
        put_result_content(out, block.content, form, RESULT, scribe)
    if block.is_error:
        out["is_error"] = True
    if block.raw is None and block.cache is None:
        return out
    return finish(out, block, scribe)


_NOTHING: Wire = {}
