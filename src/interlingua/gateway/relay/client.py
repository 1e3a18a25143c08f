"""The client of a request that is under way: whether it is still there, and how it is spoken to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from interlingua.gateway.shared.asgi import Receive, Scope, Send
from interlingua.gateway.shared.direct_client import DIRECT_CLIENT, DirectClient


class Line:
    """The way to a client while a stream runs: when it has been silent for too long, it gives a
    sign of life. One timer does, however many pieces there are."""

    def __init__(self, send: Send, sign: bytes | None, silence: float) -> None:
        self._send = send
        self._sign = sign
        self._silence = silence
        self._last = time.monotonic()
        self._busy = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timer = None if sign is None else self._loop.call_later(silence, self._look)

    async def say(self, data: bytes) -> None:
        if self._busy.locked():
            async with self._busy:
                pass
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._last = time.monotonic()

    def _look(self) -> None:
        quiet = time.monotonic() - self._last
        if quiet >= self._silence and self._task is None:
            self._task = self._loop.create_task(self._live())
        self._timer = self._loop.call_later(max(self._silence - quiet, 0.05), self._look)

    async def _live(self) -> None:
        async with self._busy:
            sign = {"type": "http.response.body", "body": self._sign, "more_body": True}
            await self._send(sign)
        self._last, self._task = time.monotonic(), None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})


class ClientLeft(Exception):  # noqa: N818  # nobody is there to be told of an error
    """The client has gone."""


async def with_client(scope: Scope, receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do the work as long as the client is there; when it leaves, everything is given up. A server
    of ours tells that itself; of any other it has to be asked for."""
    direct: DirectClient | None = scope.get(DIRECT_CLIENT)
    if direct is not None and direct.has_left:
        work.close()
        raise ClientLeft
    task = asyncio.current_task(None if direct is None else direct.loop)
    assert task is not None
    left = over = False

    def leave() -> None:
        nonlocal left
        if not over:  # a call that is on its way cannot be taken back
            left = True
            task.cancel()

    asking = None
    if direct is None:
        asking = task.get_loop().create_task(_gone(receive, leave))
    else:
        direct.tell(leave)
    try:
        await work
    except asyncio.CancelledError:
        if not left or task.uncancel() > 0:
            raise
    finally:
        over = True
        if direct is not None:
            direct.forget()
        if asking is not None:
            asking.cancel()
    if left:
        raise ClientLeft


async def _gone(receive: Receive, leave: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    leave()
