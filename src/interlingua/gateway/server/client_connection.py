"""A client's connection over httptools, as uvicorn has it, with what it lacks: limits for headers,
for leftover bodies and for clients that take nothing, and a word when the client has left.

Each request comes through here, so every method calls uvicorn's own at most once, and directly.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from interlingua.gateway.server.connections import CoalescingTransport, StallLimit
from interlingua.gateway.settings import Limits
from interlingua.gateway.shared.direct_client import DIRECT_CLIENT, DirectClient

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/json\r\ncontent-length: 80\r\nconnection: close\r\n\r\n"
)
_BODY = b'{"error":{"code":"headers_too_large","message":"request headers too large"}}'
TOO_LARGE = TOO_LARGE.replace(b"80", b"%d" % len(_BODY), 1) + _BODY
FEW = 4
"""Requests that may wait behind another; beyond these, nothing more is read."""


class ClientConnection(StallLimit, HttpToolsProtocol):
    """`limits` are given by a subclass.

    A request that was answered before its body was there, since it was refused: what still comes of
    the body is thrown away, so that the client gets to read the answer, but only so many bytes and
    for so many seconds.

    uvicorn tells the newest request of a connection that the client has left, and does not read on
    while one waits behind another, which is how it would hear of that. Where a client has sent
    several, the one that is under way has to hear it as well."""

    limits = Limits()
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

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        HttpToolsProtocol.connection_made(self, transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_ending()
        super().connection_lost(exc)
        cycle, self._under_way = self._under_way, None
        if cycle is not None and not cycle.response_complete:
            cycle.scope[DIRECT_CLIENT].happens()
            if cycle is not self.cycle:
                cycle.disconnected = True
                cycle.message_event.set()
        # uvicorn does so only where the client said goodbye: after a reset its timer would keep
        # all of the connection for as long as the next request is waited for.
        self._unset_keepalive_if_required()

    # Headers

    def data_received(self, data: bytes) -> None:
        if b"pgrade" in data and self._is_next():
            data = without_upgrade(data)
        if self._is_head and self._unread + len(data) > self.limits.headers and self._is_long(data):
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

    def _is_next(self) -> bool:
        """Whether what comes now are headers, and no body."""
        cycle: Any = self.cycle
        over = cycle is None or (cycle.response_complete and not cycle.more_body)
        return self._is_head or over

    def on_message_begin(self) -> None:
        self._is_head = True
        HttpToolsProtocol.on_message_begin(self)

    def on_headers_complete(self) -> None:
        self._is_head, self._unread, self._last = False, 0, b""
        if self._timer is not None:
            self._stop_waiting()
        HttpToolsProtocol.on_headers_complete(self)
        if self.pipeline and len(self.pipeline) <= FEW:
            self.flow.resume_reading()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Those that come after a body are none: they would be read as if they had come before."""
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

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._under_way = cycle
        cycle.scope[DIRECT_CLIENT] = DirectClient(cycle, self.loop)
        cycle.transport = CoalescingTransport(cycle.transport, self.loop)
        HttpToolsProtocol._start_asgi_task(self, cycle, app)

    def on_response_complete(self) -> None:
        HttpToolsProtocol.on_response_complete(self)
        cycle: Any = self.cycle
        if cycle.more_body and cycle.response_complete and not self.transport.is_closing():
            self._thrown = 0
            self._ending = self.loop.call_later(self.leftover_seconds, self.transport.close)

    # Bodies

    def on_body(self, body: bytes) -> None:
        HttpToolsProtocol.on_body(self, body)
        if self._ending is not None:
            self._thrown += len(body)
            if self._thrown > self.limits.body:
                self.transport.close()

    def on_message_complete(self) -> None:
        if self._ending is not None:
            self._stop_ending()
        HttpToolsProtocol.on_message_complete(self)

    def _stop_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


def without_upgrade(data: bytes) -> bytes:
    """Headers that ask for no other protocol. Some clients offer HTTP/2 with their first request,
    and have to be answered as if they had not; the parser would leave their body unread."""
    head, end, body = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nx-upgrade:", head) + end + body
