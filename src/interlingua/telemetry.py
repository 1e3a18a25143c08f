"""OpenTelemetry for the gateway and the client.

Where spans are exported, their usage attributes, and the trace that a request belongs to. The
packages of the extra `otel` are imported on first use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from interlingua.errors import MissingExtraError
from interlingua.model.metadata import Usage

SERVICE = "interlingua"
"""The default service name of spans."""
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
_LONGEST_STATE = 2048
_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""W3C Trace Context, version 00; later versions may go on behind it (read 2026-11)."""

PROVIDER_WORDS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Names of the GenAI conventions where they are not ours (read 2026-11)."""


class Tracing(NamedTuple):
    """A tracer, and the function that shuts it down if it is our own."""

    tracer: Any
    close: Any = None


def own_tracing(name: str) -> Tracing:
    """Spans go where the usual `OTEL_…` variables point, which may name the service too."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtraError("spans", "otel") from None
    usual = Resource.create({"service.name": SERVICE})
    provider = TracerProvider(resource=usual.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider.get_tracer(name), provider.shutdown)


def tracing_here(name: str) -> Tracing:
    """The tracing that the program has configured; our own if it has not."""
    try:
        from opentelemetry import trace
    except ImportError:
        raise MissingExtraError("spans", "otel") from None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return own_tracing(name)
    return Tracing(trace.get_tracer(name))


def trace_headers(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """The trace-context headers of a request, or nothing if they are malformed."""
    header = headers.get(b"traceparent")
    if header is None:
        return {}
    parent = header.decode("latin-1")
    found = _PARENT.match(parent)
    if found is None or (parent.startswith("00") and found.end() != len(parent)):
        return {}
    if len(parent) > 2 * found.end() or not (parent.isascii() and parent.isprintable()):
        return {}
    state = headers.get(TRACESTATE.encode(), b"").decode("latin-1")
    if state and len(state) <= _LONGEST_STATE and state.isascii() and state.isprintable():
        return {TRACEPARENT: parent, TRACESTATE: state}
    return {TRACEPARENT: parent}


def context_of(headers: Mapping[str, str]) -> Any:
    """The OpenTelemetry context in trace-context headers."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract(headers)


def headers_of(span: Any) -> dict[str, str]:
    """Trace-context headers for a request made inside `span`."""
    from opentelemetry.trace import set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers, set_span_in_context(span))
    return headers


def usage_attributes(usage: Usage | None) -> dict[str, Any]:
    """Token counts by the conventions, which count cached tokens as input, too; our counts are
    disjoint."""
    if usage is None:
        return {}
    usage = (
        usage.plausible()
    )  # an exporter drops all spans of a batch for one number beyond 64 bits
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens
        if usage.input_tokens is not None
        else None,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_creation_input_tokens,
    }


def provider_name(provider: str) -> str:
    """The name of a provider in OpenTelemetry's semantic conventions."""
    return PROVIDER_WORDS.get(provider, provider)


def without_none(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that are not None."""
    return {name: value for name, value in attributes.items() if value is not None}
