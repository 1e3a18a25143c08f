"""A session of Codex at a glance: who spoke when, and what it used, without what was said."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import msgspec

from interlingua.model.blocks import TextBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.transcripts.codex.history import MODEL_MADE, NAME, OUTPUTS, History, typed
from interlingua.transcripts.lines import Line, LinesFile
from interlingua.transcripts.notes import KEY
from interlingua.transcripts.transcript import Answer, Glance, name_of, title_of
from interlingua.transcripts.values import from_iso


class _Part(TypedDict, total=False):
    type: Any
    text: Any


_PAYLOAD = (
    *("type", "role", "id", "model", "usage", "response_id", "info", "cwd", "timestamp"),
    *("parent_thread_id", "history_base", "model_provider", "base_instructions"),
)
_payload: dict[str, Any] = {**dict.fromkeys(_PAYLOAD, Any), "content": list[_Part] | str | None}
_Payload = TypedDict("_Payload", _payload, total=False)  # type: ignore[misc]  # made of a list
_line: dict[str, Any] = {"timestamp": Any, "type": Any, "payload": _Payload, KEY: Any}
_Line = TypedDict("_Line", _line, total=False)  # type: ignore[misc]  # made of a list
_decode = msgspec.json.Decoder(_Line).decode
_HELPER = b'agent_id\\"'
"""How a result spells that names a helper, whose rollout has to be read, too."""
_ROLES = {"user": Role.USER, "developer": Role.DEVELOPER, "system": Role.SYSTEM}


class _NotPlainError(Exception):
    """There is more to it than a glance tells."""


class _GlancedHistory(History):
    """The same history, of messages without content; of prompts, the text is kept."""

    def take(self, line: Line) -> None:
        if KEY in line.value:
            raise _NotPlainError
        super().take(line)

    def end_answer(self) -> None:
        if self._answer:
            lines, self._answer = self._answer, []
            self._put(lines[:1], Message(Role.ASSISTANT), lines[0])

    def _item(self, line: Line, item: dict[str, Any]) -> None:
        kind, role = str(item.get("type")), str(item.get("role"))
        if kind in MODEL_MADE or (kind == "message" and role == "assistant"):
            self._answer.append(line)
            return
        self.end_answer()
        if kind in OUTPUTS:
            self._put([line], Message(Role.TOOL), line)
        elif kind == "message" and role in _ROLES:
            texts = _texts(item.get("content")) if role == "user" else ()
            self._put([line], typed(Message(_ROLES[role], texts)), line)
        else:
            raise _NotPlainError


def glance_at(path: Path, id: str | None) -> Glance | None:
    """None for a rollout that goes on from another, has helpers, or notes of another tool."""
    try:
        return _glance(path)
    except _NotPlainError:
        return None


def _glance(path: Path) -> Glance | None:
    lines = LinesFile(path, Report(NAME)).lines(decode=_plain)
    first = next(lines, None)
    meta = first.value.get("payload") if first is not None else None
    if first is None or first.value.get("type") != "session_meta" or not isinstance(meta, dict):
        return None
    if meta.get("history_base") is not None:
        raise _NotPlainError
    history = _GlancedHistory(Report(NAME), meta.get("model_provider"))
    line = first
    for line in lines:
        history.take(line)
    history.end_answer()
    messages = tuple(entry.message for entry in history.entries)
    about = meta.get("base_instructions")
    instructions = about.get("text") if isinstance(about, dict) else None
    return Glance(
        meta.get("id") if isinstance(meta.get("id"), str) else None,
        title_of(messages),
        meta.get("cwd") or None,
        from_iso(meta.get("timestamp")),
        from_iso(line.value.get("timestamp")),
        len(messages) + bool(instructions),
        tuple(_answers(messages)),
        meta.get("parent_thread_id"),
    )


def _plain(line: bytes) -> Any:
    if _HELPER in line:
        raise _NotPlainError
    return _decode(line)


def _texts(content: Any) -> tuple[TextBlock, ...]:
    if type(content) is str:
        return (TextBlock(content),)
    parts = content if type(content) is list else []
    texts = (part.get("text") for part in parts if type(part) is dict)
    return tuple(TextBlock(text) for text in texts if type(text) is str)


def _answers(messages: tuple[Message, ...]) -> list[Answer]:
    return [
        Answer(each.metadata.model, each.metadata.usage, each.created_at, name_of(each))
        for each in messages
        if each.metadata.usage is not None
    ]
