"""Shared by commands on the store: options for the store, the session and the message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from interlingua.cli.main import shown
from interlingua.model.message import Message, Role
from interlingua.model.metadata import KEY_ID, MessageMetadata
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.request_costs import SESSIONS
from interlingua.store.requests import RequestFilter, RequestRow
from interlingua.store.rows import SessionRow, UsageRow

if TYPE_CHECKING:
    from interlingua.costs.history import Repriced
    from interlingua.store.base import Store


PAGE = 500
"""Rows that are in memory at a time."""
NAMED = 5
"""Candidates that an error names."""
LAST = "last"


def opened(address: str | None, make: bool = False) -> Store:
    """The store. A file that is named and not there is an error, unless it is to be made. One that
    the gateway's settings name is printed."""
    from interlingua.cli.options import STORE_SOURCE
    from interlingua.store.open import open_store

    if address is not None and not make:
        path = address.removeprefix("sqlite:///")
        if "://" not in path and not Path(path).exists():
            raise StoreError(path, "no such file", "io")
    store = open_store(address)
    context = click.get_current_context(silent=True)
    if context is not None and (file := context.meta.get(STORE_SOURCE)):
        click.echo(f"store: {shown(store.where)} (named in {shown(file)})", err=True)
    return store


def all_sessions(store: Store) -> Iterator[SessionRow]:
    """Every session, the last changed first."""
    before = None
    while page := store.sessions(PAGE, before):
        yield from page
        before = page[-1]


def all_messages(store: Store, row: SessionRow) -> Iterator[Message]:
    """The messages that a session had when its row was read, page by page."""
    for done in range(0, row.message_count, PAGE):
        yield from store.messages(row.id, done, min(PAGE, row.message_count - done))


def find_session(store: Store, text: str) -> SessionRow:
    """The session with this id, or the only one whose id begins so or that has this name; `last` is
    the last changed."""
    if text == LAST:
        rows = store.sessions(1)
        if not rows:
            raise StoreError(store.where, "there are no sessions yet", "not_found")
        return rows[0]
    try:
        return store.session(text)
    except NotFoundError:
        start = text.lower()
        fitting = (
            row
            for row in all_sessions(store)
            if row.id.lower().startswith(start) or (row.name or "").lower() == start
        )
        return only(store, "session", text, fitting, lambda row: row.id)


def find_message(store: Store, row: SessionRow, text: str) -> Message:
    """A message by its id, the beginning of it, or its number in the session."""
    try:
        return store.message(row.id, text)
    except NotFoundError:
        if text.isdecimal() and len(text) < 10:
            found = store.messages(row.id, int(text) - 1, 1) if int(text) else []
            if found:
                return found[0]
            raise
    start = text.lower()
    fitting = (
        message
        for message in all_messages(store, row)
        if (message.id or "").lower().startswith(start)
    )
    return only(store, "message", text, fitting, lambda message: message.id or "")


T = TypeVar("T")


def only(store: Store, what: str, text: str, fitting: Iterator[T], id_of: Callable[[T], str]) -> T:
    found = list(islice(fitting, NAMED + 1)) if text else []
    if not found:
        raise NotFoundError(store.where, what, text)
    if len(found) > 1:
        ids = ", ".join(id_of(each) for each in found[:NAMED])
        more = " and others" if len(found) > NAMED else ""
        problem = f"{text[:80]!r} is the beginning of several {what}s: {ids}{more}"
        raise StoreError(store.where, problem, "conflict")
    return found[0]


def numbered(store: Store, row: SessionRow, limit: int) -> list[tuple[int, Message]]:
    """The last messages with their numbers, also where some in between cannot be read."""
    before = max(row.message_count - limit, 0)
    found = store.messages(row.id, before, row.message_count - before)
    if len(found) == row.message_count - before:
        return list(enumerate(found, before + 1))
    numbers = range(before + 1, row.message_count + 1)
    return [(at, message) for at in numbers for message in store.messages(row.id, at - 1, 1)]


BATCH = 500
"""Messages that get their new cost in one transaction."""


def usages(
    store: Store,
    since: datetime | None = None,
    until: datetime | None = None,
    next_session: Callable[[int], None] = lambda count: None,
    copies: bool = True,
) -> Iterator[Message]:
    """Messages that used tokens, made at `since` or later and before `until`; without their
    content, which is not read. `next_session` is called with 1 when another one begins. Without
    `copies`, messages that a fork copied from its parent are left out: they were paid for once."""
    session_id, begun = None, None
    for row in store.usages(since, until):
        if row.session_id != session_id:
            session_id = row.session_id
            next_session(1)
            begun = None if copies else _forked_at(store, session_id)
        if begun is not None and row.created_at < begun:
            continue  # copies keep the time at which they were made
        yield Message(
            Role.ASSISTANT,
            id=row.message_id,
            session_id=row.session_id,
            metadata=row.metadata,
            created_at=row.created_at,
        )


def _forked_at(store: Store, session_id: str) -> datetime | None:
    """The time of a fork; None for a session that is not a fork, or if its parent is gone."""
    try:
        row = store.session(session_id)
        if row.parent_id is None:
            return None
        store.session(row.parent_id)
    except NotFoundError:
        return None
    return row.created_at


def answers(store: Store, filter: RequestFilter) -> Iterator[Message]:
    """The answers that the gateway gave to clients, without their content. Those of sessions and
    tasks are not among them: they are messages."""
    for row in store.all_requests(filter._replace(besides=SESSIONS)):
        if row.usage is not None:
            yield Message(Role.ASSISTANT, id=row.id, metadata=_metadata(row), created_at=row.at)


def _metadata(row: RequestRow) -> MessageMetadata:
    return MessageMetadata(
        model=row.model,
        usage=row.usage,
        user_id=row.user_id,
        team_id=row.team_id,
        extra=None if row.key_id is None else {KEY_ID: row.key_id},
    )


class Saver:
    """Collects new costs and writes them. `missed` counts messages that were changed or removed
    meanwhile; they stay as they are."""

    def __init__(self, store: Store) -> None:
        self.missed = 0
        self._store = store
        self._waiting: list[Repriced] = []

    def add(self, each: Repriced) -> None:
        self._waiting.append(each)
        if len(self._waiting) >= BATCH:
            self.flush()

    def flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        messages = [each for each in waiting if each.message.session_id is not None]
        if messages:
            metadata = [each.message.metadata.replace(usage=each.usage) for each in messages]
            rows = [_row(each.message) for each in messages]
            saved = self._store.save_metadata(list(zip(rows, metadata, strict=True)))
            self.missed += len(messages) - len(saved)
        requests = [each for each in waiting if each.message.session_id is None]
        if requests:
            self._store.save_costs([(each.message.id or "", each.usage) for each in requests])


def _row(message: Message) -> UsageRow:
    assert message.session_id is not None  # made by `usages`
    assert message.id is not None
    assert message.created_at is not None
    return UsageRow(message.session_id, message.id, message.created_at, message.metadata)
