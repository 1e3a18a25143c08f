"""Turns of sessions and tasks ask as the routes of the settings say."""

from __future__ import annotations

import asyncio
import json
import time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.settings import PoolMember, RouteSettings
from tests.gateway.serving import (
    ANTHROPIC,
    OPENAI,
    Served,
    Upstream,
    asked,
    key,
    served,
    settings_in,
)
from tests.gateway.sessions.test_api import new, rest, say
from tests.gateway.tasks.asking import idle
from tests.gateway.tasks.asking import new as new_task

CLAUDE, GPT = ANTHROPIC.partition(":")[2], OPENAI.partition(":")[2]


class Refusing(Upstream):
    """Refuses requests of some models, or is slow to begin."""

    def __init__(self, *models: str, slow: float = 0.0) -> None:
        super().__init__()
        self.refused: list[str] = []
        self._models, self._slow = models, slow

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if wire["model"] not in self._models:
            super().answer(handler, dialect, wire)
            return
        self.refused.append(wire["model"])
        time.sleep(self._slow)
        body = json.dumps({"error": {"type": "overloaded", "message": "too busy"}}).encode()
        handler.send_response(503)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


async def answers(gateway: Served, id: str, token: str | None = None) -> list[Any]:
    _, page, _ = await gateway.ask("GET", f"/sessions/{id}/messages", token=token)
    return [each for each in page["messages"] if each["role"] == "assistant"]


def run(home: Path, provider: Refusing, route: RouteSettings, work: Any, **more: Any) -> None:
    async def serving() -> None:
        provider.configure(home)
        settings = settings_in(home, routes={"smart": route}, **more)
        async with served(home, settings) as gateway:
            await work(gateway)

    with provider:
        asyncio.run(serving())


FALLBACK = RouteSettings(OPENAI, fallbacks=(ANTHROPIC,), retries=0)
POOL = RouteSettings(
    OPENAI, models=(PoolMember(OPENAI, weight=1e9), PoolMember(ANTHROPIC, weight=1e-9))
)


HOW: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "session": ({"active_model": "smart"}, "hello", {}),
    "override": ({"active_model": ANTHROPIC}, "hello", {"per_message_override": "smart"}),
    "addressed": ({"active_model": ANTHROPIC}, "@smart hello", {}),
    "default": ({}, "hello", {}),
    "changed": ({"active_model": ANTHROPIC}, "hello", {}),
}
"""The session, what is said in it, and with what."""


def test_a_turn_falls_back_as_its_route_says(tmp_path: Path) -> None:
    provider = Refusing(GPT)

    async def work(gateway: Served) -> None:
        for how, (made, words, more) in HOW.items():
            id = await new(gateway, **made)
            if how == "changed":
                await gateway.ask("PATCH", f"/sessions/{id}", {"active_model": "smart"})
            status, reply = await say(gateway, id, words, **more)
            assert (status, reply["model"]) == (202, OPENAI), how
            await rest(gateway, id)
            (answer,) = await answers(gateway, id)
            assert answer["metadata"]["model"] == ANTHROPIC, how
        assert provider.refused == [GPT] * len(HOW)
        await gateway.stored()
        _, listed, _ = await gateway.ask("GET", "/requests")
        rows = {(row["asked"], row["model"], row["attempts"]) for row in listed["requests"]}
        assert rows == {("smart", ANTHROPIC, 2)}

    run(tmp_path, provider, FALLBACK, work, default_model="smart")


def test_a_model_that_is_named_by_its_id_has_no_fallbacks(tmp_path: Path) -> None:
    provider = Refusing(GPT)

    async def work(gateway: Served) -> None:
        id = await new(gateway, active_model=OPENAI)
        assert (await say(gateway, id, "hello"))[0] == 202
        await rest(gateway, id)
        assert provider.requests == []
        assert set(provider.refused) == {GPT}

    run(tmp_path, provider, FALLBACK, work)


def test_a_member_that_failed_in_a_turn_rests_for_other_turns_tasks_and_requests(
    tmp_path: Path,
) -> None:
    provider = Refusing(GPT)

    async def work(gateway: Served) -> None:
        id = await new(gateway, active_model="smart")
        for words in ("hello", "and?"):
            await say(gateway, id, words)
            await rest(gateway, id)
        assert provider.refused == [GPT], "the second turn does not ask it"
        task = await new_task(gateway, tmp_path, "hello", model="smart")
        await idle(gateway, task["id"])
        status, _, _ = await gateway.ask("POST", "/v1/chat/completions", asked("hi", "smart"))
        assert (status, provider.refused) == (200, [GPT])
        assert [each["model"] for each in provider.requests] == [CLAUDE] * 4
        (state,) = gateway.service.gateway._pools.values()
        assert {each.in_flight for each in state.health.values()} == {0}

    run(tmp_path, provider, POOL, work)


def test_a_task_falls_back_as_its_route_says(tmp_path: Path) -> None:
    provider = Refusing(GPT)

    async def work(gateway: Served) -> None:
        task = await new_task(gateway, tmp_path, "hello", model="smart")
        await idle(gateway, task["id"])
        (answer,) = await answers(gateway, task["id"])
        assert answer["metadata"]["model"] == ANTHROPIC

    run(tmp_path, provider, FALLBACK, work)


@pytest.mark.parametrize(
    ("route", "asks"),
    [
        (RouteSettings(OPENAI, fallbacks=(ANTHROPIC,), retries=1), 2),
        (RouteSettings(OPENAI, fallbacks=(ANTHROPIC,), first_byte_timeout=0.1, retries=0), 1),
    ],
)
def test_retries_and_timeouts_of_a_route_hold_in_turns(
    tmp_path: Path, route: RouteSettings, asks: int
) -> None:
    provider = Refusing(GPT, slow=1.0 if route.first_byte_timeout else 0.0)

    async def work(gateway: Served) -> None:
        id, begun = await new(gateway, active_model="smart"), time.monotonic()
        await say(gateway, id, "hello")
        await rest(gateway, id)
        assert provider.refused == [GPT] * asks
        assert len(await answers(gateway, id)) == 1
        assert route.first_byte_timeout is None or time.monotonic() - begun < 0.9

    run(tmp_path, provider, route, work)


def test_a_deadline_of_a_route_ends_a_turn(tmp_path: Path) -> None:
    provider = Refusing(GPT, slow=2.0)

    async def work(gateway: Served) -> None:
        id, begun = await new(gateway, active_model="smart"), time.monotonic()
        await say(gateway, id, "hello")
        await rest(gateway, id)
        assert time.monotonic() - begun < 1.5
        assert provider.requests == [], "no time is left for the fallback"

    route = RouteSettings(OPENAI, fallbacks=(ANTHROPIC,), deadline=0.3)
    run(tmp_path, provider, route, work)


def test_an_answer_that_began_before_the_deadline_goes_on_after_it(tmp_path: Path) -> None:
    provider = Refusing()
    provider.pace = 0.002

    async def work(gateway: Served) -> None:
        id, begun = await new(gateway, active_model="smart"), time.monotonic()
        await say(gateway, id, "slow")
        wire = asked("slow", "smart", stream=True)
        _, streamed, _ = await gateway.ask("POST", "/v1/chat/completions", wire)
        await rest(gateway, id)
        assert time.monotonic() - begun > 0.4
        (answer,) = await answers(gateway, id)
        assert answer["metadata"]["stop_reason"] == "end_turn"
        assert "[DONE]" in streamed

    run(tmp_path, provider, RouteSettings(OPENAI, deadline=0.4), work)


def test_the_limits_of_keys_and_routes_hold_for_every_target(tmp_path: Path) -> None:
    provider = Refusing(GPT)

    async def work(gateway: Served) -> None:
        few = key(tmp_path, "few", allowed_models=(OPENAI,)).token
        paid = key(tmp_path, "paid", daily_cap_usd=Decimal(1), allow_unbounded=True).token
        for token, count in ((few, 0), (paid, 1)):
            id = await new(gateway, token=token, active_model="smart")
            await say(gateway, id, "hello", token=token)
            await rest(gateway, id)
            assert len(provider.requests) == count
        assert provider.requests[0]["max_tokens"] == 77

    route = RouteSettings(OPENAI, fallbacks=(ANTHROPIC,), retries=0, default_max_tokens=77)
    run(tmp_path, provider, route, work)
