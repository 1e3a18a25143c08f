"""Messages and their calls: appended, rewritten, read."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from interlingua.errors import ReadError
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.ids import Ulids, is_ulid
from interlingua.model.message import Message, from_micros, micros, with_provenance
from interlingua.model.rules import EarlierCall, validate, validate_appended
from interlingua.store import search_text
from interlingua.store.errors import ConflictError, InvalidError, NotFoundError, StoreError
from interlingua.store.rows import CALLS, Appended, Hold, SearchHit, ToolCallRow
from interlingua.store.search_text import Draft, draft, read, read_all
from interlingua.store.statements import Op, Prepared, Rows, Statements, Step, Work, now
from interlingua.store.usages import Ledger

logger = logging.getLogger(__name__)

PAGE = 500
"""Messages that are indexed at a time."""
IN_VAIN = 3
"""Empty rounds of indexing before giving up: others may have been quicker, or the file is
damaged."""


class Search(Work):
    def unindexed(self) -> Op[bool]:
        rows = yield Step(self.sql.unindexed)
        return bool(rows)

    def index_some(self) -> Op[bool]:
        """Index a page of some session; gives whether there was something to do."""
        rows = yield Step(self.sql.unindexed)
        if not rows:
            return False
        session_id = rows[0][0]
        rows = yield Step(self.sql.to_index, (session_id,))
        if not rows:
            return False
        done = rows[0][1]
        rows = yield Step(self.sql.messages, (session_id, done, PAGE))
        if not rows:
            return False  # another process was quicker
        found = self._texts(session_id, rows)
        if found:
            yield Step(self.sql.add_text, found, many=True)
        yield Step(self.sql.indexed, (rows[-1][-1], session_id))
        return True

    def search(self, words: str, session_id: str | None, limit: int) -> Op[list[SearchHit]]:
        values = self._query(words)
        if not any(values):
            return []
        rows = yield Step(self.sql.search, (*values, session_id, session_id, max(limit, 0)))
        return [
            SearchHit(session, id, seq, role, from_micros(at), _snippet(text, words))
            for session, id, seq, role, at, text in rows
        ]

    def _query(self, words: str) -> tuple[Any, ...]:
        """A query as the engine's values; all empty if it has no words."""
        if not self.sql.is_sqlite:
            return search_text.for_postgres(words)
        query, runs = search_text.for_sqlite(words)
        return (query, dumps(runs).decode()) if query else ()

    def _texts(self, session_id: str, rows: Rows) -> list[tuple[Any, ...]]:
        """Searchable texts; an unreadable message must not block others."""
        found = []
        for row in rows:
            try:
                message = read(session_id, row)
            except ReadError as error:
                extra = {"session_id": session_id, "message_id": row[0], "path": error.path}
                logger.warning("stored_message_not_indexed", extra=extra)
                continue
            if message is not None:
                found.append(text_row(self.sql, session_id, message))
        return found


def text_row(sql: Statements, session_id: str, message: Message) -> tuple[Any, ...]:
    """A message's row in the table that is searched."""
    text = search_text.text_of(message)
    if sql.is_sqlite:
        return (session_id, message.id, search_text.spaced(text))
    return (session_id, message.id, text, search_text.plain_words(text), search_text.pairs_of(text))


def _snippet(text: str, words: str) -> str:
    return search_text.snippet(search_text.unspaced(text), words)


LARGE = 500
"""More messages than this in one call are a large one."""


class Messages(Work):
    def append(
        self,
        session_id: str,
        messages: Sequence[Message],
        *,
        provider_ids: Mapping[str, str] | None = None,
        after: int | None = None,
        hold: Hold | None = None,
        check: bool = True,
        changed_at: datetime | None = None,
    ) -> Prepared[Appended]:
        """Append messages, all or none; ids, session id and time are filled in where missing, and
        of complete answers what is known of their model, routing and usage (`model/message.py`).

        A message that breaks a rule of what sessions hold is refused (InvalidError); without
        `check` it is not: what a provider answered is stored as it is.

        `provider_ids` says what the provider calls each call. With `after`, nothing is appended
        unless that is the `seq` of the last message (ConflictError). `hold` says whose turn it is
        in which they are. `changed_at` is when the session changed, if that was not now."""
        for message in messages:
            if message.session_id is not None and message.session_id != session_id:
                problem = f"message {message.id} belongs to session {message.session_id!r}"
                raise ConflictError(self.where, f"{problem}, not to {session_id!r}")
        drafts = [draft(with_provenance(message)) for message in messages]
        ids = provider_ids or {}
        changed = None if changed_at is None else micros(changed_at)
        work = partial(self._append_drafts, session_id, drafts, ids, after, hold, check, changed)
        return Prepared(work, large=len(drafts) > LARGE)

    def _append_drafts(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        provider_ids: Mapping[str, str],
        after: int | None,
        hold: Hold | None = None,
        check: bool = True,
        changed: int | None = None,
    ) -> Op[Appended]:
        count = len(drafts)
        at = now()
        taken = (count, at if changed is None else changed, session_id, count)
        rows = yield Step(self.sql.take, taken)
        if not rows:
            raise NotFoundError(self.where, "session", session_id)
        total, last_id = rows[0]
        first = total - count + 1
        if after is not None and after != first - 1:
            problem = f"session {session_id!r} has {first - 1} messages, not {after}"
            raise ConflictError(self.where, problem)
        if hold is not None:
            yield from self._hold(session_id, hold)
        if last_id is None and first > 1:
            # PostgreSQL waited for another append to the session, and what that one wrote is not
            # seen by a statement that began before.
            rows = yield Step(self.sql.id_at, (session_id, first - 1))
            last_id = rows[0][0] if rows else None
        ids = self._ids(drafts, last_id)
        filled = tuple(
            [_filled(draft, id, session_id, at) for draft, id in zip(drafts, ids, strict=True)]
        )
        calls = (yield from self._answered(session_id, filled)) if check else []
        yield from self._insert(session_id, drafts, ids, first, at, provider_ids)
        # Ids that are taken were reported by name; now, does the session still obey all rules?
        if check:
            for violation in validate_appended(filled, session_id, last_id or "", calls):
                raise InvalidError(self.where, violation)
        return Appended(first, filled)

    def _answered(self, session_id: str, messages: Sequence[Message]) -> Op[list[EarlierCall]]:
        """The earlier calls that these messages have results for."""
        calls = []
        for id in _answered_elsewhere(messages):
            rows = yield Step(self.sql.call, (session_id, id))
            calls += [EarlierCall(id, executor, bool(result)) for executor, result in rows]
        return calls

    def _ids(self, drafts: Sequence[Draft], last: str | None) -> list[str]:
        """The drafts' own ids, or new ones: greater than all before."""
        ids = []
        for each in drafts:
            id = each.id
            if id is None:
                id = self.ulids.new()
                if last is not None and id <= last and is_ulid(last):
                    id = Ulids(after=last).new()
            ids.append(id)
            last = id
        return ids

    def _insert(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        ids: list[str],
        first: int,
        begun: int,
        provider_ids: Mapping[str, str],
    ) -> Op[None]:
        ledger = Ledger(session_id, provider_ids)
        rows = []
        for seq, (each, id) in enumerate(zip(drafts, ids, strict=True), first):
            at = begun if each.created_at is None else each.created_at
            rows.append(each.row(id, session_id, seq, at))
            if each.message is not None:
                ledger.add(each.message, id, at)
        self._require_new_ids(ledger)
        if len(rows) == 1:
            yield Step(self.sql.add_message, rows[0])
        elif rows:
            yield Step(self.sql.add_message, rows, many=True)
        yield from ledger.insert(self.sql)

    def _require_new_ids(self, ledger: Ledger) -> None:
        if ledger.repeated is not None:
            raise ConflictError(self.where, f"tool call id {ledger.repeated[:80]!r} is used twice")

    def hold_turn(self, session_id: str, hold: Hold, *, after: int | None = None) -> Op[None]:
        """Records that a turn is under way, or still is; `after` as in `append`. Its holder is read
        with the session (`SessionRow.turn`); whether the holder is alive is not judged here."""
        yield from self._append_drafts(session_id, (), {}, after, hold)

    def end_turn(self, session_id: str, turn_id: str) -> Op[None]:
        """This turn is no longer under way; if it is another that is, nothing changes."""
        yield Step(self.sql.let_go, (session_id, turn_id))

    def _hold(self, session_id: str, hold: Hold) -> Op[None]:
        names = (hold.instead_of or "", hold.turn_id)
        rows = yield Step(self.sql.hold, (hold.turn_id, hold.holder, now(), session_id, *names))
        if not rows and hold.firm:
            problem = f"another program is running a turn of session {session_id!r}"
            raise ConflictError(self.where, problem)

    def save(
        self,
        message: Message,
        *,
        provider_ids: Mapping[str, str] | None = None,
        instead_of: Message | None = None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> Prepared[None]:
        """Write a message anew in its place, in the present form. With `instead_of`, nothing is
        written unless the stored message is still that one (ConflictError). `check` is as in
        `append`."""
        new = self._draft(message)
        copy = None if instead_of is None else self._draft(instead_of)
        return Prepared(partial(self._save_draft, new, provider_ids or {}, copy, hold, check))

    def _draft(self, message: Message) -> Draft:
        if message.id is None or message.session_id is None:
            raise StoreError(self.where, "only a message with id and session_id can be saved")
        return draft(with_provenance(message))

    def _save_draft(
        self,
        draft: Draft,
        provider_ids: Mapping[str, str],
        instead_of: Draft | None = None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> Op[None]:
        message = draft.message
        assert message is not None  # made from one
        assert message.session_id is not None  # checked by `_draft`
        assert message.id is not None
        session_id, id = message.session_id, message.id
        for violation in validate(message) if check else ():
            raise InvalidError(self.where, violation)
        rows = yield Step(self.sql.touch, (now(), session_id))
        if not rows:
            raise NotFoundError(self.where, "session", session_id)
        indexed = rows[0][0]
        if hold is not None:
            yield from self._hold(session_id, hold)
        if instead_of is not None:
            yield from self._require_stored(session_id, id, instead_of)
        seq, created_at = yield from self._rewrite_message(draft, session_id, id)
        ledger = Ledger(session_id, provider_ids)
        ledger.add(message, id, created_at)
        self._require_new_ids(ledger)
        yield from ledger.replace(self.sql, id)
        if seq <= indexed:
            yield Step(self.sql.drop_text, (session_id, id))
            yield Step(self.sql.add_text, text_row(self.sql, session_id, message))

    def _rewrite_message(self, draft: Draft, session_id: str, id: str) -> Op[tuple[int, int]]:
        """Updates the message in its own row; returns the row's number and its creation time."""
        fields = (draft.role, draft.content, draft.metadata, draft.created_at)
        more = (draft.schema_version, draft.name)
        rows = yield Step(self.sql.rewrite, (*fields, *more, session_id, id))
        if not rows:
            raise NotFoundError(self.where, "message", id)
        return rows[0][0], rows[0][1]

    def _require_stored(self, session_id: str, id: str, copy: Draft) -> Op[None]:
        """Whether the message is still equal to the caller's copy."""
        rows = yield Step(self.sql.message_now, (session_id, id))
        message = read(session_id, rows[0]) if rows else None
        if message is not None and draft(with_provenance(message))[2:] != copy[2:]:
            problem = f"message {id} of session {session_id!r} was changed by another program"
            raise ConflictError(self.where, problem)

    def message(self, session_id: str, id: str) -> Op[Message]:
        """One message; NotFoundError if there is none."""
        rows = yield Step(self.sql.message, (session_id, id))
        message = read(session_id, rows[0]) if rows else None
        if message is None:
            raise NotFoundError(self.where, "message", id)
        return message

    def messages(
        self, session_id: str, after: int | str = 0, limit: int | None = None
    ) -> Op[list[Message]]:
        """Messages in order; `after` is a `seq` or the id of a message."""
        if isinstance(after, str):
            after = yield from self._seq(session_id, after)
        rows = yield Step(self.sql.messages, (session_id, after, self._limit(limit)))
        return read_all(session_id, rows)

    def tail(self, session_id: str, count: int = 50) -> Op[list[Message]]:
        """The last messages, in order; as quick in a long session as in a short one."""
        rows = yield Step(self.sql.tail, (session_id, max(count, 0)))
        return read_all(session_id, rows[::-1])

    def _seq(self, session_id: str, message_id: str) -> Op[int]:
        rows = yield Step(self.sql.seq, (session_id, message_id))
        if not rows:
            raise NotFoundError(self.where, "message", message_id)
        seq: int = rows[0][0]
        return seq

    def _limit(self, limit: int | None) -> int | None:
        if limit is None:
            return -1 if self.sql.is_sqlite else None
        return max(limit, 0)

    def tool_calls(self, session_id: str) -> Op[list[ToolCallRow]]:
        """Every call of a session, in order: the map between our ids and the providers'."""
        rows = yield Step(self.sql.calls, (session_id,))
        return [CALLS.read(row) for row in rows]

    def unanswered(self, session_id: str) -> Op[list[ToolCallRow]]:
        """Calls that wait for a result of ours; tools that the provider runs are not among them."""
        rows = yield Step(self.sql.unanswered, (session_id,))
        return [CALLS.read(row) for row in rows]

    def failed(self, session_id: str) -> Op[list[ToolCallRow]]:
        """Calls that ended in an error."""
        rows = yield Step(self.sql.failed, (session_id,))
        return [CALLS.read(row) for row in rows]


def _answered_elsewhere(messages: Sequence[Message]) -> list[str]:
    """The calls that these messages have results for, and that are in none of them."""
    made: set[str] = set()
    answered: dict[str, None] = {}
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock:
                made.add(block.id)
            elif type(block) is ToolResultBlock and block.tool_use_id not in made:
                answered[block.tool_use_id] = None
    return list(answered)


def _filled(draft: Draft, id: str, session_id: str, at: int) -> Message:
    message = draft.message
    assert message is not None  # those that we cannot read are only ever copied
    if message.id is not None and message.session_id is not None and message.created_at is not None:
        return message
    return message.replace(
        id=id, session_id=session_id, created_at=message.created_at or from_micros(at)
    )
