"""Keys, users, teams and budgets: made, changed and ended, each with an entry of the audit log;
keys with their caps as JSON."""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from interlingua.adapt.caching import CACHINGS
from interlingua.errors import InterlinguaError
from interlingua.gateway.keys.keys import hash_of
from interlingua.gateway.settings import REDACTIONS
from interlingua.gateway.shared.fronts import KEY_PREFIX
from interlingua.gateway.shared.principal import MOST_USD, spending
from interlingua.gateway.shared.state import ROUTE
from interlingua.model.ids import Ulids
from interlingua.profiles.names import model_name
from interlingua.profiles.resolving import resolve
from interlingua.store.base import AsyncStore, Store
from interlingua.store.errors import ConflictError
from interlingua.store.reference import (
    Administered,
    BudgetRow,
    KeyRow,
    Kind,
    TeamRow,
    UserRow,
)

GRACE = timedelta(hours=24)
"""How long a replaced key remains valid by default."""
_ULIDS = Ulids()
T = TypeVar("T")


class TermsError(InterlinguaError):
    """The terms of a key contradict each other or are invalid."""


class TakenError(TermsError):
    """A unique value is already used by another owner."""


class NewKey(NamedTuple):
    """A new key, and its token, which cannot be shown again."""

    key: KeyRow
    token: str


class Terms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The permissions and limits of a key. None is no limit."""

    allowed_models: tuple[str, ...] | None = None
    daily_cap_usd: Decimal | None = None
    weekly_cap_usd: Decimal | None = None
    monthly_cap_usd: Decimal | None = None
    log_content_days: int | None = None
    default_max_tokens: int | None = None
    max_max_tokens: int | None = None
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
    redaction: str | None = None
    expires_at: datetime | None = None
    allowed_tools: tuple[str, ...] | None = None
    admin: bool = False


class Task(NamedTuple, Generic[T]):
    """A change, for `Store.administer` or `AsyncStore.administer`: the row it starts from, how
    the rows are made, its name in the audit log, and its result."""

    kind: Kind
    id: str | None
    make: Callable[[Any], Sequence[Administered]]
    action: str
    result: Callable[[], T]

    def run(self, store: Store, actor: str) -> T:
        """Makes the change; `actor` is its author."""
        with self.clashes():
            store.administer(self.kind, self.id, self.make, actor, self.action)
        return self.result()

    @contextmanager
    def clashes(self) -> Iterator[None]:
        """Says what exists already: for a user, only the e-mail address."""
        try:
            yield
        except ConflictError:
            if self.kind != "user":
                raise
            raise TakenError("another user has this e-mail address") from None


def _task(
    kind: Kind, id: str | None, make: Callable[[Any], Sequence[Any]], action: str
) -> Task[Any]:
    """A change whose result is the last row that it writes."""
    made: list[Any] = []

    def noted(old: Any) -> Sequence[Any]:
        made[:] = make(old)
        return made

    return Task(kind, id, noted, f"{kind}.{action}", lambda: made[-1] if made else None)


def issuing(
    name: str,
    workspace_path: str,
    terms: Terms | None = None,
    user_id: str | None = None,
    team_id: str | None = None,
) -> tuple[Task[KeyRow], str]:
    """A new key, and its token."""
    terms = _sound(terms or Terms())
    if not name.strip():
        raise TermsError("a key needs a name")
    token = KEY_PREFIX + secrets.token_urlsafe(32)
    key = KeyRow(
        f"gk_{_ULIDS.new()}",
        hash_of(token),
        name,
        workspace_path,
        _now(),
        user_id=user_id,
        team_id=team_id,
        **msgspec.structs.asdict(terms),
    )
    return _task("key", None, lambda _: [key], "issue"), token


def changing(id: str, **terms: Any) -> Task[KeyRow]:
    """Changes terms of a key: those that are passed, by the names of `Terms`."""
    return _task("key", id, lambda old: [_changed(old, terms)], "change")


def _changed(old: KeyRow, terms: dict[str, Any]) -> KeyRow:
    now = {name: getattr(old, name) for name in Terms.__struct_fields__}
    unchanged = {**now, "expires_at": None} if "expires_at" not in terms else now
    sound = msgspec.structs.asdict(_sound(Terms(**{**unchanged, **terms})))
    return msgspec.structs.replace(old, **{name: sound[name] for name in terms})


def rotating(id: str, grace: timedelta = GRACE) -> tuple[Task[KeyRow], str]:
    """A new key with the same owner, terms and spending, and its token; the old one is valid for a
    while."""
    now, token, new = _now(), KEY_PREFIX + secrets.token_urlsafe(32), f"gk_{_ULIDS.new()}"
    until = now + grace if grace > timedelta() else None

    def rotated(old: KeyRow) -> list[KeyRow]:
        if old.status == "revoked":
            raise TermsError(f"key {id} is revoked and cannot be rotated; issue a new one")
        return [
            msgspec.structs.replace(
                old, status="revoked", revoked_at=now, grace_period_until=until
            ),
            msgspec.structs.replace(
                old,
                id=new,
                secret_hash=hash_of(token),
                created_at=now,
                account_id=old.account_id or old.id,
            ),
        ]

    return _task("key", id, rotated, "rotate"), token


def revoking(id: str) -> Task[KeyRow]:
    """Makes a key void, also one that still had some grace."""

    def revoked(old: KeyRow) -> list[KeyRow]:
        at = old.revoked_at or _now()
        return [
            msgspec.structs.replace(old, status="revoked", revoked_at=at, grace_period_until=None)
        ]

    return _task("key", id, revoked, "revoke")


def adding_user(email: str | None, name: str | None, *caps: Decimal | None) -> Task[UserRow]:
    """A new user; the caps are by day, month and week."""
    user = UserRow(f"usr_{_ULIDS.new()}", _now(), email, name, "active", *_caps(*caps))
    return _task("user", None, lambda _: [user], "add")


def adding_team(name: str, *caps: Decimal | None) -> Task[TeamRow]:
    """A new team; the caps are by day, month and week."""
    team = TeamRow(f"team_{_ULIDS.new()}", name, _now(), "active", *_caps(*caps))
    return _task("team", None, lambda _: [team], "add")


def changing_owner(kind: Literal["user", "team"], id: str, **changes: Any) -> Task[Any]:
    """Other values in some fields of a user or a team."""
    _caps(*[changes.get(f"{name}_cap_usd") for name in _WINDOWS])
    return _task(kind, id, lambda old: [msgspec.structs.replace(old, **changes)], "change")


def adding_budget(
    kind: Literal["model", "tag", "end_user"],
    value: str,
    owner_id: str | None = None,
    *caps: Decimal | None,
) -> Task[BudgetRow]:
    """A new cap on a model, a tag or an end user, by day, month and week; see `BudgetRow`."""
    day, month, week = _caps(*caps)
    if day is None and month is None and week is None:
        raise TermsError("a budget needs a cap: by day, week or month")
    if kind == "model" and not value.endswith("*"):
        (value,) = _models([value])
    if not value:
        raise TermsError(f"a budget needs the name of its {kind.replace('_', ' ')}")
    budget = BudgetRow(f"bud_{_ULIDS.new()}", kind, value, _now(), owner_id, day, week, month)
    return _task("budget", None, lambda _: [budget], "add")


def removing_budget(id: str) -> Task[None]:
    """One budget less."""
    return _task("budget", id, lambda _: [], "remove")


# The same at once, for programs with access to the store.


def operator() -> str:
    """The author of changes on this machine, for the audit log."""
    try:
        return f"local:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):  # a user id without a name
        return "local"


def issue(
    store: Store,
    name: str,
    workspace_path: str,
    terms: Terms | None = None,
    *,
    user_id: str | None = None,
    team_id: str | None = None,
) -> NewKey:
    """Make a key. The token is in the result, and nowhere else."""
    if user_id is not None:
        store.user(user_id)
    if team_id is not None:
        store.team(team_id)
    task, token = issuing(name, workspace_path, terms, user_id, team_id)
    return NewKey(task.run(store, operator()), token)


def change(store: Store, id: str, **terms: Any) -> KeyRow:
    """Changes terms of a key: those that are passed, by the names of `Terms`."""
    return changing(id, **terms).run(store, operator())


def rotate(store: Store, id: str, grace: timedelta = GRACE) -> NewKey:
    """Replace a key by a new one with the same owner, terms and spending; the old one is valid for
    a while."""
    task, token = rotating(id, grace)
    return NewKey(task.run(store, operator()), token)


def revoke(store: Store, id: str) -> KeyRow:
    """Make a key void, also one that still had some grace."""
    return revoking(id).run(store, operator())


def add_user(
    store: Store,
    email: str | None = None,
    name: str | None = None,
    daily_cap_usd: Decimal | None = None,
    monthly_cap_usd: Decimal | None = None,
    weekly_cap_usd: Decimal | None = None,
) -> UserRow:
    """A new user."""
    caps = daily_cap_usd, monthly_cap_usd, weekly_cap_usd
    return adding_user(email, name, *caps).run(store, operator())


def add_team(
    store: Store,
    name: str,
    daily_cap_usd: Decimal | None = None,
    monthly_cap_usd: Decimal | None = None,
    weekly_cap_usd: Decimal | None = None,
) -> TeamRow:
    """A new team."""
    caps = daily_cap_usd, monthly_cap_usd, weekly_cap_usd
    return adding_team(name, *caps).run(store, operator())


def add_budget(
    store: Store,
    kind: Literal["model", "tag", "end_user"],
    value: str,
    owner_id: str | None = None,
    daily_cap_usd: Decimal | None = None,
    monthly_cap_usd: Decimal | None = None,
    weekly_cap_usd: Decimal | None = None,
) -> BudgetRow:
    """A new cap on a model, a tag or an end user; see `BudgetRow`."""
    caps = daily_cap_usd, monthly_cap_usd, weekly_cap_usd
    return adding_budget(kind, value, owner_id, *caps).run(store, operator())


def _now() -> datetime:
    return datetime.now(UTC)


def _sound(terms: Terms) -> Terms:
    """The terms, with models under their own ids; `TermsError` where they make no sense."""
    for name in _COUNTS:
        count = getattr(terms, name)
        if count is not None and not 0 < count < 2**53:
            raise TermsError(f"{name}: expected a number of at least 1, found {count}")
    for name, words in (("caching", CACHINGS), ("redaction", REDACTIONS)):
        word = getattr(terms, name)
        if word is not None and word not in words:
            raise TermsError(f"{name}: expected one of {', '.join(words)}, found {word[:40]!r}")
    _caps(terms.daily_cap_usd, terms.monthly_cap_usd, terms.weekly_cap_usd)
    if terms.expires_at is not None and terms.expires_at <= _now():
        raise TermsError("the expiry time is in the past")
    if terms.allowed_models is None:
        return terms
    return msgspec.structs.replace(terms, allowed_models=_models(terms.allowed_models))


def _models(models: Sequence[str]) -> tuple[str, ...]:
    """Ids of models; routes of the gateway keep their mark."""
    ids = [model if model.startswith(ROUTE) else resolve(model) for model in models]
    for id in ids:
        model_name(id)
    return tuple(ids)


_WINDOWS = ("daily", "monthly", "weekly")
_COUNTS = (
    *("requests_per_minute", "tokens_per_minute", "concurrent"),
    *("default_max_tokens", "max_max_tokens", "log_content_days"),
)


def _caps(*amounts: Decimal | None) -> tuple[Decimal | None, ...]:
    for window, cap in zip(_WINDOWS, amounts, strict=True):
        if cap is not None and not (cap.is_finite() and 0 <= cap <= MOST_USD):
            raise TermsError(f"a {window} cap is between 0 and {MOST_USD:,} dollars, found {cap}")
    return amounts


PAGE = 1000
TERMS = (
    "log_content_days",
    *(
        "allowed_models",
        "allowed_tools",
        "default_max_tokens",
        "max_max_tokens",
        "requests_per_minute",
        "tokens_per_minute",
        "concurrent",
    ),
    *("refuse_losses", "keep_content", "allow_unpriced", "allow_unbounded"),
    *("read_metrics", "read_requests", "fetch_media", "caching", "redaction"),
    *("expires_at", "admin"),
)


class Cap(NamedTuple):
    """The cap of an owner for a day, a week or a month."""

    scope: str
    owner_id: str
    window: str
    limit: Decimal


async def visible_keys(store: AsyncStore, tenant: str | None) -> list[dict[str, Any]]:
    """The keys of a tenant, or all of them, with the rest of their caps."""
    return await _keys_json(
        store, [row for row in await _all(store) if tenant in (None, _tenant(row))]
    )


async def visible_key(store: AsyncStore, id: str) -> dict[str, Any]:
    """One key, with the remaining amounts of its caps."""
    return (await _keys_json(store, [await store.key(id)]))[0]


def today() -> str:
    """The day, as stores name it."""
    return datetime.now(UTC).date().isoformat()


async def _keys_json(store: AsyncStore, rows: Sequence[KeyRow]) -> list[dict[str, Any]]:
    caps = {row.id: list(caps_of(row)) for row in rows}
    owners = sorted({cap.owner_id for each in caps.values() for cap in each})
    spent: dict[str, dict[str, Any]] = {owner: {} for owner in owners}
    for each in await store.spent(owners, today()) if owners else []:
        spent[each.owner_id] |= spending(each)
    return [_key_json(row, caps[row.id], spent) for row in rows]


async def _all(store: AsyncStore) -> list[KeyRow]:
    rows: list[KeyRow] = []
    while page := await store.keys(rows[-1].id if rows else "", PAGE):
        rows += page
    return rows


def _tenant(row: KeyRow) -> str:
    return row.user_id or row.account_id or row.id


def caps_of(row: KeyRow) -> Iterator[Cap]:
    """The caps of a key: its own, its user's and its team's."""
    own = (row.daily_cap_usd, row.monthly_cap_usd, row.weekly_cap_usd)
    owners = (
        ("key", row.account_id or row.id, own),
        ("user", row.user_id or "", row.user_caps),
        ("team", row.team_id or "", row.team_caps),
    )
    for scope, owner_id, limits in owners:
        for window, limit in zip(("day", "month", "week"), limits, strict=True):
            if limit is not None:
                yield Cap(scope, owner_id, window, limit)


def _key_json(row: KeyRow, caps: list[Cap], spent: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "user_id": row.user_id,
        "team_id": row.team_id,
        "status": state_of(row),
        "created_at": row.created_at,
        **{name: getattr(row, name) for name in TERMS},
        "caps": [
            {
                "scope": cap.scope,
                "window": cap.window,
                "limit_usd": f"{cap.limit:f}",
                "spent_usd": spent[cap.owner_id].get(f"{cap.window}_usd", "0"),
                "unpriced": spent[cap.owner_id].get(f"{cap.window}_unpriced", 0),
            }
            for cap in caps
        ],
    }


def state_of(row: KeyRow) -> str:
    """Whether it opens: `active`, `ending` (replaced, and open for its grace), `revoked`, `expired`
    or `disabled`."""
    now = datetime.now(UTC)
    if row.status == "revoked":
        until = row.grace_period_until
        return "ending" if until is not None and until > now else "revoked"
    if row.expires_at is not None and row.expires_at <= now:
        return "expired"
    return "disabled" if row.owner_disabled else "active"
