"""HTTP to the providers, for a gateway that asks them some thousand times a second.

The client's own transport (`client/transport.py`) can do more, and takes half of such a gateway's
time. This one has connections of its own (`connection.py`), keeps them open, and leaves to the
other what goes through a proxy.

A connection is reused only for requests of the same tenant: after a provider has sent one answer
too many, later requests on the connection get the answers to earlier ones. Replies that are there
already are given here as well: a request of ours takes its usual way, and at the end of it gets
what a provider has answered before.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from interlingua.client import transport
from interlingua.client.transport import HttpRequest, HttpTransport, Ticker, now
from interlingua.client.transport_errors import Limits, TransportError, late_in, reason
from interlingua.gateway.shared.bodies import contains
from interlingua.gateway.shared.principal import most_connections
from interlingua.gateway.upstream.connection import Connection, Reply


class FinishedReply:
    """A reply of success that was received."""

    status = 200

    def __init__(self, body: bytes) -> None:
        self.headers: Mapping[str, str] = {"content-type": "application/json"}
        self._body = body

    async def chunk(self) -> bytes:
        body, self._body = self._body, b""
        return body

    async def body(self, limit: int) -> bytes:
        return self._body

    def close(self) -> None:
        """There is nothing to end."""


FINISHED: ContextVar[FinishedReply | None] = ContextVar("finished", default=None)
"""The reply to the requests that are made in this context, which a batch of a provider gave."""


@contextmanager
def answered_by(reply: FinishedReply | None) -> Iterator[None]:
    """Requests to providers are answered by this inside."""
    token = FINISHED.set(reply)
    try:
        yield
    finally:
        FINISHED.reset(token)


MOST = 1000
"""Requests under way, and open connections; more requests have to wait."""
IDLE = 15.0
"""Seconds that an unused connection stays open."""
REQUESTS = 100
"""Requests on one connection. After a provider, or a proxy before it, has sent one answer too many,
each later request on the connection gets the answer to another; HTTP/1.1 has no way to notice."""
AGE = 60.0
"""Seconds after which a connection is not used for another request, for the same reason."""
ATTEMPT = 0.25
"""Seconds that one address of a host is tried alone."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f]|[^\x00-\xff]")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]")

Pool = tuple[str, str, int, str | None]
"""Scheme, host, port and tenant: requests that may share a connection."""


class Place(NamedTuple):
    """The address of a URL."""

    scheme: str
    host: str
    port: int
    start: str
    """The first two lines of a request."""
    way: dict[str, Any]
    """Proxy and certificates."""


def may_name_files(body: bytes) -> bool:
    """Whether there may be a member `file_id` or `file_ids`, in any spelling."""
    return contains(body, b"file_id") or (b"\\" in body and contains(body, b"\\u00"))


async def _any_files(body: bytes, tenant: str) -> None:
    """Files are not supported here."""


class Slots:
    """A limit of concurrent requests. A request that finds one `free` takes it; the others wait in
    order."""

    def __init__(self, count: int) -> None:
        self.free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn)
            else:  # it came just then
                self.release()
            raise

    def release(self) -> None:
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(None)
                self._waiting.remove(turn)
                return
        self.free += 1


class Upstream:
    """A `Transport`. It belongs to the event loop that uses it first."""

    def __init__(self, *, ca: str | None = None, proxy: str | None = None) -> None:
        self._others = HttpTransport(ca=ca, proxy=proxy)
        self._places: dict[str, Place] = {}
        self._heads: dict[tuple[object, ...], bytes] = {}
        self._last: dict[str, tuple[Mapping[str, str], bytes]] = {}
        """The headers that were sent last to an address, and their bytes."""
        self._idle: dict[Pool, list[Connection]] = {}
        self._idle_pools: OrderedDict[Connection, Pool] = OrderedDict()
        """The pool of each idle connection, least recently used first."""
        self._open: set[Connection] = set()
        self._most_open = most_connections(MOST)
        self._slots = Slots(MOST)
        self._sweeping: asyncio.TimerHandle | None = None
        self._ticker = Ticker()
        self.require_own: Callable[[bytes, str], Awaitable[None]] = _any_files
        """Raises where a body names files of another tenant."""

    async def send(
        self, request: HttpRequest, limits: Limits, tenant: str | None = None
    ) -> transport.Reply:
        if (finished := FINISHED.get()) is not None:
            return finished
        if tenant is not None and request.may_name_files and may_name_files(request.body):
            await self.require_own(request.body, tenant)
        place = self._places.get(request.url) or self._place(request.url)
        if "proxy" in place.way:
            return await self._others.send(request, limits, tenant)
        begun = now()
        head = self._head(place, request)
        if self._slots.free:
            self._slots.free -= 1
        else:
            await self._slot(limits)
        try:
            pool = (place.scheme, place.host, place.port, tenant)
            connection = self._idle_connection(pool)
            if connection is None:
                connection = await self._connect(pool, place.way, limits)
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
                await self._slots.wait()
        except TimeoutError:
            raise late_in("connect") from None

    async def close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._ticker.close()
        for connection in list(self._open):
            connection.abort()
        self._idle.clear()
        self._idle_pools.clear()
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
        start = f"POST {path} HTTP/1.1\r\nhost: {named}\r\n"
        place = Place(parts.scheme, host, port, start, self._others.way_to(parts.scheme, host))
        if len(self._places) < MOST:
            self._places[url] = place
        return place

    def _head(self, place: Place, request: HttpRequest) -> bytes:
        """Its first lines. Most requests have those of another one, but for their length."""
        last = self._last.get(request.url)
        if last is not None and last[0] is request.headers:
            head = last[1]
        else:
            which = (request.url, *request.headers.items())
            known = self._heads.get(which)
            if known is None and len(self._heads) >= MOST:
                self._heads.clear()
                self._last.clear()
            head = self._heads[which] = known or _head(place, request.headers)
            self._last[request.url] = (request.headers, head)
        return b"%bcontent-length: %d\r\n\r\n" % (head, len(request.body))

    def _idle_connection(self, pool: Pool) -> Connection | None:
        """A connection that is open and free, the one that was used last."""
        idle = self._idle.get(pool)
        while idle:
            connection = idle.pop()
            del self._idle_pools[connection]
            if connection.transport is not None and not connection.transport.is_closing():
                return connection
        return None

    async def _connect(self, pool: Pool, way: dict[str, Any], limits: Limits) -> Connection:
        while len(self._open) >= self._most_open and self._idle_pools:
            self._close_oldest()
        _, host, port, _ = pool
        free = partial(self._free, pool)
        secure: ssl.SSLContext | None = way.get("ssl")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limits.connect):
                reached = await _reached(host, port)
                try:
                    _, connection = await loop.create_connection(
                        lambda: Connection(loop, free, self._open.discard),
                        sock=reached,
                        ssl=secure,
                        server_hostname=host if secure is not None else None,
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

    def _free(self, pool: Pool, connection: Connection) -> None:
        connection.idle_since = now()
        is_old = connection.idle_since - connection.begun >= AGE
        is_used_up = connection.requests_sent >= REQUESTS
        if is_old or is_used_up or len(self._open) > self._most_open:
            connection.abort()
            return
        self._idle.setdefault(pool, []).append(connection)
        self._idle_pools[connection] = pool
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(IDLE, self._sweep)

    def _close_oldest(self) -> None:
        """Closes the least recently used idle connection, of any tenant."""
        connection, pool = self._idle_pools.popitem(last=False)
        self._idle[pool].remove(connection)  # the first of its list
        self._open.discard(connection)
        connection.abort()

    def _sweep(self) -> None:
        """Closes idle connections that were not used for a while."""
        self._sweeping = None
        since = now() - IDLE
        while self._idle_pools and next(iter(self._idle_pools)).idle_since <= since:
            self._close_oldest()
        self._idle = {pool: idle for pool, idle in self._idle.items() if idle}
        if self._idle:
            self._sweeping = asyncio.get_running_loop().call_later(IDLE / 3, self._sweep)


class TenantTransport:
    """The gateway's `Transport` for the requests of one tenant."""

    __slots__ = ("send",)

    def __init__(self, upstream: Upstream, tenant: str | None) -> None:
        self.send = partial(upstream.send, tenant=tenant)

    async def close(self) -> None:
        """Does nothing: the connections are closed with the gateway."""


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
