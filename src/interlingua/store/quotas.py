"""Caps: what may be spent, what is set aside, and what was spent.

Before a request goes out its worst case is set aside (`Reserve`); when it is over, what it did cost
takes that place (`Settle`). Many of either are one operation, and so one transaction: no two
programs ever look at the same state and both go ahead. Each request has one row in `ledger`, and
its state there decides whether it still counts, so that settling twice does nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from interlingua.store import gateway_statements
from interlingua.store.cap_rules import (
    MOST,
    Alert,
    Books,
    Money,
    Over,
    Rate,
    Reserve,
    Settle,
    SpendRow,
    held_ids,
    spend_ids,
)
from interlingua.store.effects import Op, Step, Work, now

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Sequence[Any]]).decode
_KEEP_ENTRIES = 100 * 86_400_000_000
_KEEP_HOLDERS = 86_400_000_000


class Quotas(Work):
    @property
    def _gateway(self) -> gateway_statements.GatewayStatements:
        return gateway_statements.SQLITE if self.sql.is_sqlite else gateway_statements.POSTGRES

    def _list(self, texts: Iterable[str]) -> str | list[str]:
        ordered = sorted(set(texts))
        return _encode(ordered).decode() if self.sql.is_sqlite else ordered

    def _rows(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> Step:
        """One statement for several rows: SQLite's library would take Python's lock again for each
        of them, in turns with those who have work to do."""
        if self.sql.is_sqlite:
            return Step(statement, (_encode(rows).decode(),))
        return Step(statement, [list(column) for column in zip(*rows, strict=True)])

    def _found(self, statement: str, ids: Iterable[str]) -> Op[list[Sequence[Any]]]:
        """The rows of these ids; from SQLite in one piece, for the same reason."""
        rows = yield Step(statement, (self._list(ids),))
        return _decode(rows[0][0]) if self.sql.is_sqlite else rows

    def settle_and_reserve(
        self, holder: str, reserves: Sequence[Reserve] = (), settles: Sequence[Settle] = ()
    ) -> Op[tuple[list[Over | None], list[list[Alert]]]]:
        """Settles and reserves in one transaction; repeating the same call changes nothing.

        Returns the limit that each request would exceed (None: it may go out) and the alerts of
        each settlement. Does not wait for the disk: no holder survives a power cut anyway."""
        sql = self._gateway
        if not self.sql.is_sqlite:
            yield Step(sql.hurry)
        # What is over makes room first. A request that has its row already is let in: the answer
        # to its first attempt was lost.
        ids = [reserve.id for reserve in reserves] + [settle.id for settle in settles]
        entries = {row[0]: row for row in (yield from self._found(sql.entries, ids))}
        books = yield from self._books(entries.values(), reserves)
        alerts, ended = _settled(books, entries, settles)
        overs: list[Over | None] = []
        begun: dict[str, tuple[Any, ...]] = {}
        for reserve in reserves:
            id = reserve.id
            if id in entries or id in begun:
                overs.append(None)
                continue
            over = books.admit(reserve)
            overs.append(over)
            if over is None:
                begun[id] = _entry_values(holder, reserve)
        yield from self._write_books(books)
        if ended:
            yield self._rows(sql.settle_entries, ended)
        if begun:
            yield self._rows(sql.add_entries, [*begun.values()])
        return overs, alerts

    def _books(self, entries: Collection[Sequence[Any]], reserves: Sequence[Reserve]) -> Op[Books]:
        """The rows that count, locked, in an order that is the same for everybody."""
        sql, books = self._gateway, Books()
        limits = {(id(reserve.limits), reserve.day): reserve.limits for reserve in reserves}
        ids = {each for (_, day), them in limits.items() for each in spend_ids(them, day)}
        rated = {reserve.account_id for reserve in reserves if reserve.has_rates}
        for owners, day in {(entry[2], entry[3]) for entry in entries}:
            ids.update(held_ids(owners, day))
        rated.update([entry[1] for entry in entries if entry[4] and entry[5] == "open"])
        if ids:
            rows = yield from self._found(sql.spend, ids)
            missing = sorted(ids - {row[0] for row in rows})
            if missing:
                values = [(id, *id.rsplit("/", 1)) for id in missing]
                yield Step(sql.add_spend, values, many=True)
                rows = yield from self._found(sql.spend, ids)
            books.money = {id: Money(*rest) for id, *rest in rows}
        if rated:
            yield from self._rates(books, rated)
        return books

    def _rates(self, books: Books, rated: set[str]) -> Op[None]:
        sql = self._gateway
        rows = yield Step(sql.rates, (self._list(rated),))
        missing = sorted(rated - {row[0] for row in rows})
        if missing:
            yield Step(sql.add_rate, [(id,) for id in missing], many=True)
            rows = yield Step(sql.rates, (self._list(rated),))
        books.rates = {id: Rate(*rest) for id, *rest in rows}
        for account, count in (yield Step(sql.open_entries, (self._list(rated),))):
            books.rates[account].open = count

    def _write_books(self, books: Books) -> Op[None]:
        money = [
            (each.spent, each.reserved, each.alerted, id)
            for id, each in books.money.items()
            if each.changed
        ]
        if money:
            yield self._rows(self._gateway.set_spend, money)
        rates = [
            (each.minute, each.requests, each.tokens, id)
            for id, each in books.rates.items()
            if each.changed
        ]
        if rates:
            yield Step(self._gateway.set_rate, rates, many=True)

    def renew_quotas(self, holder: str, patience: float) -> Op[int]:
        """Renews this holder, releases what holders silent for `patience` seconds have reserved;
        returns how many requests that were. Times are those of the database."""
        sql = self._gateway
        yield Step(sql.seen, (holder,))
        lost = yield Step(sql.lost_entries, (int(patience * 1_000_000),))
        if lost:
            books = yield from self._books(lost, ())
            for entry in lost:
                books.end(entry, None)
            yield from self._write_books(books)
            values = [("abandoned", 0, entry[7], now(), entry[0]) for entry in lost]
            yield self._rows(sql.settle_entries, values)
        yield Step(sql.forget_holders, (_KEEP_HOLDERS,))
        yield Step(sql.forget_entries, (now() - _KEEP_ENTRIES,))
        return len(lost)

    def ping(self, holder: str) -> Op[None]:
        """Writes a heartbeat row, to find out whether the store accepts writes."""
        yield Step(self._gateway.seen, (holder,))

    def spent(self, owners: Sequence[str], day: str) -> Op[list[SpendRow]]:
        """What each owner has spent and set aside on this day (`2026-11-16`) and in its month."""
        rows = yield Step(self._gateway.spend_of, (self._list(owners), day, day[:7]))
        return [SpendRow(*row) for row in rows]


def _settled(
    books: Books, entries: Mapping[str, Sequence[Any]], settles: Sequence[Settle]
) -> tuple[list[list[Alert]], list[tuple[Any, ...]]]:
    """The alerts of each settlement, and the new values of the rows that it ends."""
    alerts: list[list[Alert]] = []
    ended: dict[str, tuple[Any, ...]] = {}
    at = now()
    for settle in settles:
        id = settle.id
        entry = entries.get(id)
        if entry is None or entry[5] == "settled" or id in ended:
            alerts.append([])
            continue
        alerts.append(books.end(entry, settle))
        ended[id] = ("settled", min(settle.cost, MOST), min(settle.tokens, MOST), at, id)
    return alerts, [*ended.values()]


def _entry_values(holder: str, reserve: Reserve) -> tuple[Any, ...]:
    owners = " ".join([limit.owner_id for limit in reserve.limits])
    return (
        reserve.id,
        holder,
        reserve.account_id,
        owners,
        reserve.day,
        reserve.minute,
        reserve.amount,
        reserve.tokens,
        reserve.at,
    )
