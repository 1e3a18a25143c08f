"""The statements of a gateway: for quotas, for what is remembered, and for repeats; `statements.py`
has the others.

Values never become part of a statement: each `?` is filled in by the engine's own library.
"""

from __future__ import annotations

from typing import NamedTuple

from interlingua.store.statements import filled

_SQLITE = {
    "lock": "",
    "rows": "json_group_array(json_array(",
    "end": "))",
    "skip": "",
    "hurry": "SELECT 1",
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
        "UPDATE spend SET spent = value ->> 0, reserved = value ->> 1, alerted = value ->> 2"
        " FROM json_each(?) WHERE spend.id = value ->> 3"
    ),
}
_POSTGRES = {
    "lock": " ORDER BY id FOR UPDATE",
    "rows": "",
    "end": "",
    "skip": " FOR UPDATE OF l SKIP LOCKED",
    "hurry": "SET LOCAL synchronous_commit TO off",
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
        "UPDATE spend SET spent = n.spent, reserved = n.reserved, alerted = n.alerted"
        " FROM unnest(?::bigint[], ?::bigint[], ?::integer[], ?::text[])"
        " AS n (spent, reserved, alerted, id) WHERE spend.id = n.id"
    ),
}


class GatewayStatements(NamedTuple):
    """The statements of one engine. Those of every request are for many rows at a time: SQLite is
    given them as one JSON text and gives its own so (`rows`), PostgreSQL has a list for each
    column. Those that lock do so in the order of ids, so that no two programs wait for each other
    in a circle."""

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
    spend: str = "SELECT {rows}id, spent, reserved, alerted{end} FROM spend WHERE id {any}{lock}"
    add_spend: str = (
        "INSERT INTO spend (id, owner_id, period, spent, reserved, alerted)"
        " VALUES (?, ?, ?, 0, 0, 0) ON CONFLICT (id) DO NOTHING"
    )
    set_spend: str = "{set_spend}"
    spend_of: str = (
        "SELECT owner_id, period, spent, reserved FROM spend WHERE owner_id {any}"
        " AND period IN (?, ?)"
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


SQLITE = filled(GatewayStatements, _SQLITE, is_sqlite=True)
POSTGRES = filled(GatewayStatements, _POSTGRES, is_sqlite=False)
