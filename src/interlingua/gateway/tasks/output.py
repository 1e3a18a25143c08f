"""Tasks, queues and questions as clients see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
from starlette.requests import Request

from interlingua.errors import ReadError
from interlingua.gateway.settings import Limits
from interlingua.gateway.shared.bodies import json_of
from interlingua.gateway.shared.callers import ApiError
from interlingua.model.message import Message, Role
from interlingua.model.rules import validate
from interlingua.store.task_rows import ConfirmationRow, QueuedRow, TaskEventRow, TaskRow
from interlingua.views.openai_ui import message_from_param, write_queue

MARIA = "maria"
"""The name of every event that is stored."""
DELTA = "maria.delta"
"""The event name for pieces of an unfinished answer."""
QUEUE = "maria.queued_messages.synchronized"
CONFIRMATIONS = "maria.confirmations.synchronized"
ALL_TASKS = "daemon.tasks.synchronized"
ONE_TASK = "daemon.task.changed"


def task(row: TaskRow, port: int | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "status": row.status,
        "created": row.created_at // 1000,
        "cwd": row.cwd,
        "port": port,
        "web_search": row.web_search,
        "model": row.model,
        "interrupted": row.interrupted and not row.generating,
        "queued": row.queued,
        "waiting": row.waiting,
        "changed": row.changed_at // 1000,
        "ended": None if row.ended_at is None else row.ended_at // 1000,
    }


def detail(
    row: TaskRow, port: int | None, queue: list[QueuedRow], open: list[ConfirmationRow]
) -> dict[str, Any]:
    """One task, with its queue and open confirmations."""
    confirmations = [confirmation(each) for each in open]
    return {**task(row, port), "queued_messages": queued(queue), "confirmations": confirmations}


def queued(rows: Iterable[QueuedRow]) -> list[Any]:
    """`[{id, message}]`, without the message that is about to begin."""
    waiting: list[tuple[str, Message]] = [
        (row.id, row.message) for row in rows if row.state == "queued" and row.message is not None
    ]
    wire: list[Any] = write_queue(waiting).wire
    return wire


def confirmation(row: ConfirmationRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "side_effects": row.side_effects,
        "args": row.input,
        "status": row.status,
        "asked": row.asked_at // 1000,
        "expires": row.expires_at // 1000,
    }


def event(row: TaskEventRow) -> bytes:
    """An event with its id and time, as JSON. Stored bodies are objects with a `msg`."""
    head = b'{"id":"%b","seq":%d,"time":%d,' % (row.id.encode(), row.seq, row.made_at // 1000)
    return head + row.body[1:]


def event_frame(row: TaskEventRow) -> bytes:
    return b"id: %d\nevent: maria\ndata: %b\n\n" % (row.seq, event(row))


MOST_BYTES = 4 * 1024 * 1024
"""Bytes of a message: every reader of the task gets it."""
MEMBERS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
"""Members of a body that is a message itself."""


class NewTask(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /task`; a body with a `role` is the message alone."""

    message: dict[str, Any] | None = None
    cwd: str | None = None
    name: str | None = None
    model: str | None = None
    web_search: bool = False
    delegate: bool = False


class NewMessage(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /task/{id}/message`; a body with a `role` is the message alone."""

    message: dict[str, Any]
    web_search: bool | None = None


class NewBranch(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /task/{id}/branch`: `message` in place of the message `before`, or behind the message
    `after`. Without it, the one `before` is sent again."""

    before: str | None = None
    after: str | None = None
    message: dict[str, Any] | None = None


class NewAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /task/{id}/confirmations`: whether the call of this id may run."""

    id: str
    approved: bool


async def new_task(request: Request, limits: Limits) -> tuple[NewTask, Message | None]:
    body, place = await _body_and_path(request, limits)
    if place == "$":
        return NewTask(), message_of(body, place)
    task = _converted(body, NewTask)
    return task, None if task.message is None else message_of(task.message, place)


async def new_message(request: Request, limits: Limits) -> Message:
    body, place = await _body_and_path(request, limits)
    if place == "$":
        return message_of(body, place)
    return message_of(_converted(body, NewMessage).message, place)


async def new_branch(request: Request, limits: Limits) -> tuple[NewBranch, Message | None]:
    body: NewBranch = _converted(await json_of(request, limits), NewBranch)
    return body, None if body.message is None else message_of(body.message, "$.message")


async def new_answer(request: Request, limits: Limits) -> NewAnswer:
    body: NewAnswer = _converted(await json_of(request, limits), NewAnswer)
    return body


async def _body_and_path(request: Request, limits: Limits) -> tuple[Any, str]:
    """The body, and where the message is in it."""
    body = await json_of(request, replace(limits, body=min(limits.body, MOST_BYTES)))
    if not isinstance(body, dict) or "role" not in body or "message" in body:
        return body, "$.message"
    for name in body.keys() - MEMBERS:
        text = f"{name[:80]}: unknown member of a message; other members go beside `message`"
        raise ApiError(400, "invalid_message", f"$.{text}")
    return body, "$"


def _converted(body: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, "invalid_request", f"the body: {error}"[:500]) from None


def message_of(plain: Any, place: str) -> Message:
    """Reads a message from the client; errors name the place."""
    try:
        message = message_from_param(plain, place)
    except ReadError as error:
        raise ApiError(400, "invalid_message", str(error)[:500]) from None
    if message.role in (Role.USER, Role.SYSTEM) and not message.text.strip():
        raise ApiError(400, "invalid_message", f"{place}.content: expected some content")
    broken = validate(message)
    if broken:
        raise ApiError(400, "invalid_message", f"{place}: {broken[0]}"[:500])
    return message
