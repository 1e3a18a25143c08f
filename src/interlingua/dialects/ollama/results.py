"""Tool messages. The wire has no flag for a failed result, so a mark stands before its text; and a
result may come without an id, and then answers the first open call of its name."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import ERROR_MARK, Scribe, Wire
from interlingua.dialects.ollama.calls import OpenCalls
from interlingua.dialects.ollama.content import leave_out, read_images, read_text, write_blocks
from interlingua.dialects.ollama.shape import form_of, put_back, spare
from interlingua.dialects.shape import Kept, may_take
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.blocks import TextBlock, ToolResultBlock
from interlingua.model.message import Message, Role

_TOOL = Role.TOOL
_SAYING = frozenset({"role", "content", "images", "tool_name", "tool_call_id"})


def read_result(wire: Wire, position: int, calls: OpenCalls) -> Message:
    text, name, id = wire.get("content"), wire.get("tool_name"), wire.get("tool_call_id")
    plain = type(text) is str and type(name) is str and type(id) is str and len(wire) == 4
    if plain and text and id and not (text.startswith(ERROR_MARK) or id.startswith("il_")):
        calls.close(id)  # the hot path
        return Message.of_result(ToolResultBlock(id, (TextBlock(text),), False, name))
    return _read_result(wire, position, calls)


def _read_result(wire: Wire, position: int, calls: OpenCalls) -> Message:
    kept = Kept({}, {}, {})
    text = read_text(wire, kept)
    failed = text.startswith(ERROR_MARK)
    if failed:
        text = text[len(ERROR_MARK) :]
        kept.form["marked"] = True
    content: list[Any] = [TextBlock(text)] if text else []
    if "images" in wire:
        content += read_images(wire, kept)
    name = may_take(wire, "tool_name", str, kept.spelled)
    if name is None and "tool_name" not in wire:
        kept.form["absent"] = [*kept.form.get("absent", ()), "tool_name"]
    id = _read_id(wire, name, position, calls, kept)
    raw = spare(wire, _SAYING, kept.spelled, kept.form)
    return Message.of_result(ToolResultBlock(id, tuple(content), failed, name, raw=raw))


def _read_id(wire: Wire, name: str | None, position: int, calls: OpenCalls, kept: Kept) -> str:
    id = may_take(wire, "tool_call_id", str, kept.spelled)
    if id:
        if is_synthetic_tool_id(id):
            kept.form["id"] = True
    else:
        if id is not None:
            kept.spelled["tool_call_id"] = id
        id = calls.first(name or None)
        if id is not None and not is_synthetic_tool_id(id):
            kept.form["unnamed"] = True
        id = id or synthetic_tool_id(position, 0, name or "")
    calls.close(id)
    return id


def write_results(message: Message, calls: OpenCalls, scribe: Scribe) -> list[Wire]:
    """One wire message for each result."""
    out = []
    for block in message.content:
        if type(block) is ToolResultBlock:
            out.append(_write_result(block, calls, scribe))
        else:
            scribe.dropped(block, "a tool's message holds results")
    return out


def _write_result(block: ToolResultBlock, calls: OpenCalls, scribe: Scribe) -> Wire:
    form = form_of(block.raw)
    out: Wire = {"role": "tool"}
    write_blocks(block.content, _TOOL, out, scribe)
    leave_out(out, form)
    if block.is_error:
        out["content"] = ERROR_MARK + out.get("content", "")
        if not form.get("marked"):
            reason = "said by a mark before the text"
            scribe.lost(block, "is_error", reason, kind="downgraded")
    if block.cache is not None:
        scribe.lost(block, "cache")
    _put_names(out, block, form, calls)
    return out if block.raw is None else put_back(out, block, scribe, block.raw)


def _put_names(out: Wire, block: ToolResultBlock, form: Wire, calls: OpenCalls) -> None:
    """Which call it answers; both names where both are known."""
    id, name = block.tool_use_id, block.tool_name
    spelled = form.get("spelled", ())
    if name is None and not ("tool_name" in form.get("absent", ()) or "tool_name" in spelled):
        name = calls.name_of(id)
    if name is not None:
        out["tool_name"] = name
    unnamed = form.get("unnamed") and calls.first(block.tool_name or None) == id
    if not unnamed and (form.get("id") or not is_synthetic_tool_id(id)):
        out["tool_call_id"] = id
    calls.close(id)
