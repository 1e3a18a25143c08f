"""Saying that runs live, and hearing who wants them stopped: for all runs of a process together."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.tasks.core import LEASE

if TYPE_CHECKING:
    from interlingua.tasks.runner import Runner

logger = logging.getLogger(__name__)

RENEW = 5.0
"""Seconds between two signs of life."""
LOOK = 0.5
"""Seconds between two looks whether another process wants a run stopped."""


class Heartbeat:
    """Looks after runs while there are any."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._runners: dict[str, Runner] = {}
        self._work: asyncio.Task[None] | None = None
        self._renewed = time.monotonic()

    def add(self, runner: Runner) -> None:
        self._runners[runner.id] = runner
        if self._work is None or self._work.done():
            self._renewed = time.monotonic()
            self._work = asyncio.ensure_future(self._tend())

    def remove(self, runner: Runner) -> None:
        if self._runners.get(runner.id) is runner:
            del self._runners[runner.id]

    async def close(self) -> None:
        self._runners.clear()
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})

    async def _tend(self) -> None:
        while self._runners:
            await asyncio.sleep(LOOK)
            try:
                await self._look()
            except StoreError as error:
                logger.warning("tasks_not_tended", extra={"why": error.reason})

    async def _look(self) -> None:
        runners = dict(self._runners)
        if not runners:
            return
        stops = {id: runner.stops for id, runner in runners.items()}
        for id in await self._store.stopping_tasks(list(runners)):
            runners[id].stop(stops[id])
        began = time.monotonic()
        if began - self._renewed < RENEW:
            return
        held = await self._store.renew_tasks({r.id: r.holder for r in runners.values()}, LEASE)
        self._renewed = began
        for runner in runners.values():
            if runner.holder in held:
                runner.renewed(began)
                await runner.touch()
            elif self._runners.get(runner.id) is runner:
                runner.lose()
