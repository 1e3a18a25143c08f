"""The request log over HTTP, read-only. A request belongs to its maker, as a session does; others
see it as missing. A key that may read the requests of all, and everyone on a gateway without keys,
sees them all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from csv import writer
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from interlingua.events.event import NO_SESSION
from interlingua.gateway.keys.key_admin import visible_keys
from interlingua.gateway.memory.content import place_of
from interlingua.gateway.shared import feed
from interlingua.gateway.shared.bodies import number, text_of
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import Exchange, Principal
from interlingua.model.ids import is_ulid
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.requests import (
    PREFIX,
    RequestFilter,
    RequestRow,
    StatusError,
    request_details,
    request_dict,
    with_status,
)

if TYPE_CHECKING:
    from interlingua.gateway.service import Service


logger = logging.getLogger(__name__)

PAGE, MOST = 50, 200
LARGEST = 2**53


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    """A page of requests, newest first; for clients that accept `text/event-stream`, those that
    finish from now on, or after a number."""
    query = request.query_params
    filter = _filter_of(query, principal)
    if feed.accepts_stream(request):
        return await _live(service, request, principal, filter)
    limit = number(query, "limit", PAGE, 1, MOST)
    before = query.get("before")
    last = None if before is None else await _row(service, before, principal)
    upto = await service.store.last_request()
    found = await service.store.requests(filter, limit + 1, last)
    rows = [request_dict(row) for row in found[:limit]]
    return answer({"requests": rows, "has_more": len(found) > limit, "last": upto})


async def show(service: Service, request: Request, principal: Principal) -> Response:
    row = await _row(service, request.path_params["id"], principal)
    details = request_details(row, await service.store.request_trace(row.id, NO_SESSION))
    if row.tenant == principal.tenant:  # who may see the requests of all does not read them
        content = await service.store.object(place_of(row.tenant), row.id)
        details["content"] = None if content is None else msgspec.Raw(content.body)
    return answer(details)


async def running(service: Service, request: Request, principal: Principal) -> Response:
    """Requests that this process is answering, the longest under way first."""
    whose = tenant_of(principal)
    found = [
        each
        for each in service.gateway.under_way.values()
        if whose is None or each.arrival.principal.tenant == whose
    ]
    rows = [_running(exchange) for exchange in found[:MOST]]
    return answer({"requests": rows, "count": len(found)})


def _running(exchange: Exchange) -> dict[str, Any]:
    arrival, target = exchange.arrival, exchange.decision.target
    first = exchange.outcome.first_byte_ms
    return {
        "id": arrival.id,
        "at": arrival.at,
        "front": arrival.front,
        "action": arrival.action,
        "asked": arrival.client_model,
        "model": None if target is None else target.model,
        "stream": arrival.stream,
        "key_id": arrival.principal.key_id,
        "session_id": arrival.session_id,
        "elapsed_ms": round(arrival.elapsed_ms()),
        "first_byte_ms": None if first is None else round(first),
    }


COLUMNS = (
    *("id", "at", "key_id", "user_id", "team_id", "session_id", "asked", "model", "front"),
    *("action", "dialect", "stream", "status", "error", "code", "stop_reason", "attempts"),
    *("duration_ms", "first_byte_ms", "input_tokens", "cached_input_tokens"),
    *("cache_creation_input_tokens", "output_tokens", "reasoning_tokens", "cost_usd", "losses"),
)
MOST_LINES = 100_000
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of cells that a spreadsheet would compute."""


async def table(service: Service, request: Request, principal: Principal) -> Response:
    """The same as a file for spreadsheets, the newest first."""
    filter = _filter_of(request.query_params, principal)
    headers = {
        "cache-control": "no-store",
        "content-disposition": 'attachment; filename="requests.csv"',
    }
    return StreamingResponse(_lines(service.store, filter), headers=headers, media_type="text/csv")


async def _lines(store: AsyncStore, filter: RequestFilter) -> AsyncGenerator[bytes, None]:
    yield _csv([COLUMNS])
    last, left = None, MOST_LINES
    while left:
        rows = await store.requests(filter, min(MOST, left), last)
        if not rows:
            return
        yield _csv([_cells(row) for row in rows])
        last, left = rows[-1], left - len(rows)


def _cells(row: RequestRow) -> list[object]:
    known = request_dict(row)
    known |= known.get("usage") or {}
    return [_safe(known.get(name)) for name in COLUMNS]


def _safe(value: object) -> object:
    """A text as itself in a spreadsheet, too."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _csv(rows: Iterable[Iterable[object]]) -> bytes:
    out = StringIO()
    writer(out).writerows(rows)
    return out.getvalue().encode("utf-8", "replace")


async def keys(service: Service, request: Request, principal: Principal) -> Response:
    """Keys that the caller may see, with their caps and spending; and whether the caller's own
    key is an admin key."""
    found = await visible_keys(service.store, tenant_of(principal))
    admin = isinstance(principal, KeyPrincipal) and principal.admin
    return answer({"keys": found, "admin": admin})


def tenant_of(principal: Principal) -> str | None:
    """The tenant whose requests the caller sees; None for all of them."""
    if isinstance(principal, KeyPrincipal) and principal.read_requests:
        return None
    return principal.tenant


def _filter_of(query: Mapping[str, str], principal: Principal) -> RequestFilter:
    filter = RequestFilter(
        tenant=tenant_of(principal),
        key_id=_text(query, "key"),
        model=_text(query, "model"),
        since=_time(query, "since"),
        until=_time(query, "until"),
    )
    status = query.get("status")
    try:
        return filter if status is None else with_status(filter, status)
    except StatusError as error:
        raise ApiError(400, "invalid_filter", str(error)) from None


def _text(query: Mapping[str, str], name: str) -> str | None:
    value = query.get(name)
    return None if value is None else text_of(value, name)


def _time(query: Mapping[str, str], name: str) -> datetime | None:
    value = query.get(name)
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        text = f"{name}: expected a time like 2026-11-16T08:30Z"
        raise ApiError(400, "invalid_filter", text) from None


async def _row(service: Service, id: str, principal: Principal) -> RequestRow:
    """The caller's request; another tenant's looks like one that does not exist."""
    if id.startswith(PREFIX) and is_ulid(id.removeprefix(PREFIX)):
        try:
            row = await service.store.request(id)
        except NotFoundError:
            pass
        else:
            whose = tenant_of(principal)
            if whose is None or row.tenant == whose:
                return row
    raise ApiError(404, "request_not_found", "no such request")


async def _live(
    service: Service, request: Request, principal: Principal, filter: RequestFilter
) -> Response:
    last = await service.store.last_request()
    after = number(request.query_params, "after", last, 0, LARGEST)
    cursor = feed.cursor_of(request, "a request")
    after = after if cursor is None else cursor
    if after > last:
        raise ApiError(410, "cursor_expired", "no request has this number")
    pieces = _until_store_fails(service.watching.read(filter, after))
    return feed.event_stream(service, principal, pieces)


async def _until_store_fails(source: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The stream; if the store does not answer, it ends, and the client reconnects."""
    try:
        async with aclosing(source):
            async for piece in source:
                yield piece
    except StoreError as error:
        logger.warning("requests_not_read", extra={"why": error.reason})
        yield feed.frame("error", {"code": "store_unavailable"})


POLL = 0.5
"""Seconds between polls for requests of other workers."""
GATHER = 0.05
"""Seconds in which requests are gathered before the store is read again."""
LIVE_PAGE = 100
NAME = "request"


class RequestWatchers(feed.Poller):
    """The watchers in this process, and the position in the store."""

    def __init__(self, store: AsyncStore) -> None:
        super().__init__()
        self._store = store
        self._last = 0
        self._readers = 0
        self._more = asyncio.Event()
        """Set, and put away, when there is more to read."""

    def __len__(self) -> int:
        return self._readers

    def poke(self) -> None:
        """This process has written some."""
        self._poked.set()

    async def read(self, filter: RequestFilter, after: int) -> AsyncGenerator[bytes, None]:
        """The requests after a number, until the reader leaves or the gateway stops."""
        self._readers += 1
        self._last = max(self._last, after)
        self._begin(self._poll)
        try:
            yield feed.WATCHING
            while not self.closed.is_set():
                more = self._more
                while after < self._last:
                    after, piece = await self._page(filter, after, self._last)
                    if piece:
                        yield piece
                if not await feed.is_set(more):
                    yield feed.PING
        finally:
            self._readers -= 1

    async def _page(self, filter: RequestFilter, after: int, upto: int) -> tuple[int, bytes]:
        """The requests that fit in a page, and the last number of it."""
        rows = await self._store.requests_after(after, upto, filter, LIVE_PAGE)
        piece = b"".join([feed.frame(NAME, request_dict(row), row.seq) for row in rows])
        return (rows[-1].seq if len(rows) == LIVE_PAGE else upto), piece

    async def _poll(self) -> None:
        while self._readers and not self.closed.is_set():
            self._poked.clear()
            try:
                self._reach(await self._store.last_request())
            except StoreError as error:
                logger.warning("requests_not_read", extra={"why": error.reason})
            await asyncio.sleep(GATHER)
            await feed.is_set(self._poked, POLL)

    def _reach(self, last: int) -> None:
        if last > self._last:
            self._last = last
            self._wake()

    def _wake(self) -> None:
        more, self._more = self._more, asyncio.Event()
        more.set()

    def close(self) -> None:
        super().close()
        self._wake()
