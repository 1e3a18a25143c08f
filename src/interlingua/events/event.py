"""The envelope of every event of a trace, its sensitivity, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.events.payloads import Payload
from interlingua.model.base import plain_members


class BusError(InterlinguaError):
    """The bus is closed, or was not started."""


class EventError(BusError):
    """An event that the catalogue does not allow: `type` names it, `problem` is the reason."""

    def __init__(self, type: str, problem: str) -> None:
        self.type = type
        self.problem = problem
        super().__init__(f"event {type}: {problem}")


class QueueFullError(BusError):
    """The queue is full: it holds `capacity` undelivered events, and this one was not added."""

    def __init__(self, type: str, capacity: int) -> None:
        self.type = type
        self.capacity = capacity
        super().__init__(f"event {type}: the queue is full ({capacity} events are waiting)")


NO_SESSION = "system"
"""The `session_id` of events that belong to no session, as those of the bus itself."""


@plain_members
class Actor(StrEnum):
    """The source of an event."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"
    TOOL = "tool"
    WORKER = "worker"


@plain_members
class Sensitivity(StrEnum):
    """Who may see an event; the most private first."""

    PRIVATE = "private"
    USER_CONTROLLED = "user_controlled"
    PSEUDONYMOUS = "pseudonymous"
    AGGREGATABLE = "aggregatable"

    def more_private_than(self, other: Sensitivity) -> bool:
        return _PRIVACY[self] < _PRIVACY[other]


_PRIVACY = {level: rank for rank, level in enumerate(Sensitivity)}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. `id` is a ULID, greater than all ids this process made before.

    `payload` is the Struct that the catalogue gives the type. Only an event that was stored by
    another version of the program, with a type or fields unknown here, has a plain dict.
    """

    id: str
    timestamp: datetime
    session_id: str
    turn_id: str | None
    parent_event_id: str | None
    type: str
    actor: Actor
    sensitivity: Sensitivity
    payload: Payload | dict[str, Any]


_TOOL_ENDS = ("tool.completed", "tool.failed")
_TOOL_BEGINS = ("tool.called", "tool.confirmation_requested")

PARENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "route.decided": (("turn.started",),),
    "llm.call_started": (_TOOL_ENDS, ("turn.started",)),
    "llm.call_completed": (("llm.call_started",),),
    "llm.call_failed": (("llm.call_started",),),
    "tool.called": (("llm.call_completed",),),
    "tool.input_invalid": (("llm.call_completed",),),
    "tool.confirmation_requested": (("llm.call_completed",),),
    "tool.confirmation_resolved": (("tool.confirmation_requested",),),
    "tool.completed": (("tool.called",),),
    "tool.failed": (_TOOL_BEGINS, ("llm.call_completed",)),
    "delegate.started": (("tool.called",),),
    "delegate.completed": (("delegate.started",), ("tool.called",)),
    "delegate.failed": (("delegate.started",), ("tool.called",)),
}
"""The parents of event types: the latest event of the first group that has one. All other types
have the start of the turn as their parent."""

_OF_ONE_CALL = frozenset(
    {
        *("tool.completed", "tool.failed", "tool.confirmation_resolved"),
        *("delegate.started", "delegate.completed", "delegate.failed"),
    }
)
"""Their parent, where it is about a tool, is about the same call."""

ONCE = frozenset({"turn.started", "route.decided", "turn.completed", "turn.cancelled"})


class Emitter(Protocol):
    """Accepts events: a bus, or a substitute."""

    def emit(
        self,
        type: str,
        payload: Payload | Mapping[str, Any],
        *,
        session_id: str = ...,
        turn_id: str | None = None,
        parent_event_id: str | None = None,
        actor: str | None = None,
    ) -> Event | None: ...


class TurnTrace:
    """Emits the events of one turn. Those that are there once per turn are refused a second time,
    in every mode: two of them would be a fault of the caller, not of the data."""

    def __init__(self, bus: Emitter, session_id: str, turn_id: str) -> None:
        self._bus = bus
        self._session_id = session_id
        self._turn_id = turn_id
        self._last: dict[str, str] = {}
        self._calls: dict[tuple[str, str], str] = {}
        self._order = 0
        self._when: dict[str, int] = {}

    def emit(
        self, type: str, payload: Payload | Mapping[str, Any], *, actor: str | None = None
    ) -> Event | None:
        if type in ONCE and type in self._last:
            raise EventError(type, f"turn {self._turn_id} has one already")
        call = (
            payload.get("tool_use_id")
            if isinstance(payload, Mapping)
            else getattr(payload, "tool_use_id", None)
        )
        event = self._bus.emit(
            type,
            payload,
            session_id=self._session_id,
            turn_id=self._turn_id,
            parent_event_id=self._parent(type, call),
            actor=actor,
        )
        if event is not None:
            self._order += 1
            self._last[type] = event.id
            self._when[type] = self._order
            if call is not None:
                self._calls[type, call] = event.id
        return event

    def _parent(self, type: str, call: str | None) -> str | None:
        for group in PARENTS.get(type, ()):
            if (
                type in _OF_ONE_CALL
                and call is not None
                and group[0].startswith(("tool.", "delegate."))
            ):
                of_call = [self._calls[g, call] for g in group if (g, call) in self._calls]
                if of_call:
                    return of_call[0]
                continue
            there = [name for name in group if name in self._last]
            if there:
                return self._last[max(there, key=self._when.__getitem__)]
        return self._last.get("turn.started")
