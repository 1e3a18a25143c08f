"""One connection to a provider: a request out, a reply in, and then the next.

httptools reads the bytes; what it finds goes to the reply that is waited for. Nothing here is
particular to a provider, and nothing is logged.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import httptools

from interlingua.client.timeouts import ReplyTimer, Ticker
from interlingua.client.transport import packing
from interlingua.client.transport_errors import Limits, TooLarge, TransportError, late_in, reason

HELD = 32 * 1024
"""Bytes of a reply that may wait for whoever reads it; then the provider has to wait."""
_READ = memoryview(bytearray(HELD))
"""Where all connections read into, each in its turn. Without it the event loop reads four or eight
times as much at once, and a client that takes nothing makes us hold all of that, several times."""
HEADERS = 64 * 1024
"""Bytes of a reply's headers."""
UNPACKED = 256 * 1024
"""Bytes of a packed reply that are unpacked at a time."""
_BROKE = "connection closed before the response was complete"
_ODD = "invalid HTTP response"


class Reply:
    """Status and headers (lower case) are there once `arrived` is awaited; the body is read piece
    by piece."""

    __slots__ = (
        "_broken",
        "_connection",
        "_done",
        "_held",
        "_loop",
        "_pieces",
        "_unpacker",
        "_waiting",
        "headers",
        "is_whole",
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
        """Whether the provider has said everything; it may not have been read yet."""
        self.timer = ReplyTimer(limits, begun, connection.abort, connection.loop, ticker)
        self._loop = connection.loop
        self._connection: Connection | None = connection
        self._done: Callable[[], None] | None = done
        self._pieces: list[bytes] = []
        self._held = 0
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
                await self._wait()
        except BaseException:
            self.close()
            raise
        self.timer.rest()
        try:
            packed = packing(self.headers)
        except TransportError:
            self.close()
            raise
        if packed not in ("", "identity"):
            self._unpacker = Unpacker()

    async def chunk(self) -> bytes:
        """The next piece of the body, empty at its end."""
        if self._unpacker is None:
            return await self._raw()
        while not (piece := self._unpacker.rest()):
            packed = await self._raw()
            if not packed:
                if not self._unpacker.is_whole:
                    raise TransportError("read", _BROKE, sent=True, begun=True)
                return b""
            self._unpacker.add(packed)
        return piece

    async def _raw(self) -> bytes:
        if not self.is_whole:
            self.timer.begin()
            if self.timer.late is not None:  # it became so while the reader rested
                raise late_in(self.timer.late, self.timer.began)
            while not self._pieces and not self.is_whole:
                if self._broken is not None:
                    self.timer.stop()
                    raise self._error()
                await self._wait()
        self.timer.came()
        pieces = self._pieces
        if not pieces:
            return b""
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._held = 0
        if self._connection is not None:
            self._connection.go_on()
        return data

    async def body(self, limit: int) -> bytes:
        """All of it; `TooLarge` if it has more than so many bytes."""
        said = self.headers.get("content-length", "")
        if said.isdecimal() and int(said) > limit:
            raise TooLarge
        pieces, size = [], 0
        while piece := await self.chunk():
            size += len(piece)
            if size > limit:
                raise TooLarge
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """Done with it. What has not been read yet is not waited for: the connection ends."""
        if self._connection is not None:
            self._connection.abort()
        self._let_go()

    async def _wait(self) -> None:
        waiting = self._waiting = self._loop.create_future()
        try:
            await waiting
        finally:
            self._waiting = None

    def _error(self) -> TransportError:
        assert self._broken is not None
        late = self.timer.late
        return self._broken if late is None else late_in(late, self.timer.began)

    # What the connection tells:

    def wake(self) -> None:
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def add(self, piece: bytes) -> bool:
        """One more piece; whether there are so many now that no more should come."""
        self._pieces.append(piece)
        self._held += len(piece)
        return self._held > HELD

    def ended(self) -> None:
        self.is_whole = True
        self._let_go()

    def broke(self, error: TransportError) -> None:
        self._broken = error
        self._let_go()
        self.wake()

    def _let_go(self) -> None:
        """The connection is somebody else's now, or nobody's."""
        self.timer.stop()
        self._connection = None
        done, self._done = self._done, None
        if done is not None:
            done()


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
        "idle_since",
        "loop",
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

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def ask(self, head: bytes, body: bytes, reply: Reply) -> None:
        """Send a request; `reply` hears of everything that comes."""
        self._reply = reply
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

    # What the event loop tells:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return _READ

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(_READ[:nbytes])

    def data_received(self, data: bytes | memoryview) -> None:
        reply = self._reply
        if reply is None:  # nobody has asked for anything
            self.abort()
            return
        try:
            self._parser.feed_data(data)
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
            reply.ended()
            reply.wake()
            return
        begun = bool(reply.status)
        why = _BROKE if begun else f"connection lost: {_why(exc)}"
        reply.broke(TransportError("read", why, sent=True, begun=begun))

    def _break(self, error: TransportError) -> None:
        reply, self._reply = self._reply, None
        self.abort()
        if reply is not None:
            reply.broke(error)

    # What the parser tells:

    def on_header(self, name: bytes, value: bytes) -> None:
        self._size += len(name) + len(value) + 4
        if self._size > HEADERS:
            raise ValueError("response headers too long")
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        headers, self._headers, self._size = self._headers, {}, 0
        if status < 200:  # only a sign that the answer will come
            return
        reply = self._reply
        if reply is None or reply.status:  # an answer that nobody has asked for
            raise ValueError("unexpected extra response")
        chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        self._to_the_end = not (chunked or "content-length" in headers or status in (204, 304))
        reply.headers, reply.status = headers, status

    def on_body(self, body: bytes) -> None:
        reply = self._reply
        if reply is not None and reply.add(body) and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def on_message_complete(self) -> None:
        reply = self._reply
        if reply is None or not reply.status:
            return
        again = self._parser.should_keep_alive() and not self._to_the_end
        self._reply = None
        self.go_on()
        reply.ended()
        # A provider that answers before it has heard everything cannot be asked again.
        if again and self.is_open and not self.transport.get_write_buffer_size():
            self._free(self)
        else:
            self.abort()


class Unpacker:
    """gzip or deflate, a bounded piece at a time."""

    def __init__(self) -> None:
        self._zlib: Any = None
        self._packed = b""

    @property
    def is_whole(self) -> bool:
        return self._zlib is None or bool(self._zlib.eof)

    def add(self, packed: bytes) -> None:
        if self._zlib is not None and self._zlib.eof:
            self._zlib = None  # a file after the file, which together are one
        if self._zlib is None and packed:
            # deflate should have the header of zlib, and sometimes has none.
            bare = packed[0] & 0x0F != 8 and packed[0] != 0x1F
            self._zlib = zlib.decompressobj(-zlib.MAX_WBITS if bare else 32 + zlib.MAX_WBITS)
        self._packed = packed

    def rest(self) -> bytes:
        """More of it, empty where more has to be added first."""
        while self._packed:
            try:
                data: bytes = self._zlib.decompress(self._packed, UNPACKED)
            except zlib.error:
                raise TransportError("read", _BROKE, sent=True, begun=True) from None
            self._packed = self._zlib.unconsumed_tail
            if self._zlib.eof and self._zlib.unused_data.strip(b"\0"):
                self.add(self._zlib.unused_data)
            if data:
                return data
        return b""


def _why(exc: Exception | None) -> str:
    return "closed by the server" if exc is None else reason(exc)
