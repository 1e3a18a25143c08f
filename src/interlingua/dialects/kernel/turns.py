"""Turns, as the wires have them that carry Claude: a role and parts, results among those of the
user, and neighbours of one role joined. Here each result is a message of its own.

Blocks cannot express how the wire split its turns. Spelling words of a message: `apart` (a new turn
of the same role) and `place` (instructions that stood among the turns).

Flat lists of messages, as wires have them whose results are messages of their own and whose
calls stand beside the text: Ollama's and Cohere's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import msgspec

from interlingua.dialects.kernel.calls import OpenCalls
from interlingua.dialects.kernel.errors import ShapeError, require, unknown_word
from interlingua.dialects.kernel.preserved import Preserved, spelling_of
from interlingua.dialects.kernel.recorder import LossRecorder, MessageWriter
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.message import NO_METADATA, Changes, Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because


def write_each(
    messages: tuple[Message, ...], written: list[Any], writer: MessageWriter, recorder: LossRecorder
) -> None:
    """Write messages one after the other into `written`; those that were written before are taken
    from memory, if there is one."""
    if recorder.memory is not None:
        recorder.memory.write(messages, written, writer)
        return
    for message in messages:
        writer.add(message)


# -- flat lists of messages -----------------------------------------------------------------------


def read_list(
    listed: list[Any], read: Callable[[Wire, int, OpenCalls], Message]
) -> tuple[Message, ...]:
    """The messages of a body; `read` gets the number of each, and the open calls."""
    calls = OpenCalls()
    messages: list[Message] = []
    try:
        for wire in listed:
            messages.append(read(require(wire, dict), len(messages), calls))
    except ShapeError as error:
        raise error.inside(f".messages[{len(messages)}]") from None
    return tuple(messages)


def read_calls(
    listed: list[Any],
    read: Callable[[Any, Any, int, list[Diagnostic]], Block],
    origin: Any,
    first: int,
    found: list[Diagnostic],
) -> list[Block]:
    """Reads calls; `number` is the number of the first one in its message."""
    calls: list[Block] = []
    try:
        for wire in listed:
            calls.append(read(wire, origin, first + len(calls), found))
    except ShapeError as error:
        raise error.inside(f".tool_calls[{len(calls)}]") from None
    return calls


def message_of(
    of_model: MessageMetadata,
    role: Role,
    content: tuple[Block, ...],
    raw: Raw | None,
    found: list[Diagnostic],
    calls: OpenCalls,
) -> Message:
    """A message whose calls are open now; `of_model` is for those of a model."""
    for block in content:
        if type(block) is ToolUseBlock:
            calls.add(block.id, block.name)
    is_ours = role is Role.ASSISTANT
    if raw is None and not found:
        return Message(role, content, metadata=of_model) if is_ours else Message(role, content)
    protocol = of_model.protocol if is_ours else None
    metadata = MessageMetadata(protocol=protocol, diagnostics=tuple(found), provider_raw=raw)
    return Message(role, content, metadata=metadata)


def write_results(
    message: Message, write: Callable[[ToolResultBlock], Wire], recorder: LossRecorder
) -> list[Wire]:
    """One wire message for each result."""
    written = []
    for block in message.content:
        if type(block) is ToolResultBlock:
            written.append(write(block))
        else:
            recorder.dropped(block, because("tool_message_results"))
    raw = message.metadata.provider_raw
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    return written


# Bound once: looking up a member of an enum takes as long as writing a part.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER
_ROLES = {"user": _USER, "assistant": _ASSISTANT, "system": _SYSTEM}


# -- reading --------------------------------------------------------------------------------------


class TurnReader:
    """Turns to messages, with the metadata that all messages of a dialect share: one for a
    model's, one for all others. `mark` is the word in the spelling of results that have no
    message of their own."""

    def __init__(
        self, dialect: str, others: MessageMetadata = NO_METADATA, mark: str = "type"
    ) -> None:
        self._dialect = dialect
        self._mark = mark
        self._models, self._others = MessageMetadata(protocol=dialect), others

    def read_each(
        self, turns: list[Any], read: Callable[[Any, str | None, list[Message]], str | None]
    ) -> list[Message]:
        """The messages of all turns. `read` gets the role of the turn before, adds the messages
        of one turn, and returns its role."""
        messages: list[Message] = []
        before: str | None = None
        position = 0
        try:
            for turn in turns:
                before = read(turn, before, messages)
                position += 1
        except ShapeError as error:
            raise error.inside(f".messages[{position}]") from None
        return messages

    def role_in(self, turn: Wire) -> Role:
        name = turn.get("role")
        if type(name) is not str or name not in _ROLES:
            raise unknown_word(".role", ("user", "assistant", "system"), name)
        return _ROLES[name]

    def keep_place(
        self, turn: Wire, before: str | None, messages: list[Message], preserved: Preserved
    ) -> None:
        """Preserves the position of a turn if it is unusual."""
        role = turn["role"]
        if role == before:
            preserved.spelling["apart"] = True
        if role == "system" and all(message.role is _SYSTEM for message in messages):
            preserved.spelling["place"] = "messages"

    def add(
        self,
        role: Role,
        blocks: tuple[Block, ...],
        raw: Raw | None,
        messages: list[Message],
        changes: Changes | None = None,
        shared: Raw | None = None,
    ) -> None:
        """Adds the messages of a turn: one per result, one per run of other blocks. The first
        has `raw`, the members of the turn itself, and the others the `shared` part of it."""
        if role is _USER:
            for block in blocks:
                if type(block) is ToolResultBlock:
                    self._split(blocks, raw, shared, messages)
                    return
        metadata = self.about(role, raw)
        messages.append(Message(role, blocks, metadata=metadata, changes=changes))

    def about(self, role: Role, raw: Raw | None) -> MessageMetadata:
        known = self._models if role is _ASSISTANT else self._others
        return known if raw is None else known.replace(provider_raw=raw)

    def _split(
        self,
        blocks: tuple[Block, ...],
        raw: Raw | None,
        shared: Raw | None,
        messages: list[Message],
    ) -> None:
        start = 0
        for index, block in enumerate(blocks):
            if not _is_result(block, self._dialect, self._mark):
                continue
            if start < index:
                about = self.about(_USER, raw)
                messages.append(Message(_USER, blocks[start:index], metadata=about))
                raw = shared
            about = MessageMetadata(parent_tool_use_id=block.tool_use_id, provider_raw=raw)
            messages.append(Message(_TOOL, (block,), metadata=about))
            start, raw = index + 1, shared
        if start < len(blocks):
            about = self.about(_USER, raw)
            messages.append(Message(_USER, blocks[start:], metadata=about))


def _is_result(block: Block, dialect: str, mark: str = "type") -> TypeGuard[ToolResultBlock]:
    """Whether a block is a result by its part's type; other parts are the user's."""
    return type(block) is ToolResultBlock and mark not in spelling_of(dialect, block.raw)


# -- writing --------------------------------------------------------------------------------------


def leading(messages: tuple[Message, ...], dialect: str) -> int:
    """The number of leading messages that are instructions outside the turns."""
    first = 0
    for message in messages:
        role, raw = message.role, message.metadata.provider_raw
        if role is not _SYSTEM and role is not _DEVELOPER:
            break
        if raw is not None and "place" in spelling_of(dialect, raw):
            break
        first += 1
    return first


class Turns(msgspec.Struct):
    """The turns so far. One in list form may be joined, no other."""

    recorder: LossRecorder
    placeholder: Wire
    """The placeholder for content that cannot be expressed."""
    turns: list[Any] = []
    role: str | None = None
    """The role of the last turn, if it may be joined; `parts` is its content."""
    parts: list[Wire] = []

    def skip(self, messages: tuple[Message, ...]) -> None:
        """Skips messages that were written before, which do not affect the others."""

    def join(self, role: str, parts: list[Wire], apart: bool = False) -> None:
        if role == self.role and not apart:
            self.parts.extend(parts)
        else:
            self.turns.append({"role": role, "content": parts})
            self.role, self.parts = role, parts

    def close(self, turn: Any) -> None:
        """A turn that no other may join."""
        self.turns.append(turn)
        self.role = None

    def fill(self, message: Message, role: str, parts: list[Wire]) -> bool:
        """Add a placeholder if nothing is left; False if no turn is needed."""
        if not message.content or role == "system":
            self.recorder.lost(message, None, because("empty"))
            return False
        parts.append(dict(self.placeholder))
        reason = because("empty_replaced")
        self.recorder.lost(message, "content", reason, kind="downgraded")
        return True


def report_speaker(message: Message, recorder: LossRecorder) -> None:
    """Reports the name and role that a turn of this wire cannot express."""
    role = message.role
    if message.name is not None:
        recorder.lost(message, "name")
    if role is _DEVELOPER:
        recorder.lost(message, "role", because("instructions_one_level"), kind="downgraded")
    if role is not _USER and role is not _TOOL:
        return
    for block in message.content:
        if type(block) is not ToolResultBlock:
            if role is _TOOL:
                reason = because("sent_as_user")
                recorder.lost(message, "role", reason, kind="downgraded")
        elif role is _USER and _is_result(block, recorder.dialect):
            recorder.lost(message, "role", because("results_apart"), kind="moved")


WITHIN = object()
"""A mark after a wire message that may be joined with later ones: reading cannot continue after
it."""
