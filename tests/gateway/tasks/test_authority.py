"""What a key may do is checked at each step of a task and of a stream, not only at the first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.client.errors import AuthError
from interlingua.gateway.keys.key_admin import NewKey, add_user, change, revoke
from interlingua.gateway.sessions.metered_client import MeteredClient
from interlingua.gateway.settings import Tasks
from interlingua.store.base import Store
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served, settings_in
from tests.gateway.tasks.asking import PATIENCE, new, read, say, shown, user
from tests.gateway.tasks.test_confirmations import asked


def run(work: Any, pace: float = 0.01) -> None:
    with Upstream(pace) as provider:
        asyncio.run(work(provider))


def two_keys(home: Path, **second: Any) -> tuple[NewKey, NewKey]:
    """Two keys of one user; the second with its own terms."""
    with il.open_store(str(home / "gateway.db")) as store:
        person = add_user(store, "ada@example.com").id
    return key(home, "one", user_id=person), key(home, "two", user_id=person, **second)


def admin(gateway: Served, home: Path, work: Callable[[Store], object]) -> None:
    """Change keys as the command line does; the gateway believes older lookups for two seconds."""
    with il.open_store(str(home / "gateway.db")) as store:
        work(store)
    gateway.service.gateway.keys.forget()  # type: ignore[attr-defined]  # the real keys


async def asked_once(provider: Upstream) -> None:
    """The run has called its model: what is revoked before that asks nobody at all."""
    async with asyncio.timeout(PATIENCE):
        while not provider.requests:
            await asyncio.sleep(0.01)


async def idle(gateway: Served, id: str, token: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await shown(gateway, id, token))["status"] != "idle":
            await asyncio.sleep(0.02)


async def events(gateway: Served, id: str, token: str) -> list[dict[str, Any]]:
    accept = {"accept": "application/json"}
    path = f"/task/{id}/events?limit=1000"
    emitted: list[dict[str, Any]] = (await gateway.ask("GET", path, token=token, headers=accept))[
        1
    ]["events"]
    return emitted


REVOKED = (lambda store, id: revoke(store, id), "auth", "revoked")
NARROWED = (
    lambda store, id: change(store, id, allowed_models=(OPENAI,)),
    "auth",
    "not allowed to use",
)


@pytest.mark.parametrize(("lose", "code", "words"), [REVOKED, NARROWED])
def test_a_run_ends_at_the_next_call_of_a_key_that_lost_its_rights(
    tmp_path: Path, lose: Any, code: str, words: str
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one, two = two_keys(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow", one.token))["id"]
            await asked_once(provider)
            waiting = await say(gateway, id, "next", one.token)
            admin(gateway, tmp_path, lambda store: lose(store, one.key.id))
            await idle(gateway, id, two.token)
            assert len(provider.requests) == 1, "the queued message asked nobody"
            last = (await events(gateway, id, two.token))[-1]
            assert (last["msg"], last["error"]["code"]) == ("Failed", code)
            assert words in last["error"]["message"]
            queue = (await shown(gateway, id, two.token))["queued_messages"]
            assert [each["id"] for each in queue] in ([], [waiting["id"]])

    run(work, pace=0.003)


@pytest.mark.parametrize("lose", [REVOKED[0], NARROWED[0]])
def test_a_key_that_lost_its_rights_takes_no_provider_from_others(
    tmp_path: Path, lose: Any
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one, two = two_keys(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow", one.token))["id"]
            await asked_once(provider)
            await say(gateway, id, "next", one.token)
            admin(gateway, tmp_path, lambda store: lose(store, one.key.id))
            await idle(gateway, id, two.token)
            assert gateway.service.turns.router.availability.why_not(ANTHROPIC) is None

    run(work, pace=0.003)


def test_no_call_is_made_after_a_key_was_revoked_however_lately_it_was_looked_up(
    tmp_path: Path,
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one = key(tmp_path, "one")
        async with served(tmp_path) as gateway:
            inner = gateway.service.gateway
            client = MeteredClient(inner, await inner.keys.find(one.token))
            await client.meter.renew()
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                revoke(store, one.key.id)
            with pytest.raises(AuthError, match="revoked"):
                await client.generate(ANTHROPIC, "hi")
            assert provider.requests == []

    run(work)


def test_another_key_of_the_user_stops_the_task_of_a_revoked_one(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one, two = two_keys(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow", one.token))["id"]
            await asked_once(provider)
            admin(gateway, tmp_path, lambda store: revoke(store, one.key.id))
            path = f"/task/{id}/cancel"
            assert (await gateway.ask("POST", path, token=one.token))[0] == 401
            assert (await gateway.ask("POST", path, token=two.token))[0] == 200
            assert (await events(gateway, id, two.token))[-1]["msg"] == "Cancelled"

    run(work)


def test_a_tool_of_a_revoked_key_does_not_run_though_it_was_approved(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one, two = two_keys(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "write b.txt", one.token))["id"]
            question = await asked(gateway, id, two.token)
            admin(gateway, tmp_path, lambda store: revoke(store, one.key.id))
            body = {"id": question["id"], "approved": True}
            path = f"/task/{id}/confirmations"
            assert (await gateway.ask("POST", path, body, two.token))[0] == 200
            await idle(gateway, id, two.token)
            assert not (tmp_path / "b.txt").exists()
            emitted = await events(gateway, id, two.token)
            (post,) = [each for each in emitted if each["msg"] == "PostToolCall"]
            assert "revoked" in post["error"]
            assert emitted[-1]["msg"] == "Failed"
            assert len(provider.requests) == 1

    run(work)


def test_a_turn_of_a_session_that_was_held_is_refused_once_its_key_is_void(
    tmp_path: Path,
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one = key(tmp_path, "one", daily_cap_usd=Decimal(5))
        async with served(tmp_path) as gateway:
            inner = gateway.service.gateway
            client = MeteredClient(inner, await inner.keys.find(one.token))
            request = il.Request(messages=(il.Message.user("hi"),))
            await client.hold(ANTHROPIC, request)
            admin(gateway, tmp_path, lambda store: revoke(store, one.key.id))
            with pytest.raises(AuthError, match="revoked"):
                await client.generate(ANTHROPIC, request)
            await client.release()
            assert provider.requests == []

    run(work)


@pytest.mark.parametrize("which", ["task", "tasks", "session", "requests"])
def test_a_stream_ends_when_its_key_is_revoked(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlingua.gateway.shared.feed.BEAT", 0.1)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one = key(tmp_path, "one")
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, token=one.token))["id"]
            path = {
                "task": f"/task/{id}/events",
                "tasks": "/events",
                "session": f"/sessions/{id}/events",
                "requests": "/requests",
            }[which]
            accept = {"accept": "text/event-stream"}
            last: Any = None
            admin_soon = asyncio.get_running_loop().call_later(
                0.3, lambda: admin(gateway, tmp_path, lambda store: revoke(store, one.key.id))
            )
            async with asyncio.timeout(PATIENCE):
                async for frame in read(gateway, path, one.token, **accept):
                    last = frame
            assert (last.name, last.data) == ("error", {"code": "key_revoked"})
            admin_soon.cancel()

    run(work)


def test_a_key_for_another_folder_cannot_make_a_task_work(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        here, there = tmp_path / "here", tmp_path / "there"
        for folder in (here, there):
            folder.mkdir()
        one, two = two_keys(tmp_path, workspace_path=str(there))
        async with served(tmp_path) as gateway:
            id = (await new(gateway, here, "write b.txt", one.token))["id"]
            question = await asked(gateway, id, one.token)
            yes = {"id": question["id"], "approved": True}
            for path, body in (
                (f"/task/{id}/message", user("read a.txt")),
                (f"/task/{id}/resume", None),
                (f"/task/{id}/confirmations", yes),
            ):
                status, reply, _ = await gateway.ask("POST", path, body, two.token)
                assert (status, reply["error"]["code"]) == (403, "workspace_not_allowed"), path
            assert (await gateway.ask("POST", f"/task/{id}/cancel", token=two.token))[0] == 200
            assert not (here / "b.txt").exists()

    run(work)


def test_a_narrower_list_of_folders_holds_for_tasks_that_exist(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        here, there = tmp_path / "here", tmp_path / "there"
        for folder in (here, there):
            folder.mkdir()
        async with served(tmp_path) as gateway:
            id = (await new(gateway, here, "write b.txt"))["id"]
            question = await asked(gateway, id)
            gateway.service.gateway.settings = replace(
                settings_in(tmp_path), tasks=Tasks(folders=(str(there),))
            )
            path = f"/task/{id}/message"
            assert (await gateway.ask("POST", path, user("read a.txt")))[0] == 403
            await gateway.service.store.answer_confirmation(id, question["id"], "approved")
            async with asyncio.timeout(PATIENCE):
                while (await shown(gateway, id))["status"] != "idle":
                    await asyncio.sleep(0.02)
            assert not (here / "b.txt").exists()

    run(work)


def test_a_folder_that_became_a_link_is_refused(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        here, secret = tmp_path / "here", tmp_path / "secret"
        for folder in (here, secret):
            folder.mkdir()
        (secret / "a.txt").write_text("TOPSECRET")
        async with served(tmp_path) as gateway:
            id = (await new(gateway, here))["id"]
            here.rmdir()
            here.symlink_to(secret)
            path = f"/task/{id}/message"
            status, reply, _ = await gateway.ask("POST", path, user("read a.txt"))
            assert (status, reply["error"]["code"]) == (403, "workspace_not_allowed")
            assert provider.requests == []

    run(work)


def test_a_queued_message_is_answered_with_the_rights_of_the_key_that_sent_it(
    tmp_path: Path,
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one, two = two_keys(tmp_path, allowed_models=(OPENAI,))
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow", one.token))["id"]
            await asked_once(provider)
            await say(gateway, id, "next", two.token)
            await idle(gateway, id, one.token)
            assert len(provider.requests) == 1, "the second key may not use this model"
            last = (await events(gateway, id, one.token))[-1]
            assert (last["msg"], last["error"]["code"]) == ("Failed", "auth")
            assert "not allowed to use" in last["error"]["message"]

    run(work, pace=0.003)


def test_a_queued_message_of_a_valid_key_outlives_the_key_that_started_the_run(
    tmp_path: Path,
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one, two = two_keys(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow", one.token))["id"]
            await asked_once(provider)
            await say(gateway, id, "next", two.token)
            admin(gateway, tmp_path, lambda store: revoke(store, one.key.id))
            await idle(gateway, id, two.token)
            assert len(provider.requests) == 2
            assert (await events(gateway, id, two.token))[-1]["msg"] == "PostConversation"

    run(work, pace=0.003)


def test_a_queued_message_of_a_revoked_key_is_taken_out_of_the_queue(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        one, two = two_keys(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow", one.token))["id"]
            await asked_once(provider)
            await say(gateway, id, "next", two.token)
            admin(gateway, tmp_path, lambda store: revoke(store, two.key.id))
            await idle(gateway, id, one.token)
            assert len(provider.requests) == 1
            assert (await shown(gateway, id, one.token))["queued_messages"] == []
            await say(gateway, id, "again", one.token)
            await idle(gateway, id, one.token)
            assert len(provider.requests) == 2

    run(work, pace=0.003)
