"""One turn after another: the user's message goes to the model, calls go to the tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, Unpack, cast, overload

from msgspec.structs import replace

from interlingua.client.answer import Answer, Parsed
from interlingua.client.client import AsyncClient
from interlingua.client.errors import CallCancelledError, CallError
from interlingua.coerce import MessageLike, OptionsLike, OptionWords, as_options
from interlingua.errors import InterlinguaError, a_type
from interlingua.model.blocks import TextBlock, ToolResultBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, Options, ProviderError, Response, ToolChoice
from interlingua.model.ids import Ulids
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role, UserContent
from interlingua.sessions.core import INTERRUPTED
from interlingua.sessions.effects import SessionError
from interlingua.sessions.session import AsyncCall, AsyncSession, AsyncTurn, Session
from interlingua.sessions.setting import SessionSettings
from interlingua.store.base import AsyncStore, Store
from interlingua.store.errors import NotFoundError
from interlingua.store.open import open_store
from interlingua.store.rows import SessionRow
from interlingua.streams.fold import unfold
from interlingua.tools.confirm import Confirm
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.handlers import CallContext

if TYPE_CHECKING:
    from interlingua.client.sync import Client

ChatEvent = Event | ToolResultBlock
"""Events of a turn, in order: those of each answer, and between two answers the results of the
tools."""
ROUNDS = 8
DELEGATE = "delegate"
"""The tool that runs a worker (`interlingua.agents.chat.delegate`)."""
UNFINISHED = "interrupted: the program ended while a worker was doing this. Its session is stored."
T = TypeVar("T")


class AsyncChat:
    """Runs the turns of a session. Everything is stored as it arrives.

    After `rounds` rounds of tools, the model has to answer without them. Python functions among the
    session's tools are run automatically; `confirm` is called before those that write, execute or
    change something on the network, which are refused without it. Without a `dispatcher`, other
    tools leave a turn open for the caller to provide the results.

    With a model's name instead of a session, `il.AsyncChat("sonnet", client, tools=[add])`, it
    creates a session with these settings, which lasts as long as the program. Without a client, it
    creates one, which `async with` or `close` closes.
    """

    def __init__(
        self,
        session: AsyncSession | str,
        client: AsyncClient | None = None,
        dispatcher: Dispatcher | None = None,
        *,
        rounds: int = ROUNDS,
        confirm: Confirm | None = None,
        system: str | None = None,
        **settings: Unpack[SessionSettings],
    ) -> None:
        passed = client
        session, client = _async_parties(session, client, {"system": system, **settings})
        self.session, self.client = session, client
        self._has_own_client = passed is None
        self.dispatcher = dispatcher or _runner_of(session, confirm)
        self.rounds = rounds
        self.turn: AsyncTurn | None = None
        """The last turn, or the one under way."""
        self.call: AsyncCall | None = None
        """The last request to the model, or the one under way."""
        self.report: Report | None = None
        """The losses of the last request; None before the first."""
        self.leaving = False
        """Set before the work is cancelled because the program ends: then the turn is broken
        off, to be resumed by another program, and not cancelled."""
        self.depth = 0
        """The number of planners above it: 0 unless it talks for a worker."""
        self._workers = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.session!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client, if the chat has its own."""
        if self._has_own_client:
            await self.client.close()

    @property
    def is_leaving(self) -> bool:
        """Whether the program ends; a worker's does when its planner's does."""
        return self.leaving

    def take_worker(self, most: int) -> None:
        """Count a worker of the turn under way; `SessionError` where it has had `most` of them."""
        if self._workers >= most:
            raise SessionError(f"this turn has had {most} workers already, which is the limit")
        self._workers += 1

    def require_budget(self) -> None:
        """Raises if the budget is spent; called before each request."""

    async def say(
        self,
        content: UserContent | MessageLike,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> AsyncGenerator[ChatEvent, None]:
        """Start a turn; options may be a dict, or keywords (`temperature=0`). Leaving the
        iteration, or cancelling it, cancels the turn upstream; what arrived is stored. A failed
        call raises its `CallError`, and the turn has ended."""
        turn = await self.session.begin(content, override=override, options=options, **words)
        chosen = turn.options if options is not None or words else None
        async with aclosing(self.follow(turn, options=chosen)) as parts:
            async for event in parts:
                yield event

    async def ask(
        self,
        content: UserContent | MessageLike,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Answer:
        """A whole turn; returns its last answer."""
        async for _ in self.say(content, override=override, options=options, **words):
            pass
        turn = self.turn
        assert turn is not None
        return Answer(Response(turn.answers[-1]), self.report or Report("chat"), turn.model)

    @overload
    async def parse(
        self,
        content: UserContent | MessageLike,
        schema: type[T],
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Parsed[T]: ...
    @overload
    async def parse(
        self,
        content: UserContent | MessageLike,
        schema: Any,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Parsed[Any]: ...
    async def parse(
        self,
        content: UserContent | MessageLike,
        schema: Any,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Parsed[Any]:
        """A whole turn whose last answer has a schema: a pydantic, msgspec or dataclass type, or
        a JSON Schema. `value` is of that type; `OutputError` names what does not fit."""
        from interlingua.client.structured import shape_of

        shape = shape_of(schema)
        words["response_format"] = shape.format
        answer = await self.ask(content, override=override, options=options, **words)
        return Parsed(shape.read(answer), answer)

    async def resume(
        self, *, options: OptionsLike | None = None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Go on with a turn that was broken off."""
        turn = await self.session.resume(options=options)
        async with aclosing(self.follow(turn, options=options)) as parts:
            async for event in parts:
                yield event

    async def follow(
        self, turn: AsyncTurn, *, options: OptionsLike | None = None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Take a turn that has begun to its end."""
        self.turn, self.report, self._workers = turn, None, 0
        options = as_options(options)
        try:
            for result in _unfinished(turn):
                await turn.results(result)
                yield result
            for left in range(self.rounds, -1, -1):
                if open := turn.open_calls():
                    async with aclosing(self._results(turn, open)) as results:
                        async for result in results:
                            yield result
                    if turn.open_calls():
                        return  # the rest is for the caller to answer
                self.require_budget()
                chosen = options if left else _without_tools(options)
                call = self.call = await turn.call(chosen, stream=True)
                async with aclosing(self._answer(turn, call)) as events:
                    async for event in events:
                        yield event
                if turn.ended:
                    return
            await turn.end()
        except InterlinguaError:
            await turn.end()
            raise
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
            await to_the_end(turn.end() if self.is_leaving else turn.cancel())
            raise

    async def _answer(self, turn: AsyncTurn, call: AsyncCall) -> AsyncGenerator[Event, None]:
        """One answer; the session is informed however it ends."""
        try:
            async with aclosing(self._events(turn, call)) as events:
                async for event in events:
                    yield event
        except CallCancelledError:
            for event in await call.cancel():
                yield event
        except CallError as error:
            if not call.ended:
                failure = ProviderError(error.kind, str(error), error.code, error.status)
                was_sent = bool(
                    error.attempts
                )  # the gateway itself may refuse, for one of its keys
                await call.fail(failure, max(0, len(error.attempts) - 1), provider_asked=was_sent)
            raise
        except InterlinguaError as error:  # the model was not asked: a key is missing, say
            if not call.ended:
                failure = ProviderError(ErrorKind.OTHER, str(error))
                await call.fail(failure, provider_asked=False)
            raise
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
            if not self.is_leaving:
                await to_the_end(call.cancel())
            elif not call.ended:
                await to_the_end(call.fail(ProviderError(ErrorKind.OTHER, INTERRUPTED)))
            raise

    async def _events(self, turn: AsyncTurn, call: AsyncCall) -> AsyncGenerator[Event, None]:
        """One streamed answer; a model that cannot stream gives it in one piece."""
        how: dict[str, Any] = {"dialect": call.adapter.dialect.name}
        if isinstance(self.client, AsyncClient):
            how["written_request"] = call.written_request
        if not call.request.options.stream:
            answer = await self.client.generate(turn.model, call.request, **how)
            self.report = answer.report
            call.sent(answer.report, answer.model)
            message = await call.answer(answer.response)
            for event in unfold(answer.response.replace(message=message)):
                yield event
            return
        async with self.client.stream(turn.model, call.request, **how) as stream:
            self.report = stream.report
            call.sent(stream.report, stream.model)
            async for event in stream:
                ready, is_stopped = await _taken(call, event)
                for each in ready:
                    yield each
                if is_stopped:
                    raise asyncio.CancelledError

    async def _results(
        self, turn: AsyncTurn, open: dict[str, str]
    ) -> AsyncGenerator[ToolResultBlock, None]:
        """Each result is stored when it is there, while other calls may still run."""
        if self.dispatcher is None:
            return
        calls = [c for message in turn.answers for c in message.tool_calls if c.id in open]
        context = CallContext(self.session.id, turn.id, trace=turn.trace, caller=self)
        async with aclosing(self.dispatcher.batch(calls, context).each()) as results:
            async for result in results:
                await turn.results(result)
                yield result


class Chat:
    """`AsyncChat` for programs without an event loop: the same over `Session` and `Client`.

    With a model's name in place of a session, `il.Chat("sonnet", client, tools=[add])`, it has a
    new session with these settings, which lasts as long as the program. Without a client it has its
    own, which `with` or `close` closes."""

    def __init__(
        self,
        session: Session | str,
        client: Client | None = None,
        dispatcher: Dispatcher | None = None,
        *,
        rounds: int = ROUNDS,
        confirm: Confirm | None = None,
        system: str | None = None,
        **settings: Unpack[SessionSettings],
    ) -> None:
        passed = client
        session, client = _parties(session, client, {"system": system, **settings})
        self.session, self.client = session, client
        self._has_own_client = passed is None
        inner = AsyncSession(threaded(session.store), session._core)

        async def make(client: AsyncClient) -> AsyncChat:
            return AsyncChat(inner, client, dispatcher, rounds=rounds, confirm=confirm)

        self._chat = client.work(make)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.session!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client, if the chat has its own."""
        if self._has_own_client:
            self.client.close()

    @property
    def report(self) -> Report | None:
        """The losses of the last request; None until one was sent."""
        return self._chat.report

    def say(
        self,
        content: UserContent | MessageLike,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Iterator[ChatEvent]:
        """See `AsyncChat.say`."""
        return self._iterated(self._chat.say(content, override=override, options=options, **words))

    def ask(
        self,
        content: UserContent | MessageLike,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Answer:
        """See `AsyncChat.ask`."""
        how: dict[str, Any] = {"override": override, "options": options, **words}
        return self.client.work(lambda _: self._chat.ask(content, **how))

    @overload
    def parse(
        self,
        content: UserContent | MessageLike,
        schema: type[T],
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Parsed[T]: ...
    @overload
    def parse(
        self,
        content: UserContent | MessageLike,
        schema: Any,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Parsed[Any]: ...
    def parse(
        self,
        content: UserContent | MessageLike,
        schema: Any,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **words: Unpack[OptionWords],
    ) -> Parsed[Any]:
        """See `AsyncChat.parse`."""
        how: dict[str, Any] = {"override": override, "options": options, **words}
        return self.client.work(lambda _: self._chat.parse(content, schema, **how))

    def resume(self, *, options: OptionsLike | None = None) -> Iterator[ChatEvent]:
        """See `AsyncChat.resume`."""
        return self._iterated(self._chat.resume(options=options))

    def _iterated(self, events: AsyncGenerator[ChatEvent, None]) -> Iterator[ChatEvent]:
        """The events one by one; leaving the iteration cancels the turn."""

        async def following() -> ChatEvent | None:
            return await anext(events, None)

        async def close() -> None:
            await events.aclose()

        try:
            while (event := self.client.work(lambda _: following())) is not None:
                yield event
        finally:
            self.client.work(lambda _: close())


def _parties(session: Any, client: Any, settings: dict[str, Any]) -> tuple[Session, Client]:
    """The session and the client of a chat, in either order; created for a name or None."""
    from interlingua.client.sync import Client

    if isinstance(session, Client):
        session, client = client, session
    if isinstance(session, str):
        session, settings = _new_session(session, settings), {}
    if not isinstance(session, Session) or not isinstance(client, Client | None):
        found = f"{type(session).__name__} and {type(client).__name__}"
        raise TypeError(f"il.Chat takes an il.Session, or a model, and an il.Client; found {found}")
    _require_unset(settings, "il.Chat(model)")
    return session, client or Client()


def _async_parties(
    session: Any, client: Any, settings: dict[str, Any]
) -> tuple[AsyncSession, AsyncClient]:
    """The same for `AsyncChat`."""
    if isinstance(session, AsyncClient):
        session, client = client, session
    if isinstance(session, str):
        made, settings = _new_session(session, settings), {}
        session = AsyncSession(threaded(made.store), made._core)
    if not isinstance(session, AsyncSession):
        takes = "il.AsyncChat takes an il.AsyncSession, or a model, and an il.AsyncClient"
        raise TypeError(f"{takes}; found {a_type(session)}")
    _require_unset(settings, "il.AsyncChat(model)")
    return session, client or AsyncClient()


def _new_session(model: str, settings: dict[str, Any]) -> Session:
    return Session.create(open_store(":memory:"), model=model, **settings)


def _require_unset(settings: dict[str, Any], whose: str) -> None:
    if named := [name for name, value in settings.items() if value is not None]:
        raise TypeError(f"{', '.join(named)}: settings are for a new session, of {whose}")


class _ThreadedStore:
    """A store whose calls are awaited: each is done in a thread."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if not callable(call):
            return call

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(call, *args, **kwargs)

        return awaited


def threaded(store: Store) -> AsyncStore:
    """A store for an event loop, on one that blocks."""
    return cast(AsyncStore, _ThreadedStore(store))


def _runner_of(session: AsyncSession, confirm: Confirm | None) -> Dispatcher | None:
    """The dispatcher for the functions that a session has as tools."""
    tools = session.tools
    if tools is None or not (tools.has_functions or confirm):
        return None
    return Dispatcher(tools, workspace=session.row.workspace_path, confirm=confirm)


def _unfinished(turn: AsyncTurn) -> list[ToolResultBlock]:
    """Results for the workers of a turn that is resumed: they are not started a second time."""
    ids = [id for id, name in turn.open_calls().items() if name == DELEGATE]
    text = (TextBlock(UNFINISHED),)
    return [ToolResultBlock(id, text, is_error=True, tool_name=DELEGATE) for id in ids]


def _without_tools(options: Options | None) -> Options:
    return (options or Options()).replace(tool_choice=ToolChoice("none"))


async def _taken(call: AsyncCall, event: Event) -> tuple[list[Event], bool]:
    """The events of an answer that are stored now, and whether the task was cancelled meanwhile;
    stored events are yielded first."""
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    events = await to_the_end(call.take(event))
    return events, task.cancelling() > before


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Finishes storing even if the surrounding task is being cancelled."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


PAGE = 500
MOST_LOOKED_AT = 20_000
"""Sessions among which a family is looked for, the last changed first."""
_IDS = Ulids()


class Member(NamedTuple):
    """A session in a tree of forks, with its depth."""

    row: SessionRow
    depth: int


async def fork_before_last_turn(session: AsyncSession) -> tuple[str, Message]:
    """The id of a new session that ends where the last turn of this one began, and that turn's user
    text. This session does not change."""
    messages = await session.messages()
    at = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role is Role.USER), None)
    if at is None:
        raise SessionError(f"session {session.id} has no turn to undo")
    parent = await session.store.session(session.id)
    if at == 0:
        row = await _empty_fork(session.store, parent)
    else:
        row = await session.store.fork(parent.id, messages[at - 1].id, name=parent.name)
    return row.id, messages[at]


async def _empty_fork(store: AsyncStore, parent: SessionRow) -> SessionRow:
    now = datetime.now(UTC)
    row = replace(
        parent,
        id=_IDS.new(),
        created_at=now,
        updated_at=now,
        parent_id=parent.id,
        parent_message_id=None,
    )
    return await store.add_session(row)


async def family(store: AsyncStore, id: str) -> list[Member]:
    """The whole family of a session, parents before their forks, older ones first."""
    root = await _root(store, await store.session(id))
    children: dict[str, list[SessionRow]] = {}
    looked_at, before = 0, None
    while looked_at < MOST_LOOKED_AT and (page := await store.sessions(PAGE, before)):
        looked_at, before = looked_at + len(page), page[-1]
        for row in page:
            if row.parent_id is not None:
                children.setdefault(row.parent_id, []).append(row)
    return list(_walked(root, children))


async def _root(store: AsyncStore, row: SessionRow) -> SessionRow:
    """The first of the line that is still there."""
    seen = {row.id}
    while row.parent_id is not None and row.parent_id not in seen:
        seen.add(row.parent_id)
        try:
            row = await store.session(row.parent_id)
        except NotFoundError:
            break
    return row


def _walked(root: SessionRow, children: dict[str, list[SessionRow]]) -> Iterator[Member]:
    waiting = [Member(root, 0)]
    while waiting:
        member = waiting.pop()
        yield member
        own = sorted(children.pop(member.row.id, ()), key=lambda row: row.created_at)
        waiting += [Member(row, member.depth + 1) for row in reversed(own)]
