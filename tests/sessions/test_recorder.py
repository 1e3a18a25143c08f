"""A store behind a bus: events are kept once, in order, and come back as they were."""

from __future__ import annotations

import asyncio
from pathlib import Path

from interlingua.events.bus import Bus
from interlingua.events.event import Event
from interlingua.events.log import EventQuery
from interlingua.events.payloads import SessionResumed
from interlingua.sessions.recorder import StoreSink
from interlingua.sessions.session import Session
from interlingua.store.base import Store
from interlingua.store.open import open_async_store


def emit_some(bus: Bus, sessions: tuple[str, str], count: int) -> list[Event]:
    made = []
    for number in range(count):
        payload = SessionResumed(message_count=number)
        event = bus.emit("session.resumed", payload, session_id=sessions[number % 2])
        assert event is not None
        made.append(event)
    return made


def test_events_of_a_bus_are_in_the_store_and_can_be_replayed(store: Store) -> None:
    sink = StoreSink(store)
    with Bus(sink, strict=True) as bus:
        made = emit_some(bus, ("replay-1", "replay-2"), 1200)
        bus.flush_sync()
    both = EventQuery(session_ids=frozenset({"replay-1", "replay-2"}))
    assert list(sink.events(both)) == made[::2] + made[1::2]
    some = EventQuery(session_ids=frozenset({"replay-2"}), after=made[801].id, limit=3)
    assert list(sink.events(some)) == [made[803], made[805], made[807]]


def test_events_that_come_again_after_a_failure_are_kept_once(store: Store) -> None:
    class FailsOnce(StoreSink):
        failed = False

        def append_events(self, events: list[Event], /) -> None:
            super().append_events(events)
            if not self.failed:
                self.failed = True
                raise OSError("the answer was lost on its way")

    sink = FailsOnce(store)
    with Bus(sink, strict=True) as bus:
        made = emit_some(bus, ("again-1", "again-2"), 20)
        bus.flush_sync()
    assert sink.failed
    both = EventQuery(session_ids=frozenset({"again-1", "again-2"}))
    assert list(sink.events(both)) == made[::2] + made[1::2]
    rows = store.events("again-1")
    assert [row.seq for row in rows] == list(range(1, 11))


def test_an_async_store_keeps_them_too(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with await open_async_store(f"sqlite:///{tmp_path / 'x.db'}") as store:
            async with Bus(store, strict=True) as bus:
                emit_some(bus, ("one", "two"), 6)
                await bus.flush()
            return [row.type for row in await store.events("one")]

    assert asyncio.run(work()) == ["session.resumed"] * 3


def test_a_session_with_a_bus_leaves_its_trace_to_the_bus(store: Store) -> None:
    with Bus(store, strict=True) as bus:
        session = Session.create(store, model="anthropic:claude-sonnet-4-6", bus=bus)
        session.begin("hi").cancel()
        bus.flush_sync()
    types = [row.type for row in store.events(session.id)]
    assert types == ["session.created", "turn.started", "route.decided", "turn.cancelled"]
