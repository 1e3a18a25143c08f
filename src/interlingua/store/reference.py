"""Keys, users, teams and price tables: reference data outside sessions.

A person's e-mail address is in `users` and nowhere else. A key is found by the hash of its secret;
the secret itself is never here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from interlingua.model.codec import dumps
from interlingua.model.ids import Ulids
from interlingua.model.message import from_micros
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.store.rows import JsonObject, Table
from interlingua.store.statements import Op, Prepared, Step, Work, filled, now

T = TypeVar("T")
OwnerCaps = tuple[Decimal | None, Decimal | None, Decimal | None]
"""Daily, monthly and weekly."""


class KeyRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A gateway key (`gk_…`). Its identity does not change when it is replaced by another:
    `account_id` is then the id of the first of them, under which their spending is counted.

    `owner_disabled` and the caps of the user and the team are read with it, never written."""

    id: str
    secret_hash: str
    name: str
    workspace_path: str
    created_at: datetime
    allowed_models: tuple[str, ...] | None = None
    daily_cap_usd: Decimal | None = None
    monthly_cap_usd: Decimal | None = None
    user_id: str | None = None
    team_id: str | None = None
    status: Literal["active", "revoked"] = "active"
    revoked_at: datetime | None = None
    grace_period_until: datetime | None = None
    owner_disabled: bool = False
    account_id: str | None = None
    expires_at: datetime | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None
    refuse_losses: bool = False
    keep_content: bool = False
    allow_unpriced: bool = False
    allow_unbounded: bool = False
    read_metrics: bool = False
    read_requests: bool = False
    fetch_media: bool | None = None
    caching: str | None = None
    weekly_cap_usd: Decimal | None = None
    default_max_tokens: int | None = None
    """Output tokens of a request that names no limit."""
    max_max_tokens: int | None = None
    """Output tokens of any request, at most."""
    log_content_days: int | None = None
    """Days for which requests and answers are logged with their content; None: not at all."""
    admin: bool = False
    """Whether it may change keys, users, teams and budgets over the network."""
    allowed_tools: tuple[str, ...] | None = None
    """Patterns of the MCP tools that the key may call; None: none."""
    redaction: str | None = None
    """Whether secrets are replaced on the way to providers; None: as in the gateway's settings."""
    user_caps: OwnerCaps = (None, None, None)
    team_caps: OwnerCaps = (None, None, None)


class UserRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person (`usr_…`)."""

    id: str
    created_at: datetime
    email: str | None = None
    name: str | None = None
    status: Literal["active", "disabled"] = "active"
    daily_cap_usd: Decimal | None = None
    monthly_cap_usd: Decimal | None = None
    weekly_cap_usd: Decimal | None = None


class TeamRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A team (`team_…`)."""

    id: str
    name: str
    created_at: datetime
    status: Literal["active", "disabled"] = "active"
    daily_cap_usd: Decimal | None = None
    monthly_cap_usd: Decimal | None = None
    weekly_cap_usd: Decimal | None = None


class BudgetRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A cap (`bud_…`) on the spending for a model, a tag or an end user. A `value` that ends in
    `*` is a cap for each value that begins so. `owner_id` is the key, user or team whose
    requests count; None: those of all keys."""

    id: str
    kind: Literal["model", "tag", "end_user"]
    value: str
    created_at: datetime
    owner_id: str | None = None
    daily_cap_usd: Decimal | None = None
    weekly_cap_usd: Decimal | None = None
    monthly_cap_usd: Decimal | None = None


class AuditRow(msgspec.Struct, frozen=True):
    """A change (`aud_…`) of a key, a user, a team or a budget: its author, and the changed fields
    as pairs of old and new values, without secrets and e-mail addresses."""

    id: str
    at: datetime
    actor: str
    action: str
    target_id: str
    changes: JsonObject


Administered = KeyRow | UserRow | TeamRow | BudgetRow
Kind = Literal["key", "user", "team", "budget"]
_HIDDEN = frozenset({"secret_hash", "email"})
_ULIDS = Ulids()

KEYS = Table("keys", KeyRow, without=("owner_disabled", "user_caps", "team_caps"))
USERS = Table("users", UserRow)
TEAMS = Table("teams", TeamRow)
BUDGETS = Table("budgets", BudgetRow)
AUDIT = Table("audit", AuditRow)

_KEY = (
    f"SELECT {KEYS.selected('k.')},"
    " coalesce(u.status, '') = 'disabled' OR coalesce(t.status, '') = 'disabled',"
    " u.daily_cap_usd, u.monthly_cap_usd, u.weekly_cap_usd,"
    " t.daily_cap_usd, t.monthly_cap_usd, t.weekly_cap_usd"
    " FROM keys k LEFT JOIN users u ON u.id = k.user_id LEFT JOIN teams t ON t.id = k.team_id"
)


class ReferenceStatements(NamedTuple):
    """The statements of one engine."""

    save_key: str = KEYS.upsert()
    key: str = f"{_KEY} WHERE k.id = ?"
    key_by_hash: str = f"{_KEY} WHERE k.secret_hash = ?"
    keys: str = f"{_KEY} WHERE k.id > ? ORDER BY k.id LIMIT ?"
    save_user: str = USERS.upsert()
    user: str = f"SELECT {USERS.selected()} FROM users WHERE id = ?"
    users: str = f"SELECT {USERS.selected()} FROM users WHERE id > ? ORDER BY id LIMIT ?"
    save_team: str = TEAMS.upsert()
    team: str = f"SELECT {TEAMS.selected()} FROM teams WHERE id = ?"
    teams: str = f"SELECT {TEAMS.selected()} FROM teams WHERE id > ? ORDER BY id LIMIT ?"
    save_budget: str = BUDGETS.upsert()
    budgets: str = f"SELECT {BUDGETS.selected()} FROM budgets WHERE id > ? ORDER BY id LIMIT ?"
    remove_budget: str = "DELETE FROM budgets WHERE id = ? RETURNING id"
    budget: str = f"SELECT {BUDGETS.selected()} FROM budgets WHERE id = ?"
    lock: str = "SELECT id FROM {{}}s WHERE id = ?{lock}"
    admin_keys: str = f"{_KEY} WHERE k.admin = 1 ORDER BY k.id DESC LIMIT 1000"
    add_audit: str = AUDIT.insert()
    audit: str = f"SELECT {AUDIT.selected()} FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?"
    add_prices: str = (
        "INSERT INTO prices (version, document_json, created_at) VALUES (?, {json}, ?)"
        " ON CONFLICT (version) DO NOTHING RETURNING version"
    )
    prices: str = "SELECT {bytes[document_json]} FROM prices WHERE version = ?"
    price_versions: str = "SELECT version FROM prices ORDER BY created_at, version"


SQLITE = filled(ReferenceStatements, {"lock": ""}, is_sqlite=True)
POSTGRES = filled(ReferenceStatements, {"lock": " FOR UPDATE"}, is_sqlite=False)


class Reference(Work):
    @property
    def _reference(self) -> ReferenceStatements:
        return SQLITE if self.sql.is_sqlite else POSTGRES

    # Keys

    def save_keys(self, keys: Sequence[KeyRow]) -> Op[None]:
        """Write keys, new ones and changed ones, all or none: a new key and the end of the one it
        replaces go together."""
        for key in keys:
            self._require_amounts(key)
            yield Step(self._reference.save_key, KEYS.values(key))

    def _require_amounts(self, row: KeyRow | UserRow | TeamRow | BudgetRow) -> None:
        for cap in (row.daily_cap_usd, row.weekly_cap_usd, row.monthly_cap_usd):
            if cap is not None and not cap.is_finite():
                raise StoreError(self.where, f"a cap: expected an amount of money, found {cap}")

    def key(self, id: str) -> Op[KeyRow]:
        """One key; NotFoundError if there is none."""
        return (yield from self._one("key", self._reference.key, id, _key_row))

    def key_by_hash(self, secret_hash: str) -> Op[KeyRow | None]:
        """The key with this hash of its secret, also if it is revoked; None if there is none."""
        rows = yield Step(self._reference.key_by_hash, (secret_hash,))
        return _key_row(rows[0]) if rows else None

    def keys(self, after: str = "", limit: int = 1000) -> Op[list[KeyRow]]:
        """Keys by id; `after` is the last id of the page before."""
        rows = yield Step(self._reference.keys, (after, max(limit, 0)))
        return [_key_row(row) for row in rows]

    # Users and teams

    def save_user(self, user: UserRow) -> Op[None]:
        """Write a user, a new one or a changed one."""
        self._require_amounts(user)
        yield Step(self._reference.save_user, USERS.values(user))

    def user(self, id: str) -> Op[UserRow]:
        """One user; NotFoundError if there is none."""
        return (yield from self._one("user", self._reference.user, id, USERS.read))

    def users(self, after: str = "", limit: int = 1000) -> Op[list[UserRow]]:
        """Users by id; `after` is the last id of the page before."""
        rows = yield Step(self._reference.users, (after, max(limit, 0)))
        return [USERS.read(row) for row in rows]

    def save_team(self, team: TeamRow) -> Op[None]:
        """Write a team, a new one or a changed one."""
        self._require_amounts(team)
        yield Step(self._reference.save_team, TEAMS.values(team))

    def team(self, id: str) -> Op[TeamRow]:
        """One team; NotFoundError if there is none."""
        return (yield from self._one("team", self._reference.team, id, TEAMS.read))

    def teams(self, after: str = "", limit: int = 1000) -> Op[list[TeamRow]]:
        """Teams by id; `after` is the last id of the page before."""
        rows = yield Step(self._reference.teams, (after, max(limit, 0)))
        return [TEAMS.read(row) for row in rows]

    # Budgets

    def save_budget(self, budget: BudgetRow) -> Op[None]:
        """Write a budget, a new one or a changed one."""
        self._require_amounts(budget)
        yield Step(self._reference.save_budget, BUDGETS.values(budget))

    def budgets(self, after: str = "", limit: int = 1000) -> Op[list[BudgetRow]]:
        """Budgets by id; `after` is the last id of the page before."""
        rows = yield Step(self._reference.budgets, (after, max(limit, 0)))
        return [BUDGETS.read(row) for row in rows]

    def remove_budget(self, id: str) -> Op[None]:
        """Delete a budget; NotFoundError if there is none."""
        if not (yield Step(self._reference.remove_budget, (id,))):
            raise NotFoundError(self.where, "budget", id)

    # Administration

    def administer(
        self,
        kind: Kind,
        id: str | None,
        make: Callable[[Any], Sequence[Administered]],
        actor: str,
        action: str,
    ) -> Op[None]:
        """Writes the row that `make` returns for the row with this id (None if there is none),
        and an entry of the audit log, in one transaction: no two changes can undo each other.
        The entry is about the first row that `make` returns; if it returns none, the old row is
        deleted. `make` may be called more than once."""
        old = None
        if id is not None:
            yield Step(self._reference.lock.format(kind), (id,))
            old = yield from self._row_of(kind, id)
        rows = make(old)
        for row in rows:
            self._require_amounts(row)
            table, statement = self._places[type(row)]
            yield Step(statement, table.values(row))
        if not rows:
            yield from self.remove_budget(id or "")
        about, changes = id or rows[0].id, _differences(old, rows)
        entry = AuditRow(f"aud_{_ULIDS.new()}", from_micros(now()), actor, action, about, changes)
        yield Step(self._reference.add_audit, AUDIT.values(entry))

    def _row_of(self, kind: Kind, id: str) -> Op[Any]:
        match kind:
            case "key":
                return (yield from self.key(id))
            case "user":
                return (yield from self.user(id))
            case "team":
                return (yield from self.team(id))
            case "budget":
                sql = self._reference.budget
                return (yield from self._one("budget", sql, id, BUDGETS.read))

    @property
    def _places(self) -> dict[type, tuple[Table[Any], str]]:
        sql = self._reference
        return {
            KeyRow: (KEYS, sql.save_key),
            UserRow: (USERS, sql.save_user),
            TeamRow: (TEAMS, sql.save_team),
            BudgetRow: (BUDGETS, sql.save_budget),
        }

    def admin_keys(self) -> Op[list[KeyRow]]:
        """Keys with the right to administer, newest first, including those that are no longer
        valid."""
        return [_key_row(row) for row in (yield Step(self._reference.admin_keys))]

    def audit(self, before: str = "", limit: int = 100) -> Op[list[AuditRow]]:
        """The audit log, the newest first; `before` is the last id of the page before."""
        rows = yield Step(self._reference.audit, (before or "b", max(limit, 0)))
        return [AUDIT.read(row) for row in rows]

    def _one(self, what: str, sql: str, id: str, read: Callable[[Any], T]) -> Op[T]:
        rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, what, id)
        return read(rows[0])

    # Prices

    def save_prices(self, version: str, document: JsonObject) -> Prepared[None]:
        """Store a price table. Costs name the version they were made with, so a version never
        changes: other prices under the same name are a ConflictError."""
        return Prepared(partial(self._save_prices, version, dumps(document)))

    def _save_prices(self, version: str, document: bytes) -> Op[None]:
        rows = yield Step(self._reference.add_prices, (version, document, now()))
        if rows:
            return
        rows = yield Step(self._reference.prices, (version,))
        if bytes(rows[0][0]) != document:
            problem = f"price table {version[:80]!r} already exists with different prices"
            raise ConflictError(self.where, problem)

    def prices(self, version: str) -> Op[JsonObject]:
        """The price table of a version; NotFoundError if there is none."""
        return (yield from self._one("price table", self._reference.prices, version, _document))

    def price_versions(self) -> Op[list[str]]:
        """The stored versions, in the order in which they were saved."""
        rows = yield Step(self._reference.price_versions)
        return [version for (version,) in rows]


def _key_row(row: Sequence[Any]) -> KeyRow:
    off, *caps = row[-7:]
    amounts = [cap and Decimal(cap) for cap in caps]
    return KEYS.read(
        row,
        owner_disabled=bool(off),
        user_caps=tuple(amounts[:3]),
        team_caps=tuple(amounts[3:]),
    )


def _differences(old: Administered | None, rows: Sequence[Administered]) -> JsonObject:
    """The changed fields: the old value and the new one."""
    before: JsonObject = {} if old is None else msgspec.to_builtins(old)
    after: JsonObject = msgspec.to_builtins(rows[0]) if rows else {}
    changes: JsonObject = {
        name: [None, None] if name in _HIDDEN else [before.get(name), after.get(name)]
        for name in [*after, *[name for name in before if name not in after]]
        if before.get(name) != after.get(name)
    }
    if len(rows) > 1:
        changes["replaced_by"] = [None, rows[1].id]
    return changes


def _document(row: Sequence[Any]) -> JsonObject:
    document: JsonObject = msgspec.json.decode(row[0])
    return document
