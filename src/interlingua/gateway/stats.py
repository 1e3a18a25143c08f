"""Sums over the request log, for the overview of the page: `GET /stats`. A key sees the same
requests as in the log."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from interlingua.gateway.requests import tenant_of
from interlingua.gateway.shared.bodies import number
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.state import Principal
from interlingua.model.message import from_micros
from interlingua.store.request_stats import (
    COUNTS,
    DAY,
    HOUR,
    KINDS,
    TOTAL,
    StatsRow,
    dollars,
    percentile,
    typical,
)

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

WINDOWS = {"today": 1, "week": 7, "month": 30}
MOST = 100
"""Names of a kind that are listed; the others are summed."""
OTHERS = "(others)"
DRAWN = 10
"""Names of a kind that have a series of their own."""


class Group:
    """Counts of one name or period, by how long requests took."""

    def __init__(self) -> None:
        self.counts = [0] * len(COUNTS)
        self.times: dict[int, int] = {}

    @property
    def requests(self) -> int:
        return self.counts[0]

    def add(self, counts: Sequence[int], times: Mapping[int, int]) -> None:
        self.counts = [*map(int.__add__, self.counts, counts)]
        for bucket, requests in times.items():
            self.times[bucket] = self.times.get(bucket, 0) + requests

    def totals(self) -> dict[str, Any]:
        named: dict[str, Any] = dict(zip(COUNTS, self.counts, strict=True))
        cost = named.pop("cost")
        named["cost_usd"] = None if named["unpriced"] and not cost else f"{dollars(cost):f}"
        read = named["input_tokens"] + named["cached_tokens"] + named["written_tokens"]
        named["cache_share"] = round(named["cached_tokens"] / read, 4) if read else None
        named["p50_ms"] = percentile(self.times, 0.5)
        named["p95_ms"] = percentile(self.times, 0.95)
        return named


class Course:
    """The values of one name for each day, in order."""

    def __init__(self, days: int) -> None:
        self.days: list[StatsRow | None] = [None] * days

    def series(self) -> dict[str, list[Any]]:
        found = [None if row is None else _day(row) for row in self.days]
        names = ("requests", "failed", "losses", "tokens", "cost_usd", "cache_share", "typical_ms")
        absent = (0, 0, 0, 0, 0, None, None)
        return {
            name: [absent[at] if each is None else each[at] for each in found]
            for at, name in enumerate(names)
        }


def _day(row: StatsRow) -> tuple[Any, ...]:
    named = dict(zip(COUNTS, row.counts, strict=True))
    read = named["input_tokens"] + named["cached_tokens"] + named["written_tokens"]
    return (
        *(named["requests"], named["failed"], named["losses"], read + named["output_tokens"]),
        float(dollars(named["cost"])),
        round(named["cached_tokens"] / read, 4) if read else None,
        typical(row.bucket, named["requests"]),
    )


async def show(service: Service, request: Request, principal: Principal) -> Response:
    """Totals of today, 7 and 30 days, and for `days` of them a series and the shares of each model,
    route, key and team."""
    days = number(request.query_params, "days", 7, 1, 30)
    if days not in WINDOWS.values():
        raise ApiError(400, "invalid_request", "days: expected 1, 7 or 30")
    whose, now = tenant_of(principal), time.time_ns() // 1000
    periods: defaultdict[int, Group] = defaultdict(Group)
    windows: defaultdict[int, Group] = defaultdict(Group)
    kinds: dict[str, defaultdict[str, Group]] = {kind: defaultdict(Group) for kind in KINDS}
    courses: defaultdict[tuple[str, str], Course] = defaultdict(lambda: Course(days))
    starts = _starts(now, days)
    for row in await service.store.request_stats(whose, now, days):
        times = {row.bucket: row.counts[0]}
        if not row.window and row.kind != TOTAL:
            courses[row.kind, row.name].days[(row.period - starts[0]) // DAY] = row
        elif not row.window:
            periods[row.period].add(row.counts, times)
        elif row.kind == TOTAL:
            for window in WINDOWS.values():
                if row.window <= window:
                    windows[window].add(row.counts, times)
        else:
            kinds[row.kind][row.name].add(row.counts, times)
    teams = {team.id: team.name for team in await service.store.teams()} if kinds["team"] else {}
    return answer(
        {
            "days": days,
            "since": from_micros(starts[0]),
            **{name: windows[window].totals() for name, window in WINDOWS.items()},
            "series": [{"at": from_micros(at), **periods[at].totals()} for at in starts],
            **{f"{kind}s": _listed(kinds[kind], kind, courses, days) for kind in KINDS[1:]},
            "team_names": {id: name for id, name in teams.items() if id in kinds["team"]},
        }
    )


def _starts(now: int, days: int) -> list[int]:
    """The hours of today, or the days; UTC."""
    today = now - now % DAY
    if days == 1:
        return list(range(today, now + 1, HOUR))
    return [today - back * DAY for back in reversed(range(days))]


def _listed(
    groups: Mapping[str, Group], kind: str, courses: Mapping[tuple[str, str], Course], days: int
) -> list[dict[str, Any]]:
    """The names with most requests first; these have their figures of each day, if there are
    several days."""
    ordered = sorted(groups.items(), key=lambda each: (-each[1].requests, each[0]))
    listed, others = ordered[:MOST], Group()
    for _, group in ordered[MOST:]:
        others.add(group.counts, group.times)
    if others.requests:
        listed.append((OTHERS, others))
    found: list[dict[str, Any]] = [{"name": name, **group.totals()} for name, group in listed]
    for each in found[: DRAWN if days > 1 else 0]:
        each["series"] = courses[kind, each["name"]].series()
    return found
