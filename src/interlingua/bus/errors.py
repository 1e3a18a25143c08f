"""What can go wrong when an event is emitted or a bus is closed."""

from __future__ import annotations

from interlingua.errors import InterlinguaError


class BusError(InterlinguaError):
    """The bus cannot do what was asked: it is closed, or was not started."""


class EventError(BusError):
    """An event that the catalogue does not allow: `type` says which, `problem` why."""

    def __init__(self, type: str, problem: str) -> None:
        self.type = type
        self.problem = problem
        super().__init__(f"event {type}: {problem}")


class QueueFullError(BusError):
    """The queue holds `capacity` events that nobody has taken yet; this one is not in it."""

    def __init__(self, type: str, capacity: int) -> None:
        self.type = type
        self.capacity = capacity
        super().__init__(f"event {type}: the queue is full ({capacity} events are waiting)")
