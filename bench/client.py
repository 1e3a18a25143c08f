"""The client against bare aiohttp that reads the same bytes from the same server on loopback and
does nothing with them. What counts is the processor's time of this process: the server is another.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import aiohttp

from bench import workloads
from bench.measure import ROOT, Row, shown
from interlingua.client import AsyncClient, Client

STREAM = 2.0
FIRST_EVENT = 1.0
GENERATE = 1.5
CHUNKS = 400
PAUSE = 0.0004
"""Seconds between chunks, so that each arrives by itself as those of a model do."""
MODEL = "anthropic:claude-sonnet-4-5"
KEY = {"anthropic": "a-key-for-the-bench"}
LONG, SHORT = "Tell me a story.", "Be short."
Work = Callable[[], Awaitable[object]]


def rows(quick: bool) -> Iterator[Row]:
    rounds = 5 if quick else 15
    with serving() as url:
        yield from asyncio.run(_rows(url, rounds))
        yield from _sync_rows(url, rounds)


async def _rows(url: str, rounds: int) -> list[Row]:
    whole = workloads.encoded(_wire(LONG, stream=False))
    headers = {"content-type": "application/json", "x-api-key": KEY["anthropic"]}
    async with (
        AsyncClient(base_urls={"anthropic": url}, keys=KEY, environ={}) as client,
        aiohttp.ClientSession() as session,
    ):

        async def bare_stream(text: str = LONG) -> float:
            body = workloads.encoded(_wire(text, stream=True))
            begun, first = time.perf_counter(), 0.0
            async with session.post(f"{url}/v1/messages", data=body, headers=headers) as reply:
                async for _ in reply.content.iter_any():
                    first = first or time.perf_counter() - begun
            return first

        async def our_stream(text: str = LONG) -> float:
            begun, first = time.perf_counter(), 0.0
            async with client.stream(MODEL, text) as stream:
                async for _ in stream:
                    first = first or time.perf_counter() - begun
            return first

        async def bare_request() -> None:
            async with session.post(f"{url}/v1/messages", data=whole, headers=headers) as reply:
                await reply.read()

        async def our_request() -> None:
            await client.generate(MODEL, LONG)

        floor, ours, _ = await _turns(our_stream, bare_stream, rounds)
        short = (lambda: our_stream(SHORT)), (lambda: bare_stream(SHORT))
        _, _, firsts = await _turns(*short, 10 * rounds)
        streamed = [
            Row("client.stream, CPU", f"{shown(floor / CHUNKS)} a chunk", ours / floor, STREAM),
            Row("client.stream, to the first event", "bare aiohttp", firsts, FIRST_EVENT, "ms"),
        ]
        many = 20
        once = _times(our_request, many), _times(bare_request, many)
        floor, ours, _ = await _turns(*once, 5 * rounds)
        each = f"{shown(floor / many)} a request"
        return [*streamed, Row("client.generate, CPU", each, ours / floor, GENERATE)]


def _sync_rows(url: str, rounds: int) -> Iterator[Row]:
    """The loop in a thread, against the same without it: what the way to the thread costs."""
    many = 40
    with Client(base_urls={"anthropic": url}, keys=KEY, environ={}) as client:
        client.generate(MODEL, LONG)
        spent = []
        for _ in range(rounds):
            begun = time.process_time()
            for _ in range(many):
                client.generate(MODEL, LONG)
            spent.append((time.process_time() - begun) / many)
        yield Row(
            "Client.generate without await", "-", statistics.median(spent) * 1e6, None, "us CPU"
        )
        spent = []
        for _ in range(rounds):
            begun = time.process_time()
            with client.stream(MODEL, LONG) as stream:
                for _ in stream:
                    pass
            spent.append((time.process_time() - begun) / CHUNKS)
        yield Row(
            "Client.stream without await", "-", statistics.median(spent) * 1e6, None, "us a chunk"
        )


def _times(work: Work, many: int) -> Work:
    async def repeated() -> float:
        for _ in range(many):
            await work()
        return 0.0

    return repeated


async def _turns(candidate: Work, floor: Work, rounds: int) -> tuple[float, float, float]:
    """Both take turns: seconds of CPU of the floor, of the candidate by the median of the ratios,
    and how many milliseconds later the candidate had its first result."""
    await candidate(), await floor()
    base, ratios, later = [], [], []
    for _ in range(rounds):
        low, first = await _spent(floor)
        high, own = await _spent(candidate)
        base.append(low)
        ratios.append(high / low)
        later.append((own - first) * 1000)
    best = min(base)
    return best, best * statistics.median(ratios), statistics.median(later)


async def _spent(work: Work) -> tuple[float, float]:
    begun = time.process_time()
    first = await work()
    return time.process_time() - begun, first if isinstance(first, float) else 0.0


def _wire(text: str, stream: bool) -> dict[str, object]:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {
        "model": "claude-sonnet-4-5",
        "messages": [message],
        "max_tokens": 4096,
        "stream": stream,
    }


# -- the server -----------------------------------------------------------------------------------


@contextmanager
def serving() -> Iterator[str]:
    """A server in a process of its own, which ends with the block."""
    program = "import asyncio; from bench import client; asyncio.run(client.serve())"
    server = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.communicate()  # closing its input ends it


async def serve() -> None:
    frames = workloads.stream(CHUNKS)
    whole = workloads.response("R1")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                size = next(line for line in lines if line.startswith(b"content-length:"))
                body = await reader.readexactly(int(size.partition(b":")[2]))
                if b'"stream":true' in body.replace(b" ", b""):
                    is_short = SHORT.encode() in body
                    await _stream(writer, [frames[0], frames[-1]] if is_short else frames)
                else:
                    kind = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    writer.write(kind + b"content-length: %d\r\n\r\n%b" % (len(whole), whole))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


async def _stream(writer: asyncio.StreamWriter, frames: list[bytes]) -> None:
    kind = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    writer.write(kind + b"transfer-encoding: chunked\r\n\r\n")
    for frame in frames:
        writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
        await writer.drain()
        await asyncio.sleep(PAUSE)
    writer.write(b"0\r\n\r\n")
