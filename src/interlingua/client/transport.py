"""HTTP: one request out, one reply in. Only this module and `transport_errors.py` know aiohttp.

Replies are bounded, redirects are not followed, cookies are not stored, and nothing is logged.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import msgspec

from interlingua.client.transport_errors import Limits as Limits
from interlingua.client.transport_errors import TooLarge as TooLarge
from interlingua.client.transport_errors import TransportError as TransportError
from interlingua.client.transport_errors import Unpacker, aiohttp, failure_of, late_in
from interlingua.errors import InterlinguaError

if TYPE_CHECKING:
    import socket

    from aiohttp import ClientResponse, ClientSession


class ReplyTimer:
    """One timer for a reply, however many pieces it has: a timer for each piece would cost as
    much as reading it. When a wait has become too long, `late` names it, and `give_up` is
    called."""

    __slots__ = (
        "_first",
        "_give_up",
        "_idle",
        "_loop",
        "_since",
        "_ticker",
        "_timer",
        "_until",
        "began",
        "late",
    )

    def __init__(
        self,
        limits: Limits,
        begun: float,
        give_up: Callable[[], None],
        loop: asyncio.AbstractEventLoop | None = None,
        ticker: Ticker | None = None,
    ) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._ticker = ticker
        self.began = False
        """Whether a first piece was there."""
        self.late: str | None = None
        self._give_up = give_up
        self._since = 0.0
        """When the wait for the next data began; 0 while there is none."""
        self._until = begun + limits.total if limits.total is not None else None
        self._first = begun + limits.first_byte if limits.first_byte is not None else None
        self._idle = limits.idle
        self._timer: asyncio.TimerHandle | Ticker | None = None

    def begin(self) -> None:
        """A wait for the next piece begins."""
        self._since = now()
        if self._timer is None:
            self.watch()

    def rest(self) -> None:
        """The wait is over."""
        self._since = 0.0

    def came(self) -> None:
        """The piece is here."""
        self._since = 0.0
        if not self.began:
            self.began = True
            self.stop()

    def stop(self) -> None:
        timer = self._timer
        if timer is None:
            return
        self._timer = None
        if timer is self._ticker:
            self._ticker.waits.discard(self)
        else:
            timer.cancel()  # type: ignore[union-attr]  # it is no ticker

    def watch(self) -> None:
        """Checks again when the current wait may have become too long. While the program takes
        its time between reads, there is nothing to check."""
        self._timer = None
        if not self._since:
            return
        soonest, late = self._until, "total"
        if not self.began:
            if self._first is not None and (soonest is None or self._first <= soonest):
                soonest, late = self._first, "first_byte"
        elif self._idle is not None:
            quiet = self._since + self._idle
            if soonest is None or quiet <= soonest:
                soonest, late = quiet, "idle"
        if soonest is None:
            return
        left = soonest - now()
        if left <= 0:
            self.late = late
            self._give_up()
        elif left > LONG and self._ticker is not None:
            self._timer = self._ticker
            self._ticker.add(self)
        else:
            self._timer = self._loop.call_later(left + 0.001, self.watch)


class Ticker:
    """Looks after many waits that have long to go, all of them once in a while: starting a timer
    for each, only to stop it when the reply is here, costs more than this."""

    def __init__(self) -> None:
        self.waits: set[ReplyTimer] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, wait: ReplyTimer) -> None:
        self.waits.add(wait)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LONG / 2, self._look)

    def _look(self) -> None:
        self._timer = None
        waits, self.waits = self.waits, set()
        for wait in waits:
            wait.watch()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def least(*values: float | None) -> float | None:
    return min([value for value in values if value is not None], default=None)


LONG = 1.0
"""Seconds; a wait that has more than this to go is left to the ticker, where there is one."""
now = time.monotonic


MAX_BYTES = 64 * 2**20
"""Bytes of an answer, unpacked. Streams, which are more verbose, may have four times as many."""
MAX_ERROR_BYTES = 2**20
"""Bytes of an error's body that are read."""
ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})
"""Content encodings that are unpacked, one at a time; chains of them are refused."""
_MOST_WAYS = 1000
"""Hosts to which the way is known."""
_NEVER = 1e9  # aiohttp rounds longer timeouts up to whole seconds; this is longer than any


Sockets = Callable[[Any], "socket.socket"]
"""Makes a socket from an entry of `getaddrinfo`."""


class HttpRequest(msgspec.Struct, frozen=True, eq=False):
    """`secrets` are those parts of the headers that must not be seen anywhere."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    secrets: tuple[str, ...] = ()
    method: str = "POST"
    pieces: AsyncIterator[bytes] | None = None
    """The body, where it is sent in pieces."""
    may_name_files: bool = True
    """False where it is known that the body names no file of its provider."""

    def __repr__(self) -> str:
        return f"<HttpRequest {urlsplit(self.url).netloc}, {len(self.body)} bytes>"


class Reply(Protocol):
    """Status and headers (lower case) are there; the body is read piece by piece."""

    status: int
    headers: Mapping[str, str]

    async def chunk(self) -> bytes:
        """The next piece of the body, empty at its end."""

    async def body(self, limit: int) -> bytes:
        """All of it; `TooLarge` if it has more than so many bytes."""

    def close(self) -> None:
        """Closes the reply. If it is not fully read, the connection is closed, too."""


class Transport(Protocol):
    """Sends requests. Tests and recordings may put themselves in its place."""

    async def send(self, request: HttpRequest, limits: Limits) -> Reply: ...

    async def close(self) -> None: ...


class HttpTransport:
    """Connections over aiohttp, reused between requests.

    `ca` is a file with the certificates to trust in place of the system's (`SSL_CERT_FILE` works as
    well); `proxy` overrides `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, an empty one switches them
    off. Loopback is never reached through a proxy of the environment. `sockets` makes the socket
    for an address that is about to be connected to, and may refuse to with an `OSError`; such
    connections serve one request each, since the hosts may be anyone's and the requests may be of
    different tenants."""

    def __init__(
        self, *, ca: str | None = None, proxy: str | None = None, sockets: Sockets | None = None
    ) -> None:
        self._ca = ca
        self._sockets = sockets
        self._proxy = proxy
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: ssl.SSLContext | None = None
        self._ways: dict[str, dict[str, Any]] = {}

    async def send(self, request: HttpRequest, limits: Limits, tenant: str | None = None) -> Reply:
        """Connections through a proxy are reused only for requests of the same `tenant`."""
        http = aiohttp()
        begun = now()
        first = limits.first_byte
        late = "total"
        try:
            if first is None:
                # aiohttp's own limit for everything does: it goes on while the body is read.
                reply = await self._ask(request, limits.connect, limits.total, tenant)
                return HttpReply(reply, Limits(None, None, limits.idle, None), begun)
            if limits.total is None or first < limits.total:
                late = "first_byte"
            async with asyncio.timeout(least(first, limits.total)):
                reply = await self._ask(request, limits.connect, None, tenant)
            return HttpReply(reply, limits, begun)
        except (http.ClientError, OSError, ValueError) as error:
            failed = failure_of(error, late)
        raise failed  # outside, so that it carries nothing of aiohttp's, headers above all

    async def _ask(
        self, request: HttpRequest, connect: float | None, total: float | None, tenant: str | None
    ) -> ClientResponse:
        url = _url(request.url)
        way = self.way_to(url.scheme, url.host or "")
        if tenant is not None and "proxy" in way:
            # aiohttp pools connections by the proxy's URL; its fragment is never sent.
            way = {**way, "proxy": f"{way['proxy']}#{tenant}"}
        return await self._of_loop().request(
            request.method,
            url,
            data=request.pieces or request.body or None,
            headers=request.headers,
            allow_redirects=False,
            timeout=_timeout(connect, total),
            **way,
        )

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()

    def _of_loop(self) -> ClientSession:
        session = self._session
        if session is not None:
            if self._loop is not asyncio.get_running_loop():
                raise InterlinguaError(
                    "an AsyncClient belongs to the event loop that used it first: make one in each"
                    " loop, or use Client"
                )
            return session
        http = aiohttp()
        self._loop = asyncio.get_running_loop()
        self._session = http.ClientSession(
            connector=http.TCPConnector(
                limit=1000,
                timeout_ceil_threshold=_NEVER,
                socket_factory=self._sockets,
                use_dns_cache=self._sockets is None,
                force_close=self._sockets is not None,
            ),
            cookie_jar=http.DummyCookieJar(),
            skip_auto_headers=("User-Agent",),
            auto_decompress=False,  # it unpacks everything that has arrived at once
        )
        return self._session

    def way_to(self, scheme: str, host: str) -> dict[str, Any]:
        """Proxy and certificates for a host."""
        known = self._ways.get(f"{scheme}://{host}")
        if known is None:
            known = {}
            if scheme == "https":
                known["ssl"] = self._context()
            proxy = _proxy_of(scheme, host) if self._proxy is None else self._proxy
            if proxy:
                known["proxy"] = proxy if "://" in proxy else f"http://{proxy}"
            if len(self._ways) < _MOST_WAYS:
                self._ways[f"{scheme}://{host}"] = known
        return known

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            file = self._ca or os.environ.get("SSL_CERT_FILE") or None
            try:
                self._tls = ssl.create_default_context(cafile=file)
            except (OSError, ssl.SSLError) as error:
                raise InterlinguaError(f"cannot read certificates from {file}: {error}") from None
        return self._tls


def _left(content: Any) -> bytes:
    """Data that arrived together with the end of the connection. The library does not return it,
    because it raises first (aiohttp 3.14, tried 2026-11)."""
    held = getattr(content, "_buffer", None)
    if not held:
        return b""
    data = b"".join(held)[getattr(content, "_buffer_offset", 0) :]
    held.clear()
    return data


class HttpReply:
    """A reply of aiohttp."""

    def __init__(self, reply: ClientResponse, limits: Limits, begun: float) -> None:
        self.status = reply.status
        self.headers: Mapping[str, str] = reply.headers  # which looks names up in any case
        self._reply = reply
        self._content = reply.content
        # Closing the reply wakes its reader.
        self._timer = ReplyTimer(limits, begun, reply.close)
        try:
            packed = packing(self.headers)
        except TransportError:
            reply.close()
            raise
        self._unpacker = Unpacker() if packed not in ("", "identity") else None

    async def chunk(self) -> bytes:
        if self._unpacker is None:
            return await self._raw()
        return await self._unpacker.next(self._raw)

    async def _raw(self) -> bytes:
        timer = self._timer
        if not self._content.is_eof():  # else all of it is here
            timer.begin()
        try:
            data = await self._content.readany()
        except (aiohttp().ClientError, OSError, ValueError) as error:
            if left := _left(self._content):
                timer.began = True
                return left  # the failure comes again with the next piece
            failed = failure_of(error, "total", timer.began)
        else:
            timer.came()
            return data
        timer.stop()
        if timer.late is not None:
            raise late_in(timer.late, timer.began)
        raise failed

    async def body(self, limit: int) -> bytes:
        length = self.headers.get("Content-Length", "")
        if length.isdecimal() and int(length) > limit:
            raise TooLarge
        pieces, size = [], 0
        while piece := await self.chunk():
            size += len(piece)
            if size > limit:
                raise TooLarge
            pieces.append(piece)
        self._timer.stop()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """A reply that was read to its end leaves its connection to the next request."""
        self._timer.stop()
        self._reply.close()

    def drop(self) -> None:
        """End the connection, though the reply was read to its end: aiohttp keeps it to itself
        (aiohttp 3.14, tried 2026-11)."""
        self.close()
        connection = getattr(getattr(self._reply, "_protocol", None), "transport", None)
        if connection is not None:
            connection.abort()


def packing(headers: Mapping[str, str]) -> str:
    """The content coding of a reply, if we can decode it."""
    packed = headers.get("content-encoding", "").strip().lower()
    if packed not in ENCODINGS:
        raise TransportError("read", f"unknown content encoding {packed[:40]!r}", sent=True)
    return packed


def _proxy_of(scheme: str, host: str) -> str | None:
    from urllib.request import getproxies, proxy_bypass  # slow to import

    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(scheme) or proxies.get("all")


@lru_cache(maxsize=256)
def _url(url: str) -> Any:
    from yarl import URL

    return URL(url, encoded=True)


@lru_cache(maxsize=64)
def _timeout(connect: float | None, total: float | None) -> Any:
    return aiohttp().ClientTimeout(total=total, connect=connect, ceil_threshold=_NEVER)
