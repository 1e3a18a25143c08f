"""The principal of a key, and its spending limits: built from the key's row, once per lookup; and
the number of open requests of each key."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from interlingua.gateway.shared.refusals import CodedRefusal
from interlingua.gateway.shared.state import Principal
from interlingua.model.exchange import ErrorKind
from interlingua.store.cap_rules import Limit, Scope, SpendRow, span_of
from interlingua.store.reference import BudgetRow, KeyRow, OwnerCaps

DOLLAR = 10**12
"""Picodollars, in which caps are counted."""
MOST_USD = Decimal(9_000_000)
"""The largest cap that can be counted."""
_WIDE = Context(prec=80)


@dataclass(frozen=True, slots=True)
class KeyPrincipal(Principal):
    """The principal of a key, with its limits."""

    limits: tuple[Limit, ...] = ()
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None
    allow_unpriced: bool = False
    allow_unbounded: bool = False
    read_metrics: bool = False
    read_requests: bool = False
    """Whether it sees the requests of all keys, and their caps."""
    allowed_tools: tuple[str, ...] | None = None
    """Patterns of the MCP tools that it may call."""
    admin: bool = False
    """Whether it may change keys, users, teams and budgets."""

    @property
    def rated(self) -> bool:
        """Whether there is a limit for a minute or a moment."""
        rates = (self.requests_per_minute, self.tokens_per_minute, self.concurrent)
        return any(rate is not None for rate in rates)


def principal_of(row: KeyRow, budgets: Sequence[BudgetRow] = ()) -> KeyPrincipal:
    """The principal of a key; `budgets` are those of all keys."""
    account = row.account_id or row.id
    limits = [_limit("key", account, row.daily_cap_usd, row.monthly_cap_usd, row.weekly_cap_usd)]
    owned: tuple[tuple[Scope, str | None, OwnerCaps], ...]
    owned = ("user", row.user_id, row.user_caps), ("team", row.team_id, row.team_caps)
    limits += [_limit(scope, id, *caps) for scope, id, caps in owned if id is not None]
    money = tuple([limit for limit in limits if limit is not None])
    rates = (row.requests_per_minute, row.tokens_per_minute, row.concurrent)
    budgets = tuple([b for b in budgets if b.owner_id in (None, account, row.user_id, row.team_id)])
    return KeyPrincipal(
        key_id=row.id,
        user_id=row.user_id,
        team_id=row.team_id,
        workspace_path=row.workspace_path,
        allowed_models=None if row.allowed_models is None else frozenset(row.allowed_models),
        refuse_losses=row.refuse_losses,
        keep_content=row.keep_content,
        fetch_media=row.fetch_media,
        caching=row.caching,  # type: ignore[arg-type]  # checked when the key was issued
        redaction=row.redaction,  # type: ignore[arg-type]  # checked when the key was issued
        capped=bool(money or budgets) or any(rate is not None for rate in rates),
        metered=bool(money or budgets) or row.tokens_per_minute is not None,
        log_content_days=row.log_content_days,
        default_max_tokens=row.default_max_tokens,
        max_max_tokens=row.max_max_tokens,
        budgets=budgets,
        account_id=account,
        limits=money,
        requests_per_minute=row.requests_per_minute,
        tokens_per_minute=row.tokens_per_minute,
        concurrent=row.concurrent,
        allow_unpriced=row.allow_unpriced,
        allow_unbounded=row.allow_unbounded,
        read_metrics=row.read_metrics or row.admin,
        read_requests=row.read_requests or row.admin,
        admin=row.admin,
        allowed_tools=row.allowed_tools,
    )


def _limit(
    scope: Scope,
    owner_id: str,
    daily: Decimal | None,
    monthly: Decimal | None,
    weekly: Decimal | None,
) -> Limit | None:
    if daily is None and monthly is None and weekly is None:
        return None
    return Limit(scope, owner_id, _cap(daily), _cap(monthly), _cap(weekly))


def budget_limit(budget: BudgetRow, value: str) -> Limit | None:
    """The limit that a budget is for this value; None where it is about others."""
    caps = budget.daily_cap_usd, budget.monthly_cap_usd, budget.weekly_cap_usd
    beginning = budget.value.removesuffix("*")
    if beginning == budget.value:
        return _limit(budget.kind, budget.id, *caps) if value == budget.value else None
    if not value.startswith(beginning):
        return None
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return _limit(budget.kind, f"{budget.id}:{digest}", *caps)


def _cap(usd: Decimal | None) -> int | None:
    return None if usd is None else picodollars(usd, ROUND_FLOOR)


def picodollars(usd: Decimal, rounding: str = ROUND_CEILING) -> int:
    """Whole picodollars: of a cost never less than it is, of a cap never more."""
    return int(_WIDE.multiply(usd, DOLLAR).to_integral_value(rounding))


def usd(pico: int) -> Decimal:
    """The exact amount in dollars."""
    amount = _WIDE.divide(Decimal(pico), DOLLAR)
    return amount.quantize(Decimal(1)) if amount == amount.to_integral() else amount.normalize()


def spending(row: SpendRow) -> dict[str, Any]:
    """An owner's spending in one window, as JSON: an amount of which no part is known is null."""
    amounts, found = {"usd": row.spent + row.reserved}, {"unpriced": row.unpriced}
    if row.values:
        amounts["highest_usd"], found["values"] = row.highest, row.values
    known: dict[str, Any] = {
        name: None if row.unpriced and not amount else f"{usd(amount):f}"
        for name, amount in amounts.items()
    }
    return {f"{span_of(row.period)}_{name}": value for name, value in (known | found).items()}


SPARE = 32
"""Descriptors for files, the store and health checks."""
EACH = 2
"""Descriptors of a request: the client's connection and the provider's."""
SHARE = 4
"""A key may use one in so many of the rest."""


def descriptors() -> int | None:
    """The limit of this process's open files and connections; None if there is none."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def most_connections(configured: int) -> int:
    """The most client connections at a time, which leaves some descriptors free."""
    limit = descriptors()
    return configured if limit is None else max(4, min(configured, (limit - SPARE) // EACH))


def most_of_key(configured: int) -> int:
    """Requests of one key at a time."""
    limit = descriptors()
    return (
        configured if limit is None else max(2, min(configured, (limit - SPARE) // EACH // SHARE))
    )


class OpenRequests:
    """Counts the open requests of each key. `most` is read anew each time: settings can change."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def take(self, principal: Principal, dialect: str) -> None:
        """`Refusal` with 429 where the key has too many open; else `release` has to follow."""
        key = principal.key_id
        if key is None:
            return
        most = self._most()
        if self._open[key] >= most:
            text = f"this key has {most} requests open at a time, which is its limit; wait for one"
            raise CodedRefusal(
                dialect,
                429,
                ErrorKind.RATE_LIMIT,
                text,
                "too_many_open_requests",
                {"limit": str(most)},
                (("retry-after", "1"),),
            )
        self._open[key] += 1

    def release(self, principal: Principal) -> None:
        key = principal.key_id
        if key is None:
            return
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]
