"""A provider whose calls keep failing is reported once for a while, and refusals in one line."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlingua.client.answer import Attempt
from interlingua.events.event import NO_SESSION
from interlingua.gateway.gateway import CLIENT
from interlingua.gateway.telemetry import metrics, trace
from interlingua.gateway.telemetry.metrics import DegradedProviders
from interlingua.gateway.telemetry.trace import Minute, Tracer
from interlingua.model.exchange import ErrorKind
from interlingua.store.open import open_async_store
from tests.gateway.serving import ANTHROPIC, OPENAI
from tests.gateway.telemetry.test_shown import exchange

FAILED = (Attempt(ANTHROPIC, ErrorKind.SERVER_ERROR, 500),)
REFUSED = (Attempt(ANTHROPIC, ErrorKind.INVALID_REQUEST, 400),)


def test_a_provider_whose_calls_fail_is_reported_once_for_a_while() -> None:
    now = [1000.0]
    providers = DegradedProviders(lambda: now[0])
    found = [providers.add(exchange(tries=FAILED)) for _ in range(30)]
    [report] = [each for each in found if each is not None]
    assert (report.provider, report.error_rate) == ("anthropic", 1.0)
    now[0] += metrics.SILENCE
    found = [providers.add(exchange(tries=FAILED)) for _ in range(metrics.FEWEST)]
    assert [each is not None for each in found].count(True) == 1


@pytest.mark.parametrize("kind", [ErrorKind.AUTH, ErrorKind.RATE_LIMIT])
def test_a_provider_that_takes_our_key_no_more_is_reported_but_not_for_a_client_s(
    kind: ErrorKind,
) -> None:
    ours = exchange(tries=(Attempt(ANTHROPIC, kind),))
    providers = DegradedProviders()
    assert [providers.add(ours) is not None for _ in range(30)].count(True) == 1
    target = ours.decision.target
    assert target is not None
    theirs = replace(target, provider=replace(target.provider, credentials=CLIENT))
    own = exchange(tries=(Attempt(ANTHROPIC, kind),), target=theirs)
    providers = DegradedProviders()
    assert not any(providers.add(own) for _ in range(30))


@pytest.mark.parametrize("tries", [REFUSED, (Attempt(ANTHROPIC),)])
def test_a_caller_s_own_faults_do_not_count(tries: tuple[Attempt, ...]) -> None:
    providers = DegradedProviders()
    assert not any(providers.add(exchange(tries=tries)) for _ in range(100))


def test_the_trace_has_it(tmp_path: Path) -> None:
    async def work() -> None:
        store = await open_async_store(str(tmp_path / "s.db"))
        tracer = Tracer(store)
        for number in range(metrics.FEWEST):
            failed = exchange(id=f"req_{number}", tries=FAILED, error=ErrorKind.SERVER_ERROR)
            tracer.finished(failed)
        await tracer.close()
        [event] = await store.events(NO_SESSION, types=["provider.degraded"])
        assert event.payload["provider"] == "anthropic"
        await store.close()

    asyncio.run(work())


def test_refusals_beyond_the_limit_are_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(trace.time, "time", lambda: 6000.0)

    async def work() -> None:
        store = await open_async_store(str(tmp_path / "s.db"))
        tracer = Tracer(store)
        tracer._refused = Minute(5)
        for number in range(50):
            refused = exchange(
                id=f"req_{number}", target=None, tries=(), status=401, error=ErrorKind.AUTH
            )
            tracer.finished(refused)
        await tracer.close()
        assert tracer.dropped == 45
        assert len(await store.requests(limit=100)) == 5
        await store.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(work())
    names = [record.message for record in caplog.records]
    assert "trace_full" not in names
    assert names.count("refusals_not_logged") == 1


def test_tries_that_failed_are_counted_where_a_later_one_did_not() -> None:
    numbers = metrics.Metrics()
    rescued = (*FAILED, Attempt(OPENAI, ErrorKind.RATE_LIMIT, 429), Attempt(OPENAI))
    numbers.finished(exchange(tries=rescued), 1.0)
    numbers.finished(exchange(tries=(Attempt(OPENAI),), error=ErrorKind.NETWORK), 1.0)  # broke off
    numbers.finished(exchange(tries=(Attempt(OPENAI),)), 1.0)
    text = numbers.text().decode()
    for provider, kind in (
        ("anthropic", "server_error"),
        ("openai", "rate_limit"),
        ("openai", "network"),
    ):
        labels = f'{{kind="{kind}",provider="{provider}"}}'
        assert f"interlingua_upstream_errors_total{labels} 1.0" in text
    assert text.count("\ninterlingua_upstream_errors_total{") == 3
