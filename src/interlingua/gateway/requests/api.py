"""What passed the gateway, over HTTP. A request belongs to whoever made it, as a session does; of
all others it is as if it were not there. A key that may read the requests of all, and everybody on
a gateway without keys, sees them all. Nothing can be changed here."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from interlingua.bus.event import NO_SESSION
from interlingua.gateway.requests.caps import visible_keys
from interlingua.gateway.sessions.live import frame
from interlingua.gateway.shared.bodies import number, text_of
from interlingua.gateway.shared.callers import ApiError, answer, tenant_of
from interlingua.gateway.shared.patient_response import PatientResponse
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import Principal
from interlingua.ids import is_ulid
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.request_rows import (
    RequestRow,
    StatusError,
    Wanted,
    request_details,
    request_dict,
    with_status,
)
from interlingua.store.requests import PREFIX

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

logger = logging.getLogger(__name__)

PAGE, MOST = 50, 200
LARGEST = 2**53
STREAM = "text/event-stream"


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    """A page of them, the newest first; for who accepts `text/event-stream`, those that end from
    now on, or behind a number."""
    query = request.query_params
    wanted = _wanted(query, principal)
    if STREAM in request.headers.get("accept", ""):
        return await _live(service, request, wanted)
    limit = number(query, "limit", PAGE, 1, MOST)
    before = query.get("before")
    last = None if before is None else await _row(service, before, principal)
    upto = await service.store.last_request()
    found = await service.store.requests(wanted, limit + 1, last)
    rows = [request_dict(row) for row in found[:limit]]
    return answer({"requests": rows, "has_more": len(found) > limit, "last": upto})


async def show(service: Service, request: Request, principal: Principal) -> Response:
    row = await _row(service, request.path_params["id"], principal)
    return answer(request_details(row, await service.store.request_trace(row.id, NO_SESSION)))


async def keys(service: Service, request: Request, principal: Principal) -> Response:
    """Keys that the caller may know of, with their caps and what was spent of them."""
    return answer({"keys": await visible_keys(service.store, _whose(principal))})


def _whose(principal: Principal) -> str | None:
    """The tenant whose requests the caller sees; None for all of them."""
    if isinstance(principal, KeyPrincipal) and principal.read_requests:
        return None
    return tenant_of(principal)


def _wanted(query: Mapping[str, str], principal: Principal) -> Wanted:
    wanted = Wanted(
        tenant=_whose(principal),
        key_id=_text(query, "key"),
        model=_text(query, "model"),
        since=_time(query, "since"),
        until=_time(query, "until"),
    )
    status = query.get("status")
    try:
        return wanted if status is None else with_status(wanted, status)
    except StatusError as error:
        raise ApiError(400, "invalid_filter", str(error)) from None


def _text(query: Mapping[str, str], name: str) -> str | None:
    said = query.get(name)
    return None if said is None else text_of(said, name)


def _time(query: Mapping[str, str], name: str) -> datetime | None:
    said = query.get(name)
    if said is None:
        return None
    try:
        time = datetime.fromisoformat(said)
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        text = f"{name}: expected a time like 2026-11-16T08:30Z"
        raise ApiError(400, "invalid_filter", text) from None


async def _row(service: Service, id: str, principal: Principal) -> RequestRow:
    """The caller's request; somebody else's is told of like one that does not exist."""
    if id.startswith(PREFIX) and is_ulid(id.removeprefix(PREFIX)):
        try:
            row = await service.store.request(id)
        except NotFoundError:
            pass
        else:
            whose = _whose(principal)
            if whose is None or row.tenant == whose:
                return row
    raise ApiError(404, "request_not_found", "no such request")


async def _live(service: Service, request: Request, wanted: Wanted) -> Response:
    last = await service.store.last_request()
    after = number(request.query_params, "after", last, 0, LARGEST)
    said = request.headers.get("last-event-id")
    if said is not None:
        if not (said.isascii() and said.isdigit()) or len(said) > 15:
            text = "Last-Event-ID: expected the number of a request"
            raise ApiError(400, "invalid_cursor", text)
        after = int(said)
    if after > last:
        raise ApiError(410, "cursor_expired", "there is no request of this number")
    return PatientResponse(
        _told(service.watching.read(wanted, after)),
        service.limits.stalled,
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        media_type=STREAM,
    )


async def _told(source: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """The stream; where the store does not answer it ends, and the client comes back."""
    try:
        async with aclosing(source):
            async for piece in source:
                yield piece
    except StoreError as error:
        logger.warning("requests_not_read", extra={"why": error.reason})
        yield frame("error", {"code": "store_unavailable"})
