"""Finds the places of losses in requests, behind their answers. Bodies stay in memory until then;
only paths are stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from msgspec.structs import replace

from interlingua.adapt.places import Source
from interlingua.dialects.registry import dialect
from interlingua.gateway.shared.state import Exchange, ReportSource
from interlingua.model.losses import Loss

logger = logging.getLogger(__name__)

MOST_BYTES = 16 * 1024 * 1024
"""Bodies that wait at a time; what comes on top gets no places."""
SECONDS = 0.1
"""For one request."""
SHARE, SAVED = 0.1, 1.0
"""The part of the time that is spent on places, and how many seconds of it can be saved up: other
requests need the processor too."""


class Places:
    """The requests whose losses have no places yet, by their ids."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._waiting: dict[str, Exchange] = {}
        self._bytes = 0
        self._clock = clock
        self._credit, self._since = SAVED, clock()
        self._searching = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, exchange: Exchange) -> None:
        source = exchange.decision.source
        if source is None:
            return
        if self._bytes + len(source.body) > MOST_BYTES:
            exchange.decision = replace(exchange.decision, source=None)
        else:
            self._bytes += len(source.body)
            self._waiting[exchange.arrival.id] = exchange

    async def find(self, id: str) -> Exchange | None:
        """The exchange, if it has been waiting, with the places in its report."""
        if id not in self._waiting:
            return None
        async with self._searching:
            exchange = self._waiting.get(id)
            if exchange is not None:
                try:
                    await self._find(exchange)
                finally:
                    self._forget(exchange)
            return exchange

    async def _find(self, exchange: Exchange) -> None:
        report, source = exchange.decision.report, exchange.decision.source
        began = self._clock()
        self._credit = min(SAVED, self._credit + (began - self._since) * SHARE)
        self._since = began
        if report is not None and source is not None and self._credit > 0:
            entries = report.entries[: source.count]
            try:
                found = await asyncio.to_thread(_located, source, entries)
                report.entries[: source.count] = found
            except Exception as error:  # the trace goes on without places
                logger.error("places_failed", extra={"why": type(error).__name__})
            self._credit -= self._clock() - began

    def _forget(self, exchange: Exchange) -> None:
        source = exchange.decision.source
        self._bytes -= 0 if source is None else len(source.body)
        exchange.decision = replace(exchange.decision, source=None)
        del self._waiting[exchange.arrival.id]


def _located(source: ReportSource, entries: list[Loss]) -> list[Loss]:
    read, how = dialect(source.dialect).read_request, (source.model, source.stream)
    wanted = [
        entry
        for entry in entries
        if not entry.at and (source.has_messages or not entry.path.startswith("$.messages"))
    ]
    found = Source(source.body, source.dialect, read, how, SECONDS).places(wanted)
    places = {id(entry): at for entry, at in zip(wanted, found, strict=True)}
    return [entry.placed(at) if (at := places.get(id(entry))) else entry for entry in entries]
