"""Caps: limits, reservations and spending.

Before a request goes out its worst case is set aside (`Reserve`); when it is over, what it did cost
takes that place (`Settle`). Many of either are one operation, and so one transaction: no two
programs ever look at the same state and both go ahead. Each request has one row in `ledger`, and
its state there decides whether it still counts, so that settling twice does nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import msgspec

from interlingua.store.cap_rules import (
    MOST,
    Alert,
    Books,
    Counted,
    Granted,
    Money,
    Over,
    Rate,
    Reserve,
    Settle,
    SpendRow,
    day_of,
    held_ids,
    periods,
    spend_ids,
)
from interlingua.store.statements import Op, Step, Work, filled, now

_SQLITE = {
    "lock": "",
    "rows": "json_group_array(json_array(",
    "end": "))",
    "skip": "",
    "hurry": "SELECT 1",
    "colon": "instr",
    "add_entries": (
        "INSERT INTO ledger (id, holder, account_id, owners, day, minute, status, reserved, cost,"
        " tokens, created_at) SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3,"
        " value ->> 4, value ->> 5, 'open', value ->> 6, 0, value ->> 7, value ->> 8"
        " FROM json_each(?)"
    ),
    "settle_entries": (
        "UPDATE ledger SET status = value ->> 0, cost = value ->> 1, tokens = value ->> 2,"
        " settled_at = value ->> 3 FROM json_each(?) WHERE ledger.id = value ->> 4"
    ),
    "set_spend": (
        "UPDATE spend SET spent = value ->> 0, reserved = value ->> 1, alerted = value ->> 2,"
        " unpriced = value ->> 3 FROM json_each(?) WHERE spend.id = value ->> 4"
    ),
}
_POSTGRES = {
    "lock": " ORDER BY id FOR UPDATE",
    "rows": "",
    "end": "",
    "skip": " FOR UPDATE OF l SKIP LOCKED",
    "hurry": "SET LOCAL synchronous_commit TO off",
    "colon": "strpos",
    "add_entries": (
        "INSERT INTO ledger (id, holder, account_id, owners, day, minute, status, reserved, cost,"
        " tokens, created_at) SELECT id, holder, account_id, owners, day, minute, 'open', reserved,"
        " 0, tokens, at FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[],"
        " ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])"
        " AS n (id, holder, account_id, owners, day, minute, reserved, tokens, at)"
    ),
    "settle_entries": (
        "UPDATE ledger SET status = n.status, cost = n.cost, tokens = n.tokens, settled_at = n.at"
        " FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[])"
        " AS n (status, cost, tokens, at, id) WHERE ledger.id = n.id"
    ),
    "set_spend": (
        "UPDATE spend SET spent = n.spent, reserved = n.reserved, alerted = n.alerted,"
        " unpriced = n.unpriced FROM unnest(?::bigint[], ?::bigint[], ?::integer[], ?::bigint[],"
        " ?::text[]) AS n (spent, reserved, alerted, unpriced, id) WHERE spend.id = n.id"
    ),
}


class GatewayStatements(NamedTuple):
    """The statements of one engine. Statements of every request handle many rows at a time: in
    SQLite as one JSON text (`rows`), in PostgreSQL as a list per column. Locking statements go by
    id, so two programs cannot deadlock."""

    hurry: str = "{hurry}"
    """Makes commits not wait for the disk; for SQLite this is set elsewhere."""
    entries: str = (
        "SELECT {rows}id, account_id, owners, day, minute, status, reserved, tokens{end}"
        " FROM ledger WHERE id {any}{lock}"
    )
    add_entries: str = "{add_entries}"
    settle_entries: str = "{settle_entries}"
    open_entries: str = (
        "SELECT account_id, count(*) FROM ledger WHERE status = 'open' AND account_id {any}"
        " GROUP BY account_id"
    )
    lost_entries: str = (
        "SELECT l.id, l.account_id, l.owners, l.day, l.minute, l.status, l.reserved, l.tokens"
        " FROM ledger l WHERE l.status = 'open' AND NOT EXISTS (SELECT 1 FROM holders h"
        " WHERE h.id = l.holder AND h.seen_at > {clock} - ?) ORDER BY l.id LIMIT 1000{skip}"
    )
    forget_entries: str = "DELETE FROM ledger WHERE created_at < ? AND status <> 'open'"
    spend: str = (
        "SELECT {rows}id, spent, reserved, alerted, unpriced{end} FROM spend WHERE id {any}{lock}"
    )
    add_spend: str = (
        "INSERT INTO spend (id, owner_id, period, spent, reserved, alerted)"
        " VALUES (?, ?, ?, 0, 0, 0) ON CONFLICT (id) DO NOTHING"
    )
    set_spend: str = "{set_spend}"
    spend_of: str = (
        "SELECT owner, period, spent, reserved, unpriced, owner <> owner_id FROM (SELECT"
        " substr(owner_id, 1, {colon}(owner_id || ':', ':') - 1) AS owner, spend.* FROM spend"
        " WHERE period {any}) AS spent WHERE owner {any}"
    )
    rates: str = "SELECT id, minute, requests, tokens FROM rates WHERE id {any}{lock}"
    add_rate: str = (
        "INSERT INTO rates (id, minute, requests, tokens) VALUES (?, 0, 0, 0)"
        " ON CONFLICT (id) DO NOTHING"
    )
    set_rate: str = "UPDATE rates SET minute = ?, requests = ?, tokens = ? WHERE id = ?"
    seen: str = (
        "INSERT INTO holders (id, seen_at) VALUES (?, {clock})"
        " ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"
    )
    forget_holders: str = (
        "DELETE FROM holders WHERE seen_at < {clock} - ? AND NOT EXISTS"
        " (SELECT 1 FROM ledger l WHERE l.holder = holders.id AND l.status = 'open')"
    )

    remember: str = (
        "INSERT INTO remembered (id, tenant, issuer, model, call_key, turn_key, turn_json, size,"
        " expires_at) VALUES (?, ?, ?, ?, ?, ?, {json}, ?, ?)"
    )
    remembered: str = (
        "SELECT call_key, turn_key, {bytes[turn_json]} FROM remembered WHERE tenant = ?"
        " AND issuer = ? AND model = ? AND expires_at > ?"
        " AND (call_key {any} OR turn_key {any}) ORDER BY id"
    )
    forget_expired: str = "DELETE FROM remembered WHERE expires_at <= ?"
    forget_most: str = (
        "DELETE FROM remembered WHERE id IN (SELECT id FROM (SELECT id,"
        " sum(size) OVER (ORDER BY id DESC) AS total FROM remembered WHERE tenant = ?) AS sized"
        " WHERE total > ?)"
    )
    forget_oldest: str = (
        "DELETE FROM remembered WHERE id IN (SELECT id FROM (SELECT id,"
        " sum(size) OVER (ORDER BY id DESC) AS total FROM remembered) AS sized WHERE total > ?)"
    )
    forget_tenant: str = "DELETE FROM remembered WHERE tenant = ?"

    claim_repeat: str = (
        "INSERT INTO repeats (id, tenant, print, holder, status, size, made_at, expires_at)"
        " VALUES (?, ?, ?, ?, 'open', 0, {clock}, {clock} + ?) ON CONFLICT (id) DO UPDATE SET"
        " tenant = excluded.tenant, print = excluded.print, holder = excluded.holder,"
        " status = 'open', answer_json = NULL, size = 0, made_at = excluded.made_at,"
        " expires_at = excluded.expires_at WHERE repeats.expires_at <= {clock}"
    )
    repeat: str = "SELECT print, holder, status, {bytes[answer_json]} FROM repeats WHERE id = ?"
    renew_repeats: str = (
        "UPDATE repeats SET expires_at = {clock} + ? WHERE id {any} AND holder {any}"
        " AND status = 'open'"
    )
    finish_repeat: str = (
        "UPDATE repeats SET status = 'done', answer_json = {json}, size = ?,"
        " expires_at = {clock} + ? WHERE id = ? AND holder = ? AND status = 'open'"
    )
    release_repeat: str = "DELETE FROM repeats WHERE id = ? AND holder = ? AND status = 'open'"
    expired_repeats: str = "DELETE FROM repeats WHERE expires_at <= {clock}"
    old_repeats: str = (
        "DELETE FROM repeats WHERE id IN (SELECT id FROM repeats WHERE expires_at <= {clock}"
        " LIMIT ?) RETURNING id"
    )
    oldest_repeats: str = (
        "DELETE FROM repeats WHERE id IN (SELECT id FROM (SELECT id,"
        " row_number() OVER (ORDER BY made_at DESC, id) AS place FROM repeats"
        " WHERE tenant = ? AND status = 'done') AS placed WHERE place > ?)"
    )
    largest_repeats: str = (
        "UPDATE repeats SET answer_json = NULL, size = 0 WHERE id IN (SELECT id FROM (SELECT id,"
        " sum(size) OVER (ORDER BY made_at DESC, id) AS total FROM repeats WHERE tenant = ?"
        " AND size > 0) AS sized WHERE total > ?)"
    )
    put_object: str = (
        "INSERT INTO objects (tenant, kind, parent, id, seq, body_json, size, created_at,"
        " expires_at) VALUES (?, ?, ?, ?, ?, {json}, ?, ?, ?)"
        " ON CONFLICT (tenant, kind, parent, id) DO UPDATE SET seq = excluded.seq,"
        " body_json = excluded.body_json, size = excluded.size, expires_at = excluded.expires_at"
    )
    object: str = (
        "SELECT id, seq, {bytes[body_json]} FROM objects WHERE tenant = ? AND kind = ?"
        " AND parent = ? AND id = ? AND expires_at > ?"
    )
    objects: str = (
        "SELECT id, seq, {bytes[body_json]} FROM objects WHERE tenant = ? AND kind = ?"
        " AND parent = ? AND expires_at > ? AND seq > ? ORDER BY seq LIMIT ?"
    )
    objects_back: str = (
        "SELECT id, seq, {bytes[body_json]} FROM objects WHERE tenant = ? AND kind = ?"
        " AND parent = ? AND expires_at > ? AND seq < ? ORDER BY seq DESC LIMIT ?"
    )
    objects_of_kind: str = (
        "SELECT tenant, parent, id, seq, {bytes[body_json]} FROM objects WHERE kind = ?"
        " AND expires_at > ? ORDER BY created_at LIMIT ?"
    )
    remove_object: str = (
        "DELETE FROM objects WHERE tenant = ? AND kind = ? AND parent = ? AND id = ? RETURNING id"
    )
    remove_objects: str = "DELETE FROM objects WHERE tenant = ? AND kind = ? AND parent = ?"
    forget_expired_objects: str = "DELETE FROM objects WHERE expires_at <= ?"
    forget_oldest_objects: str = (
        "DELETE FROM objects WHERE (tenant, kind, parent, id) IN (SELECT tenant, kind, parent, id"
        " FROM (SELECT tenant, kind, parent, id, sum(size) OVER"
        " (ORDER BY created_at DESC, seq DESC, id) AS total FROM objects) AS sized WHERE total > ?)"
    )
    add_secret: str = (
        "INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
    )
    secret: str = "SELECT value FROM secrets WHERE name = ?"


SQLITE = filled(GatewayStatements, _SQLITE, is_sqlite=True)
POSTGRES = filled(GatewayStatements, _POSTGRES, is_sqlite=False)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Sequence[Any]]).decode
_KEEP_ENTRIES = 100 * 86_400_000_000
_KEEP_HOLDERS = 86_400_000_000


class Quotas(Work):
    @property
    def _gateway(self) -> GatewayStatements:
        return SQLITE if self.sql.is_sqlite else POSTGRES

    def _list(self, texts: Iterable[str]) -> str | list[str]:
        ordered = sorted(set(texts))
        return _encode(ordered).decode() if self.sql.is_sqlite else ordered

    def _rows(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> Step:
        """Runs one statement for several rows: SQLite's library would otherwise take the GIL for
        each of them."""
        if self.sql.is_sqlite:
            return Step(statement, (_encode(rows).decode(),))
        return Step(statement, [list(column) for column in zip(*rows, strict=True)])

    def _found(self, statement: str, ids: Iterable[str]) -> Op[list[Sequence[Any]]]:
        """The rows of these ids; from SQLite in one piece, for the same reason."""
        rows = yield Step(statement, (self._list(ids),))
        return _decode(rows[0][0]) if self.sql.is_sqlite else rows

    def settle_and_reserve(
        self, holder: str, reserves: Sequence[Reserve] = (), settles: Sequence[Settle] = ()
    ) -> Op[tuple[list[Over | Counted | Granted | None], list[list[Alert]]]]:
        """Settles and reserves in one transaction; repeating the same call changes nothing.

        Returns the limit that each request would exceed (else it may go out), or what a block has
        now, and the alerts of each settlement. Does not wait for the disk: no holder survives a
        power cut anyway."""
        sql = self._gateway
        if not self.sql.is_sqlite:
            yield Step(sql.hurry)
        # Finished requests make room first. A request that has its row already is let in: the
        # answer to its first attempt was lost.
        ids = [reserve.id for reserve in reserves] + [settle.id for settle in settles]
        entries = {row[0]: row for row in (yield from self._found(sql.entries, ids))}
        books = yield from self._books(entries.values(), reserves)
        alerts, ended = _settled(books, entries, settles)
        overs: list[Over | Counted | Granted | None] = []
        begun: dict[str, tuple[Any, ...]] = {}
        for reserve in reserves:
            id = reserve.id
            if id in entries or id in begun:
                is_known = reserve.block is not None and id in entries
                overs.append(Granted(entries[id][6]) if is_known else None)
                continue
            over = books.admit(reserve)
            overs.append(over)
            if isinstance(over, Granted):
                granted = msgspec.structs.replace(reserve, amount=over.amount)
                begun[id] = _entry_values(holder, granted)
            elif not isinstance(over, Over):
                begun[id] = _entry_values(holder, reserve)
        yield from self._write_books(books)
        if ended:
            yield self._rows(sql.settle_entries, ended)
        if begun:
            yield self._rows(sql.add_entries, [*begun.values()])
        return overs, alerts

    def _books(self, entries: Collection[Sequence[Any]], reserves: Sequence[Reserve]) -> Op[Books]:
        """The rows that count, locked, always in the same order."""
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
            (each.spent, each.reserved, each.alerted, each.unpriced, id)
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
        """Renews this holder, and releases the reservations of holders silent for `patience`
        seconds; returns the number of these requests. Times are those of the database."""
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
        """The spent and reserved money of each owner on this day (`2026-11-16`), in its week and in
        its month; for a budget of each value, the sum of all values."""
        of = self._list(periods(day_of(date.fromisoformat(day))))
        found: dict[tuple[str, str], SpendRow] = {}
        rows = yield Step(self._gateway.spend_of, (of, self._list(owners)))
        for owner, period, *amounts in rows:
            row = found.get((owner, period)) or SpendRow(owner, period, 0, 0)
            found[owner, period] = row.plus(*amounts)
        return [*found.values()]


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
