"""What becomes known of exchanges when they are over: events in the store, numbers, spans, a line
in the log. A request waits for none of it: it leaves a note, and the notes are worked off a few at
a time. Nothing here knows what was said.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

import msgspec

from interlingua.bus.bus import IDS
from interlingua.bus.catalogue import CATALOGUE
from interlingua.bus.event import NO_SESSION
from interlingua.bus.payloads.base import Payload
from interlingua.errors import InterlinguaError
from interlingua.gateway.keys.pricing import Pricer
from interlingua.gateway.shared.state import Exchange
from interlingua.gateway.telemetry.losses import Losses
from interlingua.gateway.telemetry.metrics import Metrics
from interlingua.gateway.telemetry.records import (
    completed,
    event_row,
    failed,
    log,
    request_row,
    was_cut,
)
from interlingua.gateway.telemetry.spans import Spans
from interlingua.prices.table import PriceTable
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.request_rows import SESSIONS, RequestRow
from interlingua.store.rows import EventRow
from interlingua.telemetry import trace_headers

logger = logging.getLogger(__name__)

CAPACITY = 10_000
"""Notes and rows that wait at most; what comes on top is counted and dropped."""
BATCH = 500
AT_A_TIME = 32
"""Notes that are worked off before others get their turn."""
PAUSE = 0.1
A_MINUTE = 600
"""Events of refused keys and the like that are stored in a minute, and as many requests that we
refused: who guesses keys shall not fill the disk."""


class Note(NamedTuple):
    exchange: Exchange
    elapsed_ms: float


class Record(NamedTuple):
    """What is to be stored of one thing that happened."""

    event: EventRow | None
    request: RequestRow | None = None


class Minute:
    """So many in each minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = (0, 0)

    def take(self) -> bool:
        minute, count = self._now
        now = int(time.time()) // 60
        self._now = (now, count + 1) if now == minute else (now, 1)
        return self._now[1] <= self._most


class Tracer:
    """Hears of every exchange once. `close` writes what waits."""

    def __init__(
        self,
        store: AsyncStore | None = None,
        *,
        losses: Losses | None = None,
        metrics: Metrics | None = None,
        spans: Spans | None = None,
        prices: PriceTable | None = None,
        log_requests: bool = False,
        capacity: int = CAPACITY,
    ) -> None:
        self.losses = losses
        self.dropped = 0
        self.log_requests = log_requests
        self._store = store
        self._metrics = metrics
        self._spans = spans
        self.pricer = Pricer(prices)
        self._capacity = capacity
        self._notes: deque[Note] = deque()
        self._rows: deque[Record] = deque()
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._closed = False
        self._told, self._refused = Minute(A_MINUTE), Minute(A_MINUTE)
        self.stored: Callable[[], None] = lambda: None
        """Called when requests were stored."""

    def headers(self, exchange: Exchange, incoming: Mapping[bytes, bytes]) -> dict[str, str]:
        """The trace that the client tells of goes on; with spans, through one of ours."""
        passed_on = trace_headers(incoming) if b"traceparent" in incoming else {}
        return passed_on if self._spans is None else self._spans.begun(exchange, passed_on)

    def finished(self, exchange: Exchange) -> None:
        report = exchange.decision.report
        if self.losses is not None and report is not None and report.losses:
            self.losses.keep(exchange)
        if len(self._notes) >= self._capacity or self._closed:
            self._drop(1)
            return
        self._notes.append(Note(exchange, exchange.arrival.elapsed_ms()))
        self._wake()

    def emit(self, type: str, payload: Payload) -> None:
        """An event of the gateway itself: keys that open nothing, caps that are reached."""
        if self._store is None:
            return
        if not self._told.take() or len(self._rows) >= self._capacity:
            self._drop(1)
            return
        known = CATALOGUE[type]
        plain = msgspec.to_builtins(payload)
        at = datetime.now(UTC)
        actor, floor = known.actor.value, known.floor.value
        self._rows.append(Record(EventRow(IDS.new(), NO_SESSION, type, at, actor, floor, plain)))
        self._wake()

    def _wake(self) -> None:
        if self._task is None and not self._closed:
            self._task = asyncio.get_running_loop().create_task(self._work())

    def _drop(self, count: int) -> None:
        if self.dropped % 1000 == 0:
            logger.error("trace_full", extra={"capacity": self._capacity})
        self.dropped += count
        if self._metrics is not None:
            self._metrics.trace_dropped.inc(count)

    async def _work(self) -> None:
        """Until nothing waits. A moment's pause first, so that many go together."""
        wait = PAUSE
        while True:
            await asyncio.sleep(wait)
            await self._digest()
            wait = PAUSE if await self._write() else min(wait * 2, 10.0)
            if not self._notes and not self._rows:
                self._task = None
                return

    async def flush(self) -> None:
        """Everything that waits or is being written, now; raises where the store takes nothing."""
        await self._digest()
        if not await self._write():
            raise InterlinguaError(f"{len(self._rows)} events could not be stored")

    async def close(self, timeout: float = 5.0) -> None:
        """Write what waits, and take no more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=timeout)
            self._task = None
        try:
            await asyncio.wait_for(self.flush(), timeout)
        except (TimeoutError, InterlinguaError):
            logger.error("trace_not_stored", extra={"events": len(self._rows)})
        if self._spans is not None:
            await asyncio.to_thread(self._spans.close)

    async def _digest(self) -> None:
        done = 0
        while self._notes:
            note = self._notes.popleft()
            try:
                self._tell(note)
            except Exception as error:  # a number that cannot be told must not stop the others
                logger.error("trace_failed", extra={"why": type(error).__name__})
            done += 1
            if done % AT_A_TIME == 0:
                await asyncio.sleep(0)
        if self._metrics is not None:
            self._metrics.flush()

    def _tell(self, note: Note) -> None:
        exchange, elapsed = note
        outcome = exchange.outcome
        cost = self._cost(exchange)
        if self._metrics is not None:
            self._metrics.finished(exchange, elapsed, cost)
        if self._spans is not None:
            self._spans.finished(exchange, elapsed)
        if self.log_requests or outcome.status >= 400:
            log(exchange, elapsed)
        if self._store is None or outcome.replayed:
            return
        event = self._event(exchange, elapsed, cost)
        if event is None and not outcome.attempts and not self._refused.take():
            self._drop(1)
            return
        version = self.pricer.version
        request = request_row(exchange, elapsed, cost, version, with_report=event is None)
        if len(self._rows) >= self._capacity:
            self._rows.popleft()
            self._drop(1)
        self._rows.append(Record(event, request))

    def _cost(self, exchange: Exchange) -> Decimal | None:
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        usage, target = outcome.usage, decision.target
        if outcome.cost is not None or usage is None or target is None:
            return outcome.cost
        return self.pricer.cost(usage, target.model, arrival.at)

    def _event(self, exchange: Exchange, elapsed: float, cost: Decimal | None) -> EventRow | None:
        """None of what nobody was asked for, and of turns, whose session has it in its trace."""
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        asked = outcome.attempts or was_cut(exchange)
        if arrival.front == SESSIONS or decision.target is None or not asked:
            return None
        if outcome.error is None:
            payload = completed(exchange, cost, self.pricer.version)
            return event_row("llm.call_completed", exchange, elapsed, payload)
        return event_row("llm.call_failed", exchange, elapsed, failed(exchange))

    async def _write(self) -> bool:
        """Store what is ready, in order; False if the store takes nothing, and then it waits."""
        async with self._writing:
            return await self._write_all()

    async def _write_all(self) -> bool:
        while self._rows and self._store is not None:
            batch = [self._rows.popleft() for _ in range(min(BATCH, len(self._rows)))]
            try:
                await self._store.append_requests(
                    [each.request for each in batch if each.request is not None],
                    [each.event for each in batch if each.event is not None],
                )
                self.stored()
            except StoreError as error:
                if error.reason == "conflict":  # stored already, by a try whose end we did not see
                    continue
                logger.warning(
                    "trace_not_stored", extra={"why": error.reason, "events": len(batch)}
                )
                self._rows.extendleft(reversed(batch))
                return False
            except BaseException:
                self._rows.extendleft(reversed(batch))
                raise
        return True
