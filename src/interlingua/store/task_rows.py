"""Rows of tasks: plain and immutable, times in microseconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.model.message import Message
from interlingua.store.rows import Table
from interlingua.store.statements import filled

QueueState = Literal["starting", "queued", "taken", "removed"]
"""`starting`: about to be taken up without having waited; it is never shown in a queue."""
Decision = Literal["waiting", "approved", "denied", "timeout", "cancelled"]


class TaskRow(msgspec.Struct, frozen=True):
    """A task: a session (`id` is the session's) in which an agent runs.

    `reported` is the number of messages that its events cover. `now` is the database's
    clock when the row was read: with it, and not with ours, the lease is compared."""

    id: str
    owner: str
    cwd: str
    status: str = "idle"
    holder: str | None = None
    lease_until: int = 0
    stopping: bool = False
    interrupted: bool = False
    web_search: bool = False
    reported: int = 0
    event_count: int = 0
    created_at: int = 0
    changed_at: int = 0
    ended_at: int | None = None
    name: str | None = None
    model: str | None = None
    queued: int = 0
    waiting: int = 0
    now: int = 0

    @property
    def generating(self) -> bool:
        return self.status == "generating"

    @property
    def abandoned(self) -> bool:
        """Whether its holder has been silent for longer than its lease."""
        return self.generating and self.lease_until <= self.now


TASKS = Table(
    "tasks",
    TaskRow,
    names={"reported": "told"},
    without=("name", "model", "queued", "waiting", "now"),
)
"""The columns of tasks, without those from other tables."""


class QueuedRow(NamedTuple):
    """A message that waits, or has waited, for its turn."""

    task_id: str
    id: str
    state: QueueState
    message: Message | None
    """None once it was taken up: then it is in the conversation."""
    key_id: str | None = None
    """The gateway key of its sender."""


class QueueLimit(NamedTuple):
    """The most that may be queued in a task before another message is refused."""

    messages: int
    size: int
    """Bytes of all of them, as they are stored."""


class QueueResult(NamedTuple):
    """The outcome of queueing a message for a task."""

    task: TaskRow
    state: QueueState
    is_new: bool
    """False: the same message was there already."""
    claimed: bool
    """Whether the task is now the caller's to run."""


class TaskEventRow(NamedTuple):
    """One event. `body` is a JSON object without id and time."""

    seq: int
    id: str
    made_at: int
    body: bytes


class ConfirmationRow(NamedTuple):
    """A question whether a call may run; `id` is the call's."""

    task_id: str
    id: str
    status: Decision
    name: str
    side_effects: str
    input: Any
    asked_at: int
    expires_at: int


class TaskUpdate(NamedTuple):
    """An update from the holder of a task: events, how many messages they cover, and which queued
    messages were taken up."""

    holder: str
    events: Sequence[bytes] = ()
    reported: int | None = None
    taken: Sequence[str] = ()
    goes_on: bool = False
    """The run was to be stopped, has stopped, and continues with newer messages."""


_SQLITE = {"lock": "", "size": "length(CAST(message_json AS BLOB))"}
_POSTGRES = {"lock": " FOR UPDATE OF t", "size": "octet_length(message_json::text)"}
_FIXED = ("id", "owner", "cwd", "web_search", "created_at")
"""Columns of a task that never change."""
CHANGING = tuple([column for column in TASKS.columns if column not in _FIXED])
_CHANGES = ", ".join([f"{column} = ?" for column in CHANGING])
_TASK = (
    f"SELECT {TASKS.selected('t.')}, s.name, s.active_model,"
    " (SELECT count(*) FROM task_messages q WHERE q.session_id = t.id AND q.state = 'queued'),"
    " (SELECT count(*) FROM task_confirmations c WHERE c.session_id = t.id"
    " AND c.status = 'waiting'), {clock}"
    " FROM tasks t JOIN sessions s ON s.id = t.id"
)
_QUEUED = "SELECT session_id, id, state, {bytes[message_json]}, key_id FROM task_messages"
_CONFIRMATION = (
    "SELECT session_id, id, status, name, side_effects, {bytes[input_json]}, asked_at, expires_at"
    " FROM task_confirmations"
)


class TaskStatements(NamedTuple):
    """The statements of one engine."""

    clock: str = "SELECT {clock}"
    add: str = TASKS.insert()
    task: str = f"{_TASK} WHERE t.id = ?"
    lock: str = f"{_TASK} WHERE t.id = ?{{lock}}"
    at: str = f"{_TASK} WHERE t.owner = ? AND t.cwd = ? AND t.ended_at IS NULL"
    living: str = (
        f"{_TASK} WHERE t.owner = ? AND t.id < ? AND t.ended_at IS NULL ORDER BY t.id DESC LIMIT ?"
    )
    all: str = f"{_TASK} WHERE t.owner = ? AND t.id < ? ORDER BY t.id DESC LIMIT ?"
    changed: str = f"{_TASK} WHERE t.changed_at > ? ORDER BY t.changed_at LIMIT ?"
    generating: str = f"{_TASK} WHERE t.status = 'generating' ORDER BY t.id"
    owned: str = (
        "SELECT owner, count(*) FROM tasks WHERE ended_at IS NULL AND owner {any} GROUP BY owner"
    )
    watch: str = "SELECT id, event_count, changed_at FROM tasks WHERE id {any}"
    save: str = f"UPDATE tasks SET {_CHANGES} WHERE id = ?"
    renew: str = (
        "UPDATE tasks SET lease_until = {clock} + ? WHERE status = 'generating' AND id {any}"
        " AND holder {any} RETURNING holder"
    )
    stopping: str = "SELECT id FROM tasks WHERE stopping = 1 AND id {any}"

    add_message: str = (
        "INSERT INTO task_messages"
        " (session_id, id, seq, state, message_json, digest, key_id, made_at)"
        " SELECT ?, ?, coalesce(max(seq), 0) + 1, ?, {json}, ?, ?, {clock} FROM task_messages"
        " WHERE session_id = ?"
    )
    message: str = f"{_QUEUED} WHERE session_id = ? AND id = ?"
    queue: str = (
        f"{_QUEUED} WHERE session_id = ? AND state IN ('starting', 'queued') ORDER BY seq LIMIT ?"
    )
    queue_size: str = (
        "SELECT count(*), coalesce(sum({size}), 0) FROM task_messages"
        " WHERE session_id = ? AND state = 'queued'"
    )
    digest: str = "SELECT digest FROM task_messages WHERE session_id = ? AND id = ?"
    queues: str = (
        "SELECT q.session_id, q.id, q.state, {bytes[message_json]}, q.key_id FROM task_messages q"
        " JOIN tasks t ON t.id = q.session_id WHERE t.owner = ? AND t.ended_at IS NULL"
        " AND q.state = 'queued' ORDER BY q.session_id, q.seq LIMIT ?"
    )
    set_state: str = "UPDATE task_messages SET state = ? WHERE session_id = ? AND id = ?"
    close_message: str = (
        "UPDATE task_messages SET state = ?, message_json = NULL WHERE session_id = ? AND id = ?"
    )
    drop_message: str = "DELETE FROM task_messages WHERE session_id = ? AND id = ?"

    add_event: str = (
        "INSERT INTO task_events (session_id, seq, id, made_at, size, body_json)"
        " VALUES (?, ?, ?, ?, ?, {json})"
    )
    events: str = (
        "SELECT seq, id, made_at, {bytes[body_json]} FROM (SELECT seq, id, made_at, size,"
        " body_json, sum(size) OVER (ORDER BY seq) AS total FROM (SELECT seq, id, made_at, size,"
        " body_json FROM task_events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?)"
        " AS page) AS sized WHERE total - size < ? ORDER BY seq"
    )

    add_confirmation: str = (
        "INSERT INTO task_confirmations (session_id, id, status, name, side_effects, input_json,"
        " asked_at, expires_at) VALUES (?, ?, 'waiting', ?, ?, {json}, ?, ?)"
        " ON CONFLICT (session_id, id) DO UPDATE SET status = 'waiting',"
        " asked_at = excluded.asked_at, expires_at = excluded.expires_at, answered_at = NULL"
    )
    confirmation: str = f"{_CONFIRMATION} WHERE session_id = ? AND id = ?"
    confirmations: str = (
        f"{_CONFIRMATION} WHERE session_id = ? AND status = 'waiting' ORDER BY asked_at, id"
    )
    approved: str = (
        "SELECT id FROM task_confirmations WHERE session_id = ? AND status = 'approved'"
        " AND id {any}"
    )
    answer: str = (
        "UPDATE task_confirmations SET status = ?, answered_at = {clock} WHERE session_id = ?"
        " AND id = ? AND status = 'waiting'"
    )
    answer_all: str = (
        "UPDATE task_confirmations SET status = ?, answered_at = {clock} WHERE session_id = ?"
        " AND status = 'waiting'"
    )


SQLITE = filled(TaskStatements, _SQLITE, is_sqlite=True)
POSTGRES = filled(TaskStatements, _POSTGRES, is_sqlite=False)
