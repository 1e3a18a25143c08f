"""Turns of one session seen, stopped and waited for from other gateways on the same store."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.sessions import live
from interlingua.sessions import holding
from tests.gateway.serving import OPENAI, Served, Upstream, served, settings_in


async def _begun(gateway: Served, words: str = "slow") -> str:
    _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."})
    id = str(made["id"])
    status, reply, _ = await gateway.ask("POST", f"/sessions/{id}/turns", {"content": words})
    assert status == 202, reply
    return id


async def _last_message(gateway: Served, id: str) -> Any:
    _, page, _ = await gateway.ask("GET", f"/sessions/{id}/messages")
    return page["messages"][-1]


def test_a_turn_is_cancelled_from_another_gateway(tmp_path: Path, address: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        settings = settings_in(tmp_path, store=address)
        async with served(tmp_path, settings) as here, served(tmp_path, settings) as there:
            id = await _begun(here)
            while not provider.requests:
                await asyncio.sleep(0.01)
            _, shown, _ = await there.ask("GET", f"/sessions/{id}")
            assert shown["turn_in_flight"] is True
            _, listed, _ = await there.ask("GET", "/sessions")
            assert [each["turn_in_flight"] for each in listed["sessions"]] == [True]
            _, changed, _ = await there.ask("PATCH", f"/sessions/{id}", {"active_model": OPENAI})
            assert (changed["active_model"], changed["swap_queued"]) == (OPENAI, True)
            status, reply, _ = await there.ask("POST", f"/sessions/{id}/cancel")
            assert (status, reply) == (202, {"cancelled": True})
            assert await asyncio.to_thread(provider.left.wait, 5), "the provider was let go"
            async with asyncio.timeout(30):  # it is let go before it is written down
                while here.service.turns.running(id) is not None:
                    await asyncio.sleep(0.01)
            answer = await _last_message(there, id)
            assert answer["metadata"]["status"] == "cancelled"
            _, reply, _ = await there.ask("POST", f"/sessions/{id}/cancel")
            assert reply == {"cancelled": False}
            _, shown, _ = await there.ask("GET", f"/sessions/{id}")
            assert (shown["turn_in_flight"], shown["active_model"]) == (False, OPENAI)

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_a_session_is_purged_from_another_gateway_only_after_its_turn_was_stopped(
    tmp_path: Path,
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as here, served(tmp_path) as there:
            id = await _begun(here)
            while not provider.requests:
                await asyncio.sleep(0.01)
            status, reply, _ = await there.ask("DELETE", f"/sessions/{id}?purge=true")
            assert (status, reply["purged"]) == (200, True)
            assert await asyncio.to_thread(provider.left.wait, 5)
            assert here.service.turns.running(id) is None
            for gateway in (here, there):
                assert (await gateway.ask("GET", f"/sessions/{id}/messages"))[0] == 404

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_a_model_that_thinks_for_long_is_not_taken_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another gateway neither begins a turn nor says that the first one's was interrupted."""
    monkeypatch.setattr(holding, "SILENCE", timedelta(seconds=1))
    monkeypatch.setattr(live, "TOUCH", 0.2)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.pace = 2.5  # after the first piece nothing comes for so long
        async with served(tmp_path) as here, served(tmp_path) as there:
            id = await _begun(here)
            end = time.monotonic() + 2.2
            tried = 0
            while time.monotonic() < end:
                await asyncio.sleep(0.3)
                status, reply, _ = await there.ask(
                    "POST", f"/sessions/{id}/turns", {"content": "more"}
                )
                assert (status, reply["error"]["code"]) == (409, "turn_in_flight")
                tried += 1
            assert tried > 4
            _, trace, _ = await there.ask("GET", f"/sessions/{id}/events?types=turn.started")
            assert len(trace["events"]) == 1
            last = await _last_message(there, id)
            assert last.get("metadata", {}).get("status") != "error"
            assert (await there.ask("POST", f"/sessions/{id}/cancel"))[1] == {"cancelled": True}

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_a_turn_of_a_worker_that_died_holds_nobody_up_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "SILENCE", timedelta(seconds=1))
    monkeypatch.setattr(live, "TOUCH", 60.0)  # it says nothing any more

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.pace = 5.0
        async with served(tmp_path) as here, served(tmp_path) as there:
            id = await _begun(here)
            await asyncio.sleep(2.2)
            assert (await there.ask("POST", f"/sessions/{id}/cancel"))[1] == {"cancelled": False}
            provider.pace = 0.0
            status, _, _ = await there.ask("POST", f"/sessions/{id}/turns", {"content": "hello"})
            assert status == 202
            await here.ask("POST", f"/sessions/{id}/cancel")

    with Upstream() as provider:
        asyncio.run(work(provider))
