"""Metrics for Prometheus. No label has a value that a client can make up: models that are neither
listed nor routed to are counted together, under their provider, and unknown names without one.
Those of teams are for keys that may see the spending of others."""

from __future__ import annotations

import asyncio
import os
import re
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from interlingua.adapt.fit.lessons import RULE as LEARNED
from interlingua.adapt.remembered import Figures
from interlingua.errors import MissingExtraError
from interlingua.events.payloads import ProviderDegraded
from interlingua.gateway.gateway import CLIENT, Gateway
from interlingua.gateway.settings import RouteSettings, route_name
from interlingua.gateway.shared.state import Exchange, Outcome
from interlingua.model.exchange import ErrorKind
from interlingua.model.metadata import Usage
from interlingua.profiles.capabilities import known_models
from interlingua.store.base import AsyncStore

try:
    from prometheus_client import (
        CONTENT_TYPE_LATEST,
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        generate_latest,
    )
    from prometheus_client.multiprocess import MultiProcessCollector
except ImportError:  # pragma: no cover  # the extra is there where the tests run
    raise MissingExtraError("metrics of the gateway", "gateway") from None

CONTENT_TYPE = CONTENT_TYPE_LATEST
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which `prometheus_client` merges the metrics of several
workers."""
MOST_MODELS = 500
MOST_ROUTES = MOST_TEAMS = 200
"""Values of these labels; all further ones are counted together."""
OTHER = "other"
MOST_SERIES = 5000
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class _Conversations:
    """The counts of remembered conversations, and how much of them was exported already."""

    def __init__(self, figures: Figures, registry: CollectorRegistry) -> None:
        self._figures, self._counted = figures, Figures()
        described = "Incremental conversions by result"
        self._counter = Counter(
            "interlingua_conversations", described, ("outcome",), registry=registry
        )

    def flush(self) -> None:
        for outcome in Figures.__struct_fields__:
            now = getattr(self._figures, outcome)
            self._counter.labels(outcome).inc(now - getattr(self._counted, outcome))
            setattr(self._counted, outcome, now)


class Metrics:
    """The metrics of one process; `text` is in Prometheus' format."""

    _conversations: _Conversations | None = None

    def __init__(
        self,
        models: Iterable[str] = (),
        routes: Callable[[], Mapping[str, RouteSettings]] = dict,
    ) -> None:
        self.registry = registry = CollectorRegistry()
        self._routes = routes
        self._shown: dict[str, set[str]] = {"route": set(), "team": set()}
        self._known = frozenset([*known_models(), *models])
        self._names: dict[str, str] = {}
        self._series: dict[tuple[str, str | None, int, str | None, str | None], _Series] = {}
        self._changed: set[_Series] = set()
        self._count(registry)
        self._count_teams(registry)
        self.in_flight = Gauge(
            "interlingua_in_flight", "Requests in flight", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip

    def _count(self, registry: CollectorRegistry) -> None:
        by = ("front", "provider")
        counter = partial(Counter, registry=registry)
        seconds = partial(Histogram, labelnames=(*by, "route"), registry=registry, buckets=SECONDS)
        self.requests = counter(
            "interlingua_requests", "Requests by outcome", ("front", "target", "status", "route")
        )
        self.seconds = seconds(
            "interlingua_request_seconds", "Seconds until the last byte of the answer"
        )
        self.first_byte = seconds(
            "interlingua_first_byte_seconds", "Seconds until the first byte of a stream"
        )
        self.tokens = counter(
            "interlingua_tokens", "Tokens as reported by providers", ("target", "kind", "route")
        )
        self.cost = counter(
            "interlingua_cost_usd",
            "Cost in US dollars where the price is known",
            ("target", "route"),
        )
        self.unpriced = counter(
            "interlingua_unpriced_requests",
            "Requests with tokens that have no price",
            ("target", "route"),
        )
        self.losses = counter("interlingua_losses", "Losses in conversions", by)
        self.repairs = counter(
            "interlingua_repairs", "Requests resent without rejected parameters", ("provider",)
        )
        self.upstream_errors = counter(
            "interlingua_upstream_errors", "Failed calls to providers", ("provider", "kind")
        )
        self.trace_dropped = counter(
            "interlingua_trace_dropped", "Rows dropped because the queue was full"
        )
        self.trace_rejected = counter("interlingua_trace_rejected", "Rows that the store refused")

    def _count_teams(self, registry: CollectorRegistry) -> None:
        counter = partial(Counter, labelnames=("team", "route"), registry=registry)
        self.team_requests = counter("interlingua_team_requests", "Requests by team")
        self.team_tokens = counter("interlingua_team_tokens", "Tokens by team")
        self.team_cost = counter("interlingua_team_cost_usd", "Cost in US dollars by team")

    def finished(self, exchange: Exchange, elapsed_ms: float, cost: Any = None) -> None:
        """Counted on `flush` or when metrics are read: adding up first is cheaper."""
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        target, status = decision.target, outcome.status
        model = None if target is None else target.model
        asked, team = arrival.client_model, arrival.principal.team_id
        series = self._series.get((arrival.front, model, status, asked, team))
        if series is None:
            series = self._new_series(exchange)
        if not series.requests:
            self._changed.add(series)
        series.requests += 1
        series.seconds(elapsed_ms / 1000)
        if outcome.first_byte_ms is not None:
            series.first_byte(outcome.first_byte_ms / 1000)
        if decision.report is not None and decision.report.entries:
            series.losses += len(decision.report.losses)
            if any(loss.rule == LEARNED for loss in decision.report.entries):
                self.repairs.labels(series.provider).inc()
        if len(outcome.tries) > 1 or (outcome.error is not None and outcome.tries):
            self._failed(outcome)
        usage = outcome.usage
        if usage is not None:
            series.used(usage)
        if cost is not None:
            series.cost += float(cost)
        elif usage is not None and usage.is_known:
            series.unpriced += 1

    def _failed(self, outcome: Outcome) -> None:
        """Every try that failed, also where a later one did not; and an answer that broke off."""
        last = outcome.tries[-1]
        for each in outcome.tries:
            kind = outcome.error if each is last and each.kind is None else each.kind
            if kind is not None:
                provider = each.model.partition(":")[0]
                self.upstream_errors.labels(provider, kind.value).inc()

    def _new_series(self, exchange: Exchange) -> _Series:
        arrival, status = exchange.arrival, exchange.outcome.status
        front, asked, team = arrival.front, arrival.client_model, arrival.principal.team_id
        target, route = exchange.decision.target, self._label("route", self.route_of(exchange))
        provider = "none" if target is None else target.provider.key
        name = "none" if target is None else self._name(target.model, provider)
        series = _Series(self, front, name, provider, str(status), route, self._label("team", team))
        if len(self._series) >= MOST_SERIES:
            self._series.clear()  # clients make names up; the numbers themselves are in the metrics
        model = None if target is None else target.model
        self._series[front, model, status, asked, team] = series
        return series

    def route_of(self, exchange: Exchange) -> str | None:
        """The configured route that was requested."""
        asked = exchange.arrival.client_model
        return None if asked is None else route_name(self._routes(), asked)

    def _label(self, kind: str, value: str | None) -> str:
        shown = self._shown[kind]
        if value is None or value in shown:
            return value or "none"
        if len(shown) >= (MOST_ROUTES if kind == "route" else MOST_TEAMS):
            return OTHER
        shown.add(value)
        return value

    def watch(self, figures: Figures) -> None:
        """Adds metrics of the gateway's memory of conversations."""
        self._conversations = _Conversations(figures, self.registry)

    def flush(self) -> None:
        """Adds the collected counts to the metrics."""
        while self._changed:
            self._changed.pop().flush()
        if self._conversations is not None:
            self._conversations.flush()

    def _name(self, model: str, provider: str) -> str:
        name = self._names.get(model)
        if name is None:
            if model not in self._known or len(self._names) >= MOST_MODELS:
                return f"{provider}:other"
            name = self._names[model] = model
        return name

    def text(self) -> bytes:
        """The metrics of all workers, if there are several."""
        self.flush()
        if not os.environ.get(FOLDER):
            return generate_latest(self.registry)
        for _ in range(TRIES - 1):
            try:
                return _of_all_workers()
            except (OSError, ValueError, RuntimeError, struct.error):
                continue  # a worker that begins has made its file, and nothing is in it yet
        return _of_all_workers()


TRIES = 5
"""Attempts to read the workers' files, if one of them is being made."""


def _of_all_workers() -> bytes:
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return generate_latest(together)


_MONEY = re.compile(rb"^(# \w+ )?interlingua_(cost_usd|tokens|unpriced|team_\w+)[_ {]")


def without_money(text: bytes) -> bytes:
    """The metrics without total spending: for callers who only share a gateway."""
    lines = text.splitlines(keepends=True)
    return b"".join([line for line in lines if _MONEY.match(line) is None])


_KINDS = ("input", "cached_input", "cache_creation_input", "output")


class _Series:
    """The numbers of requests that have all labels in common."""

    def __init__(
        self,
        into: Metrics,
        front: str,
        name: str,
        provider: str,
        status: str,
        route: str,
        team: str,
    ) -> None:
        self.provider = provider
        self.requests = self.losses = self.unpriced = 0
        self.cost = 0.0
        self._tokens = [0] * len(_KINDS)
        self._into = into
        self._labels = (front, name, route)
        self._owner = None if team == "none" else (team, route)
        self.seconds = into.seconds.labels(front, provider, route).observe
        self._requests = into.requests.labels(front, name, status, route)

    def first_byte(self, seconds: float) -> None:
        front, _, route = self._labels
        self._into.first_byte.labels(front, self.provider, route).observe(seconds)

    def used(self, usage: Usage) -> None:
        tokens = self._tokens
        tokens[0] += usage.input_tokens or 0
        tokens[1] += usage.cached_input_tokens or 0
        tokens[2] += usage.cache_creation_input_tokens or 0
        tokens[3] += usage.output_tokens or 0

    def flush(self) -> None:
        into, (front, name, route) = self._into, self._labels
        self._requests.inc(self.requests)
        if self.losses:
            into.losses.labels(front, self.provider).inc(self.losses)
        if self.cost:
            into.cost.labels(name, route).inc(self.cost)
        if self.unpriced:
            into.unpriced.labels(name, route).inc(self.unpriced)
        for kind, count in zip(_KINDS, self._tokens, strict=True):
            if count:
                into.tokens.labels(name, kind, route).inc(count)
        if self._owner is not None:
            into.team_requests.labels(*self._owner).inc(self.requests)
            into.team_tokens.labels(*self._owner).inc(sum(self._tokens))
            if self.cost:
                into.team_cost.labels(*self._owner).inc(self.cost)
        self.requests = self.losses = self.unpriced = 0
        self.cost, self._tokens = 0.0, [0] * len(_KINDS)


WINDOW, FEWEST, RATE = 60.0, 10, 0.5
"""A provider is degraded if, of its calls in so many seconds, there were at least so many and this
share of them failed."""
SILENCE = 300.0
"""Seconds before the same provider is reported again."""
MOST_CALLS = 1000
"""Calls of one provider that are looked at."""
_FAILURES = frozenset({ErrorKind.SERVER_ERROR, ErrorKind.NETWORK})
_WITH_KEYS = _FAILURES | {ErrorKind.AUTH, ErrorKind.RATE_LIMIT}
"""Including failures about the sent key, if it is the gateway's own."""


class DegradedProviders:
    """Counts calls by provider; providers come from the settings, so there are few."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: dict[str, deque[tuple[float, bool]]] = {}
        self._reported: dict[str, float] = {}

    def add(self, exchange: Exchange) -> ProviderDegraded | None:
        """Counts the outcome of a request; returns a report of a degraded provider, if it is
        due."""
        now, worst = self._clock(), None
        target = exchange.decision.target
        by_client = target is not None and target.provider.credentials == CLIENT
        failures = _FAILURES if by_client else _WITH_KEYS
        for each in exchange.outcome.tries:
            provider, failed = each.model.partition(":")[0], each.kind in failures
            calls = self._calls.get(provider)
            if calls is None:
                calls = self._calls[provider] = deque(maxlen=MOST_CALLS)
            calls.append((now, failed))
            while calls[0][0] < now - WINDOW:
                calls.popleft()
            if failed:
                worst = provider
        return None if worst is None else self._report(worst, now)

    def _report(self, provider: str, now: float) -> ProviderDegraded | None:
        calls = self._calls[provider]
        rate = sum(failed for _, failed in calls) / len(calls)
        if len(calls) < FEWEST or rate < RATE:
            return None
        if now - self._reported.get(provider, now - SILENCE) < SILENCE:
            return None
        self._reported[provider] = now
        reason = f"{rate:.0%} of {len(calls)} calls failed within {WINDOW:.0f} seconds"
        return ProviderDegraded(provider, reason, error_rate=rate)


BELIEVED = 1.0
"""Seconds for which the state of the store is reused; probes may come often."""
PATIENCE = 2.0
LOG_PATIENCE = 60.0
"""Seconds without a logged request after which the gateway reports that it is not ready."""
PROBE = "ready"
"""Writes a test value: without a writable store no capped key is served."""


class Health:
    """Checks the store on request, at most once a second."""

    def __init__(
        self,
        gateway: Gateway,
        store: AsyncStore | None,
        log_failing: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._gateway = gateway
        self._store = store
        self._log_failing = log_failing
        self._found: tuple[float, bool] = (0.0, True)
        self._looking: asyncio.Task[bool] | None = None

    async def ready(self) -> tuple[bool, dict[str, Any]]:
        """Whether requests may be sent, and why not."""
        if self._gateway.draining:
            return False, {"status": "draining"}
        if not await self._store_answers():
            return False, {"status": "unready", "store": "unreachable"}
        if (seconds := self._log_failing()) > LOG_PATIENCE:
            text = f"not stored for {seconds:.0f} seconds"
            return False, {"status": "unready", "request_log": text}
        return True, {"status": "ready"}

    async def _store_answers(self) -> bool:
        until, good = self._found
        if self._store is None or time.monotonic() < until:
            return good
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> bool:
        assert self._store is not None
        try:
            await asyncio.wait_for(self._store.keys(limit=1), PATIENCE)
            await asyncio.wait_for(self._store.ping(PROBE), PATIENCE)
            good = True
        except Exception:  # it does not answer, or takes nothing, for any reason
            good = False
        self._found = (time.monotonic() + BELIEVED, good)
        return good
