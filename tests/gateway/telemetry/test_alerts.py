"""Alerts by webhook: signed, tried again, few, and without content."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from interlingua.errors import InterlinguaError
from interlingua.events.payloads import KeyRevoked, ProviderDegraded, QuotaAlert
from interlingua.gateway.settings import AlertSettings, RouteSettings
from interlingua.gateway.telemetry.metrics import FEWEST
from interlingua.gateway.telemetry.places import SIGNATURE, WAITING, Alerts, signature
from interlingua.store.errors import StoreError
from tests.gateway.endpoints.vendors import Reply, Vendors
from tests.gateway.serving import OPENAI, Upstream, asked, key, served, settings_in

SECRET = "a secret of the webhook"
VARIABLE = "INTERLINGUA_ALERT_SECRET"


class Hook:
    """A receiver that fails as often as it is asked to."""

    def __init__(self) -> None:
        self.failures = 0
        self.got: list[dict[str, Any]] = []
        self.url = ""

    async def receive(self, request: web.Request) -> web.Response:
        body = await request.read()
        sent = request.headers[SIGNATURE]
        at = int(sent.partition(",")[0].removeprefix("t="))
        assert sent == signature(SECRET, at, body)
        assert sent != signature("another", at, body)
        if self.failures:
            self.failures -= 1
            return web.Response(status=503)
        self.got.append(json.loads(body))
        return web.Response()


@asynccontextmanager
async def hook() -> AsyncIterator[Hook]:
    made = Hook()
    app = web.Application()
    app.router.add_post("/hook", made.receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield made
    finally:
        await runner.cleanup()


def test_alerts_are_signed_tried_again_and_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)

    async def run() -> None:
        async with hook() as receiver:
            alerts = Alerts(AlertSettings(receiver.url), pauses=(0.0, 0.01, 0.01))
            receiver.failures = 2
            cap = QuotaAlert("key", "day", 80, Decimal(5), Decimal(4), "gk_1")
            for _ in range(5):
                alerts.add("quota.alert", cap)
            alerts.add("gateway.key_revoked", KeyRevoked("gk_1"))
            await alerts.close()
            assert [each["type"] for each in receiver.got] == ["quota.alert"]
            assert receiver.got[0]["limit_usd"] == "5"
            receiver.failures = 3
            alerts.add("store.failing", {"reason": "full"})
            await alerts.close()
            assert len(receiver.got) == 1, "given up after three attempts"
            for n in range(3 * WAITING):
                alerts.add("provider.degraded", ProviderDegraded(f"p{n}", "fails"))
            await alerts.close()
            assert len(receiver.got) <= 1 + WAITING
            assert receiver.got[-1]["provider"] == f"p{3 * WAITING - 1}", "the oldest made room"

    asyncio.run(run())


def test_nothing_is_sent_without_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    async def run() -> None:
        async with hook() as receiver:
            alerts = Alerts(AlertSettings(receiver.url))
            alerts.add("store.failing", {"reason": "full"})
            await alerts.close()
            assert receiver.got == []

    asyncio.run(run())


def test_a_cap_that_is_spent_reaches_the_webhook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)

    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        made = key(tmp_path, daily_cap_usd=Decimal("0.000001"))
        async with hook() as receiver:
            settings = settings_in(tmp_path, alerts=AlertSettings(receiver.url))
            async with served(tmp_path, settings) as gateway:
                body = asked("a canary", max_tokens=1000)
                status, _, _ = await gateway.ask("POST", "/v1/chat/completions", body, made.token)
                assert status == 429
            (alert,) = receiver.got
            assert alert["type"] == "gateway.quota_exceeded"
            assert alert["gateway_key_id"] == made.key.id
            assert "canary" not in json.dumps(receiver.got)
            assert made.token not in json.dumps(receiver.got)

    with Upstream() as provider:
        asyncio.run(run(provider))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings", "/v1/moderations"])
@pytest.mark.parametrize("status", [401, 429, 500, None])
def test_a_route_that_fails_reaches_the_webhook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, status: int | None
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)

    async def run(provider: Vendors) -> None:
        provider.configure(tmp_path)
        if status is None:
            nobody = '[providers.openai]\nbase_url = "http://127.0.0.1:9/v1"\nkey = "any"\n'
            (tmp_path / "providers.toml").write_text(nobody)
        async with hook() as receiver:
            routes = {"busy": RouteSettings(OPENAI, retries=0)}
            alerts = AlertSettings(receiver.url)
            settings = settings_in(tmp_path, alerts=alerts, routes=routes)
            async with served(tmp_path, settings) as gateway:
                for _ in range(FEWEST):
                    body = {**asked("a canary", "busy"), "input": "a canary"}
                    answer = await gateway.ask("POST", path, body)
                    assert answer[0] >= 400
                await gateway.stored()
            (alert,) = receiver.got
            assert (alert["type"], alert["route"]) == ("provider.degraded", "busy")
            assert "canary" not in json.dumps(receiver.got)

    failed = None if status is None else Reply({"error": {"message": "no"}}, status)
    with Vendors(lambda _: failed) as provider:
        asyncio.run(run(provider))


def test_a_store_that_takes_nothing_reaches_the_webhook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)

    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with hook() as receiver:
            settings = settings_in(tmp_path, alerts=AlertSettings(receiver.url))
            async with served(tmp_path, settings) as gateway:
                store = gateway.service.store

                async def full(*_: Any) -> None:
                    raise StoreError("gateway.db", "database or disk is full", "full")

                monkeypatch.setattr(store, "append_requests", full)
                monkeypatch.setattr(store, "append_events", full)
                status, _, _ = await gateway.ask("POST", "/v1/chat/completions", asked("a canary"))
                assert status == 200, "clients are served meanwhile"
                with pytest.raises(InterlinguaError, match="could not be stored"):
                    await gateway.service.tracer.flush()
                alerts = gateway.service.tracer.alerts
                assert alerts is not None
                await alerts.close()
                monkeypatch.undo()
            (alert,) = receiver.got
            assert (alert["type"], alert["reason"]) == ("store.failing", "full")
            assert "canary" not in json.dumps(receiver.got)

    with Upstream() as provider:
        asyncio.run(run(provider))
