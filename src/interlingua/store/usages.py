"""Outcomes of turns, and the usage of every answer, over one session or all of them, page by page;
and new costs for answers.

The order of usages is by session, then by time. A page is its own transaction, so that a walk over
a large store blocks no other program, and needs the memory of one page.

A turn has one row, with what kind of turn it was and which model served it: names, counts and
scores, never message text. `scope` separates tenants: rows of one scope are never read for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.model import message as _message
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.message import Message, Role, from_micros, micros
from interlingua.model.metadata import MessageMetadata, MessageStatus
from interlingua.store.errors import StoreError
from interlingua.store.rows import CALLS, CallStatus, Table, UsageRow
from interlingua.store.search_text import draft, metadata_json, read, read_metadata
from interlingua.store.statements import Op, Statements, Step, Work, now

PAGE = 500
"""Messages that are read at a time."""
_EARLIEST, _LATEST = -(2**62), 2**62


class UsageCursor(NamedTuple):
    """The position of a walk: everything up to this message has been returned."""

    session_id: str
    created_at: int
    seq: int


class Walk(NamedTuple):
    """The range of a walk, in microseconds; `until` is exclusive."""

    since: int
    until: int
    session_id: str | None

    @property
    def start(self) -> UsageCursor:
        return UsageCursor(self.session_id or "", self.since, 0)


def walk(since: datetime | None, until: datetime | None, session_id: str | None) -> Walk:
    return Walk(
        _EARLIEST if since is None else micros(since),
        _LATEST if until is None else micros(until),
        session_id,
    )


class Usages(Work):
    def usage_page(
        self, query: Walk, cursor: UsageCursor
    ) -> Op[tuple[list[UsageRow], UsageCursor | None]]:
        """The next answers and the cursor after them; None at the end."""
        found: list[UsageRow] = []
        for _ in range(PAGE):  # sessions in which nothing is found count too
            if cursor.session_id:
                values = (*cursor, query.until, PAGE - len(found))
                rows = yield Step(self.sql.usages_of, values)
                yield from self._collect(rows, found)
                if len(rows) == values[-1]:
                    session_id, _, at, seq, *_ = rows[-1]
                    return found, UsageCursor(session_id, at, seq)
            if query.session_id is not None:
                return found, None
            later = (cursor.session_id, query.since, query.until)
            rows = yield Step(self.sql.next_session, later)
            if not rows:
                return found, None
            if self.sql.is_sqlite and rows[0][0] <= cursor.session_id:
                # Its order is that of Python; a walk that turns round would never end.
                raise StoreError(self.where, "an index is out of order", "corrupt")
            cursor = UsageCursor(rows[0][0], query.since, 0)
        return found, cursor

    def _collect(self, rows: Sequence[Any], found: list[UsageRow]) -> Op[None]:
        for row in rows:
            metadata = yield from self._metadata(row)
            if metadata is not None and metadata.usage is not None and metadata.usage.is_known:
                session_id, id, at, *_ = row
                found.append(UsageRow(session_id, id, from_micros(at), metadata))

    def save_metadata(
        self, changes: Sequence[tuple[UsageRow, MessageMetadata]]
    ) -> Op[list[UsageRow]]:
        """Gives messages new metadata, in one transaction. A message whose metadata differs from
        the row is not changed; the changed ones are returned."""
        saved = []
        # Always in one order, so that two programs never wait for each other.
        for row, new in sorted(changes, key=lambda change: change[0][:2]):
            stored = yield Step(self.sql.usage_now, (row.session_id, row.message_id))
            if not stored:
                continue  # deleted meanwhile
            metadata = yield from self._metadata(stored[0])
            if metadata is None or dumps(metadata) != dumps(row.metadata):
                continue
            message = yield from self._if_older(stored[0])
            if message is None:
                values = (metadata_json(new), row.session_id, row.message_id)
                yield Step(self.sql.set_metadata, values)
            else:
                yield from self._rewrite(message.replace(metadata=new))
            saved.append(row._replace(metadata=new))
        return saved

    def _metadata(self, row: Sequence[Any]) -> Op[MessageMetadata | None]:
        """The metadata; None for a message with an unknown role."""
        message = yield from self._if_older(row)
        if message is not None:
            return message.metadata
        _, id, _, _, version, data = row
        return read_metadata(id, data) if version == _message.SCHEMA_VERSION else None

    def _if_older(self, row: Sequence[Any]) -> Op[Message | None]:
        """The message, where it is of another version: upgrades look at the whole of it."""
        session_id, id, _, _, version, _ = row
        if version == _message.SCHEMA_VERSION:
            return None
        rows = yield Step(self.sql.message, (session_id, id))
        return read(session_id, rows[0]) if rows else None

    def _rewrite(self, message: Message) -> Op[None]:
        new = draft(message)
        yield Step(
            self.sql.rewrite,
            (
                new.role,
                new.content,
                new.metadata,
                new.created_at,
                new.schema_version,
                new.name,
                message.session_id,
                message.id,
            ),
        )


_GIVEN_UP = (MessageStatus.CANCELLED, MessageStatus.ERROR)


class Ending(NamedTuple):
    """The status of a result's call."""

    status: CallStatus
    message_id: str
    at: int


class Ledger:
    """Calls and results of messages that are written together."""

    def __init__(self, session_id: str, provider_ids: Mapping[str, str]) -> None:
        self.session_id = session_id
        self.provider_ids = provider_ids
        self.calls: dict[str, tuple[str, ToolUseBlock, str | None, int, bool]] = {}
        """Call id to message id, block, provider, time, and whether the turn was abandoned."""
        self.endings: dict[str, Ending] = {}
        self.repeated: str | None = None

    def add(self, message: Message, id: str, at: int) -> None:
        role = message.role
        if role is not Role.ASSISTANT and role is not Role.TOOL:
            return
        metadata = message.metadata
        for block in message.content:
            if type(block) is ToolUseBlock:
                if block.id in self.calls:
                    self.repeated = block.id
                given_up = metadata.status in _GIVEN_UP
                self.calls[block.id] = (id, block, metadata.provider, at, given_up)
            elif type(block) is ToolResultBlock:
                status = _ending(block, metadata.status)
                self.endings.setdefault(block.tool_use_id, Ending(status, id, at))

    def row(self, id: str) -> Sequence[Any]:
        """The row of a new call."""
        message_id, block, provider, at, given_up = self.calls[id]
        ending = self.endings.get(id)
        status: CallStatus = "cancelled" if given_up else "pending"
        completed = at if given_up else None
        result = None
        if ending is not None:
            status, result, completed = ending
        return CALLS.ordered(
            id=id,
            session_id=self.session_id,
            message_id=message_id,
            result_message_id=result,
            name=block.name,
            status=status,
            provider_id=self.provider_ids.get(id),
            provider=provider,
            created_at=at,
            completed_at=completed,
            executor=block.executor,
        )

    def insert(self, sql: Statements) -> Op[None]:
        """The rows of messages that are new."""
        if self.calls:
            yield Step(sql.add_call, [self.row(id) for id in self.calls], many=True)
        later = [id for id in self.endings if id not in self.calls]
        if later:
            yield Step(sql.answer, [self._answer(id) for id in later], many=True)

    def replace(self, sql: Statements, message_id: str) -> Op[None]:
        """The rows of one message that is written anew."""
        session_id = self.session_id
        old = {id for (id,) in (yield Step(sql.calls_of, (session_id, message_id)))}
        answered = {id for (id,) in (yield Step(sql.answered_by, (session_id, message_id)))}
        if gone := [(session_id, id) for id in old - self.calls.keys()]:
            yield Step(sql.drop_call, gone, many=True)
        if new := [self.row(id) for id in self.calls if id not in old]:
            yield Step(sql.add_call, new, many=True)
        if changed := [self._change(id) for id in self.calls if id in old]:
            yield Step(sql.change_call, changed, many=True)
        if taken_back := [(session_id, id) for id in answered - self.endings.keys()]:
            yield Step(sql.reopen, taken_back, many=True)
        if ended := [self._answer(id) for id in self.endings]:
            yield Step(sql.answer, ended, many=True)
        if changed and any(given_up for *_, given_up in self.calls.values()):
            at = next(iter(self.calls.values()))[3]
            yield Step(sql.cancel, (at, session_id, message_id))
        elif changed:
            yield Step(sql.revive, (session_id, message_id))

    def _answer(self, id: str) -> tuple[Any, ...]:
        status, message_id, at = self.endings[id]
        return (status, message_id, at, self.session_id, id, message_id)

    def _change(self, id: str) -> tuple[Any, ...]:
        _, block, provider, _, _ = self.calls[id]
        known = self.provider_ids.get(id)
        return (block.name, block.executor, provider, known, self.session_id, id)


def _ending(block: ToolResultBlock, status: MessageStatus) -> CallStatus:
    if status is MessageStatus.CANCELLED:
        return "cancelled"
    return "failed" if block.is_error or status is MessageStatus.ERROR else "succeeded"


EvictionReason = Literal["age", "capacity", "reset"]

MAX_AGE_DAYS = 90
MAX_TURNS = 10_000
"""Per scope; the oldest turns go first."""
RECENT_TURNS = 500
"""Turns of one kind that a recommendation is based on: the newest ones."""
_DAY_US = 86_400_000_000


class PatternRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one turn. `success` is 0 to 1; `weight` grows with feedback."""

    session_id: str
    turn_id: str
    scope: str
    fingerprint: str
    model: str
    success: float
    message_id: str | None = None
    """The last answer, which feedback refers to."""
    weight: float = 1.0
    cost_usd: Decimal | None = None
    duration_ms: int = 0
    llm_calls: int = 0
    failed_calls: int = 0
    tool_calls: int = 0
    failed_tools: int = 0


class Adjustment(NamedTuple):
    """Feedback on an answer: how far (0 to 1) its score moves to `target`."""

    target: float
    strength: float
    weight: float
    rating: str | None = None
    signal: str | None = None


class Outcome(NamedTuple):
    """The columns that a recommendation needs."""

    model: str
    success: float
    weight: float
    cost_usd: Decimal | None


class Evicted(NamedTuple):
    fingerprint: str
    reason: EvictionReason


PATTERNS = Table("pattern_turns", PatternRow)
_RECENT = "FROM pattern_turns WHERE scope = ?"


class Patterns(Work):
    def record_pattern(self, row: PatternRow) -> Op[list[Evicted]]:
        """Store the outcome of a turn; returns the kinds of turns that were evicted."""
        at = now()
        insert = PATTERNS.insert(recorded_at="?")
        values = (*PATTERNS.values(row), at)
        yield self._step(f"{insert} ON CONFLICT (session_id, turn_id) DO NOTHING", values)
        return (yield from self._evict(row.scope, at))

    def pattern_outcomes(self, scope: str, fingerprint: str) -> Op[list[Outcome]]:
        """The newest outcomes of turns of one kind."""
        rows = yield self._step(
            f"SELECT model, success, weight, cost_usd {_RECENT} AND fingerprint = ?"
            " ORDER BY recorded_at DESC LIMIT ?",
            (scope, fingerprint, RECENT_TURNS),
        )
        return [
            Outcome(model, success, weight, None if cost is None else Decimal(cost))
            for model, success, weight, cost in rows
        ]

    def adjust_pattern(self, session_id: str, message_id: str, change: Adjustment) -> Op[None]:
        """Apply feedback to the turn of an answer, if its outcome is stored. A rating replaces
        implicit feedback, and implicit feedback never changes a rated turn."""
        values = (
            *(change.strength, change.target, change.weight, change.rating, change.signal),
            *(session_id, message_id),
        )
        unrated = "" if change.rating is not None else " AND rating IS NULL"
        yield self._step(
            "UPDATE pattern_turns SET success = success + ? * (? - success), weight = ?,"
            " rating = coalesce(?, rating), signal = coalesce(?, signal)"
            f" WHERE session_id = ? AND message_id = ?{unrated}",
            values,
        )

    def reset_patterns(self, scope: str = "") -> Op[list[Evicted]]:
        """Forget all outcomes of a scope."""
        rows = yield self._step(f"SELECT DISTINCT fingerprint {_RECENT}", (scope,))
        yield self._step(f"DELETE {_RECENT}", (scope,))
        return [Evicted(fingerprint, "reset") for (fingerprint,) in rows]

    def pattern_kinds(self, scope: str = "") -> Op[list[tuple[str, str, int, float]]]:
        """Kinds of turns with their models: fingerprint, model, turns, and mean success."""
        rows = yield self._step(
            "SELECT fingerprint, model, count(*), sum(success * weight) / sum(weight)"
            f" {_RECENT} GROUP BY fingerprint, model ORDER BY 3 DESC, 1, 2",
            (scope,),
        )
        return [(kind, model, count, float(success)) for kind, model, count, success in rows]

    def _evict(self, scope: str, at: int) -> Op[list[Evicted]]:
        """Delete rows beyond the age or the number; returns the kinds that no row is left of."""
        oldest = yield self._step(f"SELECT min(recorded_at) {_RECENT}", (scope,))
        first_extra = yield self._step(
            f"SELECT recorded_at {_RECENT} ORDER BY recorded_at DESC LIMIT 1 OFFSET ?",
            (scope, MAX_TURNS),
        )
        cutoff, reason = at - MAX_AGE_DAYS * _DAY_US, "age"
        if first_extra and first_extra[0][0] >= cutoff:
            cutoff, reason = first_extra[0][0] + 1, "capacity"
        elif oldest[0][0] >= cutoff:
            return []
        gone = yield self._step(
            f"SELECT fingerprint {_RECENT} GROUP BY fingerprint HAVING max(recorded_at) < ?",
            (scope, cutoff),
        )
        yield self._step(f"DELETE {_RECENT} AND recorded_at < ?", (scope, cutoff))
        return [Evicted(fingerprint, reason) for (fingerprint,) in gone]  # type: ignore[arg-type]

    def _step(self, sql: str, values: Sequence[Any]) -> Step:
        return Step(self._sql(sql), values)
