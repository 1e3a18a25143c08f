"""Answers that our own connections send whole: on the wire they are those of uvicorn."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from interlingua.gateway.server.serve import protocol
from interlingua.gateway.settings import Limits
from interlingua.gateway.shared.direct_client import DIRECT_CLIENT, DirectClient

BODY = b'{"a":"' + b"x" * 100_000 + b'"}'
HEADERS = [(b"content-type", b"application/json"), (b"x-request-id", b"req_1")]
BAD = {
    "bad": [(b"x-bad", b"1\r\nx-more: 2")],
    "odd": [(b"x-bad", b"x-more\x01")],
    "worse": [(b"x-bad", b"x-more\x7f")],
}
CASES: dict[str, list[bytes]] = {
    "kept": [b"POST /200 HTTP/1.1\r\n"],
    "two in a row": [b"POST /200 HTTP/1.1\r\n", b"POST /404 HTTP/1.1\r\n"],
    "closed": [b"POST /200 HTTP/1.1\r\nConnection: close\r\n"],
    "old": [b"POST /200 HTTP/1.0\r\n"],
    "a number without a name": [b"POST /529 HTTP/1.1\r\n"],
    "a header that is none": [b"POST /bad HTTP/1.1\r\n"],
    "a mark in it that is none": [b"POST /odd HTTP/1.1\r\n"],
    "the last one of these is none": [b"POST /worse HTTP/1.1\r\n"],
}


class Answering:
    """An application that says the same in one step or in two."""

    def __init__(self, direct: bool) -> None:
        self.direct = direct
        self.done: list[bool] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        word = scope["path"][1:]
        status = int(word) if word.isdigit() else 200
        headers = HEADERS if word.isdigit() else BAD[word]
        if self.direct:
            direct = scope[DIRECT_CLIENT]
            self.done.append(direct.answer(status, headers, BODY))
            if self.done[-1]:
                assert DIRECT_CLIENT not in scope, "the two are no circle any more"
                assert not direct.answer(status, headers, BODY), "an answer is sent once"
                return
        length = (b"content-length", b"%d" % len(BODY))
        start = {"type": "http.response.start", "status": status, "headers": [*headers, length]}
        await send(start)
        await send({"type": "http.response.body", "body": BODY})


@asynccontextmanager
async def serving(app: Any, **settings: Any) -> AsyncGenerator[int, None]:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=protocol(Limits()),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        **settings,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listening.close()


async def _said(port: int, requests: list[bytes]) -> bytes:
    """All that comes back until nothing comes for a while, or the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    end = b"Host: localhost\r\nContent-Length: 2\r\n\r\n{}"
    writer.write(b"".join([request + end for request in requests]))
    data = b""
    try:
        while piece := await asyncio.wait_for(reader.read(1 << 20), 0.5):
            data += piece
        data += b"[end]"
    except TimeoutError:
        pass
    finally:
        writer.close()
    return re.sub(rb"date: [^\r]*", b"date: now", data)


@pytest.mark.parametrize("name", CASES)
def test_a_whole_answer_is_the_same_on_the_wire(name: str) -> None:
    async def work() -> tuple[list[bytes], list[bool]]:
        direct = Answering(True)
        found = []
        for app in (Answering(False), direct):
            async with serving(app) as port:
                found.append(await _said(port, CASES[name]))
        return found, direct.done

    (theirs, ours), done = asyncio.run(work())
    assert ours == theirs
    if "none" in name:
        assert done == [False]
        assert b"x-more" not in ours
    else:
        assert done == [True] * len(CASES[name])
        assert ours.count(BODY) == len(CASES[name])


class Collecting:
    """Answers with the length of the body, which it takes as a whole."""

    def __init__(self, most: int = 1 << 20) -> None:
        self.most = most
        self.bodies: list[bytes | None] = []
        self.left: list[bool] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        direct: DirectClient = scope[DIRECT_CLIENT]
        await asyncio.sleep(0.02)  # some of it is here by now
        self.bodies.append(await direct.whole_body(self.most))
        self.left.append(direct.has_left)
        if not direct.has_left:
            direct.answer(200, [], b"%d" % len(self.bodies[-1] or b""))


@pytest.mark.parametrize("size", [10, 70_000, 400_000])
@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_a_body_in_pieces_is_put_together(size: int, pieces: int) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    step = len(body) // pieces + 1
    app = Collecting()

    async def work() -> None:
        async with serving(app) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(2):  # the connection is good for another request
                head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode())
                for start in range(0, len(body), step):
                    await asyncio.sleep(0.03)
                    writer.write(body[start : start + step])
                await reader.readuntil(b"\r\n\r\n")
                length = b"%d" % len(body)
                assert await reader.readexactly(len(length)) == length
            writer.close()

    asyncio.run(work())
    assert app.bodies == [body, body]


def test_no_more_of_a_body_is_taken_than_the_most() -> None:
    app = Collecting(most=1000)

    async def work() -> bytes:
        async with serving(app) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n")
            for _ in range(20):
                writer.write(b"x" * 100)
                await asyncio.sleep(0.01)
            head = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            return head

    assert asyncio.run(work()).startswith(b"HTTP/1.1 200")
    (body,) = app.bodies
    assert body is not None
    assert 1000 < len(body) < 3000


def test_who_waits_for_a_body_hears_that_the_client_has_left() -> None:
    app = Collecting()

    async def work() -> None:
        async with serving(app) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\nbegun")
            await asyncio.sleep(0.1)
            writer.close()
            for _ in range(100):
                if app.left:
                    return
                await asyncio.sleep(0.02)

    asyncio.run(work())
    assert app.left == [True]


class Sleeping:
    """Answers after so many seconds, which the path says."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(float(scope["path"][1:]))
        assert scope[DIRECT_CLIENT].answer(200, [], b"{}")


def test_a_connection_is_closed_when_it_was_quiet_for_long_enough() -> None:
    quiet, waits = 0.4, [0, 0.6, 0, 0]
    """The second answer takes longer than a connection may be quiet."""

    async def work() -> list[float]:
        loop, began = asyncio.get_running_loop(), []
        async with serving(Sleeping(), timeout_keep_alive=quiet) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for seconds in waits:
                head = f"POST /{seconds} HTTP/1.1\r\nHost: localhost\r\n"
                writer.write(head.encode() + b"Content-Length: 2\r\n\r\n{}")
                await asyncio.wait_for(reader.readuntil(b"{}"), 5)
                began.append(loop.time())
                await asyncio.sleep(quiet / 2)
            assert await asyncio.wait_for(reader.read(), 5) == b"", "it is closed"
            began.append(loop.time())
            writer.close()
        return began

    *_, last, end = asyncio.run(work())
    assert quiet * 0.9 < end - last < quiet * 2
