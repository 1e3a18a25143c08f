"""A client's connection over httptools, as uvicorn has it, with what it lacks: limits for headers,
for leftover bodies and for clients that take nothing, and a word when the client has left.

Each request comes through here, so every method calls uvicorn's own at most once, and directly.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn  # noqa: F401  # its absence is that of the extra

from interlingua.gateway.settings import Limits
from interlingua.gateway.shared.direct_client import DIRECT_CLIENT, DirectClient
from interlingua.gateway.shared.fronts import DRAIN

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    Protocol = asyncio.Protocol
else:
    Protocol = object  # it comes before one of uvicorn's
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
        from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
    except ImportError:  # pragma: no cover  # a later uvicorn; see `missing_parts`
        HttpToolsProtocol = WebSocketsSansIOProtocol = type("Missing", (), {})

PARTS = (
    *("_start_asgi_task", "_unset_keepalive_if_required", "timeout_keep_alive_handler"),
    *("data_received", "on_headers_complete", "on_message_complete", "on_response_complete"),
    "shutdown",
)
WEBSOCKET_PARTS = ("handle_connect", "run_asgi", "shutdown")


def missing_parts() -> list[str]:
    """Parts of uvicorn that our connections build on and that the installed version lacks."""
    needed = ((HttpToolsProtocol, PARTS), (WebSocketsSansIOProtocol, WEBSOCKET_PARTS))
    return [name for kind, names in needed for name in names if not hasattr(kind, name)]


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


TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/json\r\ncontent-length: 80\r\nconnection: close\r\n\r\n"
)
_BODY = b'{"error":{"code":"headers_too_large","message":"request headers too large"}}'
TOO_LARGE = TOO_LARGE.replace(b"80", b"%d" % len(_BODY), 1) + _BODY
BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
"""For a WebSocket when all connections are in use."""
FEW = 4
"""Requests that may wait behind another; beyond these, nothing more is read."""
CROWDED = 3 / 4
"""Beyond this share of the connections, each is closed after its answer."""
HEALTH = "/health/"
"""Paths that are answered even when all connections are in use."""


class ClientConnection(StallLimit, HttpToolsProtocol):
    """`limits` are given by a subclass.

    A request that was answered before its body was there, since it was refused: what still comes of
    the body is thrown away, so that the client gets to read the answer, but only so many bytes and
    for so many seconds.

    uvicorn tells the newest request of a connection that the client has left, and does not read on
    while one waits behind another, which is how it would hear of that. Where a client has sent
    several, the one that is under way has to hear it as well."""

    limits = Limits()
    idle: ClassVar[OrderedDict[ClientConnection, None]] = OrderedDict()
    """Connections without a request in flight, longest idle first; each subclass has its own."""
    leftover_seconds = 5.0
    _timer: asyncio.TimerHandle | None = None
    _is_head = True
    """Whether the headers of a request are waited for, its first or one that has begun."""
    _unread = 0
    """Bytes of headers that have come so far, and the last few of them."""
    _last = b""
    _under_way: Any = None
    _thrown = 0
    _ending: asyncio.TimerHandle | None = None
    _quiet_since: float | None = None
    """When the last answer was sent, if nothing has come since."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        HttpToolsProtocol.connection_made(self, transport)
        most = self.limit_concurrency
        while most is not None and len(self.connections) >= most and self.idle:
            oldest, _ = self.idle.popitem(last=False)
            # uvicorn does so when the socket is closed, and would refuse this request before that.
            self.connections.discard(oldest)
            oldest.transport.close()
        self.idle[self] = None
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle.pop(self, None)
        self._stop_waiting()
        self._stop_ending()
        super().connection_lost(exc)
        cycle, self._under_way = self._under_way, None
        if cycle is not None and not cycle.response_complete:
            cycle.scope[DIRECT_CLIENT].happens()
            if cycle is not self.cycle:
                cycle.disconnected = True
                cycle.message_event.set()
        # Its timer would keep all of the connection for as long as the next request is waited for.
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

    # Headers

    def data_received(self, data: bytes) -> None:
        most = self.limits.headers
        cycle: Any = self.cycle
        if self._is_head or cycle is None or (cycle.response_complete and not cycle.more_body):
            end = data.find(b"\r\n\r\n", 0, most)  # headers follow, and no body
            if data.find(b"pgrade", 0, end) > 0 and not opens_websocket(data):
                data = without_upgrade(data)
        if self._is_head and self._unread + len(data) > most and self._is_long(data):
            self.transport.write(TOO_LARGE)
            self.transport.close()
            return
        HttpToolsProtocol.data_received(self, data)
        if self._is_head:  # still
            self._unread += len(data)
            self._last = data[-3:]
            if self._timer is None:
                self._wait()

    def _is_long(self, data: bytes) -> bool:
        """Whether the headers do not end where they have to."""
        most = self.limits.headers - self._unread + len(self._last) + 4
        return (self._last + data[:most]).find(b"\r\n\r\n") < 0

    def on_message_begin(self) -> None:
        self._is_head = True
        HttpToolsProtocol.on_message_begin(self)

    def on_headers_complete(self) -> None:
        self._is_head, self._unread, self._last = False, 0, b""
        self.idle.pop(self, None)
        if self._timer is not None:
            self._stop_waiting()
        HttpToolsProtocol.on_headers_complete(self)
        if self.pipeline and len(self.pipeline) <= FEW:
            self.flow.resume_reading()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Headers after a body are ignored: they would be read as if they had come before."""
        if self._is_head:
            HttpToolsProtocol.on_header(self, name, value)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.limits.header_seconds, self._late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()

    # Requests

    def handle_websocket_upgrade(self) -> None:
        """A socket counts among the connections as a request does."""
        most = self.limit_concurrency
        if most is not None and len(self.connections) > most:
            self.transport.write(BUSY)
            self.transport.close()
            return
        HttpToolsProtocol.handle_websocket_upgrade(self)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._under_way = cycle
        cycle.scope[DIRECT_CLIENT] = DirectClient(cycle, self.loop)
        cycle.transport = CoalescingTransport(cycle.transport, self.loop)
        most = self.limit_concurrency
        if most is not None and len(self.connections) > CROWDED * most:
            cycle.keep_alive = False
            if cycle.scope["path"].startswith(HEALTH):
                app = self.app
        HttpToolsProtocol._start_asgi_task(self, cycle, app)

    def on_response_complete(self) -> None:
        if self._under_way is not None:  # no circle of the two, which only the collector would end
            self._under_way.scope.pop(DIRECT_CLIENT, None)
        if self.timeout_keep_alive_task is None or self.pipeline:
            HttpToolsProtocol.on_response_complete(self)
        else:
            self.server_state.total_requests += 1
            self.flow.resume_reading()
        cycle: Any = self.cycle
        if not cycle.response_complete or self.transport.is_closing():
            return
        self._quiet_since = self.loop.time()
        self.idle[self] = None
        if cycle.more_body:
            self._thrown = 0
            self._ending = self.loop.call_later(self.leftover_seconds, self.transport.close)

    # uvicorn sets a timer after each answer and stops it when something comes. Ours goes on, and
    # looks for how long it was quiet.

    def _unset_keepalive_if_required(self) -> None:
        self._quiet_since = None

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._quiet_since is None:  # the next answer sets it
            return
        left = self._quiet_since + self.timeout_keep_alive - self.loop.time()
        if left <= 0:
            HttpToolsProtocol.timeout_keep_alive_handler(self)
        else:
            self.timeout_keep_alive_task = self.loop.call_later(
                left, self.timeout_keep_alive_handler
            )

    # Bodies

    def on_body(self, body: bytes) -> None:
        cycle: Any = self.cycle
        direct = None if cycle is None else cycle.scope.get(DIRECT_CLIENT)
        if direct is None or direct.waiting is None or not direct.comes(body):
            HttpToolsProtocol.on_body(self, body)
        if self._ending is not None:
            self._thrown += len(body)
            if self._thrown > self.limits.body:
                self.transport.close()

    def on_message_complete(self) -> None:
        if self._ending is not None:
            self._stop_ending()
        HttpToolsProtocol.on_message_complete(self)
        cycle: Any = self.cycle
        direct = None if cycle is None else cycle.scope.get(DIRECT_CLIENT)
        if direct is not None and direct.waiting is not None:
            direct.ends()

    def _stop_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


_WEBSOCKET = re.compile(rb"\r\nupgrade:[ \t]*websocket[ \t]*\r\n", re.IGNORECASE)
_WEBSOCKET_KEY = re.compile(rb"\r\nsec-websocket-key:", re.IGNORECASE)
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


def opens_websocket(data: bytes) -> bool:
    """Whether a request is a WebSocket handshake; any other offer of a protocol is ignored."""
    if not (data.startswith(b"GET ") and _WEBSOCKET.search(data)):
        return False
    return _WEBSOCKET_KEY.search(data) is not None


def without_upgrade(data: bytes) -> bytes:
    """Headers that ask for no other protocol. Some clients offer HTTP/2 with their first request,
    and have to be answered as if they had not; the parser would leave their body unread."""
    head, end, body = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nx-upgrade:", head) + end + body


class WebSocketConnection(StallLimit, WebSocketsSansIOProtocol):
    """The application closes the socket on request, after the current response."""

    def handle_connect(self, event: Any) -> None:
        self.drain = asyncio.Event()
        super().handle_connect(event)

    async def run_asgi(self) -> None:
        scope: Any = self.scope
        scope[DRAIN] = self.drain
        await super().run_asgi()

    def shutdown(self) -> None:
        if self.handshake_complete and not self.close_sent:
            self.drain.set()
        else:
            super().shutdown()

    def cut(self, last_words: str) -> None:
        """Ends the socket at once, with a last message to the client."""
        if self.close_sent or self.transport.is_closing() or not self.handshake_complete:
            return
        self.conn.send_text(last_words.encode())
        super().shutdown()
