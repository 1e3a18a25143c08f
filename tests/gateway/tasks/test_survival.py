"""Tasks outlive the process that ran them, and are the same in all that share a store."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua.sessions import holding
from tests.gateway.serving import Served, Upstream, served, settings_in
from tests.gateway.tasks.asking import idle, new, page, read, say, shown, stored, until
from tests.gateway.tasks.kills import tried
from tests.gateway.tasks.test_confirmations import answer, asked


def run(work: Any, pace: float = 0.03) -> None:
    with Upstream(pace) as provider:
        asyncio.run(work(provider))


@asynccontextmanager
async def pair(home: Path, address: str) -> Any:
    """Two gateways on one store."""
    settings = replace(settings_in(home), store=address)
    async with served(home, settings) as one, served(home, settings) as two:
        yield one, two


def test_a_run_that_a_gateway_breaks_off_is_taken_up_by_the_next(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        listen = replace(settings_in(tmp_path).listen, drain_seconds=0.0)
        settings = replace(settings_in(tmp_path), listen=listen)
        async with served(tmp_path, settings) as gateway:
            id = (await new(gateway, tmp_path, "slow"))["id"]
            waiting = await say(gateway, id, "next")
            while not provider.requests:
                await asyncio.sleep(0.01)
        provider.pace = 0.001
        async with served(tmp_path, settings) as gateway:
            task = await shown(gateway, id)
            assert (task["status"], task["interrupted"]) == ("idle", True)
            assert [each["id"] for each in task["queued_messages"]] == [waiting["id"]]
            reply = await page(gateway, id)
            assert reply[-1]["msg"] == "Failed"
            assert reply[-1]["error"]["code"] == "interrupted"
            assert reply[-1]["interrupted"] is True
            status, resumed, _ = await gateway.ask("POST", f"/v1/task/{id}/resume")
            assert (status, resumed["task"]["status"]) == (202, "generating")
            task = await idle(gateway, id)
            assert (task["interrupted"], task["queued"]) == (False, 0)
            reply = await page(gateway, id)
            assert [each["seq"] for each in reply] == list(range(1, len(reply) + 1))
            users = [e["message"]["content"] for e in reply if e.get("queued_id")]
            assert users == ["slow", "next"]
            done = [e["message"]["content"] for e in reply if e["msg"] == "RequestCompleted"]
            assert done[-1].endswith("to: next")
            status, refused, _ = await gateway.ask("POST", f"/task/{id}/resume")
            assert (status, refused["error"]["code"]) == (409, "nothing_to_do")

    run(work)


def test_a_run_whose_process_was_killed_is_found_by_who_looks(tmp_path: Path) -> None:
    """Its word that it runs is not believed when it is gone."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
            store = gateway.service.store
            gone = f"0123@{holding._machine()}:{2**22 + 1}:0123456789abcdef"
            message = il.Message.user("hi")
            await store.queue_message(id, "m1", message, b"{}", holder=gone, seconds=60)
            assert (await store.task(id)).generating
            task = await shown(gateway, id)
            assert (task["status"], task["interrupted"]) == ("idle", True)
            assert [each["id"] for each in task["queued_messages"]] == ["m1"]
            await store.claim_task(id, gone, 60)
            (listed,) = (await gateway.ask("GET", "/tasks"))[1]["tasks"]
            assert listed["interrupted"] is True
            await store.claim_task(id, gone, 60)
            status, reply, _ = await gateway.ask("POST", f"/task/{id}/cancel")
            assert (status, reply["error"]["code"]) == (404, -1)
            assert (await gateway.ask("POST", f"/task/{id}/resume"))[0] == 202
            await idle(gateway, id)
            assert len(provider.requests) == 1

    run(work)


def test_a_task_with_nothing_left_to_go_on_with_is_interrupted_no_longer(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
            store = gateway.service.store
            gone = f"0123@{holding._machine()}:{2**22 + 1}:0123456789abcdef"
            message = il.Message.user("hi")
            await store.queue_message(id, "m1", message, b"{}", holder=gone, seconds=60)
            assert (await shown(gateway, id))["interrupted"] is True
            odd = {"role": "tool", "content": "x", "tool_call_id": "nobody's"}
            assert (await gateway.ask("DELETE", f"/task/{id}/message/m1"))[0] == 200
            assert (await gateway.ask("POST", f"/task/{id}/message", odd))[0] == 400
            assert (await shown(gateway, id))["interrupted"] is True, "nothing has changed"
            reply = await page(gateway, id)
            status, refused, _ = await gateway.ask("POST", f"/task/{id}/resume")
            assert (status, refused["error"]["code"]) == (409, "nothing_to_do")
            assert (await shown(gateway, id))["interrupted"] is False
            assert await page(gateway, id) == reply

    run(work)


def test_a_gateway_looks_for_lost_runs_when_it_starts(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
        gone = f"0123@{holding._machine()}:{2**22 + 1}:0123456789abcdef"
        async with await il.open_async_store(str(tmp_path / "gateway.db")) as store:
            await store.queue_message(
                id, "m1", il.Message.user("hi"), b"{}", holder=gone, seconds=9
            )
            async with served(tmp_path):
                while (await store.task(id)).generating:
                    await asyncio.sleep(0.02)
            assert (await store.task(id)).interrupted

    run(work)


def test_a_message_that_comes_while_a_run_stops_is_still_taken_up(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow"))["id"]
            while not provider.requests:
                await asyncio.sleep(0.01)
            store = gateway.service.store
            await store.stop_task(id, lambda each: b"{}")
            await say(gateway, id, "slow again")
            while len(provider.requests) < 2:
                await asyncio.sleep(0.02)
            assert not (await store.task(id)).stopping, "the new turn is nobody's to stop"
            assert [each["msg"] for each in await page(gateway, id)].count("Cancelled") == 1
            await gateway.ask("POST", f"/task/{id}/cancel")

    run(work, pace=0.05)


def test_two_gateways_have_the_same_tasks(tmp_path: Path, address: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with pair(tmp_path, address) as (one, two):
            id = (await new(one, tmp_path, "slow"))["id"]
            reading = asyncio.ensure_future(until(two, id, "PostConversation"))
            assert (await shown(two, id))["status"] == "generating"
            assert (await two.ask("POST", "/task", {"cwd": str(tmp_path)}))[0] == 409
            value = await say(two, id, "write b.txt")
            assert value["queued"] is True
            provider.pace = 0.005
            question = await asked(two, id)
            assert (await answer(two, id, question["id"], True))[0] == 200
            frames = await reading
            assert (tmp_path / "b.txt").exists()
            assert [frame.data for frame in stored(frames)] == await page(one, id)
            assert await page(two, id) == await page(one, id)
            deltas = [frame.data for frame in frames if frame.name == "maria.delta"]
            assert deltas, "what is being said is heard elsewhere, too"
            await _stopped_elsewhere(one, two, id)

    run(work)


def test_a_folder_that_is_not_here_keeps_a_task_from_running_but_not_from_waiting(
    tmp_path: Path,
) -> None:
    """As it is on a machine that has the store and not the folder."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            folder = tmp_path / "folder"
            folder.mkdir()
            id = (await new(gateway, folder, "slow"))["id"]
            folder.rmdir()
            assert (await say(gateway, id, "next"))["queued"] is True
            assert (await gateway.ask("POST", f"/task/{id}/cancel"))[0] == 200
            for path, body in (("message", {"role": "user", "content": "hi"}), ("resume", None)):
                status, reply, _ = await gateway.ask("POST", f"/task/{id}/{path}", body)
                assert (status, reply["error"]["code"]) == (409, "folder_gone")
            assert (await shown(gateway, id))["status"] == "idle"

    run(work)


async def _stopped_elsewhere(one: Served, two: Served, id: str) -> None:
    await say(one, id, "slow")
    changes = asyncio.ensure_future(_idle_again(two, id))
    status, reply, _ = await two.ask("POST", f"/task/{id}/cancel")
    assert (status, reply) == (200, {"pending_messages": []})
    assert (await page(one, id))[-1]["msg"] == "Cancelled"
    await changes


async def _idle_again(gateway: Served, id: str) -> None:
    async with asyncio.timeout(30):
        async for frame in read(gateway, "/events"):
            tasks = frame.data.get("tasks") or [frame.data.get("task")]
            if any(task and task["id"] == id and task["status"] == "idle" for task in tasks):
                return


def test_a_gateway_that_is_killed_loses_nothing_and_tells_nothing_twice() -> None:
    """Twenty kills and more: `python -m tests.gateway.tasks.kills`."""
    assert "nothing lost, nothing twice" in asyncio.run(tried(2, seed=3))
