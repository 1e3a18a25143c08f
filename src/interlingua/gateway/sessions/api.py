"""Sessions over HTTP. A session belongs to its maker; others see it as missing. On a gateway
without keys they are the user's own, those of the command line included."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import UTC, datetime
from posixpath import normpath
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from interlingua.costs.table import PriceTable
from interlingua.events.catalogue import ALIASES, CATALOGUE
from interlingua.gateway.sessions.live import event_json, plain, turn_of, watch_session
from interlingua.gateway.shared import feed
from interlingua.gateway.shared.bodies import (
    ChangedSession,
    NewRating,
    NewSession,
    NewTurn,
    flag,
    number,
    options_of,
    read,
    text_of,
    user_message,
)
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.state import Principal
from interlingua.model.events import WIRE_NAMES
from interlingua.model.ids import is_ulid
from interlingua.sessions.core import ROUTE_NAME, Core
from interlingua.sessions.effects import SessionError
from interlingua.sessions.session import AsyncSession
from interlingua.sessions.setting import setting_of
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError
from interlingua.store.rows import ORIGINS, WORKER, SearchHit, SessionFilter, SessionRow
from interlingua.transcripts import formats
from interlingua.transcripts.exports import answer as exported_answer
from interlingua.transcripts.exports import losses_of, totals_of

if TYPE_CHECKING:
    from interlingua.gateway.service import Service


LOOKED_AT = 500
"""The number of matching messages that are checked, including those of other callers."""
LONGEST = 500


def filter_of(query: Mapping[str, str]) -> SessionFilter:
    """The filter of a query; empty values do not filter."""
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
    store: AsyncStore, own: OwnSessions, words: str, limit: int, session: str | None = None
) -> list[dict[str, Any]]:
    """Messages of the caller's sessions, or of one, that contain all words; newest first."""
    found: list[dict[str, Any]] = []
    for hit in await store.search(words, session_id=session, limit=LOOKED_AT):
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
            exported_answer(each.message_id, each.created_at, each.metadata, prices)
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


OWNER = "owner"
"""The key of a session's policy with its owner."""
KIND = "kind"
"""Key in the policy: the purpose of a row that is not a conversation of this API."""
TASK = "task"
"""There too: an agent works in the session."""
PAGE, MOST = 50, 200
MOST_SUMMED = 5000
"""Messages of a session whose cost is in a list."""
LIVE = frozenset([*WIRE_NAMES.values(), "usage_update", "error"])


async def create(service: Service, request: Request, principal: Principal) -> Response:
    body = await read(request, NewSession, service.limits)
    path = text_of(body.workspace_path, "workspace_path")
    _require_inside(path, principal)
    session = await AsyncSession.create(
        service.store,
        path,
        model=body.active_model,
        name=None if body.name is None else text_of(body.name, "name"),
        system=None if body.system is None else text_of(body.system, "system"),
        **service.turns.known(principal),
    )
    policy = {**(session.row.routing_policy or {}), OWNER: principal.tenant}
    if body.active_model is not None:
        policy[ROUTE_NAME] = body.active_model
    row = await service.store.update_session(session.id, routing_policy=policy)
    return answer(_session_json(row, False), 201, {"location": f"/sessions/{row.id}"})


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    limit = number(request.query_params, "limit", PAGE, 1, MOST)
    before = request.query_params.get("before")
    last = None if before is None else await session_row(service, before, principal)
    filter = filter_of(request.query_params)
    found = await service.store.sessions_of(principal.tenant, limit + 1, last, filter)
    sessions = [_session_json(row, _in_flight(service, row)) for row in found[:limit]]
    if flag(request.query_params, "costs"):
        for row, shown in zip(found, sessions, strict=False):
            shown.update(await _answers(service.store, row))
    return answer({"sessions": sessions, "has_more": len(found) > limit})


async def _answers(store: AsyncStore, row: SessionRow) -> dict[str, Any]:
    """The cost of a session's answers, as far as they have a price, how many lack one or a part of
    it, and the model of the last one; nothing of long sessions."""
    if not 0 < row.message_count <= MOST_SUMMED:
        return {"cost_usd": None, "unpriced": 0, "answered_by": None}
    known = [each.metadata async for each in store.usages(session_id=row.id)]
    usages = [each.usage for each in known if each.usage is not None and each.usage.is_known]
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    return {
        "cost_usd": f"{sum(costs):f}" if costs else None,
        "unpriced": sum([usage.cost_usd is None or bool(usage.unpriced) for usage in usages]),
        "answered_by": known[-1].model if known else None,
    }


async def show(service: Service, request: Request, principal: Principal) -> Response:
    row = await session_row(service, request.path_params["id"], principal)
    return answer(_session_json(row, _in_flight(service, row)))


async def change(service: Service, request: Request, principal: Principal) -> Response:
    row = await session_row(service, request.path_params["id"], principal)
    body = await read(request, ChangedSession, service.limits)
    running = service.turns.running(row.id)
    if running is not None and running.turn is not None:
        session: AsyncSession = running.session
    else:
        known = service.turns.known(principal)
        session = await AsyncSession.open(service.store, row.id, **known)
    in_flight = _in_flight(service, row)
    queued = await session.swap(body.active_model)
    row = await service.store.session(row.id)
    policy = {**(row.routing_policy or {}), ROUTE_NAME: body.active_model}
    row = session._core.row = await service.store.update_session(row.id, routing_policy=policy)
    return answer({**_session_json(row, in_flight), "swap_queued": queued or in_flight})


async def remove(service: Service, request: Request, principal: Principal) -> Response:
    row = await session_row(service, request.path_params["id"], principal)
    purge = flag(request.query_params, "purge")
    if is_task(row):
        await service.tasks.end(await service.store.task(row.id))
    await service.turns.cancel(row.id)
    if purge:
        await purge_session(service.store, row.id)
    else:
        known = service.turns.known(principal)
        await (await AsyncSession.open(service.store, row.id, **known)).end()
    return answer({"id": row.id, "ended": True, "purged": purge})


async def turn(service: Service, request: Request, principal: Principal) -> Response:
    row = await session_row(service, request.path_params["id"], principal)
    if is_task(row):
        text = "an agent is working in this session: send messages to /task/{id}/message"
        raise ApiError(409, "session_is_task", text)
    body = await read(request, NewTurn, service.limits)
    message = user_message(body.content)
    options = options_of(body.options)
    override = body.per_message_override
    if service.gateway.draining:
        raise ApiError(503, "shutting_down", "the gateway is shutting down; try again")
    running = await service.turns.start(row.id, principal, message, override, options)
    assert running.turn is not None
    return answer(
        {
            "session_id": row.id,
            "turn_id": running.turn.id,
            "user_message_id": running.user_message_id,
            "model": running.turn.model,
        },
        202,
    )


async def cancel(service: Service, request: Request, principal: Principal) -> Response:
    """A second time changes nothing."""
    row = await session_row(service, request.path_params["id"], principal)
    return answer({"cancelled": await service.turns.cancel(row.id)}, 202)


async def search(service: Service, request: Request, principal: Principal) -> Response:
    """Messages of the caller's sessions that contain all words."""
    words = text_of(request.query_params.get("q", ""), "q")
    limit = number(request.query_params, "limit", PAGE, 1, MOST)
    session = request.query_params.get("session")
    own = own_sessions(service, principal)
    found = await messages_with(service.store, own, words, limit, session)
    return answer({"messages": found})


async def rate(service: Service, request: Request, principal: Principal) -> Response:
    row = await session_row(service, request.path_params["id"], principal)
    rating = await read(request, NewRating, service.limits)
    core = Core(row, setting_of(**service.turns.known(principal)))
    try:
        await AsyncSession(service.store, core).rate(rating.rating, rating.message_id)
    except SessionError as error:
        raise ApiError(404, "message_not_found", str(error)) from None
    return answer({"session_id": row.id, "rating": rating.rating})


async def summed(service: Service, request: Request, principal: Principal) -> Response:
    row = await session_row(service, request.path_params["id"], principal)
    prices = service.tracer.pricer.table
    return answer(await summary(service.store, row, own_sessions(service, principal), prices))


async def messages(service: Service, request: Request, principal: Principal) -> Response:
    """The last ones, or those before, after or around one of them; always in order."""
    row = await session_row(service, request.path_params["id"], principal)
    query = request.query_params
    limit = number(query, "limit", PAGE, 1, MOST)
    directions = [name for name in ("before", "after", "around") if query.get(name) is not None]
    if len(directions) > 1:
        text = f"{' and '.join(directions)} cannot be combined"
        raise ApiError(400, "invalid_request", text)
    place = (
        await _place(service, row, query[directions[0]]) if directions else row.message_count + 1
    )
    start, end = _window(directions[0] if directions else "before", place, limit, row.message_count)
    part = await service.store.messages(row.id, start, end - start) if end > start else []
    earlier, later = start > 0, end < row.message_count
    return answer(
        {
            "messages": [plain(message) for message in part],
            "has_more": later if directions == ["after"] else earlier,
            "has_earlier": earlier,
            "has_later": later,
        }
    )


def _window(direction: str, place: int, limit: int, count: int) -> tuple[int, int]:
    """From which number on, and up to which: counted from 0, the end not with it."""
    if direction == "before":
        return max(0, place - 1 - limit), place - 1
    start = place if direction == "after" else max(0, place - 1 - limit // 2)
    return start, min(count, start + limit)


async def _place(service: Service, row: SessionRow, id: str) -> int:
    place = await place_of(service.store, row, id) if is_ulid(id) else None
    if place is None:
        raise ApiError(404, "message_not_found", "no such message in this session")
    return place


async def events(service: Service, request: Request, principal: Principal) -> Response:
    """The trace of a session: a page of it, or for clients that accept `text/event-stream`, all
    events after a number."""
    row = await session_row(service, request.path_params["id"], principal)
    query = request.query_params
    types = [ALIASES.get(name, name) for name in query.get("types", "").split(",") if name]
    for name in types:
        if name not in CATALOGUE and name not in LIVE:
            raise ApiError(400, "invalid_filter", f"unknown event {name[:80]!r}")
    after = number(query, "after", 0, 0, 2**53)
    if not feed.accepts_stream(request):
        limit = number(query, "limit", PAGE, 1, 1000)
        stored = [name for name in types if name in CATALOGUE]
        rows = [] if types and not stored else await service.store.events(
            row.id, after, limit + 1, stored
        )  # fmt: skip
        part = rows[:limit]
        return answer(
            {"events": [event_json(each) for each in part], "has_more": len(rows) > limit}
        )
    after = await _cursor(service, request, row, after)
    first = await _snapshot(service, row) if flag(query, "snapshot") else b""
    return feed.event_stream(service, principal, _stream(service, row.id, after, types, first))


async def _cursor(service: Service, request: Request, row: SessionRow, after: int) -> int:
    cursor = feed.cursor_of(request)
    if cursor is None:
        return after
    if cursor and not await service.store.events(row.id, cursor - 1, 1):
        raise ApiError(410, "cursor_expired", "no event of this number in this session")
    return cursor


async def _snapshot(service: Service, row: SessionRow) -> bytes:
    tail = await service.store.tail(row.id, PAGE)
    shown = _session_json(row, _in_flight(service, row))
    data = {"session": shown, "messages": [plain(message) for message in tail]}
    return feed.frame("snapshot", data)


async def _stream(
    service: Service, session_id: str, after: int, types: list[str], first: bytes
) -> AsyncGenerator[bytes, None]:
    yield first or feed.WATCHING
    source = watch_session(service.store, service.turns.hub, session_id, after, types)
    async for piece in source:
        yield piece


async def session_row(service: Service, id: str, principal: Principal) -> SessionRow:
    """The caller's session; another tenant's looks like one that does not exist."""
    if is_ulid(id):
        try:
            row = await service.store.session(id)
        except NotFoundError:
            pass
        else:
            if _is_own(row, principal):
                return row
    raise ApiError(404, "session_not_found", "no such session")


def _is_own(row: SessionRow, principal: Principal) -> bool:
    policy = row.routing_policy or {}
    return policy.get(OWNER) == principal.tenant and KIND not in policy


def own_sessions(service: Service, principal: Principal) -> OwnSessions:
    return OwnSessions(service.store, lambda row: _is_own(row, principal))


def is_task(row: SessionRow) -> bool:
    return bool((row.routing_policy or {}).get(TASK))


def _require_inside(path: str, principal: Principal) -> None:
    """A key has a workspace; its sessions are in it."""
    own = principal.workspace_path
    if own in (None, "", "."):
        return
    inside = normpath(path)
    if inside != normpath(own) and not inside.startswith(normpath(own).rstrip("/") + "/"):
        raise ApiError(403, "workspace_not_allowed", "this key is for another workspace")


def _in_flight(service: Service, row: SessionRow) -> bool:
    """Whether a turn is under way, here or in another worker."""
    here = service.turns.running(row.id) is not None
    return here or turn_of(row) is not None


def _session_json(row: SessionRow, in_flight: bool) -> dict[str, Any]:
    return {
        "id": row.id,
        "workspace_path": row.workspace_path,
        "name": row.name,
        "active_model": row.active_model,
        "message_count": row.message_count,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "parent_id": row.parent_id,
        "source": row.origin,
        "turn_in_flight": in_flight,
    }
