"""What the gateway shows of itself: health, numbers, traces, spans and logs, none with content."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import struct
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import interlingua as il
from interlingua.client.answer import Attempt
from interlingua.client.targets import Targets
from interlingua.costs.cost import cost_of
from interlingua.costs.table import bundled
from interlingua.events.catalogue import CATALOGUE, load_payload
from interlingua.events.event import NO_SESSION
from interlingua.events.payloads import LlmCallCompleted
from interlingua.gateway.keys.tariffs import Pricer
from interlingua.gateway.server.worker import set_up_logs, without_secrets
from interlingua.gateway.settings import RouteSettings, Telemetry
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Outcome, Principal
from interlingua.gateway.telemetry import metrics as seen_metrics
from interlingua.gateway.telemetry.metrics import (
    MOST_MODELS,
    MOST_ROUTES,
    MOST_TEAMS,
    Metrics,
    without_money,
)
from interlingua.gateway.telemetry.records import Losses, completed, event_row, failed
from interlingua.gateway.telemetry.trace import Spans, Tracer
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage
from interlingua.store.errors import StoreError
from interlingua.store.open import open_async_store
from interlingua.store.requests import RequestRow
from interlingua.store.rows import EventRow
from tests.agents.chat.provider import KEY
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, asked, key, served, settings_in

CANARY = "the-unspeakable-canary-phrase"
TARGETS = Targets(keys={"anthropic": "k", "openai": "k"})


def exchange(model: str = ANTHROPIC, **changes: Any) -> Exchange:
    """One that went well, but for `changes` of any of its parts."""

    def given(kind: type[msgspec.Struct]) -> dict[str, Any]:
        names = [name for name in kind.__struct_fields__ if name in changes]
        return {name: changes.pop(name) for name in names}

    arrival = Arrival(**{"id": "req_1", "front": "openai-chat"} | given(Arrival))
    decision = Decision(**{"target": TARGETS.find(model)} | given(Decision))
    tries = (Attempt(model),)
    usage = Usage(input_tokens=10, output_tokens=5)
    outcome = Outcome(**{"status": 200, "tries": tries, "usage": usage} | given(Outcome))
    assert not changes
    return Exchange(arrival, decision, outcome)


def test_health_says_when_the_gateway_goes_and_asks_no_model(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            assert (await gateway.ask("GET", "/health/live"))[0] == 200
            assert (await gateway.ask("GET", "/health/ready"))[:2] == (200, {"status": "ready"})
            gateway.service.going()
            assert (await gateway.ask("GET", "/health/live"))[0] == 200
            status, reply, _ = await gateway.ask("GET", "/health/ready")
            assert (status, reply["status"]) == (503, "draining")
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(run(provider))


def test_health_says_when_the_store_does_not_answer(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as gateway:

            async def away(*given: Any, **named: Any) -> Any:
                raise StoreError("here", "gone", "unreachable")

            gateway.service.store.keys = away  # type: ignore[method-assign]
            status, reply, _ = await gateway.ask("GET", "/health/ready")
            assert (status, reply["store"]) == (503, "unreachable")

    asyncio.run(run())


def test_numbers_count_requests_tokens_cost_and_errors(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for words in ("hi", "hi again", "fail"):
                await gateway.ask("POST", "/v1/chat/completions", asked(words))
            await gateway.ask("POST", "/v1/chat/completions", asked("s", stream=True))
            odd = asked("hi", "anthropic:claude-of-tomorrow")
            await gateway.ask("POST", "/v1/chat/completions", odd)
            await gateway.stored()
            _, text, headers = await gateway.ask("GET", "/metrics")
            assert headers["content-type"].startswith("text/plain")
            assert _number(text, "interlingua_requests_total", status="200") == 4
            assert _number(text, "interlingua_requests_total", status="400") == 1
            assert _number(text, "interlingua_upstream_errors_total", kind="invalid_request") == 1
            assert _number(text, "interlingua_tokens_total", kind="input") == 400
            assert _number(text, "interlingua_unpriced_requests_total") == 1
            assert _number(text, "interlingua_cost_usd_total") == pytest.approx(0.0018)
            assert _number(text, "interlingua_first_byte_seconds_count") == 1
            assert _number(text, "interlingua_in_flight") == 1, "the one that asks"

    with Upstream() as provider:
        asyncio.run(run(provider))


def _number(text: str, name: str, **labels: str) -> float:
    found = 0.0
    for line in text.splitlines():
        if line.startswith((f"{name}{{", f"{name} ")) and all(
            f'{key}="{value}"' in line for key, value in labels.items()
        ):
            found += float(line.rpartition(" ")[2])
    return found


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), max_size=20))
def test_no_label_has_what_a_client_made_up(names: list[str]) -> None:
    metrics = Metrics()
    for name in names:
        target = TARGETS.find("openai:gpt-4.1")
        odd = msgspec.structs.replace(target, model=f"openai:{name}-canary", name=name)
        metrics.finished(exchange(target=odd, client_model=f"{name}-canary"), 1.0)
    text = metrics.text().decode()
    assert "canary" not in text
    assert _number(text, "interlingua_requests_total", target="openai:other") == len(names)


def test_even_known_models_are_only_so_many() -> None:
    known = [f"openai:m{n}" for n in range(MOST_MODELS + 50)]
    metrics = Metrics(known)
    target = TARGETS.find("openai:gpt-4.1")
    for name in known:
        each = msgspec.structs.replace(target, model=name, name=name)
        metrics.finished(exchange(target=each), 1.0)
    text = metrics.text().decode()
    assert len(set(re.findall(r'requests_total\{[^}]*target="([^"]+)"', text))) == MOST_MODELS + 1


def test_routes_and_teams_are_labels_and_only_so_many() -> None:
    routes = {f"r{n}": RouteSettings("openai:gpt-4.1") for n in range(MOST_ROUTES + 5)}
    metrics = Metrics((), lambda: {**routes, "gpt-*": RouteSettings("openai:*")})
    target = TARGETS.find("openai:gpt-4.1")
    for name in ("gpt-4.1", "gpt-5", "unknown", *routes):
        metrics.finished(exchange(target=target, client_model=name), 1.0)
    for n in range(MOST_TEAMS + 5):
        team = Principal(key_id="gk_1", team_id=f"team_{n}")
        metrics.finished(exchange(target=target, principal=team), 1.0)
    text = metrics.text().decode()
    assert _number(text, "interlingua_requests_total", route="gpt-*") == 2
    assert _number(text, "interlingua_requests_total", route="other") == 6
    assert _number(text, "interlingua_team_requests_total", team="team_1") == 1
    assert _number(text, "interlingua_team_requests_total", team="other") == 5
    assert "unknown" not in text
    assert "team_" not in without_money(text.encode()).decode(), "others do not see teams"


@pytest.mark.requirement("S002-37")
def test_every_exchange_is_in_the_trace_once_with_its_principal(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            from interlingua.gateway.keys.key_admin import add_user

            user = add_user(store, "a@b.example")
        made = key(tmp_path, user_id=user.id)
        async with served(tmp_path) as gateway:
            token = made.token
            _, _, first = await gateway.ask(
                "POST", "/v1/chat/completions", asked("hi", max_tokens=50), token
            )
            await gateway.ask("POST", "/v1/chat/completions", asked("fail", max_tokens=50), token)
            await gateway.ask("POST", "/v1/chat/completions", {"model": 3}, token)
        async with await open_async_store(str(tmp_path / "gateway.db")) as after:
            rows = await after.events(NO_SESSION)
        by_type: dict[str, list[EventRow]] = {}
        for row in rows:
            by_type.setdefault(row.type, []).append(row)
        assert set(by_type) == {"llm.call_completed", "llm.call_failed"}
        (done,) = by_type["llm.call_completed"]
        payload = load_payload(done.type, json.dumps(done.payload))
        assert isinstance(payload, LlmCallCompleted)
        assert payload.request_id == first["x-request-id"]
        assert payload.gateway_key_id == made.key.id
        assert (payload.user_id, payload.inbound_shape) == (user.id, "openai-chat")
        assert (payload.input_tokens, payload.output_tokens) == (100, 20)
        assert payload.cost_usd == Decimal("0.0006")
        (failed,) = by_type["llm.call_failed"]
        assert failed.payload["error_class"] == "invalid_request"
        assert "luck" not in json.dumps(failed.payload), "what a provider said stays out"
        assert "a@b.example" not in json.dumps([row.payload for row in rows])

    with Upstream() as provider:
        asyncio.run(run(provider))


class Away:
    """A store, as far as a trace asks it, that fails as often as it is told."""

    def __init__(self, fails: int) -> None:
        self.fails = fails
        self.rows: list[EventRow] = []

    async def append_requests(self, requests: list[RequestRow], events: list[EventRow]) -> None:
        if self.fails:
            self.fails -= 1
            raise StoreError("here", "gone", "unreachable")
        assert [f"req_{event.id}" for event in events] == [request.id for request in requests]
        self.rows += events


def test_a_store_that_comes_back_gets_every_event_once() -> None:
    async def run() -> None:
        store = Away(3)
        tracer = Tracer(store)  # type: ignore[arg-type]  # as much of one as it asks
        for n in range(1200):
            tracer.finished(exchange(id=f"req_{n}"))
        while store.fails:
            await asyncio.sleep(0.01)
        await tracer.close()
        assert [row.payload["request_id"] for row in store.rows] == [
            f"req_{n}" for n in range(1200)
        ]
        assert len({row.id for row in store.rows}) == 1200

    asyncio.run(run())


class Slow:
    """A store that writes when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may = asyncio.Event(), asyncio.Event()
        self.rows: list[EventRow] = []

    async def append_requests(
        self, requests: list[RequestRow], events: list[EventRow] | None = None
    ) -> None:
        self.asked.set()
        await self.may.wait()
        self.rows += events or []


def test_a_flush_waits_for_what_is_being_written() -> None:
    async def run() -> None:
        store = Slow()
        tracer = Tracer(store)  # type: ignore[arg-type]  # as much of one as it asks
        tracer.finished(exchange(id="req_1"))
        await store.asked.wait()
        flushing = asyncio.ensure_future(tracer.flush())
        for _ in range(10):
            await asyncio.sleep(0)  # as far as it gets
        assert not flushing.done()
        store.may.set()
        await flushing
        assert [row.payload["request_id"] for row in store.rows] == ["req_1"]
        await tracer.close()

    asyncio.run(run())


def test_what_the_trace_cannot_take_is_counted_and_never_waited_for() -> None:
    async def run() -> None:
        metrics = Metrics()
        tracer = Tracer(Away(10**9), metrics=metrics, capacity=10)  # type: ignore[arg-type]
        for n in range(25):
            tracer.finished(exchange(id=f"req_{n}"))
        assert tracer.dropped == 15
        await tracer.close(timeout=0.2)
        tracer.finished(exchange())
        assert _number(metrics.text().decode(), "interlingua_trace_dropped_total") == 16

    asyncio.run(run())


def lossy(id: str, **changes: Any) -> Exchange:
    report = Report("anthropic")
    report.add("dropped", "$.options.seed", "no place for it")
    return exchange(id=id, report=report, **changes)


def test_loss_reports_are_bounded_in_number_and_time() -> None:
    async def run() -> None:
        now = [1000.0]
        losses = Losses(None, seconds=60, most=5, clock=lambda: now[0])
        for n in range(9):
            losses.keep(lossy(f"req_{n}"))
        assert len(losses) == 5
        assert await losses.find("req_3", Principal()) is None
        stored = await losses.find("req_8", Principal())
        assert stored is not None
        assert stored.as_json()["losses"][0]["path"] == "$.options.seed"
        now[0] += 61
        assert await losses.find("req_8", Principal()) is None
        losses.keep(lossy("req_9"))
        assert len(losses) == 1

    asyncio.run(run())


def test_another_worker_tells_a_loss_report_from_the_trace(tmp_path: Path) -> None:
    async def run() -> None:
        own, other = Principal(key_id="gk_1"), Principal(key_id="gk_2")
        async with await open_async_store(str(tmp_path / "s.db")) as store:
            tracer = Tracer(store, losses=Losses(store))
            tracer.finished(lossy("req_01M7HB1FPFC3W567BAGX95NH9Z", principal=own))
            await tracer.close()
            there = Losses(store)
            id = "req_01M7HB1FPFC3W567BAGX95NH9Z"
            stored = await there.find(id, own)
            assert stored is not None
            assert [loss.path for loss in stored.losses] == ["$.options.seed"]
            assert await there.find(id, other) is None
            assert await there.find(id, Principal()) is None

    asyncio.run(run())


def test_spans_have_the_names_of_the_convention_and_no_content() -> None:
    out = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(out))
    spans = Spans(provider.get_tracer("test"))
    usage = Usage(input_tokens=10, cached_input_tokens=90, output_tokens=5)
    spans.finished(exchange(usage=usage, stop_reason=il.StopReason.END_TURN), 250.0)
    spans.finished(exchange(OPENAI, error=ErrorKind.RATE_LIMIT, status=429), 10.0)
    good, bad = out.get_finished_spans()
    assert good.name == "chat claude-sonnet-4-6"
    result = dict(good.attributes or {})
    assert result["gen_ai.provider.name"] == "anthropic"
    assert result["gen_ai.usage.input_tokens"] == 100, "the convention counts cached ones as input"
    assert result["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert not any("messages" in name or "instructions" in name for name in result)
    assert good.end_time is not None
    assert good.start_time is not None
    assert good.end_time - good.start_time == 250_000_000
    assert dict(bad.attributes or {})["error.type"] == "rate_limit"
    assert not bad.status.is_ok


def test_nothing_that_was_said_and_no_secret_is_in_any_log_or_trace(tmp_path: Path) -> None:
    out = io.StringIO()
    before = {name: _state(name) for name in ("interlingua", "uvicorn", "uvicorn.error")}

    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path).token
        result = Telemetry(log="json", log_level="debug", log_requests=True)
        set_up_logs(result, out)
        async with served(tmp_path, replace(settings_in(tmp_path), telemetry=result)) as gateway:
            paths = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/sessions")
            for path in paths:
                for words in (CANARY, f"fail {CANARY}", f"break {CANARY}"):
                    for stream in (True, False):
                        body = asked(words, stream=stream, max_tokens=9, input=words)
                        await gateway.ask("POST", path, body, token)
                        await gateway.ask(
                            "POST", f"{path}?key={token}", {**body, "model": "nothing:x"}
                        )
                        await gateway.ask("POST", path, body, f"{token}x")
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, token)
            await gateway.ask(
                "POST", f"/sessions/{made['id']}/turns", {"content": f"fail {CANARY}"}, token
            )
            await gateway.ask("GET", f"/losses/{CANARY}", token=token)
            _, text, _ = await gateway.ask("GET", "/metrics", token=token)
            assert CANARY not in text
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            events = store.events(NO_SESSION, limit=1000)
        assert len(events) > 5
        shown = json.dumps([event.payload for event in events])
        for secret in (token, KEY, CANARY):
            assert secret not in shown
            assert secret not in out.getvalue()

    try:
        with Upstream() as provider:
            asyncio.run(run(provider))
    finally:
        for name, (handlers, propagate, level) in before.items():
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate, logger.level = handlers, propagate, level
            logger.manager._clear_cache()  # type: ignore[attr-defined]
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {"request", "auth_failed"} <= {line["event"] for line in lines}
    assert all({"at", "level", "event", "logger"} <= set(line) for line in lines)
    for line in lines:
        assert datetime.fromisoformat(line["at"]).tzinfo is not None, "times are ISO, in UTC"
        if line["event"] == "request":
            refused = 400 <= line["status"] != 499
            assert line["level"] == ("warning" if refused else "info"), line
            assert "attempts" in line
    assert any("route" in line for line in lines if line["event"] == "request")


def _state(name: str) -> tuple[list[logging.Handler], bool, int]:
    logger = logging.getLogger(name)
    return list(logger.handlers), logger.propagate, logger.level


_COUNTS = st.none() | st.integers(0, 10**9)


@given(
    st.sampled_from(sorted(bundled())) | st.just("openai:unheard-of"),
    st.builds(
        Usage,
        input_tokens=_COUNTS,
        output_tokens=_COUNTS,
        cached_input_tokens=_COUNTS,
        cache_creation_input_tokens=_COUNTS,
    ),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),
)
def test_what_an_exchange_cost_is_what_the_prices_say(
    model: str, usage: Usage, at: datetime
) -> None:
    try:
        exact = cost_of(usage, model, None, at).total
    except il.InterlinguaError:
        exact = None
    assert PRICER.cost(usage, model, at) == exact


PRICER = Pricer()


@given(st.text(st.characters(codec="ascii"), max_size=30))
def test_what_looks_like_a_key_is_taken_out_of_lines(before: str) -> None:
    for secret in ("gw_abcdefghijk", "sk-ant-api03-abcdefgh", "AIzaSyABCDEFGHIJ", "xai-0123456789"):
        assert secret not in without_secrets(f"{before} {secret} and more")
        assert secret not in without_secrets(f"{before} Bearer {secret}")
        assert secret not in without_secrets(f"GET /x?key={secret}&a=b")


def test_every_event_that_the_gateway_writes_is_in_the_catalogue() -> None:
    done = event_row("llm.call_completed", exchange(), 5.0, completed(exchange(), None, None))
    odd = exchange(error=ErrorKind.NETWORK, status=502)
    broken = event_row("llm.call_failed", odd, 5.0, failed(odd))
    for row in (done, broken):
        assert row.type in CATALOGUE
        assert (row.actor, row.sensitivity) == (
            CATALOGUE[row.type].actor.value,
            CATALOGUE[row.type].floor.value,
        )
    assert isinstance(load_payload(done.type, json.dumps(done.payload)), LlmCallCompleted)


def test_a_worker_that_begins_does_not_spoil_the_numbers_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "counter_1.db"
    empty.touch()
    monkeypatch.setenv(seen_metrics.FOLDER, str(tmp_path))
    read = seen_metrics._of_all_workers

    def begun() -> bytes:
        try:
            return read()
        finally:
            empty.unlink(missing_ok=True)

    with pytest.raises(struct.error):
        read()
    monkeypatch.setattr(seen_metrics, "_of_all_workers", begun)
    assert Metrics().text() == b""
