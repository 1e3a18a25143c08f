"""The operations of every store.

`Calls` lists the calls once: `Store` returns their results, `AsyncStore` awaitables of the same.
Each call has the parameters and the documentation of its operation. An engine adds how operations
are run: reading, or in a transaction. A call that returns has been written durably; a call that
raises has changed nothing (except where a lost connection leaves it open whether the last commit
was made: `StoreError.reason` is then `unreachable`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from interlingua.store.idempotency import Idempotency, Memory, Objects
from interlingua.store.messages import IN_VAIN, Search
from interlingua.store.reference import Reference
from interlingua.store.requests import ALL, RequestFilter, RequestRow, Requests
from interlingua.store.rows import SearchHit, UsageRow
from interlingua.store.sessions import Retention
from interlingua.store.statements import Make, Op, Prepared
from interlingua.store.tasks import Branches
from interlingua.store.usages import Patterns, UsageCursor, Usages, walk

P = ParamSpec("P")
T = TypeVar("T")

PAGE = 500
"""Requests that are read at a time where all of them are wanted."""


class Operations(
    Branches,
    Search,
    Requests,
    Usages,
    Reference,
    Memory,
    Idempotency,
    Retention,
    Patterns,
    Objects,
):
    """The statements of each call, for every engine."""


class Call(Generic[P, T]):
    """A call of both kinds of store, with the parameters of its operation."""

    def __init__(self, operation: Callable[Concatenate[Operations, P], object]) -> None:
        self.__doc__ = operation.__doc__
        self._operation = operation
        self._name = operation.__name__

    @overload
    def __get__(self, store: Store, owner: object = None) -> Callable[P, T]: ...

    @overload
    def __get__(
        self, store: AsyncStore, owner: object = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(
        self, store: None, owner: object = None
    ) -> Callable[Concatenate[Operations, P], object]: ...

    def __get__(self, store: Store | AsyncStore | None, owner: object = None) -> Any:
        return self._operation if store is None else partial(self._run, store)

    @abstractmethod
    def _run(self, store: Store | AsyncStore, /, *args: Any, **options: Any) -> Any: ...


class Read(Call[P, T]):
    """A call that changes nothing."""

    def __init__(self, operation: Callable[Concatenate[Operations, P], Op[T]]) -> None:
        super().__init__(operation)

    def _run(self, store: Store | AsyncStore, /, *args: Any, **options: Any) -> Any:
        return store._read(partial(getattr(store._do, self._name), *args, **options))


class Write(Call[P, T]):
    """A call with a transaction of its own; `durable` and `erases` are as in `Store._write`."""

    def __init__(
        self,
        operation: Callable[Concatenate[Operations, P], Op[T]],
        *,
        durable: bool = True,
        erases: bool = False,
    ) -> None:
        super().__init__(operation)
        self._durable = durable
        self._erases = erases

    def _run(self, store: Store | AsyncStore, /, *args: Any, **options: Any) -> Any:
        work = partial(getattr(store._do, self._name), *args, **options)
        return store._write(work, durable=self._durable, erases=self._erases)


class PreparedWrite(Call[P, T]):
    """A call that makes its rows before its transaction, in the caller's thread."""

    def __init__(self, operation: Callable[Concatenate[Operations, P], Prepared[T]]) -> None:
        super().__init__(operation)

    def _run(self, store: Store | AsyncStore, /, *args: Any, **options: Any) -> Any:
        prepared = getattr(store._do, self._name)(*args, **options)
        return store._write(prepared.make, large=prepared.large)


class Calls(ABC):
    """The calls that `Store` and `AsyncStore` share."""

    where: str
    """The file or the host, without secrets."""
    _do: Operations

    # Sessions
    create_session = Write(Operations.create_session)
    add_session = Write(Operations.add_session)
    session = Read(Operations.session)
    sessions = Read(Operations.sessions)
    sessions_of = Read(Operations.sessions_of)
    forks_of = Read(Operations.forks_of)
    update_session = Write(Operations.update_session)
    delete_session = Write(Operations.delete_session, erases=True)
    fork = Write(Operations.fork)

    # Messages, their calls, the trace
    append = PreparedWrite(Operations.append)
    save = PreparedWrite(Operations.save)
    hold_turn = Write(Operations.hold_turn, durable=False)
    end_turn = Write(Operations.end_turn, durable=False)
    message = Read(Operations.message)
    messages = Read(Operations.messages)
    tail = Read(Operations.tail)
    tool_calls = Read(Operations.tool_calls)
    unanswered = Read(Operations.unanswered)
    failed = Read(Operations.failed)
    append_events = Write(Operations.append_events)
    events = Read(Operations.events)

    # Costs; keys, users, teams and prices
    save_metadata = Write(Operations.save_metadata)
    save_keys = Write(Operations.save_keys)
    key = Read(Operations.key)
    key_by_hash = Read(Operations.key_by_hash)
    keys = Read(Operations.keys)
    save_user = Write(Operations.save_user)
    user = Read(Operations.user)
    users = Read(Operations.users)
    save_team = Write(Operations.save_team)
    team = Read(Operations.team)
    teams = Read(Operations.teams)
    save_budget = Write(Operations.save_budget)
    budgets = Read(Operations.budgets)
    remove_budget = Write(Operations.remove_budget)
    administer = Write(Operations.administer)
    admin_keys = Read(Operations.admin_keys)
    audit = Read(Operations.audit)
    save_prices = PreparedWrite(Operations.save_prices)
    prices = Read(Operations.prices)
    price_versions = Read(Operations.price_versions)

    # A gateway: quotas, memory of clients' turns, requests that clients may repeat
    settle_and_reserve = Write(Operations.settle_and_reserve, durable=False)
    renew_quotas = Write(Operations.renew_quotas)
    ping = Write(Operations.ping, durable=False)
    spent = Read(Operations.spent)
    remember = Write(Operations.remember)
    remembered = Read(Operations.remembered)
    forget_remembered = Write(Operations.forget_remembered)
    forget_tenant = Write(Operations.forget_tenant)
    put_objects = Write(Operations.put_objects)
    object = Read(Operations.object)
    objects = Read(Operations.objects)
    objects_of_kind = Read(Operations.objects_of_kind)
    remove_object = Write(Operations.remove_object)
    remove_objects = Write(Operations.remove_objects)
    forget_objects = Write(Operations.forget_objects)
    store_secret = Write(Operations.store_secret)
    claim_repeat = Write(Operations.claim_repeat, durable=False)
    renew_repeats = Write(Operations.renew_repeats, durable=False)
    finish_repeat = Write(Operations.finish_repeat)
    release_repeat = Write(Operations.release_repeat, durable=False)
    tidy_repeats = Write(Operations.tidy_repeats)
    sweep = Write(Operations.sweep, durable=False)
    before_newest = Read(Operations.before_newest)

    # Requests that passed a gateway
    append_requests = Write(Operations.append_requests)
    request = Read(Operations.request)
    requests = Read(Operations.requests)
    requests_after = Read(Operations.requests_after)
    requests_named = Read(Operations.requests_named)
    save_costs = Write(Operations.save_costs)
    last_request = Read(Operations.last_request)
    request_stats = Read(Operations.request_stats)
    request_costs = Read(Operations.request_costs)
    request_trace = Read(Operations.request_trace)

    # Tasks
    create_task = Write(Operations.create_task)
    branch_task = Write(Operations.branch_task)
    task = Read(Operations.task)
    task_at = Read(Operations.task_at)
    tasks = Read(Operations.tasks)
    changed_tasks = Read(Operations.changed_tasks)
    tasks_clock = Read(Operations.tasks_clock)
    generating_tasks = Read(Operations.generating_tasks)
    count_tasks = Read(Operations.count_tasks)
    watch_tasks = Read(Operations.watch_tasks)
    claim_task = Write(Operations.claim_task)
    renew_tasks = Write(Operations.renew_tasks, durable=False)
    stopping_tasks = Read(Operations.stopping_tasks)
    tell_task = Write(Operations.tell_task)
    finish_task = Write(Operations.finish_task)
    withdraw_task = Write(Operations.withdraw_task)
    stop_task = Write(Operations.stop_task)
    end_task = Write(Operations.end_task)
    queue_message = Write(Operations.queue_message)
    unqueue_message = Write(Operations.unqueue_message)
    task_queue = Read(Operations.task_queue)
    owned_queues = Read(Operations.owned_queues)
    task_events = Read(Operations.task_events)
    ask_confirmation = Write(Operations.ask_confirmation)
    answer_confirmation = Write(Operations.answer_confirmation)
    confirmation = Read(Operations.confirmation)
    confirmations = Read(Operations.confirmations)
    approved = Read(Operations.approved)

    # How turns went
    record_pattern = Write(Operations.record_pattern, durable=False)
    pattern_outcomes = Read(Operations.pattern_outcomes)
    adjust_pattern = Write(Operations.adjust_pattern, durable=False)
    reset_patterns = Write(Operations.reset_patterns)
    pattern_kinds = Read(Operations.pattern_kinds)


class Store(Calls):
    """A place where sessions live. May be shared between threads."""

    @abstractmethod
    def _read(self, make: Make[T]) -> T:
        """Run an operation that changes nothing."""

    @abstractmethod
    def _write(
        self, make: Make[T], large: bool = False, durable: bool = True, erases: bool = False
    ) -> T:
        """Runs an operation in a transaction, and returns when it is durable. Without `durable`
        a power cut may undo it, though no crash of a program can. With `erases`, deleted rows
        are in no file afterwards."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. Closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(
        self, words: str, *, session_id: str | None = None, limit: int = 50
    ) -> list[SearchHit]:
        """Messages in which all the words occur, newest first. `word*` is the start of a word."""
        in_vain = 0
        while in_vain < IN_VAIN and self._read(self._do.unindexed):
            in_vain = 0 if self._write(self._do.index_some) else in_vain + 1
        return self._read(lambda: self._do.search(words, session_id, limit))

    def usages(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        session_id: str | None = None,
    ) -> Iterator[UsageRow]:
        """Every message that has a usage, by session and time, read page by page. `since` is the
        first moment that counts, `until` the first that does not."""
        query = walk(since, until, session_id)
        cursor: UsageCursor | None = query.start
        while cursor is not None:
            rows, cursor = self._read(partial(self._do.usage_page, query, cursor))
            yield from rows

    def all_requests(self, filter: RequestFilter = ALL) -> Iterator[RequestRow]:
        """Requests, the newest first, read page by page."""
        last: RequestRow | None = None
        while page := self.requests(filter, PAGE, last):
            yield from page
            last = page[-1]

    def vacuum(self) -> int:
        """Rewrites a SQLite file without its free pages, and enables it to release pages
        automatically; returns the freed bytes. Blocks all writers meanwhile."""
        return 0


class AsyncStore(Calls):
    """The same for programs with an event loop, which is never blocked. Cancelling the wait does
    not undo the write."""

    @abstractmethod
    async def _read(self, make: Make[T]) -> T: ...

    @abstractmethod
    async def _write(
        self, make: Make[T], large: bool = False, durable: bool = True, erases: bool = False
    ) -> T: ...

    @abstractmethod
    async def close(self) -> None:
        """Wait for calls under way, then release everything."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def search(
        self, words: str, *, session_id: str | None = None, limit: int = 50
    ) -> list[SearchHit]:
        """See `Store.search`."""
        in_vain = 0
        while in_vain < IN_VAIN and await self._read(self._do.unindexed):
            in_vain = 0 if await self._write(self._do.index_some) else in_vain + 1
        return await self._read(lambda: self._do.search(words, session_id, limit))

    async def usages(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        session_id: str | None = None,
    ) -> AsyncIterator[UsageRow]:
        """See `Store.usages`."""
        query = walk(since, until, session_id)
        cursor: UsageCursor | None = query.start
        while cursor is not None:
            rows, cursor = await self._read(partial(self._do.usage_page, query, cursor))
            for row in rows:
                yield row

    async def all_requests(self, filter: RequestFilter = ALL) -> AsyncIterator[RequestRow]:
        """See `Store.all_requests`."""
        last: RequestRow | None = None
        while page := await self.requests(filter, PAGE, last):
            for row in page:
                yield row
            last = page[-1]

    async def vacuum(self) -> int:
        """See `Store.vacuum`."""
        return 0
