"""Every message and every request of the gateway that used tokens, walked in constant memory; new
costs are written in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from interlingua.model.message import Message, Role
from interlingua.model.metadata import KEY_ID, MessageMetadata
from interlingua.store.errors import NotFoundError
from interlingua.store.request_rows import SESSIONS, RequestRow, Wanted
from interlingua.store.rows import UsageRow

if TYPE_CHECKING:
    from interlingua.prices.history import Repriced
    from interlingua.store.base import Store

BATCH = 500
"""Messages that get their new cost in one transaction."""


def usages(
    store: Store,
    since: datetime | None = None,
    until: datetime | None = None,
    next_session: Callable[[int], None] = lambda count: None,
    copies: bool = True,
) -> Iterator[Message]:
    """Messages that used tokens, made at `since` or later and before `until`; without what they
    say, which is not read. `next_session` is called with 1 when another one begins. Without
    `copies`, what a fork has from its parent is left out: it was paid for once."""
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
    """When a fork was made; None for what is no fork, or the last that is left of its parent."""
    try:
        row = store.session(session_id)
        if row.parent_id is None:
            return None
        store.session(row.parent_id)
    except NotFoundError:
        return None
    return row.created_at


def answers(store: Store, wanted: Wanted) -> Iterator[Message]:
    """The answers that the gateway gave to clients, without what they say. Those of sessions and
    tasks are not among them: they are messages."""
    for row in store.all_requests(wanted._replace(besides=SESSIONS)):
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
    """Collects new costs and writes them. `missed` counts messages that somebody else changed or
    removed meanwhile; they stay as they are."""

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
