"""Spans of the gateway, and the trace that a request belongs to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from interlingua.gateway.telemetry.trace import Spans
from interlingua.telemetry import own_tracing, trace_headers
from tests.gateway.serving import Upstream, asked, served

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def kept_spans() -> tuple[Any, InMemorySpanExporter]:
    out, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(out))
    return provider.get_tracer("test"), out


def resource_of_own_tracing() -> dict[str, Any]:
    tracer, close = own_tracing("test")
    try:
        return dict(tracer.resource.attributes)
    finally:
        close()


def test_the_service_is_called_interlingua(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES", raising=False)
    assert resource_of_own_tracing()["service.name"] == "interlingua"


def test_the_service_may_be_called_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=here")
    named = resource_of_own_tracing()
    assert (named["service.name"], named["deployment.environment"]) == ("other", "here")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "the-mill")
    assert resource_of_own_tracing()["service.name"] == "the-mill"


@pytest.mark.parametrize("stream", [False, True])
def test_a_trace_goes_through_the_gateway(tmp_path: Path, stream: bool) -> None:
    """Without spans of ours, the provider hears what the client said."""
    sent = {"traceparent": PARENT, "tracestate": "vendor=1"}
    heard, _ = asyncio.run(asked_with(tmp_path, sent, stream))
    assert (heard["traceparent"], heard["tracestate"]) == (PARENT, "vendor=1")


@pytest.mark.parametrize("stream", [False, True])
def test_our_span_stands_between_the_client_and_the_provider(tmp_path: Path, stream: bool) -> None:
    tracer, out = kept_spans()
    sent = {"traceparent": PARENT, "tracestate": "vendor=1"}
    heard, _ = asyncio.run(asked_with(tmp_path, sent, stream, Spans(tracer)))
    (span,) = out.get_finished_spans()
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert heard["traceparent"].startswith(f"00-{TRACE}-{span.context.span_id:016x}-")
    assert heard["tracestate"] == "vendor=1"
    result = dict(span.attributes or {})
    assert span.name == f"chat {result['gen_ai.request.model']}"
    assert result["gen_ai.usage.input_tokens"] == 100


def test_a_span_begins_a_trace_where_the_client_tells_of_none(tmp_path: Path) -> None:
    tracer, out = kept_spans()
    heard, _ = asyncio.run(asked_with(tmp_path, {}, False, Spans(tracer)))
    (span,) = out.get_finished_spans()
    assert span.parent is None
    assert f"{span.context.span_id:016x}" in heard["traceparent"]


def test_a_request_that_fails_is_one_span_with_its_error(tmp_path: Path) -> None:
    tracer, out = kept_spans()
    _, status = asyncio.run(asked_with(tmp_path, {}, False, Spans(tracer), words="fail"))
    (span,) = out.get_finished_spans()
    assert status == 400
    assert dict(span.attributes or {})["error.type"] == "invalid_request"
    assert not span.status.is_ok


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "nonsense",
        PARENT.upper(),
        f"{PARENT}-more",
        f"ff{PARENT[2:]}",
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"01{PARENT[2:]}-{'x' * 4000}",
        f"01{PARENT[2:]}-\x01",
    ],
)
def test_what_is_no_trace_is_not_handed_on(parent: str) -> None:
    headers = {b"traceparent": parent.encode(), b"tracestate": b"a=1"}
    assert trace_headers(headers) == {}


def test_a_later_version_of_the_header_is_handed_on() -> None:
    later = f"01{PARENT[2:]}-more"
    assert trace_headers({b"traceparent": later.encode()}) == {"traceparent": later}
    long = {b"traceparent": PARENT.encode(), b"tracestate": b"x" * 5000}
    assert trace_headers(long) == {"traceparent": PARENT}


async def asked_with(
    home: Path,
    headers: dict[str, str],
    stream: bool,
    spans: Spans | None = None,
    words: str = "hi",
) -> tuple[dict[str, str], int]:
    """Headers that the provider got, and the status that the client got."""
    with Upstream() as provider:
        provider.configure(home)
        async with served(home) as gateway:
            gateway.service.tracer.spans = spans
            body = asked(words, stream=stream)
            status, _, _ = await gateway.ask("POST", "/v1/chat/completions", body, headers=headers)
            await gateway.stored()
        return provider.headers[-1], status
