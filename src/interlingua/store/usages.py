"""What every answer used, over one session or all of them, page by page; and new costs for them.

The order is by session, then by time. A page is its own transaction, so that a walk over a large
store holds nobody up, and needs the memory of one page.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from interlingua.model import message as _message
from interlingua.model.codec import dumps
from interlingua.model.message import Message, from_micros, micros
from interlingua.model.metadata import MessageMetadata
from interlingua.store.effects import Op, Step, Work
from interlingua.store.errors import StoreError
from interlingua.store.message_rows import draft, metadata_json, read, read_metadata
from interlingua.store.rows import UsageRow

PAGE = 500
"""Messages that are read at a time."""
_EARLIEST, _LATEST = -(2**62), 2**62


class Place(NamedTuple):
    """How far a walk has come: everything up to this message was given."""

    session_id: str
    created_at: int
    seq: int


class Walk(NamedTuple):
    """What is asked for. Times are microseconds; `until` is no part of it."""

    since: int
    until: int
    session_id: str | None

    @property
    def start(self) -> Place:
        return Place(self.session_id or "", self.since, 0)


def walk(since: datetime | None, until: datetime | None, session_id: str | None) -> Walk:
    return Walk(
        _EARLIEST if since is None else micros(since),
        _LATEST if until is None else micros(until),
        session_id,
    )


class Usages(Work):
    def usage_page(self, asked: Walk, place: Place) -> Op[tuple[list[UsageRow], Place | None]]:
        """The next answers, and where they end; None when there are no more."""
        found: list[UsageRow] = []
        for _ in range(PAGE):  # sessions in which nothing is found count too
            if place.session_id:
                values = (*place, asked.until, PAGE - len(found))
                rows = yield Step(self.sql.usages_of, values)
                yield from self._collect(rows, found)
                if len(rows) == values[-1]:
                    session_id, _, at, seq, *_ = rows[-1]
                    return found, Place(session_id, at, seq)
            if asked.session_id is not None:
                return found, None
            later = (place.session_id, asked.since, asked.until)
            rows = yield Step(self.sql.next_session, later)
            if not rows:
                return found, None
            if self.sql.is_sqlite and rows[0][0] <= place.session_id:
                # Its order is that of Python; a walk that turns round would never end.
                raise StoreError(self.where, "an index is out of order", "corrupt")
            place = Place(rows[0][0], asked.since, 0)
        return found, place

    def _collect(self, rows: Sequence[Any], found: list[UsageRow]) -> Op[None]:
        for row in rows:
            metadata = yield from self._metadata(row)
            if metadata is not None and metadata.usage is not None and metadata.usage.is_known:
                session_id, id, at, *_ = row
                found.append(UsageRow(session_id, id, from_micros(at), metadata))

    def save_metadata(
        self, changes: Sequence[tuple[UsageRow, MessageMetadata]]
    ) -> Op[list[UsageRow]]:
        """In one order, so that two that do the same never wait in a circle."""
        saved = []
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
        """None for a message of a role that we do not know."""
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
