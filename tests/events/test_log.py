"""Where events are kept and asked for again."""

from __future__ import annotations

import asyncio

import pytest

from interlingua.events import Actor, Bus, EventError, EventQuery, Filter, MemoryLog
from tests.events.buses import STARTED, Collector, emit, own


def test_subscribers_get_what_their_filter_lets_through() -> None:
    everything, some = Collector(), Collector()

    async def main() -> None:
        async with Bus(strict=True) as bus:
            bus.subscribe(everything, name="all")
            bus.subscribe(
                some,
                name="some",
                filter=Filter.of(session_ids=["s1"], types=["session.resumed"], actors=["user"]),
            )
            emit(bus, "s1")
            emit(bus, "s2")
            emit(bus, "s1", actor="system")
            bus.emit("turn.started", STARTED, session_id="s1")
            await bus.flush()

    asyncio.run(main())
    assert len(own(everything.events)) == 4
    assert [(e.session_id, e.type) for e in some.events] == [("s1", "session.resumed")]
    registered = [e.payload for e in everything.events if e.type == "bus.subscriber_registered"]
    assert [p.name for p in registered] == ["all", "some"]


def test_a_filter_with_a_type_or_actor_that_does_not_exist_is_refused() -> None:
    with pytest.raises(EventError, match="no such type"):
        Filter.of(types=["turn.begun"])
    with pytest.raises(ValueError, match="nobody"):
        Filter.of(actors=["nobody"])


def test_a_query_takes_the_spelling_of_documents_and_refuses_other_types() -> None:
    query = EventQuery(types=frozenset({"tool_input_invalid", "routing_constraint_failure"}))
    assert query.types == {"tool.input_invalid", "routing.constraint_failure"}
    with pytest.raises(EventError, match="no such type"):
        EventQuery(types=frozenset({"nonsense"}))


def test_a_query_gives_events_in_order_after_a_cursor_and_up_to_its_limit() -> None:
    log = MemoryLog()
    bus = Bus(log, strict=True)
    for number in range(10):
        bus.emit("session.resumed", {}, session_id=f"s{number % 2}", turn_id=f"t{number}")
    with bus:
        bus.flush_sync()
    odd = log.events(EventQuery(session_ids=frozenset({"s1"})))
    assert [event.turn_id for event in odd] == ["t1", "t3", "t5", "t7", "t9"]
    after = log.events(EventQuery(after=odd[1].id, before=odd[4].id, limit=3))
    assert [event.turn_id for event in after] == ["t4", "t5", "t6"]
    assert log.events(EventQuery(types=frozenset({"turn.started"}))) == []
    assert log.events(EventQuery(actors=frozenset({Actor.TOOL}))) == []
    assert log.events(EventQuery(turn_id="t4")) == after[:1]
    assert log.events(EventQuery(parent_event_id="x")) == []


def test_the_log_in_memory_forgets_the_oldest() -> None:
    log = MemoryLog(capacity=3)
    bus = Bus(log, strict=True)
    sent = [bus.emit("session.resumed", {}) for _ in range(5)]
    with bus:
        bus.flush_sync()
    assert log.events(EventQuery()) == sent[2:]
