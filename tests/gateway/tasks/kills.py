"""A task of three turns with two tools, in a gateway that is killed at random moments: a client
that only tries again loses nothing and gets nothing twice.

    python -m tests.gateway.tasks.kills --kills 20 [--seed 1] [--postgres]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from tests.gateway.endurance.outside import ROOT, require
from tests.gateway.forks import Fork
from tests.gateway.serving import ANTHROPIC, Upstream
from tests.store.conftest import Server

TURNS = ("read a.txt", "write b.txt", "slow")
LOST = (aiohttp.ClientError, ConnectionError, TimeoutError, asyncio.TimeoutError)
PACE = 0.002
PATIENCE = 120.0


class Gateway:
    """`interlingua serve`, started as often as needed."""

    def __init__(self, home: Path, store: str) -> None:
        self.home = home
        self.base = ""
        self.starts = 0
        (home / "gateway.toml").write_text(
            f'store = "{store}"\ndefault_model = "{ANTHROPIC}"\n[tasks]\nservers = ""\n'
        )
        self._environ = {
            **os.environ,
            "INTERLINGUA_HOME": str(home),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "PYTHONUNBUFFERED": "1",
        }
        self._environ.pop("INTERLINGUA_STORE", None)

    def start(self) -> None:
        words = ["interlingua", "serve", "--port", "0", "--json"]
        words += ["--config", str(self.home / "gateway.toml")]
        with (self.home / "log.txt").open("ab") as log:
            self.process = Fork(words, env=self._environ, cwd=self.home, stderr=log)
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        require(bool(first), "the gateway starts")
        self.base = json.loads(first)["url"]
        self.starts += 1

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Client:
    """Gives messages, says yes, has runs taken up again; tries again whatever fails."""

    def __init__(self, gateway: Gateway, http: aiohttp.ClientSession) -> None:
        self.gateway = gateway
        self.http = http
        self.task = ""
        self.given: list[str] = []
        self.read: list[dict[str, Any]] = []
        self.over = False

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer, in the end; None where it is a 4xx."""
        headers = {"accept": "application/json", **headers}
        while True:
            with suppress(*LOST):
                async with asyncio.timeout(10):
                    reply = await self.http.request(
                        method, f"{self.gateway.base}{path}", json=body, headers=headers
                    )
                    data = await reply.read()
                if reply.status < 500:
                    return json.loads(data) if reply.status < 400 else None
            await asyncio.sleep(0.02)

    async def begin(self) -> None:
        made = await self.ask("POST", "/task", {"cwd": str(self.gateway.home)})
        if made is None:  # it was made, and the answer was lost
            made = {"task": (await self.ask("GET", "/tasks"))["tasks"][0]}
        self.task = made["task"]["id"]

    async def three_turns(self) -> None:
        for words in TURNS:
            while (await self.shown())["interrupted"]:  # a new message would give its turn up
                await self.ask("POST", f"/task/{self.task}/resume")
            body = {"role": "user", "content": words}
            once = {"idempotency-key": f"message {len(self.given)}"}
            reply = await self.ask("POST", f"/task/{self.task}/message", body, **once)
            self.given.append(reply["id"])
        while not await self.is_done():
            await asyncio.sleep(0.02)

    async def shown(self) -> dict[str, Any]:
        task: dict[str, Any] = (await self.ask("GET", f"/task/{self.task}"))["task"]
        return task

    async def is_done(self) -> bool:
        task = await self.shown()
        for question in task["confirmations"]:
            body = {"id": question["id"], "approved": True}
            await self.ask("POST", f"/task/{self.task}/confirmations", body)
        if task["status"] == "idle" and (task["interrupted"] or task["queued"]):
            await self.ask("POST", f"/task/{self.task}/resume")
            return False
        return bool(task["status"] == "idle")

    async def follow(self) -> None:
        """Read the events, and come back after the last one that was read."""
        while not self.over:
            with suppress(*LOST):
                headers = {"Last-Event-ID": str(self.read[-1]["seq"])} if self.read else {}
                url = f"{self.gateway.base}/task/{self.task}/events"
                async with self.http.get(url, headers=headers) as reply:
                    async for line in reply.content:
                        if line.startswith(b'data: {"id":'):
                            self.read.append(json.loads(line[6:]))
            await asyncio.sleep(0.02)

    async def events(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        while True:
            after = out[-1]["seq"] if out else 0
            path = f"/task/{self.task}/events?after={after}&limit=1000"
            reply = await self.ask("GET", path)
            out += reply["events"]
            if not reply["has_more"]:
                return out

    async def messages(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        query = ""
        while True:
            reply = await self.ask("GET", f"/sessions/{self.task}/messages?limit=200{query}")
            out = reply["messages"] + out
            if not reply["has_more"]:
                return out
            query = f"&before={out[0]['id']}"


def judge(
    given: list[str],
    read: list[dict[str, Any]],
    events: list[dict[str, Any]],
    messages: list[dict[str, Any]],
) -> None:
    """Nothing lost, nothing twice."""
    numbers = [event["seq"] for event in events]
    require(numbers == list(range(1, len(events) + 1)), "events are numbered without a gap")
    require(len({event["id"] for event in events}) == len(events), "each event is another one")
    require(read == events, "a reader that comes back reads everything once")
    added = [event for event in events if event["msg"] == "MessageAdded"]
    ids = [event["message_id"] for event in added]
    require(ids == [message["id"] for message in messages], "each message is told once, in order")
    marks = [event["queued_id"] for event in added if "queued_id" in event]
    require(marks == given, "each message that was given is taken up once, in order")
    calls = [
        call["id"]
        for event in added
        if event["message"]["role"] == "assistant" and "status" not in event
        for call in event["message"].get("tool_calls", ())
    ]
    for name in ("PreToolCall", "PostToolCall"):
        emitted = [event["tool_call"]["id"] for event in events if event["msg"] == name]
        require(sorted(emitted) == sorted(calls), f"each call has one {name}")
    *others, last = _turns(events)
    for turn in others:
        cut = any(event.get("interrupted") for event in turn)
        require(
            _answers(turn) in ((0, 1) if cut else (1,)), "a turn has one answer, or was cut off"
        )
    require(_answers(last) == 1, "the last message has one answer")


def _turns(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """From one message that was given to the next."""
    starts = [number for number, event in enumerate(events) if "queued_id" in event]
    ends = [*starts[1:], len(events)]
    return [events[start:end] for start, end in zip(starts, ends, strict=True)]


def _answers(turn: list[dict[str, Any]]) -> int:
    done = [event for event in turn if event["msg"] == "RequestCompleted"]
    return sum(not event["message"]["tool_calls"] for event in done)


async def tried(kills: int, seed: int, store: str | None = None) -> str:
    """Kill it so many times; gives what was seen."""
    chance = random.Random(seed)
    began = time.monotonic()
    with Upstream(PACE) as provider, tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        provider.configure(home)
        (home / "a.txt").write_text("the text")
        gateway = Gateway(home, store or str(home / "gateway.db"))
        await asyncio.to_thread(gateway.start)
        try:
            async with aiohttp.ClientSession() as http:
                client = Client(gateway, http)
                await client.begin()
                following = asyncio.ensure_future(client.follow())
                working = asyncio.ensure_future(_work(client, gateway, kills))
                for _ in range(kills):
                    await asyncio.sleep(chance.uniform(0.0, 1.5))
                    await asyncio.to_thread(gateway.kill)
                    await asyncio.to_thread(gateway.start)
                async with asyncio.timeout(PATIENCE):
                    await working
                    events = await client.events()
                    while len(client.read) < len(events):
                        await asyncio.sleep(0.02)
                client.over = True
                following.cancel()
                judge(client.given, client.read, events, await client.messages())
        finally:
            gateway.kill()
    cut = sum(event.get("interrupted") is True for event in events)
    seconds = time.monotonic() - began
    return (
        f"{kills} kills (seed {seed}), {len(client.given)} messages, {len(events)} events,"
        f" {cut} runs cut off and taken up again, {len(provider.requests)} requests upstream,"
        f" {seconds:.0f} s: nothing lost, nothing twice"
    )


async def _work(client: Client, gateway: Gateway, kills: int) -> None:
    """Three turns, again and again until the killing is over."""
    while gateway.starts <= kills:
        await client.three_turns()
    await client.three_turns()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="in place of SQLite")
    content = parser.parse_args()
    server = Server() if content.postgres else None
    try:
        address = None if server is None else server.address
        print(asyncio.run(tried(content.kills, content.seed, address)))
    finally:
        if server is not None:
            server.close()


if __name__ == "__main__":
    main()
