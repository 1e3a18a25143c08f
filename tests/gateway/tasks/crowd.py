"""Many tasks in the list, and many who read one task.

python -m tests.gateway.tasks.crowd --tasks 1000 --readers 200
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp

from tests.gateway.endurance.outside import MEGABYTE, _status, require
from tests.gateway.serving import Upstream
from tests.gateway.tasks.kills import Client, Gateway

PACE = 0.01
STUCK = 20
"""Readers that never read."""
MOST_GROWN = 100
"""Megabytes; some ten are usual."""


async def tasks(client: Client, home: Path, count: int) -> str:
    """So many in the list."""
    for number in range(count):
        folder = home / "folders" / str(number)
        folder.mkdir(parents=True)
        await client.ask("POST", "/task", {"cwd": str(folder), "name": f"task {number}"})
    times = []
    for _ in range(5):
        began = time.monotonic()
        listed = (await client.ask("GET", "/tasks"))["tasks"]
        times.append(time.monotonic() - began)
        require(len(listed) >= count, "all tasks are listed")
        require(len({task["id"] for task in listed}) == len(listed), "each of them once")
    began = time.monotonic()
    async with client.http.get(f"{client.gateway.base}/events") as reply:
        while b"\n\n" not in (await reply.content.readany())[-2:]:
            pass
    first = time.monotonic() - began
    return f"{count} tasks: listed in {min(times) * 1000:.0f} ms, first event {first * 1000:.0f} ms"


class Reader:
    """Reads one task to the end of its run."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.late: list[float] = []
        """Seconds from when an event was stored to when it was read."""
        self.text = ""

    async def read(self, client: Client) -> None:
        url = f"{client.gateway.base}/task/{client.task}/events"
        async with client.http.get(url) as reply:
            async for line in reply.content:
                if line.startswith(b"data: {"):
                    event = json.loads(line[6:])
                    if self.take(event):
                        return

    def take(self, event: dict[str, Any]) -> bool:
        if event["msg"] == "TextDelta":
            self.text = self.text[: event["offset"]] + event["text"]
        if "seq" in event:
            self.numbers.append(event["seq"])
            self.late.append(time.time() - event["time"] / 1000)
        return bool(event["msg"] == "PostConversation")


async def readers(client: Client, count: int) -> str:
    """So many of one task, some of which never read what they are sent."""
    pid = client.gateway.process.pid
    before = _status(pid, "VmRSS") * 1024
    all = [Reader() for _ in range(count)]
    reading = [asyncio.ensure_future(reader.read(client)) for reader in all]
    stuck = [await _stuck(client) for _ in range(STUCK)]
    await asyncio.sleep(1)
    body = {"role": "user", "content": "slow"}
    await client.ask("POST", f"/task/{client.task}/message", body)
    began = time.monotonic()
    async with asyncio.timeout(120):
        await asyncio.gather(*reading)
    seconds = time.monotonic() - began
    events = await client.events()
    whole = [event["seq"] for event in events]
    done = [event for event in events if event["msg"] == "RequestCompleted"]
    for reader in all:
        require(reader.numbers == whole, "each reader gets each event once")
        require(done[-1]["message"]["content"] == reader.text, "and the text while it is written")
    for writer in stuck:
        writer.close()
    late = sorted([late for reader in all for late in reader.late[-3:]])
    grown = (_status(pid, "VmHWM") * 1024 - before) / MEGABYTE
    require(grown < MOST_GROWN, f"readers cost little memory, not {grown:.0f} MB")
    return (
        f"{count} readers and {STUCK} that never read: each got {len(whole)} events once and the"
        f" text as it was written, in {seconds:.1f} s; the last events came"
        f" {late[len(late) * 95 // 100] * 1000:.0f} ms late (95 %); {grown:.0f} MB more memory"
    )


async def _stuck(client: Client) -> asyncio.StreamWriter:
    host, port = client.gateway.base.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port), limit=1024)
    head = f"GET /task/{client.task}/events HTTP/1.1\r\nHost: {host}\r\n\r\n"
    writer.write(head.encode())
    return writer


async def tried(count: int, many: int) -> list[str]:
    with Upstream(PACE) as provider, tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        provider.configure(home)
        gateway = Gateway(home, str(home / "gateway.db"))
        gateway.start()
        try:
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as http:
                client = Client(gateway, http)
                await client.begin()
                return [await tasks(client, home, count), await readers(client, many)]
        finally:
            gateway.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--readers", type=int, default=200)
    content = parser.parse_args()
    print("\n".join(asyncio.run(tried(content.tasks, content.readers))))


if __name__ == "__main__":
    main()
