"""Files of many conversations, one a row: lines of JSON, or one JSON list (or a single object); and
requests and answers of a provider's API inside them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jiter
import msgspec

from interlingua.adapt.history.retell import retell
from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError, a_type
from interlingua.model.base import Raw
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.model.spelled_numbers import spelled
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts.files import TranscriptError, contents, lines_in, opened
from interlingua.transcripts.format import Draft, Format, Sample
from interlingua.transcripts.lines import LinesFile
from interlingua.transcripts.transcript import (
    Branch,
    Origin,
    OriginFile,
    Span,
    SubAgent,
    Transcript,
    bare,
    models_of,
    usage_of,
)
from interlingua.transcripts.values import NOT_JSON, listed

_LISTS = ("messages", "input")


def read_body(body: dict[str, Any], name: str, report: Report) -> Request:
    """A request; one with a message that cannot be read is read message by message."""
    try:
        return dialect(name).read_request(body)
    except InterlinguaError as error:
        key = next((key for key in _LISTS if isinstance(body.get(key), list)), None)
        if key is None:
            raise
        return _read_singly(body, key, name, report, error)


def _read_singly(
    body: dict[str, Any], key: str, name: str, report: Report, whole: InterlinguaError
) -> Request:
    messages: list[Message] = []
    for number, wire in enumerate(body[key]):
        try:
            messages.extend(dialect(name).read_request({key: [wire]}).messages)
        except InterlinguaError as error:
            report.add("dropped", f"$.{key}[{number}]", because("unreadable", error=error))
    if not report:
        report.add("dropped", "$", because("unreadable", error=whole))
    return Request(tuple(messages))


def read_tools(
    definitions: Any, name: str, report: Report, path: str
) -> tuple[ToolDefinition, ...]:
    """Tool definitions in a dialect; unreadable ones are reported at `path`."""
    try:
        if not (tools := listed(definitions)):
            return ()
        empty = dialect(name).write_request(Request(())).wire
        return read_body({**empty, "tools": tools}, name, report).tools
    except InterlinguaError as error:
        report.add("dropped", path, because("unreadable", error=error))
        return ()


def write_tools(transcript: Transcript, name: str) -> list[dict[str, Any]]:
    """The inverse of `read_tools`."""
    wire = dialect(name).write_request(Request((), tools=transcript.tools)).wire
    return list(wire.get("tools") or ())


def write_body(transcript: Transcript, name: str, report: Report, own: str) -> dict[str, Any]:
    """A transcript as a request; one that was read in the format `own` is written unadapted."""
    request = Request(transcript.messages, tools=transcript.tools)
    if transcript.format != own:
        done = retell(request, name)
        request = done.value
        report.extend(done.report)
        _report_metadata(transcript, report)
    written = dialect(name).write_request(request)
    report.extend(written.report.of_history())
    body: dict[str, Any] = written.wire
    return body


def _report_metadata(transcript: Transcript, report: Report) -> None:
    """Requests hold messages only; their model, time and cost have no place."""
    for at, message in enumerate(transcript.messages):
        if message.metadata.usage is not None or message.metadata.response_model is not None:
            reason = because("request_without_usage")
            path = f"$.messages[{at}].metadata"
            report.add("dropped", path, reason, "info", None, message.id)


def model_of(transcript: Transcript) -> str | None:
    """The model that continues a session, by its provider's name."""
    if transcript.model_changes:
        return bare(transcript.model_changes[-1].model)
    models = transcript.models or models_of(transcript.messages)
    return models[-1] if models else None


def read_answer(body: dict[str, Any], name: str, id: str | None, row: Row) -> Conversation:
    """The answer's message; if there are several choices, the others are branches."""
    response = dialect(name).read_response(body)
    return Conversation(
        (response.message,),
        id,
        row=row,
        alternatives=response.alternatives,
        raw=response.raw,
    )


def is_answer(transcript: Transcript) -> bool:
    """Whether there is nothing but one message of a model with content."""
    if len(transcript.messages) != 1:
        return False
    only = transcript.messages[0]
    return only.role is Role.ASSISTANT and bool(only.content)


def write_answer(transcript: Transcript, name: str, report: Report) -> dict[str, Any]:
    """The inverse of `read_answer`."""
    others = (each.messages[-1] for each in transcript.branches if not each.active)
    response = Response(transcript.messages[0], tuple(others), raw=transcript.details.get("raw"))
    written = dialect(name).write_response(response)
    report.extend(written.report)
    wire: dict[str, Any] = written.wire
    return wire


Row = dict[str, Any]


class Conversation(NamedTuple):
    """One row: its messages, other members as `row`, and alternatives to the last answer."""

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


class RowPosition(NamedTuple):
    """A row, where it is to be named in a report, and its bytes if it has a line of its own."""

    value: Row
    where: str
    span: Span | None


class RowsFile(LinesFile):
    """Lines without limit of number; a truncated line is read up to its cut."""

    most = (math.inf, math.inf)

    def _object(self, line: bytes, number: int) -> dict[str, Any] | None:
        value = super()._object(line, number)
        if value is None and line.startswith(b"{"):
            value = partly(line)
        return value or None


class RowFormat(Format):
    """A format whose files hold one conversation a row."""

    def read_row(self, row: Row, report: Report) -> Conversation:
        """The conversation of one row."""
        raise NotImplementedError

    def read(self, path: Path) -> Transcript:
        """The first conversation; the report warns if there are more."""
        each = self.read_all(path)
        first = next(each)
        if next(each, None) is not None:
            reason = because("rows_follow")
            first.report.add("dropped", "row 2", reason)
        return first

    def read_all(self, path: Path) -> Iterator[Transcript]:
        """Every conversation of a file; one that is alone in it keeps the whole file."""
        file = RowsFile(path, Report(self.name))
        waiting: Transcript | None = None
        count = 0
        for row in row_positions(file):
            found = self._transcript(row, file)
            if found is None:
                continue
            if waiting is not None:
                yield waiting
            waiting, count = found, count + 1
        if waiting is None:
            problems = "; ".join(f"{loss.path}: {loss.reason}" for loss in file.report)
            detail = f" ({problems})" if problems else ""
            raise TranscriptError(path, f"it contains no conversation{detail}")
        waiting.report.extend(file.report)
        if count == 1:
            messages = waiting.messages
            spans = ((Span(0, file.size),),) * len(messages)
            waiting = waiting.replace(origin=Origin(self.name, (file.origin(),), messages, spans))
        yield waiting

    def own_row(self, transcript: Transcript) -> Row:
        """The data beside the messages, in a transcript of this format."""
        own: Row = transcript.details.get("row", {}) if transcript.format == self.name else {}
        return own

    def _transcript(self, row: RowPosition, file: LinesFile) -> Transcript | None:
        report = file.report
        try:
            conversation = self.read_row(row.value, report)
        except InterlinguaError as error:
            report.add("dropped", row.where, because("unreadable", error=error))
            return None
        file.report = Report(self.name)
        messages, before = conversation.messages, conversation.messages[:-1]
        others = (Branch(None, (*before, each)) for each in conversation.alternatives)
        answers = (*messages, *conversation.alternatives)
        return Transcript.of(
            self.name,
            messages,
            id=conversation.id,
            title=conversation.title,
            models=models_of(answers),
            usage=usage_of(answers),
            branches=conversation.branches or (Branch(None, messages, True), *others),
            subagents=conversation.subagents,
            created_at=conversation.created_at,
            updated_at=conversation.updated_at,
            tools=conversation.tools,
            report=report,
            details={"row": conversation.row or {}, "raw": conversation.raw},
            origin=self._origin(row, file, messages),
        )

    def _origin(
        self, row: RowPosition, file: LinesFile, messages: tuple[Message, ...]
    ) -> Origin | None:
        """A line among others; elements of a list have none and are written anew."""
        if row.span is None:
            return None
        own_file = OriginFile(file.path, file.name, row.span.end, row.span.start)
        return Origin(self.name, (own_file,), messages, ((row.span,),) * len(messages))


@lru_cache(maxsize=1)  # many formats ask the same of one file
def first_row(sample: Sample) -> Row | None:
    """The first row, as far as it is in the sample."""
    head = sample.head.strip()
    for data in (head.partition(b"\n")[0], head):
        value = partly(data)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict) and value:
            return value
    return None


def detect_batch(sample: Sample, request_key: str, answer_key: str) -> str | None:
    """Detects a batch by a `custom_id`, and one of two members."""
    row = first_row(sample)
    if row is None or "custom_id" not in row:
        return None
    if request_key in row:
        return f"requests with a custom_id and {request_key}"
    return f"answers with a custom_id and a {answer_key}" if answer_key in row else None


def row_positions(file: LinesFile) -> Iterator[RowPosition]:
    """The objects of a file: a line each, the elements of a list, or the only one."""
    if _is_one_value(file.path):
        yield from _elements(file)
        return
    for line in file.lines():
        yield RowPosition(line.value, f"line {line.number}", line.span)


def _is_one_value(path: Path) -> bool:
    """Whether the file is one JSON value over many lines, and not a value a line."""
    with opened(path) as file:
        full = (line.strip() for line in lines_in(file, path) if not line.isspace())
        first = next(full, b"")
        if first.startswith(b"[") or not first.startswith(b"{") or first.endswith(b"}"):
            return first.startswith(b"[")
        return next(full, b"{")[:1] != b"{"


def _elements(file: LinesFile) -> Iterator[RowPosition]:
    data = contents(file.path)
    file.size = len(data)
    value = whole_value(data, file.report)
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        if isinstance(row, dict):
            yield RowPosition(row, f"row {number}", None)
        else:
            reason = because("not_an_object", found=a_type(row))
            file.report.add("dropped", f"row {number}", reason)


def whole_value(data: bytes, report: Report) -> Any:
    """The one JSON value of a file; of a truncated or garbled one, the part before the error."""
    try:
        return msgspec.json.decode(data)
    except NOT_JSON as error:
        last = max(len(data.splitlines()), 1)
        report.add("dropped", f"line {last}", because("file_garbled", error=error))
        return partly(data)


def partly(data: bytes) -> Any:
    """The readable part of a value that may be cut; None if it is not JSON."""
    try:
        return jiter.from_json(data, partial_mode="on")
    except (ValueError, RecursionError):
        return None


def draft(
    name: str, row: Row, transcript: Transcript, report: Report, listed: bool = False
) -> Draft:
    """A file of one row, a line or a list; data that a row cannot hold is reported."""
    transcript.report_left_out(report)
    data = msgspec.json.encode(row, enc_hook=spelled)
    if listed:
        data = msgspec.json.format(b"[" + data + b"]", indent=2)
    return Draft({name: data + b"\n"}, report)
