"""Messages: turns and instructions are lists of parts, results are messages of their own.

A part is an object with one key that names its kind; a `cachePoint` is a part of its own on the
wire, and the `cache` of the block before it in the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from interlingua.dialects.bedrock import media, text
from interlingua.dialects.bedrock.tables import EMPTY_ERROR, NAME, ROLES
from interlingua.dialects.bedrock.text import ODD, TEXT, is_plain
from interlingua.dialects.bedrock.tools import (
    POINTS,
    points_in,
    put_cache,
    read_changes,
    with_cache,
    write_changes,
)
from interlingua.dialects.kernel.calls import UNSIGNED, arguments_field
from interlingua.dialects.kernel.errors import ShapeError, at_path, read_each, require, require_key
from interlingua.dialects.kernel.fields import Field, Reading, Table, plain
from interlingua.dialects.kernel.preserved import (
    ASIDE,
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import BlockWriters, LossRecorder
from interlingua.dialects.kernel.turns import (
    TurnReader,
    Turns,
    leading,
    report_speaker,
    write_each,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import PLACEHOLDER, report_changes, write_unknown
from interlingua.model import arguments
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because

# -- calls and results ----------------------------------------------------------------------------


_HOSTED = "server_tool_use"


# -- calls ----------------------------------------------------------------------------------------


def _read_input(value: Any) -> Reading:
    """Reads input that is not an object."""
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
    bare = block.raw_arguments is None and block.signature is None and block.call_type is None
    return bare and block.caller is None


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
    """The `json` part for a text that was read from one, if the text is still JSON."""
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
        recorder.dropped(block, because("empty"))
        return None
    if block.citations:
        recorder.lost(block, "citations", because("citations_role"))
    out = TEXT.write_value(block, recorder)
    part = _json_of(block.text) if spelling.get("kind") == "json" else None
    if part is not None:
        del out["text"]
    return {**(part or {}), **out}


Reader = Callable[[Any], Block | None]
"""Reads the value under the key; returns None for values it does not understand."""
Writer = Callable[[Any, LossRecorder, bool], Wire | None]
"""The flag marks an answer; returns None for a block that was left out."""

_READER = TurnReader(NAME)
_TURN = frozenset({"role", "content"})
_PLACEHOLDER = {"text": PLACEHOLDER}
_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER


# -- parts ----------------------------------------------------------------------------------------


def read_parts(parts: Any, path: str, answer: bool = False) -> tuple[list[Block], list[Wire]]:
    """The blocks, and the cache points before them. In an `answer`, everything is unchanged from
    the service."""
    if type(parts) is not list:
        raise ShapeError(path, "a list", parts)
    blocks: list[Block] = []
    ahead: list[Wire] = []
    index = -1
    try:
        for part in parts:
            index += 1
            if type(part) is dict and len(part) == 1:
                ((key, inner),) = part.items()
                if key == "text" and type(inner) is str:
                    blocks.append(TextBlock(inner) if inner or answer else TextBlock("", raw=ODD))
                    continue
                if key == "cachePoint" and type(inner) is dict:
                    if blocks:
                        blocks[-1] = with_cache(blocks[-1], inner)
                    else:
                        ahead.append(inner)
                    continue
            blocks.append(read_part(part))
    except ShapeError as error:
        raise error.inside(f"{path}[{index}]") from None
    return blocks, ahead


def read_part(part: Any, readers: dict[str, Reader] | None = None) -> Block:
    if type(part) is not dict:
        raise ShapeError("", "an object", part)
    readers = _READERS if readers is None else readers
    known = list(part) if len(part) == 1 else [key for key in part if key in readers]
    read = readers.get(known[0]) if len(known) == 1 else None
    if read is None:
        return UnknownBlock({NAME: part})
    key = known[0]
    block = at_path(f".{key}", read, part[key])
    if block is None:
        return UnknownBlock({NAME: part})
    return block if len(part) == 1 else _with_beside(block, part, key)


def _with_beside(block: Block, part: Wire, key: str) -> Block:
    """The block with the keys beside the one that names the part's kind."""
    beside = {name: item for name, item in part.items() if name != key}
    own_raw = raw_of(NAME, block.raw)
    if beside.keys() == {"type"}:  # as other vendors spell a part
        own_raw = {**own_raw, "$form": {**spelling_in(own_raw), "beside": beside}}
    else:
        own_raw = {**own_raw, "$beside": beside}
    return block.replace(raw={NAME: own_raw})


def write_parts(
    blocks: Iterable[Block], out: list[Wire], recorder: LossRecorder, answer: bool = False
) -> None:
    for block in blocks:
        if type(block) is TextBlock and block.text and text.is_plain(block):
            out.append({"text": block.text})
        else:
            part = write_part(block, recorder, answer)
            if part is None:
                continue
            out.append(part)
        if block.cache is not None:
            put_cache(out, block, recorder)


def write_part(block: Block, recorder: LossRecorder, answer: bool) -> Wire | None:
    """The part of a block; None for one that has no place."""
    part = _WRITERS[type(block)](block, recorder, answer)
    return part if part is None or block.raw is None else _beside(part, block.raw)


def _beside(part: Wire, raw: Raw) -> Wire:
    """The part with the preserved keys beside the one that names its kind."""
    own_raw = raw_of(NAME, raw)
    for preserved in (own_raw.get("$beside"), spelling_in(own_raw).get("beside")):
        if type(preserved) is dict:
            for key, item in preserved.items():
                part.setdefault(key, item)
    return part


def _write_unknown(block: UnknownBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    part = write_unknown(block, recorder, frozenset({"cache"}))
    return part and {key: item for key, item in part.items() if key not in ASIDE}


def _read_result_part(inner: Any) -> Block:
    return read_result(inner, lambda part: read_part(part, _INSIDE_READERS))


def _write_result(block: ToolResultBlock, recorder: LossRecorder, answer: bool) -> Wire:
    written = [_write_inside(inner, recorder) for inner in block.content]
    return write_result(block, [part for part in written if part is not None], recorder)


def _write_inside(block: Any, recorder: LossRecorder) -> Wire | None:
    """The content of a result: only texts and media."""
    part = _INSIDE_WRITERS.get(type(block), _drop)(block, recorder, False)
    if part is None:
        return None
    if block.cache is not None:
        recorder.lost(block, "cache", because("cache_not_here"))
    return part if block.raw is None else _beside(part, block.raw)


def _drop(block: Any, recorder: LossRecorder, answer: bool) -> None:
    recorder.dropped(block, because("result_content_unsupported"))


_READERS: dict[str, Reader] = {
    "text": text.read_text,
    "toolUse": read_call,
    "toolResult": _read_result_part,
    "reasoningContent": text.read_reasoning,
    "citationsContent": text.read_cited,
    "guardContent": media.read_guarded,
    "audio": media.read_audio,
    **media.READERS,
}
_INSIDE_READERS: dict[str, Reader] = {"text": text.read_text, "json": read_json, **media.READERS}
_INSIDE_WRITERS: dict[type[Any], Writer] = {
    TextBlock: write_text,
    model.ImageBlock: media.write_media,
    model.DocumentBlock: media.write_media,
    model.VideoBlock: media.write_media,
    UnknownBlock: _write_unknown,
}
"""Writers for the content of a result."""
_ALL_WRITERS: dict[type[Any], Writer] = {
    **_INSIDE_WRITERS,
    TextBlock: text.write_text,
    model.RefusalBlock: text.write_refusal,
    model.CompactionBlock: text.write_compaction,
    model.ThinkingBlock: text.write_thinking,
    model.RedactedThinkingBlock: text.write_redacted,
    model.ToolUseBlock: write_call,
    ToolResultBlock: _write_result,
    model.AudioBlock: media.write_media,
}
_WRITERS: BlockWriters[Writer] = BlockWriters(
    _ALL_WRITERS, lambda block, recorder, _: recorder.dropped(block)
)


# -- reading turns --------------------------------------------------------------------------------


def read_system(wire: Wire, preserved: Preserved) -> list[Message]:
    listed = preserved.take(wire, "system", list)
    if listed is None:
        return []
    blocks, ahead = read_parts(listed, ".system")
    if not ahead:
        return [Message(_SYSTEM, tuple(blocks))]
    metadata = MessageMetadata(provider_raw={NAME: {POINTS: ahead}})
    return [Message(_SYSTEM, tuple(blocks), metadata=metadata)]


def read_turns(wire: Wire, preserved: Preserved, tools: frozenset[str]) -> list[Message]:
    turns = preserved.may_take(wire, "messages", list, filled=True)
    if turns is None:
        return []
    return _READER.read_each(turns, partial(_read_turn, tools))


def _read_turn(
    tools: frozenset[str], turn: Any, before: str | None, messages: list[Message]
) -> str | None:
    """The role of the turn, for the next one."""
    role = _READER.role_in(require(turn, dict))
    name: str = turn["role"]
    blocks, ahead = read_parts(turn.get("content"), ".content")
    raw, changes = None, None
    if len(turn) != 2 or ahead or name == before or not blocks or role is _SYSTEM:
        preserved = preserved_around(turn, ahead)
        if not blocks:
            preserved.keep_respelled(
                "content", []
            )  # as a rule, a message without blocks has no content to report
        _READER.keep_place(turn, before, messages, preserved)
        if role is _SYSTEM:
            blocks, changes = read_changes(blocks, preserved.spelling, tools)
        raw = preserved.raw(NAME)
    _READER.add(role, tuple(blocks), raw, messages, changes)
    return name


def preserved_around(turn: Wire, ahead: list[Wire]) -> Preserved:
    """Members of a turn beside its parts."""
    preserved = Preserved(rest={POINTS: ahead} if ahead else {})
    preserved.add_others(turn, _TURN)
    return preserved


# -- writing turns --------------------------------------------------------------------------------


def write_messages(
    messages: tuple[Message, ...], tools: frozenset[str], recorder: LossRecorder
) -> tuple[list[Wire], list[Wire]]:
    """Instructions and turns; `tools` are the names of declared tools."""
    first = leading(messages, NAME)
    system: list[Wire] = []
    for message in messages[:first]:
        report_speaker(message, recorder)
        _write_instructions(message, system, recorder)
    writer = _Turns(recorder, _PLACEHOLDER, tools=tools)
    write_each(messages[first:] if first else messages, writer.turns, writer, recorder)
    return system, writer.turns


class _Turns(Turns, kw_only=True):
    tools: frozenset[str]

    def add(self, message: Message) -> None:
        raw, role, recorder = message.metadata.provider_raw, ROLES[message.role], self.recorder
        spelling: Wire = {} if raw is None else spelling_of(NAME, raw)
        report_speaker(message, recorder)
        parts = _write_message(message, spelling, self.tools, recorder)
        if parts or "content" in spelling.get("as", ()) or self.fill(message, role, parts):
            self.join(role, parts, bool(spelling.get("apart")))
            restore_raw(self.turns[-1], message, raw, recorder, "metadata.provider_raw")
        elif raw is not None:
            recorder.unwritten_raw(message, raw, "metadata.provider_raw")


def _write_message(
    message: Message, spelling: Wire, tools: frozenset[str], recorder: LossRecorder
) -> list[Wire]:
    """The parts of a message and those of its changes, where the wire had them."""
    raw = message.metadata.provider_raw
    out = [] if raw is None else points_in(raw_of(NAME, raw))
    done = 0
    if message.changes is not None:
        if message.role in (_SYSTEM, _DEVELOPER):
            for at, part in write_changes(message, spelling, tools, recorder):
                write_parts(message.content[done:at], out, recorder)
                done = max(done, at)
                out.append(part)
        else:
            report_changes(message, recorder)
    write_parts(message.content[done:] if done else message.content, out, recorder)
    return out


_INSTRUCTIONS = frozenset({"text", "guardContent", "cachePoint"})
"""Parts of `system`."""


def _write_instructions(message: Message, system: list[Wire], recorder: LossRecorder) -> None:
    raw = message.metadata.provider_raw
    if message.changes is not None:
        report_changes(message, recorder)
    system += points_in(raw_of(NAME, raw))
    for block in message.content:
        is_own = block.raw is not None and NAME in block.raw
        if type(block) is TextBlock and block.citations and not is_own:
            recorder.lost(block, "citations", because("citations_role"))
            plain = block.replace(citations=())
            recorder.alias(plain, block)
            block = plain
        parts: list[Wire] = []
        write_parts((block,), parts, recorder)
        if is_own or all(_INSTRUCTIONS.issuperset(part) for part in parts):
            system += parts
        else:
            recorder.dropped(block, because("instructions_text_only"))
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
