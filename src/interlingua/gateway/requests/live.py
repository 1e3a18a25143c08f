"""Requests as they end, for those who watch: `GET /requests` as a stream.

A process asks the store how far it is, once for all who watch; each of them reads on from its own
number, a page at a time, as fast as its client takes it. So a reader costs a page at most, misses
nothing, and sees what passed in all workers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress

from interlingua.gateway.sessions.live import frame
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.request_rows import Wanted, request_dict

logger = logging.getLogger(__name__)

POLL = 0.5
"""Seconds between two looks at what other workers have written."""
GATHER = 0.05
"""Seconds in which requests are gathered before the store is asked again."""
BEAT = 15.0
PAGE = 100
NAME = "request"


class RequestWatchers:
    """Who watches in this process, and how far the store is."""

    def __init__(self, store: AsyncStore) -> None:
        self.closed = asyncio.Event()
        self._store = store
        self._last = 0
        self._readers = 0
        self._more = asyncio.Event()
        """Set, and put away, when there is more to read."""
        self._poked = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return self._readers

    def poke(self) -> None:
        """This process has written some."""
        self._poked.set()

    async def read(self, wanted: Wanted, after: int) -> AsyncGenerator[bytes, None]:
        """What is written behind a number, until the reader or the gateway goes."""
        self._readers += 1
        self._last = max(self._last, after)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.ensure_future(self._poll())
        try:
            yield b": watching\n\n"
            while not self.closed.is_set():
                more = self._more
                while after < self._last:
                    after, piece = await self._page(wanted, after, self._last)
                    if piece:
                        yield piece
                with suppress(TimeoutError):
                    async with asyncio.timeout(BEAT):
                        await more.wait()
                    continue
                yield b": ping\n\n"
        finally:
            self._readers -= 1

    async def _page(self, wanted: Wanted, after: int, upto: int) -> tuple[int, bytes]:
        """What of it has room in a page, and how far that goes."""
        rows = await self._store.requests_after(after, upto, wanted, PAGE)
        piece = b"".join([frame(NAME, request_dict(row), row.seq) for row in rows])
        return (rows[-1].seq if len(rows) == PAGE else upto), piece

    async def _poll(self) -> None:
        while self._readers and not self.closed.is_set():
            self._poked.clear()
            try:
                self._reach(await self._store.last_request())
            except StoreError as error:
                logger.warning("requests_not_read", extra={"why": error.reason})
            await asyncio.sleep(GATHER)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await self._poked.wait()

    def _reach(self, last: int) -> None:
        if last > self._last:
            self._last = last
            self._wake()

    def _wake(self) -> None:
        more, self._more = self._more, asyncio.Event()
        more.set()

    def close(self) -> None:
        self.closed.set()
        self._wake()
        if self._polling is not None:
            self._polling.cancel()
