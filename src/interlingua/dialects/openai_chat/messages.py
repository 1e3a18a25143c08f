"""The messages of a request. Tool results are messages of their own; everything else is a turn."""

from __future__ import annotations

from functools import cache
from typing import Any

from interlingua.dialects.base import ERROR_MARK, Scribe, Wire, unsaid_changes
from interlingua.dialects.openai_chat.assistant import read_assistant
from interlingua.dialects.openai_chat.cache import MARKS, read_message_cache, write_message_cache
from interlingua.dialects.openai_chat.calls import read_plain_call
from interlingua.dialects.openai_chat.content import placeholder, read_content, write_content
from interlingua.dialects.openai_chat.quick import write_assistant
from interlingua.dialects.openai_chat.results import OpenCalls, read_result, write_result
from interlingua.dialects.openai_chat.shape import Note, form_in, mine_of, put_back, want
from interlingua.dialects.openai_chat.tables import ROLES, Tables
from interlingua.dialects.openai_chat.thinking import read_signed, signed_by_anthropic
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock
from interlingua.model.changes import EFFORTS, Changes
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import MessageMetadata

FILLERS = {"content": ""}
_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL
_SIGNED = ("anthropic", "thinking_blocks")
KNOWN = frozenset({"content", "name", "tool_calls", *MARKS})


# Reading


def read_messages(wires: Any, t: Tables) -> tuple[Message, ...]:
    if type(wires) is not list:
        raise ShapeError(".messages", "a list", wires)
    messages: list[Message] = []
    reader: _Reading | None = None
    for wire in wires:
        if type(wire) is dict and len(wire) == 2:
            # A role and a text: most messages that people write, and all that short requests have.
            content, word = wire.get("content"), wire.get("role")
            role = _SPEAKERS.get(word) if type(word) is str else None
            if role is not None and type(content) is str and content:
                messages.append(Message(role, (TextBlock(content),)))
                continue
        if reader is None:
            reader = _Reading(t, messages)
        try:
            if type(wire) is dict:
                word = wire.get("role")
                if word == "tool":
                    messages.append(reader.result(wire))
                    continue
                if word == "assistant" and (plain := reader.plain_turn(wire)) is not None:
                    messages.append(plain)
                    continue
            reader.read(wire)
        except ShapeError as odd:
            raise odd.inside(f".messages[{len(messages)}]") from None
    return tuple(messages)


_SPEAKERS = {"system": Role.SYSTEM, "developer": Role.DEVELOPER, "user": Role.USER}


@cache
def _plain(name: str) -> MessageMetadata:
    """What is known of a message with nothing special about it; they all share it."""
    return MessageMetadata(protocol=name)


class _Reading:
    def __init__(self, t: Tables, messages: list[Message]) -> None:
        self.t = t
        self.messages = messages
        self.calls = OpenCalls()
        self.plain = _plain(t.name)
        self.signed = signed_by_anthropic(t.name)
        self.usual: dict[tuple[str, ...], MessageMetadata] = {}

    def read(self, wire: Any) -> None:
        if type(wire) is not dict:
            raise ShapeError("", "an object", wire)
        word: Any = wire.get("role")
        role = ROLES.get(word) if type(word) is str else None
        if role is _ASSISTANT:
            self.messages.append(self._assistant(wire))
        elif role is _TOOL:
            self.messages.append(self.result(wire))
        elif role is not None:
            self.messages.append(_read_turn(wire, word, role, self.t))
        else:
            raise ShapeError(".role", "a known role", word)

    def _assistant(self, wire: Wire) -> Message:
        if len(wire) == 2:
            content = wire.get("content")
            if type(content) is str and content:
                return Message(Role.ASSISTANT, (TextBlock(content),), metadata=self.plain)
        content, name, protocol, note, diagnostics = read_assistant(
            wire, self.t, len(self.messages)
        )
        return Message(
            Role.ASSISTANT, content, name, metadata=self._metadata(protocol, note, diagnostics)
        )

    def plain_turn(self, wire: Wire) -> Message | None:
        """The usual turn of an agent: text, calls, perhaps signed thinking; None for all others."""
        content, calls = wire.get("content"), wire.get("tool_calls")
        thoughts = wire.get("thinking_blocks")
        if len(wire) != 3 + (thoughts is not None) or not calls or type(calls) is not list:
            return None
        blocks: list[Block] = []
        metadata = self.plain
        if thoughts is not None:
            signed = self.usual.get(_SIGNED)
            if signed is None or type(thoughts) is not list:
                return None  # the first one is read slowly, and tells what is known of the others
            metadata = signed
            for item in thoughts:
                thought = read_signed(item, self.signed)
                if thought is None:
                    return None
                blocks.append(thought)
        if type(content) is str and content:
            blocks.append(TextBlock(content))
        elif content is not None or "content" not in wire:
            return None
        for each in calls:
            call = read_plain_call(each)
            if call is None:
                return None
            blocks.append(call)
        return Message(_ASSISTANT, tuple(blocks), metadata=metadata)

    def _metadata(self, protocol: str, note: Note, diagnostics: Any) -> MessageMetadata:
        """Messages that are spelled alike share what is known about them."""
        form = note.form
        if note.rest or diagnostics or len(form) > 1:
            raw = note.raw(self.t.name)
            return MessageMetadata(protocol=protocol, diagnostics=diagnostics, provider_raw=raw)
        if not form and protocol == self.t.name:
            return self.plain
        key = (protocol, *form.get("thinking", ()))
        if form and len(key) == 1:
            return MessageMetadata(protocol=protocol, provider_raw=note.raw(self.t.name))
        if key not in self.usual:
            raw = note.raw(self.t.name)
            self.usual[key] = MessageMetadata(protocol=protocol, provider_raw=raw)
        return self.usual[key]

    def result(self, wire: Wire) -> Message:
        id, content = wire.get("tool_call_id"), wire.get("content")
        if (
            len(wire) == 3
            and type(content) is str
            and content
            and type(id) is str
            and id
            and not content.startswith(ERROR_MARK)
            and wire["role"] == "tool"
        ):
            block = ToolResultBlock(id, (TextBlock(content),))
            return Message(_TOOL, (block,), metadata=MessageMetadata(parent_tool_use_id=id))
        return Message.of_result(read_result(wire, self.t, self.messages, self.calls))


def _read_turn(wire: Wire, word: str, role: Role, t: Tables) -> Message:
    """A system, developer or user message."""
    content = wire.get("content")
    if len(wire) == 2 and type(content) is str and content:
        return Message(role, (TextBlock(content),))
    note, taken = Note(), {"role"}
    blocks = read_content(content, t.parts[word], t, note)
    if blocks or content == "":
        taken.add("content")
    name = wire.get("name")
    if name:
        want(name, str, ".name")
        taken.add("name")
    read_message_cache(wire, blocks, t, taken)
    changes = _read_changes(wire, t, taken) if "configuration_update" in wire else None
    note.leave(wire, taken, KNOWN)
    note.absent(wire, FILLERS)
    raw = note.raw(t.name)
    metadata = NO_METADATA if raw is None else MessageMetadata(provider_raw=raw)
    return Message(role, tuple(blocks), name or None, metadata=metadata, changes=changes)


def _read_changes(wire: Wire, t: Tables, taken: set[str]) -> Changes | None:
    """The effort from here on, where that is all that a setting says."""
    update = wire["configuration_update"]
    inner = update.get("reasoning") if type(update) is dict and len(update) == 1 else None
    effort = inner.get("effort") if type(inner) is dict and len(inner) == 1 else None
    if effort not in EFFORTS or "effort" not in t.changes:
        return None
    taken.add("configuration_update")
    return Changes(effort=effort)


# Writing


def write_messages(messages: tuple[Message, ...], t: Tables, scribe: Scribe) -> list[Wire]:
    wires: list[Wire] = []
    for message in messages:
        role = message.role
        if role is Role.ASSISTANT:
            wires.append(write_assistant(message, t, scribe))
        elif role is Role.TOOL:
            wires.extend(_write_results(message, t, scribe))
        elif message.content or message.changes is None or _is_said(message.changes, t):
            wires.append(_write_turn(message, t, scribe))
        else:
            unsaid_changes(message, scribe)
    return wires


def _is_said(changes: Changes, t: Tables) -> bool:
    """Whether a message without words says anything here."""
    return changes.effort is not None and "effort" in t.changes


def _write_turn(message: Message, t: Tables, scribe: Scribe) -> Wire:
    role, metadata = message.role, message.metadata
    word: str = role.value
    if role is Role.DEVELOPER and not t.host.developer:
        scribe.lost(message, "role", "there is no such role; sent as system", "downgraded")
        word = "system"
    raw = metadata.provider_raw
    mine = mine_of(t.name, raw)
    content = message.content
    said = ""
    if content:
        said = write_content(content, t.parts[word], t, scribe, form_in(mine))
        if said is None:
            said = placeholder(message, scribe)
    wire: Wire = {"role": word, "content": said}
    if message.name is not None:
        wire["name"] = message.name
    if message.changes is not None:
        unsaid_changes(message, scribe, t.changes)
        if _is_said(message.changes, t):
            wire["configuration_update"] = {"reasoning": {"effort": message.changes.effort}}
    if content and content[-1].cache is not None:
        write_message_cache(wire, content, t)
    if raw is None:
        return wire
    scribe.unsaid_raw(message, raw, "metadata.provider_raw")
    return put_back(wire, mine, FILLERS)


def _write_results(message: Message, t: Tables, scribe: Scribe) -> list[Wire]:
    wires: list[Wire] = []
    if message.name is not None:
        scribe.lost(message, "name")
    if message.changes is not None:
        unsaid_changes(message, scribe)
    raw = message.metadata.provider_raw
    if raw is not None:
        scribe.unsaid_raw(message, raw, "metadata.provider_raw")
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            wires.append(put_back(write_result(block, t, scribe), mine_of(t.name, raw)))
        else:
            scribe.dropped(block)
    return wires
