"""Storage and queries of events: the protocol that the bus expects of a store.

Replay is a question to the store, never to the bus: the bus forgets an event once it is delivered.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, Self

import msgspec

from interlingua.events.catalogue import type_named
from interlingua.events.event import Actor, Event

REPLAY_LIMIT = 10_000


class EventSink(Protocol):
    """Keeps events. Calls never overlap, and may come from different threads.

    A call either keeps all events or raises, in bounded time. After an error the same events come
    again, so ids that are already there must be passed over.
    """

    def append_events(self, events: list[Event], /) -> object: ...


class AsyncEventSink(Protocol):
    """The same for a store whose calls are awaited."""

    async def append_events(self, events: list[Event], /) -> object: ...


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of events, in the order of their ids. None matches all; `after` and `before` are
    exclusive ids."""

    session_ids: frozenset[str] | None = None
    types: frozenset[str] | None = None
    actors: frozenset[Actor] | None = None
    turn_id: str | None = None
    parent_event_id: str | None = None
    after: str | None = None
    before: str | None = None
    limit: int = REPLAY_LIMIT

    def __post_init__(self) -> None:
        if self.types is not None:
            types = frozenset([type_named(name) for name in self.types])
            msgspec.structs.force_setattr(self, "types", types)

    def matches(self, event: Event) -> bool:
        """Whether an event matches the filter, apart from its limit."""
        return (
            (self.session_ids is None or event.session_id in self.session_ids)
            and (self.types is None or event.type in self.types)
            and (self.actors is None or event.actor in self.actors)
            and (self.turn_id is None or event.turn_id == self.turn_id)
            and (self.parent_event_id is None or event.parent_event_id == self.parent_event_id)
            and (self.after is None or event.id > self.after)
            and (self.before is None or event.id < self.before)
        )


class EventLog(Protocol):
    """Answers queries about stored events."""

    def events(self, query: EventQuery, /) -> Iterable[Event]: ...


class MemoryLog:
    """The last events in memory: a sink and a log for programs without a store."""

    def __init__(self, capacity: int = REPLAY_LIMIT) -> None:
        self._events: deque[Event] = deque(maxlen=capacity)
        self._last = ""
        self._lock = threading.Lock()

    def append_events(self, events: list[Event], /) -> None:
        with self._lock:
            for event in events:
                if event.id > self._last:  # one bus gives them in order; what is here came before
                    self._events.append(event)
                    self._last = event.id

    def events(self, query: EventQuery, /) -> list[Event]:
        with self._lock:
            events = list(self._events)
        return [event for event in events if query.matches(event)][: query.limit]


Handler = Callable[[Event], Awaitable[None]]

FAST_PATH_BUDGET = 0.001
"""Seconds that a handler on the fast path may take, since all others wait for it."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """A subscriber's filter; None matches all."""

    session_ids: frozenset[str] | None = None
    types: frozenset[str] | None = None
    actors: frozenset[Actor] | None = None

    @classmethod
    def of(
        cls,
        session_ids: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
        actors: Iterable[str] | None = None,
    ) -> Self:
        """A filter from any lists. A type or actor that does not exist is an error."""
        return cls(
            session_ids=None if session_ids is None else frozenset(session_ids),
            types=None if types is None else frozenset(map(type_named, types)),
            actors=None if actors is None else frozenset(map(Actor, actors)),
        )

    def matches(self, event: Event) -> bool:
        return (
            (self.types is None or event.type in self.types)
            and (self.session_ids is None or event.session_id in self.session_ids)
            and (self.actors is None or event.actor in self.actors)
        )


@dataclass(eq=False)
class Subscription:
    """One subscriber. It gets events that are emitted after it subscribed, each at least once."""

    name: str
    handler: Handler
    filter: Filter
    fast_path: bool
    since: int
    """The number of the last event before it subscribed; it receives later ones only."""
    active: bool = True
    slow: int = field(default=0, repr=False)
    """How many times in a row its handler was too slow for the fast path."""

    def accepts(self, event: Event, number: int) -> bool:
        return self.active and number > self.since and self.filter.matches(event)
