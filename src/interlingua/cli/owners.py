"""What the commands for keys, users and teams share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import click

from interlingua.cli.stores import NAMED
from interlingua.cli.terminal import dollars
from interlingua.store.errors import NotFoundError, StoreError

if TYPE_CHECKING:
    from interlingua.bus.payloads.base import Payload
    from interlingua.store.base import Store

    _Type = click.ParamType[Any]
else:  # generic for type checkers only in the oldest versions that we take
    _Type = click.ParamType

T = TypeVar("T")
NONE = "none"
_SPAN = re.compile(r"(\d{1,5})([mhdw])")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


class _Amount(_Type):
    name = "dollars"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == NONE or isinstance(value, Decimal):
            return value
        try:
            return Decimal(str(value).removeprefix("$"))
        except InvalidOperation:
            self.fail(f"expected an amount like 12.50, or `none`, found {value!r}", param, context)


class _Count(_Type):
    name = "number"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == NONE or isinstance(value, int):
            return value
        if not str(value).isdecimal() or not 0 < int(value) < 2**53:
            text = f"expected a number of at least 1, or `none`, found {value!r}"
            self.fail(text, param, context)
        return int(value)


class _Span(_Type):
    name = "span"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == NONE or isinstance(value, timedelta):
            return value
        found = _SPAN.fullmatch(str(value))
        if found is None:
            self.fail(f"expected 30m, 12h, 90d, 4w, or `none`, found {value!r}", param, context)
        return int(found[1]) * _UNITS[found[2]]


AMOUNT, COUNT, SPAN = _Amount(), _Count(), _Span()


def amount(spent: Decimal, cap: Decimal | None) -> str:
    """What was spent, and of how much."""
    if cap is None:
        return dollars(spent) if spent else ""
    return f"{dollars(spent)} of {dollars(cap)}"


def pages(read: Callable[[str], list[Any]]) -> Iterator[Any]:
    """All rows that a store lists by id."""
    after = ""
    while page := read(after):
        yield from page
        after = page[-1].id


def find_owner(store: Store, what: str, text: str) -> Any:
    """A key, a user or a team by its id, the beginning of it, its name or its e-mail address."""
    lists: dict[str, Callable[[str], list[Any]]] = {
        "key": store.keys,
        "user": store.users,
        "team": store.teams,
    }
    fitting = []
    for row in pages(lists[what]):
        if row.id == text:
            return row
        names: tuple[str | None, ...] = (row.name, getattr(row, "email", None))
        if row.status == "revoked":
            names = ()  # another one has the name by now
        if text in names or (text and row.id.lower().startswith(text.lower())):
            fitting.append(row)
    if not fitting:
        raise NotFoundError(store.where, what, text)
    if len(fitting) > 1:
        ids = ", ".join(row.id for row in fitting[:NAMED])
        problem = f"{text[:80]!r} may be several {what}s: {ids}"
        raise StoreError(store.where, problem, "conflict")
    return fitting[0]


def spent_by(store: Store, owners: Sequence[str]) -> dict[str, tuple[Decimal, Decimal]]:
    """What each owner has spent or set aside today and this month, in dollars."""
    from interlingua.gateway.shared.principal import usd

    today = datetime.now(UTC).date().isoformat()
    found: dict[str, tuple[Decimal, Decimal]] = {}
    for row in store.spent(owners, today):
        day, month = found.get(row.owner_id, (Decimal(0), Decimal(0)))
        total = usd(row.spent + row.reserved)
        found[row.owner_id] = (total, month) if row.period == today else (day, total)
    return found


def noted(store: Store, name: str, payload: Payload) -> None:
    """Have it in the trace."""
    from interlingua.bus.bus import Bus
    from interlingua.sessions.trace import StoreSink

    with Bus(StoreSink(store)) as bus:
        bus.emit(name, payload)
