"""The store against bare SQLite: the same rows written and read by `sqlite3` with nothing around.

Floor and store take turns on fresh files. Durable appends are `synchronous=FULL` on both sides; the
bulk floor is one `executemany` with `synchronous=NORMAL`, as fast as SQLite goes. `python -m
bench.store_large` measures a store of a million messages."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from bench import store_large, store_postgres
from bench.measure import Row
from bench.store_floor import CALLERS, COUNT, INSERT, SELECT, Bench, begin, compare

BULK = 1.5
ONE = 2.5
MANY = 0.5
READ = 2.0


def rows(quick: bool) -> Iterator[Row]:
    rounds = 5 if quick else 11
    folder = Path(tempfile.mkdtemp(prefix="interlingua-bench-"))
    try:
        bench = Bench(folder)
        yield compare("store: 10k messages at once", bench.bulk, bench.bare_bulk, rounds, BULK)
        moved = "store: the same, log moved too"
        yield compare(moved, bench.bulk_and_moved, bench.bare_bulk, rounds, None)
        one, many = "store: durable, one caller", f"store: durable, {CALLERS} callers"
        # More often than the others: what a disk takes for one commit is never twice the same.
        yield compare(one, lambda: bench.together(1), bench.bare_each, 2 * rounds, ONE)
        yield compare(many, lambda: bench.together(CALLERS), bench.bare_each, rounds, MANY)
        yield _read_row(bench, rounds)
        yield from store_large.rows(folder)
        yield from store_postgres.rows(bench, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_row(bench: Bench, rounds: int) -> Row:
    db, _ = bench.bare("NORMAL")
    db.executemany(INSERT, bench.rows)
    db.text_factory = bytes
    store, _ = bench.store()
    store.append(bench.session, bench.messages)

    def floor() -> float:
        begun = begin()
        found = [orjson.loads(row[2]) for row in db.execute(SELECT, (bench.session,))]
        seconds = time.perf_counter() - begun
        assert len(found) == COUNT
        return seconds

    def mine() -> float:
        begun = begin()
        found = store.messages(bench.session)
        seconds = time.perf_counter() - begun
        assert len(found) == COUNT
        return seconds

    row = compare("store: 10k messages read", mine, floor, rounds, READ)
    store.close()
    db.close()
    return row
