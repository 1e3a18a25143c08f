"""The tool with which a model hands work to another one.

    registry = il.ToolRegistry([search])
    il.Delegation(budget_usd="0.50").register(registry)

A worker is a session of its own: it has one task, a model, a folder inside the planner's workspace
and some of the planner's tools, under the same confirmations and permissions and with the same
client. Its last answer is the result of the call. It is stored under the planner's session
(`parent_id`), and stays there whatever becomes of the call.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from interlingua.agents.chat.chat import DELEGATE, AsyncChat, to_the_end
from interlingua.client.client import AsyncClient
from interlingua.client.errors import CallError
from interlingua.errors import InterlinguaError
from interlingua.events.payloads import DelegateCompleted, DelegateFailed, DelegateStarted
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.routing.decision import RoutingError
from interlingua.routing.turn import DelegateRequest
from interlingua.sessions import core as sessions
from interlingua.sessions.effects import run_async
from interlingua.sessions.session import AsyncSession, AsyncTurn
from interlingua.store.rows import WORKER
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.handlers import ToolRun
from interlingua.tools.registry import ToolRegistry
from interlingua.tools.workspace import Workspace

_OWN = frozenset({sessions.DEFAULT, sessions.STICKY, "task", "delegate", WORKER})
"""Parts of a session's policy that its workers do not inherit; they do inherit its owner."""
_NAME_LENGTH = 80

TOOL = ToolDefinition(
    DELEGATE,
    "Hands a task to a worker, which has none of this conversation and returns its final answer."
    " Say in the task everything that the worker has to know. Calls of one message run at once.",
    {
        "type": "object",
        "properties": {
            "task": {"type": "string", "minLength": 1, "description": "What the worker has to do."},
            "model": {"type": "string", "description": "Its model; default: the usual one."},
            "folder": {
                "type": "string",
                "description": "A folder of the workspace, to which the worker is confined.",
            },
            "tools": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of the tools that it may use; all of yours if absent.",
            },
            "budget_usd": {"type": "number", "minimum": 0, "description": "What it may cost."},
            "max_turns": {
                "type": "integer",
                "minimum": 1,
                "description": "The most requests to its model.",
            },
        },
        "required": ["task"],
    },
    SideEffects.NONE,  # tools that the worker calls ask for themselves
    requires_workspace=False,
)  # fmt: skip


class DelegateError(InterlinguaError):
    """A worker was refused, or gave no answer."""


class BudgetError(InterlinguaError):
    """A worker has used up its budget."""


@dataclass(frozen=True)
class Delegation:
    """Limits of delegated work. A call may ask for less, never more."""

    model: str | None = None
    """The worker's model where the call names none; None: that of the planner's turn."""
    models: tuple[str, ...] | None = None
    """Models that a call may name; None: any that routing accepts."""
    budget_usd: Decimal | str | None = None
    """The most that one worker may cost, including its own workers."""
    turns: int = 10
    """Requests to a worker's model. The last of them is made without tools."""
    depth: int = 2
    """Workers below one another; 1: workers have no workers."""
    workers: int = 20
    """Workers of one turn, those of workers included."""
    timeout: float = 1800.0
    """Seconds for one worker."""

    def register(self, registry: ToolRegistry) -> None:
        """Offer the tool `delegate` to the models that get the tools of this registry."""
        registry.register(TOOL, self)
        registry.has_functions = True

    async def __call__(self, input: dict[str, Any], run: ToolRun) -> str:
        """Runs a worker to its end. A failure becomes the error of the call."""
        planner = run.caller
        if not isinstance(planner, AsyncChat) or planner.dispatcher is None or planner.turn is None:
            raise DelegateError("only a model in a chat or an agent can delegate")
        planner.take_worker(self.workers)
        model = self._model(planner, planner.turn, input.get("model"))
        budget = self._budget(planner, model, input.get("budget_usd"))
        dispatcher = self._dispatcher(planner, planner.dispatcher, input, run)
        session = await _session(planner, model, dispatcher, input["task"], run.tool_use_id)
        rounds = min(self.turns, input.get("max_turns", self.turns)) - 1
        worker = WorkerChat(planner, session, dispatcher, rounds, budget)
        worker.client = self._client(planner, input.get("model"))
        return await _Work(worker, planner.turn, run.tool_use_id).run(input["task"], model)

    def _model(self, planner: AsyncChat, turn: AsyncTurn, requested: str | None) -> str:
        config = planner.session._core.setting.router.config()
        model = config.names.require(requested or self.model or turn.model)
        allowed = [config.names.require(each) for each in self.models or ()]
        if requested is not None and self.models is not None and model not in allowed:
            raise DelegateError(f"work cannot be delegated to {model}; use {', '.join(allowed)}")
        return model

    def _client(self, planner: AsyncChat, requested: str | None) -> AsyncClient:
        """The planner's client. In a gateway, a client for the route that the call names, unless
        only models are allowed."""
        for_worker = getattr(planner.client, "for_worker", None)
        if for_worker is None or requested is None:
            return planner.client
        is_allowed = self.models is None or requested in self.models
        client: AsyncClient = for_worker(requested if is_allowed else None)
        return client

    def _budget(self, planner: AsyncChat, model: str, requested: float | None) -> Decimal | None:
        """The least of the requested budget, the limit, and the planner's own rest."""
        requested_usd = None if requested is None else Decimal(str(requested))
        limit = None if self.budget_usd is None else Decimal(self.budget_usd)
        left = planner.left_usd() if isinstance(planner, WorkerChat) else None
        budget = min(
            (each for each in (requested_usd, limit, left) if each is not None), default=None
        )
        prices = planner.session._core.prices
        if budget is not None and (prices is None or model not in prices):
            raise DelegateError(f"no price is known for {model}, so it cannot have a budget in USD")
        return budget

    def _dispatcher(
        self, planner: AsyncChat, dispatcher: Dispatcher, input: dict[str, Any], run: ToolRun
    ) -> Dispatcher:
        """The planner's, confined to some of its tools and to a folder of its workspace."""
        offered = planner.session.tools or ToolRegistry()
        own = [each.tool.name for each in dispatcher.registry.found() if each.handler is not None]
        usable = [name for name in own if name in offered]
        if planner.depth + 1 >= self.depth:
            usable = [name for name in usable if name != DELEGATE]
        names = input.get("tools", usable)
        unknown = [name for name in names if name not in usable]
        if unknown:
            raise DelegateError(f"no such tools: {', '.join(unknown)}; use {', '.join(usable)}")
        worker = copy(dispatcher)
        worker.registry = dispatcher.registry.subset(names)
        worker.workspace = _folder(run.workspace, input.get("folder"))
        return worker


class WorkerChat(AsyncChat):
    """Talks for a worker, within its budget."""

    def __init__(
        self,
        planner: AsyncChat,
        session: AsyncSession,
        dispatcher: Dispatcher,
        rounds: int,
        budget: Decimal | None,
    ) -> None:
        super().__init__(session, planner.client, dispatcher, rounds=rounds)
        self.planner = planner
        self.depth = planner.depth + 1
        self.budget = budget
        self.handed_on = Decimal(0)
        """The cost of its own workers."""

    @property
    def is_leaving(self) -> bool:
        return self.planner.is_leaving

    def take_worker(self, most: int) -> None:
        self.planner.take_worker(most)

    def spent_usd(self) -> Decimal | None:
        """The worker's cost so far; None if that is unknown."""
        own = sessions.cost_of_messages(self.session._core.history or ())
        return None if own is None else own + self.handed_on

    def left_usd(self) -> Decimal | None:
        spent = self.spent_usd()
        return (
            None if self.budget is None or spent is None else max(self.budget - spent, Decimal(0))
        )

    def require_budget(self) -> None:
        """Before each request: the one under way may go beyond the budget, none after it starts."""
        spent = self.spent_usd()
        if self.budget is not None and (spent is None or spent >= self.budget):
            used = "an unknown amount" if spent is None else f"{spent} USD"
            raise BudgetError(f"the worker has spent {used} of {self.budget} USD")


class _Work:
    """One worker from its task to its answer, reported in the planner's turn."""

    def __init__(self, worker: WorkerChat, turn: AsyncTurn, call_id: str) -> None:
        self._worker = worker
        self._turn = turn
        self._call_id = call_id
        self._began = time.perf_counter()
        self._model: str | None = None

    async def run(self, task: str, model: str) -> str:
        session = self._worker.session
        try:
            answer = await self._answer(task, model)
        except InterlinguaError as error:
            self._failed(_class(error))
            await session.end("error")
            arrived = _last_text(self._worker)
            more = f"; its last output: {arrived[:2000]}" if arrived else ""
            raise DelegateError(f"the worker did not finish: {error}{more}") from None
        except asyncio.CancelledError:
            self._failed("cancelled")
            if not self._worker.is_leaving:
                await to_the_end(session.end("abandoned"))
            raise
        finally:
            self._count()
        await session.end("completed")
        return answer

    async def _answer(self, task: str, model: str) -> str:
        worker = self._worker
        # A task that begins with `@name` would choose its model past the planner's limits.
        prompt = f"Task: {task}" if task.lstrip().startswith("@") else task
        turn = await worker.session.begin(prompt, delegate=DelegateRequest(model=model))
        self._model = turn.model
        digest = hashlib.sha256(task.encode("utf-8", "surrogatepass")).hexdigest()
        id = worker.session.id
        self._turn.trace.emit(
            "delegate.started", DelegateStarted(id, turn.model, digest, self._call_id)
        )
        planner = worker.planner.session
        await run_async(planner.store, planner._core.recorder.stored())
        async with aclosing(worker.follow(turn)) as events:
            async for _ in events:
                pass
        answer = _last_text(worker)
        if not answer:
            raise DelegateError("its last answer has no text")
        cost = worker.spent_usd()
        done = DelegateCompleted(id, turn.model, cost, self._elapsed(), self._call_id)
        self._turn.trace.emit("delegate.completed", done)
        return answer

    def _failed(self, error_class: str) -> None:
        id, model = self._worker.session.id, self._model
        failed = DelegateFailed(id, error_class, self._elapsed(), model, self._call_id)
        self._turn.trace.emit("delegate.failed", failed)

    def _count(self) -> None:
        """A worker's own workers are paid from its budget."""
        planner = self._worker.planner
        if isinstance(planner, WorkerChat):
            planner.handed_on += self._worker.spent_usd() or Decimal(0)

    def _elapsed(self) -> int:
        return int((time.perf_counter() - self._began) * 1000)


async def _session(
    planner: AsyncChat, model: str, dispatcher: Dispatcher, task: str, call_id: str
) -> AsyncSession:
    parent = planner.session._core
    setting = replace(parent.setting, tools=dispatcher.registry, is_worker=True)
    workspace = dispatcher.workspace
    folder = parent.row.workspace_path if workspace is None else str(workspace.root)
    handed = {k: v for k, v in (parent.row.routing_policy or {}).items() if k not in _OWN}
    name = " ".join(task.split())[:_NAME_LENGTH]
    made = sessions.create(
        setting, folder, model, name, {**handed, WORKER: call_id}, parent_id=parent.id
    )
    return AsyncSession(planner.session.store, await run_async(planner.session.store, made))


def _folder(workspace: Workspace | None, folder: str | None) -> Workspace | None:
    if folder is None or (workspace is not None and folder in (".", "./")):
        return workspace
    if workspace is None:
        raise DelegateError("there is no workspace, so the worker cannot have a folder of it")
    return workspace.inner(folder)


def _last_text(worker: AsyncChat) -> str:
    answers = [] if worker.turn is None else worker.turn.answers
    return answers[-1].text if answers else ""


def _class(error: InterlinguaError) -> str:
    match error:
        case CallError():
            return error.kind.value
        case RoutingError():
            return "routing_failed"
        case BudgetError():
            return "budget_exceeded"
        case _:
            return "failed"
