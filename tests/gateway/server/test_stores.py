"""The same on both engines, and two gateways on one store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import interlingua as il
from interlingua.events.event import NO_SESSION
from interlingua.gateway.keys.key_admin import Terms, issue
from tests.gateway.serving import Upstream, asked, served, settings_in


def test_what_one_gateway_keeps_another_one_tells(tmp_path: Path, address: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        settings = settings_in(tmp_path, store=address)
        with il.open_store(address) as store:
            token = issue(store, "one", ".", Terms(keep_content=True)).token
            other = issue(store, "other", ".", Terms(keep_content=True)).token
        async with served(tmp_path, settings) as here, served(tmp_path, settings) as there:
            body = asked("hi", logit_bias={"1": 5}, seed=3)
            _, _, headers = await here.ask("POST", "/v1/chat/completions", body, token)
            await here.stored()
            path = f"/losses/{headers['x-request-id']}"
            status, report, _ = await there.ask("GET", path, token=token)
            assert status == 200
            assert report["count"] == int(headers["x-interlingua-losses"])
            assert (await there.ask("GET", path, token=other))[0] == 404
            _, made, _ = await here.ask("POST", "/sessions", {"workspace_path": "."}, token)
            id = made["id"]
            status, _, _ = await here.ask(
                "POST", f"/sessions/{id}/turns", {"content": "hello \x01 there"}, token
            )
            assert status == 202
            while here.service.turns.running(id) is not None:
                await asyncio.sleep(0.02)
            _, page, _ = await there.ask("GET", f"/sessions/{id}/messages", token=token)
            assert len(page["messages"]) == 2
            status, _, _ = await there.ask(
                "POST", f"/sessions/{id}/turns", {"content": "again"}, token
            )
            assert status == 202, "the next turn may be at the other one"
            while there.service.turns.running(id) is not None:
                await asyncio.sleep(0.02)
            _, page, _ = await here.ask("GET", f"/sessions/{id}/messages", token=token)
            assert len(page["messages"]) == 4
            assert (await there.ask("GET", f"/sessions/{id}", token=other))[0] == 404
            _, trace, _ = await here.ask(
                "GET", f"/sessions/{id}/events?types=llm.call_completed", token=token
            )
            assert len(trace["events"]) == 2

    with Upstream() as provider:
        asyncio.run(work(provider))
    with il.open_store(address) as store:
        assert store.events(NO_SESSION) == [], "each call is in the trace once"


def test_a_session_has_one_turn_at_a_time_in_all_gateways_together(
    tmp_path: Path, address: str
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        settings = settings_in(tmp_path, store=address)
        async with served(tmp_path, settings) as here, served(tmp_path, settings) as there:
            _, made, _ = await here.ask("POST", "/sessions", {"workspace_path": "."})
            path = f"/sessions/{made['id']}/turns"
            both = await asyncio.gather(
                *[each.ask("POST", path, {"content": "slow"}) for each in (here, there) * 4]
            )
            assert sorted(status for status, _, _ in both) == [202, *[409] * 7], both
            await asyncio.sleep(0.3)
            for each in (here, there):
                assert (await each.ask("POST", path, {"content": "more"}))[0] == 409
            _, page, _ = await there.ask("GET", f"/sessions/{made['id']}/messages")
            assert [m["role"] for m in page["messages"]].count("user") == 1
            for each in (here, there):
                await each.ask("POST", f"/sessions/{made['id']}/cancel")
            assert (await there.ask("POST", path, {"content": "hello"}))[0] == 202
            while there.service.turns.running(made["id"]) is not None:
                await asyncio.sleep(0.02)

    with Upstream() as provider:
        asyncio.run(work(provider))
