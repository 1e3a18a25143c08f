"""Who listens to which events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import msgspec

from interlingua.bus.catalogue import find
from interlingua.bus.errors import EventError
from interlingua.bus.event import Actor, Event

Handler = Callable[[Event], Awaitable[None]]

FAST_PATH_BUDGET = 0.001
"""Seconds that a handler on the fast path may take, since all others wait for it."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which events a subscriber gets; None means all."""

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
        """A filter from any lists. A type or actor that does not exist is an error: nobody would
        notice that it never comes."""
        return cls(
            session_ids=None if session_ids is None else frozenset(session_ids),
            types=None if types is None else frozenset(map(_type_named, types)),
            actors=None if actors is None else frozenset(map(Actor, actors)),
        )

    def matches(self, event: Event) -> bool:
        return (
            (self.types is None or event.type in self.types)
            and (self.session_ids is None or event.session_id in self.session_ids)
            and (self.actors is None or event.actor in self.actors)
        )


def _type_named(name: str) -> str:
    known = find(name)
    if known is None:
        raise EventError(name, "the catalogue has no such type")
    return known.name


@dataclass(eq=False)
class Subscription:
    """One listener. It gets events that are emitted after it subscribed, each at least once."""

    name: str
    handler: Handler
    filter: Filter
    fast_path: bool
    since: str
    """The id of the last event before it came; that one and earlier ones are not for it."""
    active: bool = True
    slow: int = field(default=0, repr=False)
    """How many times in a row its handler was too slow for the fast path."""

    def wants(self, event: Event) -> bool:
        return self.active and event.id > self.since and self.filter.matches(event)
