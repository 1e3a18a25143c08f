"""One connection to a provider: a request out, a reply in, and then the next.

httptools reads the bytes; its findings go to the pending reply. Nothing here is particular to a
provider, and nothing is logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httptools

from interlingua.client.transport import ReplyTimer, Ticker, now, packing
from interlingua.client.transport_errors import (
    BROKEN_OFF,
    Limits,
    TooLarge,
    TransportError,
    Unpacker,
    late_in,
    reason,
)

HELD = 32 * 1024
"""Bytes of a reply that may be buffered before the connection is paused."""
_READ = memoryview(bytearray(HELD))
"""The shared read buffer of all connections, each in its turn. Without it the event loop reads four
or eight times as much at once, and a slow client makes us hold all of that, several times."""
HEADERS = 64 * 1024
"""Bytes of a reply's headers."""
_ODD = "invalid HTTP response"


class Reply:
    """Status and headers (lower case) are there once `arrived` is awaited; the body is read piece
    by piece."""

    __slots__ = (
        "_broken",
        "_connection",
        "_done",
        "_loop",
        "_source",
        "_unpacker",
        "_waiting",
        "headers",
        "held",
        "is_whole",
        "pieces",
        "status",
        "timer",
    )

    def __init__(
        self,
        connection: Connection,
        limits: Limits,
        begun: float,
        done: Callable[[], None],
        ticker: Ticker,
    ) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.is_whole = False
        """Whether the reply is complete; it may not have been read yet."""
        self.timer = ReplyTimer(limits, begun, connection.abort, connection.loop, ticker)
        self._loop = connection.loop
        self._connection: Connection | None = connection
        self._source = connection
        self._done = done
        self.pieces: list[bytes] = []
        """The body's bytes that arrived and were not read yet."""
        self.held = 0
        """Its bytes."""
        self._broken: TransportError | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._unpacker: Unpacker | None = None

    async def arrived(self) -> None:
        """Wait for status and headers."""
        self.timer.begin()
        try:
            while not self.status:
                if self._broken is not None:
                    raise self._error()
                self._waiting = self._loop.create_future()
                await self._waiting
            self.timer.rest()
            if "content-encoding" in self.headers:
                packed = packing(self.headers)
                self._unpacker = Unpacker() if packed not in ("", "identity") else None
        except BaseException:
            self.close()
            raise
        finally:
            self._waiting = None

    async def chunk(self) -> bytes:
        """The next piece of the body, empty at its end."""
        if self._unpacker is None:
            return await self._raw()
        return await self._unpacker.next(self._raw)

    async def _raw(self) -> bytes:
        if not self.is_whole:
            self.timer.begin()
            if self.timer.late is not None:  # it became so while the reader rested
                raise late_in(self.timer.late, self.timer.began)
            while not self.pieces and not self.is_whole:
                if self._broken is not None:
                    self.timer.stop()
                    raise self._error()
                self._waiting = self._loop.create_future()
                try:
                    await self._waiting
                finally:
                    self._waiting = None
        self.timer.came()
        pieces = self.pieces
        if not pieces:
            return b""
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self.held = 0
        if self._connection is not None:
            self._connection.go_on()
        return data

    async def body(self, limit: int) -> bytes:
        """All of it; `TooLarge` if it has more than so many bytes."""
        content_length = self.headers.get("content-length", "")
        if content_length.isdecimal() and int(content_length) > limit:
            raise TooLarge
        if self.is_whole and self._unpacker is None and self.held <= limit:
            body, self.pieces = b"".join(self.pieces), []
            return body
        pieces, size = [], 0
        while piece := await self.chunk():
            size += len(piece)
            if size > limit:
                raise TooLarge
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """Ends the reply. If a part of it has not been read yet, the connection is closed."""
        if not self.is_whole:
            if self._connection is not None:
                self._connection.abort()
            self.release()

    def drop(self) -> None:
        """The answer cannot be read: its connection may be out of step, and ends. A request that is
        on it by now, perhaps of another tenant, is tried again on another one."""
        self._source.abort()
        self.close()

    def _error(self) -> TransportError:
        assert self._broken is not None
        late = self.timer.late
        return self._broken if late is None else late_in(late, self.timer.began)

    # Events of the connection:

    def wake(self) -> None:
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def broke(self, error: TransportError) -> None:
        self._broken = error
        self.release()
        self.wake()

    def release(self, *, is_whole: bool = False) -> None:
        """Releases the connection, when the whole reply has arrived or no more of it is wanted."""
        self.is_whole = is_whole
        self.timer.stop()
        if self._connection is not None:
            self._connection = None
            self._done()


class Connection(asyncio.BufferedProtocol):
    """Calls `free` when it can be used for another request, and `lost` when it is gone."""

    __slots__ = (
        "_free",
        "_headers",
        "_lost",
        "_parser",
        "_paused",
        "_reply",
        "_size",
        "_to_the_end",
        "begun",
        "idle_since",
        "loop",
        "requests_sent",
        "transport",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        free: Callable[[Connection], None],
        lost: Callable[[Connection], None],
    ) -> None:
        self.loop = loop  # asking for the running one costs a system call
        self.transport: Any = None
        self.begun = now()
        self.requests_sent = 0
        """The number of requests on this connection."""
        self.idle_since = 0.0
        self._free = free
        self._lost = lost
        self._parser = httptools.HttpResponseParser(self)
        self._reply: Reply | None = None
        self._headers: dict[str, str] = {}
        self._size = 0
        self._paused = False
        self._to_the_end = False
        """Whether the body ends where the connection does."""

    def ask(self, head: bytes, body: bytes, reply: Reply) -> None:
        """Sends a request; `reply` receives everything that arrives."""
        self._reply = reply
        self.requests_sent += 1
        self._headers, self._size = {}, 0
        if len(body) > HELD:
            self.transport.write(head)
            self.transport.write(body)
        else:
            self.transport.write(head + body)

    def go_on(self) -> None:
        if self._paused:
            self._paused = False
            self.transport.resume_reading()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    # Callbacks of the event loop:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return _READ

    def buffer_updated(self, nbytes: int) -> None:
        reply = self._reply
        if reply is None:  # no request is under way
            self.abort()
            return
        try:
            self._parser.feed_data(_READ[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._break(TransportError("read", _ODD, sent=True, begun=True))
        reply.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._lost(self)
        reply, self._reply = self._reply, None
        if reply is None:
            return
        if self._to_the_end and exc is None:
            reply.release(is_whole=True)
            reply.wake()
            return
        begun = bool(reply.status)
        why = BROKEN_OFF if begun else f"connection lost: {_why(exc)}"
        reply.broke(TransportError("read", why, sent=True, begun=begun))

    def _break(self, error: TransportError) -> None:
        reply, self._reply = self._reply, None
        self.abort()
        if reply is not None:
            reply.broke(error)

    # Callbacks of the parser:

    def on_header(self, name: bytes, value: bytes) -> None:
        self._size += len(name) + len(value) + 4
        if self._size > HEADERS:
            raise ValueError("response headers too long")
        key, text = _NAMES.get(name) or _name(name), value.decode("latin-1")
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        headers, self._headers, self._size = self._headers, {}, 0
        if status < 200:  # only a sign that the answer will come
            return
        reply = self._reply
        if reply is None or reply.status:  # an answer without a request
            raise ValueError("unexpected extra response")
        chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        self._to_the_end = not (chunked or "content-length" in headers or status in (204, 304))
        reply.headers, reply.status = headers, status

    def on_body(self, body: bytes) -> None:
        reply = self._reply
        if reply is None:
            return
        reply.pieces.append(body)
        reply.held += len(body)
        if reply.held > HELD and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def on_message_complete(self) -> None:
        reply = self._reply
        if reply is None or not reply.status:
            return
        again = self._parser.should_keep_alive() and not self._to_the_end
        self._reply = None
        if self._paused:
            self.go_on()
        reply.release(is_whole=True)
        transport = self.transport
        is_open = transport is not None and not transport.is_closing()
        # A provider that answers before it has received everything cannot be asked again.
        if again and is_open and not transport.get_write_buffer_size():
            self._free(self)
        else:
            self.abort()


_NAMES: dict[bytes, str] = {}
"""Names of headers as they come, and in lower case."""
_MOST_NAMES = 500


def _name(name: bytes) -> str:
    low = name.decode("latin-1").lower()
    if len(_NAMES) < _MOST_NAMES and len(name) < _MOST_NAMES:
        _NAMES[name] = low
    return low


def _why(exc: Exception | None) -> str:
    return "closed by the server" if exc is None else reason(exc)
