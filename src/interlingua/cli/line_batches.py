"""JSON Lines of any size: converted in batches on all cores, in order, in constant memory.

Each line gives one line of the target format, or an envelope: `{"ok", "wire", "losses", "error"}`.
A line that cannot be read is reported with its number, and the rest is converted.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import lru_cache
from io import BytesIO
from itertools import chain, islice
from mmap import ACCESS_READ, mmap
from multiprocessing import get_start_method
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import msgspec

from interlingua.batches import row_of
from interlingua.bulk.convert import few_collections
from interlingua.bulk.tally import Tally, add
from interlingua.errors import InterlinguaError, ReadError

if TYPE_CHECKING:
    from interlingua.dialects.record import Written
    from interlingua.losses import Loss
    from interlingua.models.profile import Profile

BATCH = 1024 * 1024
"""Bytes that travel to a worker at once, at the least; a longer line travels alone."""
AHEAD = 2
"""Batches per worker that are under way at a time: this, and no more, is in memory."""

_encode = msgspec.json.Encoder().encode


class Job(NamedTuple):
    """How to convert: the arguments of `il.convert`, and what is wanted beside the lines. Without
    a `kind`, each line tells its own."""

    source: str
    target: str
    kind: str | None
    model: str | None = None
    envelope: bool = False
    report: bool = False
    """Whether the losses of each line are wanted, and not only their number."""


class Batch(NamedTuple):
    """Whole lines: the bytes themselves, or where a worker finds them."""

    size: int
    data: bytes | None
    path: str | None = None
    offset: int = 0

    def lines(self) -> Iterator[bytes]:
        if self.data is not None:
            return BytesIO(self.data)
        with Path(self.path or "").open("rb") as file:
            file.seek(self.offset)
            return BytesIO(file.read(self.size))


class BatchResult(NamedTuple):
    """A converted batch. Its lines are numbered from 0 in a worker, and from 1 in the whole file
    once it is back."""

    output: bytes | memoryview
    """Good until the next batch is asked for."""
    lines: int
    size: int
    failed: list[tuple[int, str]]
    losses: int
    ends: int
    """How many lines end in it, blank ones too."""
    tally: Tally
    lost: list[tuple[int, bytes]]
    """The losses of each line that has any, as JSON."""


def convert_lines(
    file: IO[bytes], job: Job, jobs: int | None = None, path: str | None = None
) -> Iterator[BatchResult]:
    """The converted batches in the order of the lines. With a `path` the workers read the file
    themselves."""
    workers = jobs or os.cpu_count() or 1
    first = 1
    with few_collections():
        todo = stretches(file, path) if path else batches(file)
        first_two = list(islice(todo, 2))
        alone = workers == 1 or len(first_two) < 2
        todo = chain(first_two, todo)
        for done in _in_one(todo, job) if alone else _in_many(todo, job, workers):
            yield done._replace(
                failed=[(first + line, problem) for line, problem in done.failed],
                lost=[(first + line, losses) for line, losses in done.lost],
            )
            first += done.ends


def _in_one(todo: Iterator[Batch], job: Job) -> Iterator[BatchResult]:
    return (convert_batch(batch, job) for batch in todo)


def _in_many(todo: Iterator[Batch], job: Job, workers: int) -> Iterator[BatchResult]:
    """Workers put their output where this process can see it, since a pipe is slow."""
    under_way: deque[tuple[Future[BatchResult], int | None]] = deque()
    desks = [_desk() for _ in range(workers * AHEAD)]
    _prepare(job)
    with ProcessPoolExecutor(workers) as pool:
        try:
            for batch, desk in zip(islice(todo, len(desks)), desks, strict=False):
                under_way.append((pool.submit(convert_batch, batch, job, desk), desk))
            while under_way:
                future, desk = under_way.popleft()
                yield _fetched(future.result(), desk)
                for batch in islice(todo, 1):
                    under_way.append((pool.submit(convert_batch, batch, job, desk), desk))
        finally:
            for future, _ in under_way:
                future.cancel()
            for desk in desks:
                if desk is not None:
                    os.close(desk)


def _prepare(job: Job) -> None:
    """Load what workers need before they are made, so that they inherit it."""
    import interlingua.translate  # noqa: F401  # what workers call
    from interlingua.formats import load

    for name in {job.source, job.target} - {"auto"}:
        load(name, job.kind or "request")


def _desk() -> int | None:
    """A file in memory that workers inherit; None where there is no such thing."""
    if sys.platform != "linux" or get_start_method() != "fork":
        return None
    return os.memfd_create("lines")


def _fetched(done: BatchResult, desk: int | None) -> BatchResult:
    """What lies on the desk, looked at where it is: no copy is made."""
    if desk is None or not os.fstat(desk).st_size:
        return done
    return done._replace(output=memoryview(mmap(desk, 0, access=ACCESS_READ)))


def batches(file: IO[bytes]) -> Iterator[Batch]:
    """Lines together until they are worth a journey."""
    while data := file.read(BATCH):
        if not data.endswith(b"\n"):
            data += file.readline()
        yield Batch(len(data), data)


def stretches(file: IO[bytes], path: str) -> Iterator[Batch]:
    """The same of a file that others can open: only the ends are looked for."""
    start, size = 0, os.fstat(file.fileno()).st_size
    while start < size:
        file.seek(start + BATCH - 1)
        file.readline()
        end = min(file.tell(), size)
        yield Batch(end - start, None, path, start)
        start = end


def convert_batch(batch: Batch, job: Job, desk: int | None = None) -> BatchResult:
    """All lines of a batch; blank lines give nothing. The output goes to the desk, if any."""
    failed: list[tuple[int, str]] = []
    lost: list[tuple[int, bytes]] = []
    tally: Tally = {}
    losses = count = ends = 0
    with BytesIO() if desk is None else open(desk, "r+b", closefd=False) as out:
        out.seek(0)
        for line in batch.lines():
            if not line.isspace():
                count += 1
                try:
                    written = _convert(line, job)
                    data = written.json()
                except InterlinguaError as error:
                    problem = _problem(line, error)
                    failed.append((ends, problem))
                    if job.envelope:
                        out.write(_failed(problem))
                else:
                    told = written.report.losses
                    if told:
                        losses += len(told)
                        add(tally, told)
                        if job.report:
                            lost.append((ends, _encode(told)))
                    out.writelines(_enveloped(data, told) if job.envelope else (data, b"\n"))
            ends += 1
        out.truncate()  # the desk was used before
        output = out.getvalue() if isinstance(out, BytesIO) else b""
    return BatchResult(output, count, batch.size, failed, losses, ends, tally, lost)


def _problem(line: bytes, error: InterlinguaError) -> str:
    from interlingua.cli.formats import flaw_in

    flaw = flaw_in(line) if isinstance(error, ReadError) else None
    if flaw is None:
        return str(error)
    return f"column {flaw.column}: expected {flaw.expected}, found {flaw.found}"


def _failed(problem: str) -> bytes:
    told: dict[str, Any] = {"ok": False, "wire": None, "losses": [], "error": problem}
    return _encode(told) + b"\n"


def _enveloped(wire: bytes, losses: list[Loss]) -> tuple[bytes, ...]:
    told = _encode(losses) if losses else b"[]"
    return (b'{"ok":true,"wire":', wire, b',"losses":', told, b',"error":null}\n')


def _convert(line: bytes, job: Job) -> Written:
    from interlingua.translate import convert

    source, kind = job.source, job.kind
    data: Any = line
    row = None
    if source == "auto":
        if (row := row_of(line)) is not None:
            source, kind, data = row.dialect, row.kind, row.body
        else:
            source, kind = _guessed(line, kind)
    written = convert(
        data,
        source,
        job.target,
        kind or "request",  # type: ignore[arg-type]  # checked by the caller
        job.model,
        profile=_taken(job.model, job.target),
    )
    if row is not None:
        row.account(written.report)
    return written


def _guessed(line: bytes, kind: str | None) -> tuple[str, str]:
    from interlingua.cli.formats import guessed

    return guessed(line, kind)


@lru_cache(1)
def _taken(model: str | None, target: str) -> Profile | None:
    from interlingua.providers.profiles import profile_here

    return profile_here(model, target) if model else None
