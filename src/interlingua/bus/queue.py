"""The queue between those who emit and the pump that delivers: bounded, and safe for threads."""

from __future__ import annotations

import concurrent.futures
import threading
from collections import deque
from collections.abc import Callable
from itertools import islice

from interlingua.bus.errors import BusError
from interlingua.bus.event import Event


class Flush:
    """A mark in the queue: its future is done when all that came before it has been handled."""

    def __init__(self) -> None:
        self.future: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._expected = 1

    def expect(self, lanes: int) -> None:
        """How many have to arrive; none is the same as done."""
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
    """Events in the order of their ids. What the pump is busy with still counts as waiting."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.closed = False
        self.waiting = 0
        self.last_id = ""
        self._items: deque[Item] = deque()
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None

    def put(self, make: Callable[[], Event]) -> Event | None:
        """Make an event and add it; None if there is no room. Ids are made under the lock, so
        that the order of the queue is theirs."""
        with self._lock:
            self._check_open()
            if self.waiting >= self.capacity:
                return None
            event = make()
            self.last_id = event.id
            self.waiting += 1
            self._add(event)
            return event

    def put_flush(self) -> Flush:
        """Add a mark, for which there is always room."""
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
        """Take no more events; those inside can still be delivered."""
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
