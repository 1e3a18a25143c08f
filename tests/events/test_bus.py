"""The bus: what goes in, what comes out, and what a fault of one part does to the others."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import UTC, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.events import (
    NO_SESSION,
    Actor,
    Bus,
    BusError,
    EventError,
    EventQuery,
    Filter,
    MemoryLog,
    QueueFullError,
    Sensitivity,
)
from interlingua.events.payloads import TraceSwept
from interlingua.model.ids import is_ulid
from tests.events.buses import RESUMED, STARTED, Collector, emit, named


def test_an_event_carries_the_whole_envelope() -> None:
    bus = Bus(strict=True, clock=lambda: 1_700_000_000_123_456)
    first = emit(bus)
    event = bus.emit(
        "turn.started", STARTED, session_id="s1", turn_id="t1", parent_event_id=first.id
    )
    assert event is not None
    assert is_ulid(event.id)
    assert event.timestamp.tzinfo is UTC
    assert event.timestamp.microsecond == 123_456
    assert (event.session_id, event.turn_id, event.parent_event_id) == ("s1", "t1", first.id)
    assert (event.type, event.actor) == ("turn.started", Actor.USER)
    assert event.sensitivity is Sensitivity.PRIVATE
    assert event.payload == STARTED


def test_ids_increase_over_all_buses_of_a_process() -> None:
    one, two = Bus(strict=True), Bus(strict=True)
    ids = [emit(bus).id for _ in range(500) for bus in (one, two)]
    assert ids == sorted(set(ids))


def test_the_order_of_the_queue_is_that_of_the_ids_whichever_thread_emits() -> None:
    log = MemoryLog()
    bus = Bus(log, strict=True)
    threads = [threading.Thread(target=lambda: [emit(bus) for _ in range(300)]) for _ in range(8)]
    with bus:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bus.flush_sync()
    ids = [event.id for event in log.events(EventQuery())]
    assert len(ids) == 2400
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("type", "payload", "more", "problem"),
    [
        ("turn.begun", {}, {}, "no such type"),
        ("message.start", {}, {}, "no such type"),
        ("trace.swept", {"deleted": "many", "older_than": "x"}, {}, "$.deleted"),
        ("trace.swept", {"deleted": -1, "older_than": "x"}, {}, "$.deleted"),
        ("trace.swept", {"deleted": 1}, {}, "older_than"),
        ("trace.swept", {"deleted": 1, "older_than": "x", "text": "hi"}, {}, "text"),
        ("trace.swept", {"deleted": 1, "older_than": "\ud800"}, {}, ""),
        ("trace.swept", {"deleted": 1, "older_than": object()}, {}, "object"),
        ("trace.swept", RESUMED, {}, "TraceSwept"),
        ("session.resumed", RESUMED, {"actor": "nobody"}, "actor"),
        ("session.resumed", RESUMED, {"sensitivity": "secret"}, "sensitivity"),
        ("session.resumed", RESUMED, {"session_id": ""}, "session_id"),
        ("session.resumed", RESUMED, {"turn_id": 7}, "turn_id"),
    ],
)
def test_a_bad_event_raises_in_strict_mode_and_is_dropped_with_a_warning_in_lenient_mode(
    type: str, payload: Any, more: Any, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(EventError) as error:
        Bus(strict=True).emit(type, payload, **more)
    assert problem in str(error.value)
    assert error.value.type == type
    lenient = Bus()
    assert lenient.emit(type, payload, **more) is None
    assert lenient.waiting == 0
    (record,) = named(caplog, "event_dropped")
    assert record.levelno == logging.WARNING
    assert record.__dict__["type"] == type


def test_the_log_of_a_dropped_event_quotes_no_value(caplog: pytest.LogCaptureFixture) -> None:
    payload = {"disposition": "my secret", "turn_count": 1, "total_cost_usd": "1", "duration_ms": 1}
    assert Bus().emit("session.ended", payload) is None
    (record,) = named(caplog, "event_dropped")
    assert "secret" not in str(record.__dict__)
    assert "disposition" in record.__dict__["problem"]


def test_a_payload_is_a_copy_that_later_changes_do_not_reach() -> None:
    payload: dict[str, Any] = {"path": "rules.toml", "problems": ["one"]}
    event = Bus(strict=True).emit("routing.policy_invalid", payload)
    payload["problems"].append("two")
    assert event is not None
    assert event.payload.problems == ("one",)


def test_events_without_a_session_belong_to_the_system() -> None:
    event = Bus(strict=True).emit("trace.swept", TraceSwept(deleted=1, older_than="2026-01-01"))
    assert event is not None
    assert event.session_id == NO_SESSION


def test_a_full_queue_raises_logs_an_error_and_makes_no_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = MemoryLog()
    bus = Bus(log, capacity=3)
    sent = [emit(bus).id for _ in range(3)]
    with pytest.raises(QueueFullError) as error:
        emit(bus)
    assert error.value.capacity == 3
    assert [record.levelno for record in named(caplog, "event_queue_full")] == [logging.ERROR]
    with bus:
        bus.flush_sync()
    assert [event.id for event in log.events(EventQuery())] == sent


def test_stored_events_that_have_no_room_are_logged_and_stop_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = [emit(Bus(strict=True)) for _ in range(5)]
    seen = Collector()
    bus = Bus(strict=True, capacity=4)
    bus.publish(events)
    assert bus.waiting == 0, "nobody subscribed"
    bus.subscribe(seen, name="seen", filter=Filter.of(types=["session.resumed"]))
    bus.publish(events)  # one place is taken by the event that somebody subscribed
    with bus:
        bus.flush_sync()
    assert seen.events == events[:3]
    (record,) = named(caplog, "events_not_published")
    assert (record.levelno, record.__dict__["count"]) == (logging.ERROR, 2)
    bus.publish(events)  # it is closed


def test_the_queue_holds_ten_thousand_events_by_default() -> None:
    bus = Bus()
    for _ in range(10_000):
        emit(bus)
    with pytest.raises(QueueFullError):
        emit(bus)


@given(st.lists(st.sampled_from(list(Sensitivity)), min_size=1, max_size=4))
def test_an_event_may_be_less_private_than_its_floor_and_never_more(
    levels: list[Sensitivity],
) -> None:
    bus = Bus(strict=True)
    order = list(Sensitivity)
    for level in levels:
        if order.index(level) < order.index(Sensitivity.PSEUDONYMOUS):
            with pytest.raises(EventError, match="more private"):
                emit(bus, sensitivity=level)
        else:
            assert emit(bus, sensitivity=level).sensitivity is level


def test_the_older_spellings_of_two_types_are_understood_and_not_emitted() -> None:
    event = Bus(strict=True).emit(
        "tool_input_invalid", {"tool_name": "read_file", "validation_errors": []}
    )
    assert event is not None
    assert event.type == "tool.input_invalid"
    assert Filter.of(types=["routing_constraint_failure"]).types == {"routing.constraint_failure"}


def test_after_unsubscribing_nothing_comes_any_more() -> None:
    seen = Collector()

    async def main() -> None:
        async with Bus(strict=True) as bus:
            one = bus.subscribe(seen, name="one", filter=Filter.of(types=["session.resumed"]))
            emit(bus)
            await bus.flush()
            bus.unsubscribe(one)
            bus.unsubscribe(one)
            emit(bus)
            await bus.flush()

    asyncio.run(main())
    assert len(seen.events) == 1


def test_events_from_before_a_subscription_are_not_delivered_to_it() -> None:
    seen = Collector()
    bus = Bus(strict=True)
    emit(bus)
    bus.subscribe(seen, name="late", filter=Filter.of(types=["session.resumed"]))
    second = emit(bus)
    with bus:
        bus.flush_sync()
    assert [event.id for event in seen.events] == [second.id]


def test_a_closed_bus_takes_nothing_and_is_not_started_again() -> None:
    bus = Bus(strict=True)
    with bus:
        emit(bus)
    assert bus.waiting == 0
    with pytest.raises(BusError, match="closed"):
        emit(bus)
    with pytest.raises(BusError, match="started before"):
        bus.start_thread()
    with pytest.raises(BusError, match="not started"):
        Bus().flush_sync()


def test_times_are_exact_to_the_microsecond() -> None:
    ticks = iter([1_000_001, 1_000_002])
    bus = Bus(strict=True, clock=lambda: next(ticks))
    assert emit(bus).timestamp + timedelta(microseconds=1) == emit(bus).timestamp
