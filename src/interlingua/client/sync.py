"""`Client`: the same without `await`. Its connections live on a loop in a thread of their own, so
that there is one way to speak HTTP and not two (docs/decisions/0014-http.md)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import finalize

from interlingua.client.answer import Answer, Attempt, Parsed, Run, TokenCount
from interlingua.client.client import AsyncClient, Conversation
from interlingua.client.stream import AsyncStream
from interlingua.client.thread import LoopThread
from interlingua.errors import InterlinguaError
from interlingua.losses import Report
from interlingua.model.events import Event
from interlingua.model.exchange import Options, Response
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.say import Fitting

P = ParamSpec("P")
T = TypeVar("T")
_MOST_WAITING = 1000
"""Batches of events that may wait for a slow reader."""


def _takes(
    other: Callable[Concatenate[AsyncClient, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Client, P], None]]:
    """For type checkers: a method with the arguments of another."""
    return lambda method: method


class Client:
    """Talks to models. Takes what `AsyncClient` takes; may be used from several threads."""

    @_takes(AsyncClient.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._client = AsyncClient(*args, **kwargs)
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what is under way, close every connection, end the thread."""
        with self._lock:
            thread, self._thread, self._closed = self._thread, None, True
        if thread is not None:
            thread.run(self._client.close())
            thread.stop()

    def cancel(self, call_id: str | None = None) -> bool:
        """Cancel one call of another thread, or all of them."""

        async def cancel() -> bool:
            return self._client.cancel(call_id)

        return self._thread is not None and self._run(cancel())

    def generate(
        self,
        model: str,
        messages: Conversation,
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
        *,
        dialect: str | None = None,
        deadline: float | None = None,
        fallbacks: Sequence[str] = (),
        call_id: str | None = None,
        profile: Fitting = None,
    ) -> Answer:
        """One answer; see `AsyncClient.generate`."""
        return self._run(
            self._client.generate(
                model,
                messages,
                tools,
                options,
                dialect=dialect,
                deadline=deadline,
                fallbacks=fallbacks,
                call_id=call_id,
                profile=profile,
            )
        )

    def stream(
        self,
        model: str,
        messages: Conversation,
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
        **how: Any,
    ) -> Stream:
        """The events of one answer while it arrives; see `AsyncClient.stream`."""
        return Stream(self, self._client.stream(model, messages, tools, options, **how))

    def count_tokens(
        self,
        model: str,
        messages: Conversation,
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
        **how: Any,
    ) -> TokenCount:
        """Tokens of the prompt; see `AsyncClient.count_tokens`."""
        return self._run(self._client.count_tokens(model, messages, tools, options, **how))

    def run(
        self,
        model: str,
        messages: Conversation,
        tools: Iterable[ToolDefinition],
        dispatcher: Any,
        max_rounds: int = 1,
        options: Options | None = None,
        **how: Any,
    ) -> Run:
        """A tool loop; see `AsyncClient.run`. Tools run in threads, not in this one."""
        work = self._client.run(model, messages, tools, dispatcher, max_rounds, options, **how)
        return self._run(work)

    def parse(
        self,
        model: str,
        messages: Conversation,
        schema: Any,
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
        **how: Any,
    ) -> Parsed:
        """An answer of a given shape; see `AsyncClient.parse`."""
        return self._run(self._client.parse(model, messages, schema, tools, options, **how))

    def work(self, make: Callable[[AsyncClient], Coroutine[Any, Any, T]]) -> T:
        """What a coroutine gives that works with the client inside, done on its loop."""
        return self._run(make(self._client))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._closed:
                work.close()
                raise InterlinguaError("the client is closed")
            if self._thread is None:
                self._thread = LoopThread()
                finalize(self, self._thread.stop)
            thread = self._thread
        return thread.run(work)

    def _soon(self, work: Callable[[], object]) -> None:
        if self._thread is not None:
            self._thread.soon(work)


class Stream:
    """Use it with `with`: leaving it closes the connection. See `AsyncStream`.

    The loop's thread reads ahead and hands over all events that arrived together: asking it for
    each of them would cost twice as much. It stops reading when too many wait."""

    def __init__(self, client: Client, inner: AsyncStream) -> None:
        self._client = client
        self._inner = inner
        self._ready: SimpleQueue[list[Event] | Exception | None] = SimpleQueue()
        self._pump: asyncio.Task[None] | None = None
        self._room: asyncio.Event | None = None

    def __enter__(self) -> Self:
        self._client._run(self._begin())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client._run(self._leave())

    def __iter__(self) -> Iterator[Event]:
        if self._pump is None:
            raise InterlinguaError("the stream has not begun: use it with `with`")
        while True:
            events = self._ready.get()
            if isinstance(events, Exception):
                self._ready.put(events)  # for whoever asks again
                raise events
            if events is None:
                self._ready.put(None)
                return
            if self._room is not None and self._ready.qsize() < _MOST_WAITING // 2:
                self._client._soon(self._room.set)
            yield from events

    async def _begin(self) -> None:
        await self._inner.__aenter__()
        self._pump = asyncio.create_task(self._read())

    async def _read(self) -> None:
        ready = self._ready
        try:
            while events := await self._inner.batch():
                ready.put(events)
                if ready.qsize() > _MOST_WAITING:
                    self._room = asyncio.Event()
                    await self._room.wait()
                    self._room = None
        except Exception as odd:  # it is raised where the events are read
            ready.put(odd)
        else:
            ready.put(None)

    async def _leave(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        await self._inner.__aexit__(None, None, None)
        self._ready.put(None)

    def cancel(self) -> bool:
        """Stop it, from another thread."""

        async def cancel() -> bool:
            return self._inner.cancel()

        return self._client._run(cancel())

    @property
    def report(self) -> Report:
        return self._inner.report

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def request_id(self) -> str | None:
        return self._inner.request_id

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return self._inner.attempts

    @property
    def latency_ms(self) -> int | None:
        return self._inner.latency_ms

    def response(self) -> Response:
        """The answer, as far as it has come."""
        if self._inner.is_over:
            return self._inner.response()

        async def response() -> Response:
            return self._inner.response()

        return self._client._run(response())

    def message(self) -> Message:
        return self.response().message

    def answer(self) -> Answer:
        """The answer with how it came about."""
        if self._inner.is_over:
            return self._inner.answer()

        async def answer() -> Answer:
            return self._inner.answer()

        return self._client._run(answer())
