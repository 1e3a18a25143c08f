"""Messages and their calls: appended, rewritten, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interlingua.ids import Ulids, is_ulid
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, from_micros
from interlingua.model.provenance import with_provenance
from interlingua.model.rules import EarlierCall, validate, validate_appended
from interlingua.store.calls import Ledger, call_row
from interlingua.store.effects import Op, Step, Work, now
from interlingua.store.errors import ConflictError, InvalidError, NotFoundError, StoreError
from interlingua.store.message_rows import Draft, draft, read, read_all
from interlingua.store.rows import Appended, Hold, ToolCallRow
from interlingua.store.search import text_row


class Messages(Work):
    def drafts(self, session_id: str, messages: Sequence[Message]) -> list[Draft]:
        """Messages as rows; done before the transaction."""
        for message in messages:
            if message.session_id is not None and message.session_id != session_id:
                problem = f"message {message.id} belongs to session {message.session_id!r}"
                raise ConflictError(self.where, f"{problem}, not to {session_id!r}")
        return [draft(with_provenance(message)) for message in messages]

    def draft(self, message: Message) -> Draft:
        """A message that is to be saved: it must say which one it is."""
        if message.id is None or message.session_id is None:
            raise StoreError(self.where, "only a message with id and session_id can be saved")
        return draft(with_provenance(message))

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        provider_ids: Mapping[str, str],
        after: int | None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> Op[Appended]:
        count = len(drafts)
        at = now()
        rows = yield Step(self.sql.take, (count, at, session_id, count))
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
        # Ids that are taken were told by name; now, is this still a session that keeps all rules?
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
        """The drafts' own ids, and new ones where there are none: greater than all before."""
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

    def hold_turn(self, session_id: str, hold: Hold, after: int | None) -> Op[None]:
        yield from self.append(session_id, (), {}, after, hold)

    def end_turn(self, session_id: str, turn_id: str) -> Op[None]:
        yield Step(self.sql.let_go, (session_id, turn_id))

    def _hold(self, session_id: str, hold: Hold) -> Op[None]:
        names = (hold.instead_of or "", hold.turn_id)
        rows = yield Step(self.sql.hold, (hold.turn_id, hold.holder, now(), session_id, *names))
        if not rows and hold.firm:
            problem = f"another program is running a turn of session {session_id!r}"
            raise ConflictError(self.where, problem)

    def save(
        self,
        draft: Draft,
        provider_ids: Mapping[str, str],
        instead_of: Draft | None = None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> Op[None]:
        message = draft.message
        assert message is not None  # made from one
        assert message.session_id is not None  # `draft` has seen to it
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
        """The message in its own row; gives the row's number and when it was made."""
        fields = (draft.role, draft.content, draft.metadata, draft.created_at)
        more = (draft.schema_version, draft.name)
        rows = yield Step(self.sql.rewrite, (*fields, *more, session_id, id))
        if not rows:
            raise NotFoundError(self.where, "message", id)
        return rows[0][0], rows[0][1]

    def _require_stored(self, session_id: str, id: str, copy: Draft) -> Op[None]:
        """Whether the message is still the one that somebody has a copy of."""
        rows = yield Step(self.sql.message_now, (session_id, id))
        message = read(session_id, rows[0]) if rows else None
        if message is not None and draft(with_provenance(message))[2:] != copy[2:]:
            problem = f"message {id} of session {session_id!r} was changed by another program"
            raise ConflictError(self.where, problem)

    def message(self, session_id: str, id: str) -> Op[Message]:
        rows = yield Step(self.sql.message, (session_id, id))
        message = read(session_id, rows[0]) if rows else None
        if message is None:
            raise NotFoundError(self.where, "message", id)
        return message

    def messages(self, session_id: str, after: int | str, limit: int | None) -> Op[list[Message]]:
        if isinstance(after, str):
            after = yield from self._seq(session_id, after)
        rows = yield Step(self.sql.messages, (session_id, after, self._limit(limit)))
        return read_all(session_id, rows)

    def tail(self, session_id: str, count: int) -> Op[list[Message]]:
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
        rows = yield Step(self.sql.calls, (session_id,))
        return [call_row(row) for row in rows]

    def unanswered(self, session_id: str) -> Op[list[ToolCallRow]]:
        rows = yield Step(self.sql.unanswered, (session_id,))
        return [call_row(row) for row in rows]

    def failed(self, session_id: str) -> Op[list[ToolCallRow]]:
        rows = yield Step(self.sql.failed, (session_id,))
        return [call_row(row) for row in rows]


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
