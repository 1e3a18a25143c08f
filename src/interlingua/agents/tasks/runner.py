"""Running an agent: one message of the queue after the other becomes a turn, until nothing waits.

An `AsyncChat` does the talking; this adds the claim on the task, its events, and the handling of
the queue at the end of a run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from interlingua.agents.chat.chat import AsyncChat, ChatEvent, to_the_end
from interlingua.agents.tasks import events
from interlingua.agents.tasks.agent import AsyncAgent
from interlingua.agents.tasks.core import LEASE
from interlingua.agents.tasks.events import NothingToDoError, TaskBusyError
from interlingua.client.client import AsyncClient
from interlingua.client.errors import AuthError, CallError
from interlingua.coerce import OptionsLike, as_options
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import ToolResultBlock
from interlingua.model.events import MessageComplete, StreamError
from interlingua.model.message import Message, Role
from interlingua.routing.decision import NoModelError, RoutingError
from interlingua.sessions.effects import SessionError, TurnError
from interlingua.sessions.effects import run_async as run
from interlingua.sessions.session import AsyncTurn
from interlingua.store.errors import ConflictError, StoreError
from interlingua.store.task_rows import QueuedRow
from interlingua.tools.confirm import Confirm
from interlingua.tools.dispatch import Dispatcher

ROUNDS = 40
"""Rounds of tools in a turn, after which the model has to answer without them."""
_STORED = (MessageComplete, StreamError, ToolResultBlock)

OnEvent = Callable[[ChatEvent, AsyncChat], None]
Changed = Callable[[AsyncAgent], None]
Taking = Callable[[QueuedRow], Awaitable[None]]


class Runner:
    """One run of an agent. `on_event` gets the model's events as they arrive, `changed` is called
    when the store has something new, `taking` before each message of the queue.

    `begun` is set when the first message is in the conversation, or was waiting before. What keeps
    a first message from it is raised by `run`, and then the message was never there."""

    def __init__(
        self,
        agent: AsyncAgent,
        client: AsyncClient,
        dispatcher: Dispatcher | None = None,
        *,
        rounds: int = ROUNDS,
        options: OptionsLike | None = None,
        confirm: Confirm | None = None,
        on_event: OnEvent | None = None,
        changed: Changed | None = None,
        taking: Taking | None = None,
    ) -> None:
        self.agent = agent
        self.core = agent._core
        self.chat = AsyncChat(agent.session, client, dispatcher, rounds=rounds, confirm=confirm)
        self.options = as_options(options)
        self.begun = asyncio.Event()
        self.lease_until = 0.0
        self.stops = 0
        """The number of stops and restarts: a stop applies to the run at which it was aimed."""
        self._on_event = on_event
        self._changed = changed
        self._taking = taking
        self._work: asyncio.Future[None] | None = None
        self._is_lost = False
        self._tools = self.core.session.setting.tools

    @property
    def id(self) -> str:
        return self.agent.id

    @property
    def holder(self) -> str:
        return self.core.holder

    # From outside

    async def claim(self) -> None:
        """Claims the task; `TaskBusyError` if another runner has it."""
        began = time.monotonic()
        await run(self.agent.store, self.core.claim(running=True))
        self.renewed(began)

    async def take_over(self) -> None:
        """The task was claimed under our name already."""
        began = time.monotonic()
        await self.agent.reload()
        await run(self.agent.store, self.core.take_over(running=True))
        self.renewed(began)

    def renewed(self, began: float) -> None:
        """The task is ours for a while, from this moment on."""
        self.lease_until = began + LEASE

    async def touch(self) -> None:
        """Renews the lease of the turn, also while nothing arrives."""
        turn = self.chat.turn
        if turn is not None and not turn.ended:
            hold = turn._core.hold(firm=False)
            await self.agent.store.hold_turn(self.id, hold)

    def stop(self, stops: int | None = None) -> None:
        """Stops the run; the part that arrived is stored. With `stops`, only if it was not stopped
        since."""
        if self._work is not None and stops in (None, self.stops):
            self._work.cancel()

    def leave(self) -> None:
        """The program ends: the turn under way can be resumed."""
        self.chat.leaving = True
        self.stop()

    def lose(self) -> None:
        """Marks the task as taken over: no more events are written from here."""
        self._is_lost = True
        self.leave()

    async def run(self, *, resume: bool = False) -> None:
        """Runs to the end. The task has to be claimed. An error that ends the run is written as an
        event, and raised."""
        try:
            while True:
                work = self._work = asyncio.ensure_future(self._go(resume))
                try:
                    await asyncio.shield(work)
                    return
                except asyncio.CancelledError:
                    if await self._is_over(work):
                        return
                resume = False
        except _RefusedError as refused:
            raise refused.why from None
        except (Exception, asyncio.CancelledError) as error:
            await to_the_end(self._failed(error))
            raise
        finally:
            self.core.session.setting.tools = self._tools
            self._tell_others()

    async def _is_over(self, work: asyncio.Future[None]) -> bool:
        """Whether the work was stopped, or its waiter was."""
        from_outside = not work.done()
        if from_outside:
            work.cancel()
            await asyncio.wait([work])
        over = await to_the_end(self._stopped(anyway=from_outside))
        if from_outside:
            raise asyncio.CancelledError
        return over

    # The steps of a run

    async def _go(self, resume: bool) -> None:
        if resume and not await self._resume() and await self._next() is None:
            await run(self.agent.store, self.core.step_back())
            raise _RefusedError(NothingToDoError(self.id))
        while True:
            waiting = await self._next()
            if waiting is not None:
                await self._take(waiting)
            elif await run(
                self.agent.store, self.core.finish(events.POST_CONVERSATION, anyway=False)
            ):
                return

    async def _next(self) -> QueuedRow | None:
        return await run(self.agent.store, self.core.next())

    async def _resume(self) -> bool:
        """Whether there was a turn to go on with."""
        await run(self.agent.store, self.core.doubt())
        try:
            turn = await self._begun(lambda: self.agent.session.resume(options=self.options))
        except TurnError:
            return False
        self._begin()
        await self._follow(turn)
        return True

    async def _take(self, waiting: QueuedRow) -> None:
        assert waiting.message is not None  # it was not taken up yet
        if waiting.state == "queued":
            self._begin()
        try:
            if self._taking is not None:
                await self._taking(waiting)
            turn = await self._joined(events.marked(waiting.message, waiting.id))
        except InterlinguaError as error:
            if self.begun.is_set():
                await self._refuse(waiting, error)
                raise
            await run(self.agent.store, self.core.withdraw(waiting.id))
            raise _RefusedError(error) from None
        await self._tell()
        self._begin()
        if turn is not None:
            await self._follow(turn)

    async def _refuse(self, waiting: QueuedRow, error: InterlinguaError) -> None:
        """A message that no conversation takes waits no longer: it would fail for ever."""
        is_refused = isinstance(error, (SessionError, AuthError))
        if is_refused and not isinstance(error, TurnError):
            await self.agent.store.unqueue_message(self.id, waiting.id, events.refused)

    async def _joined(self, message: Message) -> AsyncTurn | None:
        """The message is in the conversation; a user's begins a turn."""
        session = self.agent.session
        if message.role is not Role.USER:
            await session.append(message)
            return None
        await run(self.agent.store, self.core.give_up())
        return await self._begun(lambda: session.begin(message, options=self.options))

    async def _begun(self, begin: Callable[[], Awaitable[AsyncTurn]]) -> AsyncTurn:
        """A turn. If no model with tools can serve it, it goes without tools."""
        setting = self.core.session.setting
        setting.tools = self._tools
        try:
            return await begin()
        except NoModelError:
            if not self._tools:
                raise
        setting.tools = None
        return await begin()

    async def _follow(self, turn: AsyncTurn) -> None:
        async with aclosing(self.chat.follow(turn, options=self.options)) as parts:
            async for event in parts:
                if self._is_lost or time.monotonic() > self.lease_until:
                    self._is_lost = self.chat.leaving = True
                    raise TaskBusyError(self.id)
                if self._on_event is not None:
                    self._on_event(event, self.chat)
                if isinstance(event, _STORED):
                    await self._tell()

    async def _tell(self) -> None:
        await run(self.agent.store, self.core.tell())
        self._tell_others()

    def _tell_others(self) -> None:
        if self._changed is not None:
            self._changed(self.agent)

    def _begin(self) -> None:
        self.begun.set()

    # How it ends

    async def _stopped(self, anyway: bool) -> bool:
        """Whether the run is over; a message that arrived meanwhile is handled by another run."""
        if self._is_lost:
            raise TaskBusyError(self.id)
        store = self.agent.store
        if self.chat.leaving:
            return await run(store, self.core.finish(events.INTERRUPTED, interrupted=True))
        if await run(store, self.core.finish(events.CANCELLED, anyway=anyway)):
            return True
        await run(store, self.core.tell(events.CANCELLED, goes_on=True))
        self.stops += 1
        return False

    async def _failed(self, error: BaseException) -> None:
        """Leaves the queue as it is: each of its messages would fail in the same way."""
        if isinstance(error, Exception) and not self._is_lost and self.core.is_ours:
            await run(self.agent.store, self.core.finish(events.failed(*error_words(error))))


class _RefusedError(Exception):
    """The run did not begin, and all is as it was before."""

    def __init__(self, why: InterlinguaError) -> None:
        self.why = why
        super().__init__(str(why))


def error_words(error: Exception) -> tuple[str, str]:
    """A code and a message for the error that ended a run."""
    match error:
        case CallError():
            return error.kind.value, str(error)[:2000]
        case RoutingError():
            return "routing_failed", str(error)[:2000]
        case ConflictError():
            return "conflict", "another program has changed the conversation"
        case StoreError():
            return "store_unavailable", f"the store is unavailable ({error.reason})"
        case InterlinguaError():
            return "failed", str(error)[:2000]
        case _:
            return "internal_error", f"the run itself failed ({type(error).__name__})"
