"""Which sessions a caller asks for, and messages that have some words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from interlingua.costs.table import PriceTable
from interlingua.gateway.shared.callers import ApiError
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError
from interlingua.store.rows import ORIGINS, WORKER, SearchHit, SessionFilter, SessionRow
from interlingua.transcripts import formats
from interlingua.transcripts.exports import answer, losses_of, totals_of

LOOKED_AT = 500
"""Messages with the words that are looked at, those of other callers among them."""
LONGEST = 500


def filter_of(query: Mapping[str, str]) -> SessionFilter:
    """What a query says; what it leaves empty is not asked for."""
    params = {name: text for name, text in query.items() if text}
    origin = params.get("source")
    if origin is not None and origin not in ORIGINS and origin not in formats():
        text = f"source: expected one of {', '.join(ORIGINS)}, or a transcript format"
        raise ApiError(400, "invalid_request", text)
    return SessionFilter(
        _text(params, "q"),
        origin,
        _text(params, "model"),
        _text(params, "folder"),
        _time(params, "since"),
        _time(params, "until"),
    )


def _text(params: Mapping[str, str], name: str) -> str | None:
    text = params.get(name)
    if text is not None and (len(text) > LONGEST or "\0" in text):
        raise ApiError(400, "invalid_request", f"{name}: expected a short text")
    return text


def _time(params: Mapping[str, str], name: str) -> datetime | None:
    text = params.get(name)
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        problem = f"{name}: expected a day or a time, as in 2026-01-31"
        raise ApiError(400, "invalid_request", problem) from None


class OwnSessions:
    """Sessions of one caller, each looked up once."""

    def __init__(self, store: AsyncStore, is_own: Callable[[SessionRow], bool]) -> None:
        self._store = store
        self._is_own = is_own
        self._known: dict[str, SessionRow | None] = {}

    async def row(self, id: str) -> SessionRow | None:
        """The session, if it is there and the caller's."""
        if id not in self._known:
            try:
                row = await self._store.session(id)
            except NotFoundError:
                self._known[id] = None
            else:
                self._known[id] = row if self._is_own(row) else None
        return self._known[id]


async def messages_with(
    store: AsyncStore, own: OwnSessions, words: str, limit: int
) -> list[dict[str, Any]]:
    """Messages of the caller's sessions in which all words occur, the newest first."""
    found: list[dict[str, Any]] = []
    for hit in await store.search(words, limit=LOOKED_AT):
        row = await own.row(hit.session_id)
        if row is not None:
            found.append(_hit_json(hit, row))
        if len(found) == limit:
            break
    return found


def _hit_json(hit: SearchHit, row: SessionRow) -> dict[str, Any]:
    return {
        "session_id": hit.session_id,
        "session_name": row.name or row.workspace_path,
        "message_id": hit.message_id,
        "role": hit.role,
        "created_at": hit.created_at,
        "snippet": hit.snippet,
    }


_MOST = 100_000
"""Forks and workers of one session that are looked at."""


async def purge_session(store: AsyncStore, id: str) -> None:
    """Delete a session and the sessions of its workers; its forks are others', and stay."""
    for row in await _workers(store, id):
        await purge_session(store, row)
    await store.delete_session(id)


async def _workers(store: AsyncStore, id: str) -> list[str]:
    rows = await store.forks_of(id, _MOST)
    return [row.id for row in rows if WORKER in (row.routing_policy or {})]


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


async def _losses(store: AsyncStore, id: str, ids: set[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    after = 0
    while ids - found.keys():
        rows = await store.events(id, after, PAGE, ["llm.call_completed"])
        found |= losses_of(ids, [row.payload for row in rows])
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
