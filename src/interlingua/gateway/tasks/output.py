"""Tasks, queues and questions as clients see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from interlingua.model.message import Message
from interlingua.store.task_rows import ConfirmationRow, QueuedRow, TaskEventRow, TaskRow
from interlingua.views.openai_events import write_queue

MARIA = "maria"
"""The name of every event that is stored."""
DELTA = "maria.delta"
"""The name of what is being said right now."""
QUEUE = "maria.queued_messages.synchronized"
CONFIRMATIONS = "maria.confirmations.synchronized"
ALL_TASKS = "daemon.tasks.synchronized"
ONE_TASK = "daemon.task.changed"
_encode = msgspec.json.Encoder().encode


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
    """One task, with what waits."""
    asked = [confirmation(each) for each in open]
    return {**task(row, port), "queued_messages": queued(queue), "confirmations": asked}


def queued(rows: Iterable[QueuedRow]) -> list[Any]:
    """`[{id, message}]`; what is about to begin is nobody's queue."""
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


def frame(name: str, value: Any) -> bytes:
    """An event that is not stored, and so has no number. JSON has no line breaks of its own."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(value))
