"""Keys to look at: whose they are, what they may do and spend, and what was spent. Never a secret,
nor any part of its hash; changes are made with the command line alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from interlingua.gateway.shared.principal import usd
from interlingua.store.base import AsyncStore
from interlingua.store.reference import KeyRow

PAGE = 1000
TERMS = (
    *("allowed_models", "requests_per_minute", "tokens_per_minute", "concurrent"),
    *("refuse_losses", "keep_content", "allow_unpriced", "allow_unbounded"),
    *("read_metrics", "read_requests", "fetch_media", "expires_at"),
)


class Cap(NamedTuple):
    """What an owner may spend in a day or a month."""

    scope: str
    owner_id: str
    window: str
    limit: Decimal


async def visible_keys(store: AsyncStore, tenant: str | None) -> list[dict[str, Any]]:
    """The keys of a tenant, or all of them, with what their caps have left."""
    rows = [row for row in await _all(store) if tenant in (None, _tenant(row))]
    today = datetime.now(UTC).date().isoformat()
    caps = {row.id: list(caps_of(row)) for row in rows}
    owners = sorted({cap.owner_id for each in caps.values() for cap in each})
    spent = {
        (each.owner_id, "day" if each.period == today else "month"): usd(each.spent + each.reserved)
        for each in (await store.spent(owners, today) if owners else [])
    }
    return [_key_json(row, caps[row.id], spent) for row in rows]


async def _all(store: AsyncStore) -> list[KeyRow]:
    rows: list[KeyRow] = []
    while page := await store.keys(rows[-1].id if rows else "", PAGE):
        rows += page
    return rows


def _tenant(row: KeyRow) -> str:
    return row.user_id or row.account_id or row.id


def caps_of(row: KeyRow) -> Iterator[Cap]:
    """Those that hold for a key: its own, its user's and its team's."""
    owners = (
        ("key", row.account_id or row.id, (row.daily_cap_usd, row.monthly_cap_usd)),
        ("user", row.user_id or "", row.user_caps),
        ("team", row.team_id or "", row.team_caps),
    )
    for scope, owner_id, limits in owners:
        for window, limit in zip(("day", "month"), limits, strict=True):
            if limit is not None:
                yield Cap(scope, owner_id, window, limit)


def _key_json(
    row: KeyRow, caps: list[Cap], spent: dict[tuple[str, str], Decimal]
) -> dict[str, Any]:
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
                "spent_usd": f"{spent.get((cap.owner_id, cap.window), Decimal(0)):f}",
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
