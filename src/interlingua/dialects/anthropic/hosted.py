"""Tools that the service itself runs: their calls and their results, both in the model's turn.

A result's content is read as blocks as far as blocks can hold it (`INNER`); what is opaque about it
is kept, since the service wants it back unchanged."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.kept import finish, form_of, mine_of, read_cache, spare
from interlingua.dialects.anthropic.parts import (
    HOSTED,
    Place,
    put_result_content,
    read_part,
    read_parts,
    read_result_content,
    write_parts,
)
from interlingua.dialects.anthropic.shape import may_take, take
from interlingua.dialects.anthropic.tables import INNER
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock

_CALL = frozenset({"type", "id", "name", "input", "cache_control"})
_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def read_call(part: Wire, place: Place) -> ToolUseBlock:
    form: Wire = {"type": part["type"]}
    spelled: Wire = {}
    id, name, given = take(part, "id", str), take(part, "name", str), take(part, "input", dict)
    cache = read_cache(part, spelled, form)
    raw = spare(part, _CALL, spelled, form)
    return ToolUseBlock(id, name, given, executor="provider", cache=cache, raw=raw)


def write_call(block: ToolUseBlock, scribe: Scribe) -> Wire | None:
    kind = form_of(block.raw).get("type")
    if type(kind) is not str or block.executor != "provider":
        scribe.dropped(block, "hosted tools do not cross from one service to another")
        return None
    out: Wire = {"type": kind, "id": block.id, "name": block.name, "input": block.input}
    for name in ("raw_arguments", "signature", "call_type"):
        if getattr(block, name) is not None:
            scribe.lost(block, name)
    return finish(out, block, scribe)


def read_result(part: Wire, place: Place) -> ToolResultBlock:
    form: Wire = {"type": part["type"]}
    spelled: Wire = {}
    id = take(part, "tool_use_id", str)
    flag = may_take(part, "is_error", bool, spelled)
    if flag is not None:
        form["flagged"] = True
    inner = part.get("content")
    rest: Wire = {}
    if type(inner) is dict:
        content, rest = _read_inner(inner, form)
        is_error = _is_error(inner) or flag is True
    else:
        content = read_result_content(part, HOSTED, spelled, form)
        is_error = flag is True
    cache = read_cache(part, spelled, form)
    known = _RESULT - {"content"} if rest else _RESULT
    raw = spare({**part, **rest}, known, spelled, form)
    return ToolResultBlock(id, content, is_error, None, cache, raw)


def _is_error(inner: Wire) -> bool:
    kind = inner.get("type")
    return type(kind) is str and kind.endswith("_error")


def _read_inner(inner: Wire, form: Wire) -> tuple[tuple[Any, ...], Wire]:
    """The blocks in a result object, and the object without them."""
    kind = inner.get("type")
    key = INNER.get(kind) if type(kind) is str else None
    value = inner.get(key) if key is not None else None
    blocks: tuple[Block, ...]
    try:
        if type(value) is str:
            blocks = (TextBlock(value),) if value else ()
        elif type(value) is dict:
            blocks = (read_part(value, HOSTED),)
        elif type(value) is list:
            blocks = read_parts(value, HOSTED)
        else:
            form["inner"] = "whole"
            return (), {"content": inner}
    except ShapeError as odd:
        raise odd.inside(f".content.{key}") from None
    form["inner"] = type(value).__name__
    return blocks, {"content": {name: each for name, each in inner.items() if name != key}}


def write_result(block: ToolResultBlock, kind: str, scribe: Scribe) -> Wire:
    form = form_of(block.raw)
    out: Wire = {"type": kind, "tool_use_id": block.tool_use_id}
    inner = mine_of(block.raw).get("content")
    if type(inner) is dict and "inner" in form:
        out["content"] = _write_inner(block, inner, form["inner"], scribe)
    else:
        put_result_content(out, block.content, form, HOSTED, scribe)
    _put_error(out, block, inner, form, scribe)
    return finish(out, block, scribe)


def _put_error(out: Wire, block: ToolResultBlock, inner: Any, form: Wire, scribe: Scribe) -> None:
    told = type(inner) is dict and _is_error(inner)
    if form.get("flagged"):
        out["is_error"] = block.is_error
    elif block.is_error is not told:
        scribe.lost(block, "is_error", "told by the kind of result")


def _write_inner(block: ToolResultBlock, inner: Wire, shape: Any, scribe: Scribe) -> Wire:
    blocks = block.content
    kind = inner.get("type")
    key = INNER.get(kind) if type(kind) is str else None
    if key is None:
        _leave_out(blocks, scribe)
        return inner
    if shape == "list":
        return {**inner, key: write_parts(blocks, HOSTED, scribe)}
    if shape == "str":
        text = ""
        if blocks and type(blocks[0]) is TextBlock:
            text = blocks[0].text
            scribe.unsaid(blocks[0], frozenset({"text", "raw"}))
            blocks = blocks[1:]
        _leave_out(blocks, scribe)
        return {**inner, key: text}
    if shape == "dict" and blocks:
        part = write_parts(blocks[:1], HOSTED, scribe)
        _leave_out(blocks[1:], scribe)
        return {**inner, key: part[0]} if part else inner
    _leave_out(blocks, scribe)
    return inner


def _leave_out(blocks: tuple[Any, ...], scribe: Scribe) -> None:
    for block in blocks:
        scribe.dropped(block, "the result has room for one")
