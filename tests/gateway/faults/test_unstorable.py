"""Values of providers that no column, counter or exporter holds: the log of all other requests goes
on, and what cannot be stored is dropped by itself."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.telemetry import metrics
from interlingua.gateway.telemetry.metrics import Metrics
from interlingua.gateway.telemetry.records import LONGEST_TEXT, of_exchange
from interlingua.gateway.telemetry.trace import Tracer
from interlingua.model.losses import Report
from interlingua.model.metadata import MOST_TOKENS, Usage
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.open import open_async_store
from interlingua.store.requests import RequestRow
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, asked, served, settings_in
from tests.gateway.sessions.test_api import new, rest, say
from tests.gateway.telemetry.test_shown import exchange

ABSURD = [2**63, 10**30, 10**400, -5, 1e30, 2.5]


class Mistaken(Upstream):
    """Reports absurd counts to whoever says `count <number>`."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        words = str(wire["messages"][-1]["content"])
        if "count " not in words:
            super().answer(handler, dialect, wire)
            return
        number = words.rpartition("count ")[2].rstrip("]}'\"")
        whole = _ANSWERS[dialect].replace("NUMBER", number)
        if wire.get("stream"):
            whole = _STREAMS[dialect].replace("NUMBER", number)
        kind = "text/event-stream" if wire.get("stream") else "application/json"
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(whole)))
        handler.end_headers()
        handler.wfile.write(whole.encode())


_USAGE = '{"prompt_tokens": NUMBER, "completion_tokens": NUMBER, "total_tokens": NUMBER}'
_CHOICE = '{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}'
_ANSWERS = {
    "openai-chat": '{"id": "c", "object": "chat.completion", "created": 1, "model": "m",'
    f' "choices": [{_CHOICE}], "usage": {_USAGE}}}',
    "anthropic": '{"id": "m", "type": "message", "role": "assistant", "model": "m", "content":'
    ' [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "stop_sequence": null,'
    ' "usage": {"input_tokens": NUMBER, "output_tokens": NUMBER}}',
}


def _frames(*events: tuple[str, str]) -> str:
    return "".join([f"event: {name}\ndata: {data}\n\n" for name, data in events])


_CHUNK = '{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", '
_STREAMS = {
    "openai-chat": f'data: {_CHUNK}"choices": [{{"index": 0, "delta": {{"content": "hi"}},'
    f' "finish_reason": "stop"}}]}}\n\ndata: {_CHUNK}"choices": [], "usage": {_USAGE}}}\n\n'
    "data: [DONE]\n\n",
    "anthropic": _frames(
        (
            "message_start",
            '{"type": "message_start", "message": {"id": "m", "type": "message", "role":'
            ' "assistant", "model": "m", "content": [], "stop_reason": null, "stop_sequence":'
            ' null, "usage": {"input_tokens": NUMBER, "output_tokens": 1}}}',
        ),
        (
            "message_delta",
            '{"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},'
            ' "usage": {"output_tokens": NUMBER}}',
        ),
        ("message_stop", '{"type": "message_stop"}'),
    ),
}


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("stream", [False, True])
def test_absurd_counts_stop_no_log(tmp_path: Path, address: str, model: str, stream: bool) -> None:
    async def work(provider: Mistaken) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, store=address)) as gateway:
            ids = []
            for number in ABSURD:
                words = f"count {json.dumps(number)}"
                for body in (asked(words, model=model, stream=stream), asked("hi")):
                    status, _, headers = await gateway.ask("POST", "/v1/chat/completions", body)
                    assert status == 200
                    ids.append(headers["x-request-id"])
            await gateway.stored()
            _, page, _ = await gateway.ask("GET", "/requests?limit=100")
            assert [row["id"] for row in page["requests"]] == ids[::-1]
            for row in page["requests"]:
                for name, count in (row["usage"] or {}).items():
                    assert not name.endswith("_tokens") or (count or 0) <= MOST_TOKENS
            status, text, _ = await gateway.ask("GET", "/metrics")
            assert status == 200
            assert "interlingua_trace_rejected_total 0.0" in text
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200

    with Mistaken() as provider:
        asyncio.run(work(provider))


def test_a_session_survives_absurd_counts(tmp_path: Path, address: str) -> None:
    async def work(provider: Mistaken) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, store=address)) as gateway:
            session = await new(gateway)
            for number in ABSURD:
                await say(gateway, session, f"count {json.dumps(number)}")
                await rest(gateway, session)
            status, page, _ = await gateway.ask("GET", f"/sessions/{session}/messages")
            assert status == 200
            answers = [each for each in page["messages"] if each["role"] == "assistant"]
            assert len(answers) == len(ABSURD)
            for answer in answers:
                assert (answer["metadata"]["usage"].get("input_tokens") or 0) <= MOST_TOKENS

    with Mistaken() as provider:
        asyncio.run(work(provider))


def row(id: str, **changes: Any) -> RequestRow:
    return RequestRow(id, datetime.now(UTC), "openai-chat", 200, 5, **changes)


BAD = {
    "count": {"usage": Usage(input_tokens=2**63)},
    "surrogate": {"model": "openai:\ud800"},
    "tries": {"tries": ({"request_id": "\udc80"},)},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_a_batch_stores_all_but_the_row_that_the_store_refuses(
    address: str, bad: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        store = await open_async_store(address)
        metrics = Metrics()
        tracer = Tracer(store, metrics=metrics)
        rows = [row(f"req_{number}") for number in range(20)]
        rows[7] = row("req_7", **bad)
        tracer._rows.extend([(None, each) for each in rows])
        await asyncio.wait_for(tracer.flush(), 20)
        found = await store.requests(limit=100)
        assert {each.id for each in found} == {each.id for each in rows} - {"req_7"}
        assert b"interlingua_trace_rejected_total 1.0" in metrics.text()
        assert [r.id for r in caplog.records if r.message == "trace_row_rejected"] == ["req_7"]
        await tracer.close()
        await store.close()

    asyncio.run(work())


async def _failing(*_: Any, **__: Any) -> Any:
    raise StoreError("here", "refused", "other")


def test_a_store_that_takes_nothing_loses_no_row(address: str) -> None:
    async def work() -> None:
        store = await open_async_store(address)
        tracer = Tracer(store)
        tracer._rows.extend([(None, row(f"req_{number}")) for number in range(5)])
        real = (store.append_requests, store.ping)
        _break(store)
        assert not await tracer._write()
        assert tracer.failing_seconds > 0
        store.append_requests, store.ping = real  # type: ignore[method-assign]
        await tracer.flush()
        assert len(await store.requests()) == 5
        assert tracer.failing_seconds == 0
        await store.close()

    asyncio.run(work())


def _break(store: AsyncStore) -> None:
    store.append_requests = store.ping = _failing  # type: ignore[method-assign]


def test_health_says_when_requests_are_not_logged_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            real = gateway.service.store.append_requests

            async def locked(*_: Any) -> None:
                raise StoreError("here", "the table is locked", "busy")

            gateway.service.store.append_requests = locked  # type: ignore[method-assign]
            await gateway.ask("POST", "/v1/chat/completions", asked("hi"))
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200
            monkeypatch.setattr(metrics, "LOG_PATIENCE", 0.0)
            async with asyncio.timeout(10):
                while (await gateway.ask("GET", "/health/ready"))[0] == 200:
                    await asyncio.sleep(0.05)
            _, reply, _ = await gateway.ask("GET", "/health/ready")
            assert reply["request_log"].startswith("not stored for ")
            gateway.service.store.append_requests = real  # type: ignore[method-assign]
            await gateway.stored()
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_texts_of_losses_are_bounded_and_can_be_stored() -> None:
    report = Report("anthropic")
    report.add("dropped", "$." + "x" * 10**6, "no \ud800 here", block_type="t" * 5000)
    stored = of_exchange(exchange(report=report), 0).losses[0]
    assert len(stored.path) == len(stored.block_type or "") == LONGEST_TEXT
    assert stored.reason == "no ? here"


def test_an_absurd_count_reaches_no_span() -> None:
    from interlingua.telemetry import usage_attributes, without_none

    assert without_none(usage_attributes(Usage(2**64, 5, 2**64, -1))) == {
        "gen_ai.usage.output_tokens": 5
    }
