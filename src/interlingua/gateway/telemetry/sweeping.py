"""Deletes old rows in the background: a few at a time, with pauses, so that no request waits."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from interlingua.events.event import NO_SESSION
from interlingua.events.payloads import TraceSwept
from interlingua.gateway.keys.keys import Emit
from interlingua.gateway.settings import Retention
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.sessions import Before, Swept

logger = logging.getLogger(__name__)

FIRST, EVERY = 60.0, 3600.0
"""Seconds after the start, and between two sweeps; several workers do not start together."""
PAUSE = 0.05
"""Seconds between two transactions."""


def before_of(retention: Retention, now: datetime | None = None) -> Before:
    """The moments before which things are deleted, by these settings."""
    now = now or datetime.now(UTC)
    days = (retention.requests, retention.losses, retention.events)
    return Before(*[_days_before(now, each) for each in days])


def _days_before(now: datetime, days: float) -> datetime | None:
    """None for 0, which keeps things for ever, and for more days than a calendar has."""
    try:
        return now - timedelta(days=days) if days else None
    except OverflowError:
        return None


def swept_event(swept: Swept, before: Before) -> TraceSwept | None:
    """What the trace says of a sweep; None where it deleted no events."""
    deleted = swept.events + swept.losses
    cut = before.events or before.losses
    return TraceSwept(deleted, cut.isoformat()) if deleted and cut else None


class Sweeper:
    """Sweeps from `begin` on, by the current settings; `emit` receives the results."""

    def __init__(self, store: AsyncStore, settings: Callable[[], Retention], emit: Emit) -> None:
        self._store = store
        self._settings = settings
        self._emit = emit
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        await asyncio.sleep(FIRST * (1 + random.random()))  # no secret
        while True:
            try:
                await self.sweep()
            except StoreError as error:
                logger.warning("not_swept", extra={"why": error.reason})
            except Exception as error:  # the next sweep may do better; this loop must not end
                logger.error("not_swept", extra={"why": type(error).__name__})
            await asyncio.sleep(EVERY * (0.5 + random.random()))  # no secret

    async def sweep(self) -> Swept:
        """Delete all that is old enough now."""
        before = before_of(self._settings())
        swept = Swept()
        while not (some := await self._store.sweep(before, NO_SESSION)).is_nothing:
            swept = swept.plus(some)
            await asyncio.sleep(PAUSE)
        event = swept_event(swept, before)
        if event is not None:
            self._emit("trace.swept", event)
        if not swept.is_nothing:
            logger.info("swept", extra=swept._asdict())
        return swept

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=5)
