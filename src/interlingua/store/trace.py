"""The trace: events of a session, numbered without gaps, read from a cursor on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from interlingua.model.codec import dumps
from interlingua.model.message import from_micros, micros
from interlingua.store.effects import Op, Step, Work
from interlingua.store.rows import EventRow


class Trace(Work):
    def append_events(self, events: Sequence[EventRow]) -> Op[list[EventRow]]:
        """Events that are there already keep their place: who could not know whether they were
        stored may give them again."""
        numbered: dict[int, EventRow] = {}
        new: list[EventRow] = []
        by_session: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            by_session.setdefault(event.session_id, []).append(index)
        for session_id in sorted(by_session):  # always in one order, so that none waits in a circle
            yield Step(self.sql.lock_trace, (session_id,))
            mine = by_session[session_id]
            first = min(events[index].id for index in mine)
            there = dict((yield Step(self.sql.events_there, (session_id, first))))
            last = (yield Step(self.sql.last_event, (session_id,)))[0][0]
            for index in mine:
                known = there.get(events[index].id)
                if known is None:
                    last += 1
                    there[events[index].id] = last
                numbered[index] = msgspec.structs.replace(events[index], seq=known or last)
                if known is None:
                    new.append(numbered[index])
        if new:
            yield Step(self.sql.add_event, [_event_values(event) for event in new], many=True)
        return [numbered[index] for index in range(len(events))]

    def events(
        self, session_id: str, after: int, limit: int, types: Sequence[str]
    ) -> Op[list[EventRow]]:
        if types:
            names = dumps(list(types)).decode() if self.sql.is_sqlite else list(types)
            values = (session_id, after, names, max(limit, 0))
            rows = yield Step(self.sql.events_of, values)
        else:
            rows = yield Step(self.sql.events, (session_id, after, max(limit, 0)))
        return [event_row(row) for row in rows]


def _event_values(event: EventRow) -> tuple[Any, ...]:
    return (
        event.id,
        event.session_id,
        event.seq,
        micros(event.timestamp),
        event.turn_id,
        event.parent_event_id,
        event.type,
        event.actor,
        event.sensitivity,
        _payload(event.payload),
    )


_encode = msgspec.json.Encoder().encode


def _payload(payload: dict[str, Any]) -> bytes:
    """Most are texts and numbers, and nothing in them can be odd."""
    for key, item in payload.items():
        kind = type(item)
        if (kind is not str and kind is not int) or type(key) is not str:
            return dumps(payload)
    try:
        return _encode(payload)
    except UnicodeEncodeError:
        return dumps(payload)  # which says what is wrong


def event_row(row: Sequence[Any]) -> EventRow:
    id, session_id, seq, at, turn_id, parent, type, actor, sensitivity, payload = row
    return EventRow(
        id,
        session_id,
        type,
        from_micros(at),
        actor,
        sensitivity,
        msgspec.json.decode(payload),
        turn_id,
        parent,
        seq,
    )
