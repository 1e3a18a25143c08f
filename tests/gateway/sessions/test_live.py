"""What one worker does is seen by those who watch in another one: texts as they grow, deletions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.sessions import live
from interlingua.gateway.sessions.live import RemoteAnswer
from interlingua.model.blocks import TextBlock, ThinkingBlock
from interlingua.model.message import Message
from tests.gateway.serving import Served, Upstream, served
from tests.gateway.sessions.test_api import new, rest, say

SSE = {"accept": "text/event-stream"}
Seen = list[tuple[str, Any]]


def with_two(work: Callable[[Served, Served, Path], Awaitable[None]]) -> Callable[[Path], None]:
    """A test with two gateways that share a store."""

    def test(tmp_path: Path) -> None:
        async def run() -> None:
            with Upstream() as provider:
                provider.configure(tmp_path)
                provider.pace = 0.008  # a slow answer takes three seconds
                async with served(tmp_path) as one, served(tmp_path) as other:
                    await work(one, other, tmp_path)

        asyncio.run(run())

    test.__name__ = work.__name__
    return test


async def watch(gateway: Served, path: str, is_last: Callable[[str, Any], bool]) -> Seen:
    """(name, data) of a stream's events, up to one of them, or to its end."""
    seen: Seen = []
    async with asyncio.timeout(30), gateway.http.get(f"{gateway.base}{path}", headers=SSE) as reply:
        async for frame in _frames(reply):
            seen.append(frame)
            if is_last(*frame):
                break
    return seen


async def _frames(reply: Any) -> Any:
    name = ""
    async for line in reply.content:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text[7:]
        elif text.startswith("data: "):
            yield name, json.loads(text[6:])


@with_two
async def test_an_answer_grows_for_who_watches_elsewhere(
    one: Served, other: Served, home: Path
) -> None:
    id = await new(one)
    watching = asyncio.ensure_future(
        watch(other, f"/sessions/{id}/events", lambda name, _: name == "turn.completed")
    )
    while not len(other.service.turns.hub):
        await asyncio.sleep(0.01)
    assert (await say(one, id, "slow"))[0] == 202
    seen = await watching
    names = [name for name, _ in seen]
    deltas = [data["text"] for name, data in seen if name == "text.delta"]
    assert len(deltas) > 1, "it came in pieces"
    ended = next(data for name, data in seen if name == "message.complete")
    assert "".join(deltas) == ended["final_content"][0]["text"]
    assert names.count("message.start") == names.count("message.complete") == 1
    start, last = names.index("message.start"), names.index("message.complete")
    assert start < names.index("text.delta") < last < names.index("llm.call_completed")


@with_two
async def test_who_watches_elsewhere_hears_that_a_session_is_deleted(
    one: Served, other: Served, home: Path
) -> None:
    id = await new(one)
    watching = asyncio.ensure_future(watch(other, f"/sessions/{id}/events", lambda *_: False))
    while not len(other.service.turns.hub):
        await asyncio.sleep(0.01)
    await say(one, id, "hello")
    await rest(one, id)
    status, _, _ = await one.ask("DELETE", f"/sessions/{id}?purge=true")
    assert status == 200
    seen = await watching
    assert seen[-1][0] == "error"
    assert seen[-1][1]["code"] == "session_not_found"


@with_two
async def test_who_lists_tasks_elsewhere_hears_that_one_is_deleted(
    one: Served, other: Served, home: Path
) -> None:
    (home / "work").mkdir()
    _, made, _ = await one.ask("POST", "/task", {"cwd": str(home / "work")})
    id = made["task"]["id"]

    def is_end(name: str, data: Any) -> bool:
        task = data.get("task", {}) if name == "daemon.task.changed" else {}
        return task.get("id") == id and task.get("ended") is not None

    watching = asyncio.ensure_future(watch(other, "/events", is_end))
    while not len(other.service.tasks.overview):
        await asyncio.sleep(0.01)
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(watching), 0.3)
    await one.service.store.delete_session(id)  # at once, so that nobody sees it end
    seen = await watching
    assert is_end(*seen[-1])


def test_who_watches_here_does_not_wait_for_the_next_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "POLL", 20.0)

    async def work() -> None:
        with Upstream() as provider:
            provider.configure(tmp_path)
            async with served(tmp_path) as gateway:
                id = await new(gateway)
                await say(gateway, id, "hello")
                await rest(gateway, id)
                watching = asyncio.ensure_future(
                    watch(gateway, f"/sessions/{id}/events", lambda n, _: n == "feedback.explicit")
                )
                while not len(gateway.service.turns.hub):
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.3)  # it has read the trace, and waits
                path = f"/v1/sessions/{id}/rating"
                assert (await gateway.ask("POST", path, {"rating": "up"}))[0] == 200
                seen = await asyncio.wait_for(watching, 5)
                assert [name for name, _ in seen][-2:] == ["turn.completed", "feedback.explicit"]

    asyncio.run(work())


def test_what_is_overheard_is_told_once() -> None:
    overheard = RemoteAnswer()
    first = Message.assistant([ThinkingBlock("hm"), TextBlock("one ")]).replace(id="a")
    names = [piece.name for piece in overheard.growth(first)]
    assert names == ["message.start", "thinking.delta", "text.delta"]
    assert overheard.growth(first) == []
    whole = Message.assistant([ThinkingBlock("hm"), TextBlock("one two")]).replace(id="a")
    more, end = overheard.end(whole)
    assert more.fields["text"] == "two"
    assert end.name == "message.complete"
