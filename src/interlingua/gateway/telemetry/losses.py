"""What could not be said, kept for a while: `GET /losses/{request id}` gives the whole report.

It is in memory first. The trace has it too, so that another worker, or this one after a restart,
can still tell; `find` asks both.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from interlingua.gateway.shared.callers import tenant_of
from interlingua.gateway.shared.state import Exchange, Principal
from interlingua.losses import Loss
from interlingua.store.base import AsyncStore

MOST, TOGETHER = 4000, 20_000
"""Reports in memory, and losses of all of them; the oldest go first. That is some megabytes."""
MOST_LOSSES = 200
"""Of one report that are kept; `total` is the number that there were."""


class KeptReport(NamedTuple):
    """One report."""

    request_id: str
    tenant: str | None
    at: float
    target: str
    total: int
    losses: tuple[Loss, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "request_id": self.request_id,
            "target": self.target,
            "count": self.total,
            "losses": msgspec.to_builtins(self.losses),
        }


def of_exchange(exchange: Exchange, at: float) -> KeptReport:
    report = exchange.decision.report
    assert report is not None
    few = tuple(report.losses[:MOST_LOSSES])
    tenant = tenant_of(exchange.arrival.principal)
    return KeptReport(exchange.arrival.id, tenant, at, report.target, len(report.losses), few)


class Losses:
    """Reports by request id, each for its own tenant only."""

    def __init__(
        self,
        store: AsyncStore | None = None,
        seconds: float = 3600.0,
        most: int = MOST,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.seconds = seconds
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[str, KeptReport] = OrderedDict()
        self._count = 0
        """Losses of all reports."""

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, exchange: Exchange) -> None:
        now = self._clock()
        kept = self._kept
        new = kept[exchange.arrival.id] = of_exchange(exchange, now)
        self._count += len(new.losses)
        while (
            len(kept) > self._most
            or self._count > TOGETHER
            or next(iter(kept.values())).at < now - self.seconds
        ):
            self._count -= len(kept.popitem(last=False)[1].losses)

    async def find(self, request_id: str, principal: Principal) -> KeptReport | None:
        """The report, if there is one and it is this caller's: who asks for somebody else's hears
        the same as if there were none."""
        kept = self._kept.get(request_id) or await self._stored(request_id)
        if kept is None or kept.tenant != tenant_of(principal):
            return None
        return kept if kept.at >= self._clock() - self.seconds else None

    async def _stored(self, request_id: str) -> KeptReport | None:
        """The report as the trace has it: what was lost is filed under the request's own id."""
        if self.store is None or not request_id.startswith("req_") or len(request_id) > 40:
            return None
        for row in await self.store.events(request_id, limit=10):
            stored = row.payload.get("losses")
            if isinstance(stored, dict):
                found = msgspec.convert(stored.get("losses", []), tuple[Loss, ...])
                return KeptReport(
                    request_id,
                    stored.get("tenant"),
                    _seconds(row.timestamp),
                    str(stored.get("target")),
                    int(stored.get("count", len(found))),
                    found,
                )
        return None


def _seconds(at: datetime) -> float:
    return at.astimezone(UTC).timestamp()
