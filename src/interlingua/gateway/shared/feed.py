"""Streams of server-sent events: what all feeds of the gateway's own paths share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.state import Keys, Principal, Refusal

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

logger = logging.getLogger(__name__)

STREAM = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
BEAT = 15.0
"""Seconds of silence after which a stream sends a comment."""
PING = b": ping\n\n"
WATCHING = b": watching\n\n"
_encode = msgspec.json.Encoder().encode


def frame(name: str, data: Any, id: int | None = None) -> bytes:
    """One event; only a stored one has an id. JSON has no line breaks, and names are ours."""
    first = b"" if id is None else b"id: %d\n" % id
    return b"%bevent: %b\ndata: %b\n\n" % (first, name.encode(), _encode(data))


def accepts_stream(request: Request) -> bool:
    return STREAM in request.headers.get("accept", "")


def cursor_of(request: Request, what: str = "an event") -> int | None:
    """The number of the last event that a reconnecting client has seen."""
    header = request.headers.get("last-event-id")
    if header is None:
        return None
    if not (header.isascii() and header.isdigit()) or len(header) > 15:
        raise ApiError(400, "invalid_cursor", f"Last-Event-ID: expected the number of {what}")
    return int(header)


def event_stream(
    service: Service, principal: Principal, pieces: AsyncGenerator[bytes, None]
) -> Response:
    """The pieces, for as long as the caller's key is valid and the client reads them."""
    return PatientResponse(
        while_valid(service.gateway.keys, principal, pieces),
        service.limits.stalled,
        headers=HEADERS,
        media_type=STREAM,
    )


async def is_set(event: asyncio.Event, seconds: float | None = None) -> bool:
    """Waits for the event, for so many seconds at most, or until a sign of life is due."""
    with suppress(TimeoutError):
        async with asyncio.timeout(BEAT if seconds is None else seconds):
            await event.wait()
        return True
    return False


class Poller:
    """Polls the store in a task, as long as there are readers and until it is closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self._poked = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None

    def _begin(self, poll: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._polling is None or self._polling.done():
            self._polling = asyncio.ensure_future(poll())

    def close(self) -> None:
        self.closed.set()
        if self._polling is not None:
            self._polling.cancel()


async def while_valid(
    keys: Keys, principal: Principal, pieces: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """The pieces of a stream for as long as the caller's key is valid and has the same rights.

    Streams send something at least every 15 seconds, so an idle one ends within that time."""
    code = "key_changed"
    async with aclosing(pieces):
        async for piece in pieces:
            try:
                if await keys.current(principal) != principal:
                    break
            except Refusal as refused:
                code = refused.error.code or code
                break
            yield piece
        else:
            return
    yield b'event: error\ndata: {"code":"%b"}\n\n' % code.encode()


class PatientResponse(StreamingResponse):
    """Ends when the client has taken nothing for `stalled` seconds; the connection is closed."""

    def __init__(self, content: AsyncIterator[bytes], stalled: float, **more: Any) -> None:
        super().__init__(content, **more)
        self._stalled = stalled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stuck = False

        async def timed(message: Message) -> None:
            nonlocal stuck
            try:
                async with asyncio.timeout(self._stalled):
                    await send(message)
            except TimeoutError:
                stuck = True
                raise

        try:
            await super().__call__(scope, receive, timed)
        except BaseException:
            if not stuck:
                raise
            logger.info("client_stalled", extra={"path": scope["path"]})
