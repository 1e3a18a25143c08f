"""Agents for programs without an event loop, and the same with `await`.

with il.open_store() as store, il.Client() as client:
    agent = il.Agent.create(store, "/home/me/project", model="sonnet")
    agent.queue_message(agent.user_message("What is in this folder?"))
    agent.run(client)
    for event in agent.events():
        print(event.msg)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Never, Self, TypeVar

import msgspec

from interlingua.agents.chat.chat import threaded
from interlingua.agents.tasks import core as _core
from interlingua.agents.tasks import events
from interlingua.coerce import MessageLike, Tools, as_message
from interlingua.model.message import Message, UserContent
from interlingua.sessions.core import Core
from interlingua.sessions.effects import Awaited, Blocking, Effects, Method, run, run_async
from interlingua.sessions.session import AsyncSession, Session
from interlingua.sessions.setting import setting_of
from interlingua.store.base import AsyncStore, Store
from interlingua.store.task_rows import QueuedRow, TaskEventRow, TaskRow
from interlingua.views import openai_ui

if TYPE_CHECKING:
    from interlingua.client.client import AsyncClient
    from interlingua.client.sync import Client
    from interlingua.tools.dispatch import Dispatcher

StoreT = TypeVar("StoreT")
SessionT = TypeVar("SessionT")


class QueuedMessage(NamedTuple):
    """A message that waits."""

    id: str
    message: Message | None


class TaskEvent(NamedTuple):
    """An event: its number in the task, its id, its time (milliseconds), and its content."""

    seq: int
    id: str
    time: int
    body: dict[str, Any]

    @property
    def msg(self) -> str:
        return str(self.body["msg"])


class AgentBase(Generic[StoreT, SessionT]):
    """A task: a session with a folder and a queue, in which an agent runs."""

    _session: Callable[[StoreT, Core], SessionT]

    user_message = staticmethod(openai_ui.user_message)
    system_message = staticmethod(openai_ui.system_message)
    assistant_message = staticmethod(openai_ui.assistant_message)
    tool_message = staticmethod(openai_ui.tool_message)

    def __init__(self, store: StoreT, core: _core.TaskCore | None = None, **_: Never) -> None:
        if core is None:
            made = f"il.{type(self).__name__}.create(store, folder, model=…)"
            raise TypeError(f"create an agent with {made}")
        self.store = self._store = store
        self._core = core
        self.session = self._session(store, core.session)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} in {self.cwd}>"

    @property
    def id(self) -> str:
        """The session's, too."""
        return self._core.id

    @property
    def row(self) -> TaskRow:
        """The task when it was last read."""
        return self._core.row

    @property
    def cwd(self) -> str:
        return self._core.row.cwd

    @property
    def status(self) -> str:
        """`idle` or `generating`, when it was last read."""
        return self._core.row.status

    @Method
    def add_message(self, message: UserContent | MessageLike) -> Effects[Message]:
        """Add a message to the conversation now, without a call of the model. `TaskBusyError` while
        the agent runs: then it has to be queued."""
        return self._core.add(as_message(message))

    @Method
    def queue_message(
        self, message: UserContent | MessageLike, id: str | None = None
    ) -> Effects[str]:
        """Appends a message to the queue; the current run, or the next one, handles it. Returns its
        id; a second message with the same id is ignored."""
        return self._core.queue(as_message(message), id)

    @Method
    def unqueue_message(self, id: str) -> Effects[Message | None]:
        """Take a message back that waits; None if it does not."""
        taken: QueuedRow | None
        taken = yield lambda store: store.unqueue_message(self.id, id, events.removed)
        return None if taken is None else taken.message

    @Method
    def queued(self) -> Effects[list[QueuedMessage]]:
        """The queued messages, in order."""
        return [QueuedMessage(row.id, row.message) for row in (yield from self._core.waiting())]

    @Method
    def events(self, after: int = 0, limit: int = 100) -> Effects[list[TaskEvent]]:
        """A page of the events after a number, in order."""
        rows: list[TaskEventRow] = yield lambda store: store.task_events(self.id, after, limit)
        return [
            TaskEvent(row.seq, row.id, row.made_at // 1000, msgspec.json.decode(row.body))
            for row in rows
        ]

    @Method
    def reload(self) -> Effects[TaskRow]:
        """The task as the store has it now."""
        self._core.row = yield lambda store: store.task(self.id)
        return self._core.row


class Agent(AgentBase[Store, Session], Blocking):
    """A task: a session with a folder and a queue, in which an agent runs."""

    _session = Session

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
    ) -> Self:
        """Creates a task in a folder; `ConflictError` if the owner has one there. `known` are
        arguments of a session: `router`, `prices`, `options`, … `tools` are Python functions, which
        are run automatically, `il.ToolDefinition`, or a registry of them."""
        setting = setting_of(tools=tools, **known)
        effects = _core.create(setting, cwd, owner, model, name, web_search, policy)
        return cls(store, run(store, effects))

    @classmethod
    def open(cls, store: Store, id: str, *, tools: Tools | None = None, **known: Any) -> Self:
        """Opens a stored task."""
        return cls(store, run(store, _core.reopen(setting_of(tools=tools, **known), id)))

    def run(
        self,
        client: Client,
        dispatcher: Dispatcher | None = None,
        *,
        resume: bool = False,
        **more: Any,
    ) -> None:
        """Handles the queued messages, one after the other. With `resume`, first continues an
        interrupted run. Without a `dispatcher`, Python functions among the tools are still run;
        `confirm` decides about those with side effects. Ctrl-C stops the run; the part that arrived
        is stored."""
        agent = AsyncAgent(threaded(self.store), self._core)
        client.work(lambda inner: agent.run(inner, dispatcher, resume=resume, **more))


class AsyncAgent(AgentBase[AsyncStore, AsyncSession], Awaited):
    """A task: a session with a folder and a queue, in which an agent runs."""

    _session = AsyncSession

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
    ) -> Self:
        """See `Agent.create`."""
        setting = setting_of(tools=tools, **known)
        effects = _core.create(setting, cwd, owner, model, name, web_search, policy)
        return cls(store, await run_async(store, effects))

    @classmethod
    async def open(
        cls, store: AsyncStore, id: str, *, tools: Tools | None = None, **known: Any
    ) -> Self:
        """Opens a stored task."""
        setting = setting_of(tools=tools, **known)
        return cls(store, await run_async(store, _core.reopen(setting, id)))

    async def run(
        self,
        client: AsyncClient,
        dispatcher: Dispatcher | None = None,
        *,
        resume: bool = False,
        **more: Any,
    ) -> None:
        """See `Agent.run`; cancelling this stops the run and stores the part that arrived."""
        from interlingua.agents.tasks.core import Heartbeat
        from interlingua.agents.tasks.runner import Runner

        runner = Runner(self, client, dispatcher, **more)
        tender = Heartbeat(self.store)
        await runner.claim()
        tender.add(runner)
        try:
            await runner.run(resume=resume)
        finally:
            await tender.close()
