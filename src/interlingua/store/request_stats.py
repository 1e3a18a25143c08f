"""Counts of requests, by hour and day: added up as requests are written, so that reading it takes
the same time after a million of them.

Each request counts once among all, and once under its model, its requested name, its key and its
team; and the same again for its tenant, which may read only that. Days and hours are UTC."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from interlingua.model.message import micros
from interlingua.model.metadata import Usage
from interlingua.store.statements import Op, Step, Work

if TYPE_CHECKING:
    from interlingua.store.requests import RequestRow

HOUR, DAY = 3_600_000_000, 86_400_000_000
NANO = Decimal(10**9)
AT_ONCE = 500
"""Ids that are looked up in one statement."""
EVERYONE = ""
"""The tenant under which the requests of all are counted."""
TOTAL = "all"
KINDS = (TOTAL, "model", "route", "key", "team")
BOUNDS = tuple(round(2 ** (step / 2)) for step in range(2, 40))
"""Upper bounds, in milliseconds, of all buckets of durations but the last one."""
COUNTS = (
    *("requests", "failed", "fallbacks", "lossy", "losses", "unpriced"),
    *("input_tokens", "cached_tokens", "written_tokens", "output_tokens", "cost"),
)
"""Columns that are added up. `lossy` are requests with losses, `unpriced` those with tokens whose
price is not known, or not of all that they used; `cost` is in billionths of a dollar."""


class Place(NamedTuple):
    """The sums that a request belongs to."""

    tenant: str
    kind: str
    period: int
    name: str
    bucket: int


class StatsRow(NamedTuple):
    """Counts of requests in one bucket of duration: of all in a period, of all in a window (1:
    today, 7: the six days before it, 30: the others), or of a name in all of the days (window
    1). The counts of a name and a day are of all durations; their `bucket` is the sum of the
    buckets."""

    kind: str
    name: str
    period: int
    window: int
    bucket: int
    counts: tuple[int, ...]


_COLUMNS = ", ".join(COUNTS)
_ADD = (
    f"INSERT INTO request_stats ({', '.join(Place._fields)}, {_COLUMNS}) VALUES {{rows}}"
    " ON CONFLICT (tenant, kind, period, name, bucket) DO UPDATE SET "
    + ", ".join(f"{name} = request_stats.{name} + excluded.{name}" for name in COUNTS)
)
_ROW = f"({', '.join('?' * (len(Place._fields) + len(COUNTS)))})"
_TOGETHER = 16
"""Sums in one statement: there are some dozens for each batch of requests."""
_SUMS = ", ".join(f"CAST(sum({name}) AS BIGINT)" for name in COUNTS)
_WINDOW = "CASE WHEN period >= ? THEN 1 WHEN period >= ? THEN 7 ELSE 30 END"
_WHERE = "FROM request_stats WHERE tenant = ? AND period >= ? AND kind IN"
_READ = (
    f"SELECT kind, name, period / {{step}} * {{step}}, 0, bucket, {_SUMS} {_WHERE} ('all')"
    " GROUP BY kind, name, 3, bucket UNION ALL"
    f" SELECT kind, name, 0, {_WINDOW}, bucket, {_SUMS} {_WHERE} ('all')"
    " GROUP BY kind, name, 4, bucket UNION ALL"
    f" SELECT kind, name, 0, 1, bucket, {_SUMS} {_WHERE} {KINDS[1:]}"
    " GROUP BY kind, name, bucket UNION ALL"
    f" SELECT kind, name, period, 0, CAST(sum(bucket * requests) AS BIGINT), {_SUMS} {_WHERE}"
    f" {KINDS[1:]} GROUP BY kind, name, period"
)


class RequestStats(Work):
    def request_stats(self, tenant: str | None, now: int, days: int = 7) -> Op[list[StatsRow]]:
        """Counts of the last 30 days including today, and by name of the last `days` of them; of a
        tenant, or of all (None). Periods are hours for one day, otherwise days; periods of names
        are always days."""
        today = now - now % DAY
        start, week, month = [today - back * DAY for back in (days - 1, 6, 29)]
        whose = EVERYONE if tenant is None else tenant
        sql = _READ.format(step=HOUR if days == 1 else DAY)
        values = (whose, start, today, week, whose, month, *(whose, start) * 2)
        rows = yield Step(self._sql(sql), values)
        return [StatsRow._make([*row[:5], tuple(row[5:])]) for row in rows]

    def _count_requests(self, alike: Mapping[tuple[Any, ...], Sequence[Any]]) -> Op[None]:
        """Count requests that are about to be written."""
        sums: dict[Place, list[int]] = {}
        for each, counts in alike.items():  # mostly a few, of many requests
            add_counts(sums, Alike._make(each), counts[: len(COUNTS)])
        yield from self._add(sums)

    def _count_costs(self, costs: Sequence[tuple[str, Usage]]) -> Op[None]:
        """Counts the differences of new costs before they are saved."""
        from interlingua.store.requests import LISTED

        new = dict(costs)
        sums: dict[Place, list[int]] = {}
        for stored in (yield from self._of_ids(LISTED.selected(), list(new))):
            row = LISTED.read(stored)
            before, after = _money(row.usage), _money(new[row.id])
            change = [0] * len(COUNTS)
            change[COUNTS.index("unpriced")] = after[0] - before[0]
            change[COUNTS.index("cost")] = after[1] - before[1]
            add_counts(sums, _alike(row), change)
        yield from self._add(sums)

    def _of_ids(self, columns: str, ids: list[str]) -> Op[list[Any]]:
        found: list[Any] = []
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            sql = f"SELECT {columns} FROM requests WHERE id IN ({', '.join('?' * len(some))})"
            found += yield Step(self._sql(sql), some)
        return found

    def _add(self, sums: dict[Place, list[int]]) -> Op[None]:
        if sums:  # in one order, so that two programs never wait for each other
            values = [(*place, *sums[place]) for place in sorted(sums)]
            yield from self._grouped(
                lambda count: self._sql(_ADD.replace("{rows}", ", ".join([_ROW] * count))),
                values,
                _TOGETHER,
            )


class Alike(NamedTuple):
    """What decides where a request counts: its hour, its bucket, its model as it is and as it was
    asked for, and whose it is."""

    hour: int
    bucket: int
    model: str | None
    asked: str | None
    key_id: str | None
    team_id: str | None
    tenant: str | None
    user_id: str | None
    front: str


_names = attrgetter(*Alike._fields[2:])
_usage = attrgetter(
    *("input_tokens", "output_tokens", "cached_input_tokens", "cache_creation_input_tokens"),
    *("cost_usd", "unpriced", "reasoning_tokens"),
)
KNOWN, LACKING, TOTAL_COST = range(len(COUNTS), len(COUNTS) + 3)
"""Behind `COUNTS`: requests with a known usage, those of them with an unknown part of their cost,
and the exact sum of what is known of it."""
_NO_SUMS = (*[0] * TOTAL_COST, Decimal(0))
_ADDING = Context(prec=80)


def _alike(row: RequestRow) -> Alike:
    at = micros(row.at)
    return Alike(at - at % HOUR, bisect_right(BOUNDS, row.duration_ms), *_names(row))


def added_up(
    rows: Iterable[RequestRow], times: Iterable[int], more: Iterable[str | None]
) -> dict[tuple[Any, ...], list[Any]]:
    """The sums of requests by what they have in common (`Alike`); `times` and `more` are stored
    columns of theirs: when they came, and what few requests have of a usage."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row, at, rest in zip(rows, times, more, strict=True):
        alike = (at - at % HOUR, bisect_right(BOUNDS, row.duration_ms), *_names(row))
        sums = found.get(alike)
        if sums is None:
            sums = found[alike] = [*_NO_SUMS]
        sums[0] += 1
        if row.error is not None:
            sums[1] += 1
        if row.attempts > 1:
            sums[2] += 1
        if row.losses > 0:
            sums[3] += 1
            sums[4] += row.losses
        if row.usage is not None:
            _add_usage(sums, row.usage, rest is not None)
    return found


def _add_usage(sums: list[Any], usage: Usage, has_more: bool) -> None:
    fresh, output, cached, written, cost, unpriced, reasoning = _usage(usage)
    if cost is not None:
        sums[KNOWN] += 1
        sums[10] += int((cost * NANO).to_integral_value())
        sums[TOTAL_COST] = _ADDING.add(sums[TOTAL_COST], cost)
        if unpriced is not None:
            sums[5] += bool(unpriced)
            sums[LACKING] += 1
    else:
        sums[5] += 1
        if has_more or (fresh, output, cached, written, reasoning) != (None,) * 5:
            sums[KNOWN] += 1
            sums[LACKING] += 1
    sums[6] += fresh or 0
    sums[7] += cached or 0
    sums[8] += written or 0
    sums[9] += output or 0


def add_counts(sums: dict[Place, list[int]], alike: Alike, counts: Sequence[int]) -> None:
    """Add counts of requests under everything that they count under."""
    for place in _places(alike):
        there = sums.get(place)
        sums[place] = list(counts) if there is None else [*map(int.__add__, there, counts)]


def _places(alike: Alike) -> Iterator[Place]:
    hour, bucket, model, asked, key_id, team_id, tenant, *_ = alike
    names = {
        TOTAL: "",
        "model": model,
        "route": asked if model is not None else None,
        "key": key_id,
        "team": team_id,
    }
    for kind, name in names.items():
        if name is not None:
            period = hour if kind == TOTAL else hour - hour % DAY
            yield Place(EVERYONE, kind, period, name, bucket)
            if tenant is not None:
                yield Place(tenant, kind, period, name, bucket)


def _money(usage: Usage | None) -> tuple[int, int]:
    """Whether the price is unknown, in whole or in part, and the cost."""
    if usage is None:
        return 0, 0
    if usage.cost_usd is None:
        return 1, 0
    return int(bool(usage.unpriced)), int((usage.cost_usd * NANO).to_integral_value())


def percentile(buckets: dict[int, int], share: float) -> int | None:
    """The duration, in milliseconds, that a share of the requests took at most: exact to the width
    of a bucket, half an octave, within which it is interpolated."""
    whole = sum(buckets.values())
    if not whole:
        return None
    left = share * whole
    for bucket in sorted(buckets):
        if buckets[bucket] >= left:
            low = BOUNDS[bucket - 1] if bucket else 0
            high = BOUNDS[bucket] if bucket < len(BOUNDS) else 2 * low
            return round(low + (high - low) * left / buckets[bucket])
        left -= buckets[bucket]
    return None


def typical(buckets: int, requests: int) -> int | None:
    """The geometric mean of durations, in milliseconds, from the sum of their buckets."""
    return round(2 ** ((buckets / requests + 1.5) / 2)) if requests else None


def dollars(cost: int) -> Decimal:
    return Decimal(cost) / NANO
