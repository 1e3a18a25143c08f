"""The events of a session on their way to the trace.

With a bus they go there, and its sink keeps them. Without one they are collected, and stored in the
same step as what they are about.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from interlingua.bus.bus import IDS, Bus, event_of, now_us
from interlingua.bus.check import check_event
from interlingua.bus.errors import QueueFullError
from interlingua.bus.event import Event
from interlingua.bus.payloads.base import Payload
from interlingua.sessions.effects import Effects, ask
from interlingua.store.rows import EventRow

logger = logging.getLogger(__name__)

CAPACITY = 10_000
"""Events that wait at most while the store takes none; the oldest go first."""


_TOOL_ENDS = ("tool.completed", "tool.failed")


class Recorder:
    """Takes events like a bus, for one session."""

    def __init__(self, session_id: str, bus: Bus | None = None) -> None:
        self.session_id = session_id
        self._bus = bus
        self._waiting: deque[Event] = deque(maxlen=CAPACITY)
        self.ended_tools: set[str] = set()
        """Calls of this turn whose end was told, by whoever ran them."""

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
        if self._bus is not None:
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

    def stored(self) -> Effects[None]:
        """Keep what has been collected. A trace that cannot be kept is no reason to lose the
        conversation: it is kept with the next one."""
        if self._bus is None and self._waiting:
            rows = event_rows(tuple(self._waiting))
            try:
                yield from ask(lambda store: store.append_events(rows))
            except Exception as problem:
                extra = {"session_id": self.session_id, "problem": problem.__class__.__name__}
                logger.warning("trace_not_stored", extra=extra)
            else:
                self._waiting.clear()


def _tool_use_id(payload: Payload | Mapping[str, Any]) -> str:
    if isinstance(payload, Mapping):
        return str(payload.get("tool_use_id"))
    return str(getattr(payload, "tool_use_id", None))


def event_rows(events: Sequence[Event]) -> list[EventRow]:
    """Events as a store keeps them."""
    return [
        EventRow(
            event.id,
            event.session_id,
            event.type,
            event.timestamp,
            event.actor.value,
            event.sensitivity.value,
            msgspec.to_builtins(event.payload),
            event.turn_id,
            event.parent_event_id,
        )
        for event in events
    ]
