"""Keys, users, teams and price tables: what a gateway looks up, and what belongs to no session.

A person's e-mail address is in `users` and nowhere else. A key is found by the hash of its secret;
the secret itself is never here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

import msgspec

from interlingua.model.codec import dumps
from interlingua.model.message import from_micros, micros
from interlingua.store.effects import Op, Step, Work, now
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.store.rows import JsonObject

T = TypeVar("T")


class KeyRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A gateway key (`gk_…`). What it stands for does not change when it is replaced by another:
    `account_id` is then the id of the first of them, under which it is counted what they spend.

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
    user_caps: tuple[Decimal | None, Decimal | None] = (None, None)
    team_caps: tuple[Decimal | None, Decimal | None] = (None, None)


class UserRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person (`usr_…`)."""

    id: str
    created_at: datetime
    email: str | None = None
    name: str | None = None
    status: Literal["active", "disabled"] = "active"
    daily_cap_usd: Decimal | None = None
    monthly_cap_usd: Decimal | None = None


class TeamRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A team (`team_…`)."""

    id: str
    name: str
    created_at: datetime
    status: Literal["active", "disabled"] = "active"
    daily_cap_usd: Decimal | None = None
    monthly_cap_usd: Decimal | None = None


class Reference(Work):
    # Keys

    def save_keys(self, keys: Sequence[KeyRow]) -> Op[None]:
        for key in keys:
            yield Step(self.sql.save_key, self._key_values(key))

    def _key_values(self, key: KeyRow) -> tuple[Any, ...]:
        return (
            key.id,
            key.secret_hash,
            key.name,
            key.workspace_path,
            None if key.allowed_models is None else dumps(list(key.allowed_models)),
            self._amount(key.daily_cap_usd),
            self._amount(key.monthly_cap_usd),
            key.user_id,
            key.team_id,
            key.status,
            _micros(key.revoked_at),
            _micros(key.grace_period_until),
            micros(key.created_at),
            key.account_id,
            _micros(key.expires_at),
            key.requests_per_minute,
            key.tokens_per_minute,
            key.concurrent,
            int(key.refuse_losses),
            int(key.keep_content),
            int(key.allow_unpriced),
            int(key.allow_unbounded),
            int(key.read_metrics),
            int(key.read_requests),
            None if key.fetch_media is None else int(key.fetch_media),
        )

    def _amount(self, cap: Decimal | None) -> str | None:
        if cap is not None and not cap.is_finite():
            raise StoreError(self.where, f"a cap is an amount of money, found {cap}")
        return None if cap is None else str(cap)

    def key(self, id: str) -> Op[KeyRow]:
        return (yield from self._one("key", self.sql.key, id, _key_row))

    def key_by_hash(self, secret_hash: str) -> Op[KeyRow | None]:
        rows = yield Step(self.sql.key_by_hash, (secret_hash,))
        return _key_row(rows[0]) if rows else None

    def keys(self, after: str, limit: int) -> Op[list[KeyRow]]:
        rows = yield Step(self.sql.keys, (after, max(limit, 0)))
        return [_key_row(row) for row in rows]

    # Users and teams

    def save_user(self, user: UserRow) -> Op[None]:
        caps = self._amount(user.daily_cap_usd), self._amount(user.monthly_cap_usd)
        values = (user.id, user.email, user.name, user.status, micros(user.created_at), *caps)
        yield Step(self.sql.save_user, values)

    def user(self, id: str) -> Op[UserRow]:
        return (yield from self._one("user", self.sql.user, id, _user_row))

    def users(self, after: str, limit: int) -> Op[list[UserRow]]:
        rows = yield Step(self.sql.users, (after, max(limit, 0)))
        return [_user_row(row) for row in rows]

    def save_team(self, team: TeamRow) -> Op[None]:
        caps = self._amount(team.daily_cap_usd), self._amount(team.monthly_cap_usd)
        values = (team.id, team.name, team.status, micros(team.created_at), *caps)
        yield Step(self.sql.save_team, values)

    def team(self, id: str) -> Op[TeamRow]:
        return (yield from self._one("team", self.sql.team, id, _team_row))

    def teams(self, after: str, limit: int) -> Op[list[TeamRow]]:
        rows = yield Step(self.sql.teams, (after, max(limit, 0)))
        return [_team_row(row) for row in rows]

    def _one(self, what: str, sql: str, id: str, read: Callable[[Any], T]) -> Op[T]:
        rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, what, id)
        return read(rows[0])

    # Prices

    def save_prices(self, version: str, document: bytes) -> Op[None]:
        rows = yield Step(self.sql.add_prices, (version, document, now()))
        if rows:
            return
        rows = yield Step(self.sql.prices, (version,))
        if bytes(rows[0][0]) != document:
            problem = f"price table {version[:80]!r} already exists with different prices"
            raise ConflictError(self.where, problem)

    def prices(self, version: str) -> Op[JsonObject]:
        return (yield from self._one("price table", self.sql.prices, version, _document))

    def price_versions(self) -> Op[list[str]]:
        rows = yield Step(self.sql.price_versions)
        return [version for (version,) in rows]


def _micros(time: datetime | None) -> int | None:
    return None if time is None else micros(time)


def _time(count: int | None) -> datetime | None:
    return None if count is None else from_micros(count)


def _money(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _key_row(row: Sequence[Any]) -> KeyRow:
    id, secret_hash, name, path, models, day, month, user, team, status, end, grace, at = row[:13]
    account, expires, requests, tokens, concurrent, refuse, keep, unpriced = row[13:21]
    unbounded, metrics, requests_of_all, fetch, off = row[21:26]
    user_day, user_month, team_day, team_month = map(_money, row[26:])
    return KeyRow(
        id,
        secret_hash,
        name,
        path,
        from_micros(at),
        None if models is None else tuple(msgspec.json.decode(models)),
        _money(day),
        _money(month),
        user,
        team,
        status,
        _time(end),
        _time(grace),
        bool(off),
        account,
        _time(expires),
        requests,
        tokens,
        concurrent,
        bool(refuse),
        bool(keep),
        bool(unpriced),
        bool(unbounded),
        bool(metrics),
        bool(requests_of_all),
        None if fetch is None else bool(fetch),
        (user_day, user_month),
        (team_day, team_month),
    )


def _user_row(row: Sequence[Any]) -> UserRow:
    id, email, name, status, at, day, month = row
    return UserRow(id, from_micros(at), email, name, status, _money(day), _money(month))


def _team_row(row: Sequence[Any]) -> TeamRow:
    id, name, status, at, day, month = row
    return TeamRow(id, name, from_micros(at), status, _money(day), _money(month))


def _document(row: Sequence[Any]) -> JsonObject:
    document: JsonObject = msgspec.json.decode(row[0])
    return document
