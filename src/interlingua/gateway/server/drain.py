"""The server: uvicorn's, which goes in an orderly way.

After a signal to end, `/health/ready` fails, and the gateway runs on for a moment, so that load
balancers notice; then it takes no new connections and lets requests end by themselves; requests
still under way when the time is up get an error in their own dialect. A second signal skips the
waiting.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

import uvicorn

from interlingua.gateway.relay.wrapped import WrappedSend, last_frames
from interlingua.gateway.server.client_connection import WebSocketConnection
from interlingua.gateway.settings import Listen
from interlingua.gateway.shared.direct_client import DIRECT_CLIENT
from interlingua.gateway.shared.fronts import error_body, match
from interlingua.gateway.shared.state import CODE_HEADER
from interlingua.model.exchange import ErrorKind, ProviderError

logger = logging.getLogger(__name__)

TICK = 0.05
LAST_WORDS = 2.0
"""Seconds for the last bytes to clients, and for their requests to end."""
GOING = "the gateway is shutting down; try again"
LAST_EVENT = (
    '{"type":"error","status":503,"error":{"type":"server_error","code":"shutting_down",'
    f'"message":"{GOING}","param":null}}}}'
)
"""To a WebSocket whose response does not end in time."""


class Server(uvicorn.Server):
    """`going` is called once, when the first signal has come; `reload` at each SIGHUP; `tick`
    every second with the number of requests under way; `behind` returns how much work is left
    that no request waits for, which is finished too."""

    def __init__(
        self,
        config: uvicorn.Config,
        listen: Listen,
        going: Callable[[], None],
        reload: Callable[[], Awaitable[None]] | None = None,
        tick: Callable[[int], None] | None = None,
        behind: Callable[[], int] = lambda: 0,
    ) -> None:
        super().__init__(config)
        self.listen = listen
        self.signals = 0
        self._going = going
        self._reload = reload
        self._tick = tick
        self._behind = behind
        self._loop: asyncio.AbstractEventLoop | None = None
        self._signalled = asyncio.Event()
        self._reloading: asyncio.Task[None] | None = None

    @property
    def under_way(self) -> int:
        """Requests that have not ended."""
        return len(self.server_state.tasks)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.signals += 1
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._signalled.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._reload is not None and hasattr(signal, "SIGHUP"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self._on_reload)
            # A worker is started with it held, and can take it from now on.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP,))

    def _on_reload(self) -> None:
        if self._reload is not None and (self._reloading is None or self._reloading.done()):
            self._reloading = asyncio.ensure_future(self._reload())

    async def main_loop(self) -> None:
        """Like uvicorn's, which notices a signal at its next tick; this one is woken by it."""
        self._loop = asyncio.get_running_loop()
        signalled = asyncio.ensure_future(self._signalled.wait())
        counter = 0
        while not await self.on_tick(counter):
            if self._tick is not None and counter % 10 == 0:
                self._tick(self.under_way)
            counter = (counter + 1) % 864000
            await asyncio.wait([signalled], timeout=0.1)
        signalled.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._going()
        logger.info("draining", extra={"requests": self.under_way})
        if self.signals:
            await self._wait(self.listen.notice_seconds, lambda: False)
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._wait(self.listen.drain_seconds, lambda: not self.under_way + self._behind())
        if self.under_way:
            await self._cut()
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.close()
        logger.info("drained")

    async def _wait(self, seconds: float, done: Callable[[], bool]) -> None:
        """Until it is done, the time is up, or a second signal has come."""
        end = time.monotonic() + seconds
        while not done() and self.signals < 2 and time.monotonic() < end:
            await asyncio.sleep(TICK)

    async def _cut(self) -> None:
        """Ends every response in flight with an error."""
        tasks = list(self.server_state.tasks)
        logger.warning("requests_cut_off", extra={"requests": len(tasks)})
        cycles = [getattr(each, "cycle", None) for each in self.server_state.connections]
        open = [cycle for cycle in cycles if cycle is not None and not cycle.response_complete]
        if open:
            words = [asyncio.ensure_future(last_words(cycle)) for cycle in open]
            await asyncio.wait(words, timeout=LAST_WORDS)
        for each in self.server_state.connections:
            if isinstance(each, WebSocketConnection):
                each.cut(LAST_EVENT)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_WORDS)


async def last_words(cycle: Any) -> None:
    """Ends one response in any state. `cycle` is uvicorn's, with an ASGI `send`; later output of
    the application is dropped, as if the client had disconnected."""
    found = match(cycle.scope["path"]) if cycle.scope["method"] == "POST" else None
    shown = ProviderError(ErrorKind.SERVER_ERROR, GOING, "shutting_down", 503)
    direct = cycle.scope.get(DIRECT_CLIENT)  # which leaves the scope with the last byte
    try:
        if cycle.response_started:
            if not cycle.chunked_encoding:
                cycle.transport.close()  # an answer of a known length: the client sees it is short
                return
            frames = b"" if found is None else last_frames(found.front, shown)
            await cycle.send({"type": "http.response.body", "body": frames})
            return
        text = b'{"error":{"code":"shutting_down","message":"%s"}}' % GOING.encode()
        body = text if found is None else error_body(found.front, shown)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"retry-after", b"1"),
            (CODE_HEADER.encode(), b"shutting_down"),
            (b"connection", b"close"),
        ]
        send = cycle.send
        if found is not None and found.front.wrapping is not None:
            send = WrappedSend(send, found.front.wrapping, found.front.stream_type)
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": body})
    except Exception as error:  # this client is lost in any case, and others wait
        logger.info("shutdown_notice_failed", extra={"why": type(error).__name__})
    finally:
        cycle.disconnected = True
        if direct is not None:
            direct.happens()  # the connection may still be used by others; this request is over now
