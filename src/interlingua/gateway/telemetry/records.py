"""Records of an exchange for trace and log: names, counts and times, never message content;
reports of losses, which clients can fetch; and the sweeper that deletes old ones."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from interlingua.costs.cost import billed_beside, unpriced_parts
from interlingua.costs.table import PriceTable
from interlingua.events.bus import IDS
from interlingua.events.catalogue import CATALOGUE
from interlingua.events.event import NO_SESSION
from interlingua.events.payloads import Payload, TraceSwept
from interlingua.gateway.keys.keys import Emit
from interlingua.gateway.settings import Retention
from interlingua.gateway.shared.state import Exchange, Principal
from interlingua.gateway.telemetry.places import Places
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Loss, Report
from interlingua.model.metadata import BREAKDOWNS, StopReason, Usage, reported_cost
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.requests import RequestRow, amount
from interlingua.store.rows import EventRow
from interlingua.store.sessions import Before, Sizes, Swept

MOST, TOGETHER = 4000, 20_000
"""Reports in memory, and entries of all of them; the oldest go first. That is some megabytes."""
MOST_LOSSES = 200
"""Losses stored per report; `total` is their real number."""
LONGEST_TEXT = 1000
"""Characters of each text of a loss."""


class StoredReport(NamedTuple):
    """One report."""

    request_id: str
    tenant: str | None
    at: float
    target: str
    total: int
    losses: tuple[Loss, ...]
    notes: tuple[Loss, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "request_id": self.request_id,
            "target": self.target,
            "count": self.total,
            "losses": msgspec.to_builtins(self.losses),
            "notes": msgspec.to_builtins(self.notes),
        }


OURS = frozenset(
    {
        *("context_cleared", "context_compacted"),
        *("output_limit_by_cap", "output_limit_default", "redacted"),
    }
)
"""Notes about actions of the gateway itself, which are stored even without a loss."""


def is_reported(report: Report) -> bool:
    """Whether a report is stored: it has losses, or changes by the gateway."""
    return bool(report.losses) or any(entry.code in OURS for entry in report.entries)


def of_exchange(exchange: Exchange, at: float) -> StoredReport:
    report = exchange.decision.report
    assert report is not None
    losses, notes = report.losses, report.notes
    few = [tuple([_shortened(each) for each in all[:MOST_LOSSES]]) for all in (losses, notes)]
    tenant = exchange.arrival.principal.tenant
    return StoredReport(exchange.arrival.id, tenant, at, report.target, len(losses), *few)


def _shortened(loss: Loss) -> Loss:
    """A path or a reason may quote a name that a client or a provider made up."""
    texts = (loss.path, loss.reason, loss.block_type, loss.message_id, *loss.at)
    if all(text is None or (len(text) <= LONGEST_TEXT and _is_unicode(text)) for text in texts):
        return loss
    path, reason, block_type, message_id, *at = [text and _storable(text) for text in texts]
    return msgspec.structs.replace(
        loss, path=path, reason=reason, block_type=block_type, message_id=message_id, at=tuple(at)
    )


def _is_unicode(text: str) -> bool:
    return text.isascii() or text.isprintable() or _storable(text) == text


def _storable(text: str) -> str:
    """Cut to the stored length, and without lone surrogates, which no database takes."""
    cut = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    return cut.encode("utf-8", "replace").decode()


class Losses:
    """Reports by request id, each for its own tenant only."""

    def __init__(
        self,
        store: AsyncStore | None = None,
        seconds: float = 3600.0,
        most: int = MOST,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.seconds = seconds
        self._most = most
        self._clock = clock
        self._reports: OrderedDict[str, StoredReport] = OrderedDict()
        self._count = 0
        """Losses of all reports."""
        self.places = Places()

    def __len__(self) -> int:
        return len(self._reports)

    def keep(self, exchange: Exchange) -> None:
        now = self._clock()
        reports = self._reports
        new = reports[exchange.arrival.id] = of_exchange(exchange, now)
        self._count += len(new.losses) + len(new.notes)
        while (
            len(reports) > self._most
            or self._count > TOGETHER
            or next(iter(reports.values())).at < now - self.seconds
        ):
            old = reports.popitem(last=False)[1]
            self._count -= len(old.losses) + len(old.notes)

    async def locate(self, request_id: str) -> None:
        """Find the places of a report's losses in its request, unless that is done."""
        exchange = await self.places.find(request_id)
        if exchange is not None and (old := self._reports.get(request_id)) is not None:
            self._reports[request_id] = of_exchange(exchange, old.at)

    async def find(self, request_id: str, principal: Principal) -> StoredReport | None:
        """The report, if there is one and it is this caller's; another tenant's looks like none."""
        await self.locate(request_id)
        report = self._reports.get(request_id) or await self._stored(request_id)
        if report is None or report.tenant != principal.tenant:
            return None
        return report if report.at >= self._clock() - self.seconds else None

    async def _stored(self, request_id: str) -> StoredReport | None:
        """The report in the trace: losses are filed under the request's own id."""
        if self.store is None or not request_id.startswith("req_") or len(request_id) > 40:
            return None
        for row in await self.store.events(request_id, limit=10):
            stored = row.payload.get("losses")
            if isinstance(stored, dict):
                found = msgspec.convert(stored.get("losses", []), tuple[Loss, ...])
                return StoredReport(
                    request_id,
                    stored.get("tenant"),
                    _seconds(row.timestamp),
                    str(stored.get("target")),
                    int(stored.get("count", len(found))),
                    found,
                    msgspec.convert(stored.get("notes", []), tuple[Loss, ...]),
                )
        return None


def _seconds(at: datetime) -> float:
    return at.astimezone(UTC).timestamp()


logger = logging.getLogger(__name__)

LONGEST = 200
"""Characters of a model's name: clients make them up."""


def was_cut(exchange: Exchange) -> bool:
    """The client left while the provider was at work."""
    return exchange.outcome.error is ErrorKind.CANCELLED


def completed(exchange: Exchange, cost: Decimal | None, version: str | None) -> dict[str, Any]:
    """The payload of `llm.call_completed`."""
    outcome = exchange.outcome
    usage, fields = outcome.usage, _common(exchange)
    fields["input_tokens"] = 0 if usage is None else usage.input_tokens or 0
    fields["output_tokens"] = 0 if usage is None else usage.output_tokens or 0
    fields["cost_usd"] = amount(cost)
    fields["pricing_version"] = None if cost is None else version
    fields["stop_reason"] = str(outcome.stop_reason or StopReason.OTHER)
    if usage is not None and usage.cached_input_tokens:
        fields["cached_input_tokens"] = usage.cached_input_tokens
    if usage is not None and usage.cache_creation_input_tokens:
        fields["cache_creation_input_tokens"] = usage.cache_creation_input_tokens
    return fields


def failed(exchange: Exchange) -> dict[str, Any]:
    """The payload of `llm.call_failed`. The provider's text is left out: it may repeat a prompt."""
    outcome = exchange.outcome
    assert outcome.error is not None
    return {
        **_common(exchange),
        "error_class": outcome.error.value,
        "redacted_message": f"status {outcome.status}",
        "retry_count": max(0, outcome.attempts - 1),
    }


def _common(exchange: Exchange) -> dict[str, Any]:
    arrival, decision = exchange.arrival, exchange.decision
    target, principal = decision.target, arrival.principal
    assert target is not None
    fields: dict[str, Any] = {
        "model": target.model[:LONGEST],
        "provider": target.provider.key,
        "request_id": arrival.id,
        "inbound_shape": arrival.front,
    }
    if principal.key_id is not None:
        fields["gateway_key_id"] = principal.key_id
    if principal.user_id is not None:
        fields["user_id"] = principal.user_id
    if principal.team_id is not None:
        fields["team_id"] = principal.team_id
    return fields


def event_row(type: str, exchange: Exchange, elapsed: float, payload: dict[str, Any]) -> EventRow:
    """An event as the store keeps it. One with losses is filed under the id of its request, where
    `GET /losses/{id}` finds it from any worker; the others together."""
    arrival, decision = exchange.arrival, exchange.decision
    payload["latency_ms"] = max(0, round(elapsed))
    whose = NO_SESSION
    report = decision.report
    if report is not None and report.entries and is_reported(report):
        whose = arrival.id
        payload["losses"] = report_of(exchange)
    at = arrival.at + timedelta(0, 0, round(elapsed * 1000))
    # A request has one event: its id is new enough for both.
    id = arrival.id.removeprefix("req_")
    return EventRow(id, whose, type, at, *_LABELS[type], payload)


def gateway_event(type: str, payload: Payload) -> EventRow:
    """An event of the gateway itself, now."""
    at, plain = datetime.now(UTC), msgspec.to_builtins(payload)
    return EventRow(IDS.new(), NO_SESSION, type, at, *_LABELS[type], plain)


def report_of(exchange: Exchange) -> dict[str, Any]:
    """The losses of an exchange, as far as they are stored."""
    report = of_exchange(exchange, 0)
    return {
        "tenant": report.tenant,
        "target": report.target,
        "count": report.total,
        "losses": msgspec.to_builtins(report.losses),
        "notes": msgspec.to_builtins(report.notes),
    }


def request_row(
    exchange: Exchange,
    elapsed: float,
    cost: Decimal | None,
    prices: PriceTable,
    with_report: bool = False,
) -> RequestRow:
    """A request as the store lists it. Its report is here only where it has no event."""
    arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
    target, principal, report = decision.target, arrival.principal, decision.report
    losses = 0 if report is None else len(report.entries and report.losses)
    first, stop = outcome.first_byte_ms, outcome.stop_reason
    return RequestRow(  # by position: so many names would take twenty times as long
        arrival.id,
        arrival.at,
        arrival.front,
        outcome.status,
        max(0, round(elapsed)),
        principal.tenant,
        principal.key_id,
        principal.user_id,
        principal.team_id,
        arrival.session_id,
        arrival.action,
        _name(arrival.client_model),
        None if target is None else _name(target.model),
        None if target is None else target.dialect.name,
        arrival.stream,
        None if outcome.error is None else outcome.error.value,
        outcome.code,
        None if stop is None else str(stop),
        len(outcome.tries),
        None if first is None else round(first),
        _used(exchange, cost, prices),
        losses,
        () if len(outcome.tries) == 1 and outcome.error is None else _tries(exchange),
        report_of(exchange) if with_report and report is not None and is_reported(report) else None,
        None if outcome.cache is None else msgspec.to_builtins(outcome.cache),
    )


MOST_TRIES = 20
"""Attempts stored per request."""


def _tries(exchange: Exchange) -> tuple[dict[str, Any], ...]:
    """The outcome of each attempt."""
    return tuple([msgspec.to_builtins(each) for each in exchange.outcome.tries[:MOST_TRIES]])


def _name(model: str | None) -> str | None:
    """A model's name, which a client may have made up."""
    if model is None or (len(model) <= LONGEST and model.isprintable()):
        return model
    return "".join([char if char.isprintable() else "\ufffd" for char in model[:LONGEST]])


def _used(exchange: Exchange, cost: Decimal | None, prices: PriceTable) -> Usage | None:
    target = exchange.decision.target
    model = None if target is None else target.model
    return _usage(exchange.outcome.usage, cost, model, prices) or _uncounted(exchange)


def _usage(
    usage: Usage | None, cost: Decimal | None, model: str | None, prices: PriceTable
) -> Usage | None:
    """The counts and their cost; None if they are unknown."""
    if usage is None and cost is None:
        return None
    usage = usage or Usage()
    counts = Usage(
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_input_tokens,
        usage.cache_creation_input_tokens,
        usage.reasoning_tokens,
        cost,
        pricing_version=None if cost is None else prices.version,
    )
    if usage.raw is None and usage.is_plain:
        return counts
    own = billed_beside(usage)
    if (theirs := reported_cost(usage)) is not None:
        own["cost"] = f"{theirs:f}"
    return counts.replace(
        service_tier=usage.service_tier,
        **{name: getattr(usage, name) for name in BREAKDOWNS},
        unpriced=None if cost is None else unpriced_parts(usage, model, prices) or None,
        raw={REPORTED: own} if own else None,
    )


def _uncounted(exchange: Exchange) -> Usage | None:
    """A usage whose cost is unknown, for a billed answer whose provider counts nothing."""
    what = _BILLED.get(exchange.arrival.action)
    if what is None or exchange.outcome.status != 200 or exchange.decision.target is None:
        return None
    return Usage(unpriced=(what,))


_TOKENS = "uncounted tokens"
_BILLED = {
    **dict.fromkeys(("generate", "complete", "summarize", "embed", "decide"), _TOKENS),
    **{action: action for action in ("images", "audio", "rerank")},
}
"""Actions of requests that providers bill."""
REPORTED = "provider"
"""The key in a request's usage for the provider's own cost, and other data that ours depends on."""


_LABELS = {name: (known.actor.value, known.floor.value) for name, known in CATALOGUE.items()}


GONE = 499
"""The status of a request whose client has left, which is no failure."""


def log(exchange: Exchange, elapsed: float) -> None:
    arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
    target, usage, principal = decision.target, outcome.usage, arrival.principal
    refused = outcome.status >= 400 and outcome.status != GONE
    level = logging.WARNING if refused else logging.INFO
    fields = {
        "request": arrival.id,
        "front": arrival.front,
        "route": _name(arrival.client_model),
        "model": None if target is None else target.model[:LONGEST],
        "status": outcome.status,
        "error": None if outcome.error is None else outcome.error.value,
        "code": outcome.code,
        "stream": arrival.stream,
        "ms": round(elapsed, 1),
        "attempts": outcome.attempts,
        "input_tokens": None if usage is None else usage.input_tokens,
        "output_tokens": None if usage is None else usage.output_tokens,
        "losses": 0
        if (report := decision.report) is None
        else len(report.entries and report.losses),
        "key": principal.key_id,
        "team": principal.team_id,
    }
    logger.log(level, "request", extra={k: v for k, v in fields.items() if v is not None})


FIRST, EVERY = 60.0, 3600.0
"""Seconds after the start, and between two sweeps; several workers do not start together."""
PAUSE = 0.05
"""Seconds between two transactions."""


def before_of(retention: Retention, now: datetime | None = None) -> Before:
    """The moments before which things are deleted, by these settings."""
    now = now or datetime.now(UTC)
    days = (retention.requests, retention.losses, retention.events)
    return Before(*[_days_before(now, each) for each in days])


def sizes_of(retention: Retention) -> Sizes:
    """How many of the newest rows to keep, and their bytes."""
    rows = (retention.request_rows, retention.loss_rows, retention.event_rows)
    return Sizes(*rows, retention.request_bytes, retention.loss_bytes, retention.event_bytes)


def _days_before(now: datetime, days: float) -> datetime | None:
    """None for 0, which keeps things for ever, and for more days than a calendar has."""
    try:
        return now - timedelta(days=days) if days else None
    except OverflowError:
        return None


def swept_event(swept: Swept, before: Before) -> TraceSwept | None:
    """The trace's event for a sweep; None if it deleted no events."""
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
                logger.warning("sweep_failed", extra={"why": error.reason})
            except Exception as error:  # the next sweep may do better; this loop must not end
                logger.error("sweep_failed", extra={"why": type(error).__name__})
            await asyncio.sleep(EVERY * (0.5 + random.random()))  # no secret

    async def sweep(self) -> Swept:
        """Delete all that is old enough now."""
        settings = self._settings()
        beyond = await self._store.before_newest(sizes_of(settings), NO_SESSION)
        before = before_of(settings).or_later(beyond)
        swept = Swept()
        while not (some := await self._store.sweep(before, NO_SESSION)).is_nothing:
            swept = swept.plus(some)
            await asyncio.sleep(PAUSE)
        await self._store.forget_objects()
        event = swept_event(swept, before)
        if event is not None:
            self._emit("trace.swept", event)
        if not swept.is_nothing:
            logger.info("sweep_done", extra=swept._asdict())
        return swept

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=5)
