"""Decisions about caps, without a database: which requests may be sent, and which caps are
exceeded.

Money is in whole picodollars (10 ** -12): exact for prices of up to six places for a million
tokens, and enough for nine million dollars in a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple

import msgspec

Scope = Literal["key", "user", "team", "model", "tag", "end_user"]
Span = Literal["day", "week", "month"]
Window = Literal[Span, "minute", "now"]
ALERTS = (80, 95)
"""Percentages of a cap that raise one alert each."""
MINUTE = 60_000_000
SHARE = 16
"""A block's extra is at most one in so many parts of the rest."""
MOST = 2**63 - 1
"""The largest value of a column; sums stop there, and do not fail."""


class Limit(NamedTuple):
    """The caps of one owner, in picodollars; None for a cap that is not set."""

    scope: Scope
    owner_id: str
    daily: int | None
    monthly: int | None
    weekly: int | None = None


class Reserve(msgspec.Struct, frozen=True):
    """A request for a reservation: its highest cost, and its caps."""

    id: str
    account_id: str
    at: int
    day: str
    """In the form `2026-11-16 2026-W47`, in UTC: the date, whose beginning is the month, and the
    week."""
    limits: tuple[Limit, ...] = ()
    amount: int = 0
    tokens: int = 0
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None
    block: int | None = None
    """The money that a block reserves for future requests, on top of `amount`. The amount itself is
    not checked, because the previous block already had it."""

    @property
    def has_rates(self) -> bool:
        return (
            self.requests_per_minute is not None
            or self.tokens_per_minute is not None
            or self.concurrent is not None
        )

    @property
    def minute(self) -> int:
        """Since 1970; 0 where minutes do not matter."""
        return self.at // MINUTE if self.has_rates else 0


class Settle(NamedTuple):
    """A request that is over."""

    id: str
    cost: int
    tokens: int
    limits: tuple[Limit, ...] = ()
    not_for: tuple[str, ...] = ()
    """Owners for whom it was set aside and does not count: budgets of models that did not
    answer."""
    unpriced: int = 0
    """Requests whose cost is not known, or only in part."""


class Counted(NamedTuple):
    """A request that may be sent, and its account's use of this minute with it."""

    requests: int
    tokens: int


class Granted(NamedTuple):
    """The size of a block, in picodollars."""

    amount: int


class Over(NamedTuple):
    """Why a request is refused. `limit` and `current` are picodollars if the window is a `Span`,
    otherwise requests or tokens per minute (`what`), or concurrent calls."""

    scope: Scope
    owner_id: str
    window: Window
    limit: int
    current: int
    what: Literal["usd", "requests", "tokens", "concurrent"] = "usd"
    reserved: int = 0
    """The part of `current` that requests under way have reserved."""


class Alert(NamedTuple):
    """A part of a cap was passed for the first time in its window."""

    scope: Scope
    owner_id: str
    window: Span
    percent: int
    limit: int
    current: int


class SpendRow(NamedTuple):
    """Amounts spent and reserved by an owner in a day (`2026-11-16`), a week (`2026-W47`) or a
    month (`2026-11`)."""

    owner_id: str
    period: str
    spent: int
    reserved: int
    unpriced: int = 0
    """Requests whose cost is not known, or only in part."""
    highest: int = 0
    """Of a budget for each value: what one of them has spent or reserved at most."""
    values: int = 0
    """The number of these values; 0 for other owners."""

    def plus(self, spent: int, reserved: int, unpriced: int, is_value: bool) -> SpendRow:
        """With these amounts added, those of a value if `is_value`."""
        return self._replace(
            spent=self.spent + spent,
            reserved=self.reserved + reserved,
            unpriced=self.unpriced + unpriced,
            highest=max(self.highest, spent + reserved) if is_value else 0,
            values=self.values + is_value,
        )


class Money:
    """One row of `spend`, while it is worked on."""

    __slots__ = ("alerted", "changed", "reserved", "spent", "unpriced")

    def __init__(self, spent: int, reserved: int, alerted: int, unpriced: int = 0) -> None:
        self.spent, self.reserved, self.alerted = spent, reserved, alerted
        self.unpriced, self.changed = unpriced, False

    def move(self, spent: int, reserved: int, unpriced: int = 0) -> None:
        self.spent += spent
        self.reserved += reserved
        self.unpriced += unpriced
        if self.spent > MOST or self.reserved > MOST:
            self.spent, self.reserved = min(self.spent, MOST), min(self.reserved, MOST)
        self.changed = True


class Rate:
    """One row of `rates`, while it is worked on."""

    __slots__ = ("changed", "minute", "open", "requests", "tokens")

    def __init__(self, minute: int, requests: int, tokens: int) -> None:
        self.minute, self.requests, self.tokens = minute, requests, tokens
        self.open = 0
        self.changed = False

    def turn_to(self, minute: int) -> None:
        """Starts counting for this minute. A row that is one minute ahead comes from a machine with
        a faster clock; one further ahead was written by a wrong clock."""
        if minute > self.minute or minute < self.minute - 1:
            self.minute, self.requests, self.tokens = minute, 0, 0


class Watched(NamedTuple):
    """One cap, and the row that counts for it."""

    limit: Limit
    window: Span
    cap: int
    money: Money


class Books:
    """The rows that one operation works on: their contents are decided here, without a database.

    Most requests of an operation have the same limits, the very same object: what counts for
    them is looked up once. The caller keeps the objects alive, so that their addresses identify
    them."""

    def __init__(self) -> None:
        self.money: dict[str, Money] = {}
        self.rates: dict[str, Rate] = {}
        self._held: dict[tuple[str, str], list[Money]] = {}
        self._watched: dict[tuple[int, str], list[Watched]] = {}
        self._counted: dict[tuple[int, str], list[Money]] = {}

    def end(self, entry: Sequence[Any], settle: Settle | None) -> list[Alert]:
        """Ends an entry with its cost, or with None if the cost will never be known."""
        _, account, owners, day, minute, status, reserved, tokens = entry
        held = reserved if status == "open" else 0
        cost, unpriced = (0, 0) if settle is None else (settle.cost, settle.unpriced)
        for money in self._held_by(owners, day):
            money.move(cost, -held, unpriced)
        if settle is not None and settle.not_for:
            for money in self._held_by(" ".join(settle.not_for), day):
                money.move(-cost, 0, -unpriced)
        rate = self.rates.get(account)
        if rate is not None and status == "open":
            rate.open -= 1
            if settle is not None and rate.minute == minute:
                rate.tokens = min(rate.tokens + settle.tokens - tokens, MOST)
                rate.changed = True
        return [] if settle is None else self._alerts(settle.limits, day)

    def _held_by(self, owners: str, day: str) -> list[Money]:
        held = self._held.get((owners, day))
        if held is None:
            held = self._held[owners, day] = [self.money[id] for id in held_ids(owners, day)]
        return held

    def _caps(self, limits: tuple[Limit, ...], day: str) -> list[Watched]:
        watched = self._watched.get((id(limits), day))
        if watched is None:
            watched = [
                Watched(limit, window, cap, self.money[f"{limit.owner_id}/{period}"])
                for limit in limits
                for window, cap, period in _windows(limit, day)
                if f"{limit.owner_id}/{period}" in self.money
            ]
            self._watched[id(limits), day] = watched
        return watched

    def _alerts(self, limits: tuple[Limit, ...], day: str) -> list[Alert]:
        alerts: list[Alert] = []
        for limit, window, cap, money in self._caps(limits, day):
            if money.spent * 100 < cap * ALERTS[0]:
                continue
            for percent in ALERTS:
                if percent > money.alerted and money.spent * 100 >= cap * percent:
                    alerts.append(
                        Alert(limit.scope, limit.owner_id, window, percent, cap, money.spent)
                    )
                    money.alerted, money.changed = percent, True
        return alerts

    def admit(self, reserve: Reserve) -> Over | Counted | Granted | None:
        """Reserves the amount, or returns the limit that forbids it and changes nothing; `Counted`
        for an account with limits per minute."""
        if reserve.block is not None:
            return self._granted(reserve, reserve.block)
        limits, day, amount = reserve.limits, reserve.day, reserve.amount
        rated = reserve.has_rates
        over = self._over_rate(reserve) if rated else None
        if over is not None:
            return over
        for limit, window, cap, money in self._caps(limits, day):
            current = money.spent + money.reserved
            if current + amount > cap:
                owner = limit.scope, limit.owner_id
                return Over(*owner, window, cap, current, reserved=money.reserved)
        if rated:
            rate = self.rates[reserve.account_id]
            rate.requests += 1
            rate.tokens = min(rate.tokens + reserve.tokens, MOST)
            rate.open += 1
            rate.changed = True
        self._hold(limits, day, amount)
        return Counted(rate.requests, rate.tokens) if rated else None

    def _granted(self, reserve: Reserve, more: int) -> Granted:
        """Reserves the amount, and as much more as is wished and a block may have."""
        for _, _, cap, money in self._caps(reserve.limits, reserve.day):
            left = cap - money.spent - money.reserved - reserve.amount
            more = max(min(more, left // SHARE), 0)
        self._hold(reserve.limits, reserve.day, reserve.amount + more)
        return Granted(reserve.amount + more)

    def _hold(self, limits: tuple[Limit, ...], day: str, amount: int) -> None:
        counted = self._counted.get((id(limits), day))
        if counted is None:
            counted = [self.money[id] for id in spend_ids(limits, day)]
            self._counted[id(limits), day] = counted
        for money in counted:
            money.move(0, amount)

    def _over_rate(self, reserve: Reserve) -> Over | None:
        rate = self.rates[reserve.account_id]
        rate.turn_to(reserve.minute)
        most, of = reserve.concurrent, reserve.account_id
        if most is not None and rate.open >= most:
            return Over("key", of, "now", most, rate.open, "concurrent")
        most = reserve.requests_per_minute
        if most is not None and rate.requests >= most:
            return Over("key", of, "minute", most, rate.requests, "requests")
        most = reserve.tokens_per_minute
        if most is not None and rate.tokens + reserve.tokens > most:
            return Over("key", of, "minute", most, rate.tokens, "tokens")
        return None


def day_of(at: date) -> str:
    """A date as `Reserve.day` has it."""
    year, week, _ = at.isocalendar()
    return f"{at.year:04}-{at.month:02}-{at.day:02} {year:04}-W{week:02}"


def span_of(period: str) -> Span:
    """The span of a period: a day, a week or a month."""
    return "week" if "W" in period else "day" if len(period) > len("2026-11") else "month"


def periods(day: str) -> tuple[str, ...]:
    """The periods that a request counts for. Entries of earlier versions name no week."""
    date, _, week = day.partition(" ")
    return (date, date[:7], week) if week else (date, date[:7])


def _windows(limit: Limit, day: str) -> Iterable[tuple[Span, int, str]]:
    date, _, week = day.partition(" ")
    if limit.daily is not None:
        yield "day", limit.daily, date
    if limit.weekly is not None and week:
        yield "week", limit.weekly, week
    if limit.monthly is not None:
        yield "month", limit.monthly, date[:7]


def spend_ids(limits: Iterable[Limit], day: str) -> list[str]:
    """The rows of `spend` of these owners in all windows, so that a later cap counts earlier
    spending."""
    return [f"{limit.owner_id}/{period}" for limit in limits for period in periods(day)]


def held_ids(owners: str, day: str) -> list[str]:
    """The same for an entry, which names its owners with a space between two."""
    return [f"{owner}/{period}" for owner in owners.split() for period in periods(day)]
