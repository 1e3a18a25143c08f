"""What the connections of uvicorn lack: an end for clients that do not take what they asked for, or
go on sending what nobody wants, and a word to every request when its client has left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    Protocol = asyncio.Protocol
else:
    Protocol = object  # it comes before one of uvicorn's


class Taking(Protocol):
    """A slow client may take as long as it likes, as long as it takes something: after `stalled`
    seconds without that, the connection is ended, and with it the request upstream. It is looked
    after only while too much waits to be sent."""

    stalled = 60.0
    transport: Any
    loop: Any
    _looking: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._looking is None:
            self._look_later()

    def resume_writing(self) -> None:
        self._stop_looking()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_looking()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        waits = self.transport.get_write_buffer_size()
        self._looking = self.loop.call_later(self.stalled, self._look, waits)

    def _look(self, before: int) -> None:
        self._looking = None
        if self.transport.get_write_buffer_size() < before:
            self._look_later()
            return
        logger.info("client_stalled", extra={"bytes": before})
        self.transport.abort()

    def _stop_looking(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None


LEAVING = "interlingua.leaving"
"""Where the scope of a request has its `Leaving`."""


_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_STATUS = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}".encode() for status in range(600)]
_CONTROL = bytes([code for code in (*range(32), 127) if code not in b"\t\r\n"])
"""What no header may hold, beside ends of lines in wrong places."""


class Leaving:
    """What our own connections can tell whoever works on a request, without anybody waiting for it:
    that its client has left, and a body that is here already. A whole answer goes back as quickly.
    """

    __slots__ = ("_call", "_cycle", "has_left", "loop")

    def __init__(self, cycle: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._cycle = cycle
        self._call: Callable[[], None] | None = None
        self.has_left = False

    def body(self) -> bytes | None:
        """All of it; None where some has to be waited for."""
        cycle = self._cycle
        if cycle.more_body or cycle.flow.read_paused or cycle.waiting_for_100_continue:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        return body

    def answer(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send an answer whole, as uvicorn does in two steps. False where that has to be left to
        it: somebody has to be waited for, or the headers are not what they should be."""
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
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            return False
        if len(head.translate(None, _CONTROL)) != len(head):
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
        if self._call is not None:
            self._call()


class Together:
    """A transport that keeps the beginning of an answer until there is more of it, but no longer
    than to the next round of the event loop: one write is cheaper than two."""

    __slots__ = ("_first", "_loop", "_transport")

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._first: bytes | None = None

    def write(self, data: bytes) -> None:
        first = self._first
        if first is None:
            self._first = data
            self._loop.call_soon(self._flush)
            return
        if first:
            data, self._first = first + data, b""
        self._transport.write(data)

    def at_once(self, data: bytes) -> None:
        """A whole answer, with nothing before it."""
        self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        first = self._first
        if first:
            self._first = b""
            self._transport.write(first)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
