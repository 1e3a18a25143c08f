"""Tool results: messages of role `tool`, or of the legacy role `function`."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.dialects.base import ERROR_MARK, Scribe, Wire
from interlingua.dialects.openai_chat.cache import MARKS, read_cache, write_cache
from interlingua.dialects.openai_chat.content import read_content, write_content
from interlingua.dialects.openai_chat.shape import Note, form_in, mine_of, put_back, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import ShapeError
from interlingua.ids import synthetic_tool_id
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message

FILLERS = {"content": ""}
KNOWN = frozenset({"content", "name", "tool_call_id", *MARKS})


class OpenCalls:
    """The calls that wait for a result; looked up only for results that came without an id."""

    def __init__(self) -> None:
        self._seen = 0
        self._open: list[ToolUseBlock] = []

    def answer(self, messages: Sequence[Message], name: str | None) -> str:
        """The id of the first open call of this name (of any, without a name)."""
        for message in messages[self._seen :]:
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    self._open.append(block)
                elif isinstance(block, ToolResultBlock):
                    self._close(block.tool_use_id)
        self._seen = len(messages)
        for call in self._open:
            if name is None or call.name == name:
                return call.id
        return synthetic_tool_id(len(messages), 0, name)

    def _close(self, id: str) -> None:
        for index, call in enumerate(self._open):
            if call.id == id:
                del self._open[index]
                return


# Reading


def read_result(
    wire: Wire, t: Tables, before: Sequence[Message], calls: OpenCalls
) -> ToolResultBlock:
    note, taken = Note(), {"role"}
    if wire["role"] == "function":
        note.form["role"] = "function"
    name, id = wire.get("name"), wire.get("tool_call_id")
    if name:
        want(name, str, ".name")
        taken.add("name")
        note.form["name"] = True
    if id:
        want(id, str, ".tool_call_id")
        taken.add("tool_call_id")
    else:
        if id is not None and id != "":
            raise ShapeError(".tool_call_id", "a string", id)
        id = note.form["answers"] = calls.answer(before, name or None)
    content = wire.get("content")
    blocks = read_content(content, t.parts["tool"], t, note)
    if blocks or content == "":
        taken.add("content")
    failed = _take_mark(blocks, note)
    cache = read_cache(wire, t, "message", note.form, taken)
    note.leave(wire, taken, KNOWN)
    note.absent(wire, FILLERS)
    return ToolResultBlock(id, tuple(blocks), failed, name or None, cache, note.raw(t.name))  # type: ignore[arg-type]  # a misplaced block is for validate() to name


def _take_mark(blocks: list[Block], note: Note) -> bool:
    """Whether the text begins with the mark of a failed result, which is taken off."""
    first = blocks[0] if blocks else None
    if not isinstance(first, TextBlock) or not first.text.startswith(ERROR_MARK):
        return False
    text = first.text[len(ERROR_MARK) :]
    if text:
        blocks[0] = first.replace(text=text)
    elif first.cache is None and first.raw is None:
        del blocks[0]
    else:
        return False
    note.form["marked"] = True
    return True


# Writing


def write_result(block: ToolResultBlock, t: Tables, scribe: Scribe) -> Wire:
    content = block.content
    ids = t.host.ids
    id = block.tool_use_id if ids is None else ids.fit(block.tool_use_id)
    if block.raw is None and len(content) == 1 and not block.is_error and block.cache is None:
        only = content[0]
        if type(only) is TextBlock and only.text and only.raw is None and only.cache is None:
            if only.citations or only.signature or block.tool_name:
                scribe.unsaid(only, _SAID_TEXT)
                scribe.unsaid(block, _said(block, scribe))
            return {"role": "tool", "tool_call_id": id, "content": only.text}
    return _write_slowly(block, id, t, scribe)


def _said(block: ToolResultBlock, scribe: Scribe) -> frozenset[str]:
    """A tool's name is said by its call."""
    named = block.tool_name is not None and block.tool_name == scribe.called(block)
    return _SAID | {"tool_name"} if named else _SAID


def _write_slowly(block: ToolResultBlock, id: str, t: Tables, scribe: Scribe) -> Wire:
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    wire: Wire = {"role": form.get("role", "tool")}
    if form.get("answers") != block.tool_use_id:
        wire["tool_call_id"] = id
    wire["content"] = _write_said(block, t, scribe, form)
    said = _said(block, scribe)
    if block.tool_name is not None and form.get("name"):
        wire["name"] = block.tool_name
        said = said | {"tool_name"}
    if block.cache is not None:
        _write_cache(wire, block, t, scribe, form)
    scribe.unsaid(block, said)
    return put_back(wire, mine, FILLERS)


def _write_said(block: ToolResultBlock, t: Tables, scribe: Scribe, form: Wire) -> object:
    said = write_content(block.content, t.parts["tool"], t, scribe, form)
    if not block.is_error:
        return said if said is not None else ""
    if not form.get("marked"):
        scribe.lost(block, "is_error", "said by a mark before the text", "downgraded")
    if said is None and form.get("content") == "list":
        return [{"type": "text", "text": ERROR_MARK}]
    if said is None:
        return ERROR_MARK
    if isinstance(said, str):
        return ERROR_MARK + said
    first = said[0]
    if isinstance(first, dict) and first.get("type") == "text" and first["text"]:
        return [{**first, "text": ERROR_MARK + first["text"]}, *said[1:]]
    if isinstance(first, str) and first:
        return [ERROR_MARK + first, *said[1:]]
    return [{"type": "text", "text": ERROR_MARK}, *said]


def _write_cache(wire: Wire, block: ToolResultBlock, t: Tables, scribe: Scribe, form: Wire) -> None:
    """A mark beside the content where it was read there; else on the last part."""
    if "cache" in form:
        write_cache(wire, block, block.cache, t, scribe, "message", form)
        return
    parts = wire["content"]
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    last = dict(parts[-1]) if parts and isinstance(parts[-1], dict) else None
    if last is None or "part" not in t.cache.places or not _is_unmarked(last):
        scribe.lost(block, "cache")
        return
    scribe.lost(block, "cache", "set on its last part", "moved", "info")
    write_cache(last, block, block.cache, t, scribe, "part", form)
    wire["content"] = [*parts[:-1], last]


def _is_unmarked(part: Wire) -> bool:
    return not any(key in part for key in MARKS)


_SAID = frozenset({"tool_use_id", "content", "is_error", "cache"})
_SAID_TEXT = frozenset({"text"})
