"""Limits for what only its provider understands: how large it may be, and how long it is kept.

`metadata.provider_raw` lets a message go home to the letter. It is no part of what was said, so it
may go when it is too large or too old; signatures, ids and everything else that has a field stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from interlingua.model.codec import dumps
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.store.base import Store
from interlingua.store.rows import SessionRow, UsageRow

MOST_BYTES = 1 << 20
"""Of one answer's `provider_raw`, as JSON; what is larger is not kept."""
TOO_LARGE = "provider_raw_dropped"
"""The diagnostic of an answer that had more."""
PAGE = 200


def limited(message: Message, most: int | None = MOST_BYTES) -> Message:
    """The message without a `provider_raw` that is larger than this; it says so. None: no limit."""
    metadata = message.metadata
    size = _size(metadata)
    if most is None or size <= most:
        return message
    told = Diagnostic(TOO_LARGE, f"{size} bytes, more than {most}", details={"bytes": size})
    diagnostics = (*metadata.diagnostics, told)
    return message.replace(metadata=metadata.replace(provider_raw=None, diagnostics=diagnostics))


class Pruned(NamedTuple):
    """How many messages lost their `provider_raw`, and how many bytes that were."""

    messages: int
    bytes: int


def prune(
    store: Store,
    *,
    before: datetime | None = None,
    larger_than: int | None = None,
    session_id: str | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Remove the `provider_raw` of messages made before a time, and of those in which it has more
    bytes than this. What is said otherwise stays, and so does the order of sessions."""
    rows = [store.session(session_id)] if session_id is not None else _sessions(store)
    count = size = 0
    for page in _pages(store, rows):
        chosen = [message for message in page if _is_meant(message, before, larger_than)]
        count += len(chosen)
        size += sum(_size(message.metadata) for message in chosen)
        if chosen and not dry_run:
            store.save_metadata([_without(message) for message in chosen])
    return Pruned(count, size)


def _sessions(store: Store) -> Iterator[SessionRow]:
    before = None
    while rows := store.sessions(PAGE, before):
        yield from rows
        before = rows[-1]


def _pages(store: Store, rows: Iterable[SessionRow]) -> Iterator[list[Message]]:
    for row in rows:
        for done in range(0, row.message_count, PAGE):
            yield store.messages(row.id, done, PAGE)


def _is_meant(message: Message, before: datetime | None, larger_than: int | None) -> bool:
    if message.metadata.provider_raw is None:
        return False
    old = before is not None and message.created_at is not None and message.created_at < before
    return old or (larger_than is not None and _size(message.metadata) > larger_than)


def _size(metadata: MessageMetadata) -> int:
    return 0 if metadata.provider_raw is None else len(dumps(metadata.provider_raw))


def _without(message: Message) -> tuple[UsageRow, MessageMetadata]:
    assert message.id is not None  # it comes from a store
    assert message.session_id is not None
    assert message.created_at is not None
    row = UsageRow(message.session_id, message.id, message.created_at, message.metadata)
    return row, message.metadata.replace(provider_raw=None)
