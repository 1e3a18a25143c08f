"""A provider of Anthropic's dialect in the event loop of the test: for each request it does what
the test has planned, and notes when it was asked, when it was done and when it was left.

A request says which it is by `#<number>#` somewhere in its body."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

NUMBER = re.compile(rb"#(\d+)#")
INPUT, OUTPUT = 21, 42
"""Tokens of every call."""
TURN = 16 * 1024
"""Bytes of a long answer before others get their turn, and that the system holds unsent."""


class Script(NamedTuple):
    """Seconds before the first byte, pieces of text, seconds between them, characters of each."""

    wait: float = 0.0
    pieces: int = 10
    pause: float = 0.0
    size: int = 12


class Told(NamedTuple):
    """Times of the event loop's clock. `over` is when the answer was out, or the asker left."""

    asked: float
    over: float | None = None
    whole: bool = False


class Scripted:
    """Serves from `async with` to its end."""

    def __init__(self, plan: Callable[[int], Script]) -> None:
        self.plan = plan
        self.told: dict[int, Told] = {}
        self.open: set[Connection] = set()
        self.twice: list[int] = []
        """Numbers that were asked more than once."""
        self._waiting: dict[int, asyncio.Future[None]] = {}

    @property
    def busy(self) -> int:
        """Connections with a request that is not answered yet."""
        return sum(each.number is not None for each in self.open)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), "127.0.0.1", 0, backlog=2048
        )
        port = self._server.sockets[0].getsockname()[1]
        for each in self._server.sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, TURN)
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for each in list(self.open):
            each.transport.abort()
        await asyncio.sleep(0)

    async def asked(self, number: int, seconds: float = 20.0) -> None:
        """Returns when that request has come."""
        if number not in self.told:
            future = self._waiting[number] = asyncio.get_running_loop().create_future()
            await asyncio.wait_for(future, seconds)

    def begin(self, number: int) -> None:
        if number in self.told:
            self.twice.append(number)
        self.told[number] = Told(asyncio.get_running_loop().time())
        waiting = self._waiting.pop(number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def end(self, number: int, whole: bool) -> None:
        result = self.told[number]
        self.told[number] = Told(result.asked, asyncio.get_running_loop().time(), whole)


class Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self, upstream: Scripted) -> None:
        self._upstream = upstream
        self._held = b""
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.number: int | None = None
        self.sent = 0
        """Bytes of a slow answer that were given to the socket."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self._upstream.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._upstream.open.discard(self)
        if self._task is not None:
            self._task.cancel()
        self._done(whole=False)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, found, rest = self._held.partition(b"\r\n\r\n")
        if not found or len(rest) < (length := _length(head)):
            return
        body, self._held = rest[:length], rest[length:]
        marked = NUMBER.search(body)
        self.number = int(marked.group(1)) if marked else -1
        self._upstream.begin(self.number)
        script = self._upstream.plan(self.number)
        stream = b'"stream":true' in body.replace(b" ", b"")
        if script.wait or script.pause or script.pieces > 1000:
            work = self._slowly(script, stream)
            self._task = asyncio.get_running_loop().create_task(work)
        else:
            pieces = _frames(script) if stream else [_whole(script)]
            self._send(b"".join([HEAD if stream else b"", *pieces]))

    def _send(self, data: bytes) -> None:
        """The whole answer, or its end."""
        self.transport.write(data)
        self._done(whole=True)

    def _done(self, whole: bool) -> None:
        number, self.number = self.number, None
        if number is not None:
            self._upstream.end(number, whole)

    async def _slowly(self, script: Script, stream: bool) -> None:
        await asyncio.sleep(script.wait)
        if not stream:
            self._send(_whole(script))
            return
        self.transport.write(HEAD)
        first, *deltas, last = _frames(script)
        self.transport.write(first)
        for delta in deltas:
            await self._writable.wait()
            self.transport.write(delta)
            self.sent += len(delta)
            if script.pause:
                await asyncio.sleep(script.pause)
            elif self.sent % TURN < len(delta):
                await asyncio.sleep(0)
        self._send(last)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": INPUT, "output_tokens": OUTPUT},
}


def _chunk(*wires: dict[str, Any]) -> bytes:
    data = "".join([f"event: {wire['type']}\ndata: {json.dumps(wire)}\n\n" for wire in wires])
    return b"%x\r\n%b\r\n" % (len(data), data.encode())


def _frames(script: Script) -> list[bytes]:
    """The beginning, each piece of text, and the end."""
    usage = {"input_tokens": INPUT, "output_tokens": 1}
    begun: dict[str, Any] = {**_MESSAGE, "content": [], "stop_reason": None, "usage": usage}
    block = {"type": "text", "text": ""}
    first = _chunk(
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
    )
    delta = {"type": "text_delta", "text": "word " * (script.size // 5 + 1)}
    piece = _chunk({"type": "content_block_delta", "index": 0, "delta": delta})
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    last = _chunk(
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": OUTPUT}},
        {"type": "message_stop"},
    )
    return [first, *[piece] * script.pieces, last + b"0\r\n\r\n"]


def _whole(script: Script) -> bytes:
    text = "word " * (script.size // 5 + 1) * script.pieces
    body = json.dumps({**_MESSAGE, "content": [{"type": "text", "text": text}]}).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0
