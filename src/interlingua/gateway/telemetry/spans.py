"""One OpenTelemetry span per exchange, in the words of its GenAI conventions (status
"development", read 2026-11). What was said is never in it: counts, names and times are."""

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
        """Headers for the provider, which make what it does a part of this span; and the span a
        part of the trace that the client tells of, if it does. Another try is the same span."""
        if exchange.span is None:
            self._begin(exchange, incoming)
        return headers_of(exchange.span)

    def _begin(self, exchange: Exchange, incoming: dict[str, str] | None = None) -> None:
        exchange.span = self._tracer.start_span(
            _name(exchange),
            context=context_of(incoming) if incoming else None,
            kind=self._kind,
            start_time=int(exchange.at.timestamp() * 1e9),
            attributes=attributes(exchange),
        )

    def finished(self, exchange: Exchange, elapsed_ms: float) -> None:
        if exchange.target is None:
            return
        if exchange.span is None:
            self._begin(exchange)
        span = exchange.span
        span.update_name(_name(exchange))
        span.set_attributes(attributes(exchange))
        if exchange.error is not None:
            span.set_status(self._error)
        span.end(end_time=int(exchange.at.timestamp() * 1e9) + int(elapsed_ms * 1e6))

    def close(self) -> None:
        """Send what waits."""
        if self._close is not None:
            self._close()


def _name(exchange: Exchange) -> str:
    assert exchange.target is not None
    return f"chat {exchange.target.name[:200]}"


def attributes(exchange: Exchange) -> dict[str, Any]:
    """What a span says; nothing that is unknown."""
    target, principal = exchange.target, exchange.principal
    assert target is not None
    said: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_name(target.provider.key),
        "gen_ai.request.model": target.name[:200],
        "gen_ai.request.stream": exchange.stream,
        "interlingua.request.id": exchange.id,
        "interlingua.front": exchange.front,
        "interlingua.attempts": exchange.attempts,
        "interlingua.key.id": principal.key_id,
        "enduser.pseudo.id": principal.user_id,
        "http.response.status_code": exchange.status or None,
        **usage_attributes(exchange.usage),
    }
    if exchange.stop_reason is not None:
        said["gen_ai.response.finish_reasons"] = (exchange.stop_reason.value,)
    if exchange.error is not None:
        said["error.type"] = exchange.error.value
    if exchange.report is not None:
        said["interlingua.losses"] = len(exchange.report.losses)
    return without_none(said)
