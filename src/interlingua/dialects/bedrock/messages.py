"""Messages: turns and instructions are lists of parts, results are messages of their own.

A part is an object with one key that says its kind; a `cachePoint` is a part of its own on the
wire, and the `cache` of the block before it in the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from interlingua.dialects.bedrock import calls, media, text, thinking
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import ODD, only_text
from interlingua.dialects.bedrock.tools import (
    POINTS,
    points_in,
    put_cache,
    read_changes,
    with_cache,
    write_changes,
)
from interlingua.dialects.kernel.errors import ShapeError, below, want
from interlingua.dialects.kernel.kept import (
    ASIDE,
    NOTHING,
    Kept,
    form_in,
    form_of,
    mine_of,
    put_back,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import PLACEHOLDER, unsaid_changes, write_unknown
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, UnknownBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

Reader = Callable[[Any], Block | None]
"""Takes what stands under the key; gives None for what it does not understand."""
Writer = Callable[[Any, LossRecorder, bool], Wire | None]
"""The flag says that it is an answer; gives None for a block that was left out."""

_MADE_HERE = MessageMetadata(protocol=NAME)
_TURN = frozenset({"role", "content"})
# Bound once: looking up a member of an enum takes as long as writing a part.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER


# -- parts ----------------------------------------------------------------------------------------


def read_parts(parts: Any, path: str, answer: bool = False) -> tuple[list[Block], list[Wire]]:
    """The blocks, and the cache points that stand before any block. In an `answer` everything is
    as the service made it."""
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
    block = below(f".{key}", read, part[key])
    if block is None:
        return UnknownBlock({NAME: part})
    return block if len(part) == 1 else _with_beside(block, part, key)


def _with_beside(block: Block, part: Wire, key: str) -> Block:
    """The block with the keys that stand beside the one that says its kind."""
    beside = {name: item for name, item in part.items() if name != key}
    mine = mine_of(NAME, block.raw)
    if beside.keys() == {"type"}:  # as other vendors spell a part
        mine = {**mine, "$form": {**form_in(mine), "beside": beside}}
    else:
        mine = {**mine, "$beside": beside}
    return block.replace(raw={NAME: mine})


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
    """The part, with the keys that stood beside the one that says its kind."""
    mine = mine_of(NAME, raw)
    for kept in (mine.get("$beside"), form_in(mine).get("beside")):
        if type(kept) is dict:
            for key, item in kept.items():
                part.setdefault(key, item)
    return part


def _write_unknown(block: UnknownBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    part = write_unknown(block, recorder, frozenset({"cache"}))
    return part and {key: item for key, item in part.items() if key not in ASIDE}


def _read_result(inner: Any) -> Block:
    return calls.read_result(inner, lambda part: read_part(part, _INSIDE_READERS))


def _write_result(block: ToolResultBlock, recorder: LossRecorder, answer: bool) -> Wire:
    written = [_write_inside(inner, recorder) for inner in block.content]
    return calls.write_result(block, [part for part in written if part is not None], recorder)


def _write_inside(block: Any, recorder: LossRecorder) -> Wire | None:
    """What a result holds; anything but texts and media has no place in it."""
    part = _INSIDE_WRITERS.get(type(block), _drop)(block, recorder, False)
    if part is None:
        return None
    if block.cache is not None:
        recorder.lost(block, "cache", "no breakpoint may stand in a result")
    return part if block.raw is None else _beside(part, block.raw)


def _drop(block: Any, recorder: LossRecorder, answer: bool) -> None:
    recorder.dropped(block, "a result holds none of it")


_READERS: dict[str, Reader] = {
    "text": text.read_text,
    "toolUse": calls.read_call,
    "toolResult": _read_result,
    "reasoningContent": thinking.read_reasoning,
    "citationsContent": text.read_cited,
    "guardContent": media.read_guarded,
    "audio": media.read_audio,
    **media.READERS,
}
_INSIDE_READERS: dict[str, Reader] = {
    "text": text.read_text,
    "json": calls.read_json,
    **media.READERS,
}
_INSIDE_WRITERS: dict[type[Any], Writer] = {
    TextBlock: calls.write_text,
    model.ImageBlock: media.write_media,
    model.DocumentBlock: media.write_media,
    model.VideoBlock: media.write_media,
    UnknownBlock: _write_unknown,
}
"""What a result may hold."""
_WRITERS: dict[type[Any], Writer] = {
    **_INSIDE_WRITERS,
    TextBlock: text.write_text,
    model.RefusalBlock: text.write_refusal,
    model.CompactionBlock: text.write_compaction,
    model.ThinkingBlock: thinking.write_thinking,
    model.RedactedThinkingBlock: thinking.write_redacted,
    model.ToolUseBlock: calls.write_call,
    ToolResultBlock: _write_result,
    model.AudioBlock: media.write_media,
}


# -- reading turns --------------------------------------------------------------------------------


def read_system(wire: Wire, kept: Kept) -> list[Message]:
    listed = kept.take(wire, "system", list)
    if listed is None:
        return []
    blocks, ahead = read_parts(listed, ".system")
    if not ahead:
        return [Message(_SYSTEM, tuple(blocks))]
    metadata = MessageMetadata(provider_raw={NAME: {POINTS: ahead}})
    return [Message(_SYSTEM, tuple(blocks), metadata=metadata)]


def read_turns(wire: Wire, kept: Kept, tools: frozenset[str]) -> list[Message]:
    turns = kept.may_take(wire, "messages", list, filled=True)
    if turns is None:
        return []
    messages: list[Message] = []
    last = None
    leading = True
    index = -1
    try:
        for turn in turns:
            index += 1
            role = want(turn, dict).get("role")
            leading = leading and role == "system"
            if role == last or leading or not _read_plain(turn, role, messages):
                _read_turn(turn, role == last, leading, messages, tools)
            last = role
    except ShapeError as error:
        raise error.inside(f".messages[{index}]") from None
    return messages


def _read_plain(turn: Wire, role: Any, messages: list[Message]) -> bool:
    """What most turns are: one text. Gives False for any other."""
    said = only_text(turn.get("content")) if len(turn) == 2 else None
    if said is None or role not in ("user", "assistant"):
        return False
    if role == "user":
        messages.append(Message(_USER, (TextBlock(said),)))
    else:
        messages.append(Message(_ASSISTANT, (TextBlock(said),), metadata=_MADE_HERE))
    return True


def _read_turn(
    turn: Wire, apart: bool, leading: bool, messages: list[Message], tools: frozenset[str]
) -> None:
    """The messages of one turn: results are messages of their own."""
    role = turn.get("role")
    blocks, ahead = read_parts(turn.get("content"), ".content")
    raw, changes = None, None
    if len(turn) != 2 or ahead or apart or not blocks or role == "system":
        kept = _around(turn, blocks, ahead, apart)
        if leading:
            kept.form["place"] = "messages"
        if role == "system":
            blocks, changes = read_changes(blocks, kept.form, tools)
        raw = kept.raw(NAME)
    if role == "assistant":
        metadata = _MADE_HERE if raw is None else MessageMetadata(protocol=NAME, provider_raw=raw)
        messages.append(Message(_ASSISTANT, tuple(blocks), metadata=metadata))
        return
    start = len(messages)
    if role == "user":
        _split(blocks, messages)
    elif role == "system":
        messages.append(Message(_SYSTEM, tuple(blocks), changes=changes))
    else:
        raise ShapeError(".role", "user, assistant or system", role)
    if raw is not None:
        first = messages[start]
        messages[start] = first.replace(metadata=first.metadata.replace(provider_raw=raw))


def _around(turn: Wire, blocks: list[Block], ahead: list[Wire], apart: bool) -> Kept:
    """What a turn says beside its parts."""
    kept = Kept()
    if not blocks:
        kept.respell("content", [])  # a message without blocks says nothing as a rule
    if apart:
        kept.form["apart"] = True
    if ahead:
        kept.rest[POINTS] = ahead
    kept.add_others(turn, _TURN)
    return kept


def _split(blocks: list[Block], messages: list[Message]) -> None:
    plain: list[Block] = []
    for block in blocks:
        if type(block) is ToolResultBlock:
            if plain:
                messages.append(Message(_USER, tuple(plain)))
                plain = []
            messages.append(Message.of_result(block))
        else:
            plain.append(block)
    if plain or not blocks:
        messages.append(Message(_USER, tuple(plain)))


# -- writing turns --------------------------------------------------------------------------------


def write_messages(
    messages: tuple[Message, ...], tools: frozenset[str], recorder: LossRecorder
) -> tuple[list[Wire], list[Wire]]:
    """Instructions, and turns; `tools` are the names of those that are declared."""
    system: list[Wire] = []
    turns: list[Wire] = []
    last = None
    leading = True
    for message in messages:
        raw = message.metadata.provider_raw
        form = NOTHING if raw is None else form_of(NAME, raw)
        word = _word_of(message, recorder)
        if word == "system" and leading and form.get("place") != "messages":
            _write_instructions(message, system, recorder)
            continue
        leading = leading and word == "system"
        parts = _write_message(message, form, tools, recorder)
        if parts is None:
            continue
        if word == last and not form.get("apart"):
            turns[-1]["content"] += parts
        else:
            turns.append({"role": word, "content": parts})
        last = word
        if raw is not None:
            put_back(turns[-1], message, raw, recorder, "metadata.provider_raw")
    return system, turns


def _word_of(message: Message, recorder: LossRecorder) -> str:
    """The role of the turn in which a message is said."""
    role = message.role
    if message.name is not None:
        recorder.lost(message, "name")
    if role is _USER or role is _TOOL:
        return "user"
    if role is _ASSISTANT:
        return "assistant"
    if role is _DEVELOPER:
        recorder.lost(message, "role", "instructions have one level", kind="downgraded")
    return "system"


def _write_message(
    message: Message, form: Wire, tools: frozenset[str], recorder: LossRecorder
) -> list[Wire] | None:
    """The parts of a message; None where it says nothing at all."""
    role, raw = message.role, message.metadata.provider_raw
    if role is _TOOL or role is _USER:
        for block in message.content:
            if (type(block) is ToolResultBlock) is not (role is _TOOL):
                _report_misplaced(block, recorder)
    parts = [] if raw is None else points_in(mine_of(NAME, raw))
    if message.changes is None:
        write_parts(message.content, parts, recorder)
    else:
        _write_with_changes(message, form, tools, parts, recorder)
    if parts or "content" in form.get("as", ()):
        return parts
    if message.content:
        reason = "nothing of it can be said; a placeholder stands in its place"
        recorder.lost(message, "content", reason, kind="approximated")
        return [{"text": PLACEHOLDER}]
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    return None


def _write_with_changes(
    message: Message, form: Wire, tools: frozenset[str], out: list[Wire], recorder: LossRecorder
) -> None:
    """The parts of a message and those of its changes, where the wire had them."""
    done = 0
    if message.role in (_SYSTEM, _DEVELOPER):
        for at, part in write_changes(message, form, tools, recorder):
            write_parts(message.content[done:at], out, recorder)
            done = max(done, at)
            out.append(part)
    else:
        unsaid_changes(message, recorder)
    write_parts(message.content[done:], out, recorder)


def _report_misplaced(block: Block, recorder: LossRecorder) -> None:
    """User turns hold both roles, so what stands in the wrong one is told by its kind."""
    if type(block) is not UnknownBlock:
        reason = "in a user turn results are a tool's, and all else is the user's"
        recorder.lost(block, None, reason, kind="moved", severity="info")


_INSTRUCTIONS = frozenset({"text", "guardContent", "cachePoint"})
"""What `system` may hold."""


def _write_instructions(message: Message, system: list[Wire], recorder: LossRecorder) -> None:
    raw = message.metadata.provider_raw
    if message.changes is not None:
        unsaid_changes(message, recorder)
    system += points_in(mine_of(NAME, raw))
    for block in message.content:
        is_own = block.raw is not None and NAME in block.raw
        if type(block) is TextBlock and block.citations and not is_own:
            recorder.lost(block, "citations", "instructions cite nothing")
            plain = block.replace(citations=())
            recorder.alias(plain, block)
            block = plain
        parts: list[Wire] = []
        write_parts((block,), parts, recorder)
        if is_own or all(_INSTRUCTIONS.issuperset(part) for part in parts):
            system += parts
        else:
            recorder.dropped(block, "instructions are plain text")
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
