"""The bus: what goes in, what comes out, and what a fault of one part does to the others."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
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
    Event,
    EventError,
    EventQuery,
    Filter,
    MemoryLog,
    QueueFullError,
    Sensitivity,
)
from interlingua.events.delivery import SLOW_IN_A_ROW
from interlingua.events.payloads import GapDetected, SessionResumed, TraceSwept, TurnStarted
from interlingua.model.ids import is_ulid

RESUMED = SessionResumed(message_count=2)
STARTED = TurnStarted(
    message_hash="ab12", estimated_input_tokens=9, has_images=False, has_tool_calls_in_history=False
)


def own(events: list[Event]) -> list[Event]:
    """Without those that the bus emits about itself."""
    return [event for event in events if not event.type.startswith("bus.")]


def emit(bus: Bus, session_id: str = "s1", **more: Any) -> Event:
    event = bus.emit("session.resumed", RESUMED, session_id=session_id, **more)
    assert event is not None
    return event


def named(caplog: pytest.LogCaptureFixture, message: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.getMessage() == message]


class Collector:
    def __init__(self) -> None:
        self.events: list[Event] = []

    async def __call__(self, event: Event) -> None:
        self.events.append(event)


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


def test_the_older_spellings_of_two_types_are_understood_and_not_emitted() -> None:
    event = Bus(strict=True).emit(
        "tool_input_invalid", {"tool_name": "read_file", "validation_errors": []}
    )
    assert event is not None
    assert event.type == "tool.input_invalid"
    assert Filter.of(types=["routing_constraint_failure"]).types == {"routing.constraint_failure"}


def test_a_failing_handler_is_logged_stays_subscribed_and_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[str] = []
    others, fast = Collector(), Collector()

    async def fails(event: Event) -> None:
        calls.append(event.id)
        raise RuntimeError("the text of a message")

    async def gives_up(event: Event) -> None:
        raise asyncio.CancelledError

    async def main() -> list[str]:
        async with Bus(strict=True) as bus:
            only = Filter.of(types=["session.resumed"])
            bus.subscribe(fails, name="fails", filter=only)
            bus.subscribe(fails, name="fails fast", filter=only, fast_path=True)
            bus.subscribe(gives_up, name="gives up", filter=only)
            bus.subscribe(gives_up, name="gives up fast", filter=only, fast_path=True)
            bus.subscribe(others, name="others", filter=only)
            bus.subscribe(fast, name="fast", filter=only, fast_path=True)
            sent = [emit(bus).id for _ in range(3)]
            await bus.flush()
            return sent

    sent = asyncio.run(main())
    assert [e.id for e in others.events] == sent
    assert [e.id for e in fast.events] == sent
    assert sorted(calls) == sorted(2 * sent)
    records = named(caplog, "event_handler_failed")
    assert len(records) == 12
    assert {r.levelno for r in records} == {logging.WARNING}
    assert {(r.__dict__["subscription"], r.__dict__["event_id"]) for r in records} >= {
        ("fails", id) for id in sent
    }
    assert {r.__dict__["type"] for r in records} == {"session.resumed"}
    assert "the text of a message" not in caplog.text


def test_a_slow_subscriber_does_not_delay_the_others() -> None:
    quick = Collector()

    async def main() -> int:
        gate = asyncio.Event()

        async def slow(event: Event) -> None:
            await gate.wait()

        async with Bus(strict=True) as bus:
            bus.subscribe(slow, name="slow")
            bus.subscribe(quick, name="quick")
            for _ in range(20):
                emit(bus)
            deadline = time.monotonic() + 5
            while len(own(quick.events)) < 20 and time.monotonic() < deadline:
                await asyncio.sleep(0.001)
            seen = len(own(quick.events))
            gate.set()
        return seen

    assert asyncio.run(main()) == 20


def test_a_handler_that_never_returns_is_ended_after_its_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[str] = []

    async def hangs_once(event: Event) -> None:
        if not done:
            done.append("hung")
            await asyncio.sleep(60)
        done.append(event.id)

    async def main() -> Event:
        async with Bus(strict=True, handler_timeout=0.02) as bus:
            bus.subscribe(hangs_once, name="hangs", filter=Filter.of(types=["session.resumed"]))
            emit(bus)
            last = emit(bus)
            await bus.flush()
            return last

    last = asyncio.run(main())
    assert done == ["hung", last.id]
    assert named(caplog, "event_handler_failed")[0].__dict__["error"] == "TimeoutError"


def test_a_subscriber_that_cannot_keep_up_is_told_what_it_missed() -> None:
    gaps = Collector()
    slow_ones = Collector()
    log = MemoryLog()

    async def main() -> None:
        gate = asyncio.Event()

        async def slow(event: Event) -> None:
            await gate.wait()
            await slow_ones(event)

        async with Bus(log, strict=True, capacity=5) as bus:
            bus.subscribe(slow, name="slow", filter=Filter.of(types=["session.resumed"]))
            bus.subscribe(gaps, name="gaps", filter=Filter.of(types=["bus.gap_detected"]))
            for _ in range(12):
                emit(bus)
                await asyncio.sleep(0.01)  # the queue of the bus itself never fills
                while bus.waiting:
                    await asyncio.sleep(0.001)
            gate.set()
            await bus.flush()

    asyncio.run(main())
    (gap,) = [event.payload for event in gaps.events]
    assert isinstance(gap, GapDetected)
    replayed = log.events(EventQuery(types=frozenset({"session.resumed"})))
    missed = [e for e in replayed if gap.first_event_id <= e.id <= gap.last_event_id]
    assert len(missed) == gap.missed > 0
    assert [e.id for e in slow_ones.events] == [e.id for e in replayed if e not in missed]


def test_a_slow_handler_loses_its_place_on_the_fast_path(caplog: pytest.LogCaptureFixture) -> None:
    async def slow(event: Event) -> None:
        time.sleep(0.003)

    async def main() -> bool:
        async with Bus(strict=True) as bus:
            one = bus.subscribe(slow, name="slow", fast_path=True)
            for _ in range(SLOW_IN_A_ROW + 1):
                emit(bus)
            await bus.flush()
            return one.fast_path

    assert asyncio.run(main()) is False
    (record,) = named(caplog, "fast_path_left")
    assert record.__dict__["subscription"] == "slow"


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


def test_an_event_is_stored_before_anybody_sees_it() -> None:
    log = MemoryLog()
    stored: list[bool] = []

    async def look(event: Event) -> None:
        stored.append(event in log.events(EventQuery()))

    with Bus(log, strict=True) as bus:
        bus.subscribe(look, name="look", fast_path=True)
        bus.subscribe(look, name="look later")
        emit(bus)
        bus.flush_sync()
    assert stored
    assert all(stored)


class Broken:
    """A sink that keeps, or half keeps, nothing until it is repaired."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.log = MemoryLog()

    def append_events(self, events: list[Event], /) -> None:
        if self.failures:
            self.failures -= 1
            self.log.append_events(events[:1])
            raise OSError("disk full")
        self.log.append_events(events)


def test_a_sink_that_fails_gets_the_same_events_again_until_it_works(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = Broken(failures=2)
    with Bus(sink, strict=True) as bus:
        sent = [emit(bus).id for _ in range(5)]
        bus.flush_sync()
    assert [event.id for event in sink.log.events(EventQuery())] == sent
    assert {r.levelno for r in named(caplog, "events_not_stored")} == {logging.ERROR}


def test_closing_says_so_when_events_could_not_be_stored(caplog: pytest.LogCaptureFixture) -> None:
    bus = Bus(Broken(failures=10**9), strict=True)
    bus.start_thread()
    emit(bus)
    started = time.monotonic()
    with pytest.raises(BusError, match="1 wait"):
        bus.close_sync(timeout=60)
    assert time.monotonic() - started < 30  # it gave up by itself after a few tries
    assert named(caplog, "events_not_delivered")


def test_a_sink_whose_calls_are_awaited_is_awaited() -> None:
    class Awaited:
        def __init__(self) -> None:
            self.events: list[Event] = []

        async def append_events(self, events: list[Event], /) -> None:
            await asyncio.sleep(0)
            self.events += events

    sink = Awaited()

    async def main() -> None:
        async with Bus(sink, strict=True) as bus:
            emit(bus)

    asyncio.run(main())
    assert len(sink.events) == 1


def test_emitting_never_waits_for_a_sink() -> None:
    at_work, go_on = threading.Event(), threading.Event()

    class Slow:
        def append_events(self, events: list[Event], /) -> None:
            at_work.set()
            go_on.wait(5)
            at_work.clear()

    with Bus(Slow(), strict=True) as bus:
        emit(bus)
        assert at_work.wait(20)
        emit(bus)
        assert at_work.is_set()  # it came back while the sink still was
        go_on.set()


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


def test_emitting_from_a_handler_is_delivered_too() -> None:
    seen = Collector()

    async def main() -> None:
        async with Bus(strict=True) as bus:

            async def answer(event: Event) -> None:
                bus.emit("turn.started", STARTED, parent_event_id=event.id)

            bus.subscribe(answer, name="a", filter=Filter.of(types=["session.resumed"]))
            bus.subscribe(seen, name="b", filter=Filter.of(types=["turn.started"]))
            first = emit(bus)
            await bus.flush()
            await bus.flush()
            assert [e.parent_event_id for e in seen.events] == [first.id]

    asyncio.run(main())


def test_times_are_exact_to_the_microsecond() -> None:
    ticks = iter([1_000_001, 1_000_002])
    bus = Bus(strict=True, clock=lambda: next(ticks))
    assert emit(bus).timestamp + timedelta(microseconds=1) == emit(bus).timestamp


def test_a_query_takes_the_spelling_of_documents_and_refuses_other_types() -> None:
    query = EventQuery(types=frozenset({"tool_input_invalid", "routing_constraint_failure"}))
    assert query.types == {"tool.input_invalid", "routing.constraint_failure"}
    with pytest.raises(EventError, match="no such type"):
        EventQuery(types=frozenset({"nonsense"}))
