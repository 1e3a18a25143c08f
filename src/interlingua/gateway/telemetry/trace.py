"""Records exchanges when they are over: events in the store, metrics, spans, a line in the log. A
request waits for none of it: it leaves a note, and the notes are processed a few at a time. Nothing
here has message content.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from interlingua.costs.table import PriceTable
from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.events.payloads import Payload
from interlingua.gateway.keys.tariffs import Pricer
from interlingua.gateway.shared.state import Exchange
from interlingua.gateway.telemetry.metrics import DegradedProviders, Metrics
from interlingua.gateway.telemetry.places import Alerts
from interlingua.gateway.telemetry.records import (
    Losses,
    completed,
    event_row,
    failed,
    gateway_event,
    is_reported,
    log,
    request_row,
    was_cut,
)
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.request_costs import SESSIONS
from interlingua.store.requests import RequestRow
from interlingua.store.rows import EventRow
from interlingua.telemetry import (
    Tracing,
    context_of,
    headers_of,
    own_tracing,
    provider_name,
    trace_headers,
    usage_attributes,
    without_none,
)


class Spans:
    """Makes spans of exchanges. Without a tracer of the caller's, spans go where the usual
    `OTEL_…` variables point."""

    def __init__(self, tracer: Any = None) -> None:
        try:
            from opentelemetry.trace import SpanKind, Status, StatusCode
        except ImportError:
            raise MissingExtraError("spans of the gateway", "otel") from None
        usual = Tracing(tracer) if tracer is not None else own_tracing("interlingua.gateway")
        self._tracer, self._close = usual
        self._kind = SpanKind.CLIENT
        self._error = Status(StatusCode.ERROR)

    def begun(self, exchange: Exchange, incoming: dict[str, str]) -> dict[str, str]:
        """Headers that make the provider's work part of this span, and the span part of the
        client's trace if it has one. Retries share the span."""
        outcome = exchange.outcome
        if outcome.span is None:
            self._begin(exchange, incoming)
        return headers_of(outcome.span)

    def _begin(self, exchange: Exchange, incoming: dict[str, str] | None = None) -> None:
        exchange.outcome.span = self._tracer.start_span(
            _name(exchange),
            context=context_of(incoming) if incoming else None,
            kind=self._kind,
            start_time=int(exchange.arrival.at.timestamp() * 1e9),
            attributes=attributes(exchange),
        )

    def finished(self, exchange: Exchange, elapsed_ms: float) -> None:
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        if decision.target is None:
            return
        if outcome.span is None:
            self._begin(exchange)
        span = outcome.span
        span.update_name(_name(exchange))
        span.set_attributes(attributes(exchange))
        if outcome.error is not None:
            span.set_status(self._error)
        span.end(end_time=int(arrival.at.timestamp() * 1e9) + int(elapsed_ms * 1e6))

    def close(self) -> None:
        """Sends everything that waits."""
        if self._close is not None:
            self._close()


def _name(exchange: Exchange) -> str:
    assert exchange.decision.target is not None
    return f"{_operation(exchange)} {exchange.decision.target.name[:200]}"


def _operation(exchange: Exchange) -> str:
    """The operation's name in OpenTelemetry's conventions."""
    return "embeddings" if exchange.arrival.action == "embed" else "chat"


def attributes(exchange: Exchange) -> dict[str, Any]:
    """The attributes of a span; known ones only."""
    arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
    target, principal = decision.target, arrival.principal
    assert target is not None
    values: dict[str, Any] = {
        "gen_ai.operation.name": _operation(exchange),
        "gen_ai.provider.name": provider_name(target.provider.key),
        "gen_ai.request.model": target.name[:200],
        "gen_ai.request.stream": arrival.stream,
        "interlingua.request.id": arrival.id,
        "interlingua.front": arrival.front,
        "interlingua.attempts": outcome.attempts,
        "interlingua.key.id": principal.key_id,
        "enduser.pseudo.id": principal.user_id,
        "http.response.status_code": outcome.status or None,
        **usage_attributes(outcome.usage),
    }
    if outcome.stop_reason is not None:
        values["gen_ai.response.finish_reasons"] = (outcome.stop_reason.value,)
    if outcome.error is not None:
        values["error.type"] = outcome.error.value
    if decision.report is not None:
        values["interlingua.model.losses"] = len(decision.report.entries and decision.report.losses)
    return without_none(values)


logger = logging.getLogger(__name__)

CAPACITY = 10_000
"""The most notes and rows that wait; further ones are counted and dropped."""
BATCH = 500
AT_A_TIME = 32
"""Notes that are worked off before others get their turn."""
PAUSE = 0.1
A_MINUTE = 600
"""Stored events per minute of refused keys and similar, and of requests that we refused: guessing
keys must not fill the disk."""


HOLDER = "trace"
"""The name under which the store is probed after it refused a row."""


Note = tuple[Exchange, float]
"""A finished request, and its duration in milliseconds."""
Record = tuple[EventRow | None, RequestRow | None]
"""The data to store about one occurrence."""


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
    """Records every exchange once. `close` writes everything that waits."""

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
        self.alerts: Alerts | None = None
        self._store = store
        self._metrics = metrics
        self.spans = spans
        self.pricer = Pricer(prices)
        self._capacity = capacity
        self._notes: deque[Note] = deque()
        self._rows: deque[Record] = deque()
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._digesting = asyncio.Lock()
        self._closed = False
        self._providers = DegradedProviders()
        self._failing_since: float | None = None
        self._emitted, self._refused, self._warned = Minute(A_MINUTE), Minute(A_MINUTE), Minute(1)
        self._left_out = 0
        self.stored: Callable[[], None] = lambda: None
        """Called when requests were stored."""

    def headers(self, exchange: Exchange, incoming: Mapping[bytes, bytes]) -> dict[str, str]:
        """Continues the client's trace; with spans, through one of ours."""
        passed_on = trace_headers(incoming) if b"traceparent" in incoming else {}
        return passed_on if self.spans is None else self.spans.begun(exchange, passed_on)

    def finished(self, exchange: Exchange) -> None:
        for earlier in exchange.outcome.replaced:
            self.finished(earlier)
        report = exchange.decision.report
        has_losses = report is not None and bool(report.entries) and is_reported(report)
        if self.losses is not None and has_losses:
            self.losses.keep(exchange)
        if len(self._notes) >= self._capacity or self._closed:
            self._drop(1)
            return
        if self.losses is not None and has_losses:
            self.losses.places.add(exchange)
        elif exchange.decision.source is not None:
            exchange.decision = replace(exchange.decision, source=None)
        self._notes.append((exchange, (time.perf_counter() - exchange.arrival.began) * 1000))
        if self._task is None:
            self._wake()

    def emit(self, type: str, payload: Payload) -> None:
        """An event of the gateway itself: keys that open nothing, caps that are reached."""
        if self.alerts is not None:
            self.alerts.add(type, payload)
        if self._store is None:
            return
        if not self._emitted.take():
            self._leave_out()
            return
        if len(self._rows) >= self._capacity:
            self._drop(1)
            return
        self._rows.append((gateway_event(type, payload), None))
        self._wake()

    @property
    def failing_seconds(self) -> float:
        """How long the store has refused all writes."""
        since = self._failing_since
        return 0.0 if since is None else time.monotonic() - since

    def _wake(self) -> None:
        if (self._task is None or self._task.done()) and not self._closed:
            self._task = asyncio.get_running_loop().create_task(self._work())

    def _drop(self, count: int) -> None:
        if self.dropped % 1000 == 0:
            logger.error("trace_full", extra={"capacity": self._capacity})
        self.dropped += count
        if self._metrics is not None:
            self._metrics.trace_dropped.inc(count)

    def _leave_out(self) -> None:
        """More refusals than are stored in a minute: counted, and one warning for all of them."""
        self.dropped += 1
        self._left_out += 1
        if self._metrics is not None:
            self._metrics.trace_dropped.inc()
        if self._warned.take():
            logger.warning(
                "refusals_not_logged", extra={"count": self._left_out, "most_a_minute": A_MINUTE}
            )
            self._left_out = 0

    async def _work(self) -> None:
        """Works until nothing waits. A short pause first, so that many are written together."""
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
        """Writes everything that waits, and accepts no more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=timeout)
            self._task = None
        try:
            await asyncio.wait_for(self.flush(), timeout)
        except (TimeoutError, InterlinguaError):
            logger.error("trace_not_stored", extra={"events": len(self._rows)})
        if self.spans is not None:
            await asyncio.to_thread(self.spans.close)

    async def _digest(self) -> None:
        async with self._digesting:
            await self._digest_all()

    async def _digest_all(self) -> None:
        done = 0
        while self._notes:
            if self.losses is not None and len(self.losses.places):
                # It still waits if this is cancelled.
                await self.losses.locate(self._notes[0][0].arrival.id)
            note = self._notes.popleft()
            try:
                self._tell(note)
            except Exception as error:  # a number that cannot be recorded must not stop the others
                logger.error("trace_failed", extra={"why": type(error).__name__})
            done += 1
            if done % AT_A_TIME == 0:
                await asyncio.sleep(0)
        if self._metrics is not None:
            try:
                self._metrics.flush()
            except (ValueError, OverflowError) as error:
                logger.error("metrics_failed", extra={"why": type(error).__name__})

    def _tell(self, note: Note) -> None:
        exchange, elapsed = note
        outcome = exchange.outcome
        cost = outcome.cost
        if cost is None and outcome.usage is not None:  # only of plausible counts there is a cost
            self._require_plausible(exchange)
            cost = self._cost(exchange)
        if self._metrics is not None:
            self._metrics.finished(exchange, elapsed, cost)
        if self.spans is not None:
            self.spans.finished(exchange, elapsed)
        if self.log_requests or outcome.status >= 400:
            log(exchange, elapsed)
        if self._store is None or outcome.replayed:
            return
        degraded = self._providers.add(exchange)
        if degraded is not None:
            logger.warning("provider_degraded", extra={"provider": degraded.provider})
            route = None if self._metrics is None else self._metrics.route_of(exchange)
            self.emit("provider.degraded", replace(degraded, route=route))
        event = self._event(exchange, elapsed, cost)
        if event is None and not outcome.tries and not self._refused.take():
            self._leave_out()
            return
        prices = self.pricer.table
        request = request_row(exchange, elapsed, cost, prices, with_report=event is None)
        if len(self._rows) >= self._capacity:
            self._rows.popleft()
            self._drop(1)
        self._rows.append((event, request))

    def _require_plausible(self, exchange: Exchange) -> None:
        """Counts that cannot be true are unknown to everything that is stored, counted or sent."""
        usage = exchange.outcome.usage
        if usage is not None and (believed := usage.plausible()) is not usage:
            logger.warning("usage_implausible", extra={"request": exchange.arrival.id})
            exchange.outcome.usage = believed

    def _cost(self, exchange: Exchange) -> Decimal | None:
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        usage, target = outcome.usage, decision.target
        if usage is None or target is None:
            return None
        return self.pricer.cost(usage, target.model, arrival.at, outcome.answered_by)

    def _event(self, exchange: Exchange, elapsed: float, cost: Decimal | None) -> EventRow | None:
        """Skips requests that reached no provider, and turns, which are in their session's
        trace."""
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        was_sent = outcome.tries or was_cut(exchange)
        if arrival.front == SESSIONS or decision.target is None or not was_sent:
            return None
        if outcome.error is None:
            payload = completed(exchange, cost, self.pricer.table.version)
            return event_row("llm.call_completed", exchange, elapsed, payload)
        return event_row("llm.call_failed", exchange, elapsed, failed(exchange))

    async def _write(self) -> bool:
        """Stores finished requests in order; False if the store accepts nothing, and then they
        wait."""
        async with self._writing:
            return await self._write_all()

    async def _write_all(self) -> bool:
        while self._rows and self._store is not None:
            batch = [self._rows.popleft() for _ in range(min(BATCH, len(self._rows)))]
            try:
                await self._write_batch(self._store, batch)
                self.stored()
            except StoreError as error:
                logger.warning(
                    "trace_not_stored", extra={"why": error.reason, "events": len(batch)}
                )
                self._rows.extendleft(reversed(batch))
                self._failing_since = self._failing_since or time.monotonic()
                if self.alerts is not None:
                    self.alerts.add("store.failing", {"reason": error.reason})
                return False
            except BaseException:
                self._rows.extendleft(reversed(batch))
                raise
        self._failing_since = None
        return True

    async def _write_batch(self, store: AsyncStore, batch: list[Record]) -> None:
        """Stores all in one transaction. If the store refuses one of them, the others are stored
        by halves; storing one twice changes nothing. `StoreError` if the store takes nothing."""
        try:
            await store.append_requests(
                [request for _, request in batch if request is not None],
                [event for event, _ in batch if event is not None],
            )
            return
        except StoreError as error:
            if error.is_away:
                raise
            why = error.problem
        except Exception as error:  # a value that cannot be written does not stop the others
            why = type(error).__name__
        if len(batch) > 1:
            half = len(batch) // 2
            await self._write_batch(store, batch[:half])
            await self._write_batch(store, batch[half:])
            return
        await store.ping(HOLDER)  # raises if the store is at fault, not the row
        self._reject(batch[0], why)

    def _reject(self, record: Record, why: str) -> None:
        row = record[1] or record[0]
        assert row is not None
        logger.error("trace_row_rejected", extra={"id": row.id, "why": why})
        if self._metrics is not None:
            self._metrics.trace_rejected.inc()
