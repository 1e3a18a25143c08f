"""Messages: one text with thinking, images and calls beside it; results are messages of their own.

The wire has no flag for a failed result, so that a mark stands before its text; and a result may
come without an id, and then answers the first open call of its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from interlingua.dialects.kernel.calls import OpenCalls
from interlingua.dialects.kernel.errors import each, want
from interlingua.dialects.kernel.fields import QUIET, Field, Reading, Table, constant, plain
from interlingua.dialects.kernel.kept import Kept, did_without, form_in, mine_of, put_back
from interlingua.dialects.kernel.messages import message_of, read_calls, read_list, write_results
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK, placeholder, unsaid_changes, write_unknown
from interlingua.dialects.ollama import media
from interlingua.dialects.ollama import text as texts
from interlingua.dialects.ollama.calls import read_call, write_call, written_id
from interlingua.dialects.ollama.tables import JOINER, JOINERS, NAME, ROLES, WORDS
from interlingua.ids import synthetic_tool_id
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata

_MADE_HERE = MessageMetadata(protocol=NAME)
# Bound once: looking up a member of an enum takes as long as writing a message.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER


class Parts(msgspec.Struct):
    """A message of the wire, between blocks and keys."""

    role: Role
    content: str | None = None
    thinking: str | None = None
    images: list[Any] | None = None
    tool_calls: list[Any] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    called: str | None = None
    """Of a result: the name that its call has."""


def _read_role(given: Any) -> Reading:
    role = ROLES.get(want(given, str).lower(), _SYSTEM)
    return {"role": _SYSTEM if role is _TOOL else role}


_BESIDE = (
    plain("thinking", "thinking", str, blank=True),
    plain("images", "images", list, blank=True),
    plain("tool_calls", "tool_calls", list, blank=True),
)
_TEXT = plain("content", "content", str, fill=lambda _: "")
MESSAGE = Table(
    Parts,
    Field("role", ("role",), _read_role, lambda parts, _: WORDS[parts.role], few=True),
    _TEXT,
    *_BESIDE,
)
ANSWER = Table(Parts, constant("role", "assistant", str), _TEXT, *_BESIDE, silent=("role",))
"""The message of a response."""
RESULT = Table(
    Parts,
    constant("role", "tool", str),
    _TEXT,
    _BESIDE[1],
    plain("tool_name", "tool_name", str, fill=lambda parts: parts.called),
    Field(
        "tool_call_id",
        ("tool_call_id",),
        lambda given: {"tool_call_id": want(given, str)} if given != "" else {},
        lambda parts, _: written_id(parts.tool_call_id),
        fill=lambda _: None,
    ),
    silent=("role", "called"),
)


# -- reading --------------------------------------------------------------------------------------


def read_messages(listed: list[Any]) -> tuple[Message, ...]:
    return read_list(listed, _read_message)


def _read_message(wire: Wire, position: int, calls: OpenCalls) -> Message:
    word = wire.get("role")
    if len(wire) == 2:  # a text: what most messages are
        text = wire.get("content")
        if type(text) is str:
            content = (TextBlock(text),) if text else ()
            if word == "user":
                return Message(_USER, content)
            if word == "assistant":
                return Message(_ASSISTANT, content, metadata=_MADE_HERE)
            if word == "system":
                return Message(_SYSTEM, content)
    if word == "tool":
        return _read_result(wire, position, calls)
    return _read_other(wire, position, calls)


def _read_other(wire: Wire, position: int, calls: OpenCalls) -> Message:
    kept = Kept()
    found: list[Diagnostic] = []
    attrs = MESSAGE.read(wire, kept)
    if "role" not in attrs:
        want(None, str, ".role")
    content = tuple(read_blocks(attrs, position, found))
    return message_of(_MADE_HERE, attrs["role"], content, kept.raw(NAME), found, calls)


def read_blocks(
    attrs: Wire, place: Any, found: list[Diagnostic], is_answer: bool = False
) -> list[Block]:
    """The blocks of a message, in the order in which templates use them."""
    blocks: list[Block] = []
    if "thinking" in attrs:
        blocks.append(ThinkingBlock(attrs["thinking"]))
    if attrs.get("content"):
        blocks.append(TextBlock(attrs["content"]))
    if "images" in attrs:
        read = media.read_shown_image if is_answer else media.read_image
        blocks += each(attrs["images"], ".images", read)
    if "tool_calls" in attrs:
        blocks += read_calls(attrs["tool_calls"], read_call, place, 0, found)
    return blocks


def _read_result(wire: Wire, position: int, calls: OpenCalls) -> Message:
    text, name, id = wire.get("content"), wire.get("tool_name"), wire.get("tool_call_id")
    plain = type(text) is str and type(name) is str and type(id) is str and len(wire) == 4
    if plain and text and id and not (text.startswith(ERROR_MARK) or id.startswith("il_")):
        calls.close(id)  # the usual result
        return Message.of_result(ToolResultBlock(id, (TextBlock(text),), False, name))
    return _read_any_result(wire, position, calls)


def _read_any_result(wire: Wire, position: int, calls: OpenCalls) -> Message:
    kept = Kept()
    attrs = RESULT.read(wire, kept)
    text, name, id = attrs.get("content", ""), attrs.get("tool_name"), attrs.get("tool_call_id")
    failed = text.startswith(ERROR_MARK)
    if failed:
        attrs["content"] = text[len(ERROR_MARK) :]
        kept.form["marked"] = True
    if id is None:
        id = calls.first(name or None) or synthetic_tool_id(position, 0, name or "")
    calls.close(id)
    content: Any = tuple(read_blocks(attrs, position, []))
    return Message.of_result(ToolResultBlock(id, content, failed, name, raw=kept.raw(NAME)))


# -- writing --------------------------------------------------------------------------------------


def write_messages(messages: tuple[Message, ...], recorder: LossRecorder) -> list[Wire]:
    calls = OpenCalls()
    written: list[Wire] = []
    for message in messages:
        if message.name is not None:
            recorder.lost(message, "name")
        if message.changes is not None:
            unsaid_changes(message, recorder)
            if not message.content:
                continue
        if message.role is _TOOL:
            write = partial(_write_result, calls=calls, recorder=recorder)
            written += write_results(message, write, recorder)
            continue
        written.append(write_message(message, recorder))
        for block in message.content:
            if type(block) is model.ToolUseBlock:
                calls.add(block.id, block.name)
    return written


def write_message(message: Message, recorder: LossRecorder, is_answer: bool = False) -> Wire:
    content, role, raw = message.content, message.role, message.metadata.provider_raw
    if raw is None and len(content) == 1 and role is not _DEVELOPER:
        only = content[0]
        if type(only) is TextBlock and only.text:  # a text: what most messages are
            return {"role": WORDS[role], "content": texts.write_text(only, recorder)}
    parts = write_parts(content, role, recorder, is_answer)
    if content and says_nothing(parts) and not all(map(_is_empty, content)):
        parts.content = placeholder(message, recorder)
    if raw is None and role is not _DEVELOPER:
        return usual_wire(parts)
    out: Wire = {}
    (ANSWER if is_answer else MESSAGE).write(parts, out, mine_of(NAME, raw), QUIET)
    if role is _DEVELOPER and out.get("role") == "system":
        recorder.lost(message, "role", "instructions have one level", kind="downgraded")
    return out if raw is None else put_back(out, message, raw, recorder, "metadata.provider_raw")


def usual_wire(parts: Parts) -> Wire:
    """What the tables give where nothing was kept."""
    out: Wire = {"role": WORDS[parts.role], "content": parts.content or ""}
    for key in _BESIDE_TEXT:
        item = getattr(parts, key)
        if item is not None:
            out[key] = item
    return out


_BESIDE_TEXT = ("thinking", "images", "tool_calls", "tool_name", "tool_call_id")
_KEYS = ("thinking", "content", "images", "tool_calls")
"""In the order in which reading gives the blocks."""
_Writers = dict[type[Any], tuple[int, Callable[[Any, LossRecorder], Any]]]
_WRITERS: _Writers = {
    ThinkingBlock: (0, texts.write_thinking),
    TextBlock: (1, texts.write_text),
    model.RefusalBlock: (1, texts.write_refusal),
    model.CompactionBlock: (1, texts.write_compaction),
    model.DocumentBlock: (1, texts.write_document),
    ImageBlock: (2, media.write_image),
    model.ToolUseBlock: (3, write_call),
    model.UnknownBlock: (3, write_unknown),
}
_ANSWER_WRITERS: _Writers = {**_WRITERS, ImageBlock: (2, media.write_shown_image)}


def write_parts(
    content: tuple[Any, ...], role: Role, recorder: LossRecorder, is_answer: bool = False
) -> Parts:
    """What blocks come to in one message."""
    if len(content) == 1 and type(content[0]) is TextBlock:
        return Parts(role, texts.write_text(content[0], recorder))
    _report_moved(content, recorder)
    writers = _ANSWER_WRITERS if is_answer else _WRITERS
    said: tuple[list[Any], ...] = ([], [], [], [])
    thoughts: list[ThinkingBlock] = []
    for block in content:
        rank, write = writers.get(type(block), (1, _drop))
        item = write(block, recorder)
        if item is None:
            continue
        if rank == 0:
            thoughts.append(block)
        elif rank == 1 and said[1]:
            reason = "joined to the text before it"
            recorder.lost(block, None, reason, kind="approximated", severity="info")
        said[rank].append(item)
    if len(thoughts) > 1:
        reason = "a message has one thought; joined with the others"
        for thought in thoughts:
            recorder.lost(thought, None, reason, kind="approximated", severity="info")
    text, thinking = JOINERS.get(role, JOINER).join(said[1]), "\n".join(said[0])
    return Parts(role, text or None, thinking or None, said[2] or None, said[3] or None)


def _drop(block: Block, recorder: LossRecorder) -> None:
    recorder.dropped(block)


def _report_moved(content: tuple[Block, ...], recorder: LossRecorder) -> None:
    """Thinking, text, images, calls: what stood before an earlier kind moves behind it."""
    least = len(_KEYS)
    for block in reversed(content):
        rank = _WRITERS.get(type(block), (1, None))[0]
        if rank > least:
            reason = "a message has one text; all else stands beside it"
            recorder.lost(block, None, reason, kind="moved", severity="info")
        least = min(least, rank)


def _is_empty(block: Block) -> bool:
    return type(block) is TextBlock and not block.text


def says_nothing(parts: Parts) -> bool:
    return not (parts.content or parts.thinking or parts.images or parts.tool_calls)


def _write_result(block: ToolResultBlock, calls: OpenCalls, recorder: LossRecorder) -> Wire:
    mine, id = mine_of(NAME, block.raw), block.tool_use_id
    parts = write_parts(block.content, _TOOL, recorder)
    if block.is_error:
        parts.content = ERROR_MARK + (parts.content or "")
        if "marked" not in form_in(mine):
            reason = "said by a mark before the text"
            recorder.lost(block, "is_error", reason, kind="downgraded")
    if block.cache is not None:
        recorder.lost(block, "cache")
    parts.tool_name, parts.called = block.tool_name, calls.name_of(id)
    if not (did_without(mine, "tool_call_id") and calls.first(block.tool_name or None) == id):
        parts.tool_call_id = id
    calls.close(id)
    if block.raw is None and not id.startswith("il_"):
        parts.tool_name = parts.called if parts.tool_name is None else parts.tool_name
        return usual_wire(parts)
    out: Wire = {}
    RESULT.write(parts, out, mine, QUIET)
    return out if block.raw is None else put_back(out, block, block.raw, recorder)
