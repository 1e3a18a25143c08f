"""Losses of requests have their places in the client's own body."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from interlingua.adapt.places import Source
from interlingua.dialects.registry import dialect
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, ReportSource
from interlingua.gateway.telemetry import places as module
from interlingua.gateway.telemetry.places import Places
from interlingua.gateway.telemetry.records import Losses
from interlingua.gateway.telemetry.trace import Tracer
from interlingua.model.losses import Loss, Report
from tests.gateway.serving import Served, Upstream, asked, served

CANARY = "the-unspeakable-canary-phrase"
BODY = json.dumps(asked(CANARY, seed=3)).encode()


def lossy(id: str = "req_1", body: bytes = BODY, has_messages: bool = True) -> Exchange:
    report = Report("anthropic")
    report.add("dropped", "$.options.seed", "no place for it")
    report.add("dropped", "$.messages[0].content[0]", "no place for it")
    report.add("dropped", "$.options.seed", "of the answer")
    source = ReportSource(body, "openai-chat", None, None, 2, has_messages)
    return Exchange(Arrival(id, "openai-chat"), Decision(report=report, source=source))


def at_of(exchange: Exchange) -> list[tuple[str, ...]]:
    assert exchange.decision.report is not None
    assert exchange.decision.source is None, "the body is forgotten"
    return [entry.at for entry in exchange.decision.report.entries]


async def found(exchange: Exchange, places: Places | None = None) -> list[tuple[str, ...]]:
    places = Places() if places is None else places
    places.add(exchange)
    await places.find(exchange.arrival.id)
    assert len(places) == 0
    return at_of(exchange)


def test_places_are_those_of_the_body_that_was_sent(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            body = asked(CANARY, seed=3, logit_bias={"1": 5})
            status, _, headers = await gateway.ask("POST", "/v1/chat/completions", body)
            assert status == 200
            id = headers["x-request-id"]
            _, report, _ = await gateway.ask("GET", f"/losses/{id}")
            places = {loss["path"]: loss.get("at") for loss in report["losses"]}
            assert places["$.options.seed"] == ["$.seed"]
            assert ["$.logit_bias"] in places.values()
            await stored(gateway, id, report["losses"])

    with Upstream() as provider:
        asyncio.run(run(provider))
    for file in tmp_path.glob("gateway.db*"):
        assert CANARY.encode() not in file.read_bytes()


async def stored(gateway: Served, id: str, losses: list[Any]) -> None:
    """The same is in the store, for the page and for other workers."""
    await gateway.stored()
    _, row, _ = await gateway.ask("GET", f"/requests/{id}")
    assert row["report"]["losses"] == losses
    there = await Losses(gateway.service.store)._stored(id)
    assert there is not None
    assert json.loads(json.dumps(there.as_json()["losses"])) == losses


def test_entries_of_the_answer_have_no_place_in_the_request() -> None:
    assert asyncio.run(found(lossy())) == [("$.seed",), ("$.messages[0].content",), ()]


def test_messages_that_were_changed_have_no_places() -> None:
    assert asyncio.run(found(lossy(has_messages=False))) == [("$.seed",), (), ()]


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", len(BODY))
    places = Places()
    first, second = lossy("req_1"), lossy("req_2")
    places.add(first)
    places.add(second)
    assert len(places) == 1
    assert at_of(second) == [(), (), ()]
    asyncio.run(places.find("req_1"))
    assert at_of(first)[0] == ("$.seed",)
    assert asyncio.run(found(lossy("req_3"), places))[0] == ("$.seed",), "there is room again"


def test_the_share_of_the_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    places = Places(clock=lambda: now[0])

    def slow(source: ReportSource, entries: list[Loss]) -> list[Loss]:
        now[0] += 1.5
        return located(source, entries)

    located = module._located
    monkeypatch.setattr(module, "_located", slow)
    assert asyncio.run(found(lossy("req_1"), places))[0] == ("$.seed",)
    assert asyncio.run(found(lossy("req_2"), places))[0] == ()
    now[0] += 10
    assert asyncio.run(found(lossy("req_3"), places))[0] == ("$.seed",)


def test_a_search_ends_in_time() -> None:
    source = Source(BODY, "openai-chat", dialect("openai-chat").read_request, (None, None), -1.0)
    assert source.places([Loss("dropped", "$.options.seed", "")]) == [()]


def test_a_body_that_cannot_be_searched_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        tracer = Tracer(losses=Losses())
        broken, whole = lossy("req_1", b'{"seed": NaN'), lossy("req_2")
        tracer.finished(broken)
        tracer.finished(whole)
        await tracer.flush()
        assert (at_of(broken)[0], at_of(whole)[0]) == ((), ("$.seed",))
        await tracer.close()

    asyncio.run(run())
    assert [record.message for record in caplog.records] == ["places_failed"]


def test_a_cancelled_search_loses_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        tracer = Tracer(losses=Losses())
        tracer.finished(lossy())
        begun = asyncio.Event()

        async def never(self: Places, exchange: Exchange) -> None:
            begun.set()
            await asyncio.sleep(60)

        monkeypatch.setattr(Places, "_find", never)
        await asyncio.wait_for(begun.wait(), 5)
        assert len(tracer._notes) == 1
        await tracer.close()
        assert not tracer._notes
        assert not len(tracer.losses.places if tracer.losses else [])

    asyncio.run(run())


def test_without_losses_nothing_waits() -> None:
    async def run() -> None:
        tracer = Tracer(losses=Losses())
        exchange = lossy()
        exchange.decision = Decision(None, Report("anthropic"), exchange.decision.source)
        tracer.finished(exchange)
        assert tracer.losses is not None
        assert not len(tracer.losses.places)
        assert exchange.decision.source is None
        await tracer.close()

    asyncio.run(run())
