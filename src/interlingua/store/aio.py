"""The SQLite store for an event loop.

One thread writes: it takes all waiting calls, runs them in one transaction, and only then answers
every caller, so that many callers share the cost of one commit. A call that fails does not affect
the rest. Reads run in a few other threads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from interlingua.store.base import AsyncStore, Operations
from interlingua.store.errors import BusyError, StoreError
from interlingua.store.library import Connection
from interlingua.store.sqlite import READERS, TIMEOUT, SqliteFile, perform
from interlingua.store.statements import SQLITE, Make

T = TypeVar("T")

BATCH = 256
"""Calls in one transaction, at most."""
WAITING = 10_000
"""Calls that may wait for the writer, at most."""


class _Job:
    """A call that waits to be written, and its outcome."""

    __slots__ = ("durable", "error", "future", "large", "loop", "make", "result")

    def __init__(
        self, make: Make[Any], loop: asyncio.AbstractEventLoop, large: bool, durable: bool
    ) -> None:
        self.make = make
        self.large = large
        self.durable = durable
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None


class Writer:
    """The thread that writes."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._new: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._jobs: SimpleQueue[list[_Job] | None] = SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._closing = False
        self._is_quiet = True
        """Whether the last call was alone in its batch."""
        self._thread = threading.Thread(target=self._work, name="interlingua-store", daemon=True)
        self._thread.start()

    def submit(self, make: Make[T], large: bool = False, durable: bool = True) -> asyncio.Future[T]:
        """Submits a call. Calls of one round of the event loop are batched, so the thread waits for
        the end of the round, unless the last call was alone."""
        loop = asyncio.get_running_loop()
        job = _Job(make, loop, large, durable)
        with self._lock:
            if self._closing:
                raise StoreError(self._file.where, "the store is closed", "closed")
            if self._waiting >= WAITING:
                raise BusyError(self._file.where, f"{WAITING} writes are already waiting")
            self._waiting += 1
            if self._is_quiet and self._waiting == 1:
                self._jobs.put([job])
            elif loop in self._new:
                self._new[loop].append(job)
            else:
                self._new[loop] = [job]
                loop.call_soon(self._hand_over, loop)
        return job.future

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:  # so that nothing is put behind the end
            if jobs := self._new.pop(loop, None):
                self._jobs.put(jobs)

    def close(self) -> None:
        """Writes all waiting calls, then ends."""
        with self._lock:
            if not self._closing:
                self._closing = True
                for jobs in self._new.values():
                    self._jobs.put(jobs)
                self._new.clear()
                self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (jobs := self._jobs.get()) is not None:
            while len(jobs) < BATCH and (more := self._next()) is not None:
                jobs += more
            self._is_quiet = len(jobs) == 1
            for place in range(0, len(jobs), BATCH):
                batch = jobs[place : place + BATCH]
                self._write(batch)
                with self._lock:
                    self._waiting -= len(batch)
                _deliver(batch)
            self._file.tidy()

    def _next(self) -> list[_Job] | None:
        """Others that wait; the end stays where it is."""
        try:
            jobs = self._jobs.get_nowait()
        except Empty:
            return None
        if jobs is None:
            self._jobs.put(None)
        return jobs

    def _write(self, jobs: list[_Job]) -> None:
        """Runs all calls in one transaction. If one fails, rolls back and repeats them with a
        savepoint each, so the others do not fail with it."""
        failed = None
        try:
            large, durable = any(job.large for job in jobs), any(job.durable for job in jobs)
            with self._file.transaction(large, durable) as db:
                for job in jobs:
                    failed = job
                    job.result = perform(db, job.make())
                failed = None
        except BaseException as error:  # the callers' to handle; this thread goes on
            if failed is not None and len(jobs) > 1 and isinstance(error, Exception):
                self._write_carefully(jobs)
            else:
                for job in jobs:
                    job.error = error

    def _write_carefully(self, jobs: list[_Job]) -> None:
        try:
            with self._file.transaction() as db:
                for job in jobs:
                    self._write_one(db, job)
        except BaseException as error:
            for job in jobs:
                job.error = job.error or error

    def _write_one(self, db: Connection, job: _Job) -> None:
        db.execute("SAVEPOINT one")
        try:
            job.result = perform(db, job.make())
        except Exception as error:
            job.error = error
            if not db.in_transaction():
                raise  # such as a full disk: nothing of the whole batch is stored
            db.execute("ROLLBACK TO one")
        db.execute("RELEASE one")


def _deliver(jobs: list[_Job]) -> None:
    """Delivers the results to their callers, with one call per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, done in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, done)
        except RuntimeError:
            continue  # that loop has ended, so no caller waits there any more


def _settle(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # the caller was cancelled meanwhile
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)


class AsyncSqliteStore(AsyncStore):
    """Sessions in one file, for an event loop."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self.where = file.where
        self._do = Operations(SQLITE, self.where)
        self._writer = Writer(file)
        self._readers = ThreadPoolExecutor(READERS, "interlingua-store-read")
        self._closed = False

    @classmethod
    async def open(cls, path: str | os.PathLike[str], timeout: float = TIMEOUT) -> AsyncSqliteStore:
        return cls(await asyncio.to_thread(SqliteFile, path, timeout))

    async def _read(self, make: Make[T]) -> T:
        if self._closed:
            raise StoreError(self.where, "the store is closed", "closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read_one, make)

    def _read_one(self, make: Make[T]) -> T:
        with self._file.reader() as db:
            return perform(db, make())

    async def _write(
        self, make: Make[T], large: bool = False, durable: bool = True, erases: bool = False
    ) -> T:
        result = await self._writer.submit(make, large, durable)
        if erases:
            await asyncio.to_thread(self._file.forget)
        return result

    async def vacuum(self) -> int:
        return await asyncio.to_thread(self._file.vacuum)

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._writer.close()
        self._readers.shutdown()
        self._file.close()
