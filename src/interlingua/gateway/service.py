"""A gateway with all its parts, opened from settings: what `serve` runs, and tests too."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from interlingua.client.lessons import Lessons
from interlingua.client.targets import Targets
from interlingua.config import learned_path
from interlingua.errors import InterlinguaError
from interlingua.gateway.config import ConfigError, load
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.keys.caps import Caps
from interlingua.gateway.keys.keys import Keys, NoKeysError, is_loopback
from interlingua.gateway.memory.memory import Memory
from interlingua.gateway.memory.repeats import Repeats
from interlingua.gateway.memory.responses import Responses
from interlingua.gateway.paths.guard import Guard
from interlingua.gateway.paths.routes import application
from interlingua.gateway.relay.app import App
from interlingua.gateway.requests.live import RequestWatchers
from interlingua.gateway.sessions.turns import Turns
from interlingua.gateway.settings import Limits, Settings
from interlingua.gateway.table import check, targets_of
from interlingua.gateway.tasks.runs import TaskRuns
from interlingua.gateway.telemetry.health import Health
from interlingua.gateway.telemetry.losses import Losses
from interlingua.gateway.telemetry.metrics import Metrics
from interlingua.gateway.telemetry.spans import Spans
from interlingua.gateway.telemetry.trace import Tracer
from interlingua.store.base import AsyncStore
from interlingua.store.open import open_async_store

logger = logging.getLogger(__name__)

_FIXED = ("listen.host", "listen.port", "listen.workers", "store", "tasks.servers")
"""What a running gateway cannot change."""


class Service:
    """Made by `open`; `app` is the ASGI application."""

    def __init__(self, gateway: Gateway, store: AsyncStore, tracer: Tracer, losses: Losses) -> None:
        self.gateway = gateway
        self.store = store
        self.tracer = tracer
        self.losses = losses
        self.metrics: Metrics | None = None
        self.health = Health(gateway, store)
        self.turns = Turns(gateway, store)
        self.tasks = TaskRuns(gateway, store, self.turns)
        self.watching = RequestWatchers(store)
        tracer.stored = self.watching.poke
        self.responses = cast(Responses, gateway.responses)
        self.in_flight: Callable[[], int] = lambda: 0
        self.guard = Guard(App(gateway, application(self)), gateway.settings.listen)

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
        """Everything that settings say. `targets` and `parts` of the gateway come before them, for
        programs that have their own."""
        store = await open_async_store(settings.store)
        try:
            service = cls._with(store, settings, targets, parts)
            service.tasks.begin()
            return service
        except BaseException:
            await store.close()
            raise

    @classmethod
    def _with(
        cls, store: AsyncStore, settings: Settings, targets: Targets | None, parts: dict[str, Any]
    ) -> Service:
        telemetry = settings.telemetry
        metrics = (
            Metrics([r.model for r in settings.routes.values()]) if telemetry.metrics else None
        )
        losses = Losses(store if telemetry.trace else None, telemetry.loss_seconds)
        tracer = Tracer(
            store if telemetry.trace else None,
            losses=losses,
            metrics=metrics,
            spans=Spans() if telemetry.spans else None,
            log_requests=telemetry.log_requests,
        )
        usual: dict[str, Any] = {
            "keys": Keys(store, open_allowed=is_loopback(settings.listen.host), emit=tracer.emit),
            "caps": Caps(store, emit=tracer.emit),
            "memory": Memory(store),
            "trace": tracer,
            "responses": Responses(store),
            "repeats": Repeats(store),
            "lessons": Lessons(learned_path()),
            "pricer": tracer.pricer,
        }
        gateway = Gateway(settings, targets=targets or targets_of(settings), **{**usual, **parts})
        service = cls(gateway, store, tracer, losses)
        service.metrics = metrics
        return service

    async def require_keys(self) -> None:
        """`NoKeysError` where this gateway would be open to others than this machine's own. Where
        it is not on loopback, nobody is ever let in without a key, whatever the store says."""
        host = self.gateway.settings.listen.host
        if not is_loopback(host) and not await self.store.keys(limit=1):
            raise NoKeysError(host)

    def count_in_flight(self, count: int | None = None) -> None:
        if self.metrics is not None:
            self.metrics.in_flight.set(self.in_flight() if count is None else count)

    def going(self) -> None:
        """From now on `/health/ready` says no, and whoever watches a session is told."""
        self.gateway.draining = True
        self.turns.hub.closed.set()
        self.tasks.going()
        self.watching.close()

    @property
    def behind(self) -> int:
        """How much is under way that no request waits for."""
        return len(self.turns) + len(self.tasks)

    async def reload(self, path: Path | None, over: Callable[[Settings], Settings]) -> bool:
        """Take the file's settings. One that cannot be used changes nothing, and the log says what
        is wrong with it; requests that are under way go on as they began. `over` lays what the
        command line said over it."""
        try:
            settings = over(await asyncio.to_thread(load, path))
            problems = await asyncio.to_thread(check, settings)
            if problems:
                raise ConfigError(str(settings.path), problems)
            targets = await asyncio.to_thread(targets_of, settings)
        except InterlinguaError as error:
            for line in str(error).splitlines()[:20]:
                logger.error("reload_refused", extra={"why": line})
            return False
        self._apply(settings, targets)
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
        await asyncio.gather(self.turns.close(), self.tasks.close())
        await self.gateway.close()
        await self.tracer.close()
        await self.store.close()


def _get(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value
