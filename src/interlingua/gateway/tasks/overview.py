"""All tasks of a caller as they change: `GET /events`.

A process asks the store for changes once for all readers. A reader's backlog is the last state of
each task, so that a slow one costs no more than the list itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Container

from msgspec.structs import replace

from interlingua.gateway.shared.feed import PING, Poller, frame, is_set
from interlingua.gateway.tasks import output
from interlingua.gateway.tasks.feeds import POLL
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.task_rows import TaskRow

logger = logging.getLogger(__name__)

OVERLAP = 10_000_000
"""Microseconds that are looked at again: of two changes, the earlier one may be stored later."""
PAGE = 1000
GONE_EVERY = 4
"""Polls between two checks for deleted tasks, which cause no event."""
GATHER = 0.05
"""Seconds in which changes are gathered before the store is read again."""


class Reader:
    """One reader. `known` is when each of its tasks last changed, as far as it has been sent."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.pending: dict[str, TaskRow] = {}
        self.known: dict[str, int] = {}
        self.rows: dict[str, TaskRow] = {}
        """Its tasks as last sent."""
        self.woken = asyncio.Event()

    def gone(self, there: Container[str], at: int) -> None:
        """Tasks that are no longer there have ended."""
        for row in [row for id, row in self.rows.items() if id not in there]:
            self.put(
                replace(row, status="idle", ended_at=at, changed_at=max(at, row.changed_at + 1))
            )

    def put(self, row: TaskRow) -> None:
        if row.owner == self.owner and self._is_new(row):
            self.pending[row.id] = row
            self.woken.set()

    def taken(self) -> list[TaskRow]:
        """The changes, considering a list of all tasks that was sent meanwhile."""
        rows = [row for row in self.pending.values() if self._is_new(row)]
        self.pending = {}
        self.woken.clear()
        self.note(rows)
        return rows

    def _is_new(self, row: TaskRow) -> bool:
        return self.known.get(row.id, -1) < row.changed_at

    def note(self, rows: list[TaskRow]) -> None:
        for row in rows:
            if row.ended_at is None:
                self.known[row.id] = row.changed_at
                self.rows[row.id] = row
            else:
                self.known.pop(row.id, None)
                self.rows.pop(row.id, None)


class Overview(Poller):
    """The readers in this process."""

    def __init__(self, store: AsyncStore) -> None:
        super().__init__()
        self._store = store
        self._readers: set[Reader] = set()
        self._seen: dict[str, int] = {}
        self._since = 0

    def __len__(self) -> int:
        return len(self._readers)

    def poke(self) -> None:
        """A task has changed."""
        self._poked.set()

    def put(self, row: TaskRow) -> None:
        """Sends a task to all readers that the store no longer has."""
        for reader in self._readers:
            reader.put(row)

    async def read(self, owner: str, port: int | None) -> AsyncGenerator[bytes, None]:
        """All tasks, then each changed one, until the reader or the gateway disconnects."""
        reader = Reader(owner)
        self._readers.add(reader)
        self._begin(self._poll)
        try:
            rows = await all_tasks(self._store, owner)
            reader.note(rows)
            tasks = [output.task(row, port) for row in rows]
            yield frame(output.ALL_TASKS, {"tasks": tasks})
            async for piece in self._changes(reader, port):
                yield piece
        finally:
            self._readers.discard(reader)

    async def _changes(self, reader: Reader, port: int | None) -> AsyncIterator[bytes]:
        while not self.closed.is_set():
            if not await is_set(reader.woken):
                yield PING
                continue
            rows = [output.task(row, port) for row in reader.taken()]
            if rows:
                yield b"".join([frame(output.ONE_TASK, {"task": row}) for row in rows])

    async def _poll(self) -> None:
        self._since, self._seen, looks = 0, {}, 0
        while self._readers and not self.closed.is_set():
            try:
                await self._look()
                looks += 1
                if looks % GONE_EVERY == 0:
                    await self._look_for_gone()
            except StoreError as error:
                logger.warning("tasks_not_read", extra={"why": error.reason})
            await asyncio.sleep(GATHER)
            self._poked.clear()
            await is_set(self._poked, POLL)

    async def _look(self) -> None:
        if not self._since:
            self._since = await self._store.tasks_clock()
        since = self._since - OVERLAP
        while True:
            rows = await self._store.changed_tasks(since, PAGE)
            for row in rows:
                if self._seen.get(row.id) != row.changed_at:
                    self._seen[row.id] = row.changed_at
                    self.put(row)
            if len(rows) < PAGE:
                break
            since = rows[-1].changed_at
        self._since = max([self._since, *[row.changed_at for row in rows]])
        old = self._since - 2 * OVERLAP
        self._seen = {id: at for id, at in self._seen.items() if at > old}

    async def _look_for_gone(self) -> None:
        """Another process may have deleted a task before its end was seen here."""
        known = sorted({id for reader in self._readers for id in reader.rows})
        if known:
            there, at = await self._store.watch_tasks(known), await self._store.tasks_clock()
            for reader in self._readers:
                # Only those that were asked for: a new one may have come in the meantime.
                reader.gone({*there, *(reader.rows.keys() - set(known))}, at)

    def close(self) -> None:
        super().close()
        for reader in self._readers:
            reader.woken.set()


async def all_tasks(store: AsyncStore, owner: str) -> list[TaskRow]:
    """The active tasks of an owner, newest first."""
    rows: list[TaskRow] = []
    while True:
        page = await store.tasks(owner, PAGE, rows[-1].id if rows else None)
        rows += page
        if len(page) < PAGE:
            return rows
