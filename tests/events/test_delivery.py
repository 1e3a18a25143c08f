"""From the queue to the store and to subscribers."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest

from interlingua.events import Bus, BusError, Event, EventQuery, Filter, MemoryLog
from interlingua.events.delivery import SLOW_IN_A_ROW
from interlingua.events.payloads import GapDetected
from tests.events.buses import STARTED, Collector, emit, named, own


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
