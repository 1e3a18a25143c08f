"""Files of UI messages, and recorded UI message streams, to a transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.errors import InterlinguaError
from interlingua.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus, StopReason
from interlingua.transcripts.errors import TranscriptError
from interlingua.transcripts.format import Sample
from interlingua.transcripts.frames import EventsFile, is_events
from interlingua.transcripts.memo import KEY, recall, remembered
from interlingua.transcripts.rows import first_row, whole_value
from interlingua.transcripts.summary import is_summary
from interlingua.transcripts.totals import model_changes, models_of, usage_of
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    Origin,
    OriginFile,
    Transcript,
)
from interlingua.transcripts.ui_message.answers import read_message
from interlingua.transcripts.ui_message.parts import Part
from interlingua.transcripts.ui_message.stream import FoldedStream, fold
from interlingua.transcripts.ui_message.tables import NAME, STOPS

_CHUNKS = ("start", "start-step", "text-start", "reasoning-start", "message-metadata")
"""Chunks that a stream may begin with."""


def signs(sample: Sample) -> str | None:
    """Messages with typed parts, or the first chunk of a stream."""
    if is_events(sample.head):
        chunk = _first_chunk(sample.head)
        return f"a stream that begins with {chunk}" if chunk in _CHUNKS else None
    row = first_row(sample) or {}
    if isinstance(row.get("messages"), list):
        row = next((each for each in row["messages"] if isinstance(each, dict)), {})
    parts = row.get("parts")
    typed = isinstance(parts, list) and all(map(_is_typed, parts))
    return "messages with typed parts" if typed and "role" in row and "info" not in row else None


def _is_typed(part: Any) -> bool:
    """Whether it is a part, or as much of one as the sample has."""
    return isinstance(part, dict) and ("type" in part or not part)


def _first_chunk(head: bytes) -> Any:
    for line in head.split(b"\n"):
        if line.startswith(b"data:"):
            try:
                value = msgspec.json.decode(line[5:])
            except msgspec.DecodeError:
                return None
            return value.get("type") if isinstance(value, dict) else None
    return None


def read(path: Path) -> Transcript:
    """One conversation: a list of messages, a chat that holds one, or the stream of an answer."""
    with path.open("rb") as file:
        events = is_events(file.read(64))
    return _read_stream(path) if events else _read_messages(path)


def _read_messages(path: Path) -> Transcript:
    report = Report(NAME)
    data = path.read_bytes()
    value = whole_value(data, report)
    chat = value if isinstance(value, dict) and "messages" in value else {}
    listed = chat["messages"] if chat else [value] if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise TranscriptError(path, "expected a list of UI messages")
    rest = {key: each for key, each in chat.items() if key != "messages"}
    messages = _messages(listed, report)
    return _transcript(messages, path, len(data), report, rest, _session(listed))


def _messages(listed: list[Any], report: Report) -> tuple[Message, ...]:
    found: list[Message] = []
    before = None
    for number, ui in enumerate(listed):
        try:
            found += recalled(ui, before == "assistant")
        except InterlinguaError as error:
            report.add("dropped", f"$[{number}]", str(error), "error")
        else:
            before = ui["role"]
    return tuple(found)


def recalled(ui: Any, apart: bool = False) -> list[Message]:
    """The messages of a UI message, with what was kept beside it."""
    shown = read_message(ui, apart)
    notes = _notes(ui)
    each = [recall(message, notes.get(str(at))) for at, message in enumerate(shown)]
    order = notes.get("order")
    if isinstance(order, list) and sorted(map(str, order)) == sorted(map(str, range(len(each)))):
        each = [each[at] for at in order]
    return [message for messages in each for message in messages]


def _notes(ui: Any) -> Part:
    told = ui.get("metadata") if isinstance(ui, dict) else None
    notes = told.get(KEY) if isinstance(told, dict) else None
    return notes if isinstance(notes, dict) else {}


def _session(listed: list[Any]) -> Part:
    """What a list has no place for stands with its first message."""
    return remembered(_notes(listed[0]).get("session") if listed else None)


def _read_stream(path: Path) -> Transcript:
    report = Report(NAME)
    file = EventsFile(path, report)
    told = fold(line.value for line in file.lines())
    messages = list(recalled(told.message))
    if not (told.finished or told.error is not None or told.aborted):
        reason = "the stream ends before its answer does"
        report.add("dropped", f"line {_lines(path)}", reason, "error")
    at = max((at for at, each in enumerate(messages) if each.role is Role.ASSISTANT), default=None)
    if at is not None:
        messages[at] = _ended(messages[at], told)
    session = _session([told.message])
    return _transcript(tuple(messages), path, file.size, report, {}, session)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _ended(message: Message, told: FoldedStream) -> Message:
    """An answer with how its stream ended."""
    metadata = message.metadata
    if told.finish is not None and metadata.stop_reason is None:
        stop = STOPS.get(told.finish, StopReason.OTHER)
        metadata = metadata.replace(stop_reason=stop, raw_stop_reason=told.finish)
    if told.error is not None:
        metadata = metadata.replace(status=MessageStatus.ERROR, error_message=told.error)
    elif told.aborted:
        metadata = metadata.replace(status=MessageStatus.CANCELLED)
    elif not told.finished:
        metadata = metadata.replace(status=MessageStatus.PARTIAL)
    return replace(message, metadata=metadata)


def _transcript(
    messages: tuple[Message, ...],
    path: Path,
    size: int,
    report: Report,
    chat: Part,
    session: Part,
) -> Transcript:
    file = OriginFile(path, path.name, size)
    times = [message.created_at for message in messages if message.created_at is not None]
    return Transcript(
        format=NAME,
        messages=messages,
        id=_text(chat.get("id")) or _text(session.get("id")),
        title=_text(chat.get("title")) or _text(session.get("title")),
        folder=_text(session.get("folder")),
        created_at=times[0] if times else None,
        updated_at=times[-1] if times else None,
        models=models_of(messages),
        usage=usage_of(messages),
        branches=(Branch(None, messages, True),),
        compactions=tuple(Compaction(at) for at, each in enumerate(messages) if is_summary(each)),
        model_changes=model_changes(messages),
        report=report,
        details={"chat": chat} if chat else {},
        origin=Origin(NAME, (file,), messages, tuple(() for _ in messages)),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
