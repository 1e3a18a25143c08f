"""`python -m tests.gateway.endurance.slow`: clients that take or give too little, or give too much.

Hundreds that read a byte a second of a long stream, thousands that send a byte now and then, and
bodies of gigabytes. The gateway's memory stays bounded, those who behave are served as before, and
all the others are got rid of in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from interlingua.gateway.server.client_connection import ClientConnection
from tests.gateway.asking import FRONTS, Client, all_of, request
from tests.gateway.endurance.outside import MEGABYTE, Serving, require
from tests.gateway.scripted import Script, Scripted

MOST = 300 * MEGABYTE
SLOWER, FLOOR = 3.0, 0.1
"""How much longer the slowest of a hundred others may take than before: so many times, or so many
seconds if that is more."""
PLAIN, LONG = Script(pieces=4), Script(pieces=1_000_000, size=8000)
OTHERS = 1_000_000
"""Requests with this number or a higher one are of those who behave."""
UNREAD = 16 * MEGABYTE
"""What the sockets of both sides hold at most of what nobody has read."""
LIMIT = 32 * MEGABYTE
"""Of a body, unless the file says otherwise."""
SLACK = 2.0


class Seen(NamedTuple):
    clients: int
    peak: int
    p99: tuple[float, float]
    """Seconds that others took, before and meanwhile."""
    sent: int
    """Bytes that were taken from upstream for one of them, at most."""
    seconds: float
    """How long the slowest of the slow ones was kept."""


class Others:
    """Those who behave: some connections that ask again and again."""

    def __init__(self, gateway: Serving) -> None:
        self._gateway = gateway
        self._number = OTHERS

    async def usual(self) -> float:
        """Seconds that it takes when nothing else is done; first of all everything is loaded."""
        await self.p99(asyncio.sleep(0.5))
        return await self.p99(asyncio.sleep(1.0))

    async def p99(self, meanwhile: Awaitable[object], connections: int = 4) -> float:
        """Seconds that the slowest of a hundred takes while something else is done."""
        times: list[float] = []
        over = asyncio.ensure_future(meanwhile)

        async def ask() -> None:
            client = await Client.connect(self._gateway.port)
            while not over.done():
                self._number += 1
                asked = request("openai-chat", self._number, False, self._gateway.token)
                began = time.perf_counter()
                client.writer.write(asked.head + asked.body)
                await asyncio.wait_for(client.answer(), 20)
                require(client.status == 200, f"others were answered with {client.status}")
                times.append(time.perf_counter() - began)
                await asyncio.sleep(0.005)
            client.leave()

        await all_of([ask() for _ in range(connections)])
        await over
        return sorted(times)[int(len(times) * 0.99)]


def plan(number: int) -> Script:
    return PLAIN if number >= OTHERS else LONG


def _unaffected(before: float, meanwhile: float, floor: float) -> None:
    most = max(before * SLOWER, floor)
    law = f"others took {meanwhile * 1000:.0f} ms, {before * 1000:.0f} ms before"
    require(meanwhile < most, law)


async def readers(
    home: Path, count: int, seconds: float, stalled: float = 60.0, floor: float = FLOOR
) -> Seen:
    """So many clients read a byte a second of a stream that has no end, for so long. Those that
    take nothing for `stalled` seconds are left."""
    more = f"[limits]\nstalled = {stalled}\n"
    async with Scripted(plan) as upstream:
        with Serving(home, upstream.url, more) as gateway:
            others = Others(gateway)
            before = await others.usual()
            slow = [_small(gateway.port) for _ in range(count)]
            try:
                began = time.monotonic()
                fronts = list(FRONTS)
                for number, each in enumerate(slow):
                    asked = request(fronts[number % len(fronts)], number, True, gateway.token)
                    each.send(asked.head + asked.body)
                await _sip(slow, seconds / 4)  # until all buffers are full
                meanwhile = await others.p99(_sip(slow, seconds * 3 / 4))
                require(upstream.busy == count, f"{upstream.busy} of {count} are under way")
                sent = max(each.sent for each in upstream.open)
                law = f"{sent // 1024} kB were taken from upstream for a client that reads nothing"
                require(sent < UNREAD, law)
                while upstream.busy and time.monotonic() - began < 2 * stalled + seconds:
                    await _sip(slow, 0.2)
                require(not upstream.busy, f"{upstream.busy} streams go on for nobody")
                stored = time.monotonic() - began
            finally:
                for each in slow:
                    each.close()
            peak = gateway.peak()
            require(peak < MOST, f"{peak / MEGABYTE:.0f} MB of memory")
            _unaffected(before, meanwhile, floor)
    return Seen(count, peak, (before, meanwhile), sent, stored)


def _small(port: int) -> socket.socket:
    """A connection that can hold little of what was not read."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", port))
    made.setblocking(False)
    return made


async def _sip(sockets: list[socket.socket], seconds: float) -> None:
    """A byte of each every second."""
    until = time.monotonic() + seconds
    while True:
        for number, each in enumerate(sockets):
            with suppress(OSError):
                each.recv(1)
            if number % 50 == 49:
                await asyncio.sleep(0)
        left = until - time.monotonic()
        if left <= 0:
            return
        await asyncio.sleep(min(1.0, left))


async def senders(home: Path, count: int, limit: float = 5.0, floor: float = FLOOR) -> Seen:
    """So many clients send a byte now and then: half of them of their headers, half of their body,
    for which there are `limit` seconds."""
    more = f"[limits]\nheader_seconds = {limit}\nbody_seconds = {limit}\n"
    async with Scripted(plan) as upstream:
        with Serving(home, upstream.url, more) as gateway:
            others = Others(gateway)
            before = await others.usual()
            files = gateway.files() - len(upstream.open)
            remaining: list[float] = []
            work = all_of([_trickle(gateway, number, limit, remaining) for number in range(count)])
            meanwhile = await others.p99(work)
            most = limit + min(limit, ClientConnection.leftover_seconds) + SLACK
            require(max(remaining) < most, f"one was kept for {max(remaining):.1f} s")
            await asyncio.sleep(0.5)
            now = gateway.files() - len(upstream.open)
            require(now <= files, f"{now} files are open, {files} before")
            require(
                all(number >= OTHERS for number in upstream.told),
                "half a request was sent upstream",
            )
            _unaffected(before, meanwhile, floor)
            peak = gateway.peak()
            require(peak < MOST, f"{peak / MEGABYTE:.0f} MB of memory")
    return Seen(count, peak, (before, meanwhile), 0, max(remaining))


async def _trickle(gateway: Serving, number: int, limit: float, kept: list[float]) -> None:
    """Send a byte, wait, and so on, until the gateway has had enough."""
    asked = request("openai-chat", number, True, gateway.token)
    await asyncio.sleep(number * 0.0005)
    client = await Client.connect(gateway.port)
    began = time.monotonic()
    in_body = number % 2 == 0
    if in_body:
        client.writer.write(asked.head)
    rest = asked.body if in_body else asked.head
    closed = asyncio.ensure_future(_heard(client))
    for at in range(len(rest)):
        client.writer.write(rest[at : at + 1])
        done, _ = await asyncio.wait({closed}, timeout=limit / 10)
        if done or time.monotonic() - began > 3 * limit + 10:
            break
    kept.append(time.monotonic() - began)
    content = closed.result() if closed.done() else b""
    closed.cancel()
    client.leave()
    if in_body:
        require(
            content.startswith(b"HTTP/1.1 408"), f"half a body was answered with {content[:60]!r}"
        )


async def _heard(client: Client) -> bytes:
    """All that came before the end, even where a late byte of ours made that a reset."""
    pieces = b""
    with suppress(ConnectionError):
        while piece := await client.reader.read(4096):
            pieces += piece
    return pieces


class Sent(NamedTuple):
    """What became of a body that is too long."""

    status: int
    bytes: int
    seconds: float


async def giant(home: Path, gigabytes: float) -> dict[str, Sent]:
    """A body of so many gigabytes: told beforehand, or without an end in sight."""
    size = int(gigabytes * 1024) * MEGABYTE
    found = {}
    async with Scripted(plan) as upstream:
        with Serving(home, upstream.url) as gateway:
            for path in (FRONTS["openai-chat"], "/sessions"):
                for way in ("content-length", "chunked"):
                    before = gateway.rss()
                    sent = await asyncio.to_thread(_pour, gateway, path, way, size)
                    found[f"{path}, {way}"] = sent
                    # As much again is thrown away, for the client to get to read the answer.
                    limit = UNREAD + (1 if way == "content-length" else 2) * LIMIT
                    require(sent.status == 413, f"{path}, {way}: status {sent.status}")
                    law = f"{path}, {way}: {sent.bytes // MEGABYTE} MB were taken"
                    require(sent.bytes <= limit, law)
                    grown = gateway.peak() - before
                    require(grown < 150 * MEGABYTE, f"{grown // MEGABYTE} MB of memory for it")
            require(not upstream.told, "it was sent upstream")
    return found


def _pour(gateway: Serving, path: str, way: str, size: int) -> Sent:
    """Send without looking, until that is no longer possible or all is sent; then read."""
    length = f"content-length: {size}" if way == "content-length" else "transfer-encoding: chunked"
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {gateway.token}\r\n{length}\r\n\r\n"
    )
    block = b" " * MEGABYTE
    piece = block if way == "content-length" else b"%x\r\n%b\r\n" % (len(block), block)
    total, content = 0, b""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as client:
        client.sendall(head.encode())
        with suppress(OSError):  # closed in our face, or nobody reads
            while total < size:
                client.sendall(piece)
                total += len(block)
        with suppress(OSError):
            content = client.recv(65536)
    status = int(content.split()[1]) if content.startswith(b"HTTP/1.1 ") else 0
    return Sent(status, total, time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.gateway.endurance.slow", description=__doc__
    )
    parser.add_argument("--count", type=int, default=500, help="clients that read slowly")
    parser.add_argument("--seconds", type=float, default=50.0, help="how long they do so")
    parser.add_argument("--sockets", type=int, default=2000, help="clients that send slowly")
    parser.add_argument("--gigabytes", type=float, default=5.0, help="of a body")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("readers", "senders", "giant"):
            (home / name).mkdir()
        seen = asyncio.run(readers(home / "readers", chosen.count, chosen.seconds))
        _print("read a byte a second", seen)
        _print("send a byte now and then", asyncio.run(senders(home / "senders", chosen.sockets)))
        for name, sent in asyncio.run(giant(home / "giant", chosen.gigabytes)).items():
            print(
                f"{chosen.gigabytes:g} GB to {name}: {sent.status} after"
                f" {sent.bytes / MEGABYTE:.0f} MB, {sent.seconds:.2f} s"
            )
    return 0


def _print(what: str, seen: Seen) -> None:
    before, meanwhile = seen.p99
    print(
        f"{seen.clients} {what}: {seen.peak / MEGABYTE:.0f} MB at most, p99 of others"
        f" {before * 1000:.0f} ms before, {meanwhile * 1000:.0f} ms meanwhile; all gone after"
        f" {seen.seconds:.1f} s" + (f"; {seen.sent // 1024} kB taken for each" * bool(seen.sent)),
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
