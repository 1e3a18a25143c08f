"""Tasks whose model hands work to workers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.keys.key_admin import revoke
from interlingua.gateway.settings import RouteSettings, Tasks
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served, settings_in
from tests.gateway.tasks.asking import idle, new, page, say
from tests.gateway.tasks.test_authority import admin
from tests.gateway.tasks.test_authority import events as events_of
from tests.gateway.tasks.test_authority import idle as idle_for
from tests.gateway.tasks.test_confirmations import answer, asked


def run(work: Any, pace: float = 0.01) -> None:
    with Upstream(pace) as provider:
        asyncio.run(work(provider))


def delegating(home: Path, **more: Any) -> Any:
    return replace(settings_in(home), tasks=Tasks(delegate=True, **more))


async def workers(gateway: Served, id: str, token: str | None = None) -> list[dict[str, Any]]:
    collected = (await gateway.ask("GET", "/sessions?limit=200", token=token))[1]["sessions"]
    return [each for each in collected if each["parent_id"] == id]


def test_a_task_delegates_only_where_settings_and_task_allow_it(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        body = {"cwd": str(tmp_path), "delegate": True}
        async with served(tmp_path) as gateway:
            status, reply, _ = await gateway.ask("POST", "/task", body)
            assert (status, reply["error"]["code"]) == (403, "delegation_off")
        async with served(tmp_path, delegating(tmp_path)) as gateway:
            for number, wanted in enumerate((False, True)):
                folder = tmp_path / f"folder{number}"
                folder.mkdir()
                task = await new(gateway, folder, "hello", delegate=wanted)
                await idle(gateway, task["id"])
                names = [tool["name"] for tool in provider.requests[-1]["tools"]]
                assert ("delegate" in names) is wanted

    run(work)


def test_a_worker_of_a_task_asks_as_the_task_does_and_is_deleted_with_it(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, delegating(tmp_path)) as gateway:
            id = (await new(gateway, tmp_path, "delegate write b.txt", delegate=True))["id"]
            question = await asked(gateway, id)
            assert (question["name"], question["args"]["path"]) == ("write_file", "b.txt")
            assert (await answer(gateway, id, question["id"], True))[0] == 200
            await idle(gateway, id)
            assert (tmp_path / "b.txt").read_text() == "written\n"
            (post,) = [each for each in await page(gateway, id) if each["msg"] == "PostToolCall"]
            assert (post["name"], post["result"]) == ("delegate", "Answer 3 to: write b.txt")
            (worker,) = await workers(gateway, id)
            path = f"/sessions/{id}/events?types=delegate.started,delegate.completed"
            emitted = (await gateway.ask("GET", path))[1]["events"]
            assert [each["type"] for each in emitted] == ["delegate.started", "delegate.completed"]
            assert {each["payload"]["worker_session_id"] for each in emitted} == {worker["id"]}
            await gateway.ask("DELETE", f"/task/{id}?purge=true")
            assert (await gateway.ask("GET", f"/sessions/{worker['id']}"))[0] == 404

    run(work)


class WithoutOpenAI(Upstream):
    """Refuses what is asked for in OpenAI's dialects."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if not dialect.startswith("openai"):
            super().answer(handler, dialect, wire)
            return
        self.requests.append(wire)
        handler.send_response(503)
        handler.send_header("content-length", "0")
        handler.end_headers()


@pytest.mark.parametrize(
    ("allowed", "is_answered"), [(None, True), (("sure",), True), ((OPENAI,), False)]
)
def test_a_worker_has_the_route_that_it_is_asked_for_by(
    tmp_path: Path, allowed: tuple[str, ...] | None, is_answered: bool
) -> None:
    async def work() -> None:
        routes = {"sure": RouteSettings(OPENAI, (ANTHROPIC,), retries=0)}
        with WithoutOpenAI(0.01) as provider:
            provider.configure(tmp_path)
            settings = replace(delegating(tmp_path, delegate_models=allowed), routes=routes)
            async with served(tmp_path, settings) as gateway:
                words = 'delegate [{"task": "hello", "model": "sure"}]'
                id = (await new(gateway, tmp_path, words, delegate=True))["id"]
                await idle(gateway, id)
                reply = await page(gateway, id)
                (post,) = [each for each in reply if each["msg"] == "PostToolCall"]
                assert ("error" not in post or post["error"] is None) is is_answered, post
                if is_answered:
                    assert post["result"] == "Answer 3 to: hello"

    asyncio.run(work())


def test_a_worker_has_the_key_of_its_task_and_loses_it_with_it(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one = key(tmp_path, "one", allowed_models=(ANTHROPIC,))
        async with served(tmp_path, delegating(tmp_path)) as gateway:
            words = f'delegate [{{"task": "hello", "model": "{OPENAI}"}}]'
            id = (await new(gateway, tmp_path, words, one.token, delegate=True))["id"]
            await idle_for(gateway, id, one.token)
            emitted = await events_of(gateway, id, one.token)
            (post,) = [each for each in emitted if each["msg"] == "PostToolCall"]
            assert "not allowed to use" in post["error"]
            before = len(provider.requests)
            await say(gateway, id, "delegate write b.txt", one.token)
            await asked(gateway, id, one.token)
            admin(gateway, tmp_path, lambda store: revoke(store, one.key.id))
            await gateway.service.store.answer_confirmation(
                id, (await gateway.service.store.confirmations(id))[0].id, "approved"
            )
            async with asyncio.timeout(20):
                while (await gateway.service.store.task(id)).generating:
                    await asyncio.sleep(0.02)
            assert len(provider.requests) == before + 2, "neither worker nor planner asked again"
            assert not (tmp_path / "b.txt").exists()

    run(work)


def test_stopping_a_task_stops_its_worker(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, delegating(tmp_path)) as gateway:
            id = (await new(gateway, tmp_path, "delegate slow", delegate=True))["id"]
            while len(provider.requests) < 2:
                await asyncio.sleep(0.01)
            assert (await gateway.ask("POST", f"/task/{id}/cancel"))[0] == 200
            assert await asyncio.to_thread(provider.left.wait, 5)
            (worker,) = await workers(gateway, id)
            assert worker["turn_in_flight"] is False
            assert len(provider.requests) == 2

    run(work)


def test_a_worker_that_a_gateway_broke_off_is_an_error_for_its_task(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, delegating(tmp_path)) as gateway:
            id = (await new(gateway, tmp_path, "delegate slow", delegate=True))["id"]
            while len(provider.requests) < 2:
                await asyncio.sleep(0.01)
        async with served(tmp_path, delegating(tmp_path)) as gateway:
            assert (await gateway.ask("POST", f"/task/{id}/resume"))[0] == 202
            await idle(gateway, id)
            (post,) = [each for each in await page(gateway, id) if each["msg"] == "PostToolCall"]
            assert "interrupted" in post["error"]
            assert len(await workers(gateway, id)) == 1
            assert (await page(gateway, id))[-1]["msg"] == "PostConversation"

    run(work)
