"""Every statement a store runs, once for both engines, and the few words in which they differ.

Values never become part of a statement: each `?` is filled in by the engine's own library.

An operation is a generator that yields statements and receives their rows. It is independent of
connections, so that it is written once for SQLite and PostgreSQL, threads and event loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from decimal import InvalidOperation
from functools import cache
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from interlingua.model.ids import Ulids
from interlingua.store.rows import CALLS, EVENTS, NEW_SESSIONS, SESSIONS, Table

N = TypeVar("N", bound=NamedTuple)

_SESSION = SESSIONS.selected()
_OWNED = (
    "coalesce(routing_policy_json ->> 'owner', '') = ? AND routing_policy_json ->> 'kind' IS NULL"
)
_ORIGIN = (
    "CASE WHEN routing_policy_json -> 'task' IS NOT NULL THEN 'task'"
    " WHEN routing_policy_json -> 'owner' IS NOT NULL THEN 'gateway'"
    " ELSE coalesce(routing_policy_json -> 'transcript' ->> 'format', 'chat') END"
)
"""`SessionRow.origin`; an owner that is null is one, too."""
_WANTED = (
    " AND ({words} IS NULL OR lower(coalesce(name, '') || ' ' || workspace_path || ' '"
    " || coalesce(active_model, '')) LIKE ? ESCAPE '\\')"
    f" AND ({{words}} IS NULL OR {_ORIGIN} = ?)"
    " AND ({words} IS NULL OR lower(active_model) LIKE ? ESCAPE '\\')"
    " AND ({words} IS NULL OR workspace_path = ? OR workspace_path LIKE ? ESCAPE '\\')"
    " AND ({number} IS NULL OR updated_at >= ?) AND ({number} IS NULL OR updated_at < ?)"
)
_MESSAGE = (
    "id, role, name, {bytes[content_json]}, {bytes[metadata_json]}, created_at, schema_version, seq"
)
_CALL = CALLS.selected()
_EVENT = EVENTS.selected()
_USAGE = "m.session_id, m.id, m.created_at, m.seq, m.schema_version, {bytes[m.metadata_json]}"

_SQLITE = {
    "has_usage": """instr(m.metadata_json, '"usage"') > 0""",
    "greatest": "max",
    "lock": "",
    "limit": "?",
    "number": "?",
    "words": "?",
    "any_type": "type IN (SELECT value FROM json_each(?))",
    "lock_trace": "",  # its one writer has locked the whole file
    "add_text": "INSERT INTO message_texts (session_id, message_id, text) VALUES (?, ?, ?)",
    "search": """SELECT m.session_id, m.id, m.seq, m.role, m.created_at, t.text
FROM message_search f
JOIN message_texts t ON t.number = f.rowid
JOIN messages m ON m.id = t.message_id
WHERE message_search MATCH ?
AND NOT EXISTS (SELECT 1 FROM json_each(?) AS run WHERE instr(t.text, run.value) = 0)
AND (? IS NULL OR t.session_id = ?)
ORDER BY m.created_at DESC, m.id DESC LIMIT ?""",
}
_POSTGRES = {
    "has_usage": """strpos(m.metadata_json::text, '"usage"') > 0""",
    "greatest": "greatest",
    "lock": " FOR UPDATE",
    "limit": "?::bigint",
    "number": "?::bigint",
    "words": "?::text",
    "any_type": "type = ANY(?::text[])",
    "lock_trace": "SELECT pg_advisory_xact_lock(hashtextextended(?::text, 5))",
    "add_text": (
        "INSERT INTO message_texts (session_id, message_id, text, words)"
        " VALUES (?, ?, ?, to_tsvector('simple', ?) || array_to_tsvector(?::text[]))"
    ),
    "search": """SELECT m.session_id, m.id, m.seq, m.role, m.created_at, t.text
FROM message_texts t
JOIN messages m ON m.session_id = t.session_id AND m.id = t.message_id
WHERE t.words @@ (to_tsquery('simple', ?) && ?::tsquery)
AND NOT EXISTS (SELECT 1 FROM unnest(?::text[]) AS run WHERE strpos(t.text, run) = 0)
AND (?::text IS NULL OR t.session_id = ?)
ORDER BY m.created_at DESC, m.id DESC LIMIT ?::bigint""",
}


class Statements(NamedTuple):
    """The statements of one engine."""

    add_session: str = NEW_SESSIONS.insert()
    session: str = f"SELECT {_SESSION} FROM sessions WHERE id = ?"
    sessions: str = f"SELECT {_SESSION} FROM sessions ORDER BY updated_at DESC, id DESC LIMIT ?"
    sessions_before: str = (
        f"SELECT {_SESSION} FROM sessions WHERE (updated_at, id) < (?, ?)"
        " ORDER BY updated_at DESC, id DESC LIMIT ?"
    )
    sessions_of: str = (
        f"SELECT {_SESSION} FROM sessions WHERE {_OWNED}{_WANTED}"
        " ORDER BY updated_at DESC, id DESC LIMIT ?"
    )
    sessions_of_before: str = (
        f"SELECT {_SESSION} FROM sessions WHERE {_OWNED}{_WANTED} AND (updated_at, id) < (?, ?)"
        " ORDER BY updated_at DESC, id DESC LIMIT ?"
    )
    forks: str = (
        f"SELECT {_SESSION} FROM sessions WHERE parent_id = ? ORDER BY created_at, id LIMIT ?"
    )
    change_session: str = (
        "UPDATE sessions SET name = ?, active_model = ?, routing_policy_json = {json},"
        " workspace_path = ?, updated_at = {greatest}(updated_at, {number}) WHERE id = ?"
    )
    lock_session: str = f"SELECT {_SESSION} FROM sessions WHERE id = ?{{lock}}"
    delete: tuple[str, ...] = (
        "DELETE FROM tasks WHERE id = ?",
        "DELETE FROM pattern_turns WHERE session_id = ?",
        "DELETE FROM task_confirmations WHERE session_id = ?",
        "DELETE FROM task_events WHERE session_id = ?",
        "DELETE FROM task_messages WHERE session_id = ?",
        "DELETE FROM message_texts WHERE session_id = ?",
        "DELETE FROM tool_calls WHERE session_id = ?",
        "DELETE FROM messages WHERE session_id = ?",
        "DELETE FROM events WHERE session_id = ?",
        "DELETE FROM sessions WHERE id = ? RETURNING id",
    )

    take: str = (
        "UPDATE sessions SET message_count = message_count + {number},"
        " updated_at = {greatest}(updated_at, {number}) WHERE id = ?"
        " RETURNING message_count, (SELECT m.id FROM messages m"
        " WHERE m.session_id = sessions.id AND m.seq = sessions.message_count - {number})"
    )
    """Reserves numbers for some messages and returns the last id; in PostgreSQL it also locks the
    session until the transaction ends."""
    touch: str = (
        "UPDATE sessions SET updated_at = {greatest}(updated_at, {number}) WHERE id = ?"
        " RETURNING indexed_count"
    )
    hold: str = (
        "UPDATE sessions SET turn_id = ?, turn_holder = ?, turn_seen_at = {number}"
        " WHERE id = ? AND coalesce(turn_id, '') IN (?, ?) RETURNING id"
    )
    let_go: str = (
        "UPDATE sessions SET turn_id = NULL, turn_holder = NULL, turn_seen_at = NULL"
        " WHERE id = ? AND turn_id = ?"
    )
    add_message: str = (
        "INSERT INTO messages (id, session_id, role, content_json, metadata_json, created_at,"
        " schema_version, seq, name) VALUES (?, ?, ?, {json}, {json}, ?, ?, ?, ?)"
    )
    rewrite: str = (
        "UPDATE messages SET role = ?, content_json = {json}, metadata_json = {json},"
        " created_at = coalesce({number}, created_at), schema_version = ?, name = ?"
        " WHERE session_id = ? AND id = ? RETURNING seq, created_at"
    )
    message: str = f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? AND id = ?"
    message_now: str = f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? AND id = ?{{lock}}"
    seq: str = "SELECT seq FROM messages WHERE session_id = ? AND id = ?"
    id_at: str = "SELECT id FROM messages WHERE session_id = ? AND seq = ?"
    messages: str = (
        f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? AND seq > ?"
        " ORDER BY seq LIMIT {limit}"
    )
    tail: str = (
        f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? ORDER BY seq DESC LIMIT {{limit}}"
    )

    add_call: str = CALLS.insert()
    change_call: str = (
        "UPDATE tool_calls SET name = ?, executor = ?, provider = coalesce(?, provider),"
        " provider_id = coalesce(?, provider_id) WHERE session_id = ? AND id = ?"
    )
    answer: str = (
        "UPDATE tool_calls SET status = ?, result_message_id = ?, completed_at = ?"
        " WHERE session_id = ? AND id = ?"
        " AND (result_message_id IS NULL OR result_message_id = ?)"
    )
    reopen: str = (
        "UPDATE tool_calls SET status = 'pending', result_message_id = NULL, completed_at = NULL"
        " WHERE session_id = ? AND id = ?"
    )
    cancel: str = (
        "UPDATE tool_calls SET status = 'cancelled', completed_at = ?"
        " WHERE session_id = ? AND message_id = ? AND status = 'pending'"
    )
    revive: str = (
        "UPDATE tool_calls SET status = 'pending', completed_at = NULL WHERE session_id = ?"
        " AND message_id = ? AND status = 'cancelled' AND result_message_id IS NULL"
    )
    """Calls of an answer that was taken for broken off, and was not."""
    drop_call: str = "DELETE FROM tool_calls WHERE session_id = ? AND id = ?"
    call: str = "SELECT executor, result_message_id FROM tool_calls WHERE session_id = ? AND id = ?"
    calls_of: str = "SELECT id FROM tool_calls WHERE session_id = ? AND message_id = ?"
    answered_by: str = "SELECT id FROM tool_calls WHERE session_id = ? AND result_message_id = ?"
    calls: str = f"SELECT {_CALL} FROM tool_calls WHERE session_id = ? ORDER BY created_at, id"
    unanswered: str = (
        f"SELECT {_CALL} FROM tool_calls WHERE session_id = ? AND status = 'pending'"
        " AND executor = 'client' ORDER BY created_at, id"
    )
    failed: str = (
        f"SELECT {_CALL} FROM tool_calls WHERE session_id = ? AND status = 'failed'"
        " ORDER BY created_at, id"
    )

    lock_trace: str = "{lock_trace}"
    last_event: str = "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?"
    events_there: str = "SELECT id, seq FROM events WHERE session_id = ? AND id >= ?"
    add_event: str = EVENTS.insert()
    events: str = (
        f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT {{limit}}"
    )
    event: str = f"SELECT {_EVENT} FROM events WHERE session_id = ? AND id = ?"
    events_of: str = (
        f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq > ? AND {{any_type}}"
        " ORDER BY seq LIMIT {limit}"
    )

    usages_of: str = (
        f"SELECT {_USAGE} FROM messages m WHERE m.session_id = ?"
        " AND (m.created_at, m.seq) > ({number}, {number}) AND m.created_at < {number}"
        " AND {has_usage} ORDER BY m.created_at, m.seq LIMIT {limit}"
    )
    next_session: str = (
        "SELECT s.id FROM sessions s WHERE s.id > ? AND EXISTS (SELECT 1 FROM messages m"
        " WHERE m.session_id = s.id AND m.created_at >= {number} AND m.created_at < {number})"
        " ORDER BY s.id LIMIT 1"
    )
    usage_now: str = f"SELECT {_USAGE} FROM messages m WHERE m.session_id = ? AND m.id = ?{{lock}}"
    set_metadata: str = "UPDATE messages SET metadata_json = {json} WHERE session_id = ? AND id = ?"

    unindexed: str = "SELECT id FROM sessions WHERE indexed_count < message_count LIMIT 1"
    to_index: str = "SELECT id, indexed_count FROM sessions WHERE id = ?{lock}"
    indexed: str = "UPDATE sessions SET indexed_count = ? WHERE id = ?"
    add_text: str = "{add_text}"
    drop_text: str = "DELETE FROM message_texts WHERE session_id = ? AND message_id = ?"
    search: str = "{search}"
    set_version: str = "UPDATE store_info SET version = ?"

    is_sqlite: bool = True


class _Casts(dict[str, str]):
    """Columns with JSON, which SQLite returns as bytes."""

    def __missing__(self, column: str) -> str:
        return f"CAST({column} AS BLOB)"


class _Columns(dict[str, str]):
    """The same for PostgreSQL, which needs no cast."""

    def __missing__(self, column: str) -> str:
        return column


_COMMON: dict[bool, dict[str, Any]] = {
    True: {
        "json": "CAST(? AS TEXT)",
        "bytes": _Casts(),
        "any": "IN (SELECT value FROM json_each(?))",
        "clock": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    },
    False: {
        "json": "?",
        "bytes": _Columns(),
        "any": "= ANY(?::text[])",
        "clock": "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
    },
}
"""Words for all statements, by whether the engine is SQLite."""


def fill(sql: str, is_sqlite: bool, words: Mapping[str, str] = {}) -> str:
    """A statement in the syntax of one engine, with its placeholders."""
    text = sql.format(**_COMMON[is_sqlite], **words)
    return text if is_sqlite else text.replace("?", "%s")


def filled(kind: type[N], words: Mapping[str, str], is_sqlite: bool) -> N:
    """The statements among a class's defaults, in the syntax of one engine."""

    def in_words(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(in_words, value))
        return fill(value, is_sqlite, words) if isinstance(value, str) else is_sqlite

    return kind._make(map(in_words, kind._field_defaults.values()))


SQLITE = filled(Statements, _SQLITE, is_sqlite=True)
POSTGRES = filled(Statements, _POSTGRES, is_sqlite=False)


T = TypeVar("T")


class Step(NamedTuple):
    """One statement; with `many`, once for each of `values`, and no rows come back."""

    sql: str
    values: Sequence[Any] = ()
    many: bool = False


Rows = list[Any]
Op = Generator[Step, Rows, T]
Make = Callable[[], Op[T]]
"""Begins an operation; called again where it has to be repeated."""


class Prepared(NamedTuple, Generic[T]):
    """An operation whose rows are made already; `large` if they are many."""

    make: Make[T]
    large: bool = False


UNREADABLE = (OverflowError, UnicodeDecodeError, msgspec.DecodeError, InvalidOperation, TypeError)
"""Errors of a row that no program of ours has written: times beyond all calendars, broken JSON,
text in place of a number."""


def run(op: Op[T], execute: Callable[[Step], Rows]) -> T:
    """Run an operation to its end."""
    try:
        step = next(op)
        while True:
            step = op.send(execute(step))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        op.close()


TOGETHER = 100
"""Rows in one INSERT: with fewer, a statement's own price is seen, and the library does not keep
longer ones."""


@cache
def _inserting(table: Table[Any], count: int, is_sqlite: bool) -> str:
    return fill(table.insert(count), is_sqlite)


class Work:
    """Shared by all operations of one store: its statements, its name in errors, its ids."""

    def __init__(self, sql: Statements, where: str) -> None:
        self.sql = sql
        self.where = where
        self.ulids = Ulids()

    def _sql(self, text: str) -> str:
        return fill(text, self.sql.is_sqlite)

    def _insert_rows(
        self, table: Table[Any], rows: Sequence[Sequence[Any]], end: str = ""
    ) -> Op[None]:
        """Insert stored rows."""
        is_sqlite = self.sql.is_sqlite
        return self._grouped(lambda count: _inserting(table, count, is_sqlite) + end, rows)

    def _grouped(
        self, sql: Callable[[int], str], rows: Sequence[Sequence[Any]], size: int = TOGETHER
    ) -> Op[None]:
        """A statement for each `size` rows, and one for each of the rest; `sql` is that for so
        many. For each statement SQLite's library takes Python's lock again, in turns with those who
        have work to do."""
        whole = len(rows) // size * size if self.sql.is_sqlite else 0
        if whole:
            groups = [[*chain(*rows[at : at + size])] for at in range(0, whole, size)]
            yield Step(sql(size), groups, many=True)
        if len(rows) > whole:
            yield Step(sql(1), rows[whole:], many=True)


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000
