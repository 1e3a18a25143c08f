"""The store as the place where a bus keeps its events, and where they are asked for again."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlingua.bus.codec import load_payload
from interlingua.bus.event import Actor, Event, Sensitivity
from interlingua.bus.log import EventQuery
from interlingua.sessions.recorder import event_rows
from interlingua.store.base import AsyncStore, Store
from interlingua.store.rows import EventRow

_PAGE = 500


class StoreSink:
    """Keeps a bus's events in a store: `Bus(StoreSink(store))`. Given twice, they are kept once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def append_events(self, events: list[Event], /) -> None:
        self._store.append_events(event_rows(events))

    def events(self, query: EventQuery, /) -> Iterator[Event]:
        """Events of the named sessions, session by session, each in the order in which they were
        kept."""
        left = query.limit
        types = sorted(query.types or ())
        for session_id in sorted(query.session_ids or ()):
            after = 0
            while left > 0:
                rows = self._store.events(session_id, after, _PAGE, types)
                for row in rows:
                    event = event_of_row(row)
                    if left > 0 and query.matches(event):
                        left -= 1
                        yield event
                if len(rows) < _PAGE:
                    break
                after = rows[-1].seq


class AsyncStoreSink:
    """The same for a store whose calls are awaited."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def append_events(self, events: list[Event], /) -> None:
        await self._store.append_events(event_rows(events))


def event_of_row(row: EventRow) -> Event:
    """A stored event as it was emitted."""
    return Event(
        id=row.id,
        timestamp=row.timestamp,
        session_id=row.session_id,
        turn_id=row.turn_id,
        parent_event_id=row.parent_event_id,
        type=row.type,
        actor=Actor(row.actor),
        sensitivity=Sensitivity(row.sensitivity),
        payload=load_payload(row.type, msgspec.json.encode(row.payload)),
    )
