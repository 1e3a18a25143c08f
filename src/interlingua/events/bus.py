"""The bus: events go in from anywhere without waiting, and come out at a store and subscribers.

with Bus(store) as bus:                            # in a program without an event loop
    bus.emit("turn.started", payload, session_id=id)

async with Bus(store) as bus: ...                  # in one that has a loop
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from interlingua.events.catalogue import Checked, check_event
from interlingua.events.delivery import EventQueue, Pump
from interlingua.events.event import NO_SESSION, BusError, Event, EventError, QueueFullError
from interlingua.events.log import AsyncEventSink, EventSink, Filter, Handler, Subscription
from interlingua.events.payloads import Payload, SubscriberRegistered, SubscriberUnregistered
from interlingua.model.ids import Ulids
from interlingua.model.message import from_micros

logger = logging.getLogger(__name__)

CAPACITY = 10_000
CLOSE_TIMEOUT = 10.0
IDS = Ulids()  # one for the process: ids of several buses increase too


def now_us() -> int:
    """Microseconds since 1970, as the machine's clock has it."""
    return time.time_ns() // 1000


def event_of(
    checked: Checked,
    ids: Ulids,
    clock: Callable[[], int],
    session_id: str,
    turn_id: str | None,
    parent_event_id: str | None,
) -> Event:
    """The event itself, with an id and a time of its own."""
    return Event(
        id=ids.new(),
        timestamp=from_micros(clock()),
        session_id=session_id,
        turn_id=turn_id,
        parent_event_id=parent_event_id,
        type=checked.type.name,
        actor=checked.actor,
        sensitivity=checked.sensitivity,
        payload=checked.payload,
    )


class Bus:
    """A bounded queue in front of a sink and any number of subscribers.

    If a session's bus has a sink, the bus stores the session's events. Without a sink, the session
    stores them itself, in the same transaction as the changes they describe, and the bus delivers
    them afterwards.

    `strict` raises on events that the catalogue does not allow (for tests); otherwise they are
    dropped with a WARN log, because a faulty trace must not stop a conversation. Events that are
    emitted before the bus is started wait in the queue.
    """

    def __init__(
        self,
        sink: EventSink | AsyncEventSink | None = None,
        *,
        strict: bool = False,
        capacity: int = CAPACITY,
        handler_timeout: float = 30.0,
        clock: Callable[[], int] = now_us,
        ids: Ulids = IDS,
    ) -> None:
        self.strict = strict
        self.subscriptions: tuple[Subscription, ...] = ()
        self.has_sink = sink is not None
        self._clock = clock
        self._ids = ids
        self._queue = EventQueue(capacity)
        self._pump = Pump(
            self._queue,
            sink,
            lambda: self.subscriptions,
            lambda gap: self._emit_quietly("bus.gap_detected", gap),
            handler_timeout,
        )
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None

    def emit(
        self,
        type: str,
        payload: Payload | Mapping[str, Any],
        *,
        session_id: str = NO_SESSION,
        turn_id: str | None = None,
        parent_event_id: str | None = None,
        actor: str | None = None,
        sensitivity: str | None = None,
    ) -> Event | None:
        """Put an event into the queue and give it back. Never waits, and may be called anywhere.

        A full queue raises to the caller and leaves an ERROR log. An event that the catalogue does
        not allow raises in strict mode; in lenient mode it gives None.
        """
        ids = {"session_id": session_id, "turn_id": turn_id, "parent_event_id": parent_event_id}
        try:
            checked = check_event(type, payload, ids, actor, sensitivity)
        except EventError as problem:
            if self.strict:
                raise
            logger.warning("event_dropped", extra={"type": type, "problem": problem.problem})
            return None
        event = self._queue.put(
            lambda: event_of(checked, self._ids, self._clock, session_id, turn_id, parent_event_id)
        )
        if event is None:
            capacity = self._queue.capacity
            logger.error("event_queue_full", extra={"type": type, "capacity": capacity})
            raise QueueFullError(type, capacity)
        return event

    def publish(self, events: Sequence[Event]) -> None:
        """Delivers events that are already stored. Never raises: a subscriber that misses some
        because its queue is full or the bus is closed can replay them."""
        if self.subscriptions and not self._queue.closed:
            left = len(events) - self._queue.put_stored(events)
            if left:
                capacity = self._queue.capacity
                logger.error("events_not_published", extra={"count": left, "capacity": capacity})

    def _emit_quietly(self, type: str, payload: Payload) -> None:
        """Events about the bus itself: a queue that is full or closed is no reason to fail."""
        try:
            self.emit(type, payload)
        except BusError as problem:
            logger.debug("bus_event_not_emitted", extra={"type": type, "problem": str(problem)})

    def subscribe(
        self, handler: Handler, *, name: str, filter: Filter | None = None, fast_path: bool = False
    ) -> Subscription:
        """Calls `handler` with every event that is emitted from now on and passes the filter.

        A handler on the fast path is awaited before any other subscriber gets the event and has to
        finish within a millisecond; one that does not loses its place there. Others have a queue of
        their own. An event may come twice: dedupe by id where that matters.
        """
        accepted = filter or Filter()
        with self._lock:
            new = Subscription(name, handler, accepted, fast_path, self._queue.accepted)
            self.subscriptions = (*self.subscriptions, new)
        types = None if accepted.types is None else tuple(sorted(accepted.types))
        payload = SubscriberRegistered(name=name, fast_path=fast_path, types=types)
        self._emit_quietly("bus.subscriber_registered", payload)
        return new

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop calling it, also with events that already wait. A second time changes nothing."""
        with self._lock:
            known = subscription in self.subscriptions
            subscription.active = False
            self.subscriptions = tuple([s for s in self.subscriptions if s is not subscription])
        if known:
            payload = SubscriberUnregistered(name=subscription.name)
            self._emit_quietly("bus.subscriber_unregistered", payload)

    @property
    def waiting(self) -> int:
        """The number of events in the queue."""
        return self._queue.waiting

    async def start(self) -> None:
        """Deliver events in the running loop."""
        self._check_not_started()
        self._task = asyncio.get_running_loop().create_task(self._pump.run())

    def start_thread(self) -> None:
        """Deliver events in a thread with a loop of its own."""
        self._check_not_started()
        work = self._pump.run
        self._thread = threading.Thread(
            target=lambda: asyncio.run(work()), name="interlingua-bus", daemon=True
        )
        self._thread.start()

    def _check_not_started(self) -> None:
        if self._task is not None or self._thread is not None or self._queue.closed:
            raise BusError("the bus was started before; make a new one")

    async def flush(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Wait until all events emitted so far are stored and handled."""
        try:
            await asyncio.wait_for(asyncio.wrap_future(self._flush()), timeout)
        except TimeoutError:
            raise self._late("flush", timeout) from None

    def flush_sync(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """The same, for a bus that runs in its own thread."""
        try:
            self._flush().result(timeout)
        except concurrent.futures.TimeoutError:
            raise self._late("flush", timeout) from None

    def _flush(self) -> concurrent.futures.Future[None]:
        if self._task is None and self._thread is None:
            raise BusError("the bus is not started: no subscriber receives its events")
        return self._queue.put_flush().future

    async def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Accepts no more events, and delivers the waiting ones within the time. Raises if some are
        left."""
        self._queue.close()
        if self._task is None:
            return
        await asyncio.wait([self._task], timeout=timeout)
        finished = self._task.done()
        if not finished:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=1)
        self._check_delivered(finished, timeout)

    def close_sync(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """The same, for a bus that runs in its own thread."""
        self._queue.close()
        if self._thread is None:
            return
        self._thread.join(timeout)
        self._check_delivered(not self._thread.is_alive(), timeout)

    def _check_delivered(self, finished: bool, timeout: float) -> None:
        if self._queue.waiting or not finished:
            logger.error("events_not_delivered", extra={"count": self._queue.waiting})
            raise self._late("close", timeout)

    def _late(self, what: str, timeout: float) -> BusError:
        waiting = self._queue.waiting
        return BusError(
            f"{what}: not all events could be delivered in {timeout:g} s, {waiting} wait"
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> Self:
        self.start_thread()
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()
