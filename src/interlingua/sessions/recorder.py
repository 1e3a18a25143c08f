"""The events of a session on their way to the trace.

Events are collected, stored in the same step as their subject, and then published on the session's
bus, if it has one. A bus with a sink stores them itself, as soon as they are emitted.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from interlingua.events.bus import IDS, Bus, event_of, now_us
from interlingua.events.catalogue import check_event, load_payload
from interlingua.events.event import Actor, Event, QueueFullError, Sensitivity
from interlingua.events.log import EventQuery
from interlingua.events.payloads import Payload
from interlingua.sessions.effects import Effects
from interlingua.store.base import Store
from interlingua.store.rows import EventRow

logger = logging.getLogger(__name__)

CAPACITY = 10_000
"""Events that wait at most while the store takes none; the oldest go first."""


_TOOL_ENDS = ("tool.completed", "tool.failed")


class Recorder:
    """Accepts events like a bus, for one session."""

    def __init__(self, session_id: str, bus: Bus | None = None) -> None:
        self.session_id = session_id
        self._bus = bus
        self._waiting: deque[Event] = deque(maxlen=CAPACITY)
        self.ended_tools: set[str] = set()
        """Tool calls of this turn whose end was emitted."""

    def emit(
        self,
        type: str,
        payload: Payload | Mapping[str, Any],
        *,
        session_id: str | None = None,
        turn_id: str | None = None,
        parent_event_id: str | None = None,
        actor: str | None = None,
    ) -> Event | None:
        whose = session_id or self.session_id
        if type in _TOOL_ENDS:
            self.ended_tools.add(_tool_use_id(payload))
        if self._bus is not None and self._bus.has_sink:
            try:
                return self._bus.emit(
                    type,
                    payload,
                    session_id=whose,
                    turn_id=turn_id,
                    parent_event_id=parent_event_id,
                    actor=actor,
                )
            except QueueFullError:  # the bus has logged it; the conversation goes on
                return None
        ids = {"session_id": whose, "turn_id": turn_id, "parent_event_id": parent_event_id}
        checked = check_event(type, payload, ids, actor, None)
        event = event_of(checked, IDS, now_us, whose, turn_id, parent_event_id)
        self._waiting.append(event)
        return event

    def stored(self, ended_turn: str | None = None) -> Effects[bool]:
        """Stores the collected events, and releases a turn that has ended with them; False if
        nothing was stored. If the store fails, the events wait for the next time, and the
        conversation continues."""
        if not self._waiting:
            return False
        events = list(self._waiting)
        rows = [EventRow.of(event) for event in events]
        turn = None if ended_turn is None else (self.session_id, ended_turn)
        try:
            yield lambda store: store.append_events(rows, turn)
        except Exception as problem:
            extra = {"session_id": self.session_id, "problem": problem.__class__.__name__}
            logger.warning("trace_not_stored", extra=extra)
            return False
        while self._waiting and self._waiting[0].id <= events[-1].id:  # later ones came meanwhile
            self._waiting.popleft()
        if self._bus is not None:
            self._bus.publish(events)
        return True


def _tool_use_id(payload: Payload | Mapping[str, Any]) -> str:
    if isinstance(payload, Mapping):
        return str(payload.get("tool_use_id"))
    return str(getattr(payload, "tool_use_id", None))


_PAGE = 500


class StoreSink:
    """A store as a log of events, which can be replayed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def append_events(self, events: list[Event], /) -> None:
        self._store.append_events(events)

    def events(self, query: EventQuery, /) -> Iterator[Event]:
        """Events of the named sessions, session by session, in stored order."""
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
