"""Sessions: made, found, changed, removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.ids import (
    Ulids,
    first_ulid,
    is_tool_id,
    is_ulid,
    new_tool_id,
    ulid_time_ms,
)
from interlingua.model.message import from_micros, micros
from interlingua.store.errors import NotFoundError
from interlingua.store.messages import Messages
from interlingua.store.quotas import Quotas
from interlingua.store.request_costs import RequestCosts
from interlingua.store.request_stats import DAY
from interlingua.store.requests import LOCK, PREFIX
from interlingua.store.rows import (
    ALL_SESSIONS,
    CALLS,
    NEW_SESSIONS,
    SESSIONS,
    JsonObject,
    SessionFilter,
    SessionRow,
    ToolCallRow,
)
from interlingua.store.search_text import Draft, StoredMessage, draft, read
from interlingua.store.statements import Op, Step, Work, now

FORGET_WORDS = "INSERT INTO message_search (message_search, rank) VALUES ('merge', -2000)"
"""SQLite's index keeps words of deleted messages until pages are merged; this merges up to 8 MB of
them, which is fast enough to wait for."""


class Sessions(Work):
    def create_session(
        self,
        workspace_path: str,
        *,
        id: str | None = None,
        name: str | None = None,
        active_model: str | None = None,
        routing_policy: JsonObject | None = None,
    ) -> Op[SessionRow]:
        """A new, empty session; an id is made unless one is passed."""
        begun = from_micros(now())
        id = id or self.ulids.new()
        row = SessionRow(id, workspace_path, begun, begun, active_model, routing_policy, name)
        return (yield from self.add_session(row))

    def add_session(self, row: SessionRow) -> Op[SessionRow]:
        """Adds a session from elsewhere with its own id, times and parent; without its messages, so
        `message_count` is 0."""
        row = msgspec.structs.replace(row, message_count=0)
        yield Step(self.sql.add_session, NEW_SESSIONS.values(row))
        return row

    def session(self, id: str) -> Op[SessionRow]:
        """The session; NotFoundError if there is none."""
        return (yield from self._session(self.sql.session, id))

    def _session(self, sql: str, id: str) -> Op[SessionRow]:
        rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, "session", id)
        return SESSIONS.read(rows[0])

    def sessions(self, limit: int = 50, before: SessionRow | None = None) -> Op[list[SessionRow]]:
        """Sessions, the last changed first; `before` is the last one of the page before."""
        if before is None:
            rows = yield Step(self.sql.sessions, (limit,))
        else:
            values = (micros(before.updated_at), before.id, limit)
            rows = yield Step(self.sql.sessions_before, values)
        return [SESSIONS.read(row) for row in rows]

    def sessions_of(
        self,
        owner: str | None,
        limit: int = 50,
        before: SessionRow | None = None,
        wanted: SessionFilter = ALL_SESSIONS,
    ) -> Op[list[SessionRow]]:
        """Like `sessions`, but only conversations whose policy names this `owner` (None: no owner)
        and that match the filter."""
        values: tuple[Any, ...] = (owner or "", *_filter_values(wanted))
        statement = self.sql.sessions_of
        if before is not None:
            statement = self.sql.sessions_of_before
            values += (micros(before.updated_at), before.id)
        rows = yield Step(statement, (*values, limit))
        return [SESSIONS.read(row) for row in rows]

    def forks_of(self, session_id: str, limit: int = 200) -> Op[list[SessionRow]]:
        """The sessions that were forked from this one, the oldest first."""
        rows = yield Step(self.sql.forks, (session_id, limit))
        return [SESSIONS.read(row) for row in rows]

    def update_session(
        self,
        id: str,
        *,
        name: str | UnsetType | None = UNSET,
        active_model: str | UnsetType | None = UNSET,
        routing_policy: JsonObject | UnsetType | None = UNSET,
        workspace_path: str | UnsetType = UNSET,
    ) -> Op[SessionRow]:
        """Changes the fields that are passed; returns the changed session."""
        row = yield from self._session(self.sql.lock_session, id)
        fields = {
            "name": name,
            "active_model": active_model,
            "routing_policy": routing_policy,
            "workspace_path": workspace_path,
        }
        changes = {key: value for key, value in fields.items() if value is not UNSET}
        at = max(now(), micros(row.updated_at))
        row = msgspec.structs.replace(row, **changes, updated_at=from_micros(at))
        policy = None if row.routing_policy is None else dumps(row.routing_policy)
        values = (row.name, row.active_model, policy, row.workspace_path, at, id)
        yield Step(self.sql.change_session, values)
        return row

    def delete_session(self, id: str) -> Op[None]:
        """Remove a session with everything that belongs to it."""
        rows: list[Any] = []
        for sql in self.sql.delete:
            rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, "session", id)
        if self.sql.is_sqlite:
            yield Step(FORGET_WORDS)


def _filter_values(filter: SessionFilter) -> tuple[Any, ...]:
    """A filter as values of the statement; each appears twice, first to test whether it is set."""
    words, model = _somewhere(filter.words), _somewhere(filter.model)
    folder = None if filter.folder is None else filter.folder.rstrip("/\\") or filter.folder
    below = None if folder is None else f"{_literal(folder)}/%"
    since, until = (None if at is None else micros(at) for at in (filter.since, filter.until))
    return (
        *(words, words, filter.origin, filter.origin, model, model),
        *(folder, folder, below, since, since, until, until),
    )


def _somewhere(text: str | None) -> str | None:
    return f"%{_literal(text.lower())}%" if text else None


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


PAGE = 500
"""Messages that are copied at a time."""


class Forks(Sessions, Messages):
    def fork(
        self, session_id: str, message_id: str | None = None, *, name: str | None = None
    ) -> Op[SessionRow]:
        """A new session with copies of the messages up to and including this one (or all).

        Copies and their calls have new ids; the providers' ids stay the same."""
        parent = yield from self.session(session_id)
        last = parent.message_count
        if message_id is None:
            tail = yield Step(self.sql.tail, (session_id, 1))
            message_id = tail[0][0] if tail else None
        else:
            last = yield from self._seq(session_id, message_id)
        at = now()
        child = SessionRow(
            self.ulids.new(),
            parent.workspace_path,
            created_at=from_micros(at),
            updated_at=from_micros(at),
            active_model=parent.active_model,
            routing_policy=parent.routing_policy,
            name=name,
            parent_id=session_id,
            parent_message_id=message_id,
        )
        yield from self.add_session(child)
        calls = yield Step(self.sql.calls, (session_id,))
        copier = _Copier(self.ulids, [CALLS.read(row) for row in calls])
        done = 0
        while done < last:
            rows = yield Step(self.sql.messages, (session_id, done, min(PAGE, last - done)))
            if not rows:
                break
            drafts = [copier.copy(session_id, child.id, row) for row in rows]
            yield Step(self.sql.take, (len(drafts), at, child.id, len(drafts)))
            ids = self._ids(drafts, None)
            yield from self._insert(child.id, drafts, ids, done + 1, at, copier.provider_ids)
            done += len(drafts)
        return msgspec.structs.replace(child, message_count=done)


class _Copier:
    """Copies messages into a fork: calls get new ids, the providers' ids stay the same."""

    def __init__(self, ulids: Ulids, calls: Sequence[ToolCallRow]) -> None:
        self.ulids = ulids
        self.known = {call.id: call.provider_id for call in calls}
        self.renamed: dict[str, str] = {}
        self.provider_ids: dict[str, str] = {}

    def copy(self, old_session: str, session_id: str, row: Sequence[Any]) -> Draft:
        message = read(old_session, row)
        if message is None:
            return StoredMessage(*row).as_draft()._replace(id=None)
        content = tuple([self.block(block) for block in message.content])
        metadata = message.metadata
        parent = metadata.parent_tool_use_id
        if parent in self.renamed:
            metadata = metadata.replace(parent_tool_use_id=self.renamed[parent])
        copied = message.replace(id=None, session_id=session_id, content=content, metadata=metadata)
        return draft(copied)

    def block(self, block: Block) -> Block:
        if type(block) is ToolUseBlock:
            return block.replace(id=self.rename(block.id))
        if type(block) is ToolResultBlock and block.tool_use_id in self.renamed:
            return block.replace(tool_use_id=self.renamed[block.tool_use_id])
        return block

    def rename(self, id: str) -> str:
        new = self.renamed[id] = new_tool_id(self.ulids)
        # An id that is not of our making is the provider's own.
        provider_id = self.known.get(id) or (None if is_tool_id(id) else id)
        if provider_id is not None:
            self.provider_ids[new] = provider_id
        return new


PAGES = 256
"""Pages of a SQLite file that one call gives back to the disk."""
SWEPT_AT_ONCE = 200
"""Rows of a kind that are deleted in one transaction, in some milliseconds."""
_OLD = "DELETE FROM {table} WHERE {id} IN (SELECT {id} FROM {table} WHERE {where} LIMIT ?{skip})"
_OLD_REPORTS = (
    "UPDATE requests SET report_json = NULL WHERE id IN (SELECT id FROM requests"
    " WHERE at < ? AND report_json IS NOT NULL ORDER BY at LIMIT ?{skip})"
)
_OLD_REQUESTS = (
    "SELECT id FROM requests WHERE at < ? AND seq < (SELECT max(seq) FROM requests)"
    " ORDER BY at LIMIT ?"
)
_OLD_STATS = "DELETE FROM request_stats WHERE period < ?"


class Before(NamedTuple):
    """The moments before which things are deleted; None: they stay."""

    requests: datetime | None = None
    losses: datetime | None = None
    events: datetime | None = None

    def or_later(self, other: Before) -> Before:
        """The later moment of each kind."""
        pairs = zip(self, other, strict=True)
        return Before(*[max(filter(None, pair), default=None) for pair in pairs])


class Sizes(NamedTuple):
    """How many of the newest rows to keep, and about how many bytes of them; 0: all."""

    requests: int = 0
    losses: int = 0
    events: int = 0
    request_bytes: int = 0
    loss_bytes: int = 0
    event_bytes: int = 0


class Swept(NamedTuple):
    """The number of deleted rows, and the bytes by which the file shrank."""

    requests: int = 0
    losses: int = 0
    events: int = 0
    answers: int = 0
    bytes: int = 0

    def plus(self, other: Swept) -> Swept:
        return Swept(*[one + more for one, more in zip(self, other, strict=True)])

    @property
    def is_nothing(self) -> bool:
        return not any(self)


class Retention(Quotas, RequestCosts):
    def sweep(self, before: Before, shared: str, limit: int = SWEPT_AT_ONCE) -> Op[Swept]:
        """Deletes older rows, at most `limit` of each kind. Events of the gateway are filed
        under `shared`; those with losses are filed under the id of their request. Call it until
        it deletes nothing."""
        requests = losses = events = 0
        values: tuple[object, ...]
        if before.requests is not None:
            requests = yield from self._sweep_requests(micros(before.requests), limit)
        if before.losses is not None:
            where = "session_id > ? AND session_id < ? ORDER BY session_id"
            values = (PREFIX, PREFIX + _ulid(before.losses), limit)
            losses = yield from self._delete("events", "session_id", where, values)
            losses += yield from self._count(_OLD_REPORTS, (micros(before.losses), limit))
        if before.events is not None:
            where = (
                "session_id = ? AND id < ? AND seq <"
                " (SELECT max(seq) FROM events WHERE session_id = ?) ORDER BY id"
            )
            values = (shared, _ulid(before.events), shared, limit)
            events = yield from self._delete("events", "id", where, values)
        answers = len((yield Step(self._gateway.old_repeats, (limit,))))
        return Swept(requests, losses, events, answers, (yield from self._reclaim()))

    def _sweep_requests(self, before: int, limit: int) -> Op[int]:
        if self.sql.lock_trace:
            yield Step(self.sql.lock_trace, (LOCK,))
        ids = [id for (id,) in (yield Step(self._sql(_OLD_REQUESTS), (before, limit)))]
        yield from self._costs_of_ids("-", ids)
        if ids:
            sql = f"DELETE FROM requests WHERE id IN ({', '.join('?' * len(ids))})"
            yield Step(self._sql(sql), ids)
            yield from self._drop_empty_costs(before)
        yield Step(self._sql(_OLD_STATS), (before - DAY,))
        return len(ids)

    def before_newest(self, sizes: Sizes, shared: str) -> Op[Before]:
        """The times before which `sweep` deletes rows beyond these sizes. Rows of the same
        millisecond are deleted together."""
        found: list[datetime | None] = [None, None, None]
        if sizes.requests:
            rows = yield Step(self._sql(_NTH_REQUEST), (sizes.requests,))
            found[0] = from_micros(rows[0][0] + 1) if rows else None
        if sizes.losses:
            rows = yield Step(self._sql(_NTH_LOSS), (PREFIX, PREFIX + "~", sizes.losses))
            found[1] = _after(rows[0][0].removeprefix(PREFIX)) if rows else None
        if sizes.events:
            rows = yield Step(self._sql(_NTH_EVENT), (shared, shared, sizes.events))
            found[2] = _after(rows[0][0]) if rows else None
        return Before(*found).or_later((yield from self._before_bytes(sizes, shared)))

    def _before_bytes(self, sizes: Sizes, shared: str) -> Op[Before]:
        """The same by bytes, which are added up from the newest row on."""
        found: list[datetime | None] = [None, None, None]
        if sizes.request_bytes:
            rows = yield Step(self._sql(_LARGE_REQUEST), (sizes.request_bytes,))
            found[0] = None if rows[0][0] is None else from_micros(rows[0][0] + 1)
        if sizes.loss_bytes:
            rows = yield Step(self._sql(_LARGE_LOSS), (PREFIX, PREFIX + "~", sizes.loss_bytes))
            found[1] = None if rows[0][0] is None else _after(rows[0][0].removeprefix(PREFIX))
        if sizes.event_bytes:
            rows = yield Step(self._sql(_LARGE_EVENT), (shared, sizes.event_bytes))
            found[2] = None if rows[0][0] is None else _after(rows[0][0])
        return Before(*found)

    def _delete(self, table: str, id: str, where: str, values: tuple[object, ...]) -> Op[int]:
        sql = _OLD.replace("{table}", table).replace("{id}", id).replace("{where}", where)
        return (yield from self._count(sql, values))

    def _count(self, sql: str, values: tuple[object, ...]) -> Op[int]:
        skip = "" if self.sql.is_sqlite else " FOR UPDATE SKIP LOCKED"
        text = sql.replace("{skip}", skip) + " RETURNING 1"
        rows = yield Step(self._sql(text), values)
        return len(rows)

    def _reclaim(self) -> Op[int]:
        """The bytes by which a SQLite file shrinks; PostgreSQL reuses free space automatically. A
        file created without `auto_vacuum` does not shrink until `VACUUM` is run."""
        if not self.sql.is_sqlite:
            return 0
        free: int = (yield Step("PRAGMA freelist_count"))[0][0]
        if not free or (yield Step("PRAGMA auto_vacuum"))[0][0] != INCREMENTAL:
            return 0
        yield Step(f"PRAGMA incremental_vacuum({PAGES})")
        left: int = (yield Step("PRAGMA freelist_count"))[0][0]
        size: int = (yield Step("PRAGMA page_size"))[0][0]
        return max(0, free - left) * size


INCREMENTAL = 2
"""SQLite's `auto_vacuum` of files that release pages on request."""


_NTH_REQUEST = (
    "SELECT at FROM requests WHERE seq <= (SELECT max(seq) FROM requests) - ?"
    " ORDER BY seq DESC LIMIT 1"
)
_NTH_LOSS = (
    "SELECT session_id FROM events WHERE session_id > ? AND session_id < ?"
    " ORDER BY session_id DESC LIMIT 1 OFFSET ?"
)
_NTH_EVENT = (
    "SELECT id FROM events WHERE session_id = ? AND seq <="
    " (SELECT max(seq) FROM events WHERE session_id = ?) - ? ORDER BY seq DESC LIMIT 1"
)
ROW = 300
"""Bytes of a row beside its JSON, with its entries in indexes, about."""
_LARGE_REQUEST = (
    "SELECT max(at) FROM (SELECT at, sum("
    f"{ROW} + coalesce(length(CAST(report_json AS TEXT)), 0)"
    ") OVER (ORDER BY seq DESC) AS total FROM requests) AS sized WHERE total > ?"
)
_LARGE_LOSS = (
    f"SELECT max(session_id) FROM (SELECT session_id, sum({ROW} + length(CAST(payload AS TEXT)))"
    " OVER (ORDER BY session_id DESC, seq DESC) AS total FROM events"
    " WHERE session_id > ? AND session_id < ?) AS sized WHERE total > ?"
)
_LARGE_EVENT = (
    f"SELECT max(id) FROM (SELECT id, sum({ROW} + length(CAST(payload AS TEXT)))"
    " OVER (ORDER BY seq DESC) AS total FROM events WHERE session_id = ?) AS sized"
    " WHERE total > ?"
)


def _after(ulid: str) -> datetime | None:
    """The millisecond after that of an id; None for ids that others made."""
    return from_micros((ulid_time_ms(ulid) + 1) * 1000) if is_ulid(ulid) else None


def _ulid(moment: datetime) -> str:
    return first_ulid(max(0, micros(moment) // 1000))
