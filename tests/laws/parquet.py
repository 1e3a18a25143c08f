"""The law of Parquet over all recorded traffic: `python -m tests.laws.parquet`.

Canonical to Parquet to canonical is the same value, byte for byte: signatures, `raw` and all."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import Any

import pyarrow.parquet as pq

import interlingua as il
from interlingua.bulk import arrow
from tests.laws import laws, run, streams
from tests.laws.strategies import DIALECTS


def through_parquet(values: Sequence[Any]) -> list[Any]:
    file = BytesIO()
    with pq.ParquetWriter(file, arrow.SCHEMA) as writer:
        for batch in arrow.to_batches(values, rows=500):
            writer.write_batch(batch)
    file.seek(0)
    return list(arrow.from_batches(pq.ParquetFile(file).iter_batches()))


def recorded(dialect: str, step: int = 1) -> Iterator[Any]:
    """The requests, responses and folded streams of a dialect; every so manieth of them."""
    home = il.dialect(dialect)
    for case in islice(run.cases(dialect), 0, None, step):
        if case.kind == "stream":
            yield from il.fold_all(streams.read(home, case.wire))
        else:
            yield laws.read(home, case.kind, case.wire, case.model)


def differing(values: Sequence[Any]) -> list[int]:
    """Which of the values come back otherwise."""
    back = through_parquet(values)
    if len(back) != len(values):
        return list(range(len(values)))
    pairs = enumerate(zip(values, back, strict=True))
    return [at for at, (value, read) in pairs if il.dumps(value) != il.dumps(read)]


def main() -> int:
    tried = wrong = 0
    for dialect in DIALECTS:
        values = list(recorded(dialect))
        odd = differing(values)
        print(f"{dialect:<20} {len(values):>6} values, {len(odd)} differ", flush=True)
        tried, wrong = tried + len(values), wrong + len(odd)
    print(f"{'all':<20} {tried:>6} values, {wrong} differ")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
