"""Messages to turns and back. The wire has tool results in user turns; here each is a message of
its own. Leading instructions have a field of their own, and neighbours of one role are joined.

What is written for a history is repeated when it grows, so nothing here looks ahead. How the wire
drew its turns no block can tell: beside the words that `kernel.turns` has for it in the spelling of
a message, these are `bare` (a string in place of a turn) and `content` (how a turn's content was
spelled)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from interlingua.dialects.anthropic import calls, media, text
from interlingua.dialects.anthropic.tables import MARKERS, NAME, ROLES
from interlingua.dialects.anthropic.text import (
    ASSISTANT,
    READERS,
    SYSTEM,
    USER,
    WRITERS,
    read_parts,
    string_of,
    write_parts,
)
from interlingua.dialects.anthropic.tools import Changing, Writing
from interlingua.dialects.kernel.errors import ShapeError, at_path
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw, spelling_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.turns import TurnReader, Turns, leading, report_speaker
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import PLACEHOLDER, report_changes
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, CompactionBlock, TextBlock, ToolResultBlock
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.tools import ToolDefinition

READERS.update(
    {
        "text": text.read_text,
        "thinking": text.read_thinking,
        "redacted_thinking": text.reader(model.RedactedThinkingBlock, text.REDACTED),
        "compaction": text.reader(CompactionBlock, text.COMPACTION),
        "tool_use": calls.read_tool_use,
        "tool_result": calls.read_tool_result,
        "tool_reference": text.reader(TextBlock, text.TOOL_REFERENCE),
        "image": media.read_image,
        "document": media.read_document,
        "search_result": media.read_search_result,
        "container_upload": media.read_container_upload,
        "web_search_result": media.read_web_search_result,
        "server_tool_use": calls.read_hosted_use,
        "mcp_tool_use": calls.read_hosted_use,
        "*_tool_result": calls.read_hosted_result,
        **dict.fromkeys(MARKERS, text.read_unknown),
    }
)
_WRITERS: dict[type[Block], Any] = {
    TextBlock: text.write_text,
    model.ThinkingBlock: text.write_thinking,
    model.RedactedThinkingBlock: text.write_redacted,
    model.RefusalBlock: text.write_refusal,
    CompactionBlock: text.write_compaction,
    model.ToolUseBlock: calls.write_tool_use,
    ToolResultBlock: calls.write_tool_result,
    model.ImageBlock: media.write_image,
    model.DocumentBlock: media.write_document,
    model.AudioBlock: media.write_nothing,
    model.VideoBlock: media.write_nothing,
    model.UnknownBlock: text.write_unknown,
}
WRITERS.update(_WRITERS)

_SYSTEM, _USER, _ASSISTANT = Role.SYSTEM, Role.USER, Role.ASSISTANT
_SCOPES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}
_TURNS = {role: (word, _SCOPES[word]) for role, word in ROLES.items()}
_TURN = frozenset({"role", "content"})
_PLACEHOLDER = {"type": "text", "text": PLACEHOLDER}

_PLAIN = MessageMetadata()
_READER = TurnReader(NAME, _PLAIN)
_LIST = MessageMetadata(provider_raw={NAME: {"$form": {"content": "list"}}})
"""Of instructions that could have been a string, as one text is written."""


# -- reading --------------------------------------------------------------------------------------


def read_messages(wire: Wire, tools: list[ToolDefinition], preserved: Preserved) -> list[Message]:
    """`system` and `messages` of a body; `tools` is given those that turns define themselves."""
    turns = wire.get("messages")
    if type(turns) is not list:
        raise ShapeError(".messages", "a list", turns)
    leading = _read_system(wire["system"], preserved) if "system" in wire else []
    return leading + read_turns(turns, tools)


def read_more(turns: list[Any], messages: list[Message], before: Any) -> Iterator[Any]:
    """Appends the messages of turns that follow others, and yields behind each turn what the next
    has to be told: its role. Raises for instructions, which may change the tools of a request."""
    for turn in turns:
        before = _read_turn([], turn, before, messages)
        if before == "system":
            raise ShapeError("", "a turn of the user or the model", turn)
        yield before


def read_turns(turns: list[Any], tools: list[ToolDefinition]) -> list[Message]:
    return _READER.read_each(turns, partial(_read_turn, tools))


def _read_turn(
    tools: list[ToolDefinition], turn: Any, before: str | None, messages: list[Message]
) -> str | None:
    """The role of the turn, for the next one."""
    if type(turn) is not dict:
        messages.append(_read_bare(turn))
        return None
    role = _READER.role_in(turn)
    name: str = turn["role"]
    content = turn.get("content")
    if type(content) is list and content:
        blocks = at_path(".content", read_parts, content, _SCOPES[name])
        if _is_usual(turn, before):
            _READER.add(role, blocks, None, messages)
            return name
        preserved = Preserved()
    else:
        preserved = Preserved()
        blocks = _read_blank(turn, content, preserved)
    _READER.keep_place(turn, before, messages, preserved)
    changes = None
    if role is _SYSTEM:
        blocks, changes = Changing(turn, preserved, tools).read(blocks)
    elif len(turn) > 2 or content is None:
        preserved.add_others(turn, _TURN)
    _READER.add(role, blocks, preserved.raw(NAME), messages, changes)
    return name


def _is_usual(turn: Wire, before: str | None) -> bool:
    """Whether a turn with parts says nothing beside them that is to be kept."""
    return len(turn) == 2 and turn["role"] != before and turn["role"] != "system"


def _read_bare(turn: Any) -> Message:
    """A string in place of a turn: refused with a 400, and plain enough to read."""
    if type(turn) is not str:
        raise ShapeError("", "an object", turn)
    raw = {NAME: {"$form": {"bare": True, "apart": True}}}
    content = (TextBlock(turn),) if turn else ()
    return Message(_USER, content, metadata=MessageMetadata(provider_raw=raw))


def _read_blank(turn: Wire, content: Any, preserved: Preserved) -> tuple[Block, ...]:
    """Content that is no list of parts: a string, or nothing in one of its spellings."""
    if type(content) is str:
        preserved.spelling["content"] = "string"
        return (TextBlock(content),) if content else ()
    if content is not None and content != []:
        raise ShapeError(".content", "a string or a list", content)
    preserved.spelling["content"] = (
        "list" if content == [] else "null" if "content" in turn else "none"
    )
    return ()


def _read_system(system: Any, preserved: Preserved) -> list[Message]:
    """The top-level instructions; blank ones are no message, only spelling."""
    if type(system) is str and system:
        return [Message(_SYSTEM, (TextBlock(system),))]
    if type(system) is list and system:
        blocks = at_path(".system", read_parts, system, SYSTEM)
        return [Message(_SYSTEM, blocks, metadata=_LIST if string_of(system) else _PLAIN)]
    if system is not None and system != "" and system != []:
        raise ShapeError(".system", "a string or a list", system)
    preserved.keep_spelling("system", system)
    return []


# -- writing --------------------------------------------------------------------------------------


def _plain_text(message: Message) -> str | None:
    """The text of a message that has nothing else to say."""
    content = message.content
    if len(content) != 1 or message.name is not None or message.metadata is not NO_METADATA:
        return None
    block = content[0]
    if type(block) is not TextBlock or block.raw is not None or block.cache is not None:
        return None
    if block.signature is not None or block.citations or block.phase is not None:
        return None
    return block.text if message.changes is None else None


def write_messages(messages: tuple[Message, ...], out: Wire, changes: Writing) -> None:
    """`system` and `messages` of a body."""
    first = leading(messages, NAME)
    if first:
        plain = _plain_text(messages[0]) if first == 1 else None
        if plain and messages[0].role is _SYSTEM:
            out["system"] = plain
        else:
            _write_system(messages[:first], out, changes.recorder)
    if first + 1 == len(messages) and messages[first].role is _USER:  # the first question
        text = _plain_text(messages[first])
        if text:
            out["messages"] = [{"role": "user", "content": [{"type": "text", "text": text}]}]
            return
    writer = _Turns(changes.recorder, _PLACEHOLDER, changes=changes)
    rest = messages[first:] if first else messages
    if (memory := changes.recorder.memory) is not None:
        memory.write(rest, writer.turns, writer)
    else:
        for message in rest:
            writer.add(message)
    out["messages"] = writer.turns


def _write_system(messages: tuple[Message, ...], out: Wire, recorder: LossRecorder) -> None:
    parts: list[Wire] = []
    raw = None
    for message in messages:
        raw = message.metadata.provider_raw
        if message.name is not None or message.role is not _SYSTEM:
            report_speaker(message, recorder)
        if message.changes is not None:
            report_changes(message, recorder)
        if raw is not None:
            recorder.unwritten_raw(message, raw, "metadata.provider_raw")
            for key in raw_of(NAME, raw):
                if key != "$form":
                    recorder.lost(message, f"metadata.provider_raw.{NAME}.{key}", severity="info")
        parts += write_parts(message.content, SYSTEM, recorder)
    text = string_of(parts)
    if raw is not None and spelling_of(NAME, raw).get("content") == "list":
        text = None
    if parts:
        out["system"] = text or parts


class _Turns(Turns, kw_only=True):
    changes: Writing

    def add(self, message: Message) -> None:
        if message.role is _USER and self.role != "user" and (text := _plain_text(message)):
            self.join("user", [{"type": "text", "text": text}])
        else:
            self._add(message)

    def _add(self, message: Message) -> None:
        metadata, by = message.metadata, message.role
        role, scope = _TURNS[by]
        parts = write_parts(message.content, scope, self.recorder)
        if message.changes is not None:
            if role == "system":
                self._add_changes(message, self.changes.parts(message, parts))
                return
            report_changes(message, self.recorder)
        if by is not _ASSISTANT or message.name is not None:
            report_speaker(message, self.recorder)
        if metadata.diagnostics:
            calls.report_repaired(message, self.recorder)
        raw = metadata.provider_raw
        if raw is not None:
            self.recorder.unwritten_raw(message, raw, "metadata.provider_raw")
            if NAME in raw:
                self._add_spelled(message, role, parts, spelling_of(NAME, raw))
                return
        if parts or self.fill(message, role, parts):
            self.join(role, parts)

    def _add_spelled(self, message: Message, role: str, parts: list[Wire], spelling: Wire) -> None:
        """A message that remembers how it was spelled."""
        apart = bool(spelling.get("apart"))
        turn = _short(message, role, parts, spelling)
        if turn is not None and (apart or role != self.role or not parts):
            self.close(turn)
        elif parts or self.fill(message, role, parts):
            self.join(role, parts, apart)
        else:
            return
        if type(self.turns[-1]) is dict:
            own_raw = raw_of(NAME, message.metadata.provider_raw)
            restore_raw(self.turns[-1], message, {NAME: own_raw}, self.recorder)

    def _add_changes(self, message: Message, parts: list[Wire]) -> None:
        """A system turn with what it changes: it stands alone."""
        report_speaker(message, self.recorder)
        keys, raw = self.changes.keys(message), message.metadata.provider_raw
        spelling = spelling_of(NAME, raw)
        turn = _short(message, "system", parts, spelling) if spelling else None
        if turn is None or (parts and type(turn) is dict and not turn.get("content")):
            turn = {"role": "system", "content": parts}
        if not parts and not keys and "content" not in spelling:
            return
        if type(turn) is dict:
            turn.update(keys)
            restore_raw(turn, message, raw, self.recorder, "metadata.provider_raw")
        self.close(turn)


def _short(message: Message, role: str, parts: list[Wire], spelling: Wire) -> Any:
    """The turn where it is remembered as no list of parts, and still can be said so."""
    shape = spelling.get("content")
    text = string_of(parts) if parts else "" if not message.content else None
    if text is not None and spelling.get("bare"):
        return text
    if text is not None and shape == "string":
        return {"role": role, "content": text}
    if message.content or shape not in ("list", "null", "none"):
        return None
    if shape == "none":
        return {"role": role}
    return {"role": role, "content": None if shape == "null" else []}
