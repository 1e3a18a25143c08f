"""Tasks that run in the background of the gateway, and their tools and folders."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from interlingua import config
from interlingua.agents.chat.chat import DELEGATE, AsyncChat, ChatEvent, to_the_end
from interlingua.agents.chat.delegate import Delegation
from interlingua.agents.chat.files import register_files
from interlingua.agents.tasks import events
from interlingua.agents.tasks.agent import AsyncAgent
from interlingua.agents.tasks.core import LEASE, Heartbeat, is_lost, new_holder, queue
from interlingua.agents.tasks.events import TaskBusyError
from interlingua.agents.tasks.runner import Runner, error_words
from interlingua.client.errors import AuthError
from interlingua.errors import InterlinguaError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.keys.keys import is_loopback
from interlingua.gateway.sessions.api import OWNER, TASK
from interlingua.gateway.sessions.metered_client import Meter, MeteredClient, call_error
from interlingua.gateway.sessions.turns import MOST, FullError, Turns
from interlingua.gateway.settings import Settings, Tasks
from interlingua.gateway.shared.bodies import text_of
from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.state import Principal, Refusal
from interlingua.gateway.tasks.feeds import Feeds, Questions
from interlingua.gateway.tasks.overview import Overview
from interlingua.model.message import Message, Role
from interlingua.sessions.core import ROUTE_NAME
from interlingua.sessions.effects import run_async
from interlingua.store.base import AsyncStore
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.store.task_rows import QueuedRow, QueueLimit, QueueResult, TaskRow, TaskUpdate
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.handlers import Timeouts, WorkspaceError
from interlingua.tools.mcp import McpServer, McpServers, read_servers
from interlingua.tools.registry import ToolRegistry
from interlingua.tools.workspace import Workspace


def delegating(registry: ToolRegistry, tasks: Tasks) -> ToolRegistry:
    """The tools with `delegate` among them, under the limits of the settings."""
    budget = tasks.delegate_budget_usd
    delegation = Delegation(
        models=tasks.delegate_models,
        budget_usd=None if budget is None else Decimal(str(budget)),
        turns=tasks.delegate_turns,
        depth=tasks.delegate_depth,
        workers=tasks.delegate_workers,
    )
    tools = registry.subset()
    tools.unregister(DELEGATE)  # one of a server would be mistaken for ours
    delegation.register(tools)
    return tools


class TaskTools:
    """Tools of MCP servers, which start with the first task and stay until the gateway stops."""

    def __init__(self, settings: Settings) -> None:
        self.registry = ToolRegistry()
        register_files(self.registry)
        self.own = frozenset(self.registry.names())
        """Names of the tools that are not of a server."""
        self._path = servers_path(settings)
        self._servers: McpServers | None = None
        self._started: asyncio.Task[None] | None = None

    async def ready(self) -> None:
        """Waits until every server has answered or failed once. One that cannot be used does not
        prevent a run: it is in the log."""
        if self._started is None:
            self._started = asyncio.ensure_future(asyncio.to_thread(self._start))
        await asyncio.shield(self._started)

    def _start(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            named = _with_prefixes(read_servers(self._path))
            servers = McpServers(named, self.registry)
            servers.start()
        except (InterlinguaError, OSError) as error:
            logger.error("mcp_servers_not_started", extra={"why": str(error)[:500]})
            return
        self._servers = servers

    @property
    def only_server(self) -> str | None:
        """The one server, whose tools have their plain names."""
        servers = () if self._servers is None else self._servers.servers
        return servers[0].name if len(servers) == 1 else None

    async def close(self) -> None:
        if self._started is not None:
            await asyncio.wait({self._started})
        if self._servers is not None:
            await asyncio.to_thread(self._servers.close)


def _with_prefixes(servers: list[McpServer]) -> list[McpServer]:
    """With several servers, prefixes each tool with its server's name, so that a permitted name
    never means the tool of another server while one is down."""
    if len(servers) < 2:
        return servers
    return [each if each.prefix is False else replace(each, prefix=True) for each in servers]


def servers_path(settings: Settings) -> Path | None:
    """The file of MCP servers: the one that is named, beside the file that names it; else the
    user's, which `chat` has too."""
    named = settings.tasks.servers
    if named is None:
        return config.config_folder() / "mcp.json"
    beside = Path() if settings.path is None else settings.path.parent
    return beside / Path(named).expanduser() if named else None


_EVERYWHERE = (None, "", ".")
"""Workspaces of keys that are for no folder in particular."""


def folder_of(cwd: str | None, principal: Principal, settings: Settings) -> str:
    """The normalised folder of a new task; the caller's own, or the folder in which the gateway was
    started."""
    own = principal.workspace_path
    home = _real("." if own in _EVERYWHERE else str(own))
    path = home if cwd is None else _real(text_of(cwd, "cwd"), home)
    _require_inside(path, principal, settings)
    if not os.path.isdir(path):
        raise ApiError(400, "invalid_request", "cwd: no such folder on this machine")
    return str(path)


def require_folder(cwd: str, principal: Principal, settings: Settings) -> None:
    """The folder of an existing task is one that the caller may use now.

    It was stored without links in its path; a link that was put in its place leads elsewhere."""
    if _real(cwd) != Path(cwd):
        text = "the task's folder was replaced by a link to another place"
        raise ApiError(403, "workspace_not_allowed", text)
    _require_inside(Path(cwd), principal, settings)


def _require_inside(path: Path, principal: Principal, settings: Settings) -> None:
    roots = _roots(principal, settings)
    if roots and not any(path == root or root in path.parents for root in roots):
        text = "cwd: outside the folders that this caller may use"
        raise ApiError(403, "workspace_not_allowed", text)


def _roots(principal: Principal, settings: Settings) -> list[Path]:
    """The folders that a task may be in or below; none: it may be anywhere.

    A key is for its workspace. One that is for no folder in particular can be used from other
    machines where the gateway listens to them: then the gateway's own folder, or those that its
    settings name, are as far as it goes."""
    named = [_real(folder) for folder in settings.tasks.folders]
    if principal.key_id is None:
        return named
    if principal.workspace_path not in _EVERYWHERE:
        return [_real(str(principal.workspace_path))]
    return named if is_loopback(settings.listen.host) else named or [_real(".")]


def _real(path: str, base: Path | None = None) -> Path:
    """The normalised path of a folder."""
    try:
        return ((base or Path()) / Path(path).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        raise ApiError(400, "invalid_request", "cwd: expected the path of a folder") from None


logger = logging.getLogger(__name__)

SWEEP = 5.0
"""Seconds between two looks for runs whose process is gone."""
PATIENCE = 10.0
"""Seconds that a run gets to stop."""


def owner_of(principal: Principal) -> str:
    return principal.tenant or ""


class Run:
    """A task that runs here."""

    def __init__(self, runner: Runner, client: MeteredClient) -> None:
        self.runner = runner
        self.client = client
        self.work: asyncio.Task[None] | None = None


class TaskRuns:
    """All runs of this process, their shared parts, and their watchers."""

    def __init__(self, gateway: Gateway, store: AsyncStore, turns: Turns) -> None:
        self.gateway = gateway
        self.store = store
        self.turns = turns
        self.feeds = Feeds(store)
        self.feeds.is_local = lambda id: id in self._running
        self.overview = Overview(store)
        self.asking = Questions(store, self.changed)
        self.task_tools = TaskTools(gateway.settings)
        self._tender = Heartbeat(store)
        self._running: dict[str, Run] = {}
        self._sweeping: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._running)

    def changed(self, id: str) -> None:
        """The store has something new of a task."""
        self.feeds.poke(id)
        self.overview.poke()

    # Made and given messages

    async def create(
        self,
        principal: Principal,
        cwd: str,
        model: str | None,
        name: str | None,
        web_search: bool,
        delegate: bool = False,
    ) -> TaskRow:
        """A new task; `ConflictError` where the caller has one in this folder."""
        wants: dict[str, object] = {DELEGATE: True} if delegate else {}
        if model is not None:
            wants[ROUTE_NAME] = model
        agent = await AsyncAgent.create(
            self.store,
            cwd,
            model=model,
            name=name,
            owner=owner_of(principal),
            web_search=web_search,
            policy={OWNER: principal.tenant, TASK: True, **wants},
            **self.turns.known(principal),
        )
        self.changed(agent.id)
        return agent.row

    async def give(
        self,
        row: TaskRow,
        principal: Principal,
        message: Message,
        message_id: str,
        most: QueueLimit | None = None,
    ) -> QueueResult:
        """Adds a message to a task; it is processed immediately if nothing runs. An error that
        prevents that is raised, and then the message was not added."""
        holder: str | None = new_holder()
        try:
            await self._ready(row, principal)
        except WorkspaceError:
            if not row.generating:
                raise
            holder = None  # the folder is that of another machine, which runs the task
        steps = queue(row.id, message, message_id, holder, most, principal.key_id)
        done = await run_async(self.store, steps)
        self.changed(row.id)
        if done.claimed and holder is not None:
            starting = message if done.state == "starting" else None
            await self._start(row, principal, holder, message_id, starting)
        return done

    async def resume(self, row: TaskRow, principal: Principal) -> None:
        """Continues where the last run broke off, then with the queue."""
        await self._ready(row, principal)
        holder = new_holder()
        claimed = await self.store.claim_task(row.id, holder, LEASE)
        if claimed.holder != holder:
            raise TaskBusyError(row.id)
        await self._start(row, principal, holder, None, None)

    async def _ready(self, row: TaskRow, principal: Principal) -> None:
        """Everything that a run needs is there; if not, nothing was changed."""
        require_folder(row.cwd, principal, self.gateway.settings)
        if row.id not in self._running and len(self._running) >= MOST:
            raise FullError(f"too many tasks running: {MOST}")
        _workspace(row)  # raises where the folder is gone
        await self.task_tools.ready()

    async def _start(
        self,
        row: TaskRow,
        principal: Principal,
        holder: str,
        message_id: str | None,
        starting: Message | None,
    ) -> None:
        """Starts the run of a claimed task; returns when the run has begun."""
        client = MeteredClient(self.gateway, principal, row.id)
        try:
            runner = await self._runner(row, principal, holder, client)
            if starting is not None and starting.role is Role.USER:
                await self._hold(client, runner, starting)
        except BaseException as error:
            await client.release()
            is_new = starting is not None
            await to_the_end(self._let_go(row.id, holder, message_id if is_new else None, error))
            raise
        run = self._running[row.id] = Run(runner, client)
        self._tender.add(runner)
        work = run.work = asyncio.ensure_future(self._run(run, resume=message_id is None))
        begun = asyncio.ensure_future(runner.begun.wait())
        await asyncio.wait({work, begun}, return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        if not runner.begun.is_set():
            await work  # raises why

    async def _runner(
        self, row: TaskRow, principal: Principal, holder: str, client: MeteredClient
    ) -> Runner:
        settings = self.gateway.settings.tasks
        registry = self.task_tools.registry
        known = self.turns.known(principal)
        agent = await AsyncAgent.open(self.store, row.id, tools=registry, **known)
        setting = agent.session._core.setting
        setting.gateway_key_id = principal.key_id
        client.name_route(agent.session)
        if settings.delegate and (agent.session.row.routing_policy or {}).get(DELEGATE):
            setting.tools = registry = delegating(registry, settings)
        agent._core.holder = holder
        dispatcher = Dispatcher(
            registry,
            workspace=_workspace(row),
            confirm=self.asking.asker(row.id, holder),
            permit=lambda: self._permit(row, client.meter),
            timeouts=Timeouts(confirmation=settings.confirm_seconds),
        )

        def on_event(event: ChatEvent, chat: AsyncChat) -> None:
            stored = None if chat.call is None else chat.call.message
            id = None if stored is None else stored.id
            self.feeds.live(row.id).take(event, id, agent.row.event_count)
            self.feeds.on_delta(row.id)

        runner = Runner(
            agent,
            client,
            dispatcher,
            rounds=settings.rounds,
            on_event=on_event,
            changed=lambda agent: self.changed(agent.id),
            taking=lambda waiting: self._act_for_sender(row, client, agent, waiting),
        )
        await runner.take_over()
        return runner

    async def _act_for_sender(
        self, row: TaskRow, client: MeteredClient, agent: AsyncAgent, waiting: QueuedRow
    ) -> None:
        """A message is answered with the models and caps of the key that sent it, whichever key
        of the tenant started the run."""
        session, message = agent.session, waiting.message
        client.name_route(session, message)
        if waiting.key_id in (None, client.meter.principal.key_id):
            return
        assert waiting.key_id is not None
        try:
            principal = await client.act_for(waiting.key_id)
            require_folder(row.cwd, principal, self.gateway.settings)
        except Refusal as refused:
            raise call_error(refused) from None
        except ApiError as refused:
            raise AuthError(str(refused)) from None
        setting = agent.session._core.setting
        setting.user_id, setting.team_id = principal.user_id, principal.team_id
        setting.gateway_key_id = principal.key_id

    async def _permit(self, row: TaskRow, meter: Meter) -> None:
        """The key that started the run is valid, and may use the task's folder, at this moment."""
        try:
            require_folder(row.cwd, await meter.renew(), self.gateway.settings)
        except (ApiError, Refusal) as refused:
            raise PermissionError(str(refused)) from None

    async def _hold(self, client: MeteredClient, runner: Runner, message: Message) -> None:
        """Reserves the cost of the first call, so that a refusal is immediate."""
        session = runner.agent.session
        model = session.model or self.turns.router.config().global_default
        if model is not None:
            await self.turns._hold(client, session, model, message, None)

    async def _let_go(
        self, id: str, holder: str, message_id: str | None, error: BaseException
    ) -> None:
        """The run did not begin."""
        with suppress(ConflictError, NotFoundError):
            if message_id is not None:
                await self.store.withdraw_task(id, holder, message_id)
            else:
                why = (
                    error if isinstance(error, Exception) else InterlinguaError("it was abandoned")
                )
                telling = TaskUpdate(holder, [events.failed(*error_words(why))])
                await self.store.finish_task(id, telling, events.queued, anyway=True)
        self.changed(id)

    async def _run(self, run: Run, resume: bool) -> None:
        runner = run.runner
        try:
            await runner.run(resume=resume)
        except Exception as error:
            if not runner.begun.is_set():
                raise  # the caller that wanted it to begin gets the reason
            level = logging.INFO if isinstance(error, InterlinguaError) else logging.ERROR
            extra = {"task": runner.id, "why": type(error).__name__}
            logger.log(level, "task_failed", extra=extra)
        finally:
            self._tender.remove(runner)
            if self._running.get(runner.id) is run:
                del self._running[runner.id]
            self.feeds.live(runner.id).done = True
            self.feeds.forget(runner.id)
            self.changed(runner.id)
            await run.client.release()

    # Stopped and ended

    async def stop(self, row: TaskRow) -> list[QueuedRow] | None:
        """Stop the run, in whichever process it is, and empty the queue; None if nothing runs.
        Waits until it has stopped."""
        run = self._running.get(row.id)
        stops = 0 if run is None else run.runner.stops
        pending = await self.store.stop_task(row.id, events.dropped)
        if pending is None:
            return None
        self.changed(row.id)
        if run is not None and run.runner.holder == row.holder:
            run.runner.stop(stops)
        await self._stopped(row)
        return pending

    async def _stopped(self, row: TaskRow) -> None:
        """Waits until this run is over, or clearly takes longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while True:
                    now = await self.store.task(row.id)
                    if not now.generating or not now.stopping or now.holder != row.holder:
                        return
                    await asyncio.sleep(0.05 if row.id in self._running else 0.25)

    async def end(self, row: TaskRow) -> TaskRow:
        """The task lives no longer; its folder is free."""
        await self.stop(row)
        return self.ended(await self.store.end_task(row.id))

    def ended(self, row: TaskRow) -> TaskRow:
        """Tells all watchers that it has ended."""
        self.changed(row.id)
        self.overview.put(row)
        return row

    # Those that were left

    async def seen(self, row: TaskRow) -> TaskRow:
        """The current task; if its process died, that is recorded first."""
        if not is_lost(row):
            return row
        await self._recover(row)
        return await self.store.task(row.id)

    async def _recover(self, row: TaskRow) -> None:
        assert row.holder is not None
        known = self.turns.known(_NOBODY)
        try:
            agent = await AsyncAgent.open(self.store, row.id, **known)
            await run_async(self.store, agent._core.recover(row.holder))
        except (TaskBusyError, ConflictError, NotFoundError):
            return  # another process was first
        logger.info("task_recovered", extra={"task": row.id})
        self.changed(row.id)

    def begin(self) -> None:
        """Look after tasks that others leave, from now on."""
        if self._sweeping is None:
            self._sweeping = asyncio.ensure_future(self._sweep())

    async def _sweep(self) -> None:
        while True:
            try:
                for row in await self.store.generating_tasks():
                    if is_lost(row):
                        await self._recover_alone(row)
            except StoreError as error:
                logger.warning("tasks_not_swept", extra={"why": error.reason})
            await asyncio.sleep(SWEEP)

    async def _recover_alone(self, row: TaskRow) -> None:
        """Recovers one task; a failure does not affect the others or this loop."""
        try:
            await self._recover(row)
        except Exception as error:
            logger.error("task_not_recovered", extra={"task": row.id, "why": type(error).__name__})

    def going(self) -> None:
        """Disconnects all readers, which can reconnect to another process."""
        self.feeds.close()
        self.overview.close()

    async def close(self, seconds: float = 5.0) -> None:
        """Interrupts all runs, so that they can be resumed."""
        self.going()
        works: list[asyncio.Task[Any]] = []
        for run in list(self._running.values()):
            run.runner.leave()
            if run.work is not None:
                works.append(run.work)
        if works:
            await asyncio.wait(works, timeout=seconds)
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait({self._sweeping}, timeout=seconds)
        await self._tender.close()
        await self.task_tools.close()


_NOBODY = Principal()


def _workspace(row: TaskRow) -> Workspace:
    workspace = Workspace(row.cwd)
    if workspace.root != Path(row.cwd):  # replaced by a link since it was looked at
        raise WorkspaceError(row.cwd, "the folder was replaced by a link", "link")
    return workspace
