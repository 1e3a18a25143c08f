"""Numbers for Prometheus. No label has a value that a client can make up: models that nobody has
described or routed to are counted together, under their provider."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from interlingua.errors import MissingExtraError
from interlingua.gateway.state import Exchange
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
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """One set of numbers; `text` is what Prometheus reads."""

    def __init__(self, models: Iterable[str] = ()) -> None:
        self.registry = registry = CollectorRegistry()
        self._known = frozenset([*known_models(), *models])
        self._names: dict[str, str] = {}
        self._children: dict[Any, Any] = {}
        self.requests = Counter(
            "interlingua_requests", "Requests, by how they ended", ("front", "target", "status"),
            registry=registry,
        )  # fmt: skip
        by = ("front", "provider")
        self.seconds = Histogram(
            "interlingua_request_seconds", "From a request to the last byte of its answer", by,
            registry=registry, buckets=SECONDS,
        )  # fmt: skip
        self.first_byte = Histogram(
            "interlingua_first_byte_seconds", "From a request to the first byte of a stream", by,
            registry=registry, buckets=SECONDS,
        )  # fmt: skip
        self.tokens = Counter(
            "interlingua_tokens", "Tokens, as providers count them", ("target", "kind"),
            registry=registry,
        )  # fmt: skip
        self.cost = Counter(
            "interlingua_cost_usd", "US dollars, where the price is known", ("target",),
            registry=registry,
        )  # fmt: skip
        self.losses = Counter(
            "interlingua_losses", "Things that could not be said", by, registry=registry
        )
        self.upstream_errors = Counter(
            "interlingua_upstream_errors", "Failures of providers", ("provider", "kind"),
            registry=registry,
        )  # fmt: skip
        self.in_flight = Gauge(
            "interlingua_in_flight", "Requests under way", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self.trace_dropped = Counter(
            "interlingua_trace_dropped", "Requests that the trace could not take",
            registry=registry,
        )  # fmt: skip

    def finished(self, exchange: Exchange, elapsed_ms: float, cost: Any = None) -> None:
        front, target = exchange.front, exchange.target
        name = "none" if target is None else self._name(target.model, target.provider.key)
        provider = "none" if target is None else target.provider.key
        self._child(self.requests, front, name, str(exchange.status)).inc()
        self._child(self.seconds, front, provider).observe(elapsed_ms / 1000)
        if exchange.first_byte_ms is not None:
            self._child(self.first_byte, front, provider).observe(exchange.first_byte_ms / 1000)
        if exchange.report is not None and exchange.report.losses:
            self._child(self.losses, front, provider).inc(len(exchange.report.losses))
        if exchange.error is not None and exchange.attempts:
            self._child(self.upstream_errors, provider, exchange.error.value).inc()
        if exchange.usage is not None:
            self._used(exchange, name)
        if cost is not None:
            self._child(self.cost, name).inc(float(cost))

    def _used(self, exchange: Exchange, name: str) -> None:
        usage = exchange.usage
        assert usage is not None
        for kind, count in (
            ("input", usage.input_tokens),
            ("cached_input", usage.cached_input_tokens),
            ("cache_creation_input", usage.cache_creation_input_tokens),
            ("output", usage.output_tokens),
        ):
            if count:
                self._child(self.tokens, name, kind).inc(count)

    def _child(self, metric: Any, *labels: str) -> Any:
        key = (metric, labels)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = metric.labels(*labels)
        return child

    def _name(self, model: str, provider: str) -> str:
        name = self._names.get(model)
        if name is None:
            if model not in self._known or len(self._names) >= MOST_MODELS:
                return f"{provider}:other"
            name = self._names[model] = model
        return name

    def text(self) -> bytes:
        """Of all workers, where there are several."""
        if not os.environ.get(FOLDER):
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
