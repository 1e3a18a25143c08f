"""Opens a gateway with all its parts from settings, for `serve` and for tests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from interlingua.client.lessons import Lessons
from interlingua.client.targets import Targets
from interlingua.config import learned_path
from interlingua.costs.table import PriceTable, own_table
from interlingua.errors import InterlinguaError
from interlingua.gateway.batches.batches import Batches
from interlingua.gateway.compaction.compactor import Compactor
from interlingua.gateway.compaction.history import Compactions
from interlingua.gateway.config import ConfigError, check, load, targets_of
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.idempotency.keys import IdempotencyKeys
from interlingua.gateway.keys.caps import Caps
from interlingua.gateway.keys.keys import Keys, NoKeysError, is_loopback
from interlingua.gateway.memory.content import ContentLog
from interlingua.gateway.memory.memory import Memory
from interlingua.gateway.memory.responses import Responses
from interlingua.gateway.paths.guard import Guard
from interlingua.gateway.paths.managed_agents import ManagedAgents
from interlingua.gateway.paths.mcp import McpDoor
from interlingua.gateway.paths.passing import Passing
from interlingua.gateway.paths.routes import application
from interlingua.gateway.relay.app import App
from interlingua.gateway.requests import RequestWatchers
from interlingua.gateway.responses.background import Background
from interlingua.gateway.responses.conversations import Conversations
from interlingua.gateway.responses.stateful import Preparation
from interlingua.gateway.responses.websocket import Sockets
from interlingua.gateway.sessions.turns import Turns
from interlingua.gateway.settings import Limits, Settings
from interlingua.gateway.shared.file_owners import ProviderFiles
from interlingua.gateway.tasks.runs import TaskRuns
from interlingua.gateway.telemetry.metrics import Health, Metrics
from interlingua.gateway.telemetry.places import Alerts
from interlingua.gateway.telemetry.records import Losses, Sweeper
from interlingua.gateway.telemetry.trace import Spans, Tracer
from interlingua.gateway.upstream.transport import Upstream
from interlingua.sessions.effects import run_async
from interlingua.sessions.holding import stored_prices
from interlingua.store.base import AsyncStore
from interlingua.store.open import open_async_store

logger = logging.getLogger(__name__)

_FIXED = ("listen.host", "listen.port", "listen.workers", "store", "tasks.servers")
"""Settings that need a restart."""
FOR_EVER = 36_500
"""Days; as many as an answer can be stored for."""


class Service:
    """Made by `open`; `app` is the ASGI application."""

    def __init__(self, gateway: Gateway, store: AsyncStore, tracer: Tracer, losses: Losses) -> None:
        self.gateway = gateway
        self.store = store
        self.tracer = tracer
        self.losses = losses
        self.metrics: Metrics | None = None
        self.health = Health(gateway, store, lambda: tracer.failing_seconds)
        self.turns = Turns(gateway, store)
        self.tasks = TaskRuns(gateway, store, self.turns)
        self.watching = RequestWatchers(store)
        self.sweeper = Sweeper(store, lambda: gateway.settings.retention, tracer.emit)
        tracer.stored = self.watching.poke
        self.responses = cast(Responses, gateway.responses)
        self.compactions = Compactions(store)
        self.in_flight: Callable[[], int] = lambda: 0
        self.conversations = Conversations(store)
        self.background = Background(gateway, store)
        self.batches = Batches(gateway, store)
        self.provider_files = ProviderFiles(store)
        if isinstance(gateway.transport, Upstream):
            gateway.transport.require_own = self.provider_files.require_own
        self.passing = Passing(gateway)
        self.mcp = McpDoor(self)
        compactor = Compactor(gateway, self.compactions)
        preparation = Preparation(gateway, compactor, self.conversations, self.background)
        self.managed = ManagedAgents(self, application(self))
        app = self.background.app = App(gateway, self.managed, preparation)
        self.batches.app = app
        self.sockets = Sockets(gateway, app)
        self.guard = Guard(app, gateway.settings.listen, self.sockets)

    @property
    def app(self) -> Guard:
        return self.guard

    @property
    def limits(self) -> Limits:
        return self.gateway.settings.limits

    @classmethod
    async def open(
        cls, settings: Settings, *, targets: Targets | None = None, **parts: Any
    ) -> Service:
        """Builds everything that settings define. `targets` and `parts` of the gateway come
        before them, for programs that have their own."""
        table = await asyncio.to_thread(own_table)
        store = await open_async_store(settings.store)
        try:
            prices = await run_async(store, stored_prices(table))
            service = cls._with(store, settings, targets, parts, prices)
            await service.turns.bus.start()
            service.tasks.begin()
            service.sweeper.begin()
            service.background.begin()
            service.batches.begin()
            return service
        except BaseException:
            await store.close()
            raise

    @classmethod
    def _with(
        cls,
        store: AsyncStore,
        settings: Settings,
        targets: Targets | None,
        parts: dict[str, Any],
        prices: PriceTable | None,
    ) -> Service:
        telemetry, days = settings.telemetry, settings.retention.answers or FOR_EVER
        models = [route.model for route in settings.routes.values()]
        metrics = Metrics(models, lambda: gateway.settings.routes) if telemetry.metrics else None
        losses = Losses(store if telemetry.trace else None, telemetry.loss_seconds)
        tracer = Tracer(
            store if telemetry.trace else None,
            losses=losses,
            metrics=metrics,
            spans=Spans() if telemetry.spans else None,
            prices=prices,
            log_requests=telemetry.log_requests,
        )
        usual: dict[str, Any] = {
            "keys": Keys(store, open_allowed=is_loopback(settings.listen.host), emit=tracer.emit),
            "caps": Caps(store, table=prices, emit=tracer.emit),
            "memory": Memory(store),
            "trace": tracer,
            "responses": Responses(store),
            "idempotency": IdempotencyKeys(store, hours=24 * days),
            "lessons": Lessons(learned_path()),
            "pricer": tracer.pricer,
        }
        gateway = Gateway(settings, targets=targets or targets_of(settings), **{**usual, **parts})
        gateway.content = ContentLog(store)
        service = cls(gateway, store, tracer, losses)
        service.metrics = metrics
        if settings.alerts.url:
            tracer.alerts = Alerts(settings.alerts)
        if metrics is not None:
            metrics.watch(gateway.conversations.figures)
        return service

    async def require_keys(self) -> None:
        """Raises `NoKeysError` if this gateway would be open to other machines. Off loopback,
        requests without a key are always refused, even if the store has no keys."""
        host = self.gateway.settings.listen.host
        if not is_loopback(host) and not await self.store.keys(limit=1):
            raise NoKeysError(host)

    def count_in_flight(self, count: int | None = None) -> None:
        if self.metrics is not None:
            self.metrics.in_flight.set(self.in_flight() if count is None else count)

    def going(self) -> None:
        """From now on `/health/ready` fails, and watchers of sessions are disconnected."""
        self.gateway.draining = True
        self.turns.hub.closed.set()
        self.tasks.going()
        self.watching.close()

    @property
    def behind(self) -> int:
        """The amount of work under way that no request waits for."""
        return len(self.turns) + len(self.tasks) + len(self.background)

    async def reload(self, path: Path | None, over: Callable[[Settings], Settings]) -> bool:
        """Applies the file's settings. Invalid ones change nothing and are logged; requests in
        flight go on as they began. `over` applies the command line's options."""
        try:
            settings = over(await asyncio.to_thread(load, path))
            problems = await asyncio.to_thread(check, settings)
            if problems:
                raise ConfigError(str(settings.path), problems)
            targets = await asyncio.to_thread(targets_of, settings)
            table = await asyncio.to_thread(own_table)
            prices = await run_async(self.store, stored_prices(table))
        except InterlinguaError as error:
            for line in str(error).splitlines()[:20]:
                logger.error("reload_refused", extra={"why": line})
            return False
        self._apply(settings, targets)
        self.tracer.pricer.use(prices)
        if isinstance(self.gateway.caps, Caps):
            self.gateway.caps.tariffs.use(prices)
        return True

    def _apply(self, settings: Settings, targets: Targets) -> None:
        gateway, before = self.gateway, self.gateway.settings
        for name in _FIXED:
            if _get(before, name) != _get(settings, name):
                logger.warning("restart_needed", extra={"setting": name})
        gateway.reload(settings, targets)
        self.guard.allow(settings.listen)
        self.losses.seconds = settings.telemetry.loss_seconds
        self.tracer.log_requests = settings.telemetry.log_requests
        self.turns.set_up()
        logger.info("reloaded", extra={"routes": len(settings.routes)})

    async def close(self) -> None:
        """Stop turns, settle, write the trace, let go of everything."""
        self.going()
        await self.background.close()
        await self.batches.close()
        await self.managed.close()
        await self.passing.close()
        await self.mcp.close()
        await asyncio.gather(self.turns.close(), self.tasks.close(), self.sweeper.close())
        await self.turns.bus.close()
        await self.gateway.close()
        await self.tracer.close()
        if self.tracer.alerts is not None:
            await self.tracer.alerts.close()
        await self.store.close()


def _get(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value
