"""Converts one part of a run; unreadable rows are collected separately."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from interlingua.adapt.batches import row_of
from interlingua.bulk import tally
from interlingua.bulk.files import JSON, PARQUET, Part, suffix_of
from interlingua.bulk.tally import Tally
from interlingua.errors import InterlinguaError
from interlingua.model.losses import Loss, Report, loss_of
from interlingua.model.reasons import because
from interlingua.streams.packed import packed

if TYPE_CHECKING:
    from interlingua.profiles.profile import Profile


class Row(NamedTuple):
    """A conversation, or the JSON of a body; or why neither can be read."""

    value: Any = None
    wire: bytes | dict[str, Any] | None = None
    problem: str | None = None


class Converted(NamedTuple):
    """A body of the target format; None where a row that cannot be read has to stay a row."""

    wire: bytes | None
    model: str | None
    losses: list[Loss]
    notes: list[Loss]

    def to_show(self) -> list[Loss]:
        """The losses, and notes above the level of information."""
        return [*[note for note in self.notes if note.severity != "info"], *self.losses]


CANONICAL = "canonical"
_encode = msgspec.json.Encoder().encode


class Job(msgspec.Struct, frozen=True):
    """How to convert: the arguments of `il.convert`. Without a `source` or a `kind`, each row is
    detected."""

    target: str
    source: str = "auto"
    kind: str | None = None
    model: str | None = None
    places: bool = False
    """Whether to find the places of losses in each row, which takes longer than to convert it."""


class BadRow(msgspec.Struct, frozen=True):
    """A row that cannot be read; `line` counts from 1, in its part and then in its file."""

    line: int
    reason: str
    row: Any = None


class PartResult(msgspec.Struct, frozen=True):
    """The outcome of a part."""

    rows: int
    lines: int
    """Blank ones too."""
    bad: list[BadRow] = []
    losses: dict[str, int] = {}
    """By kind."""
    tally: Tally = {}
    """Each loss, and how often it occurred."""


class _Count:
    """Counters of a pass over rows."""

    def __init__(self) -> None:
        self.rows = self.lines = 0
        self.bad: list[BadRow] = []
        self.losses: Counter[str] = Counter()
        self.tally: Tally = {}

    def flaw(self, problem: str, row: Any) -> None:
        self.bad.append(BadRow(self.lines, problem, row))

    def lost(self, done: Converted) -> None:
        self.losses.update([loss.kind for loss in done.losses])
        tally.add(self.tally, done.to_show())

    def done(self) -> PartResult:
        return PartResult(self.rows, self.lines, self.bad, dict(self.losses), self.tally)


def convert_part(part: Part, job: Job, path: Path) -> PartResult:
    """Convert a part into a file. The file is there whole, or not at all."""
    count = _Count()
    made = path.with_name(f".{path.name}.making")
    with few_collections():
        if suffix_of(path) == PARQUET:
            _write_table(part, job, made, count)
        elif suffix_of(path) == JSON:
            _write_document(part, job, made, count)
        else:
            data = _lines(part, job, count)
            made.write_bytes(packed(data, path.name) if data else b"")
    if made.exists():
        made.replace(path)
    return count.done()


def converted_lines(part: Part, job: Job) -> tuple[bytes, PartResult]:
    """The rows of a part as lines."""
    count = _Count()
    with few_collections():
        return _lines(part, job, count), count.done()


def _lines(part: Part, job: Job, count: _Count) -> bytes:
    out = BytesIO()
    for done in _all_converted(part, job, count):
        out.writelines((done.wire or b"null", b"\n"))
    return out.getvalue()


def _write_document(part: Part, job: Job, path: Path, count: _Count) -> None:
    """One value, or a list where there are several; no file for one that cannot be read."""
    wires = [done.wire or b"null" for done in _all_converted(part, job, count)]
    if len(wires) == 1:
        path.write_bytes(wires[0] + b"\n")
    elif wires:
        path.write_bytes(b"[" + b",\n".join(wires) + b"]\n")


def _write_table(part: Part, job: Job, path: Path, count: _Count) -> None:
    from interlingua.bulk import arrow, tables

    if job.target == CANONICAL:
        values = _values(part, job, count)
        tables.write(path, arrow.SCHEMA, arrow.to_batches(values, trusted=True))
    else:
        tables.write(path, tables.WIRE, _wire_batches(_all_converted(part, job, count)))


def _wire_batches(rows: Iterable[Converted]) -> Iterator[Any]:
    from interlingua.bulk import tables

    waiting: list[Converted] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == tables.ROWS:
            yield tables.wire_batch(waiting)
            waiting = []
    if waiting:
        yield tables.wire_batch(waiting)


# Rows


def _rows(part: Part, count: _Count) -> Iterator[Row]:
    """The rows of a part, each counted."""
    if suffix_of(part.path) == PARQUET:
        from interlingua.bulk.tables import rows_of

        for row in rows_of(part.path, part.number):
            count.lines += 1
            count.rows += 1
            yield row
        return
    data = _data(part)
    for line in _documents(data) if suffix_of(part.path) == JSON else BytesIO(data):
        count.lines += 1
        if not line.isspace():
            count.rows += 1
            yield Row(wire=line)


def _documents(data: bytes) -> Iterable[bytes]:
    """The conversations in a JSON file: it is one, or a list of them, or has one on each line."""
    from interlingua.adapt.formats import is_bare

    data = data.removeprefix(BOM)
    try:
        parsed = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        return BytesIO(data) if _has_lines(data) else [data]
    if isinstance(parsed, list) and parsed and not is_bare(parsed):
        return [_encode(each) for each in parsed]
    return [data]


def _has_lines(data: bytes) -> bool:
    """Whether a file that is not JSON as a whole begins with a line that is."""
    try:
        return isinstance(msgspec.json.decode(data.lstrip().partition(b"\n")[0]), dict)
    except (msgspec.DecodeError, UnicodeError):
        return False


BOM = b"\xef\xbb\xbf"


def _data(part: Part) -> bytes:
    if part.data is not None:
        return part.data
    with part.path.open("rb") as file:
        file.seek(part.start)
        return file.read(part.size)


def _values(part: Part, job: Job, count: _Count) -> Iterator[Any]:
    """Rows as canonical values."""
    for row in _rows(part, count):
        try:
            yield value_of(row, job)[0]
        except InterlinguaError as error:
            count.flaw(str(error), _text(row.wire))


def _all_converted(part: Part, job: Job, count: _Count) -> Iterator[Converted]:
    """Rows as bodies of the target."""
    for row in _rows(part, count):
        try:
            done = converted(row, job)
        except InterlinguaError as error:
            count.flaw(str(error), _text(row.wire))
        else:
            count.lost(done)
            yield done


def converted(row: Row, job: Job) -> Converted:
    """A row as a body of the target."""
    from interlingua.adapt import formats
    from interlingua.adapt.convert import convert

    if row.value is None and row.problem is None and row.wire is not None:
        batch = row_of(row.wire) if job.source == "auto" else None
        data, source, kind = (
            batch[:3] if batch is not None else (row.wire, *_format_of(row.wire, job))
        )
        written = convert(
            data, source, job.target, kind, job.model, profile=_taken(job.model, job.target)
        )
        if batch is not None:
            batch.account(written.report)
        if batch is not None:
            written.report.source = None
        elif not job.places:
            _place_kinds(written.report, source)
    else:
        value, source = value_of(row, job)
        profile = _taken(job.model, job.target)
        written = formats.write(_request_of(value), job.target, source, job.model, profile)
        written.report.entries.extend(_unsupported(value))
    return Converted(written.json(), written.model, written.report.losses, written.report.notes)


_PLACES: dict[tuple[str, str, str], tuple[str, ...]] = {}
"""The places of the first loss of each kind, with `[*]` for each index."""


def _place_kinds(report: Report, source: str) -> None:
    """Gives losses the place of the first one of their kind: to find each takes too long."""
    kinds = [(source, each.code, tally.pattern(each.path)) for each in report.entries]
    if len(_PLACES) < tally.MOST and not all(map(_PLACES.__contains__, kinds)):
        for kind, entry in zip(kinds, report.located(), strict=True):
            _PLACES.setdefault(kind, tuple(map(tally.pattern, entry.at)))
    report.source = None
    for number, kind in enumerate(kinds):
        if at := _PLACES.get(kind):
            report.entries[number] = report.entries[number].placed(at)


def value_of(row: Row, job: Job) -> tuple[Any, str]:
    """The value of a row, and its format."""
    from interlingua.adapt import formats

    if row.problem is not None or (row.value is None and row.wire is None):
        raise BadRowError(row.problem or "the row is empty")
    if row.value is not None:
        return row.value, CANONICAL
    batch = row_of(row.wire) if job.source == "auto" else None
    data, source, kind = batch[:3] if batch is not None else (row.wire, *_format_of(row.wire, job))
    return formats.read(data, source, kind, job.model), source


class BadRowError(InterlinguaError):
    """A row of a table in which no conversation can be found."""


def _request_of(value: Any) -> Any:
    """A session or a transcript as the request that continues it."""
    from interlingua.model.base import Value
    from interlingua.model.exchange import Request

    if isinstance(value, Value):
        return value
    messages = getattr(value, "live", value.messages)
    model = value.row.active_model if hasattr(value, "row") else next(iter(value.models[-1:]), None)
    name = None if model is None else model.partition(":")[2] or model
    return Request(tuple(messages), name, tuple(getattr(value, "tools", ())))


def _unsupported(value: Any) -> Iterator[Loss]:
    """Losses for the parts of a session or a transcript that a request has no place for."""
    if getattr(value, "title", None) or (hasattr(value, "row") and value.row.name):
        yield loss_of("request", "dropped", "$.name", because("request_only"))
    if any(not branch.active for branch in getattr(value, "branches", ())):
        yield loss_of("request", "dropped", "$.branches", because("branches_left_out"))
    if getattr(value, "subagents", ()):
        yield loss_of("request", "dropped", "$.subagents", because("subagents_left_out"))
    if getattr(value, "compactions", ()):
        yield loss_of("request", "dropped", "$.messages", because("summarized"))


def _format_of(wire: Any, job: Job) -> tuple[str, Any]:
    if job.source != "auto":
        return job.source, job.kind or "request"
    from interlingua.adapt.formats import detect

    found = detect(wire, job.kind)  # type: ignore[arg-type]  # checked by the caller
    return found.dialect, found.kind


def _text(wire: bytes | dict[str, Any] | None) -> Any:
    return wire.decode(errors="backslashreplace").rstrip("\n") if isinstance(wire, bytes) else wire


@lru_cache(1)
def _taken(model: str | None, target: str) -> Profile | None:
    from interlingua.providers.profiles import profile_here

    return profile_here(model, target) if model else None


@contextmanager
def few_collections() -> Iterator[None]:
    """Converting makes many objects and no circles: garbage is looked for less often."""
    before = gc.get_threshold()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
