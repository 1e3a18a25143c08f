"""Turns as messages. The wire has tool results in user turns; here each is a message of its own.
`joined.py` makes turns of them again."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.changes import Reading
from interlingua.dialects.anthropic.content import read_parts
from interlingua.dialects.anthropic.kept import form_of, spare
from interlingua.dialects.anthropic.parts import ASSISTANT, SYSTEM, USER, string_of
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.base import Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.tools import ToolDefinition

_TURN = frozenset({"role", "content"})
_ROLES = {
    "user": (Role.USER, USER),
    "assistant": (Role.ASSISTANT, ASSISTANT),
    "system": (Role.SYSTEM, SYSTEM),
}


_PLAIN = MessageMetadata()
_MADE = MessageMetadata(protocol=NAME)
_STRING = MessageMetadata(provider_raw={NAME: {"$form": {"content": "string"}}})
_LIST = MessageMetadata(provider_raw={NAME: {"$form": {"content": "list"}}})
"""Of instructions that could have been a string, as one text is written."""
_MADE_STRING = MessageMetadata(protocol=NAME, provider_raw={NAME: {"$form": {"content": "string"}}})
"""Shared by all messages that have no more to say; all else makes its own."""


def read_turns(turns: list[Any], tools: list[ToolDefinition]) -> list[Message]:
    """`tools` is given those that turns in mid-conversation define themselves."""
    messages: list[Message] = []
    before: str | None = None
    place = 0
    try:
        for turn in turns:
            before = _read_turn(turn, before, messages, tools)
            place += 1
    except ShapeError as odd:
        raise odd.inside(f"[{place}]") from None
    return messages


def _read_bare(turn: Any) -> Message:
    """A string in place of a turn: refused with a 400, and plain enough to read."""
    if type(turn) is not str:
        raise ShapeError("", "an object", turn)
    raw = {NAME: {"$form": {"bare": True, "apart": True}}}
    content = (TextBlock(turn),) if turn else ()
    return Message(Role.USER, content, metadata=MessageMetadata(provider_raw=raw))


def _read_turn(
    turn: Any, before: str | None, messages: list[Message], tools: list[ToolDefinition]
) -> str | None:
    """The role of the turn, for the next one."""
    if type(turn) is not dict:
        messages.append(_read_bare(turn))
        return None
    name = turn.get("role")
    if type(name) is not str or name not in _ROLES:
        raise ShapeError(".role", "user, assistant or system", name)
    role, place = _ROLES[name]
    content = turn.get("content")
    form: Wire = {}
    if type(content) is list and content:
        try:
            blocks = read_parts(content, place)
        except ShapeError as odd:
            raise odd.inside(".content") from None
    else:
        blocks = _read_blank(turn, content, form)
    if name == before:
        form["apart"] = True
    if role is Role.SYSTEM and all(m.role is Role.SYSTEM for m in messages):
        form["place"] = "messages"
    if role is Role.SYSTEM:
        messages.append(_read_instructions(turn, blocks, form, tools))
        return name
    raw = spare(turn, _TURN, {}, form) if form or len(turn) > 2 else None
    if role is Role.USER:
        for block in blocks:
            if type(block) is ToolResultBlock:
                _split(blocks, raw, messages)
                return name
    messages.append(Message(role, blocks, metadata=_metadata(role, raw)))
    return name


def _read_instructions(
    turn: Wire, blocks: tuple[Block, ...], form: Wire, tools: list[ToolDefinition]
) -> Message:
    """A system turn in mid-conversation, and what it changes."""
    reading = Reading(turn, form, tools)
    blocks, changes = reading.read(blocks)
    left = {key: item for key, item in turn.items() if key not in reading.known}
    raw = spare({**left, **reading.rest}, _TURN, {}, form) if form or len(left) > 2 else None
    metadata = _metadata(Role.SYSTEM, raw)
    return Message(Role.SYSTEM, blocks, metadata=metadata, changes=changes)


def _read_blank(turn: Wire, content: Any, form: Wire) -> tuple[Block, ...]:
    """Content that is no list of parts: a string, or nothing in one of its spellings."""
    if type(content) is str:
        form["content"] = "string"
        return (TextBlock(content),) if content else ()
    if content is not None and content != []:
        raise ShapeError(".content", "a string or a list", content)
    form["content"] = "list" if content == [] else "null" if "content" in turn else "none"
    return ()


def _metadata(role: Role, raw: Raw | None) -> MessageMetadata:
    made = role is Role.ASSISTANT
    if raw is None:
        return _MADE if made else _PLAIN
    if raw == _STRING.provider_raw:
        return _MADE_STRING if made else _STRING
    return MessageMetadata(protocol=NAME if made else None, provider_raw=raw)


def _split(blocks: tuple[Block, ...], raw: Raw | None, messages: list[Message]) -> None:
    """One message per result, one per run of other blocks; the first has what the turn says."""
    start = 0
    for index, block in enumerate(blocks):
        if type(block) is not ToolResultBlock or "type" in form_of(block.raw):
            continue
        if start < index:
            others = blocks[start:index]
            messages.append(Message(Role.USER, others, metadata=_metadata(Role.USER, raw)))
            raw = None
        metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id, provider_raw=raw)
        messages.append(Message(Role.TOOL, (block,), metadata=metadata))
        start, raw = index + 1, None
    if start < len(blocks):
        messages.append(Message(Role.USER, blocks[start:], metadata=_metadata(Role.USER, raw)))


def read_system(system: Any, spelled: Wire) -> list[Message]:
    """The top-level instructions; blank ones are no message, only spelling."""
    if type(system) is str and system:
        return [Message(Role.SYSTEM, (TextBlock(system),))]
    if type(system) is list and system:
        try:
            blocks = read_parts(system, SYSTEM)
            return [Message(Role.SYSTEM, blocks, metadata=_LIST if string_of(system) else _PLAIN)]
        except ShapeError as odd:
            raise odd.inside(".system") from None
    if system is not None and system != "" and system != []:
        raise ShapeError(".system", "a string or a list", system)
    spelled["system"] = system
    return []
