"""A request that came in, and the answer to it, told step by step on the bare connection."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from tests.replay.answers import Close, Header, Pause, Reset, Send, Silence, Step


@dataclass
class Received:
    """A request, and what became of the answer."""

    method: str
    path: str
    query: str
    headers: tuple[Header, ...]
    body: bytes
    connection: int
    """A number for each connection, in the order of their first requests."""
    at: float = field(default_factory=time.monotonic)
    exchange: str | None = None
    fault: str | None = None
    sent: int = 0
    """Bytes of the answer, headers included, that were handed to the network."""
    finished: bool = False
    left_at: float | None = None
    """When the client was gone, if it did not wait for the end."""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)


class Told(web.StreamResponse):
    """A response that is told step by step on the bare connection, so that it may be broken."""

    def __init__(self, steps: list[Step], received: Received, patience: float) -> None:
        super().__init__()
        self._steps, self._record, self._limit = steps, received, patience

    @property
    def keep_alive(self) -> bool:
        return self._record.header("connection") != "close"

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        transport = request.transport
        try:
            for step in self._steps:
                if transport is None or transport.is_closing():
                    raise ConnectionResetError("the client is gone")
                await self._do(step, request, transport)
        except (asyncio.CancelledError, ConnectionError):
            if not self._record.finished:
                self._record.left_at = time.monotonic()
            raise
        self._record.finished = True
        return None

    async def _do(self, step: Step, request: web.BaseRequest, transport: Any) -> None:
        match step:
            case Send(data):
                transport.write(data)
                self._record.sent += len(data)
                await request.writer.drain()
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Silence():
                await asyncio.sleep(self._limit)
                self._end(transport, is_reset=False)
            case Close():
                self._end(transport, is_reset=False)
            case Reset():
                self._end(transport, is_reset=True)

    def _end(self, transport: Any, is_reset: bool) -> None:
        self._record.finished = True
        if is_reset:
            # With nothing to wait for, closing a socket sends RST.
            linger = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
            transport.abort()
        else:
            transport.close()
        raise ConnectionResetError("the script ends the connection")

    async def write_eof(self, data: bytes = b"") -> None:
        """Everything was told already."""
