"""Tasks over HTTP. A task belongs to its maker, as a session does; others see it as missing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from interlingua.agents.chat.files import WRITE_FILE
from interlingua.agents.tasks import events
from interlingua.agents.tasks.core import new_message_id
from interlingua.agents.tasks.events import TaskBusyError
from interlingua.errors import InterlinguaError
from interlingua.gateway.sessions.api import purge_session
from interlingua.gateway.shared.bodies import flag, number, text_of
from interlingua.gateway.shared.callers import JSON, ApiError, answer
from interlingua.gateway.shared.feed import HEADERS, STREAM, cursor_of, event_stream
from interlingua.gateway.shared.state import Principal, Refusal
from interlingua.gateway.tasks import output
from interlingua.gateway.tasks.output import (
    NewBranch,
    new_answer,
    new_branch,
    new_message,
    new_task,
)
from interlingua.gateway.tasks.overview import all_tasks
from interlingua.gateway.tasks.runs import folder_of, owner_of, require_folder
from interlingua.model.ids import is_ulid
from interlingua.model.message import Message, Role
from interlingua.store.errors import (
    ConflictError,
    NotFoundError,
    QueueFullError,
    ReusedIdError,
    StoreError,
)
from interlingua.store.task_rows import Decision, QueueLimit, QueueResult, TaskRow
from interlingua.tools.handlers import WorkspaceError
from interlingua.tools.workspace import Workspace

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

logger = logging.getLogger(__name__)

PAGE, MOST = 100, 1000
MOST_WAITING, MOST_WAITING_BYTES = 100, 8 * 1024 * 1024
"""Messages in the queue of one task: all of it is shown to each reader when it changes."""
LONGEST = 80
"""Characters of a title."""
IDLE = -1
"""The code of the response to a cancel if nothing runs: the daemon whose API this is uses one for
everything."""


# Tasks


async def create(service: Service, request: Request, principal: Principal) -> Response:
    body, message = await new_task(request, service.limits)
    name = _title(message) if body.name is None else text_of(body.name, "name")
    model = None if body.model is None else text_of(body.model, "model")
    cwd = folder_of(body.cwd, principal, service.gateway.settings)
    if body.delegate and not service.gateway.settings.tasks.delegate:
        text = "delegate: disabled on this gateway; see [tasks] delegate"
        raise ApiError(403, "delegation_off", text)
    _require_open(service)
    runs = service.tasks
    try:
        row = await runs.create(principal, cwd, model, name, body.web_search, body.delegate)
    except ConflictError:
        there = await service.store.task_at(owner_of(principal), cwd)
        if there is None:
            raise
        return answer(await _detail(service, request, await runs.seen(there)), 409)
    if message is not None:
        await _first_message(service, row, principal, message)
    shown = await _detail(service, request, await service.store.task(row.id))
    return answer(shown, 201, {"location": f"/task/{row.id}"})


def _title(message: Message | None) -> str | None:
    """A task's title is the beginning of its first message."""
    words = "" if message is None else message.text.strip().partition("\n")[0].strip()
    return None if not words else words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


async def _first_message(
    service: Service, row: TaskRow, principal: Principal, message: Message
) -> None:
    """A task whose first message cannot be taken up is not made."""
    try:
        await service.tasks.give(row, principal, message, new_message_id(row.id))
    except (InterlinguaError, ApiError, Refusal):
        await service.store.delete_session(row.id)
        service.tasks.changed(row.id)
        raise


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    """All of the caller's that live, the newest first; with `ended=true` a page of all."""
    owner, query = owner_of(principal), request.query_params
    if flag(query, "ended"):
        limit = number(query, "limit", PAGE, 1, MOST)
        rows = await service.store.tasks(owner, limit, query.get("before"), ended=True)
    else:
        rows = await all_tasks(service.store, owner)
    rows = [await service.tasks.seen(row) for row in rows]
    return answer({"tasks": [output.task(row, _port(request)) for row in rows]})


async def show(service: Service, request: Request, principal: Principal) -> Response:
    row = await _row(service, request, principal)
    return answer(await _detail(service, request, row))


async def status(service: Service, request: Request, principal: Principal) -> Response:
    row = await _row(service, request, principal)
    shown = output.task(row, None)
    return answer({name: shown[name] for name in ("status", "web_search", "interrupted")})


async def end(service: Service, request: Request, principal: Principal) -> Response:
    """Frees its folder for another task; with `purge=true` the task is deleted."""
    row = await _row(service, request, principal)
    purge = flag(request.query_params, "purge")
    await service.tasks.end(row)
    if purge:
        await purge_session(service.store, row.id)
        service.tasks.changed(row.id)
    return answer({"id": row.id, "ended": True, "purged": purge})


# Messages


async def message(service: Service, request: Request, principal: Principal) -> Response:
    row = await _row(service, request, principal)
    new = await new_message(request, service.limits)
    _require_open(service)
    if row.ended_at is not None:
        raise ApiError(409, "task_ended", "the task has ended")
    id = new_message_id(row.id, request.headers.get("idempotency-key"))
    most = QueueLimit(MOST_WAITING, MOST_WAITING_BYTES)
    try:
        done: QueueResult = await service.tasks.give(row, principal, new, id, most)
    except QueueFullError as full:
        text = f"the queue of this task is full: {full.messages} messages, {full.size} bytes"
        raise ApiError(429, "queue_full", text) from None
    except ReusedIdError:
        text = "this idempotency key was already used for a different message"
        raise ApiError(422, "idempotency_key_reused", text) from None
    return answer({"id": id, "queued": done.state == "queued"})


async def unqueue(service: Service, request: Request, principal: Principal) -> Response:
    """Take back a message that waits."""
    row = await _row(service, request, principal)
    id = request.path_params["message"]
    taken = await service.store.unqueue_message(row.id, id, events.removed)
    if taken is None:
        raise ApiError(404, "message_not_found", "no such queued message")
    service.tasks.changed(row.id)
    return answer(output.queued([taken])[0])


async def queues(service: Service, request: Request, principal: Principal) -> Response:
    """The queued messages of all the caller's tasks, or of one."""
    id = request.query_params.get("task")
    if id is not None:
        row = await _row_of(service, id, principal)
        return answer(output.queued(await service.store.task_queue(row.id)))
    return answer(output.queued(await service.store.owned_queues(owner_of(principal))))


async def cancel(service: Service, request: Request, principal: Principal) -> Response:
    row = await _row(service, request, principal)
    pending = await service.tasks.stop(row)
    if pending is None:
        error = {"code": IDLE, "message": "the task is not running"}
        return answer({"error": error}, 404)
    return answer({"pending_messages": output.queued(pending)})


async def resume(service: Service, request: Request, principal: Principal) -> Response:
    """Go on where the last run broke off."""
    row = await _row(service, request, principal)
    _require_open(service)
    if row.ended_at is not None:
        raise ApiError(409, "task_ended", "the task has ended")
    await service.tasks.resume(row, principal)
    return answer(await _detail(service, request, await service.store.task(row.id)), 202)


async def branch(service: Service, request: Request, principal: Principal) -> Response:
    """Another task in the same folder, from a message of this one on: that message sent again, or
    another one in its place or behind it. This one ends."""
    row = await _row(service, request, principal)
    body, message = await new_branch(request, service.limits)
    _require_open(service)
    if row.generating:
        raise TaskBusyError(row.id)
    if row.ended_at is not None:
        raise ApiError(409, "task_ended", "the task has ended")
    first, last, message = await _branch_point(service, row, body, message)
    require_folder(row.cwd, principal, service.gateway.settings)
    is_titled = last is None and row.name == _title(first)
    name = _title(message) if is_titled else None
    made = await service.store.branch_task(row.id, last, name=name)
    service.tasks.ended(await service.store.task(row.id))
    await _first_message(service, made, principal, message)
    shown = await _detail(service, request, await service.store.task(made.id))
    return answer(shown, 201, {"location": f"/task/{made.id}"})


async def _branch_point(
    service: Service, row: TaskRow, body: NewBranch, message: Message | None
) -> tuple[Message, str | None, Message]:
    """The first message of the task, the last one that is copied, and the one that is sent."""
    if (body.before is None) == (body.after is None):
        raise ApiError(400, "invalid_request", "expected either before or after")
    id = body.before or body.after or ""
    try:
        named = await service.store.message(row.id, id)
    except NotFoundError:
        raise ApiError(404, "message_not_found", "no such message in this task") from None
    if message is None:
        if body.before is None or named.role is not Role.USER:
            text = "message: required unless a user's message is sent again"
            raise ApiError(400, "invalid_request", text)
        message = Message(Role.USER, named.content, named.name)
    there = await service.store.messages(row.id)
    if body.after is not None:
        return there[0], id, message
    at = [each.id for each in there].index(id)
    return there[0], (there[at - 1].id if at else None), message


# Questions


async def confirmations(service: Service, request: Request, principal: Principal) -> Response:
    row = await _row(service, request, principal)
    confirmations = await service.store.confirmations(row.id)
    return answer({"confirmations": [output.confirmation(each) for each in confirmations]})


async def confirm(service: Service, request: Request, principal: Principal) -> Response:
    """Answers a confirmation; the first answer counts, if it is in time."""
    row = await _row(service, request, principal)
    body = await new_answer(request, service.limits)
    decision: Decision = "approved" if body.approved else "denied"
    if body.approved:
        require_folder(row.cwd, principal, service.gateway.settings)
    try:
        confirmation, counts = await service.store.answer_confirmation(row.id, body.id, decision)
    except NotFoundError:
        raise ApiError(404, "confirmation_not_found", "no such confirmation") from None
    if not counts:
        text = f"already decided: {confirmation.status}"
        raise ApiError(409, "already_decided", text, {"status": confirmation.status})
    service.tasks.asking.heard(row.id, body.id)
    service.tasks.changed(row.id)
    return answer(output.confirmation(confirmation))


MOST_SHOWN = 256 * 1024
"""The most bytes of a file to show beside the planned change."""


async def file_before(service: Service, request: Request, principal: Principal) -> Response:
    """The current content of the file that a waiting call would write: null if it does not
    exist, is long, or is not text."""
    row = await _row(service, request, principal)
    try:
        asked = await service.store.confirmation(row.id, request.path_params["call"])
    except NotFoundError:
        raise ApiError(404, "confirmation_not_found", "no such confirmation") from None
    path = asked.input.get("path") if isinstance(asked.input, dict) else None
    if asked.name != WRITE_FILE.name or not isinstance(path, str):
        raise ApiError(404, "no_file", "this call writes no file")
    require_folder(row.cwd, principal, service.gateway.settings)
    return answer({"path": path, "text": await asyncio.to_thread(_text_at, row.cwd, path)})


def _text_at(folder: str, path: str) -> str | None:
    try:
        return Workspace(folder).read(path, MOST_SHOWN).decode()
    except (WorkspaceError, OSError, UnicodeDecodeError):
        return None


# Events


async def events_of_task(service: Service, request: Request, principal: Principal) -> Response:
    """Past and future events. Clients that accept only JSON get a page."""
    row = await _row(service, request, principal)
    after = _after(request, row)
    if _wants_json(request):
        limit = number(request.query_params, "limit", PAGE, 1, MOST)
        rows = await service.store.task_events(row.id, after, limit)
        part = b",".join([output.event(each) for each in rows])
        more = b"true" if (rows[-1].seq if rows else after) < row.event_count else b"false"
        body = b'{"events":[%b],"has_more":%b}' % (part, more)
        return Response(body, headers={"cache-control": "no-store"}, media_type=JSON)
    return await _stream(service, request, principal, service.tasks.feeds.read(row, after))


async def events_of_all(service: Service, request: Request, principal: Principal) -> Response:
    """The caller's tasks, and each that changes from now on."""
    if _wants_json(request):
        return await listing(service, request, principal)
    reading = service.tasks.overview.read(owner_of(principal), _port(request))
    return await _stream(service, request, principal, reading)


async def _stream(
    service: Service, request: Request, principal: Principal, pieces: AsyncGenerator[bytes, None]
) -> Response:
    """Streams the pieces; an error before the first one becomes a plain error answer."""
    if request.method == "HEAD":
        return Response(headers=HEADERS, media_type=STREAM)
    first = await anext(pieces)
    return event_stream(service, principal, _after_first(first, pieces))


async def _after_first(
    first: bytes, rest: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(rest):
        yield first
        try:
            async for piece in rest:
                yield piece
        except StoreError as error:  # the client comes back, and goes on where it was
            logger.warning("stream_ended", extra={"why": error.reason})


def _wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return JSON in accepted and STREAM not in accepted and "*/*" not in accepted


def _after(request: Request, row: TaskRow) -> int:
    """The last event that the reader has; the header takes precedence over the URL, because a
    reconnecting browser sends both."""
    cursor = cursor_of(request) if request.headers.get("last-event-id") else None
    if cursor is not None:
        if cursor > row.event_count:
            raise ApiError(410, "cursor_expired", "the task has no event of this number")
        return cursor
    query = request.query_params
    tail = number(query, "tail", -1, 0, 2**53)
    if tail >= 0:
        return max(0, row.event_count - tail)
    return number(query, "after", 0, 0, 2**53)


# What all of them need


async def _row(service: Service, request: Request, principal: Principal) -> TaskRow:
    return await _row_of(service, request.path_params["id"], principal)


async def _row_of(service: Service, id: str, principal: Principal) -> TaskRow:
    """The caller's task; another tenant's looks like one that does not exist."""
    if is_ulid(id):
        try:
            row = await service.store.task(id)
        except NotFoundError:
            pass
        else:
            if row.owner == owner_of(principal):
                return await service.tasks.seen(row)
    raise ApiError(404, "task_not_found", "no such task")


async def _detail(service: Service, request: Request, row: TaskRow) -> dict[str, Any]:
    """The task under its name, and its members beside it, for clients that look there."""
    queue = await service.store.task_queue(row.id)
    confirmations = await service.store.confirmations(row.id) if row.waiting else []
    shown = output.detail(row, _port(request), queue, confirmations)
    return {**shown, "task": shown}


def _port(request: Request) -> int | None:
    server = request.scope.get("server")
    return None if server is None else server[1]


def _require_open(service: Service) -> None:
    if service.gateway.draining:
        raise ApiError(503, "shutting_down", "the gateway is shutting down; try again")
