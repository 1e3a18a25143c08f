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
from interlingua.gateway.shared.direct_client import DIRECT_CLIENT

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
async def serving(app: Any) -> AsyncGenerator[int, None]:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=protocol(Limits()), ws="none", lifespan="off", log_config=None, access_log=False
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
