"""Connections of clients, as uvicorn has them, with limits that it lacks: how long headers may
take to arrive, and how many of them there may be."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any

from interlingua.errors import MissingExtraError
from interlingua.gateway.connections import Answered, Taking, Told
from interlingua.gateway.settings import Limits

try:
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError:  # pragma: no cover  # the extra is there where the tests run
    raise MissingExtraError("the gateway", "gateway") from None

UNSENT = 64 * 1024
"""Bytes that the system holds for a client that does not take them. It would hold megabytes, and
upstream be read for as long. Connections have this from the socket that listens."""
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/json\r\ncontent-length: 80\r\nconnection: close\r\n\r\n"
)
_BODY = b'{"error":{"code":"headers_too_large","message":"the headers are too many or long"}}'
TOO_LARGE = TOO_LARGE.replace(b"80", b"%d" % len(_BODY), 1) + _BODY


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """The class of connections: with httptools where it is installed, else with h11."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return _with_h11(limits)

    class Connection(Taking, Answered, Told, HttpToolsProtocol):
        """Counts the seconds and bytes of a request's headers."""

        stalled = limits.stalled
        leftover = limits.body
        leftover_seconds = min(5.0, limits.body_seconds)
        _timer: asyncio.TimerHandle | None = None
        _seen = 0
        _unread = 0
        _is_head = True
        """Whether the headers of a request are waited for, its first or one that has begun."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._arrived()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._seen = 0
            self._is_head = True

        def on_url(self, url: bytes) -> None:
            self._count(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._count(len(name) + len(value) + 4)
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._arrived()
            if self._seen <= limits.headers:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            if self.cycle is not None:  # None: the headers were refused
                super().on_body(body)

        def on_message_complete(self) -> None:
            if self.cycle is not None:
                super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            if b"pgrade" in data and self._is_next():
                data = without_upgrade(data)
            super().data_received(data)
            if self._is_head:
                if self._timer is None:
                    self._wait()
                # A header is told of when it is whole; one that never ends counts too.
                self._unread += len(data)
                if self._unread > limits.headers:
                    self._refuse()

        def _is_next(self) -> bool:
            """Whether what comes now are headers, and no body."""
            cycle: Any = self.cycle
            over = cycle is None or (cycle.response_complete and not cycle.more_body)
            return self._is_head or over

        def _wait(self) -> None:
            self._timer = self.loop.call_later(limits.header_seconds, self._late)

        def _arrived(self) -> None:
            self._unread = 0
            self._is_head = False
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _count(self, size: int) -> None:
            before = self._seen
            self._seen += size
            if before <= limits.headers < self._seen:
                self._refuse()

        def _refuse(self) -> None:
            if not self.transport.is_closing():
                self.transport.write(TOO_LARGE)
                self.transport.close()

        def _late(self) -> None:
            self._timer = None
            if not self.transport.is_closing():
                self.transport.close()

    return Connection


_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


def without_upgrade(data: bytes) -> bytes:
    """Headers that ask for no other protocol. Some clients offer HTTP/2 with their first request,
    and have to be answered as if they had not; the parser would leave their body unread."""
    head, end, body = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nx-upgrade:", head) + end + body


def _with_h11(limits: Limits) -> type[asyncio.Protocol]:
    """h11 bounds the size of headers by itself (`h11_max_incomplete_event_size`)."""
    import h11

    class Connection(Taking, H11Protocol):
        stalled = limits.stalled
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._timer = self.loop.call_later(limits.header_seconds, self._late)

        def connection_lost(self, exc: Exception | None) -> None:
            self._arrived()
            super().connection_lost(exc)
            self._unset_keepalive_if_required()  # see `connections.Told`

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._arrived()
            elif self._timer is None:
                self._timer = self.loop.call_later(limits.header_seconds, self._late)

        def _arrived(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _late(self) -> None:
            self._timer = None
            idle = self.conn.their_state is h11.IDLE
            if idle and not self.transport.is_closing():
                self.transport.close()

    return Connection


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; workers share it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's delay on: 40 ms for every answer.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
        made.bind((host.strip("[]"), port))
        made.listen(2048)
        made.set_inheritable(True)
    except BaseException:
        made.close()
        raise
    return made


def place_of(listening: socket.socket) -> str:
    """Its address as a client writes it."""
    host, port = listening.getsockname()[:2]
    shown: Any = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"
