"""What the store is measured against: the same rows in bare `sqlite3`, and how both are timed."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import workloads
from bench.measure import Row, shown
from interlingua.model.codec import dumps
from interlingua.model.message import Message, micros
from interlingua.store.aio import AsyncSqliteStore
from interlingua.store.sqlite import SqliteStore

Timed = Callable[[], float]

COUNT = 10_000
DURABLE = 1_000
CALLERS = 64

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
        begun = begin()
        db.execute("BEGIN")
        db.executemany(INSERT, self.rows)
        db.execute("COMMIT")
        return end(begun, db.close, path)

    def bare_each(self) -> float:
        db, path = self.bare("FULL")
        begun = begin()
        for row in self.rows[:DURABLE]:
            db.execute("BEGIN IMMEDIATE")
            db.execute(INSERT, row)
            db.execute("COMMIT")
        return end(begun, db.close, path)

    # The store

    def bulk(self) -> float:
        store, path = self.store()
        begun = begin()
        store.append(self.session, self.messages)
        return end(begun, store.close, path)

    def bulk_and_moved(self) -> float:
        """The same until the log is in the database, which is left to the next transaction."""
        store, path = self.store()
        begun = begin()
        store.append(self.session, self.messages)
        store._file.tidy()
        return end(begun, store.close, path)

    def together(self, callers: int) -> float:
        store, path = self.store()
        store.close()

        async def run() -> float:
            async with await AsyncSqliteStore.open(path) as opened:
                todo = iter(self.messages[:DURABLE])

                async def caller() -> None:
                    for message in todo:
                        await opened.append(self.session, [message])

                begun = begin()
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


def begin() -> float:
    gc.collect()
    return time.perf_counter()


def end(begun: float, close: Callable[[], None], path: Path) -> float:
    seconds = time.perf_counter() - begun
    close()
    _remove(path)
    return seconds


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def compare(name: str, mine: Timed, floor: Timed, rounds: int, target: float | None) -> Row:
    """Both take turns, after one round each to warm up; the median of the ratios."""
    floor()
    mine()
    pairs = [(floor(), mine()) for _ in range(rounds)]
    ratio = statistics.median(own / base for base, own in pairs)
    return Row(name, shown(min(base for base, _ in pairs)), ratio, target)
