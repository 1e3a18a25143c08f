"""One turn after another: what the user says goes to the model, calls go to the tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Any, TypeVar, Unpack

from interlingua.client.answer import Answer, Parsed
from interlingua.client.client import AsyncClient
from interlingua.client.errors import CallCancelledError, CallError
from interlingua.errors import InterlinguaError
from interlingua.given import GivenMessage, GivenOptions, OptionWords, options_of
from interlingua.losses import Report
from interlingua.model.blocks import ToolResultBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, Options, ProviderError, Response, ToolChoice
from interlingua.model.message import UserContent
from interlingua.sessions.aio import AsyncCall, AsyncSession, AsyncTurn
from interlingua.sessions.core import INTERRUPTED
from interlingua.streams.fold import unfold
from interlingua.tools.confirm import Confirm
from interlingua.tools.context import CallContext
from interlingua.tools.dispatch import Dispatcher

ChatEvent = Event | ToolResultBlock
"""What a turn gives, in order: the events of each answer, and between two answers the results of
the tools."""
ROUNDS = 8
T = TypeVar("T")


class Chat:
    """Talks for a session. Everything that arrives is stored as it does, whatever happens next.

    After `rounds` rounds of tools the model has to answer without them. Python functions among the
    session's tools run by themselves; `confirm` is asked before those that write, execute or change
    something on the network, which else are refused. Without a `dispatcher`, other tools leave a
    turn open for the caller to give the results."""

    def __init__(
        self,
        session: AsyncSession,
        client: AsyncClient,
        dispatcher: Dispatcher | None = None,
        *,
        rounds: int = ROUNDS,
        confirm: Confirm | None = None,
    ) -> None:
        self.session = session
        self.client = client
        self.dispatcher = dispatcher or _runner_of(session, confirm)
        self.rounds = rounds
        self.turn: AsyncTurn | None = None
        """The last turn, or the one under way."""
        self.call: AsyncCall | None = None
        """The last request to the model, or the one under way."""
        self.report: Report | None = None
        """What the last request could not say; None until one was sent."""
        self.leaving = False
        """Set before the work is cancelled because the program ends: then what is under way is
        broken off, to be resumed by another one, and not given up."""

    async def say(
        self,
        content: UserContent | GivenMessage,
        *,
        override: str | None = None,
        options: GivenOptions | None = None,
        **words: Unpack[OptionWords],
    ) -> AsyncGenerator[ChatEvent, None]:
        """Start a turn; options may be a dict, or keywords (`temperature=0`). Leaving the
        iteration, or cancelling it, cancels the turn upstream; what arrived is kept. A failed call
        raises its `CallError`, and the turn has ended."""
        turn = await self.session.begin(content, override=override, options=options, **words)
        chosen = turn.options if options is not None or words else None
        async with aclosing(self.follow(turn, options=chosen)) as parts:
            async for event in parts:
                yield event

    async def parse(
        self,
        content: UserContent | GivenMessage,
        schema: type[T] | Any,
        *,
        override: str | None = None,
        options: GivenOptions | None = None,
        **words: Unpack[OptionWords],
    ) -> Parsed[T]:
        """A whole turn, whose last answer has a given shape: a pydantic, msgspec or dataclass type,
        or a JSON Schema. `value` is of that type; `OutputError` says what does not fit."""
        from interlingua.client.structured import shape_of

        shape = shape_of(schema)
        words["response_format"] = shape.format
        async for _ in self.say(content, override=override, options=options, **words):
            pass
        turn, report = self.turn, self.report
        assert turn is not None
        answer = Answer(Response(turn.answers[-1]), report or Report("chat"), turn.model)
        return Parsed(shape.read(answer), answer)

    async def resume(
        self, *, options: GivenOptions | None = None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Go on with a turn that was broken off."""
        turn = await self.session.resume(options=options)
        async with aclosing(self.follow(turn, options=options)) as parts:
            async for event in parts:
                yield event

    async def follow(
        self, turn: AsyncTurn, *, options: GivenOptions | None = None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Take a turn that has begun to its end."""
        self.turn, self.report = turn, None
        options = options_of(options)
        try:
            for left in range(self.rounds, -1, -1):
                if open := turn.open_calls():
                    async with aclosing(self._results(turn, open)) as results:
                        async for result in results:
                            yield result
                    if turn.open_calls():
                        return  # the rest is for the caller to answer
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
            await to_the_end(turn.end() if self.leaving else turn.cancel())
            raise

    async def _answer(self, turn: AsyncTurn, call: AsyncCall) -> AsyncGenerator[Event, None]:
        """One answer, with the session told however it ends."""
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
                await call.fail(failure, max(0, len(error.attempts) - 1))
            raise
        except InterlinguaError as error:  # nobody was asked: no key, say, or nothing to ask
            if not call.ended:
                await call.fail(ProviderError(ErrorKind.OTHER, str(error)))
            raise
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
            if not self.leaving:
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
            call.sent(answer.report)
            message = await call.answer(answer.response)
            for event in unfold(answer.response.replace(message=message)):
                yield event
            return
        async with self.client.stream(turn.model, call.request, **how) as stream:
            self.report = stream.report
            call.sent(stream.report)
            async for event in stream:
                told, is_stopped = await _taken(call, event)
                for each in told:
                    yield each
                if is_stopped:
                    raise asyncio.CancelledError

    async def _results(
        self, turn: AsyncTurn, open: dict[str, str]
    ) -> AsyncGenerator[ToolResultBlock, None]:
        """Each result is stored when it is there, whatever the other calls still do."""
        if self.dispatcher is None:
            return
        calls = [c for message in turn.answers for c in message.tool_calls if c.id in open]
        context = CallContext(self.session.id, turn.id, trace=turn.trace)
        async with aclosing(self.dispatcher.batch(calls, context).each()) as results:
            async for result in results:
                await turn.results(result)
                yield result


def _runner_of(session: AsyncSession, confirm: Confirm | None) -> Dispatcher | None:
    """What runs the functions that a session has as tools."""
    tools = session.tools
    if tools is None or not (tools.has_functions or confirm):
        return None
    return Dispatcher(tools, workspace=session.row.workspace_path, confirm=confirm)


def _without_tools(options: Options | None) -> Options:
    return (options or Options()).replace(tool_choice=ToolChoice("none"))


async def _taken(call: AsyncCall, event: Event) -> tuple[list[Event], bool]:
    """The events of an answer that are kept now, and whether the task was cancelled meanwhile: what
    is kept is told first."""
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    told = await to_the_end(call.take(event))
    return told, task.cancelling() > before


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What must be stored is stored, though the task that does it is being cancelled."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()
