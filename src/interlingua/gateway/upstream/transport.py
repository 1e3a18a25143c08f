"""HTTP to the providers, for a gateway that asks them some thousand times a second.

The client's own transport (`client/transport.py`) can do more, and takes half of such a gateway's
time. This one has connections of its own (`connection.py`), keeps them open, and leaves to the
other what goes through a proxy.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from interlingua.client import transport
from interlingua.client.timeouts import Ticker, now
from interlingua.client.transport import HttpRequest, HttpTransport
from interlingua.client.transport_errors import Limits, TransportError, late_in, reason
from interlingua.gateway.upstream.connection import Connection, Reply

MOST = 1000
"""Requests under way; more have to wait."""
IDLE = 15.0
"""Seconds that an unused connection is kept."""
ATTEMPT = 0.25
"""Seconds that one address of a host is tried alone."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f]|[^\x00-\xff]")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]")


class Place(NamedTuple):
    """Where a URL leads."""

    scheme: str
    host: str
    port: int
    start: str
    """The first two lines of a request."""

    @property
    def server(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


class Upstream:
    """A `Transport`. It belongs to the event loop that uses it first."""

    def __init__(self, *, ca: str | None = None, proxy: str | None = None) -> None:
        self._others = HttpTransport(ca=ca, proxy=proxy)
        self._places: dict[str, Place] = {}
        self._heads: dict[tuple[object, ...], bytes] = {}
        self._idle: dict[tuple[str, str, int], list[Connection]] = {}
        self._open: set[Connection] = set()
        self._slots = asyncio.Semaphore(MOST)
        self._sweeping: asyncio.TimerHandle | None = None
        self._ticker = Ticker()

    async def send(self, request: HttpRequest, limits: Limits) -> transport.Reply:
        place = self._places.get(request.url) or self._place(request.url)
        way = self._others.way_to(place.scheme, place.host)
        if "proxy" in way:
            return await self._others.send(request, limits)
        begun = now()
        head = self._head(place, request)
        if self._slots.locked():
            await self._slot(limits)
        else:
            await self._slots.acquire()
        try:
            connection = self._kept(place) or await self._connect(place, way, limits)
        except BaseException:
            self._slots.release()
            raise
        reply = Reply(connection, limits, begun, self._slots.release, self._ticker)
        connection.ask(head, request.body, reply)
        await reply.arrived()
        return reply

    async def _slot(self, limits: Limits) -> None:
        """A place among the requests under way; waiting for one is a part of connecting."""
        try:
            async with asyncio.timeout(limits.connect):
                await self._slots.acquire()
        except TimeoutError:
            raise late_in("connect") from None

    async def close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._ticker.close()
        for connection in list(self._open):
            connection.abort()
        self._idle.clear()
        await self._others.close()

    def _place(self, url: str) -> Place:
        try:
            parts = urlsplit(url)
            port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        except (ValueError, KeyError):
            raise _no_url() from None
        host = parts.hostname
        if not host or _UNSAFE.search(url):
            raise _no_url()
        named = parts.netloc.rpartition("@")[2]
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        place = Place(parts.scheme, host, port, f"POST {path} HTTP/1.1\r\nhost: {named}\r\n")
        if len(self._places) < MOST:
            self._places[url] = place
        return place

    def _head(self, place: Place, request: HttpRequest) -> bytes:
        """Its first lines. Most requests have those of another one, but for their length."""
        which = (request.url, *request.headers.items())
        head = self._heads.get(which)
        if head is None:
            head = _head(place, request.headers)
            if len(self._heads) >= MOST:
                self._heads.clear()
            self._heads[which] = head
        return b"%bcontent-length: %d\r\n\r\n" % (head, len(request.body))

    def _kept(self, place: Place) -> Connection | None:
        """A connection that is open and free, the one that was used last."""
        idle = self._idle.get(place.server)
        while idle:
            connection = idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _connect(self, place: Place, way: dict[str, Any], limits: Limits) -> Connection:
        free = partial(self._free, place.server)
        secure: ssl.SSLContext | None = way.get("ssl")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limits.connect):
                reached = await _reached(place.host, place.port)
                try:
                    _, connection = await loop.create_connection(
                        lambda: Connection(loop, free, self._open.discard),
                        sock=reached,
                        ssl=secure,
                        server_hostname=place.host if secure is not None else None,
                    )
                except BaseException:
                    reached.close()
                    raise
        except TimeoutError:
            raise late_in("connect") from None
        except (OSError, ValueError) as error:
            failed = _not_connected(error)
        else:
            self._open.add(connection)
            return connection
        raise failed

    def _free(self, server: tuple[str, str, int], connection: Connection) -> None:
        connection.idle_since = now()
        self._idle.setdefault(server, []).append(connection)
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(IDLE, self._sweep)

    def _sweep(self) -> None:
        """Close what nobody has used for a while: the ones at the front, since the last is used
        first."""
        self._sweeping = None
        since = now() - IDLE
        for server, idle in list(self._idle.items()):
            old = [each for each in idle if each.idle_since <= since or not each.is_open]
            for connection in old:
                idle.remove(connection)
                connection.abort()
            if not idle:
                del self._idle[server]
        if self._idle:
            self._sweeping = asyncio.get_running_loop().call_later(IDLE / 3, self._sweep)


def _head(place: Place, headers: Mapping[str, str]) -> bytes:
    lines = [place.start]
    for name, value in headers.items():
        if _UNSAFE.search(name) or ":" in name or _UNSAFE_VALUE.search(value):
            raise TransportError("write", "invalid request header", sent=False)
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode("latin-1")


async def _reached(host: str, port: int) -> socket.socket:
    """A socket to the first of a host's addresses that lets us in."""
    from aiohappyeyeballs import start_connection  # comes with aiohttp

    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    reached = await start_connection(found, happy_eyeballs_delay=ATTEMPT, loop=loop)
    reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reached


def _not_connected(error: Exception) -> TransportError:
    match error:
        case socket.gaierror():
            return TransportError("dns", f"could not resolve the host: {reason(error)}", sent=False)
        case ssl.SSLError():
            return TransportError("tls", f"TLS handshake failed: {reason(error)}", sent=False)
        case _:
            return TransportError("connect", f"connection failed: {reason(error)}", sent=False)


def _no_url() -> TransportError:
    return TransportError("connect", "invalid provider URL", sent=False)
