"""Files of UI messages, and recorded UI message streams, to a transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interlingua.errors import InterlinguaError
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus, StopReason
from interlingua.transcripts.files import TranscriptError, contents, lines_in, opened
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import EventsFile, is_events
from interlingua.transcripts.notes import KEY, apply_note, read_session_note
from interlingua.transcripts.rows import first_row, whole_value
from interlingua.transcripts.transcript import (
    Origin,
    OriginFile,
    Transcript,
    summaries_in,
)
from interlingua.transcripts.ui_message.answers import read_message
from interlingua.transcripts.ui_message.parts import NAME, STOPS, Part
from interlingua.transcripts.ui_message.stream import FoldedStream, fold
from interlingua.transcripts.values import as_text, decoded, members

_CHUNKS = ("start", "start-step", "text-start", "reasoning-start", "message-metadata")
"""Chunks that a stream may begin with."""


def detect_file(sample: Sample) -> str | None:
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
            return members(decoded(line[5:])).get("type")
    return None


def read_file(path: Path) -> Transcript:
    """One conversation: a list of messages, a chat that holds one, or the stream of an answer."""
    with opened(path) as file:
        events = is_events(file.read(64))
    return _read_stream(path) if events else _read_messages(path)


def _read_messages(path: Path) -> Transcript:
    report = Report(NAME)
    data = contents(path)
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
            found += with_notes(ui, before == "assistant")
        except InterlinguaError as error:
            report.add("dropped", f"$[{number}]", str(error), "error")
        else:
            before = ui["role"]
    return tuple(found)


def with_notes(ui: Any, apart: bool = False) -> list[Message]:
    """The messages of a UI message, with what was kept beside it."""
    shown = read_message(ui, apart)
    notes = _notes(ui)
    each = [apply_note(message, notes.get(str(at))) for at, message in enumerate(shown)]
    order = notes.get("order")
    if isinstance(order, list) and sorted(map(str, order)) == sorted(map(str, range(len(each)))):
        each = [each[at] for at in order]
    return [message for messages in each for message in messages]


def _notes(ui: Any) -> Part:
    metadata = ui.get("metadata") if isinstance(ui, dict) else None
    return members(members(metadata).get(KEY))


def _session(listed: list[Any]) -> Part:
    """What a list has no place for stands with its first message."""
    return read_session_note(_notes(listed[0]).get("session") if listed else None)


def _read_stream(path: Path) -> Transcript:
    report = Report(NAME)
    file = EventsFile(path, report)
    stream = fold(line.value for line in file.lines())
    messages = list(with_notes(stream.message))
    if not (stream.finished or stream.error is not None or stream.aborted):
        reason = "the stream ends before its answer does"
        with opened(path) as opened_file:
            count = sum(1 for _ in lines_in(opened_file, path))
        report.add("dropped", f"line {count}", reason, "error")
    at = max((at for at, each in enumerate(messages) if each.role is Role.ASSISTANT), default=None)
    if at is not None:
        messages[at] = _ended(messages[at], stream)
    session = _session([stream.message])
    return _transcript(tuple(messages), path, file.size, report, {}, session)


def _ended(message: Message, stream: FoldedStream) -> Message:
    """An answer with how its stream ended."""
    metadata = message.metadata
    if stream.finish is not None and metadata.stop_reason is None:
        stop = STOPS.get(stream.finish, StopReason.OTHER)
        metadata = metadata.replace(stop_reason=stop, raw_stop_reason=stream.finish)
    if stream.error is not None:
        metadata = metadata.replace(status=MessageStatus.ERROR, error_message=stream.error)
    elif stream.aborted:
        metadata = metadata.replace(status=MessageStatus.CANCELLED)
    elif not stream.finished:
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
    return Transcript.of(
        NAME,
        messages,
        id=as_text(chat.get("id")) or as_text(session.get("id")),
        title=as_text(chat.get("title")) or as_text(session.get("title")),
        folder=as_text(session.get("folder")),
        created_at=times[0] if times else None,
        updated_at=times[-1] if times else None,
        compactions=summaries_in(messages),
        report=report,
        details={"chat": chat} if chat else {},
        origin=Origin(NAME, (file,), messages, tuple(() for _ in messages)),
    )
