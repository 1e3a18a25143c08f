"""Sessions for programs without an event loop, and the same with `await`.

    with il.open_store() as store:
        session = il.Session.create(store, model="anthropic:claude-sonnet-4-6")
        turn = session.begin("How high is the Zugspitze?")
        call = turn.call()
        answer = call.complete(post(call.wire))      # any HTTP client will do

`base.py` has their methods (docs/decisions/0046-one-source-for-sync-and-async.md).
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Self, Unpack

from interlingua.model.events import Event
from interlingua.model.message import Message
from interlingua.sessions import core as _core
from interlingua.sessions.base import CallBase, SessionBase, TurnBase
from interlingua.sessions.call import broken_off
from interlingua.sessions.compact import compacted, summary_request
from interlingua.sessions.effects import Awaited, Blocking, require_store, run, run_async
from interlingua.sessions.setting import SessionSettings, setting_of
from interlingua.store.base import AsyncStore, Store

if TYPE_CHECKING:
    from interlingua.client.client import AsyncClient
    from interlingua.client.sync import Client


class Call(CallBase[Store], Blocking):
    """One request and its answer. Made by `Turn.call`."""

    def stream(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        """The events of a streamed answer, stored as it arrives. Leaving early cancels it; if
        `chunks` raises, the part that arrived is stored as a failed answer, and the turn may try
        again. If the store fails, the turn is still open: `close` or `cancel` may be called
        again."""
        source = iter(chunks)
        try:
            while True:
                try:
                    chunk = next(source)
                except StopIteration:
                    break
                except Exception as problem:
                    self.fail(broken_off(problem))
                    raise
                yield from self.feed(chunk)
            yield from self.close()
        except BaseException as problem:
            if not isinstance(problem, Exception) and not self.ended:
                self.cancel()
            raise


class Turn(TurnBase[Store, Call], Blocking):
    """From a user's message to the answer that ends it. Made by `Session.begin`."""

    _call = Call


class Session(SessionBase[Store, Turn], Blocking):
    """One stored conversation. Made by `create` or `open`; not to be shared between threads."""

    _turn = Turn

    @classmethod
    def create(
        cls,
        store: Store,
        workspace_path: str = ".",
        *,
        model: str | None = None,
        name: str | None = None,
        system: str | Mapping[str, str | None] | None = None,
        **settings: Unpack[SessionSettings],
    ) -> Self:
        """A new session. `model` is its default, by name, id or alias; `system` its instructions,
        whole or in named parts; `settings` are those of `SessionSettings`: `tools`, `options`,
        `router`, `prices`, …"""
        require_store(store)
        created = _core.create(setting_of(**settings), workspace_path, model, name)
        session = cls(store, run(store, created))
        if system is not None:
            session.compose({"base": system} if isinstance(system, str) else system)
        return session

    @classmethod
    def open(cls, store: Store, id: str, **settings: Unpack[SessionSettings]) -> Self:
        """Opens a stored session. Its messages are read when they are needed."""
        return cls(store, run(store, _core.reopen(setting_of(**settings), id)))

    def compact(self, summary: str | None = None, *, client: Client | None = None) -> Message:
        """Replaces all messages so far by a summary: they stay in the store, and are no longer
        sent. Without a summary, the session's model writes it, called by `client`."""
        if summary is not None:
            return run(self._store, compacted(self._core, summary))
        request = run(self._store, summary_request(self._core))
        model = _core.require_model(self._core, None)
        with _client(client) as asking:
            answer = asking.generate(model, request)
        done = compacted(self._core, answer.text, answer.model, answer.usage)
        return run(self._store, done)


@contextmanager
def _client(client: Client | None) -> Iterator[Client]:
    """The client, or one of our own that is closed afterwards."""
    if client is not None:
        yield client
        return
    from interlingua.client.sync import Client

    with Client() as own:
        yield own


class AsyncCall(CallBase[AsyncStore], Awaited):
    """One request and its answer. Made by `AsyncTurn.call`."""

    async def stream(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[Event]:
        """See `Call.stream`."""
        source = aiter(chunks)
        try:
            while True:
                try:
                    chunk = await anext(source)
                except StopAsyncIteration:
                    break
                except Exception as problem:
                    await self.fail(broken_off(problem))
                    raise
                for event in await self.feed(chunk):
                    yield event
            for event in await self.close():
                yield event
        except BaseException as problem:
            if not isinstance(problem, Exception) and not self.ended:
                await self.cancel()
            raise


class AsyncTurn(TurnBase[AsyncStore, AsyncCall], Awaited):
    """From a user's message to the answer that ends it. Made by `AsyncSession.begin`."""

    _call = AsyncCall


class AsyncSession(SessionBase[AsyncStore, AsyncTurn], Awaited):
    """One stored conversation. Made by `create` or `open`; not to be shared between threads."""

    _turn = AsyncTurn

    @classmethod
    async def create(
        cls,
        store: AsyncStore,
        workspace_path: str = ".",
        *,
        model: str | None = None,
        name: str | None = None,
        system: str | Mapping[str, str | None] | None = None,
        **settings: Unpack[SessionSettings],
    ) -> Self:
        """See `Session.create`."""
        require_store(store)
        created = _core.create(setting_of(**settings), workspace_path, model, name)
        session = cls(store, await run_async(store, created))
        if system is not None:
            await session.compose({"base": system} if isinstance(system, str) else system)
        return session

    @classmethod
    async def open(cls, store: AsyncStore, id: str, **settings: Unpack[SessionSettings]) -> Self:
        """Opens a stored session. Its messages are read when they are needed."""
        return cls(store, await run_async(store, _core.reopen(setting_of(**settings), id)))

    async def compact(
        self, summary: str | None = None, *, client: AsyncClient | None = None
    ) -> Message:
        """See `Session.compact`."""
        if summary is not None:
            return await run_async(self._store, compacted(self._core, summary))
        request = await run_async(self._store, summary_request(self._core))
        model = _core.require_model(self._core, None)
        async with _async_client(client) as asking:
            answer = await asking.generate(model, request)
        done = compacted(self._core, answer.text, answer.model, answer.usage)
        return await run_async(self._store, done)


@asynccontextmanager
async def _async_client(client: AsyncClient | None) -> AsyncIterator[AsyncClient]:
    if client is not None:
        yield client
        return
    from interlingua.client.client import AsyncClient

    async with AsyncClient() as own:
        yield own
