"""The statements about tasks. What changes a task locks its row first, reads the database's clock
with it, and writes it whole.

Values never become part of a statement: each `?` is filled in by the engine's own library.
"""

from __future__ import annotations

from typing import NamedTuple

_SQLITE = {
    "any": "IN (SELECT value FROM json_each(?))",
    "lock": "",
    "json": "CAST(? AS TEXT)",
    "message": "CAST(message_json AS BLOB)",
    "body": "CAST(body_json AS BLOB)",
    "input": "CAST(input_json AS BLOB)",
    "clock": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
}
_POSTGRES = {
    "any": "= ANY(?::text[])",
    "lock": " FOR UPDATE OF t",
    "json": "?",
    "message": "message_json",
    "body": "body_json",
    "input": "input_json",
    "clock": "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
}
_COLUMNS = (
    "id, owner, cwd, status, holder, lease_until, stopping, interrupted, web_search, told,"
    " event_count, created_at, changed_at, ended_at"
)
_TASK = (
    "SELECT "
    + ", ".join(f"t.{name}" for name in _COLUMNS.split(", "))
    + ", s.name, s.active_model,"
    " (SELECT count(*) FROM task_messages q WHERE q.session_id = t.id AND q.state = 'queued'),"
    " (SELECT count(*) FROM task_confirmations c WHERE c.session_id = t.id"
    " AND c.status = 'waiting'), {clock}"
    " FROM tasks t JOIN sessions s ON s.id = t.id"
)
_QUEUED = "SELECT session_id, id, state, {message} FROM task_messages"
_CONFIRMATION = (
    "SELECT session_id, id, status, name, side_effects, {input}, asked_at, expires_at"
    " FROM task_confirmations"
)


class TaskStatements(NamedTuple):
    """The statements of one engine."""

    clock: str = "SELECT {clock}"
    add: str = f"INSERT INTO tasks ({_COLUMNS}) VALUES (" + ", ".join(["?"] * 14) + ")"
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
    save: str = (
        "UPDATE tasks SET status = ?, holder = ?, lease_until = ?, stopping = ?, interrupted = ?,"
        " told = ?, event_count = ?, changed_at = ?, ended_at = ? WHERE id = ?"
    )
    renew: str = (
        "UPDATE tasks SET lease_until = {clock} + ? WHERE status = 'generating' AND id {any}"
        " AND holder {any} RETURNING holder"
    )
    stopping: str = "SELECT id FROM tasks WHERE stopping = 1 AND id {any}"

    add_message: str = (
        "INSERT INTO task_messages (session_id, id, seq, state, message_json, made_at)"
        " SELECT ?, ?, coalesce(max(seq), 0) + 1, ?, {json}, {clock} FROM task_messages"
        " WHERE session_id = ?"
    )
    message: str = f"{_QUEUED} WHERE session_id = ? AND id = ?"
    queue: str = (
        f"{_QUEUED} WHERE session_id = ? AND state IN ('starting', 'queued') ORDER BY seq LIMIT ?"
    )
    queues: str = (
        "SELECT q.session_id, q.id, q.state, {message} FROM task_messages q JOIN tasks t"
        " ON t.id = q.session_id WHERE t.owner = ? AND t.ended_at IS NULL AND q.state = 'queued'"
        " ORDER BY q.session_id, q.seq LIMIT ?"
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
        "SELECT seq, id, made_at, {body} FROM (SELECT seq, id, made_at, size, body_json,"
        " sum(size) OVER (ORDER BY seq) AS total FROM (SELECT seq, id, made_at, size, body_json"
        " FROM task_events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?) AS page) AS sized"
        " WHERE total - size < ? ORDER BY seq"
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


def _filled(words: dict[str, str], mark: str) -> TaskStatements:
    texts = TaskStatements._field_defaults.items()
    return TaskStatements(**{n: t.format(**words).replace("?", mark) for n, t in texts})


SQLITE = _filled(_SQLITE, "?")
POSTGRES = _filled(_POSTGRES, "%s")
