"""Numbers for Prometheus. No label has a value that a client can make up: models that nobody has
described or routed to are counted together, under their provider."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable
from functools import partial
from typing import Any

from interlingua.errors import MissingExtraError
from interlingua.fitting.lessons import RULE as LEARNED
from interlingua.gateway.shared.state import Exchange
from interlingua.model.metadata import Usage
from interlingua.models.capabilities import known_models

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
"""The variable that tells `prometheus_client` where several workers put their numbers together."""
MOST_MODELS = 500
MOST_SERIES = 5000
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """One set of numbers; `text` is what Prometheus reads."""

    def __init__(self, models: Iterable[str] = ()) -> None:
        self.registry = registry = CollectorRegistry()
        self._known = frozenset([*known_models(), *models])
        self._names: dict[str, str] = {}
        self._series: dict[tuple[str, str | None, int], _Series] = {}
        self._changed: set[_Series] = set()
        by = ("front", "provider")
        counter = partial(Counter, registry=registry)
        seconds = partial(Histogram, labelnames=by, registry=registry, buckets=SECONDS)
        self.requests = counter(
            "interlingua_requests", "Requests, by how they ended", ("front", "target", "status")
        )
        self.seconds = seconds(
            "interlingua_request_seconds", "From a request to the last byte of its answer"
        )
        self.first_byte = seconds(
            "interlingua_first_byte_seconds", "From a request to the first byte of a stream"
        )
        self.tokens = counter(
            "interlingua_tokens", "Tokens, as providers count them", ("target", "kind")
        )
        self.cost = counter(
            "interlingua_cost_usd", "US dollars, where the price is known", ("target",)
        )
        self.losses = counter("interlingua_losses", "Things lost in translation", by)
        self.repairs = counter(
            "interlingua_repairs", "Requests sent without what their model refuses", ("provider",)
        )
        self.upstream_errors = counter(
            "interlingua_upstream_errors", "Failures of providers", ("provider", "kind")
        )
        self.trace_dropped = counter(
            "interlingua_trace_dropped", "Requests that the trace could not take"
        )
        self.in_flight = Gauge(
            "interlingua_in_flight", "Requests in flight", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip

    def finished(self, exchange: Exchange, elapsed_ms: float, cost: Any = None) -> None:
        """Counted when `flush` is called, or somebody reads: adding numbers up first is cheaper."""
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        target, status = decision.target, outcome.status
        model = None if target is None else target.model
        series = self._series.get((arrival.front, model, status))
        if series is None:
            series = self._new_series(exchange)
        series.requests += 1
        series.seconds(elapsed_ms / 1000)
        if outcome.first_byte_ms is not None:
            series.first_byte(outcome.first_byte_ms / 1000)
        if decision.report is not None:
            series.losses += len(decision.report.losses)
            if any(loss.rule == LEARNED for loss in decision.report.losses):
                self.repairs.labels(series.provider).inc()
        if outcome.error is not None and outcome.attempts:
            errors = self.upstream_errors.labels(series.provider, outcome.error.value)
            errors.inc()
        usage = outcome.usage
        if usage is not None:
            series.used(usage)
        if cost is not None:
            series.cost += float(cost)
        self._changed.add(series)

    def _new_series(self, exchange: Exchange) -> _Series:
        front, status = exchange.arrival.front, exchange.outcome.status
        target = exchange.decision.target
        provider = "none" if target is None else target.provider.key
        name = "none" if target is None else self._name(target.model, provider)
        series = _Series(self, front, name, provider, str(status))
        if len(self._series) >= MOST_SERIES:
            self._series.clear()  # clients make names up; the numbers themselves are in the metrics
        self._series[front, None if target is None else target.model, status] = series
        return series

    def flush(self) -> None:
        """Put what was added up into the metrics."""
        for series in self._changed:
            series.flush()
        self._changed.clear()

    def _name(self, model: str, provider: str) -> str:
        name = self._names.get(model)
        if name is None:
            if model not in self._known or len(self._names) >= MOST_MODELS:
                return f"{provider}:other"
            name = self._names[model] = model
        return name

    def text(self) -> bytes:
        """Of all workers, where there are several."""
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
"""How often the files of the workers are read, if one of them is being made."""


def _of_all_workers() -> bytes:
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return generate_latest(together)


_MONEY = re.compile(rb"^(# \w+ )?interlingua_(cost_usd|tokens)[_ {]")


def without_money(text: bytes) -> bytes:
    """The numbers without what everybody together has spent: for those who only share a gateway."""
    lines = text.splitlines(keepends=True)
    return b"".join([line for line in lines if _MONEY.match(line) is None])


_KINDS = ("input", "cached_input", "cache_creation_input", "output")


class _Series:
    """The numbers of requests that have all labels in common."""

    def __init__(self, into: Metrics, front: str, name: str, provider: str, status: str) -> None:
        self.provider = provider
        self.requests = 0
        self.losses = 0
        self.cost = 0.0
        self._tokens = [0] * len(_KINDS)
        self._into = into
        self._labels = (front, name, status)
        self.seconds = into.seconds.labels(front, provider).observe
        self._requests = into.requests.labels(front, name, status)

    def first_byte(self, seconds: float) -> None:
        self._into.first_byte.labels(self._labels[0], self.provider).observe(seconds)

    def used(self, usage: Usage) -> None:
        tokens = self._tokens
        tokens[0] += usage.input_tokens or 0
        tokens[1] += usage.cached_input_tokens or 0
        tokens[2] += usage.cache_creation_input_tokens or 0
        tokens[3] += usage.output_tokens or 0

    def flush(self) -> None:
        into, (front, name, _) = self._into, self._labels
        self._requests.inc(self.requests)
        if self.losses:
            into.losses.labels(front, self.provider).inc(self.losses)
        if self.cost:
            into.cost.labels(name).inc(self.cost)
        for kind, count in zip(_KINDS, self._tokens, strict=True):
            if count:
                into.tokens.labels(name, kind).inc(count)
        self.requests = self.losses = 0
        self.cost, self._tokens = 0.0, [0] * len(_KINDS)
