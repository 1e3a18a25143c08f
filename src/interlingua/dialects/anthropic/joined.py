"""Messages as turns: leading instructions in a field of their own, neighbours of one role joined.

What is written for a history is repeated when it grows, so nothing here looks ahead."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.anthropic.changes import KEPT, Writing
from interlingua.dialects.anthropic.content import write_parts
from interlingua.dialects.anthropic.kept import form_of, is_foreign, mine_of, put_back
from interlingua.dialects.anthropic.parts import ASSISTANT, SYSTEM, USER, string_of
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.base import PLACEHOLDER, Scribe, Wire, unsaid_changes
from interlingua.dialects.shape import tell_recovered
from interlingua.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.message import NO_METADATA, Message, Role

_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_TURNS = {
    Role.ASSISTANT: ("assistant", ASSISTANT),
    Role.USER: ("user", USER),
    Role.TOOL: ("user", USER),
    Role.SYSTEM: ("system", SYSTEM),
    Role.DEVELOPER: ("system", SYSTEM),
}


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


def _is_usual(message: Message) -> bool:
    """Whether there is nothing in a message that its turn could say of it only otherwise."""
    role = message.role
    if role is _ASSISTANT or role is _SYSTEM:
        return True
    if role is _TOOL:
        return len(message.content) == 1 and type(message.content[0]) is ToolResultBlock
    return role is _USER and len(message.content) == 1 and type(message.content[0]) is TextBlock


def write_messages(messages: tuple[Message, ...], out: Wire, changes: Writing) -> None:
    """`system` and `messages` of a body."""
    scribe = changes.scribe
    first = 0
    for message in messages:
        role = message.role
        if role is not _SYSTEM and role is not _DEVELOPER:
            break
        raw = message.metadata.provider_raw
        if raw is not None and "place" in form_of(raw):
            break
        first += 1
    if first:
        plain = _plain_text(messages[0]) if first == 1 else None
        if plain and messages[0].role is _SYSTEM:
            out["system"] = plain
        else:
            _write_system(messages[:first], out, scribe)
    if first + 1 == len(messages) and messages[first].role is _USER:  # the first question
        text = _plain_text(messages[first])
        if text:
            out["messages"] = [{"role": "user", "content": [{"type": "text", "text": text}]}]
            return
    writer = _Turns(scribe, changes)
    for message in messages[first:] if first else messages:
        writer.add(message)
    out["messages"] = writer.turns


def _write_system(messages: tuple[Message, ...], out: Wire, scribe: Scribe) -> None:
    parts: list[Wire] = []
    raw = None
    for message in messages:
        raw = message.metadata.provider_raw
        if message.name is not None or message.role is not _SYSTEM:
            _report(message, scribe)
        if message.changes is not None:
            unsaid_changes(message, scribe)
        if raw is not None:
            scribe.unsaid_raw(message, raw, "metadata.provider_raw")
            for key in mine_of(raw):
                if key != "$form":
                    scribe.lost(message, f"metadata.provider_raw.{NAME}.{key}", severity="info")
        parts += write_parts(message.content, SYSTEM, scribe)
    text = string_of(parts)
    if raw is not None and form_of(raw).get("content") == "list":
        text = None
    if parts:
        out["system"] = text or parts


class _Turns(msgspec.Struct):
    """The turns so far. A turn in list form may be joined, one that is a string may not."""

    scribe: Scribe
    changes: Writing
    turns: list[Any] = []
    role: str | None = None
    """Of the last turn, if it may be joined; `parts` is its content."""
    parts: list[Wire] = []

    def add(self, message: Message) -> None:
        metadata, by = message.metadata, message.role
        if by is _USER and self.role != "user" and (text := _plain_text(message)):
            self.role, self.parts = "user", [{"type": "text", "text": text}]
            self.turns.append({"role": "user", "content": self.parts})
            return
        role, place = _TURNS[by]
        parts = write_parts(message.content, place, self.scribe)
        if message.changes is not None:
            if role == "system":
                self._add_changes(message, self.changes.parts(message, parts))
                return
            unsaid_changes(message, self.scribe)
        usual = by is _ASSISTANT or _is_usual(message)
        if message.name is not None or metadata.diagnostics or not usual:
            _report(message, self.scribe)
        raw = metadata.provider_raw
        if raw is not None:
            if NAME in raw:
                self._add_spelled(message, role, parts, form_of(raw))
                return
            if is_foreign(raw):
                self.scribe.unsaid_raw(message, raw, "metadata.provider_raw")
        if parts or self._fill(message, role, parts):
            if role == self.role:
                self.parts.extend(parts)
            else:
                self.role, self.parts = role, parts
                self.turns.append({"role": role, "content": parts})

    def _add_changes(self, message: Message, parts: list[Wire]) -> None:
        """A system turn with what it changes: it stands alone."""
        if message.name is not None or message.role is not _SYSTEM:
            _report(message, self.scribe)
        keys = self.changes.keys(message)
        raw = message.metadata.provider_raw
        form = form_of(raw) if raw is not None else {}
        turn = _short(message, "system", parts, form) if form else None
        if turn is None or (parts and type(turn) is dict and not turn.get("content")):
            turn = {"role": "system", "content": parts}
        if not parts and not keys and "content" not in form:
            return
        if type(turn) is dict:
            turn.update(keys)
            if raw is not None:
                mine = {key: item for key, item in mine_of(raw).items() if key != KEPT}
                put_back(turn, message, {**raw, NAME: mine}, self.scribe)
        self._close(turn)

    def _open(self, role: str, parts: list[Wire]) -> None:
        self.turns.append({"role": role, "content": parts})
        self.role, self.parts = role, parts

    def _close(self, turn: Any) -> None:
        """A turn that no other may join."""
        self.turns.append(turn)
        self.role = None

    def _fill(self, message: Message, role: str, parts: list[Wire]) -> bool:
        """Something to say where nothing is left; False where there is no need of a turn."""
        if not message.content or role == "system":
            self.scribe.lost(message, None, "an empty turn is refused", severity="info")
            return False
        parts.append({"type": "text", "text": PLACEHOLDER})
        reason = "a placeholder stands for it"
        self.scribe.lost(message, "content", reason, kind="downgraded", severity="info")
        return True

    def _add_spelled(self, message: Message, role: str, parts: list[Wire], form: Wire) -> None:
        """A message that remembers how it was spelled."""
        raw = message.metadata.provider_raw or {}
        if len(raw) > 1:
            self.scribe.unsaid_raw(message, raw, "metadata.provider_raw")
        joins = role == self.role and not form.get("apart")
        turn = _short(message, role, parts, form)
        if turn is not None and not (joins and parts):
            self._close(turn)
        elif not parts and not self._fill(message, role, parts):
            return
        elif joins:
            self.parts.extend(parts)
        else:
            self._open(role, parts)
        if type(self.turns[-1]) is dict:
            put_back(self.turns[-1], message, {NAME: raw[NAME]}, self.scribe)


def _short(message: Message, role: str, parts: list[Wire], form: Wire) -> Any:
    """The turn where it is remembered as no list of parts, and still can be said so."""
    shape = form.get("content")
    text = string_of(parts) if parts else "" if not message.content else None
    if text is not None and form.get("bare"):
        return text
    if text is not None and shape == "string":
        return {"role": role, "content": text}
    if message.content or shape not in ("list", "null", "none"):
        return None
    if shape == "none":
        return {"role": role}
    return {"role": role, "content": None if shape == "null" else []}


def _report(message: Message, scribe: Scribe) -> None:
    """What a message says and a turn cannot."""
    if message.name is not None:
        scribe.lost(message, "name")
    role = message.role
    if role is Role.DEVELOPER:
        scribe.lost(message, "role", "said as system", kind="downgraded")
    for block in message.content:
        if type(block) is ToolResultBlock:
            if role is Role.USER and not form_of(block.raw):
                scribe.lost(message, "role", "results stand apart", kind="moved", severity="info")
        elif role is Role.TOOL:
            scribe.lost(message, "role", "said by the user", kind="downgraded", severity="info")
        elif type(block) is ToolUseBlock and message.metadata.diagnostics and block.input:
            tell_recovered(block, scribe)
