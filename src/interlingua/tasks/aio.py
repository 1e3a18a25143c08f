"""Agents for programs with an event loop: the same as in `agent.py`, with `await`, and with the run
itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interlingua.given import GivenMessage, Tools, message_of
from interlingua.model.message import Message, UserContent
from interlingua.sessions.aio import AsyncSession
from interlingua.sessions.effects import run_async as run
from interlingua.sessions.setting import setting_of
from interlingua.store.base import AsyncStore
from interlingua.store.task_rows import TaskRow
from interlingua.tasks import core as _core
from interlingua.tasks import events
from interlingua.tasks.errors import TaskBusyError
from interlingua.tasks.faces import AgentFace, QueuedMessage, TaskEvent, task_event

if TYPE_CHECKING:
    from interlingua.client.client import AsyncClient
    from interlingua.tools.dispatch import Dispatcher


class AsyncAgent(AgentFace):
    """A task: a session with a folder and a queue, in which an agent runs."""

    def __init__(self, store: AsyncStore, core: _core.TaskCore) -> None:
        self.store = store
        self._core = core
        self.session = AsyncSession(store, core.session)

    @classmethod
    async def create(
        cls,
        store: AsyncStore,
        cwd: str = ".",
        *,
        model: str | None = None,
        name: str | None = None,
        owner: str = "",
        tools: Tools | None = None,
        web_search: bool = False,
        policy: Mapping[str, object] | None = None,
        **known: Any,
    ) -> AsyncAgent:
        """A new task in a folder; `ConflictError` where the owner has one there. `known` is what a
        session takes as well: `router`, `prices`, `options`, … `tools` are Python functions, which
        run by themselves, `il.ToolDefinition`, or a registry of them."""
        setting = setting_of(tools=tools, **known)
        effects = _core.create(setting, cwd, owner, model, name, web_search, policy)
        return cls(store, await run(store, effects))

    @classmethod
    async def open(
        cls,
        store: AsyncStore,
        id: str,
        *,
        tools: Tools | None = None,
        **known: Any,
    ) -> AsyncAgent:
        """A task as it was left."""
        setting = setting_of(tools=tools, **known)
        return cls(store, await run(store, _core.reopen(setting, id)))

    async def add_message(self, message: UserContent | GivenMessage) -> Message:
        """Put a message into the conversation now, and ask nobody. `TaskBusyError` while the agent
        runs: then it has to be queued."""
        return await run(self.store, self._core.add(message_of(message)))

    async def queue_message(
        self, message: UserContent | GivenMessage, id: str | None = None
    ) -> str:
        """Put a message behind those that wait; the run under way, or the next one, takes it up.
        Gives its id; one that is given twice with the same id is one message."""
        return await run(self.store, self._core.queue(message_of(message), id))

    async def unqueue_message(self, id: str) -> Message | None:
        """Take a message back that waits; None if it does not."""
        taken = await self.store.unqueue_message(self.id, id, events.removed)
        return None if taken is None else taken.message

    async def queued(self) -> list[QueuedMessage]:
        """What waits, in order."""
        return [QueuedMessage(row.id, row.message) for row in await self.store.task_queue(self.id)]

    async def events(self, after: int = 0, limit: int = 100) -> list[TaskEvent]:
        """What has happened behind a number, in order; a page of it."""
        return [task_event(row) for row in await self.store.task_events(self.id, after, limit)]

    async def reload(self) -> TaskRow:
        """The task as the store has it now."""
        self._core.row = await self.store.task(self.id)
        return self._core.row

    async def run(
        self,
        client: AsyncClient,
        dispatcher: Dispatcher | None = None,
        *,
        resume: bool = False,
        **more: Any,
    ) -> None:
        """Take up what waits, one message after the other, until nothing does. With `resume`, go on
        first where the last run broke off. Without a `dispatcher`, Python functions among the tools
        run by themselves; `confirm` is asked before those with side effects. Cancelling this
        stops the run; what arrived is kept."""
        from interlingua.tasks.heartbeat import Heartbeat
        from interlingua.tasks.runner import Runner

        runner = Runner(self, client, dispatcher, **more)
        tender = Heartbeat(self.store)
        await runner.claim()
        tender.add(runner)
        try:
            await runner.run(resume=resume)
        finally:
            await tender.close()


__all__ = ["AsyncAgent", "TaskBusyError"]
