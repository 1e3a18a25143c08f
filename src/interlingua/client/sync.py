"""`Client`: `AsyncClient` without `await`. It runs on an event loop in a thread of its own, so
there is only one implementation of HTTP (docs/decisions/0014-http.md)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar, overload
from weakref import finalize

from interlingua.client.answer import Answer, Attempt, Parsed, Run, TokenCount
from interlingua.client.client import AsyncClient, no_attribute
from interlingua.client.stream import AsyncStream
from interlingua.coerce import Conversation, OptionsLike, Tools
from interlingua.errors import InterlinguaError
from interlingua.model.events import Event
from interlingua.model.exchange import Response
from interlingua.model.losses import Report
from interlingua.model.message import Message

if TYPE_CHECKING:
    from interlingua.client.deciding import Decided
    from interlingua.client.embedding import Embedded


class LoopThread:
    """A loop that runs in a thread until it is stopped."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._turn, name="interlingua-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` on the loop and returns its result. Ctrl-C cancels it there, and waits until
        it has cleaned up."""
        if threading.current_thread() is self._thread:
            work.close()
            raise InterlinguaError("a tool of this client cannot wait for the client itself")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def soon(self, work: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(work)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=5)

    def _turn(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


P = ParamSpec("P")
T = TypeVar("T")
_MOST_WAITING = 1000
"""Batches of events that may wait for a slow reader."""


def _like(
    other: Callable[Concatenate[AsyncClient, P], object],
) -> Callable[[Callable[..., T]], Callable[Concatenate[Client, P], T]]:
    """A method with the arguments of another, for type checkers and for `inspect`."""

    def made(method: Callable[..., T]) -> Callable[Concatenate[Client, P], T]:
        method.__wrapped__ = other  # type: ignore[attr-defined]
        return method

    return made


_ELSEWHERE = {
    "api_key": "keys are by provider: keys={'openai': key}",
    "base_url": "addresses are by provider: base_urls={'openai': url}",
    "model": "a model is the first argument of each call",
    "temperature": "options are keywords of each call",
}
"""Arguments of other libraries' clients."""


class Client:
    """Talks to models. Takes what `AsyncClient` takes; may be used from several threads."""

    @_like(AsyncClient.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for word in _ELSEWHERE.keys() & kwargs.keys():
            raise TypeError(f"il.Client has no {word}; {_ELSEWHERE[word]}")
        self._client = AsyncClient(*args, **kwargs)
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)

    def close(self) -> None:
        """Cancels all calls, closes all connections, ends the thread."""
        with self._lock:
            thread, self._thread, self._closed = self._thread, None, True
        if thread is not None:
            thread.run(self._client.close())
            thread.stop()

    def cancel(self, call_id: str | None = None) -> bool:
        """Cancel one call of another thread, or all of them."""
        return self._thread is not None and self._call(partial(self._client.cancel, call_id))

    @_like(AsyncClient.generate)
    def generate(self, *args: Any, **how: Any) -> Answer:
        """One answer.

            answer = client.generate("local", "What is the capital of France?")
            answer.text, answer.usage, answer.report

        `model` is a name (`gpt-5`), `<provider>:<name>` or an alias (`sonnet`). `messages` are
        text, `il.Message`, dicts with role and content, a list of those, or a whole `il.Request`.
        `tools` are Python functions, `il.ToolDefinition` or dicts; they are not run here, see
        `run`. `options` are `il.Options` or a dict, and each may be a keyword as well:
        `temperature=0`, `max_tokens=100`, `reasoning="high"`. The others are as in
        `AsyncClient.generate`."""
        return self._run(self._client.generate(*args, **how))

    @_like(AsyncClient.stream)
    def stream(self, *args: Any, **how: Any) -> Stream:
        """The events of one answer while it arrives:

            with client.stream("local", "Tell me a story.") as stream:
                for event in stream: ...

        Takes what `generate` takes; see `AsyncClient.stream`."""
        return Stream(self, self._client.stream(*args, **how))

    @_like(AsyncClient.count_tokens)
    def count_tokens(self, *args: Any, **how: Any) -> TokenCount:
        """Tokens of the prompt; see `AsyncClient.count_tokens`."""
        return self._run(self._client.count_tokens(*args, **how))

    @_like(AsyncClient.decide)
    def decide(self, *args: Any, **how: Any) -> Decided:
        """Answers to closed questions, with probabilities; see `AsyncClient.decide`.

        client.decide("gpt-5-mini", "My parcel is late!", {"angry": "The customer is angry."})"""
        return self._run(self._client.decide(*args, **how))

    @_like(AsyncClient.embed)
    def embed(self, *args: Any, **how: Any) -> Embedded:
        """A vector for each input; see `AsyncClient.embed`.

        client.embed("text-embedding-3-small", ["a text", "another"]).vectors"""
        return self._run(self._client.embed(*args, **how))

    @_like(AsyncClient.run)
    def run(self, *args: Any, **how: Any) -> Run:
        """Answer, run the tools that were called, answer again; see `AsyncClient.run`.

            client.run("sonnet", "What is 2 + 2?", [add]).text    # `add` is a Python function

        Tools run in threads, not in this one."""
        return self._run(self._client.run(*args, **how))

    @overload
    def parse(
        self,
        model: str,
        messages: Conversation,
        schema: type[T],
        tools: Tools = (),
        options: OptionsLike | None = None,
        **how: Any,
    ) -> Parsed[T]: ...
    @overload
    def parse(
        self,
        model: str,
        messages: Conversation,
        schema: Any,
        tools: Tools = (),
        options: OptionsLike | None = None,
        **how: Any,
    ) -> Parsed[Any]: ...
    def parse(
        self,
        model: str,
        messages: Conversation,
        schema: Any,
        tools: Tools = (),
        options: OptionsLike | None = None,
        **how: Any,
    ) -> Parsed[Any]:
        """An answer with a schema: a pydantic, msgspec or dataclass type, or a JSON Schema.

            client.parse("local", "A city in France, please.", City).value    # a City

        `OutputError` describes the mismatch; see `AsyncClient.parse`."""
        return self._run(self._client.parse(model, messages, schema, tools, options, **how))

    def work(self, make: Callable[[AsyncClient], Coroutine[Any, Any, T]]) -> T:
        """The result of a coroutine that uses the client inside, run on its loop."""
        return self._run(make(self._client))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._closed:
                work.close()
                raise InterlinguaError("the client is closed")
            if self._thread is None:
                self._thread = LoopThread()
                finalize(self, _end, self._thread, self._client)
            thread = self._thread
        return thread.run(work)

    def _call(self, work: Callable[[], T]) -> T:
        """The result of a plain function that has to be called on the loop."""

        async def called() -> T:
            return work()

        return self._run(called())

    def _soon(self, work: Callable[[], object]) -> None:
        if self._thread is not None:
            self._thread.soon(work)


def _end(thread: LoopThread, client: AsyncClient) -> None:
    """Closes the connections of a client that was not closed, to avoid warnings of the HTTP
    library."""

    async def close() -> None:
        await asyncio.wait_for(client.close(), LAST_SECONDS)

    if thread.is_alive():
        with suppress(Exception):
            thread.run(close())
    thread.stop()


LAST_SECONDS = 2.0
"""For closing connections when the program ends."""


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

    def __exit__(self, *_: object) -> None:
        self._client._run(self._leave())

    def __iter__(self) -> Iterator[Event]:
        if self._pump is None:
            raise InterlinguaError("stream not started: use it with `with`")
        while True:
            events = self._ready.get()
            if isinstance(events, Exception):
                self._ready.put(events)  # for the next read
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
        except Exception as error:  # it is raised where the events are read
            ready.put(error)
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
        return self._client._call(self._inner.cancel)

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
        response = self._inner.response
        return response() if self._inner.is_over else self._client._call(response)

    def message(self) -> Message:
        return self.response().message

    def answer(self) -> Answer:
        """The answer with its attempts and report."""
        answer = self._inner.answer
        return answer() if self._inner.is_over else self._client._call(answer)


def decide(*args: Any, **how: Any) -> Decided:
    """Answers to closed questions, with a client of its own; see `AsyncClient.decide`.

    il.decide("gpt-5-mini", "My parcel is late!", {"angry": "The customer is angry."})"""
    with Client() as client:
        return client.decide(*args, **how)
