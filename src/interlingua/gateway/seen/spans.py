"""One OpenTelemetry span per exchange, in the words of its GenAI conventions (status
"development", read 2026-11). What was said is never in it: counts, names and times are."""

from __future__ import annotations

from typing import Any

from interlingua.errors import MissingExtraError
from interlingua.gateway.state import Exchange
from interlingua.transcripts.otel.tables import PROVIDER_WORDS


class Spans:
    """Makes spans when exchanges are over. Without a tracer of the caller's, spans go where the
    usual `OTEL_…` variables say."""

    def __init__(self, tracer: Any = None) -> None:
        self._close: Any = None
        try:
            from opentelemetry.trace import SpanKind, Status, StatusCode

            if tracer is None:
                tracer = self._usual()
        except ImportError:
            raise MissingExtraError("spans of the gateway", "otel") from None
        self._tracer = tracer
        self._kind = SpanKind.CLIENT
        self._error = Status(StatusCode.ERROR)

    def _usual(self) -> Any:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        # A name in the usual variables comes before this one.
        resource = Resource({"service.name": "interlingua"}).merge(Resource.create())
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._close = provider.shutdown
        return provider.get_tracer("interlingua.gateway")

    def finished(self, exchange: Exchange, elapsed_ms: float) -> None:
        target = exchange.target
        if target is None:
            return
        began = int(exchange.at.timestamp() * 1e9)
        span = self._tracer.start_span(
            f"chat {target.name[:200]}",
            kind=self._kind,
            start_time=began,
            attributes=attributes(exchange),
        )
        if exchange.error is not None:
            span.set_status(self._error)
        span.end(end_time=began + int(elapsed_ms * 1e6))

    def close(self) -> None:
        """Send what waits."""
        if self._close is not None:
            self._close()


def attributes(exchange: Exchange) -> dict[str, Any]:
    """What a span says; nothing that is unknown."""
    target, usage, principal = exchange.target, exchange.usage, exchange.principal
    assert target is not None
    said: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDER_WORDS.get(target.provider.key, target.provider.key),
        "gen_ai.request.model": target.name[:200],
        "gen_ai.request.stream": exchange.stream,
        "interlingua.request.id": exchange.id,
        "interlingua.front": exchange.front,
        "interlingua.attempts": exchange.attempts,
        "interlingua.key.id": principal.key_id,
        "enduser.pseudo.id": principal.user_id,
        "http.response.status_code": exchange.status or None,
    }
    if usage is not None:
        said["gen_ai.usage.input_tokens"] = _whole_prompt(usage)
        said["gen_ai.usage.output_tokens"] = usage.output_tokens
        said["gen_ai.usage.cache_read.input_tokens"] = usage.cached_input_tokens
        said["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_creation_input_tokens
    if exchange.stop_reason is not None:
        said["gen_ai.response.finish_reasons"] = (exchange.stop_reason.value,)
    if exchange.error is not None:
        said["error.type"] = exchange.error.value
    if exchange.report is not None:
        said["interlingua.losses"] = len(exchange.report.losses)
    return {name: value for name, value in said.items() if value is not None}


def _whole_prompt(usage: Any) -> int | None:
    """The convention counts cached tokens as input too; ours are disjoint."""
    if usage.input_tokens is None:
        return None
    cached = usage.cached_input_tokens or 0
    return int(usage.input_tokens + cached + (usage.cache_creation_input_tokens or 0))
