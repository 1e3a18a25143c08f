"""Files of many conversations, one a row: lines of JSON, or one JSON list (or a single object)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import jiter
import msgspec
from msgspec.structs import replace

from interlingua.errors import InterlinguaError
from interlingua.losses import Report
from interlingua.model.base import Raw
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts.errors import TranscriptError
from interlingua.transcripts.format import Draft, Sample
from interlingua.transcripts.lines import LinesFile
from interlingua.transcripts.totals import model_changes, models_of, usage_of
from interlingua.transcripts.transcript import (
    Branch,
    Origin,
    OriginFile,
    Span,
    SubAgent,
    Transcript,
)

Row = dict[str, Any]


class Conversation(NamedTuple):
    """What one row says. `row` is all of it that is not the messages, `alternatives` are answers
    that were given in place of the last message."""

    messages: tuple[Message, ...]
    id: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    row: Row | None = None
    alternatives: tuple[Message, ...] = ()
    raw: Raw | None = None
    subagents: tuple[SubAgent, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None
    title: str | None = None
    branches: tuple[Branch, ...] = ()
    """All ways through it, where there are several."""


ReadRow = Callable[[Row, Report], Conversation]


class Place(NamedTuple):
    """A row, where it is to be named in a report, and its bytes if it has a line of its own."""

    row: Row
    where: str
    span: Span | None


class RowsFile(LinesFile):
    """Lines that are conversations: of one that was cut, what stands before the cut is read."""

    def _object(self, line: bytes, number: int) -> dict[str, Any] | None:
        value = super()._object(line, number)
        if value is None and line.startswith(b"{"):
            value = _partly(line)
        return value or None


def first_row(sample: Sample) -> Row | None:
    """The first row, as far as it is in the sample."""
    head = sample.head.strip()
    for data in (head.partition(b"\n")[0], head):
        value = _partly(data)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict) and value:
            return value
    return None


def read_first(path: Path, name: str, read_row: ReadRow) -> Transcript:
    """The first conversation; that there are more is told."""
    each = read_rows(path, name, read_row)
    first = next(each)
    if next(each, None) is not None:
        reason = "more conversations follow the first; `read_all` reads them all"
        first.report.add("dropped", "row 2", reason, "warning")
    return first


def readers(
    name: str, read_row: ReadRow
) -> tuple[Callable[[Path], Transcript], Callable[[Path], Iterator[Transcript]]]:
    """`read` and `read_all` of a format that is read row by row."""

    def read(path: Path) -> Transcript:
        return read_first(path, name, read_row)

    def read_all(path: Path) -> Iterator[Transcript]:
        return read_rows(path, name, read_row)

    return read, read_all


def batch_signs(sample: Sample, asked: str, answered: str) -> str | None:
    """By what a batch is recognised: a name that its owner gave, and one of two members."""
    row = first_row(sample)
    if row is None or "custom_id" not in row:
        return None
    if asked in row:
        return f"requests with a custom_id and {asked}"
    return f"answers with a custom_id and a {answered}" if answered in row else None


def text_in(row: Row, *keys: str) -> str | None:
    """The first of these members that is a text with something in it."""
    found = (row.get(key) for key in keys)
    return next((each for each in found if isinstance(each, str) and each), None)


def read_rows(path: Path, name: str, read_row: ReadRow) -> Iterator[Transcript]:
    """Every conversation of a file. One that is alone in it goes home with the whole file."""
    file = RowsFile(path, Report(name))
    waiting: Transcript | None = None
    count = 0
    for place in places(file):
        found = _transcript(place, file, name, read_row)
        if found is None:
            continue
        if waiting is not None:
            yield waiting
        waiting, count = found, count + 1
    if waiting is None:
        raise TranscriptError(path, _nothing(file.report))
    waiting.report.extend(file.report)
    yield _from_all(waiting, file, name) if count == 1 else waiting


def _nothing(report: Report) -> str:
    problems = "; ".join(f"{loss.path}: {loss.reason}" for loss in report)
    return f"there is no conversation in it{f' ({problems})' if problems else ''}"


def places(file: LinesFile) -> Iterator[Place]:
    """The objects of a file: a line each, the elements of a list, or the only one."""
    if _is_one_value(file.path):
        yield from _elements(file)
        return
    for line in file.lines():
        yield Place(line.value, f"line {line.number}", line.span)


def _is_one_value(path: Path) -> bool:
    """Whether the file is one JSON value over many lines, and not a value a line."""
    with path.open("rb") as file:
        full = (line.strip() for line in file if not line.isspace())
        first = next(full, b"")
        if first.startswith(b"[") or not first.startswith(b"{") or first.endswith(b"}"):
            return first.startswith(b"[")
        return next(full, b"{")[:1] != b"{"


def _elements(file: LinesFile) -> Iterator[Place]:
    data = file.path.read_bytes()
    file.size = len(data)
    value = whole_value(data, file.report)
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        if isinstance(row, dict):
            yield Place(row, f"row {number}", None)
        else:
            reason = f"expected an object, found a {type(row).__name__}"
            file.report.add("dropped", f"row {number}", reason, "error")


def whole_value(data: bytes, report: Report) -> Any:
    """The one JSON value of a file; of one that is cut or garbled, what stands before that."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        last = max(len(data.splitlines()), 1)
        report.add("dropped", f"line {last}", f"it is cut or garbled: {error}", "error")
        return _partly(data)


def _partly(data: bytes) -> Any:
    """What can be read of a value that may be cut; None if it is no JSON at all."""
    try:
        return jiter.from_json(data, partial_mode="on")
    except (ValueError, RecursionError):
        return None


def _transcript(place: Place, file: LinesFile, name: str, read_row: ReadRow) -> Transcript | None:
    report = file.report
    try:
        said = read_row(place.row, report)
    except InterlinguaError as error:
        report.add("dropped", place.where, str(error), "error")
        return None
    file.report = Report(name)
    messages, before = said.messages, said.messages[:-1]
    others = (Branch(None, (*before, each)) for each in said.alternatives)
    answers = (*messages, *said.alternatives)
    return Transcript(
        format=name,
        messages=messages,
        id=said.id,
        title=said.title,
        models=models_of(answers),
        usage=usage_of(answers),
        branches=said.branches or (Branch(None, messages, True), *others),
        model_changes=model_changes(messages),
        subagents=said.subagents,
        created_at=said.created_at,
        updated_at=said.updated_at,
        tools=said.tools,
        report=report,
        details={"row": said.row or {}, "raw": said.raw},
        origin=_own(place, file, name, messages),
    )


def _own(place: Place, file: LinesFile, name: str, messages: tuple[Message, ...]) -> Origin | None:
    """A line among others; elements of a list have none and are written anew."""
    if place.span is None:
        return None
    mine = OriginFile(file.path, file.name, place.span.end, place.span.start)
    return Origin(name, (mine,), messages, tuple((place.span,) for _ in messages))


def _from_all(transcript: Transcript, file: LinesFile, name: str) -> Transcript:
    spans = tuple((Span(0, file.size),) for _ in transcript.messages)
    return replace(transcript, origin=Origin(name, (file.origin(),), transcript.messages, spans))


def draft(
    name: str, row: Row, transcript: Transcript, report: Report, listed: bool = False
) -> Draft:
    """A file of one row, a line or a list; what a row cannot hold is told."""
    tell_left_behind(transcript, report)
    data = msgspec.json.encode(row)
    if listed:
        data = msgspec.json.format(b"[" + data + b"]", indent=2)
    return Draft({name: data + b"\n"}, report)


def tell_left_behind(transcript: Transcript, report: Report) -> None:
    """Other branches and helpers, where a format has no place for them."""
    if len(transcript.branches) > 1:
        left = len(transcript.branches) - 1
        report.add("dropped", "$.branches", f"{left} other branches stay behind", "warning")
    if transcript.subagents:
        count = len(transcript.subagents)
        report.add("dropped", "$.subagents", f"sessions of {count} helpers stay behind", "warning")
