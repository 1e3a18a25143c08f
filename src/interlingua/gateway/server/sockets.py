"""Connections of clients, as uvicorn has them, with limits that it lacks: how long headers may
take to arrive, and how many of them there may be."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from interlingua.errors import MissingExtraError
from interlingua.gateway.server.connections import Taking
from interlingua.gateway.settings import Limits

try:
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError:  # pragma: no cover  # the extra is there where the tests run
    raise MissingExtraError("the gateway", "gateway") from None

UNSENT = 64 * 1024
"""Bytes that the system holds for a client that does not take them. It would hold megabytes, and
upstream be read for as long. Connections have this from the socket that listens."""


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """The class of connections: with httptools where it is installed, else with h11."""
    try:
        from interlingua.gateway.server.client_connection import ClientConnection
    except ImportError:
        return _with_h11(limits)

    given = limits

    class Connection(ClientConnection):
        limits = given
        stalled = given.stalled
        leftover_seconds = min(5.0, given.body_seconds)

    return Connection


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
