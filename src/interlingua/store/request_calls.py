"""The calls of a store about what passed a gateway, without and with `await`; `requests.py` says
what each does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TypeVar

from interlingua.model.metadata import Usage
from interlingua.store.operations import Op, Operations
from interlingua.store.request_rows import RequestRow, Wanted
from interlingua.store.rows import EventRow

T = TypeVar("T")

ALL = Wanted()
PAGE = 500
"""Rows that are read at a time where all of them are wanted."""


class RequestCalls(ABC):
    """For threads."""

    _do: Operations

    @abstractmethod
    def _read(self, make: Callable[[], Op[T]]) -> T: ...

    @abstractmethod
    def _write(self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True) -> T: ...

    def append_requests(self, rows: Sequence[RequestRow], events: Sequence[EventRow] = ()) -> None:
        """Requests that are over, and their events in the trace, all or none."""
        self._write(lambda: self._do.append_requests(rows, events))

    def request(self, id: str) -> RequestRow:
        """One request, with its tries and its report; NotFoundError if there is none."""
        return self._read(lambda: self._do.request(id))

    def requests(
        self, wanted: Wanted = ALL, limit: int = 50, before: RequestRow | None = None
    ) -> list[RequestRow]:
        """Requests, the newest first; `before` is the last one of the page before."""
        return self._read(lambda: self._do.requests(wanted, limit, before))

    def all_requests(self, wanted: Wanted = ALL) -> Iterator[RequestRow]:
        """All of them, the newest first, read page by page."""
        last: RequestRow | None = None
        while page := self.requests(wanted, PAGE, last):
            yield from page
            last = page[-1]

    def requests_after(
        self, after: int, upto: int, wanted: Wanted = ALL, limit: int = 100
    ) -> list[RequestRow]:
        """Those with a number behind `after`, and `upto` at most, in that order."""
        return self._read(lambda: self._do.requests_after(wanted, after, upto, limit))

    def requests_named(self, start: str, limit: int = 10) -> list[RequestRow]:
        """Those whose id begins so, the newest first."""
        return self._read(lambda: self._do.requests_named(start, limit))

    def save_costs(self, costs: Sequence[tuple[str, Usage]]) -> None:
        """What requests cost by another price table: their ids, and usages with that cost."""
        self._write(lambda: self._do.save_costs(costs))

    def last_request(self) -> int:
        """The number of the last request that was written; 0 if there is none."""
        return self._read(lambda: self._do.last_request())

    def request_trace(self, id: str, shared: str) -> list[EventRow]:
        """What the trace says of a request; `shared` is where events of all are filed."""
        return self._read(lambda: self._do.request_trace(id, shared))


class AsyncRequestCalls(ABC):
    """The same for an event loop."""

    _do: Operations

    @abstractmethod
    async def _read(self, make: Callable[[], Op[T]]) -> T: ...

    @abstractmethod
    async def _write(
        self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True
    ) -> T: ...

    async def append_requests(
        self, rows: Sequence[RequestRow], events: Sequence[EventRow] = ()
    ) -> None:
        """See `Store.append_requests`."""
        await self._write(lambda: self._do.append_requests(rows, events))

    async def request(self, id: str) -> RequestRow:
        """See `Store.request`."""
        return await self._read(lambda: self._do.request(id))

    async def requests(
        self, wanted: Wanted = ALL, limit: int = 50, before: RequestRow | None = None
    ) -> list[RequestRow]:
        """See `Store.requests`."""
        return await self._read(lambda: self._do.requests(wanted, limit, before))

    async def all_requests(self, wanted: Wanted = ALL) -> AsyncIterator[RequestRow]:
        """See `Store.all_requests`."""
        last: RequestRow | None = None
        while page := await self.requests(wanted, PAGE, last):
            for row in page:
                yield row
            last = page[-1]

    async def requests_after(
        self, after: int, upto: int, wanted: Wanted = ALL, limit: int = 100
    ) -> list[RequestRow]:
        """See `Store.requests_after`."""
        return await self._read(lambda: self._do.requests_after(wanted, after, upto, limit))

    async def requests_named(self, start: str, limit: int = 10) -> list[RequestRow]:
        """See `Store.requests_named`."""
        return await self._read(lambda: self._do.requests_named(start, limit))

    async def save_costs(self, costs: Sequence[tuple[str, Usage]]) -> None:
        """See `Store.save_costs`."""
        await self._write(lambda: self._do.save_costs(costs))

    async def last_request(self) -> int:
        """See `Store.last_request`."""
        return await self._read(lambda: self._do.last_request())

    async def request_trace(self, id: str, shared: str) -> list[EventRow]:
        """See `Store.request_trace`."""
        return await self._read(lambda: self._do.request_trace(id, shared))
