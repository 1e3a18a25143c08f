"""Work is run by one process at a time, and taken over from one that died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.gateway.shared import leases
from interlingua.gateway.shared.leases import Leases
from interlingua.store.base import AsyncStore
from interlingua.store.open import open_async_store
from tests.gateway.responses.running import asynchronous


class Counting:
    """A scripted piece of work, which ends when it is told to."""

    tenant = "t"

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.may_end, self.cancelled = asyncio.Event(), asyncio.Event()

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled.is_set()

    async def run(self) -> None:
        await self.may_end.wait()

    async def cancel(self) -> None:
        self.cancelled.set()


class Work(Leases[Counting]):
    kind, most, lifetime = "counting", 2, 60.0

    async def _take(self, tenant: str, id: str) -> None:
        if await self._claimed(id, tenant):
            self._run(id, Counting())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE", 1.0)
    monkeypatch.setattr(leases, "BEAT", 0.05)


async def two(store: AsyncStore) -> tuple[Work, Work]:
    first, second = Work(store), Work(store)
    await first._mark("open", "a", "t")
    first.begin()
    await until(lambda: len(first) == 1)
    second.begin()
    return first, second


@asynchronous
async def test_one_process_runs_it_until_it_dies(tmp_path: Path) -> None:
    async with await open_async_store(str(tmp_path / "s.db")) as store:
        first, second = await two(store)
        await asyncio.sleep(2.5)  # longer than a lease, which is renewed
        assert (len(first), len(second)) == (1, 0)
        assert first._tending is not None
        first._tending.cancel()  # as if its process were gone
        await until(lambda: len(second) == 1)
        first._runs["a"].may_end.set()
        await second.close()


@asynchronous
async def test_what_is_closed_is_taken_over_at_once(tmp_path: Path) -> None:
    async with await open_async_store(str(tmp_path / "s.db")) as store:
        first, second = await two(store)
        await first.close()
        await until(lambda: len(second) == 1)
        await second.close()


@asynchronous
async def test_a_cancellation_reaches_who_runs_it(tmp_path: Path) -> None:
    async with await open_async_store(str(tmp_path / "s.db")) as store:
        first, second = await two(store)
        await second._mark("cancel", "a", "t")
        await until(first._runs["a"].cancelled.is_set)
        await first._finished("a", "t")
        assert not await first.is_cancelled("a", "t")
        assert len(first) == 0
        await first.close()
        await second.close()


@asynchronous
async def test_work_that_ended_without_a_word_is_run_again(tmp_path: Path) -> None:
    """Its claim is not renewed any more."""
    async with await open_async_store(str(tmp_path / "s.db")) as store:
        first, second = await two(store)
        run = first._runs["a"]
        run.may_end.set()
        await until(lambda: first._runs.get("a") is not run)
        await until(lambda: len(first) + len(second) == 1)
        await first.close()
        await second.close()
