"""JSON Lines of any size: converted in batches on all cores, in order, in constant memory.

Each line gives one line: `{"ok", "wire", "losses", "error"}`. A line that cannot be read is
reported with its number, and the rest is converted.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from interlingua.errors import InterlinguaError

BATCH = 512 * 1024
"""Bytes that travel to a worker at once, at the least; a longer line travels alone."""
AHEAD = 2
"""Batches per worker that are under way at a time: this, and no more, is in memory."""

_encode = msgspec.json.Encoder().encode


class Job(NamedTuple):
    """How to convert: the arguments of `il.convert`, and whether a loss is an error."""

    source: str
    target: str
    kind: str
    model: str | None = None


class Batch(NamedTuple):
    """Whole lines: the bytes themselves, or where a worker finds them."""

    first: int
    """The number of its first line, counted from 1."""
    size: int
    data: bytes | None
    path: str | None = None
    offset: int = 0

    def lines(self) -> list[bytes]:
        data = self.data
        if data is None:
            with Path(self.path or "").open("rb") as file:
                file.seek(self.offset)
                data = file.read(self.size)
        return data.split(b"\n")


class Done(NamedTuple):
    output: bytes
    lines: int
    size: int
    failed: list[tuple[int, str]]
    losses: int


def convert_lines(
    file: IO[bytes], job: Job, jobs: int | None = None, path: str | None = None
) -> Iterator[Done]:
    """The converted batches in the order of the lines. With a `path` the workers read the file
    themselves."""
    workers = jobs or os.cpu_count() or 1
    if workers == 1:
        yield from (convert_batch(batch, job) for batch in batches(file))
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from _in_order(pool.submit, batches(file, path), job, workers * AHEAD)


def _in_order(
    submit: Callable[..., Future[Done]], todo: Iterator[Batch], job: Job, ahead: int
) -> Iterator[Done]:
    under_way: deque[Future[Done]] = deque()
    try:
        for batch in islice(todo, ahead):
            under_way.append(submit(convert_batch, batch, job))
        while under_way:
            yield under_way.popleft().result()
            for batch in islice(todo, 1):
                under_way.append(submit(convert_batch, batch, job))
    finally:
        for future in under_way:
            future.cancel()


def batches(file: IO[bytes], path: str | None = None) -> Iterator[Batch]:
    """Lines together until they are worth a journey."""
    first, offset = 1, 0
    while data := file.read(BATCH):
        if not data.endswith(b"\n"):
            data += file.readline()
        yield Batch(first, len(data), None if path else data, path, offset)
        first += data.count(b"\n")
        offset += len(data)


def convert_batch(batch: Batch, job: Job) -> Done:
    """All lines of a batch; blank lines give nothing."""
    out: list[bytes] = []
    failed: list[tuple[int, str]] = []
    lost = 0
    count = 0
    for number, line in enumerate(batch.lines(), batch.first):
        if not line or line.isspace():
            continue
        count += 1
        try:
            wire, losses = _convert(line, job)
        except InterlinguaError as odd:
            failed.append((number, str(odd)))
            out.append(_encode({"ok": False, "wire": None, "losses": [], "error": str(odd)}))
        else:
            lost += len(losses)
            told = b"[]" if not losses else _encode(losses)
            out.append(b'{"ok":true,"wire":%b,"losses":%b,"error":null}' % (wire, told))
    output = b"\n".join(out) + b"\n" if out else b""
    return Done(output, count, batch.size, failed, lost)


def _convert(line: bytes, job: Job) -> tuple[bytes, list[Any]]:
    from interlingua.translate import convert

    source = job.source
    if source == "auto":
        from interlingua.dialects.registry import detect

        source = detect(line, job.kind).dialect  # type: ignore[arg-type]  # checked by the caller
    written = convert(line, source, job.target, job.kind, job.model)  # type: ignore[arg-type]  # as above
    return written.json(), written.report.losses
