"""Caps: what may be spent, what is set aside, and what was spent.

Before a request goes out its worst case is set aside (`Reserve`); when it is over, what it did cost
takes that place (`Settle`). Many of either are one operation, and so one transaction: no two
programs ever look at the same state and both go ahead. Each request has one row in `ledger`, and
its state there decides whether it still counts, so that settling twice does nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
    Spent,
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

    def work_quotas(
        self, holder: str, reserves: Sequence[Reserve], settles: Sequence[Settle]
    ) -> Op[tuple[list[Over | None], list[list[Alert]]]]:
        """What is over makes room first. A request that has its row already is let in: it is one
        whose first answer was lost."""
        sql = self._gateway
        if not self.sql.is_sqlite:
            yield Step(sql.hurry)
        ids = [asked.id for asked in reserves] + [settle.id for settle in settles]
        entries = {row[0]: row for row in (yield from self._found(sql.entries, ids))}
        books = yield from self._books(entries.values(), reserves)
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
        overs: list[Over | None] = []
        begun: dict[str, tuple[Any, ...]] = {}
        for asked in reserves:
            id = asked.id
            if id in entries or id in begun:
                overs.append(None)
                continue
            over = books.admit(asked)
            overs.append(over)
            if over is None:
                begun[id] = _entry_values(holder, asked)
        yield from self._write_books(books)
        if ended:
            yield self._rows(sql.settle_entries, [*ended.values()])
        if begun:
            yield self._rows(sql.add_entries, [*begun.values()])
        return overs, alerts

    def _books(self, entries: Collection[Sequence[Any]], reserves: Sequence[Reserve]) -> Op[Books]:
        """The rows that count, locked, in an order that is the same for everybody."""
        sql, books = self._gateway, Books()
        limits = {(id(asked.limits), asked.day): asked.limits for asked in reserves}
        wanted = {each for (_, day), them in limits.items() for each in spend_ids(them, day)}
        rated = {asked.account_id for asked in reserves if asked.has_rates}
        for owners, day in {(entry[2], entry[3]) for entry in entries}:
            wanted.update(held_ids(owners, day))
        rated.update([entry[1] for entry in entries if entry[4] and entry[5] == "open"])
        if wanted:
            rows = yield from self._found(sql.spend, wanted)
            missing = sorted(wanted - {row[0] for row in rows})
            if missing:
                values = [(id, *id.rsplit("/", 1)) for id in missing]
                yield Step(sql.add_spend, values, many=True)
                rows = yield from self._found(sql.spend, wanted)
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

    def tend_quotas(self, holder: str, patience: int) -> Op[int]:
        """Say that this holder lives, and give back what others hold that have said nothing for
        `patience` microseconds, by the clock of the database; gives how many requests."""
        sql = self._gateway
        yield Step(sql.seen, (holder,))
        lost = yield Step(sql.lost_entries, (patience,))
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

    def touch(self, holder: str) -> Op[None]:
        yield Step(self._gateway.seen, (holder,))

    def spent(self, owners: Sequence[str], day: str) -> Op[list[Spent]]:
        rows = yield Step(self._gateway.spend_of, (self._list(owners), day, day[:7]))
        return [Spent(*row) for row in rows]


def _entry_values(holder: str, asked: Reserve) -> tuple[Any, ...]:
    owners = " ".join([limit.owner_id for limit in asked.limits])
    return (
        asked.id,
        holder,
        asked.account_id,
        owners,
        asked.day,
        asked.minute,
        asked.amount,
        asked.tokens,
        asked.at,
    )
