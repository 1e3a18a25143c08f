"""One OpenTelemetry span per call, by the GenAI conventions (status "development", read 2026-11).
Spans have counts, names and times, never content."""

from __future__ import annotations

from typing import Any

from interlingua.client.answer import Answer, Call, Middleware
from interlingua.client.errors import CallError
from interlingua.errors import MissingExtraError
from interlingua.model.exchange import Options
from interlingua.telemetry import (
    Tracing,
    headers_of,
    provider_name,
    tracing_here,
    usage_attributes,
    without_none,
)

CANCELLED = "cancelled"


class Spans(Middleware):
    """OpenTelemetry spans of calls; pass it as a client's first middleware:
    `AsyncClient(middleware=[Spans()])`.

    A span is a child of the current one, and is propagated to the provider (`traceparent`). Without
    a `tracer`, spans are exported by the program's own OpenTelemetry set-up, or if there is none,
    as the `OTEL_…` variables say. Needs the extra `otel`.
    """

    def __init__(self, tracer: Any = None) -> None:
        try:
            from opentelemetry.trace import SpanKind, Status, StatusCode
        except ImportError:
            raise MissingExtraError("spans of a client", "otel") from None
        usual = Tracing(tracer) if tracer is not None else tracing_here("interlingua.client")
        self._tracer, self._close = usual
        self._kind = SpanKind.CLIENT
        self._error = Status(StatusCode.ERROR)
        self._open: dict[str, Any] = {}

    def close(self) -> None:
        """Exports pending spans if this object set up the exporter. The end of the program does it,
        too."""
        if self._close is not None:
            self._close()

    def request(self, call: Call) -> Call:
        span = self._tracer.start_span(
            f"chat {call.models[0][:200]}", kind=self._kind, attributes=request_attributes(call)
        )
        self._open[call.id] = span
        return call.replace(headers={**call.headers, **headers_of(span)})

    def answer(self, call: Call, answer: Answer) -> Answer:
        self._end(call, answer.model, response_attributes(answer))
        return answer

    def error(self, call: Call, error: CallError) -> CallError:
        attributes = {
            "error.type": error.kind.value,
            "http.response.status_code": error.status,
            "interlingua.attempts": len(error.attempts) or None,
        }
        partial = error.partial
        if partial is not None:
            attributes |= usage_attributes(partial.message.metadata.usage)
        self._end(call, error.model, attributes, failed=True)
        return error

    def dropped(self, call: Call) -> None:
        self._end(call, None, {"error.type": CANCELLED}, failed=True)

    def _end(
        self, call: Call, model: str | None, attributes: dict[str, Any], failed: bool = False
    ) -> None:
        span = self._open.pop(call.id, None)
        if span is None:
            return
        if model is not None:
            provider, _, name = model.partition(":")
            span.update_name(f"chat {name[:200]}")
            attributes |= {
                "gen_ai.provider.name": provider_name(provider),
                "gen_ai.request.model": name,
            }
        span.set_attributes(without_none(attributes))
        if failed:
            span.set_status(self._error)
        span.end()


def request_attributes(call: Call) -> dict[str, Any]:
    """The attributes of a call's span before the request."""
    options: Options = call.request.options
    return without_none(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": call.models[0][:200],
            "gen_ai.request.stream": call.stream,
            "gen_ai.request.max_tokens": options.max_output_tokens,
            "gen_ai.request.temperature": options.temperature,
            "gen_ai.request.top_p": options.top_p,
            "gen_ai.request.top_k": options.top_k,
            "gen_ai.request.seed": options.seed,
            "gen_ai.request.stop_sequences": options.stop or None,
            "gen_ai.request.frequency_penalty": options.frequency_penalty,
            "gen_ai.request.presence_penalty": options.presence_penalty,
        }
    )


def response_attributes(answer: Answer) -> dict[str, Any]:
    """The attributes of an answer for its span."""
    metadata = answer.message.metadata
    attributes: dict[str, Any] = {
        "gen_ai.response.model": metadata.response_model,
        "gen_ai.response.id": metadata.response_id,
        "interlingua.attempts": len(answer.attempts),
        "interlingua.model.losses": len(answer.report.losses),
        **usage_attributes(metadata.usage),
    }
    if metadata.stop_reason is not None:
        attributes["gen_ai.response.finish_reasons"] = (metadata.stop_reason.value,)
    return attributes
