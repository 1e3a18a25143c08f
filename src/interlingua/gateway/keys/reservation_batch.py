"""Reservations and settlements on their way to the store: those that come while one transaction
runs are the next one."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from interlingua.store.base import AsyncStore
from interlingua.store.cap_rules import Alert, Over, Reserve, Settle
from interlingua.store.errors import BusyError, StoreError

logger = logging.getLogger(__name__)

BATCH = 256
WAITING = 10_000
"""Settlements that may wait while the store is away."""
MANY, ENOUGH, GATHERING = 8, 24, 0.006
"""When as many as `MANY` came together, the next ones wait for so many seconds until they are
`ENOUGH`: most of a transaction's price is the same for one and for many."""
PAUSE = 0.5
"""Seconds before a store that failed is asked again."""
LONGEST = 2.0
"""Seconds that the end of an answer waits until what it cost is written."""

Answers = tuple[list[Over | StoreError | None], list[list[Alert]]]

T = TypeVar("T")
Hears = Callable[[list[Alert]], None]


def _nobody(alerts: list[Alert]) -> None:
    pass


class ReservationBatch:
    """What one process has to say to the store about its requests."""

    def __init__(self, store: AsyncStore, holder: str) -> None:
        self._store = store
        self._holder = holder
        self._reserves: deque[tuple[Reserve, asyncio.Future[Over | None]]] = deque()
        self._settles: deque[tuple[Settle, Hears]] = deque()
        self._ends: deque[tuple[float, asyncio.Future[None]]] = deque()
        """Ends of answers that wait, and until when."""
        self._working: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def reserve(self, reserve: Reserve) -> Over | None:
        """What stands against it; None: it is set aside. Who is cancelled while waiting has
        nothing set aside in the end."""
        if len(self._reserves) >= WAITING:
            raise BusyError(
                self._store.where, f"{WAITING} requests are already waiting for their caps"
            )
        if self._loop is None:  # once: it costs a system call
            self._loop = asyncio.get_running_loop()
        future: asyncio.Future[Over | None] = self._loop.create_future()
        self._reserves.append((reserve, future))
        self._start()
        try:
            return await future
        except (asyncio.CancelledError, StoreError):
            # Whether it was set aside nobody knows: settling what is not there does nothing.
            self.put(Settle(reserve.id, 0, 0))
            raise

    async def settle(self, settle: Settle, hears: Hears = _nobody) -> None:
        """Returns when it is written. A store that is away, or takes long, is not waited for: then
        it is tried again later, and until that is done what was set aside stays so."""
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()

        def heard(alerts: list[Alert]) -> None:
            hears(alerts)
            if not written.done():
                written.set_result(None)

        self._wait_for(written, loop)
        self.put(settle, heard)
        await written

    def _wait_for(self, written: asyncio.Future[None], loop: asyncio.AbstractEventLoop) -> None:
        """One timer for all that wait; mostly none does when it fires."""
        if not self._ends:
            loop.call_later(LONGEST, self._let_go, loop)
        self._ends.append((loop.time() + LONGEST, written))

    def _let_go(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        while self._ends and (self._ends[0][1].done() or self._ends[0][0] <= now):
            _, written = self._ends.popleft()
            if not written.done():
                written.set_result(None)
        if self._ends:
            loop.call_at(self._ends[0][0], self._let_go, loop)

    def put(self, settle: Settle, hears: Hears = _nobody) -> None:
        """The same without waiting: `hears` is called when it is written, before anything that is
        requested later."""
        if len(self._settles) >= WAITING:
            logger.error("settlement_dropped", extra={"request": settle.id})
            hears([])
            return
        self._settles.append((settle, hears))
        self._start()

    def _start(self) -> None:
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        while self._reserves or self._settles:
            settles = [self._settles.popleft() for _ in range(min(BATCH, len(self._settles)))]
            reserves = [self._reserves.popleft() for _ in range(min(BATCH, len(self._reserves)))]
            reserves = [each for each in reserves if not each[1].done()]
            try:
                overs, alerts = await self._written(
                    [reserve for reserve, _ in reserves], [settle for settle, _ in settles]
                )
            except StoreError as error:
                for _, future in reserves:
                    if not future.done():
                        future.set_exception(error)
                for _, hears in settles:
                    hears([])
                self._settles.extendleft([(settle, _nobody) for settle, _ in reversed(settles)])
                logger.error("caps_not_written", extra={"why": error.reason})
                await asyncio.sleep(PAUSE)
                continue
            except BaseException:  # the loop ends, or we are at fault: nobody waits for ever
                for _, future in reserves:
                    future.cancel()
                for _, hears in settles:
                    hears([])
                raise
            for (_, future), over in zip(reserves, overs, strict=True):
                if future.done():
                    continue
                if isinstance(over, StoreError):
                    future.set_exception(over)
                else:
                    future.set_result(over)
            for (_, hears), crossed in zip(settles, alerts, strict=True):
                hears(crossed)
            if len(reserves) >= MANY and len(self._reserves) < ENOUGH:
                await asyncio.sleep(GATHERING)

    async def _written(self, reserves: list[Reserve], settles: list[Settle]) -> Answers:
        """Writes all in one transaction. If one of them cannot be written, the others still are, so
        that none waits forever."""
        try:
            overs, alerts = await self._store.settle_and_reserve(self._holder, reserves, settles)
            return [*overs], alerts
        except StoreError as error:
            if error.is_away:
                raise
            if len(reserves) + len(settles) == 1:
                return self._unwritable(reserves, settles, error)
        overs_of_parts: list[Over | StoreError | None] = []
        alerts_of_parts: list[list[Alert]] = []
        for some in _halves(settles):
            alerts_of_parts += (await self._written([], some))[1]
        for few in _halves(reserves):
            overs_of_parts += (await self._written(few, []))[0]
        return overs_of_parts, alerts_of_parts

    def _unwritable(
        self, reserves: list[Reserve], settles: list[Settle], error: StoreError
    ) -> Answers:
        """What was set aside stays so, until this process ends."""
        for settle in settles:
            logger.error("settlement_dropped", extra={"request": settle.id, "why": error.problem})
        return [error for _ in reserves], [[] for _ in settles]

    async def close(self, patience: float = 5.0) -> None:
        """Write what waits, as far as the store lets us."""
        if self._working is not None and not self._working.done():
            await asyncio.wait({self._working}, timeout=patience)
            if not self._working.done():
                self._working.cancel()


def _halves(items: list[T]) -> list[list[T]]:
    half = (len(items) + 1) // 2
    return [part for part in (items[:half], items[half:]) if part]
