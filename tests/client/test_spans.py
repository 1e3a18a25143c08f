"""Spans of the client: one a call, a child of the caller's, without what was said."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

import interlingua as il
from interlingua.client import CallCancelledError, CallError
from interlingua.client.spans import Spans
from tests.client import served
from tests.client.served import KEYS, MODELS, TEXT, bases, client_of, serving
from tests.replay import faults

SONNET = MODELS["anthropic"]


class Kept:
    """A tracer, and the spans that ended."""

    def __init__(self) -> None:
        self._out = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._out))
        self.tracer: Tracer = provider.get_tracer("test")

    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._out.get_finished_spans()

    def only(self) -> tuple[ReadableSpan, dict[str, Any]]:
        (span,) = self.spans()
        return span, dict(span.attributes or {})


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_is_a_span_in_the_words_of_the_convention(stream: bool) -> None:
    preserved = Kept()

    async def main() -> str:
        exchange = (served.streamed if stream else served.whole)("anthropic")
        with serving(exchange) as server:
            async with client_of(
                server, exchange.id, middleware=[Spans(preserved.tracer)]
            ) as client:
                options = il.Options(temperature=0.5, max_output_tokens=100)
                if stream:
                    async with client.stream(SONNET, "Hello", options=options) as answer:
                        [event async for event in answer]
                else:
                    await client.generate(SONNET, "Hello", options=options)
            return server.received[0].header("traceparent") or ""

    heard = asyncio.run(main())
    span, result = preserved.only()
    assert span.name == "chat claude-sonnet-4-5"
    assert result["gen_ai.provider.name"] == "anthropic"
    assert result["gen_ai.request.model"] == "claude-sonnet-4-5"
    assert result["gen_ai.request.temperature"] == 0.5
    assert result["gen_ai.request.max_tokens"] == 100
    assert result["gen_ai.response.model"] == "a-model"
    assert result["gen_ai.usage.input_tokens"] == 12
    assert result["gen_ai.usage.output_tokens"] == 9
    assert result["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert TEXT not in str(result)
    assert span.context is not None
    assert heard.startswith(f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-")


def test_a_call_of_any_client_is_a_child_of_the_current_span() -> None:
    preserved = Kept()
    with serving(served.whole("anthropic")) as server:
        asynchronous = client_of(server, "whole-anthropic", middleware=[Spans(preserved.tracer)])

        async def main() -> None:
            async with asynchronous as client:
                with preserved.tracer.start_as_current_span("outer"):
                    await client.generate(SONNET, "Hello")

        asyncio.run(main())
        own = il.Client(
            keys=KEYS,
            base_urls=bases(server, "whole-anthropic"),
            middleware=[Spans(preserved.tracer)],
        )
        with own as client, preserved.tracer.start_as_current_span("outer"):
            client.generate(SONNET, "Hello")
    first, outer, second, other = preserved.spans()
    assert first.parent is not None
    assert second.parent is not None
    assert (first.parent, second.parent) == (outer.context, other.context)


def test_a_call_that_fails_says_why() -> None:
    preserved = Kept()

    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=faults.failing(400, "no such luck"))
            async with client_of(
                server, "whole-anthropic", middleware=[Spans(preserved.tracer)]
            ) as client:
                with pytest.raises(CallError):
                    await client.generate(SONNET, "Hello")

    asyncio.run(main())
    span, result = preserved.only()
    assert result["error.type"] == "invalid_request"
    assert result["http.response.status_code"] == 400
    assert not span.status.is_ok
    assert "luck" not in str(result)


def test_a_stream_that_is_left_and_a_task_that_is_cancelled_end_their_spans() -> None:
    preserved = Kept()

    async def main() -> None:
        exchange = served.streamed("anthropic")
        with serving(exchange, served.whole("anthropic")) as server:
            layers = [Spans(preserved.tracer)]
            async with client_of(server, exchange.id, middleware=layers) as client:
                server.stage(faults.silence(after=400), always=faults.silence())
                async with client.stream(SONNET, "Hello") as answer:
                    await anext(aiter(answer))
                task = asyncio.ensure_future(client.generate(SONNET, "Hello"))
                await asyncio.sleep(0.05)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                with pytest.raises(il.InterlinguaError):
                    await client.generate("nobody:nothing", "Hello")
            assert not layers[0]._open

    asyncio.run(main())
    ends = [dict(span.attributes or {}).get("error.type") for span in preserved.spans()]
    assert ends == ["cancelled"] * 3


def test_spans_go_where_the_program_sends_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry import trace

    out, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(out))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    spans = Spans()
    call = il.AsyncClient().call(SONNET, "Hello")
    spans.request(call)
    spans.error(call, CallCancelledError("gone"))
    spans.close()
    assert [span.name for span in out.get_finished_spans()] == [f"chat {SONNET}"]
