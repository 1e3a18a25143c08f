"""Where clients come in: the socket that listens, and the class of its connections."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from interlingua.errors import MissingExtraError
from interlingua.gateway.settings import Limits

try:
    from interlingua.gateway.server.client_connection import ClientConnection
except ImportError:  # pragma: no cover  # the extra is there where the tests run
    raise MissingExtraError("the gateway", "gateway") from None

UNSENT = 64 * 1024
"""Bytes that the system holds for a client that does not take them. It would hold megabytes, and
upstream be read for as long. Connections have this from the socket that listens."""


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """The class of connections with these limits."""
    given = limits

    class Connection(ClientConnection):
        limits = given
        stalled = given.stalled
        leftover_seconds = min(5.0, given.body_seconds)

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
