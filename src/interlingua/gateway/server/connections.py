"""What the connections of uvicorn lack: an end for clients that do not take what they asked for, or
go on sending what nobody wants, and a word to every request when its client has left."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    Protocol = asyncio.Protocol
else:
    Protocol = object  # it comes before one of uvicorn's


class StallLimit(Protocol):
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


class CoalescingTransport:
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
