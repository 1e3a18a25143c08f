"""From the queue to the store and to subscribers, inside one event loop.

An event is stored first, so that subscribers see only what a replay would show. Then handlers on
the fast path are awaited one by one; the others take it from queues of their own, so that a slow
one delays no other.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice, takewhile

from interlingua.events.event import BusError, Event
from interlingua.events.log import FAST_PATH_BUDGET, AsyncEventSink, EventSink, Subscription
from interlingua.events.payloads import GapDetected


class Flush:
    """A mark in the queue: its future is done when everything before it has been handled."""

    def __init__(self) -> None:
        self.future: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._expected = 1

    def expect(self, lanes: int) -> None:
        """Set the number of deliveries to wait for; zero completes at once."""
        self._expected = lanes
        if lanes == 0:
            self._finish()

    def arrived(self) -> None:
        self._expected -= 1
        if self._expected == 0:
            self._finish()

    def _finish(self) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(None)


Item = Event | Flush


class EventQueue:
    """Events in the order of acceptance. Those that are being delivered still count as waiting."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.closed = False
        self.waiting = 0
        self.accepted = 0
        """The number of events so far."""
        self._items: deque[Item] = deque()
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None

    def put(self, make: Callable[[], Event]) -> Event | None:
        """Creates and adds an event; None if the queue is full. Ids are created under the lock, so
        they have the order of the queue."""
        with self._lock:
            self._check_open()
            if self.waiting >= self.capacity:
                return None
            event = make()
            self.accepted += 1
            self.waiting += 1
            self._add(event)
            return event

    def put_stored(self, events: Sequence[Event]) -> int:
        """Adds existing events, as many as fit; returns their number."""
        with self._lock:
            fitting = events[: max(self.capacity - self.waiting, 0)]
            self.accepted += len(fitting)
            self.waiting += len(fitting)
            for event in fitting:
                self._add(event)
        return len(fitting)

    def put_flush(self) -> Flush:
        """Adds a mark, even if the queue is full."""
        mark = Flush()
        with self._lock:
            self._check_open()
            self._add(mark)
        return mark

    def head(self, most: int) -> list[Item]:
        """The next items, which stay where they are until `done`."""
        with self._lock:
            return list(islice(self._items, most))

    def done(self, count: int) -> None:
        """The first items have been delivered."""
        with self._lock:
            for _ in range(count):
                self.waiting -= isinstance(self._items.popleft(), Event)

    def sleep(self, wake: Callable[[], None]) -> bool:
        """Ask to be woken once. False if there is something to do already."""
        with self._lock:
            if self._items or self.closed:
                return False
            self._wake = wake
            return True

    def close(self) -> None:
        """Accepts no more events; those in the queue can still be delivered."""
        with self._lock:
            self.closed = True
            self._call_wake()

    def _add(self, item: Item) -> None:
        self._items.append(item)
        self._call_wake()

    def _call_wake(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    def _check_open(self) -> None:
        if self.closed:
            raise BusError("the bus is closed")


logger = logging.getLogger(__name__)

BATCH = 256
SLOW_IN_A_ROW = 5
"""A handler that is over the budget this often loses its place on the fast path."""
FAST_PATH_TIMEOUT = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_LAST_TRIES = 3


class Lane:
    """The events that wait for one subscriber, and the task that hands them over."""

    def __init__(self, subscription: Subscription, pump: Pump) -> None:
        self._subscription = subscription
        self._pump = pump
        self._queue: asyncio.Queue[Event | Flush | None] = asyncio.Queue()
        self._gap: GapDetected | None = None
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def put(self, event: Event) -> None:
        """Adds an event; if the lane is full it is dropped, and the subscriber is informed
        later."""
        if self._queue.qsize() < self._pump.capacity:
            self._queue.put_nowait(event)
            return
        gap = self._gap
        self._gap = GapDetected(
            name=self._subscription.name,
            first_event_id=gap.first_event_id if gap else event.id,
            last_event_id=event.id,
            missed=(gap.missed if gap else 0) + 1,
        )

    def mark(self, item: Flush | None) -> None:
        """A flush, or the end."""
        self._queue.put_nowait(item)

    async def _serve(self) -> None:
        while (item := await self._queue.get()) is not None:
            if isinstance(item, Flush):
                item.arrived()
            elif self._subscription.active:
                await self._pump.call(self._subscription, item, self._pump.handler_timeout)
            if self._gap is not None:
                gap, self._gap = self._gap, None
                logger.warning("subscriber_gap", extra={"subscription": gap.name, "n": gap.missed})
                self._pump.report_gap(gap)


class Pump:
    """Takes from the queue until it is closed and empty."""

    def __init__(
        self,
        queue: EventQueue,
        sink: EventSink | AsyncEventSink | None,
        subscriptions: Callable[[], tuple[Subscription, ...]],
        report_gap: Callable[[GapDetected], None],
        handler_timeout: float,
    ) -> None:
        self.capacity = queue.capacity
        self.handler_timeout = handler_timeout
        self.report_gap = report_gap
        self._queue = queue
        self._sink = sink
        self._subscriptions = subscriptions
        self._lanes: dict[Subscription, Lane] = {}
        self._delivered = 0

    async def run(self) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is gone, and no reader can be woken
                loop.call_soon_threadsafe(ready.set)

        try:
            while True:
                items = self._queue.head(BATCH)
                if not items and self._queue.closed:
                    break
                if items:
                    if not await self._deliver(items):
                        break
                    await asyncio.sleep(0)  # handlers that never wait leave room for others
                elif self._queue.sleep(wake):
                    await ready.wait()
                    ready.clear()
            await self._end_lanes()
        finally:
            for lane in self._lanes.values():
                lane.task.cancel()

    async def _deliver(self, items: list[Event | Flush]) -> bool:
        """The events up to the first flush, or that flush. False if they cannot be stored."""
        first = items[0]
        if isinstance(first, Flush):
            first.expect(len(self._lanes))
            for lane in self._lanes.values():
                lane.mark(first)
            self._queue.done(1)
            return True
        events = [e for e in takewhile(lambda e: isinstance(e, Event), items) if type(e) is Event]
        if not await self._store(events):
            return False
        for number, event in enumerate(events, self._delivered + 1):
            for subscription in self._subscriptions():
                if subscription.accepts(event, number):
                    await self._hand_over(subscription, event)
        self._drop_lanes()
        self._delivered += len(events)
        self._queue.done(len(events))
        return True

    async def _store(self, events: list[Event]) -> bool:
        """Retries until it works; meanwhile the queue fills and emitters get errors. A bus that is
        being closed gives up after a few tries."""
        if self._sink is None:
            return True
        pause, last_tries = _FIRST_PAUSE, _LAST_TRIES
        while True:
            try:
                await self._append(self._sink, events)
                return True
            except Exception as error:
                logger.error(
                    "events_not_stored",
                    extra={"count": len(events), "error": type(error).__name__, "retry_in": pause},
                )
            last_tries -= self._queue.closed
            if last_tries <= 0:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _append(self, sink: EventSink | AsyncEventSink, events: list[Event]) -> None:
        """A store that waits for a disk does so in another thread, not in the user's loop."""
        if inspect.iscoroutinefunction(sink.append_events):
            await sink.append_events(events)
        elif inspect.isawaitable(waiting := await asyncio.to_thread(sink.append_events, events)):
            await waiting

    async def _hand_over(self, subscription: Subscription, event: Event) -> None:
        if not subscription.fast_path:
            lane = self._lanes.get(subscription)
            if lane is None:
                lane = self._lanes[subscription] = Lane(subscription, self)
            lane.put(event)
            return
        started = time.perf_counter()
        await self.call(subscription, event, FAST_PATH_TIMEOUT)
        took = time.perf_counter() - started
        subscription.slow = subscription.slow + 1 if took > FAST_PATH_BUDGET else 0
        if subscription.slow >= SLOW_IN_A_ROW:
            subscription.fast_path = False
            logger.warning(
                "fast_path_left",
                extra={"subscription": subscription.name, "took_ms": round(took * 1000, 3)},
            )

    async def call(self, subscription: Subscription, event: Event, limit: float) -> None:
        """Calls one handler with one event; whatever it raises, it stays subscribed and others are
        not affected."""
        task = asyncio.current_task()
        try:
            async with asyncio.timeout(limit):
                await subscription.handler(event)
        except asyncio.CancelledError:
            if task is not None and task.cancelling():
                raise  # it is us who are to stop
            self._log_failure(subscription, event, "CancelledError")
        except Exception as error:
            self._log_failure(subscription, event, type(error).__name__)

    def _log_failure(self, subscription: Subscription, event: Event, error: str) -> None:
        """Logs only the class of the error: its text may quote event data."""
        logger.warning(
            "event_handler_failed",
            extra={
                "subscription": subscription.name,
                "event_id": event.id,
                "type": event.type,
                "error": error,
            },
        )

    def _drop_lanes(self) -> None:
        for subscription in [s for s in self._lanes if not s.active]:
            self._lanes.pop(subscription).mark(None)

    async def _end_lanes(self) -> None:
        for lane in self._lanes.values():
            lane.mark(None)
        if self._lanes:
            await asyncio.wait([lane.task for lane in self._lanes.values()])
