"""The events of one turn, each with the event that caused it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from interlingua.bus.errors import EventError
from interlingua.bus.event import Event
from interlingua.bus.payloads.base import Payload

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
}
"""What causes what: the latest event of the first group of which there is one. All other types
have the start of the turn as their parent."""

_OF_ONE_CALL = frozenset({"tool.completed", "tool.failed", "tool.confirmation_resolved"})
"""Their parent, where it is about a tool, is about the same call."""

ONCE = frozenset({"turn.started", "route.decided", "turn.completed", "turn.cancelled"})


class Emitter(Protocol):
    """What takes events: a bus, or whatever stands in for one."""

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
        call = _call_of(payload)
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
            if type in _OF_ONE_CALL and call is not None and group[0].startswith("tool."):
                of_call = [self._calls[g, call] for g in group if (g, call) in self._calls]
                if of_call:
                    return of_call[0]
                continue
            there = [name for name in group if name in self._last]
            if there:
                return self._last[max(there, key=lambda name: self._when[name])]
        return self._last.get("turn.started")


def _call_of(payload: Payload | Mapping[str, Any]) -> str | None:
    if isinstance(payload, Mapping):
        return payload.get("tool_use_id")
    return getattr(payload, "tool_use_id", None)
