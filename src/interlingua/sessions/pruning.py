"""Limits on the size and age of `metadata.provider_raw`.

With it a message is written back byte for byte; it is not part of the content, so it may be removed
when it is too large or too old; signatures, ids and everything else that has a field stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from interlingua.model.blocks import CompactionBlock
from interlingua.model.codec import dumps
from interlingua.model.message import Message, Role, walk_message
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.store.base import Store
from interlingua.store.rows import SessionRow, UsageRow

MOST_BYTES = 1 << 20
"""The largest `provider_raw` of one answer that is stored, as JSON."""
TOO_LARGE = "provider_raw_dropped"
"""The diagnostic of an answer that had more."""
PAGE = 200


def limited(message: Message, most: int | None = MOST_BYTES) -> Message:
    """The message without a `provider_raw` that is larger than this; a marker replaces it. None: no
    limit."""
    metadata = message.metadata
    size = _size(metadata)
    if most is None or size <= most:
        return message
    diagnostic = Diagnostic(TOO_LARGE, f"{size} bytes, more than {most}", details={"bytes": size})
    diagnostics = (*metadata.diagnostics, diagnostic)
    return message.replace(metadata=metadata.replace(provider_raw=None, diagnostics=diagnostics))


class Pruned(NamedTuple):
    """The number of messages that lost their `provider_raw`, and its bytes."""

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
    bytes than this. Everything else stays, and so does the order of sessions."""
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


def with_files(messages: Sequence[Message], workspace_path: str) -> tuple[Message, ...]:
    """The messages as a wire wants them: data in place of `file_ref`. No file is opened unless one
    is referred to, and none outside the workspace.

    What the last turn refers to must be there. A file that has gone since an older turn is no
    reason to be stuck: the reference stays, and the writer reports it as lost."""
    if not any(map(_refers, messages)):
        return tuple(messages)
    from interlingua.tools.attach import attach_files
    from interlingua.tools.handlers import WorkspaceError
    from interlingua.tools.workspace import Workspace

    workspace = Workspace.of(workspace_path)
    last = max((i for i, m in enumerate(messages) if m.role is Role.USER), default=0)
    out = list(messages)
    for index, message in enumerate(messages):
        if _refers(message):
            try:
                (out[index],) = attach_files([message], workspace)
            except WorkspaceError:
                if index >= last:
                    raise
    return tuple(out)


def _refers(message: Message) -> bool:
    return any(_is_reference(block) for _, _, block in walk_message(message))


def _is_reference(block: object) -> bool:
    source = getattr(block, "source", None)
    return source is not None and source.kind == "file_ref"


INSTRUCTIONS = frozenset({Role.SYSTEM, Role.DEVELOPER})


def sendable(history: Sequence[Message], dialect: str | None = None) -> Sequence[Message]:
    """The messages of a request, without those that the last compaction replaces. A compaction that
    only its issuer can read replaces nothing for a model of another `dialect`."""
    for index in range(len(history) - 1, -1, -1):
        for block in history[index].content:
            if type(block) is CompactionBlock and _is_readable(block, history[index], dialect):
                count = index if block.replaces is None else min(block.replaces, index)
                before = history[index - count : index]
                instructions = [each for each in before if each.role in INSTRUCTIONS]
                return [*history[: index - count], *instructions, *history[index:]]
    return history


def _is_readable(block: CompactionBlock, message: Message, dialect: str | None) -> bool:
    if block.text:
        return True
    return block.data is not None and message.metadata.protocol == dialect is not None
