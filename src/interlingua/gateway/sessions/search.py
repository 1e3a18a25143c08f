"""Which sessions a caller asks for, and messages that have some words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from interlingua.gateway.shared.callers import ApiError
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError
from interlingua.store.rows import Origin, SearchHit, SessionFilter, SessionRow

ORIGINS: tuple[str, ...] = get_args(Origin)
LOOKED_AT = 500
"""Messages with the words that are looked at, those of other callers among them."""
LONGEST = 500


def filter_of(query: Mapping[str, str]) -> SessionFilter:
    """What a query says; what it leaves empty is not asked for."""
    given = {name: text for name, text in query.items() if text}
    origin = given.get("source")
    if origin is not None and origin not in ORIGINS:
        text = f"source: expected one of {', '.join(ORIGINS)}"
        raise ApiError(400, "invalid_request", text)
    return SessionFilter(
        _text(given, "q"),
        origin,  # type: ignore[arg-type]  # just checked
        _text(given, "model"),
        _text(given, "folder"),
        _time(given, "since"),
        _time(given, "until"),
    )


def _text(given: Mapping[str, str], name: str) -> str | None:
    text = given.get(name)
    if text is not None and (len(text) > LONGEST or "\0" in text):
        raise ApiError(400, "invalid_request", f"{name}: expected a short text")
    return text


def _time(given: Mapping[str, str], name: str) -> datetime | None:
    text = given.get(name)
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
            found.append(_told(hit, row))
        if len(found) == limit:
            break
    return found


def _told(hit: SearchHit, row: SessionRow) -> dict[str, Any]:
    return {
        "session_id": hit.session_id,
        "session_name": row.name or row.workspace_path,
        "message_id": hit.message_id,
        "role": hit.role,
        "created_at": hit.created_at,
        "snippet": hit.snippet,
    }
