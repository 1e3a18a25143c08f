"""The gateway deletes old rows by itself, and says so in its trace."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from interlingua.events.event import NO_SESSION
from interlingua.gateway.settings import Retention
from interlingua.gateway.telemetry import records
from interlingua.gateway.telemetry.records import before_of
from interlingua.model.ids import first_ulid
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.requests import RequestRow
from interlingua.store.rows import EventRow
from tests.gateway.serving import OPENAI, Upstream, asked, served, settings_in
from tests.loopback import reply

OLD = datetime.now(UTC) - timedelta(days=100)


async def fill(store: AsyncStore) -> None:
    ids = [first_ulid(int(OLD.timestamp() * 1000) + number) for number in range(5)]
    rows = [RequestRow(f"req_{id}", OLD, "openai-chat", 200, 1) for id in ids]
    events = [
        EventRow(id, NO_SESSION, "llm.call_failed", OLD, "agent", "private", {}) for id in ids
    ]
    await store.append_requests(rows, events)


async def until_swept(store: AsyncStore) -> list[EventRow]:
    async with asyncio.timeout(10):
        while not (found := await store.events(NO_SESSION, types=["trace.swept"])):
            await asyncio.sleep(0.02)
    return found


def test_old_rows_are_deleted_in_the_background(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "FIRST", 0.05)

    async def work() -> None:
        settings = settings_in(tmp_path, store=address)
        async with served(tmp_path, settings) as gateway:
            await fill(gateway.service.store)
            [event] = await until_swept(gateway.service.store)
            assert event.payload["deleted"] == 4
            assert event.payload["older_than"] < datetime.now(UTC).isoformat()
            assert len(await gateway.service.store.requests()) == 1

    asyncio.run(work())


def test_a_sweep_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FIRST", 0.0)
    monkeypatch.setattr(records, "EVERY", 0.05)

    async def work() -> None:
        async with served(tmp_path) as gateway:
            store = gateway.service.store
            real, failures = store.sweep, [ValueError("odd"), StoreError("here", "busy", "busy")]

            async def failing(*given: object) -> object:
                if failures:
                    raise failures.pop()
                return await real(*given)  # type: ignore[arg-type]  # passed on

            store.sweep = failing  # type: ignore[method-assign, assignment]
            await fill(store)
            await until_swept(store)

    asyncio.run(work())


def test_zero_days_keep_things_for_ever() -> None:
    assert before_of(Retention(0, 0, 0)) == (None, None, None)
    assert before_of(Retention(1e12, 90, 30))[0] is None


class Silent(Upstream):
    """A provider that reports no usage."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": "Hi."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        collected = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        reply(handler, json.dumps({**collected, "choices": [choice]}).encode())


def test_an_answer_without_usage_has_a_cost_that_is_not_known(tmp_path: Path) -> None:
    async def work(provider: Silent) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            status, _, _ = await gateway.ask("POST", "/v1/chat/completions", asked("Hi", OPENAI))
            assert status == 200
            await gateway.stored()
            _, listed, _ = await gateway.ask("GET", "/requests")
            (row,) = listed["requests"]
            assert row["usage"] == {"unpriced": ["uncounted tokens"]}
            _, stats, _ = await gateway.ask("GET", "/stats")
            assert (stats["week"]["unpriced"], stats["week"]["cost_usd"]) == (1, None)
            (found,) = await gateway.service.store.request_costs()
            assert (found.name, found.requests, found.unpriced) == (OPENAI, 1, 1)

    with Silent() as provider:
        asyncio.run(work(provider))
