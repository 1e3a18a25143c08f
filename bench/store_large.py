"""Large stores: what a long session and a full store cost, beside a short and an empty one.

`python -m bench.store_large` fills a store with a million messages in a thousand sessions (some
minutes; `--messages` for fewer) and prints the slowest of twenty for lists, last messages, appends
and search."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measure import Row
from bench.store_floor import Timed, begin, compare
from interlingua.model.message import Message
from interlingua.store.sqlite import SqliteStore

LONG = 100_000
SHORT = 1_000
FLAT = 2.0
"""What an append or the last 50 messages may cost in a session a hundred times as long, or in a
store a thousand times as large."""
SLOWEST = 100.0
"""Milliseconds, for a list, the last messages or a search in a large store."""
TIMES = 20


def words(number: int, count: int) -> list[Message]:
    """Short messages; each has a word that few others have."""
    return [
        Message.user(f"Message {each} is about topic{each % 9973} and a careful agent, as usual.")
        for each in range(number, number + count)
    ]


def _fill(store: SqliteStore, messages: int, sessions: int) -> list[str]:
    ids = [store.create_session("/w").id for _ in range(sessions)]
    each = messages // sessions
    for place, id in enumerate(ids):
        for start in range(0, each, 10_000):
            store.append(id, words(place * each + start, min(10_000, each - start)))
    return ids


def tail(store: SqliteStore, session: str) -> Timed:
    """Opening a session and reading its last 50."""

    def timed() -> float:
        begun = begin()
        for _ in range(TIMES):
            store.session(session)
            assert len(store.tail(session, 50)) == 50
        return time.perf_counter() - begun

    return timed


def append(store: SqliteStore, session: str) -> Timed:
    message = words(0, 1)

    def timed() -> float:
        begun = begin()
        for _ in range(100):
            store.append(session, message)
        return time.perf_counter() - begun

    return timed


def rows(folder: Path) -> Iterator[Row]:
    """One long session against a short one."""
    with SqliteStore(folder / "small.db") as small, SqliteStore(folder / "long.db") as large:
        (short,), (long,) = _fill(small, SHORT, 1), _fill(large, LONG, 1)
        size = f"{LONG // 1000}k / {SHORT // 1000}k"
        yield compare(f"store: last 50 of {size}", tail(large, long), tail(small, short), 11, FLAT)
        name = f"store: append to {size}"
        yield compare(name, append(large, long), append(small, short), 11, FLAT)


def large_rows(folder: Path, messages: int, sessions: int) -> Iterator[Row]:
    """A large store against a small one, and its slowest answers."""
    with SqliteStore(folder / "small.db") as small, SqliteStore(folder / "large.db") as large:
        few = _fill(small, SHORT, 1)
        begun = time.perf_counter()
        many = _fill(large, messages, sessions)
        size = f"{messages // 1000}k messages"
        filled = time.perf_counter() - begun
        yield Row(f"store: {size} appended", f"{sessions} sessions", filled, None, "s")
        middle = many[len(many) // 2]
        yield compare(f"store: last 50, {size}", tail(large, middle), tail(small, few[0]), 11, FLAT)
        yield compare(
            f"store: append, {size}", append(large, middle), append(small, few[0]), 11, FLAT
        )
        yield _slowest(f"store: list, {size}", lambda n: large.sessions(limit=50))
        yield _slowest(f"store: last 50, {size}", lambda n: large.tail(many[n * 37 % sessions], 50))
        begun = time.perf_counter()
        large.search("agent", limit=1)
        yield Row(f"store: {size} indexed", "-", time.perf_counter() - begun, None, "s")
        yield _slowest(f"store: search, {size}", lambda n: large.search(f"topic{n * 499}"))


def _slowest(name: str, work: Callable[[int], object]) -> Row:
    times = []
    for number in range(TIMES):
        begun = begin()
        work(number)
        times.append(time.perf_counter() - begun)
    return Row(name, f"slowest of {TIMES}", max(times) * 1000, SLOWEST, "ms")


def main() -> int:
    from bench.__main__ import _line

    parser = argparse.ArgumentParser(prog="python -m bench.store_large", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--sessions", type=int, default=1_000)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="interlingua-bench-"))
    missed = 0
    try:
        for row in large_rows(folder, chosen.messages, chosen.sessions):
            print(_line(row), flush=True)
            missed += not row.ok
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
