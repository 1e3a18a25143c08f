"""What a session is in all: counts and money, what changes of model lost, and its branches."""

from __future__ import annotations

from typing import Any

from interlingua.exports.summary import answer, losses_of, totals_of
from interlingua.gateway.sessions.search import OwnSessions
from interlingua.prices.table import PriceTable
from interlingua.store.base import AsyncStore
from interlingua.store.rows import SessionRow

MOST_BRANCHES = 200
PAGE = 1000


async def summary(
    store: AsyncStore, row: SessionRow, own: OwnSessions, prices: PriceTable
) -> dict[str, Any]:
    whole = totals_of(
        [
            answer(each.message_id, each.created_at, each.metadata, prices)
            async for each in store.usages(session_id=row.id)
        ]
    )
    changes = whole["changes"]
    losses = await _losses(store, row.id, {change["message_id"] for change in changes})
    whole["changes"] = [{**each, "losses": losses.get(each["message_id"])} for each in changes]
    return {**whole, **await _branches(store, row, own)}


async def _losses(store: AsyncStore, id: str, wanted: set[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    after = 0
    while wanted - found.keys():
        rows = await store.events(id, after, PAGE, ["llm.call_completed"])
        found |= losses_of(wanted, [row.payload for row in rows])
        if len(rows) < PAGE:
            break
        after = rows[-1].seq
    return found


async def _branches(store: AsyncStore, row: SessionRow, own: OwnSessions) -> dict[str, Any]:
    """All sessions of a family, parents before their children, and how far this one is a copy."""
    first = row
    for _ in range(MOST_BRANCHES):
        parent = None if first.parent_id is None else await own.row(first.parent_id)
        if parent is None:
            break
        first = parent
    family = [first]
    for each in family:
        if len(family) < MOST_BRANCHES:
            forks = await store.forks_of(each.id, MOST_BRANCHES)
            family += [fork for fork in forks if await own.row(fork.id) is not None]
    return {
        "branches": [_branch(each) for each in family[:MOST_BRANCHES]] if len(family) > 1 else [],
        "copied_until": await _copied_until(store, row, own),
    }


def _branch(row: SessionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "parent_id": row.parent_id,
        "parent_message_id": row.parent_message_id,
        "message_count": row.message_count,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


async def _copied_until(store: AsyncStore, row: SessionRow, own: OwnSessions) -> str | None:
    """The last message of a fork that is a copy of its parent's."""
    parent = None if row.parent_id is None else await own.row(row.parent_id)
    if parent is None or row.parent_message_id is None:
        return None
    place = await place_of(store, parent, row.parent_message_id)
    here = [] if place is None else await store.messages(row.id, place - 1, 1)
    return here[0].id if here else None


async def place_of(store: AsyncStore, row: SessionRow, id: str) -> int | None:
    """The number of a message. Ids of a session increase, so it is found by halving."""
    low, high = 1, row.message_count
    while low <= high:
        middle = (low + high) // 2
        found = await store.messages(row.id, middle - 1, 1)
        here = found[0].id if found else None
        if here == id:
            return middle
        if here is None or here > id:
            high = middle - 1
        else:
            low = middle + 1
    return None
