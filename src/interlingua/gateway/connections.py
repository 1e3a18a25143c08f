"""What the connections of uvicorn lack: an end for clients that do not take what they asked for, or
go on sending what nobody wants, and a word to every request when its client has left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    Protocol = asyncio.Protocol
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
else:
    Protocol = HttpToolsProtocol = object  # each comes before one of uvicorn's protocols


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


class Answered(HttpToolsProtocol):
    """A request that was answered before its body was there, since it was refused: what still comes
    of the body is thrown away, so that the client gets to read the answer, but only so many bytes
    and for so many seconds."""

    leftover = 32 * 1024 * 1024
    leftover_seconds = 5.0
    _thrown = 0
    _ending: asyncio.TimerHandle | None = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        cycle = self.cycle
        if cycle.more_body and cycle.response_complete and not self.transport.is_closing():
            self._thrown = 0
            self._ending = self.loop.call_later(self.leftover_seconds, self.transport.close)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self._ending is not None:
            self._thrown += len(body)
            if self._thrown > self.leftover:
                self.transport.close()

    def on_message_complete(self) -> None:
        self._stop_ending()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_ending()
        super().connection_lost(exc)

    def _stop_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


LEAVING = "interlingua.leaving"
"""Where the scope of a request has its `Leaving`."""


class Leaving:
    """What our own connections can tell whoever works on a request, without anybody waiting for it:
    that its client has left, and a body that is here already."""

    __slots__ = ("_call", "_cycle", "_has_left", "loop")

    def __init__(self, cycle: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._cycle = cycle
        self._call: Callable[[], None] | None = None
        self._has_left = False

    def body(self) -> bytes | None:
        """All of it; None where some has to be waited for."""
        cycle = self._cycle
        if cycle.more_body or cycle.flow.read_paused or cycle.waiting_for_100_continue:
            return None
        body, cycle.body = bytes(cycle.body), bytearray()
        return body

    def tell(self, call: Callable[[], None]) -> None:
        self._call = call
        if self._has_left:
            call()

    def forget(self) -> None:
        self._call = None

    def happens(self) -> None:
        self._has_left = True
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


class Told(HttpToolsProtocol):
    """uvicorn tells the newest request of a connection that the client has left, and does not read
    on while one waits behind another, which is how it would hear of that. Where a client has sent
    several, the one that is under way has to hear it as well."""

    few = 4
    """Requests that may wait; beyond these, nothing more is read."""
    _under_way: Any = None

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.pipeline and len(self.pipeline) <= self.few:
            self.flow.resume_reading()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._under_way = cycle
        cycle.scope[LEAVING] = Leaving(cycle, self.loop)
        cycle.transport = Together(cycle.transport, self.loop)
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        cycle, self._under_way = self._under_way, None
        if cycle is not None and not cycle.response_complete:
            cycle.scope[LEAVING].happens()
            if cycle is not self.cycle:
                cycle.disconnected = True
                cycle.message_event.set()
        # uvicorn does so only where the client said goodbye: after a reset its timer would keep
        # all of the connection for as long as the next request is waited for.
        self._unset_keepalive_if_required()
