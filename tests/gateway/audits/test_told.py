"""What clients are told and what is noted of them, as the requirements have it: names, signs of
life, principals; and streams of events that were cut anywhere."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.events.event import NO_SESSION
from interlingua.gateway.keys.key_admin import Terms, add_team, add_user, issue
from interlingua.gateway.relay.passthrough import ModelRenamer
from interlingua.gateway.settings import Limits, RouteSettings
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


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["mine", 'odd "\\ \\1 name', "openai:gpt-4.1", ANTHROPIC, "grün"])
def test_a_client_hears_the_name_that_it_said(tmp_path: Path, name: str, stream: bool) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        for model in (ANTHROPIC, OPENAI):
            routes = {} if ":" in name else {name: RouteSettings(model)}
            settings = replace(settings_in(tmp_path), routes=routes)
            async with served(tmp_path, settings) as gateway:
                for path in ("/v1/messages", "/v1/chat/completions"):
                    body = asked(
                        'say "model":"claude-sonnet-4-6"', name, max_tokens=9, stream=stream
                    )
                    status, reply, _ = await gateway.ask("POST", path, body)
                    assert status == 200, reply
                    whole = reply if isinstance(reply, str) else json.dumps(reply)
                    lines = [line[6:] for line in whole.splitlines() if line.startswith("data: {")]
                    names = {_model(json.loads(line)) for line in lines or [whole]} - {None}
                    assert names == {name}, (path, model)
                    assert "gpt-4.1" not in names - {name}

    with Upstream() as provider:
        asyncio.run(work(provider))


def _model(wire: dict[str, Any]) -> Any:
    return wire.get("model") or wire.get("message", {}).get("model")


@given(
    st.text(max_size=30),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1),
    st.text(),
)
def test_an_echo_changes_the_name_and_nothing_else(said: str, name: str, text: str) -> None:
    if any("\ud800" <= mark <= "\udfff" for mark in said + text):
        return
    wire = {"model": f"{name}-2026", "x": text, "y": json.dumps({"model": name}), "z": {"m": 1}}
    data = json.dumps(wire).encode()
    assert json.loads(ModelRenamer(said, name)(data)) == {**wire, "model": said}


def test_arguments_that_are_no_json_are_refused(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for arguments, status in (("{not json", 400), ('{"a":', 200), ("", 200), ("[", 400)):
                function = {"name": "f", "arguments": arguments}
                calls = [{"id": "a", "type": "function", "function": function}]
                turns: list[Any] = [
                    {"role": "user", "content": "x"},
                    {"role": "assistant", "content": None, "tool_calls": calls},
                    {"role": "tool", "tool_call_id": "a", "content": "y"},
                ]
                body = {"model": ANTHROPIC, "messages": turns}
                found, reply, _ = await gateway.ask("POST", "/v1/chat/completions", body)
                assert found == status, (arguments, reply)
                if status == 400:
                    assert reply["error"]["code"] == "invalid_arguments"

    with Upstream() as provider:
        asyncio.run(work(provider))


@pytest.mark.requirement("S002-37")
def test_who_asked_is_on_messages_and_traces_and_is_no_address(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            user = add_user(store, "ada@example.org", "Ada")
            team = add_team(store, "Engines")
            made = issue(store, "k", ".", Terms(), user_id=user.id, team_id=team.id)
        stamp = {"gateway_key_id": made.key.id, "user_id": user.id, "team_id": team.id}
        async with served(tmp_path) as gateway:
            _, session, _ = await gateway.ask(
                "POST", "/sessions", {"workspace_path": "."}, made.token
            )
            path = f"/sessions/{session['id']}"
            for words in ("hello", "fail"):
                await gateway.ask("POST", f"{path}/turns", {"content": words}, made.token)
                while gateway.service.turns.running(session["id"]) is not None:
                    await asyncio.sleep(0.01)
            _, page, _ = await gateway.ask("GET", f"{path}/messages", token=made.token)
            metadata = page["messages"][1]["metadata"]
            assert (metadata["user_id"], metadata["team_id"]) == (user.id, team.id)
            _, trace, _ = await gateway.ask("GET", f"{path}/events?limit=100", token=made.token)
            kinds = ("llm.call_completed", "turn.completed", "llm.call_failed")
            found = {e["type"]: e["payload"] for e in trace["events"] if e["type"] in kinds}
            assert set(found) == set(kinds)
            for name, payload in found.items():
                assert stamp.items() <= payload.items(), name
            assert "ada@" not in json.dumps(trace) + json.dumps(page)

    with Upstream() as provider:
        asyncio.run(work(provider))


SIGNS = {
    "/v1/chat/completions": b": keep-alive\n\n",
    "/v1/messages": b'event: ping\ndata: {"type":"ping"}\n\n',
    "/v1/responses": b": keep-alive\n\n",
}


@pytest.mark.parametrize("path", sorted(SIGNS))
def test_a_client_hears_signs_of_life_while_the_provider_thinks(tmp_path: Path, path: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.pace = 0.5
        limits = Limits(first_event=0.05, keep_alive=0.1)
        async with served(tmp_path, replace(settings_in(tmp_path), limits=limits)) as gateway:
            body = {**asked("slow", stream=True, max_tokens=9), "input": "slow"}
            if path == "/v1/responses":
                del body["messages"]
            async with gateway.http.post(f"{gateway.base}{path}", json=body) as reply:
                assert reply.status == 200
                data = b""
                async with asyncio.timeout(10):
                    while data.count(b"w") < 2 or data.count(SIGNS[path]) < 3:
                        data += await reply.content.readany()
            assert data.count(SIGNS[path]) >= 3

    with Upstream() as provider:
        asyncio.run(work(provider))


# Events that go on


async def _frames(
    gateway: Served, id: str, after: str | None, token: str | None
) -> AsyncIterator[tuple[str | None, str, Any]]:
    headers = {"accept": "text/event-stream"}
    headers |= {} if after is None else {"last-event-id": after}
    headers |= {} if token is None else {"authorization": f"Bearer {token}"}
    url = f"{gateway.base}/sessions/{id}/events"
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as reply:
        assert reply.status == 200, await reply.text()
        found: dict[str, str] = {}
        async for line in reply.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                found[name] = value
            elif "event" in found:
                yield found.get("id"), found["event"], json.loads(found["data"])
                found = {}


@pytest.mark.parametrize("seed", range(3))
def test_whatever_cuts_a_watcher_it_sees_every_event_once(tmp_path: Path, seed: int) -> None:
    """Turns run, and the connection breaks again and again; each time it goes on from the last id.
    What was seen then is what somebody saw who was never cut."""
    chance = random.Random(seed)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.pace = 0.001
        async with served(tmp_path) as gateway:
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."})
            id = made["id"]
            talking = asyncio.ensure_future(_talk(gateway, id))
            seen: list[tuple[str, str, Any]] = []
            cuts = 0
            async with asyncio.timeout(30):
                while not (talking.done() and seen and seen[-1][1] == "session.done"):
                    left = chance.randrange(1, 60)
                    after = seen[-1][0] if seen else None
                    async for number, name, data in _frames(gateway, id, after, None):
                        if number is not None:
                            seen.append((number, name, data))
                        left -= 1
                        ended = [each for each in seen if each[1] == "turn.completed"]
                        if left <= 0 or len(ended) == 3:
                            break
                    cuts += 1
                    if sum(name == "turn.completed" for _, name, _ in seen) == 3:
                        break
            await talking
            assert cuts > 3
            whole = []
            async for number, name, data in _frames(gateway, id, "0", None):
                whole.append((number, name, data))
                if number == seen[-1][0]:
                    break
            assert seen == whole
            assert [int(number) for number, _, _ in seen] == list(range(1, len(seen) + 1))

    with Upstream() as provider:
        asyncio.run(work(provider))


async def _talk(gateway: Served, id: str) -> None:
    for words in ("slow", "think", "hello"):
        status, reply, _ = await gateway.ask("POST", f"/sessions/{id}/turns", {"content": words})
        assert status == 202, reply
        while gateway.service.turns.running(id) is not None:
            await asyncio.sleep(0.01)


def test_a_turn_is_watched_from_another_gateway(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.pace = 0.001
        async with served(tmp_path) as here, served(tmp_path) as there:
            _, made, _ = await here.ask("POST", "/sessions", {"workspace_path": "."})
            talking = asyncio.ensure_future(_talk(here, made["id"]))
            seen = []
            async with asyncio.timeout(20):
                async for number, name, data in _frames(there, made["id"], None, None):
                    if number is None:  # a text that grows is no event, and has no number
                        continue
                    seen.append((number, name, data))
                    if sum(name == "turn.completed" for _, name, _ in seen) == 3:
                        break
            await talking
            assert [int(number) for number, _, _ in seen] == list(range(1, len(seen) + 1))

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_nobody_goes_on_from_anothers_events(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, own)
            path = f"/sessions/{made['id']}/events"
            _, page, _ = await gateway.ask("GET", path, token=own)
            last = page["events"][-1]["seq"]
            for cursor in ("0", "1", str(last), str(last + 1), "99999", "x", "", "1; DROP", "1e3"):
                headers = {"accept": "text/event-stream", "last-event-id": cursor}
                status, reply, _ = await gateway.ask("GET", path, token=other, headers=headers)
                assert (status, reply["error"]["code"]) == (404, "session_not_found"), cursor
                if not (cursor.isdigit() and int(cursor) <= last):
                    status, reply, _ = await gateway.ask("GET", path, token=own, headers=headers)
                    assert status in (400, 410), (cursor, reply)
                    assert not re.search("[0-9A-Z]{26}", json.dumps(reply))

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_the_trace_knows_how_a_stream_ended_that_went_through_untouched(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for path, model in (("/v1/messages", ANTHROPIC), ("/v1/chat/completions", OPENAI)):
                body = asked("hi", model, max_tokens=9, stream=True)
                assert (await gateway.ask("POST", path, body))[0] == 200
            await gateway.stored()
            found = await gateway.service.store.events(NO_SESSION)
            assert [row.payload["stop_reason"] for row in found] == ["end_turn", "end_turn"]

    with Upstream() as provider:
        asyncio.run(work(provider))
