"""Tasks in a store, for tests."""

from __future__ import annotations

from datetime import UTC, datetime

from interlingua.model.ids import Ulids
from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.rows import SessionRow

LEASE = 60.0


def event(id: str) -> bytes:
    return b'{"of":"%s"}' % id.encode()


def new(store: Store, cwd: str = "/w", owner: str = "") -> str:
    begun = datetime.now(UTC)
    row = SessionRow(Ulids().new(), cwd, begun, begun)
    return store.create_task(row, owner).id


def seqs(store: Store, id: str) -> list[int]:
    return [row.seq for row in store.task_events(id, 0, 1000)]


def queue(store: Store, id: str, name: str, holder: str | None = None) -> tuple[str, bool]:
    done = store.queue_message(
        id, name, Message.user(name), event(name), holder=holder, seconds=LEASE
    )
    return done.state, done.claimed
