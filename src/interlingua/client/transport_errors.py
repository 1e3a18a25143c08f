"""Time limits of a request, and the errors for exceptions of aiohttp. None of its exceptions is
passed on: some of them hold the headers of the request, and those hold keys."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

import msgspec

from interlingua.errors import MissingExtraError


class Limits(msgspec.Struct, frozen=True):
    """Limits in seconds: to connect, until the answer begins, for a pause after that, and for
    everything together. None is no limit."""

    connect: float | None = 10.0
    first_byte: float | None = 300.0
    idle: float | None = 120.0
    total: float | None = 600.0


class TransportError(Exception):
    """Why there is no reply, or why it ended early. `phase` is as in `NetworkError`."""

    def __init__(
        self, phase: str, problem: str, *, sent: bool, late: bool = False, begun: bool = False
    ) -> None:
        super().__init__(problem)
        self.phase = phase
        self.problem = problem
        self.sent = sent
        self.late = late
        """It is a timeout."""
        self.begun = begun


class TooLarge(Exception):  # noqa: N818 - the client makes an error of it
    """A reply beyond the limit."""


def late_in(phase: str, begun: bool = False) -> TransportError:
    return TransportError(phase, _LATE[phase], sent=phase != "connect", late=True, begun=begun)


_LATE = {
    "connect": "timed out connecting",
    "first_byte": "timed out waiting for the first byte",
    "idle": "timed out waiting for more data",
    "total": "timed out before the response was complete",
}


def failure_of(error: Exception, late: str, begun: bool = False) -> TransportError:
    """The error for an exception of aiohttp. Its text may hold addresses, but never headers."""
    http = aiohttp()
    why = reason(error)
    match error:
        case http.ClientConnectorDNSError():
            return TransportError("dns", f"could not resolve the host: {why}", sent=False)
        case http.ClientProxyConnectionError() | http.ClientHttpProxyError():
            return TransportError("proxy", f"proxy refused the connection: {why}", sent=False)
        case http.ClientSSLError() | http.ServerFingerprintMismatch() | ssl.SSLError():
            return TransportError("tls", f"TLS handshake failed: {why}", sent=False)
        case http.ConnectionTimeoutError():
            return late_in("connect")
        case http.ClientConnectorError():
            return TransportError("connect", f"connection failed: {why}", sent=False)
        case TimeoutError():
            return late_in(late, begun)
        case http.ClientConnectionResetError():
            # Raised before writing to a connection that is closed already.
            return TransportError(
                "write", f"connection closed before the request was sent: {why}", sent=False
            )
        case http.InvalidURL() | http.NonHttpUrlClientError():
            return TransportError("connect", "invalid provider URL", sent=False)
        case http.ClientResponseError():
            problem = "invalid HTTP response, or unsupported content encoding"
            return TransportError("read", problem, sent=True, begun=True)
        case http.ClientPayloadError() | ValueError():
            return TransportError(
                "read", "connection closed before the response was complete", sent=True, begun=True
            )
        case _:
            return TransportError("read", f"connection lost: {why}", sent=True, begun=begun)


def reason(error: Exception) -> str:
    """A short reason that is safe to show: the system's own text, or the exception's name."""
    inner = getattr(error, "os_error", error)
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message
    text = getattr(inner, "strerror", None)
    return text if isinstance(text, str) and text else type(error).__name__


@lru_cache(maxsize=1)
def aiohttp() -> Any:
    """The library, where it is installed; imported when it is first needed."""
    try:
        import aiohttp as module
    except ImportError:
        raise MissingExtraError("the client", "client") from None
    return module


UNPACKED = 256 * 1024
"""Bytes of a piece."""
BROKEN_OFF = "connection closed before the response was complete"


class Unpacker:
    """gzip or deflate."""

    def __init__(self) -> None:
        self._zlib: Any = None
        self._packed = b""

    @property
    def is_whole(self) -> bool:
        return self._zlib is None or bool(self._zlib.eof)

    async def next(self, more: Callable[[], Awaitable[bytes]]) -> bytes:
        """The next piece, empty at the end; `more` reads packed bytes."""
        while not (piece := self.rest()):
            packed = await more()
            if not packed:
                if not self.is_whole:
                    raise TransportError("read", BROKEN_OFF, sent=True, begun=True)
                return b""
            self.add(packed)
        return piece

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
                raise TransportError("read", BROKEN_OFF, sent=True, begun=True) from None
            self._packed = self._zlib.unconsumed_tail
            if self._zlib.eof and self._zlib.unused_data.strip(b"\0"):
                self.add(self._zlib.unused_data)
            if data:
                return data
        return b""
