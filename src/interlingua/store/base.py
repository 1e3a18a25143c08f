"""What every store can do.

`Store` and `AsyncStore` are the same calls, with and without `await`; an engine adds how a call is
run: reading, or in a transaction of its own. A call that returns has been written durably; a call
that raises has changed nothing (except where a lost connection leaves it open whether the last
commit was made: `StoreError.reason` is then `unreachable`). `ledger_calls.py` has the calls that
concern no single conversation, `gateway_calls.py` those of a gateway, `task_calls.py` those about
tasks, `request_calls.py` those about what passed the gateway.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from interlingua.model.message import Message
from interlingua.store.gateway_calls import AsyncGatewayCalls, GatewayCalls
from interlingua.store.ledger_calls import AsyncLedgerCalls, LedgerCalls
from interlingua.store.request_calls import AsyncRequestCalls, RequestCalls
from interlingua.store.rows import (
    ALL_SESSIONS,
    Appended,
    EventRow,
    Hold,
    JsonObject,
    SearchHit,
    SessionFilter,
    SessionRow,
    ToolCallRow,
)
from interlingua.store.search import IN_VAIN
from interlingua.store.task_calls import AsyncTaskCalls, TaskCalls

LARGE = 500
"""More messages than this in one call are a large one."""


class Store(LedgerCalls, GatewayCalls, TaskCalls, RequestCalls):
    """A place where sessions live. May be shared between threads."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. Closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sessions

    def create_session(
        self,
        workspace_path: str,
        *,
        id: str | None = None,
        name: str | None = None,
        active_model: str | None = None,
        routing_policy: JsonObject | None = None,
    ) -> SessionRow:
        """A new, empty session; its id is made here unless given."""
        row = self._do.new_session(workspace_path, id, name, active_model, routing_policy)
        return self._write(lambda: self._do.create_session(row))

    def add_session(self, row: SessionRow) -> SessionRow:
        """A session that comes from elsewhere, with its own id, times and parent; without its
        messages, so that its `message_count` is 0 here."""
        row = replace(row, message_count=0)
        return self._write(lambda: self._do.create_session(row))

    def session(self, id: str) -> SessionRow:
        """The session; NotFoundError if there is none."""
        return self._read(lambda: self._do.session(id))

    def sessions(self, limit: int = 50, before: SessionRow | None = None) -> list[SessionRow]:
        """Sessions, the last changed first; `before` is the last one of the page before."""
        return self._read(lambda: self._do.sessions(limit, before))

    def sessions_of(
        self,
        owner: str | None,
        limit: int = 50,
        before: SessionRow | None = None,
        wanted: SessionFilter = ALL_SESSIONS,
    ) -> list[SessionRow]:
        """The same, of those alone whose policy names this `owner` (None: nobody), that are
        conversations, and that are wanted."""
        return self._read(lambda: self._do.sessions_of(owner, limit, before, wanted))

    def forks_of(self, session_id: str, limit: int = 200) -> list[SessionRow]:
        """The sessions that were forked from this one, the oldest first."""
        return self._read(lambda: self._do.forks_of(session_id, limit))

    def update_session(
        self,
        id: str,
        *,
        name: str | UnsetType | None = UNSET,
        active_model: str | UnsetType | None = UNSET,
        routing_policy: JsonObject | UnsetType | None = UNSET,
        workspace_path: str | UnsetType = UNSET,
    ) -> SessionRow:
        """Change what is given, leave the rest; gives the session as it is now."""
        changes = (name, active_model, routing_policy, workspace_path)
        return self._write(lambda: self._do.update_session(id, *changes))

    def delete_session(self, id: str) -> None:
        """Remove a session with everything that belongs to it."""
        self._write(lambda: self._do.delete_session(id))

    def fork(
        self, session_id: str, message_id: str | None = None, *, name: str | None = None
    ) -> SessionRow:
        """A new session with copies of the messages up to and including this one (or all).

        Copies have ids of their own, and so have their calls; the providers' ids are kept."""
        return self._write(lambda: self._do.fork(session_id, message_id, name))

    # Messages

    def append(
        self,
        session_id: str,
        messages: Sequence[Message],
        *,
        provider_ids: Mapping[str, str] | None = None,
        after: int | None = None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> Appended:
        """Append messages, all or none; ids, session id and time are filled in where missing, and
        of complete answers what is known of their model, routing and usage (`model/provenance.py`).

        A message that breaks a rule of what sessions hold is refused (InvalidError); without
        `check` it is not: what a provider answered is kept as it is.

        `provider_ids` says what the provider calls each call. With `after`, nothing is appended
        unless that is the `seq` of the last message (ConflictError). `hold` says whose turn it is
        in which they are."""
        drafts = self._do.drafts(session_id, messages)
        ids = provider_ids or {}
        large = len(drafts) > LARGE
        return self._write(
            lambda: self._do.append(session_id, drafts, ids, after, hold, check), large
        )

    def save(
        self,
        message: Message,
        *,
        provider_ids: Mapping[str, str] | None = None,
        instead_of: Message | None = None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> None:
        """Write a message anew in its place, in the present form. With `instead_of`, nothing is
        written unless the stored message is still that one (ConflictError). `check` is as in
        `append`."""
        draft = self._do.draft(message)
        copy = None if instead_of is None else self._do.draft(instead_of)
        self._write(lambda: self._do.save(draft, provider_ids or {}, copy, hold, check))

    def hold_turn(self, session_id: str, hold: Hold, *, after: int | None = None) -> None:
        """Say that a turn is under way, or still is; `after` as in `append`. Who has it is told
        with the session (`SessionRow.turn`); whether it still lives is not judged here."""
        self._write(lambda: self._do.hold_turn(session_id, hold, after), durable=False)

    def end_turn(self, session_id: str, turn_id: str) -> None:
        """This turn is no longer under way; if it is another that is, nothing changes."""
        self._write(lambda: self._do.end_turn(session_id, turn_id), durable=False)

    def message(self, session_id: str, id: str) -> Message:
        """One message; NotFoundError if there is none."""
        return self._read(lambda: self._do.message(session_id, id))

    def messages(
        self, session_id: str, after: int | str = 0, limit: int | None = None
    ) -> list[Message]:
        """Messages in order; `after` is a `seq` or the id of a message."""
        return self._read(lambda: self._do.messages(session_id, after, limit))

    def tail(self, session_id: str, count: int = 50) -> list[Message]:
        """The last messages, in order; as quick in a long session as in a short one."""
        return self._read(lambda: self._do.tail(session_id, count))

    # Calls

    def tool_calls(self, session_id: str) -> list[ToolCallRow]:
        """Every call of a session, in order: the map between our ids and the providers'."""
        return self._read(lambda: self._do.tool_calls(session_id))

    def unanswered(self, session_id: str) -> list[ToolCallRow]:
        """Calls that wait for a result of ours; what providers run themselves is not among them."""
        return self._read(lambda: self._do.unanswered(session_id))

    def failed(self, session_id: str) -> list[ToolCallRow]:
        """Calls that ended in an error."""
        return self._read(lambda: self._do.failed(session_id))

    # Events, search

    def append_events(self, events: Sequence[EventRow]) -> list[EventRow]:
        """Append to the trace; gives the events with their `seq`."""
        return self._write(lambda: self._do.append_events(events))

    def events(
        self, session_id: str, after: int = 0, limit: int = 1000, types: Sequence[str] = ()
    ) -> list[EventRow]:
        """The trace of a session from a cursor on; `types` chooses some kinds."""
        return self._read(lambda: self._do.events(session_id, after, limit, types))

    def search(
        self, words: str, *, session_id: str | None = None, limit: int = 50
    ) -> list[SearchHit]:
        """Messages in which all the words occur, newest first. `word*` is the start of a word."""
        in_vain = 0
        while in_vain < IN_VAIN and self._read(self._do.unindexed):
            in_vain = 0 if self._write(self._do.index_some) else in_vain + 1
        return self._read(lambda: self._do.search(words, session_id, limit))


class AsyncStore(AsyncLedgerCalls, AsyncGatewayCalls, AsyncTaskCalls, AsyncRequestCalls):
    """The same for programs with an event loop, which is never held up."""

    @abstractmethod
    async def close(self) -> None:
        """Wait for what is under way, then give everything back."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def create_session(
        self,
        workspace_path: str,
        *,
        id: str | None = None,
        name: str | None = None,
        active_model: str | None = None,
        routing_policy: JsonObject | None = None,
    ) -> SessionRow:
        """See `Store.create_session`."""
        row = self._do.new_session(workspace_path, id, name, active_model, routing_policy)
        return await self._write(lambda: self._do.create_session(row))

    async def add_session(self, row: SessionRow) -> SessionRow:
        """See `Store.add_session`."""
        row = replace(row, message_count=0)
        return await self._write(lambda: self._do.create_session(row))

    async def session(self, id: str) -> SessionRow:
        """See `Store.session`."""
        return await self._read(lambda: self._do.session(id))

    async def sessions(self, limit: int = 50, before: SessionRow | None = None) -> list[SessionRow]:
        """See `Store.sessions`."""
        return await self._read(lambda: self._do.sessions(limit, before))

    async def sessions_of(
        self,
        owner: str | None,
        limit: int = 50,
        before: SessionRow | None = None,
        wanted: SessionFilter = ALL_SESSIONS,
    ) -> list[SessionRow]:
        """See `Store.sessions_of`."""
        return await self._read(lambda: self._do.sessions_of(owner, limit, before, wanted))

    async def forks_of(self, session_id: str, limit: int = 200) -> list[SessionRow]:
        """See `Store.forks_of`."""
        return await self._read(lambda: self._do.forks_of(session_id, limit))

    async def update_session(
        self,
        id: str,
        *,
        name: str | UnsetType | None = UNSET,
        active_model: str | UnsetType | None = UNSET,
        routing_policy: JsonObject | UnsetType | None = UNSET,
        workspace_path: str | UnsetType = UNSET,
    ) -> SessionRow:
        """See `Store.update_session`."""
        changes = (name, active_model, routing_policy, workspace_path)
        return await self._write(lambda: self._do.update_session(id, *changes))

    async def delete_session(self, id: str) -> None:
        """See `Store.delete_session`."""
        await self._write(lambda: self._do.delete_session(id))

    async def fork(
        self, session_id: str, message_id: str | None = None, *, name: str | None = None
    ) -> SessionRow:
        """See `Store.fork`."""
        return await self._write(lambda: self._do.fork(session_id, message_id, name))

    async def append(
        self,
        session_id: str,
        messages: Sequence[Message],
        *,
        provider_ids: Mapping[str, str] | None = None,
        after: int | None = None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> Appended:
        """See `Store.append`. Cancelling the wait does not take back what is being written."""
        drafts = self._do.drafts(session_id, messages)
        ids = provider_ids or {}
        large = len(drafts) > LARGE
        return await self._write(
            lambda: self._do.append(session_id, drafts, ids, after, hold, check), large
        )

    async def save(
        self,
        message: Message,
        *,
        provider_ids: Mapping[str, str] | None = None,
        instead_of: Message | None = None,
        hold: Hold | None = None,
        check: bool = True,
    ) -> None:
        """See `Store.save`."""
        draft = self._do.draft(message)
        copy = None if instead_of is None else self._do.draft(instead_of)
        await self._write(lambda: self._do.save(draft, provider_ids or {}, copy, hold, check))

    async def hold_turn(self, session_id: str, hold: Hold, *, after: int | None = None) -> None:
        """See `Store.hold_turn`."""
        await self._write(lambda: self._do.hold_turn(session_id, hold, after), durable=False)

    async def end_turn(self, session_id: str, turn_id: str) -> None:
        """See `Store.end_turn`."""
        await self._write(lambda: self._do.end_turn(session_id, turn_id), durable=False)

    async def message(self, session_id: str, id: str) -> Message:
        """See `Store.message`."""
        return await self._read(lambda: self._do.message(session_id, id))

    async def messages(
        self, session_id: str, after: int | str = 0, limit: int | None = None
    ) -> list[Message]:
        """See `Store.messages`."""
        return await self._read(lambda: self._do.messages(session_id, after, limit))

    async def tail(self, session_id: str, count: int = 50) -> list[Message]:
        """See `Store.tail`."""
        return await self._read(lambda: self._do.tail(session_id, count))

    async def tool_calls(self, session_id: str) -> list[ToolCallRow]:
        """See `Store.tool_calls`."""
        return await self._read(lambda: self._do.tool_calls(session_id))

    async def unanswered(self, session_id: str) -> list[ToolCallRow]:
        """See `Store.unanswered`."""
        return await self._read(lambda: self._do.unanswered(session_id))

    async def failed(self, session_id: str) -> list[ToolCallRow]:
        """See `Store.failed`."""
        return await self._read(lambda: self._do.failed(session_id))

    async def append_events(self, events: Sequence[EventRow]) -> list[EventRow]:
        """See `Store.append_events`."""
        return await self._write(lambda: self._do.append_events(events))

    async def events(
        self, session_id: str, after: int = 0, limit: int = 1000, types: Sequence[str] = ()
    ) -> list[EventRow]:
        """See `Store.events`."""
        return await self._read(lambda: self._do.events(session_id, after, limit, types))

    async def search(
        self, words: str, *, session_id: str | None = None, limit: int = 50
    ) -> list[SearchHit]:
        """See `Store.search`."""
        in_vain = 0
        while in_vain < IN_VAIN and await self._read(self._do.unindexed):
            in_vain = 0 if await self._write(self._do.index_some) else in_vain + 1
        return await self._read(lambda: self._do.search(words, session_id, limit))
