"""One OpenTelemetry span per exchange, by the GenAI conventions (status "development", read
2026-11): counts, names and times, never message content."""

from __future__ import annotations

from typing import Any

from interlingua.errors import MissingExtraError
from interlingua.gateway.shared.state import Exchange
from interlingua.telemetry import (
    Tracing,
    context_of,
    headers_of,
    own_tracing,
    provider_name,
    usage_attributes,
    without_none,
)


class Spans:
    """Makes spans of exchanges. Without a tracer of the caller's, spans go where the usual
    `OTEL_…` variables say."""

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
        """Send what waits."""
        if self._close is not None:
            self._close()


def _name(exchange: Exchange) -> str:
    assert exchange.decision.target is not None
    return f"chat {exchange.decision.target.name[:200]}"


def attributes(exchange: Exchange) -> dict[str, Any]:
    """What a span says; nothing that is unknown."""
    arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
    target, principal = decision.target, arrival.principal
    assert target is not None
    values: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
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
        values["interlingua.model.losses"] = len(decision.report.losses)
    return without_none(values)
