"""Tasks of a gateway, asked over HTTP, and their events as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.gateway.serving import Served

PATIENCE = 30


class Frame(NamedTuple):
    """One event of a stream: the number of its `id` line, its name, its data."""

    id: int | None
    name: str
    data: Any

    @property
    def msg(self) -> str:
        return str(self.data["msg"]) if self.name == "maria" else self.name


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


async def new(
    gateway: Served,
    cwd: Path | str,
    words: str | None = None,
    token: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A task; with words, they are its first message."""
    body: dict[str, Any] = {"cwd": str(cwd), **more}
    if words is not None:
        body["message"] = user(words)
    status, made, headers = await gateway.ask("POST", "/v1/task", body, token)
    assert status == 201, made
    assert headers["location"] == f"/task/{made['task']['id']}"
    task: dict[str, Any] = made["task"]
    return task


async def say(gateway: Served, id: str, words: str, token: str | None = None) -> dict[str, Any]:
    body = {"message": user(words)}
    status, reply, _ = await gateway.ask("POST", f"/task/{id}/message", body, token)
    assert status == 200, reply
    assert isinstance(reply, dict)
    return reply


async def shown(gateway: Served, id: str, token: str | None = None) -> dict[str, Any]:
    status, reply, _ = await gateway.ask("GET", f"/v1/task/{id}", token=token)
    assert status == 200, reply
    task: dict[str, Any] = reply["task"]
    return task


async def idle(gateway: Served, id: str, token: str | None = None) -> dict[str, Any]:
    """The task, when nothing runs in it any more."""
    async with asyncio.timeout(PATIENCE):
        while True:
            task = await shown(gateway, id, token)
            if task["status"] == "idle":
                return task
            await asyncio.sleep(0.02)


async def read(
    gateway: Served, path: str, token: str | None = None, **headers: str
) -> AsyncIterator[Frame]:
    """The frames of a stream, as they come."""
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    async with gateway.http.get(f"{gateway.base}{path}", headers=headers) as reply:
        assert reply.status == 200, await reply.text()
        assert reply.headers["content-type"].startswith("text/event-stream")
        found: dict[str, str] = {}
        async for line in reply.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                found[name] = value
            elif "event" in found:
                number = int(found["id"]) if "id" in found else None
                yield Frame(number, found["event"], json.loads(found["data"]))
                found = {}


async def until(
    gateway: Served, id: str, last: str, times: int = 1, query: str = "", **headers: str
) -> list[Frame]:
    """What is shown up to the n-th event of this kind."""
    out: list[Frame] = []
    async with asyncio.timeout(PATIENCE):
        async for frame in read(gateway, f"/task/{id}/events{query}", **headers):
            out.append(frame)
            if [each.msg for each in out].count(last) == times:
                return out
    raise AssertionError(f"no {last}")


async def page(gateway: Served, id: str, after: int = 0) -> list[dict[str, Any]]:
    """All stored events, as pages of JSON."""
    out: list[dict[str, Any]] = []
    while True:
        path = f"/task/{id}/events?after={after}&limit=100"
        accept = {"accept": "application/json"}
        status, reply, _ = await gateway.ask("GET", path, headers=accept)
        assert status == 200, reply
        out += reply["events"]
        if not reply["has_more"]:
            return out
        after = out[-1]["seq"]


def stored(frames: list[Frame]) -> list[Frame]:
    """Those with a number."""
    return [frame for frame in frames if frame.id is not None]
