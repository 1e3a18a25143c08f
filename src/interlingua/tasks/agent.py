"""Agents for programs without an event loop.

    with il.open_store() as store, il.Client() as client:
        agent = il.Agent.create(store, "/home/me/project", model="sonnet")
        agent.queue_message(agent.user_message("What is in this folder?"))
        agent.run(client)
        for event in agent.events():
            print(event.msg)

`interlingua.tasks.aio` has the same with `await`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from interlingua.given import GivenMessage, Tools, message_of
from interlingua.model.message import Message, UserContent
from interlingua.sessions.effects import run
from interlingua.sessions.session import Session
from interlingua.sessions.setting import setting_of
from interlingua.store.base import AsyncStore, Store
from interlingua.store.task_rows import TaskRow
from interlingua.tasks import core as _core
from interlingua.tasks import events
from interlingua.tasks.faces import AgentFace, QueuedMessage, TaskEvent, task_event

if TYPE_CHECKING:
    from interlingua.client.sync import Client
    from interlingua.tools.dispatch import Dispatcher


class Agent(AgentFace):
    """A task: a session with a folder and a queue, in which an agent runs."""

    def __init__(self, store: Store, core: _core.TaskCore) -> None:
        self.store = store
        self._core = core
        self.session = Session(store, core.session)

    @classmethod
    def create(
        cls,
        store: Store,
        cwd: str = ".",
        *,
        model: str | None = None,
        name: str | None = None,
        owner: str = "",
        tools: Tools | None = None,
        web_search: bool = False,
        policy: Mapping[str, object] | None = None,
        **known: Any,
    ) -> Agent:
        """A new task in a folder; `ConflictError` where the owner has one there. `known` is what a
        session takes as well: `router`, `prices`, `options`, … `tools` are Python functions, which
        run by themselves, `il.ToolDefinition`, or a registry of them."""
        setting = setting_of(tools=tools, **known)
        effects = _core.create(setting, cwd, owner, model, name, web_search, policy)
        return cls(store, run(store, effects))

    @classmethod
    def open(
        cls,
        store: Store,
        id: str,
        *,
        tools: Tools | None = None,
        **known: Any,
    ) -> Agent:
        """A task as it was left."""
        return cls(store, run(store, _core.reopen(setting_of(tools=tools, **known), id)))

    def add_message(self, message: UserContent | GivenMessage) -> Message:
        """Put a message into the conversation now, and ask nobody. `TaskBusyError` while the agent
        runs: then it has to be queued."""
        return run(self.store, self._core.add(message_of(message)))

    def queue_message(self, message: UserContent | GivenMessage, id: str | None = None) -> str:
        """Put a message behind those that wait; the run under way, or the next one, takes it up.
        Gives its id; one that is given twice with the same id is one message."""
        return run(self.store, self._core.queue(message_of(message), id))

    def unqueue_message(self, id: str) -> Message | None:
        """Take a message back that waits; None if it does not."""
        taken = self.store.unqueue_message(self.id, id, events.removed)
        return None if taken is None else taken.message

    def queued(self) -> list[QueuedMessage]:
        """What waits, in order."""
        return [QueuedMessage(row.id, row.message) for row in self.store.task_queue(self.id)]

    def events(self, after: int = 0, limit: int = 100) -> list[TaskEvent]:
        """What has happened behind a number, in order; a page of it."""
        return [task_event(row) for row in self.store.task_events(self.id, after, limit)]

    def reload(self) -> TaskRow:
        """The task as the store has it now."""
        self._core.row = self.store.task(self.id)
        return self._core.row

    def run(
        self,
        client: Client,
        dispatcher: Dispatcher | None = None,
        *,
        resume: bool = False,
        **more: Any,
    ) -> None:
        """Take up what waits, one message after the other, until nothing does. With `resume`, go on
        first where the last run broke off. Without a `dispatcher`, Python functions among the tools
        run by themselves; `confirm` is asked before those with side effects. Ctrl-C stops the
        run; what arrived is kept."""
        from interlingua.tasks.aio import AsyncAgent

        store = cast(AsyncStore, _ThreadedStore(self.store))
        agent = AsyncAgent(store, self._core)
        client.work(lambda inner: agent.run(inner, dispatcher, resume=resume, **more))


class _ThreadedStore:
    """A store whose calls are awaited: each is done in a thread."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if not callable(call):
            return call

        async def awaited(*given: Any, **named: Any) -> Any:
            return await asyncio.to_thread(call, *given, **named)

        return awaited
