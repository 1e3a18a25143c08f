"""Turns of sessions that run in the background of the gateway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from contextlib import aclosing
from typing import Any

from interlingua import config
from interlingua.agents.chat.chat import AsyncChat
from interlingua.agents.chat.setup import DialectByModel, OwnRegistry
from interlingua.errors import InterlinguaError
from interlingua.events.bus import Bus
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.sessions.live import (
    LOOK,
    TURN_END,
    Hub,
    OtherWorkers,
    SessionFeed,
    turn_of,
)
from interlingua.gateway.sessions.metered_client import MeteredClient
from interlingua.gateway.shared.state import Principal
from interlingua.model.events import MessageStart
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message
from interlingua.profiles.names import nearest
from interlingua.routing.registry import ModelEntry
from interlingua.routing.router import PolicyFile, Router
from interlingua.sessions.session import AsyncCall, AsyncSession, AsyncTurn
from interlingua.sessions.setting import LOCAL
from interlingua.sessions.setting import registry as known_registry
from interlingua.store.base import AsyncStore
from interlingua.store.errors import ConflictError

logger = logging.getLogger(__name__)

MOST = 1000
"""Turns at a time, in one worker."""


class FollowedTurn(AsyncTurn):
    """A turn whose call under way is known."""

    current: AsyncCall | None = None

    async def call(self, *args: Any, **kwargs: Any) -> AsyncCall:
        self.current = await super().call(*args, **kwargs)
        return self.current


class FollowedSession(AsyncSession):
    """A session that signals when a turn has begun."""

    begun: asyncio.Future[FollowedTurn] | None = None

    async def begin(self, *args: Any, **kwargs: Any) -> AsyncTurn:
        turn = await super().begin(*args, **kwargs)
        followed = FollowedTurn(self.store, turn._core)
        if self.begun is not None and not self.begun.done():
            self.begun.set_result(followed)
        return followed


class RunningTurn:
    """A turn under way."""

    def __init__(self, session: FollowedSession, client: MeteredClient) -> None:
        self.session = session
        self.client = client
        self.task: asyncio.Task[None] | None = None

    @property
    def turn(self) -> FollowedTurn | None:
        """The turn, once it has begun."""
        begun = getattr(self.session, "begun", None)  # the session is still being opened, perhaps
        return begun.result() if begun is not None and begun.done() else None

    @property
    def user_message_id(self) -> str | None:
        user_message = None if self.turn is None else self.turn._core.question
        return None if user_message is None else user_message.id


class RouteRegistry(OwnRegistry):
    """Every known model, and the gateway's routes: names mean the same as in `/v1`."""

    def __init__(
        self, entries: Iterable[ModelEntry], gateway: Gateway, providers: Iterable[str]
    ) -> None:
        super().__init__(entries, providers)
        self._gateway = gateway

    def _find(self, name: str) -> str | None:
        route = self._gateway.route_settings(name)
        if route is not None:
            return self._gateway.targets.find(route.model).model
        return super()._find(name)

    def near(self, name: str) -> list[str]:
        return nearest(name, [*self._gateway.settings.routes, *self.aliases, *self.entries])


class BusyError(InterlinguaError):
    """A session has one turn at a time."""


class FullError(InterlinguaError):
    """Too many turns are running to start another."""


class Turns:
    """All turns of this process, and the settings that sessions are opened with."""

    def __init__(self, gateway: Gateway, store: AsyncStore) -> None:
        self.gateway = gateway
        self.store = store
        self.bus = Bus()
        """Delivers the events of sessions to their watchers."""
        self.hub = Hub(self.bus)
        self.other_workers = OtherWorkers(store)
        self._running: dict[str, RunningTurn] = {}
        self.hub.is_local = lambda session_id: session_id in self._running
        self._tending: asyncio.Task[None] | None = None
        self.set_up()

    def set_up(self) -> None:
        """Rules and models, as the gateway's settings have them now."""
        providers = self.gateway.targets.providers
        default = self.gateway.settings.default_model
        entries = known_registry().entries.values()
        self.registry = RouteRegistry(entries, self.gateway, providers)
        self.rules = PolicyFile(config.rules_path(), self.registry)
        chosen = LOCAL if default is None else self.registry.require(default)
        self.model_lookup = self.gateway.targets.model_lookup
        can = self.model_lookup.capabilities
        self.router = Router(self.registry, can, rules=self.rules, global_default=chosen)
        self.dialects = DialectByModel(providers)

    def known(self, principal: Principal) -> dict[str, Any]:
        """The settings that a session is opened with."""
        return {
            "router": self.router,
            "dialects": self.dialects,
            "bus": self.bus,
            "profiles": self.model_lookup,
            "user_id": principal.user_id,
            "team_id": principal.team_id,
        }

    def running(self, session_id: str) -> RunningTurn | None:
        return self._running.get(session_id)

    def __len__(self) -> int:
        return len(self._running)

    async def start(
        self,
        session_id: str,
        principal: Principal,
        message: Message,
        override: str | None,
        options: Options | None,
    ) -> RunningTurn:
        """Starts a turn, which continues after this returns. Errors before its start are raised
        here, and then nothing was stored."""
        if session_id in self._running:
            raise BusyError(f"session {session_id} has a turn in progress")
        if len(self._running) >= MOST:
            raise FullError(f"too many turns in progress: {MOST}")
        client = MeteredClient(self.gateway, principal, session_id)
        self._running[session_id] = running = RunningTurn(_NOT_YET, client)
        try:
            session = await self._open(running, session_id, principal)
            client.name_route(session, message, override)
            model = override or session.model or self.router.config().global_default
            if model is not None:
                await self._hold(client, session, model, message, options)
            work = self._run(running, message, override, options)
            await self._begin(running, session, work)
            if self._tending is None or self._tending.done():
                self._tending = asyncio.ensure_future(self._tend())
            return running
        except BaseException:
            if running.task is not None and not running.task.done():
                running.task.cancel()
                await asyncio.wait({running.task}, timeout=10)
            self._running.pop(session_id, None)
            await client.release()
            raise

    async def _open(
        self, running: RunningTurn, session_id: str, principal: Principal
    ) -> FollowedSession:
        session = await FollowedSession.open(self.store, session_id, **self.known(principal))
        running.session = session
        session._core.setting.gateway_key_id = principal.key_id
        if turn_of(session.row) is not None:
            raise BusyError(f"session {session_id} has a turn in progress in another worker")
        return session

    async def _begin(
        self, running: RunningTurn, session: FollowedSession, work: Coroutine[Any, Any, None]
    ) -> None:
        """Until the turn has begun; raises why it does not."""
        session.begun = asyncio.get_running_loop().create_future()
        running.task = asyncio.ensure_future(work)
        waited: set[asyncio.Future[Any]] = {running.task, session.begun}
        await asyncio.wait(waited, return_when="FIRST_COMPLETED")
        if session.begun.done():
            return
        try:
            running.task.result()
        except ConflictError:
            raise BusyError(f"another program is running a turn of session {session.id}") from None
        raise InterlinguaError("the turn did not start")

    async def _hold(
        self,
        client: MeteredClient,
        session: AsyncSession,
        model: str,
        message: Message,
        options: Options | None,
    ) -> None:
        id = self.router.config().names.resolve(model)
        if id is None:
            return  # beginning the turn raises with the reason
        history = await session.messages() if client.meter.principal.capped else []
        request = Request(messages=(*history, message), options=options or Options())
        await client.hold(id, request)

    async def _run(
        self, running: RunningTurn, message: Message, override: str | None, options: Options | None
    ) -> None:
        session, hub, feed = running.session, self.hub, SessionFeed()
        chat = AsyncChat(session, running.client)
        try:
            async with aclosing(chat.say(message, override=override, options=options)) as parts:
                async for event in parts:
                    turn = running.turn
                    call = None if turn is None else turn.current
                    stored = None if call is None else call.message
                    id = None if stored is None else stored.id
                    if call is not None and isinstance(event, MessageStart):
                        hub.expect(session.id, call.id)
                    for piece in feed.pieces(event, id, None if call is None else call.id):
                        hub.tell(session.id, piece)
        except (Exception, asyncio.CancelledError) as error:
            if running.turn is None:
                raise  # the caller that wanted to begin it gets the reason
            if not isinstance(error, asyncio.CancelledError):
                level = logging.INFO if isinstance(error, InterlinguaError) else logging.ERROR
                extra = {"session": session.id, "why": type(error).__name__}
                logger.log(level, "turn_failed", extra=extra)
        finally:
            self._running.pop(session.id, None)
            await running.client.release()
            hub.tell(session.id, TURN_END)

    async def cancel(self, session_id: str) -> bool:
        """Stops the turn under way, in any worker; the part that arrived is stored. False if no
        turn is under way."""
        running = self._running.get(session_id)
        if running is None or running.task is None:
            return await self.other_workers.stop(session_id)
        running.task.cancel()
        await asyncio.wait({running.task}, timeout=10)
        return True

    async def _tend(self) -> None:
        """While turns are running: renews their claims, and stops those that were cancelled
        elsewhere."""
        while self._running:
            await asyncio.sleep(LOOK)
            turns = {id: r.turn.id for id, r in self._running.items() if r.turn is not None}
            for id in await self.other_workers.tend(turns):
                running = self._running.get(id)
                if running is not None and running.task is not None:
                    running.task.cancel()

    async def close(self, seconds: float = 5.0) -> None:
        """Stops all turns; each stores its part."""
        self.hub.closed.set()
        tasks = [r.task for r in self._running.values() if r.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        if self._tending is not None:
            self._tending.cancel()
            await asyncio.wait({self._tending}, timeout=seconds)


_NOT_YET: Any = None
