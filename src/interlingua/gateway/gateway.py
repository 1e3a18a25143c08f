"""The gateway as a whole: its parts, and which model a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interlingua.client.attempt import Asker
from interlingua.client.budget import SHARED, Budget
from interlingua.client.fetching import InlinedRequest, MediaCache, MediaFetcher
from interlingua.client.lessons import Lessons
from interlingua.client.targets import LOCAL, Target, Targets
from interlingua.client.transport import Transport
from interlingua.dialects.front import Front
from interlingua.errors import InterlinguaError
from interlingua.gateway.keys.pricing import Pricer
from interlingua.gateway.memory.repeats import Repeats
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.gateway.shared.fronts import RESPONSES
from interlingua.gateway.shared.state import (
    ROUTE,
    Arrival,
    Caps,
    Keys,
    Memory,
    NoCaps,
    NoKeys,
    NoMemory,
    NoTrace,
    Principal,
    Refusal,
    Responses,
    Trace,
)
from interlingua.gateway.upstream.transport import Upstream
from interlingua.ids import Ulids
from interlingua.model.exchange import ErrorKind, Request
from interlingua.models.names import AmbiguousModelError, UnknownModelError
from interlingua.providers.endpoint import speaks

LONGEST_NAME = 1000
"""Of a model: names go into headers, addresses and a table of names that were seen."""


class Route(NamedTuple):
    """Where a request may go: the first target, and those that are asked when it fails."""

    targets: tuple[Target, ...]
    models: tuple[str, ...]
    common_dialect: str | None
    """The dialect that all of them speak, if it is one."""
    passthrough: bool = False
    """Whether a body in the target's own dialect goes on as it is, whatever the model takes."""
    fetch_media: bool | None = None
    """Whether media by URL is fetched where the model takes none; None: as in the settings."""

    @classmethod
    def to(
        cls, targets: Sequence[Target], passthrough: bool = False, fetch_media: bool | None = None
    ) -> Route:
        dialects = {target.dialect.name for target in targets}
        common = dialects.pop() if len(dialects) == 1 else None
        models = tuple([target.model for target in targets])
        return cls(tuple(targets), models, common, passthrough, fetch_media)

    def target(self, model: str) -> Target:
        first = self.targets[0]
        return first if first.model == model else next(t for t in self.targets if t.model == model)


class Gateway:
    """Parts that are not given do nothing: no keys, no caps, no memory, no trace."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        targets: Targets | None = None,
        transport: Transport | None = None,
        keys: Keys | None = None,
        caps: Caps | None = None,
        memory: Memory | None = None,
        trace: Trace | None = None,
        responses: Responses | None = None,
        pricer: Pricer | None = None,
        budget: Budget | None = None,
        repeats: Repeats | None = None,
        lessons: Lessons | None = None,
        fetcher: MediaFetcher | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.targets = targets or Targets()
        self.transport = transport or Upstream()
        self.keys = keys or NoKeys()
        self.caps = caps or NoCaps()
        self.memory = memory or NoMemory()
        self.trace = trace or NoTrace()
        self.responses = responses
        self.pricer = pricer
        self.budget = budget or SHARED
        self.repeats = repeats or Repeats()
        self.lessons = lessons if lessons is not None else Lessons()
        self.fetcher = fetcher or MediaFetcher()
        self.asker = self._asker()
        self.draining = False
        self._ids = Ulids()
        self._routes: dict[tuple[str, str], Route] = {}

    def new_id(self) -> str:
        return f"req_{self._ids.new()}"

    async def close(self) -> None:
        """Everything that waits is written; the store is whoever opened it's to close."""
        parts = (self.caps, self.memory, self.repeats, self.responses, self.transport, self.fetcher)
        for part in parts:
            close = getattr(part, "close", None)
            if close is not None:
                await close()

    async def inlined(
        self,
        request: Request,
        route: Route,
        target: Target,
        principal: Principal,
        fetched: MediaCache,
    ) -> InlinedRequest:
        """The request with the data of its media in place of addresses, where its model wants that
        and it is switched on: for the key, else for the route, else for all. `fetched`
        is what earlier attempts have got."""
        said = (principal.fetch_media, route.fetch_media, self.settings.fetch_media)
        if not next((each for each in said if each is not None), False):
            return InlinedRequest(request)
        return await self.fetcher.inlined(request, target.profile, kept=fetched)

    def reload(self, settings: Settings, targets: Targets) -> None:
        """Other settings from now on; requests under way go on as they began."""
        self.settings, self.targets, self._routes = settings, targets, {}
        self.asker = self._asker()

    def _asker(self) -> Asker:
        """What sends requests to providers, for the fronts and for sessions."""
        lessons = self.lessons if self.settings.repair else None
        return Asker(
            self.targets, self.transport, None, self.settings.limits.answer, lessons=lessons
        )

    def route(self, name: str | None, front: Front) -> Route:
        """Who serves a name, whatever the client speaks: names mean the same at every front."""
        name = name or self.settings.default_model
        if not name:
            raise Refusal(400, ErrorKind.INVALID_REQUEST, "the request does not name a model")
        known = self._routes.get((name, front.dialect))
        if known is None:
            if len(name) > LONGEST_NAME or not name.isprintable():
                text = f"model: expected a name of at most {LONGEST_NAME} printable characters"
                raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "invalid_model")
            try:
                known = self._find(name, front)
            except (InterlinguaError, ValueError) as error:
                text = f"model {name[:200]!r}: {error}"
                raise Refusal(404, ErrorKind.INVALID_REQUEST, text, "model_not_found") from None
            if len(self._routes) < 10_000:
                self._routes[name, front.dialect] = known
        return known

    def _find(self, name: str, front: Front) -> Route:
        wanted = self.settings.routes.get(name) or RouteSettings(self._meant(name, front))
        dialect = wanted.dialect or self._dialect(wanted.model, front)
        first = self.targets.find(wanted.model, dialect, usual=wanted.dialect is None)
        rest = [self.targets.find(model) for model in wanted.fallbacks]
        return Route.to([first, *rest], wanted.passthrough, wanted.fetch_media)

    def _meant(self, name: str, front: Front) -> str:
        """The model that a name means. Only whoever runs an Ollama knows its models, so that its
        clients' own names go there."""
        is_ollama = front.tagged_names
        try:
            id = self.targets.id_of(name, front.provider)
        except AmbiguousModelError:
            raise
        except UnknownModelError:
            if is_ollama:
                return f"{front.provider}:{name}"
            raise
        is_tag = is_ollama and id == name and name.partition(":")[0] not in self.targets.providers
        return f"{front.provider}:{name}" if is_tag else id

    def _dialect(self, model: str, front: Front) -> str | None:
        """The client's own dialect, where the provider speaks it: then nothing is translated. The
        bundled local model has but the beginnings of the Responses API, and we say it better; what
        is wrapped has to be taken apart anyway, so that only routes ask for it."""
        target = self.targets.find(model)
        if target.provider.key == LOCAL and front is RESPONSES:
            return None
        if not speaks(target.provider, front.dialect, target.model):
            return None
        wrapped = target.provider.dialects[front.dialect].framing is not None
        return None if wrapped else front.dialect

    def _by_route(self, arrival: Arrival, allowed: frozenset[str]) -> bool:
        """Whether the key may use the route that was asked for, wherever it leads."""
        name = arrival.client_model or self.settings.default_model
        return name in self.settings.routes and f"{ROUTE}{name}" in allowed

    def allow(self, arrival: Arrival, route: Route) -> Route:
        """The targets that the key may use."""
        allowed = arrival.principal.allowed_models
        if allowed is None or self._by_route(arrival, allowed):
            return route
        open = tuple([target for target in route.targets if target.model in allowed])
        if not open or open[0] is not route.targets[0]:
            model = route.targets[0].model
            text = f"this key is not allowed to use {model}"
            raise Refusal(403, ErrorKind.AUTH, text, "model_not_allowed")
        if len(open) == len(route.targets):
            return route
        return Route.to(open, route.passthrough, route.fetch_media)
