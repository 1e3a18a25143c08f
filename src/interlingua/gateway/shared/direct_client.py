"""A shortcut from our own connections to request handlers: the client has left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

DIRECT_CLIENT = "interlingua.direct_client"
"""The key of a request's scope with its `DirectClient`."""


_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_STATUS = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}".encode() for status in range(600)]
_CONTROL = bytes([code for code in (*range(32), 127) if code not in b"\t"])
"""Characters that headers hold at the ends of lines at most."""


class DirectClient:
    """What our own connections offer to a request handler without waiting: whether its client has
    disconnected, and a body that has already arrived. A whole answer is sent as directly."""

    __slots__ = ("_call", "_cycle", "_most", "_pieces", "has_left", "loop", "waiting")

    def __init__(self, cycle: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._cycle = cycle
        self._call: Callable[[], None] | None = None
        self.has_left = False
        self._pieces: list[bytes] = []
        self._most = 0
        self.waiting: asyncio.Future[None] | None = None

    def body(self) -> bytes | None:
        """All of it; None where some has to be waited for."""
        cycle = self._cycle
        if cycle.more_body or cycle.flow.read_paused or cycle.waiting_for_100_continue:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        return body

    async def whole_body(self, most: int) -> bytes | None:
        """The whole body, also if it is still arriving, or the beginning of one of more than `most`
        bytes; None if it has to be requested. It is joined once, without intermediate waits."""
        cycle = self._cycle
        if not cycle.more_body or cycle.waiting_for_100_continue or cycle.disconnected:
            return None
        self.waiting, self._most = self.loop.create_future(), most
        body, cycle.body = bytes(cycle.body), bytearray()
        self.comes(body)
        cycle.flow.resume_reading()
        try:
            await self.waiting
        finally:
            self.waiting, pieces = None, self._pieces
            self._pieces = []
        return b"".join(pieces)

    def comes(self, piece: bytes) -> bool:
        """A part of the body has arrived; False if the handler has not requested all of it."""
        if self.waiting is None:
            return False
        self._pieces.append(piece)
        self._most -= len(piece)
        if self._most < 0:
            self.ends()
        return True

    def ends(self) -> None:
        """The whole body has arrived, or no more of it is wanted."""
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)

    def answer(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Sends a complete answer, as uvicorn does in two steps. False if that has to be left to
        uvicorn: the client is slow, or the headers are unusual."""
        cycle = self._cycle
        if cycle.response_started or cycle.disconnected or cycle.flow.write_paused:
            return False
        lines = [
            _STATUS[status],
            *map(b": ".join, cycle.default_headers),
            *map(b": ".join, headers),
            b"content-length: %d" % len(body),
        ]
        if not cycle.keep_alive:
            lines.append(b"connection: close")
        lines.append(b"\r\n")
        head = b"\r\n".join(lines)
        if len(head) - len(head.translate(None, _CONTROL)) != 2 * len(lines):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        transport = cycle.transport
        transport.at_once(head + body)
        cycle.message_event.set()
        if not cycle.keep_alive:
            transport.close()
        cycle.on_response()
        return True

    def tell(self, call: Callable[[], None]) -> None:
        self._call = call

    def forget(self) -> None:
        self._call = None

    def happens(self) -> None:
        self.has_left = True
        self.ends()
        if self._call is not None:
            self._call()
