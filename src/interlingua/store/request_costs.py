"""Costs of requests, by day and by model, user, team or key: added up as they are written, priced
again and deleted, so that reading it takes the same time after a million of them.

The sums are exact: dollars and the first and second twelve places behind the point are columns of
their own. Requests of turns are not among them; their costs are with the messages of sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Context, Decimal
from typing import Any, NamedTuple

import msgspec

from interlingua.model.message import from_micros, micros
from interlingua.model.metadata import Usage, reported_cost
from interlingua.store.migrations import COSTS, USED
from interlingua.store.request_stats import AT_ONCE, DAY, KNOWN, LACKING, TOTAL_COST
from interlingua.store.statements import Op, Step, Work

BILLED, REPORTED = "billed", "reported"
"""For models whose provider reports costs: our cost of these requests, and theirs."""
COST_KINDS = ("model", "day", "user", "team", "key", BILLED, REPORTED)
SESSIONS = "sessions"
"""The front of requests that turns of sessions and tasks made: their costs are with the messages
of the session."""
_SUMS = ("requests", "unpriced", "prompt_tokens", "output_tokens", "dollars", "trillionths", "rest")
NOTHING = Decimal(0)
_LATEST = 2**62 // DAY * DAY
_CHANGE = (
    "INSERT INTO request_costs {costs} ON CONFLICT (kind, day, name) DO UPDATE SET "
    + ", ".join([f"{name} = request_costs.{name} {{sign}} excluded.{name}" for name in _SUMS])
)
_ADD = _CHANGE.format(costs=f"VALUES ({', '.join('?' * (3 + len(_SUMS)))})", sign="+")
_PLACES = 24
"""Digits behind the point, which two columns hold."""
_EMPTY = f"DELETE FROM request_costs WHERE kind IN {COST_KINDS} AND day <= ? AND requests = 0"
_READ = (
    "SELECT kind, CASE WHEN kind = 'day' THEN day ELSE 0 END, name, "
    + ", ".join([f"CAST(sum({name}) AS BIGINT)" for name in _SUMS])
    + " FROM request_costs WHERE kind IN ({kinds}) AND day >= ? AND day < ? GROUP BY 1, 2, 3"
)
_ADDING = Context(prec=80)


class CostRow(NamedTuple):
    """The usage of a group of requests; `cost_usd` is the known part of its cost, and `unpriced`
    counts requests with an unknown part. `name` is None for requests without one, and a date for
    the kind `day`."""

    kind: str
    name: str | None
    requests: int
    unpriced: int
    prompt_tokens: int
    output_tokens: int
    cost_usd: Decimal


class RequestCosts(Work):
    def request_costs(
        self,
        kinds: Sequence[str] = ("model",),
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Op[list[CostRow]]:
        """The costs of requests, by each of these kinds. Whole days come from the sums; parts of
        days are read from the log."""
        start = 0 if since is None else micros(since)
        end = _LATEST if until is None else micros(until)
        first, last = -(-start // DAY) * DAY, end // DAY * DAY
        costs = _Costs()
        if first < last:
            sql = _READ.format(kinds=", ".join("?" * len(kinds)))
            for row in (yield Step(self._marks(sql), (*kinds, first, last))):
                costs.add_day(*row)
        for part in [(start, first), (last, end)] if first <= last else [(start, end)]:
            if part[0] < part[1]:
                sql = USED[self._engine].replace("{which}", "at >= ? AND at < ?")
                costs.add_part((yield Step(self._marks(sql), part)), kinds)
        return costs.rows()

    @property
    def _engine(self) -> str:
        return "sqlite" if self.sql.is_sqlite else "postgres"

    def _marks(self, sql: str) -> str:
        return sql if self.sql.is_sqlite else sql.replace("?", "%s")

    def _change_costs(self, sign: str, which: str, values: Sequence[object]) -> Op[None]:
        """Add the costs of these requests (`+`), or take them away (`-`)."""
        sql = _CHANGE.format(costs=COSTS[self._engine], sign=sign).replace("{which}", which)
        yield Step(self._marks(sql), values)

    def _add_costs(
        self, alike: Mapping[tuple[Any, ...], Sequence[Any]], more: Iterable[str | None], first: int
    ) -> Op[None]:
        """Add the costs of new requests, numbered from `first` on: their sums, and what few of them
        have of a usage."""
        sums = _summed(alike)
        if sums is None or any(rest is not None and "cost" in rest for rest in more):
            # The database finds it as it will when these are taken away.
            yield from self._change_costs("+", "seq >= ?", (first,))
        elif sums:  # in one order, so that two programs never wait for each other
            values = [(*place, *sums[place]) for place in sorted(sums)]
            yield Step(self._marks(_ADD), values, many=True)

    def _costs_of_ids(self, sign: str, ids: Sequence[str]) -> Op[None]:
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            yield from self._change_costs(sign, f"id IN ({', '.join('?' * len(some))})", some)

    def _drop_empty_costs(self, before: int) -> Op[None]:
        yield Step(self._marks(_EMPTY), (before,))


class _Costs:
    """Sums by kind, day (0 for all but the kind `day`) and name."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Any, ...], list[Any]] = {}

    def add_day(self, kind: str, day: int, name: str, *sums: int) -> None:
        requests, unpriced, prompt, output, dollars, trillionths, rest = sums
        units, places = divmod((dollars * 10**12 + trillionths) * 10**12 + rest, 10**24)
        cost = Decimal(f"{units}.{places:024}")
        self._add((kind, day, name), requests, unpriced, prompt, output, cost)

    def add_part(self, rows: Sequence[Sequence[Any]], kinds: Sequence[str]) -> None:
        """Adds single requests, after grouping those with the same names."""
        groups, bills = _Costs(), [kind for kind in (BILLED, REPORTED) if kind in kinds]
        for *names, prompt, output, ours, partly, more in rows:
            cost = NOTHING if ours is None else Decimal(ours)
            groups._add(tuple(names), 1, (ours is None) + partly, prompt, output, cost)
            theirs = _reported(more) if bills and ours is not None and more is not None else None
            if theirs is not None:
                for kind in bills:
                    own = cost if kind == BILLED else theirs
                    self._add((kind, 0, names[1] or ""), 1, 0, prompt, output, own)
        for (day, model, user, team, key), sums in groups._sums.items():
            named = {"model": model, "user": user, "team": team, "key": key, "day": None}
            for kind in named.keys() & set(kinds):
                self._add((kind, day if kind == "day" else 0, named[kind] or ""), *sums)

    def _add(
        self,
        place: tuple[Any, ...],
        requests: int,
        unpriced: int,
        prompt: int,
        output: int,
        cost: Decimal,
    ) -> None:
        sums = self._sums.get(place)
        if sums is None:
            self._sums[place] = [requests, unpriced, prompt, output, cost]
            return
        sums[0] += requests
        sums[1] += unpriced
        sums[2] += prompt
        sums[3] += output
        sums[4] = _ADDING.add(sums[4], cost)

    def rows(self) -> list[CostRow]:
        return [_row(*place, *sums) for place, sums in self._sums.items()]


def _summed(
    alike: Mapping[tuple[Any, ...], Sequence[Any]],
) -> dict[tuple[str, int, str], list[int]] | None:
    """Sums by kind, day and name; None where a cost has more digits than are stored."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for (hour, _, model, _, key, team, _, user, front), counts in alike.items():
        if front == SESSIONS or not counts[KNOWN]:
            continue
        place = (hour - hour % DAY, model, user, team, key)
        sums = groups.setdefault(place, [0, 0, 0, 0, NOTHING])
        known = (counts[KNOWN], counts[LACKING], sum(counts[6:9]), counts[9])
        sums[:4] = map(int.__add__, sums[:4], known)
        sums[4] = _ADDING.add(sums[4], counts[TOTAL_COST])
    found: dict[tuple[str, int, str], list[int]] = {}
    for (day, model, user, team, key), (*counts, total) in groups.items():
        dollars, _, digits = f"{total:f}".partition(".")
        if len(digits) > _PLACES:
            return None
        digits = digits.ljust(_PLACES, "0")
        sums = [*counts, int(dollars), int(digits[:12]), int(digits[12:])]
        named = {"model": model, "user": user, "team": team, "key": key, "day": None}
        for kind, name in named.items():
            before = found.setdefault((kind, day, name or ""), [0] * len(sums))
            before[:] = map(int.__add__, before, sums)
    return found


def _reported(more: str) -> Decimal | None:
    return reported_cost(Usage(raw=msgspec.json.decode(more).get("raw")))


def _row(
    kind: str,
    day: int,
    name: str,
    requests: int,
    unpriced: int,
    prompt: int,
    output: int,
    cost: Decimal,
) -> CostRow:
    plain = Decimal(f"{cost:f}".rstrip("0").rstrip(".")) if cost else NOTHING
    title = from_micros(day).date().isoformat() if kind == "day" else name or None
    return CostRow(kind, title, requests, int(unpriced), prompt, output, plain)
