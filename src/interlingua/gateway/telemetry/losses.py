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

from interlingua.gateway.shared.state import Exchange, Principal
from interlingua.model.losses import Loss
from interlingua.store.base import AsyncStore

MOST, TOGETHER = 4000, 20_000
"""Reports in memory, and entries of all of them; the oldest go first. That is some megabytes."""
MOST_LOSSES = 200
"""Losses stored per report; `total` is their real number."""
LONGEST_TEXT = 1000
"""Characters of each text of a loss."""


class StoredReport(NamedTuple):
    """One report."""

    request_id: str
    tenant: str | None
    at: float
    target: str
    total: int
    losses: tuple[Loss, ...]
    notes: tuple[Loss, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "request_id": self.request_id,
            "target": self.target,
            "count": self.total,
            "losses": msgspec.to_builtins(self.losses),
            "notes": msgspec.to_builtins(self.notes),
        }


def of_exchange(exchange: Exchange, at: float) -> StoredReport:
    report = exchange.decision.report
    assert report is not None
    losses, notes = report.losses, report.notes
    few = [tuple([_shortened(each) for each in all[:MOST_LOSSES]]) for all in (losses, notes)]
    tenant = exchange.arrival.principal.tenant
    return StoredReport(exchange.arrival.id, tenant, at, report.target, len(losses), *few)


def _shortened(loss: Loss) -> Loss:
    """A path or a reason may quote a name that a client or a provider made up."""
    texts = (loss.path, loss.reason, loss.block_type, loss.message_id)
    if all(text is None or (len(text) <= LONGEST_TEXT and _is_unicode(text)) for text in texts):
        return loss
    path, reason, block_type, message_id = [text and _storable(text) for text in texts]
    return msgspec.structs.replace(
        loss, path=path, reason=reason, block_type=block_type, message_id=message_id
    )


def _is_unicode(text: str) -> bool:
    return text.isascii() or text.isprintable() or _storable(text) == text


def _storable(text: str) -> str:
    """Cut to the stored length, and without lone surrogates, which no database takes."""
    cut = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    return cut.encode("utf-8", "replace").decode()


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
        self._reports: OrderedDict[str, StoredReport] = OrderedDict()
        self._count = 0
        """Losses of all reports."""

    def __len__(self) -> int:
        return len(self._reports)

    def keep(self, exchange: Exchange) -> None:
        now = self._clock()
        reports = self._reports
        new = reports[exchange.arrival.id] = of_exchange(exchange, now)
        self._count += len(new.losses) + len(new.notes)
        while (
            len(reports) > self._most
            or self._count > TOGETHER
            or next(iter(reports.values())).at < now - self.seconds
        ):
            old = reports.popitem(last=False)[1]
            self._count -= len(old.losses) + len(old.notes)

    async def find(self, request_id: str, principal: Principal) -> StoredReport | None:
        """The report, if there is one and it is this caller's; another tenant's looks like none."""
        report = self._reports.get(request_id) or await self._stored(request_id)
        if report is None or report.tenant != principal.tenant:
            return None
        return report if report.at >= self._clock() - self.seconds else None

    async def _stored(self, request_id: str) -> StoredReport | None:
        """The report as the trace has it: what was lost is filed under the request's own id."""
        if self.store is None or not request_id.startswith("req_") or len(request_id) > 40:
            return None
        for row in await self.store.events(request_id, limit=10):
            stored = row.payload.get("losses")
            if isinstance(stored, dict):
                found = msgspec.convert(stored.get("losses", []), tuple[Loss, ...])
                return StoredReport(
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
