"""The gateway as a whole: its parts, and the model for a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import coroutine
from typing import NamedTuple

import msgspec

from interlingua.adapt.remembered import Conversations
from interlingua.client.attempt import Asker
from interlingua.client.fetching import MediaFetcher
from interlingua.client.lessons import Lessons
from interlingua.client.retry import SHARED, Budget
from interlingua.client.targets import LOCAL, Target, Targets
from interlingua.client.transport import Transport
from interlingua.costs.comparing import SentPrompts
from interlingua.dialects.front import Front
from interlingua.errors import InterlinguaError
from interlingua.gateway.idempotency.keys import IdempotencyKeys
from interlingua.gateway.keys.tariffs import Pricer
from interlingua.gateway.memory.content import ContentLog
from interlingua.gateway.pools import (
    ConversationName,
    Pool,
    PoolState,
    conversation_of,
    members_of,
    with_timeouts,
)
from interlingua.gateway.settings import (
    WILDCARD,
    PoolMember,
    RouteSettings,
    Settings,
    find_route,
    route_name,
)
from interlingua.gateway.shared.fronts import RESPONSES
from interlingua.gateway.shared.principal import OpenRequests, most_of_key
from interlingua.gateway.shared.state import (
    ROUTE,
    Arrival,
    Caps,
    ClientKey,
    Exchange,
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
from interlingua.gateway.upstream.transport import TenantTransport, Upstream
from interlingua.model.exchange import ErrorKind
from interlingua.model.ids import Ulids
from interlingua.profiles.names import AmbiguousModelError, UnknownModelError, nearest
from interlingua.providers.credentials import with_client_key
from interlingua.providers.endpoint import speaks

MOST_ASKERS = 1000
"""Tenants whose way to the providers is cached."""
MOST_ROUTES = 10_000
"""Names of models whose route is cached: clients may ask for any."""
LONGEST_NAME = 1000
"""The longest name of a model: names go into headers, addresses and a table of known names."""


NO_ROUTE = RouteSettings("")
CLIENT = "client"
"""The credentials of a provider that is called with the keys of clients."""


class Route(NamedTuple):
    """The targets of a request: the first, and those used when it fails."""

    targets: tuple[Target, ...]
    models: tuple[str, ...]
    """Labels of the targets."""
    common_dialect: str | None
    """The dialect of all targets, if it is one."""
    passthrough: bool
    fetch_media: bool
    pool: Pool | None = None
    """Spreads requests over the first targets, if there are several."""
    settings: RouteSettings = NO_ROUTE
    conversation: ConversationName | None = None
    """The conversation by which the pool was ordered."""
    limits_answers: bool = False
    """Whether the settings limit the length of answers."""
    by_client: bool = False
    """Whether some targets use the client's own key."""
    key_for: str | None = None
    """The provider that this key is for: the first of the route, and no other."""

    @classmethod
    def to(
        cls,
        targets: Sequence[Target],
        passthrough: bool = False,
        fetch_media: bool = False,
        pool: Pool | None = None,
        settings: RouteSettings = NO_ROUTE,
    ) -> Route:
        dialects = {target.dialect.name for target in targets}
        common = dialects.pop() if len(dialects) == 1 else None
        labels = tuple([target.label for target in targets])
        limits = settings.default_max_tokens is not None or settings.max_max_tokens is not None
        return cls(
            *(tuple(targets), labels, common, passthrough, fetch_media, pool, settings),
            limits_answers=limits,
            by_client=any(target.provider.credentials == CLIENT for target in targets),
        )

    def target(self, label: str) -> Target:
        first = self.targets[0]
        return first if self.models[0] == label else self.targets[self.models.index(label)]

    def limited_to(self, targets: Sequence[Target]) -> Route:
        """The same without the other targets."""
        same = (self.passthrough, self.fetch_media, self.pool, self.settings)
        return Route.to(targets, *same)._replace(key_for=self.key_for)

    def beginning_with(self, label: str) -> Route:
        """The same with this target in front, if it has it."""
        first = [each for each in self.targets if each.label == label]
        if not first or self.models[0] == label:
            return self
        targets = [*first, *[each for each in self.targets if each.label != label]]
        return self.limited_to(targets)._replace(conversation=self.conversation)

    def asked_with(self, own: ClientKey | None) -> Route:
        """With the client's own key for its provider, and without other providers that need a
        client's key."""
        if self.key_for is not None and own is None:
            text = (
                f"{self.key_for} needs your own API key: send it where the SDK puts it,"
                " and the key of this gateway, if it requires one, as x-interlingua-key"
            )
            raise Refusal(401, ErrorKind.AUTH, text, "own_key_missing")
        targets = []
        for target in self.targets:
            provider = target.provider
            if provider.credentials != CLIENT:
                targets.append(target)
            elif own is not None and provider.key == self.key_for:
                keyed = with_client_key(provider, *own)
                targets.append(target.deployed(target.deployment, keyed))
        return self.limited_to(targets)._replace(conversation=self.conversation)

    def placed(self, members: Mapping[str, msgspec.Raw], tenant: str | None) -> Route:
        """With the members of the pool in the order for this request. Members that are skipped at
        the moment come after the fallbacks."""
        pool = self.pool
        if pool is None:
            return self
        return self.ordered(pool, conversation_of(members, tenant))

    def ordered(self, pool: Pool, conversation: ConversationName | None) -> Route:
        """Like `placed`, for a known conversation."""
        named = conversation is not None and not conversation.is_first
        ordered = pool.order(conversation.name if conversation and named else None)
        pooled = [each.target for each in ordered if each.label in self.models]
        ready = [each for each in pooled if not pool.rests(each.label)]
        fallbacks = [each for each in self.targets if each.label not in pool.members]
        targets = [*ready, *fallbacks, *[each for each in pooled if each not in ready]]
        return self.limited_to(targets)._replace(conversation=conversation)


CROWDED = 8
"""Requests under way from which on they take their steps together."""


@coroutine
def next_round() -> Iterator[None]:
    """Go on in the next round of the event loop, as `asyncio.sleep(0)` does in more steps."""
    yield


class Gateway:
    """The parts of a gateway. Missing parts do nothing: no keys, no caps, no memory, no trace."""

    content: ContentLog | None = None

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
        idempotency: IdempotencyKeys | None = None,
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
        self.idempotency = idempotency or IdempotencyKeys()
        self.lessons = lessons if lessons is not None else Lessons()
        self.fetcher = fetcher or MediaFetcher()
        allowed = most_of_key(2**31)
        self.open_requests = OpenRequests(lambda: min(self.settings.limits.open_requests, allowed))
        self.conversations = Conversations(self.settings.limits.conversations)
        self.keys.on_void = self.conversations.forget
        self.under_way: dict[str, Exchange] = {}  # what this process is answering
        self.draining, self.ids, self.prompts = False, Ulids(), SentPrompts()
        self._routes: dict[tuple[str, str, str], Route] = {}
        self._pools: dict[str, PoolState] = {}
        self._askers: dict[tuple[str | None, bool], Asker] = {}

    async def close(self) -> None:
        """Writes everything that waits; the store is closed by its owner."""
        parts = (
            self.caps,
            self.memory,
            self.idempotency,
            self.responses,
            self.transport,
            self.fetcher,
            self.content,
        )
        for part in parts:
            close = getattr(part, "close", None)
            if close is not None:
                await close()

    def reload(self, settings: Settings, targets: Targets) -> None:
        """Other settings from now on; requests under way go on as they began."""
        self.settings, self.targets = settings, targets
        self.conversations.limit(settings.limits.conversations)
        self._routes, self._pools, self._askers = {}, {}, {}

    def asker_for(self, principal: Principal) -> Asker:
        """Sends a principal's requests to providers, on connections of its tenant alone. A repair
        is a loss, so a key that refuses losses has no lessons to repair by."""
        tenant = principal.tenant
        asker = self._askers.get((tenant, principal.refuse_losses))
        if asker is None:
            own = self.transport
            if isinstance(own, Upstream):
                own = TenantTransport(own, tenant)
            repairs = self.settings.repair and not principal.refuse_losses
            lessons = self.lessons.of(tenant or "") if repairs else None
            asker = Asker(self.targets, own, None, self.settings.limits.answer, lessons=lessons)
            if len(self._askers) >= MOST_ASKERS:
                self._askers.clear()
            self._askers[tenant, principal.refuse_losses] = asker
        return asker

    def route(self, name: str | None, front: Front) -> Route:
        """The route of a name, for any dialect: names are the same at every front."""
        name = name or self.settings.default_model
        if not name:
            raise Refusal(400, ErrorKind.INVALID_REQUEST, "the request does not name a model")
        known = self._routes.get((name, front.dialect, front.provider))
        if known is None:
            if len(name) > LONGEST_NAME or not name.isprintable():
                text = f"model: expected a name of at most {LONGEST_NAME} printable characters"
                raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "invalid_model")
            try:
                known = self._find(name, front)
            except (InterlinguaError, ValueError) as error:
                text = f"model {name[:200]!r}: {error}"
                if isinstance(error, AmbiguousModelError):
                    text = str(error)
                elif isinstance(error, UnknownModelError):
                    text = str(error.with_near(nearest(name, self.settings.routes)))
                raise Refusal(404, ErrorKind.INVALID_REQUEST, text, "model_not_found") from None
            if len(self._routes) < MOST_ROUTES:
                self._routes[name, front.dialect, front.provider] = known
        return known

    def route_settings(self, name: str) -> RouteSettings | None:
        """The route with this name, if the settings have one."""
        return find_route(self.settings.routes, name)

    def _find(self, name: str, front: Front) -> Route:
        settings = self.route_settings(name) or RouteSettings(self._meant(name, front))
        pool = [
            (each, self._first_target(each.model, settings, front))
            for each in settings.models or (PoolMember(settings.model),)
        ]
        keys = {name: each.keys for name, each in self.settings.providers.items()}
        members = members_of(pool, keys, settings.timeout, settings.first_byte_timeout)
        rest = [self.targets.find(model) for model in (*settings.fallbacks, *settings.larger)]
        if settings.timeout is not None or settings.first_byte_timeout is not None:
            limits = (settings.timeout, settings.first_byte_timeout)
            rest = [each.deployed("", with_timeouts(each.provider, *limits)) for each in rest]
        caching = "pass" if settings.passthrough else settings.caching or self.settings.caching
        if caching != "auto":
            members = [each.with_caching(caching) for each in members]
            rest = [each.with_caching(caching) for each in rest]
        targets = [*[each.target for each in members], *rest]
        fetches = settings.fetch_media
        fetches = self.settings.fetch_media if fetches is None else fetches
        limited = any(each.rpm or each.tpm for each in members)
        spread = None
        if len(members) > 1 or limited:
            state = self._pools.get(name) or PoolState()
            if len(self._pools) < MOST_ROUTES:
                self._pools[name] = state
            spread = Pool(members, settings.strategy, settings.sticky, state)
        route = Route.to(targets, settings.passthrough, fetches, spread, settings)
        first = targets[0].provider
        return route._replace(key_for=first.key) if first.credentials == CLIENT else route

    def _first_target(self, model: str, settings: RouteSettings, front: Front) -> Target:
        dialect = settings.dialect or self._dialect(model, front)
        return self.targets.find(model, dialect, dialect_is_default=settings.dialect is None)

    def _meant(self, name: str, front: Front) -> str:
        """The model for a name. Names from clients of Ollama go to Ollama, which alone knows its
        models."""
        if front.own_names is not None and front.own_names.match(name):
            return f"{front.provider}:{name}"
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
        """The client's own dialect, if the provider has it: then nothing is translated. The
        bundled local model has only the beginnings of the Responses API, and translating is
        better; wrapped bodies have to be taken apart anyway, so only routes use this for them."""
        target = self.targets.find(model)
        if target.provider.key == LOCAL and front.dialect == RESPONSES.dialect:
            return None
        if not speaks(target.provider, front.dialect, target.model):
            return None
        wrapped = target.provider.dialects[front.dialect].framing is not None
        return None if wrapped else front.dialect

    def may_use_route(self, name: str | None, allowed: frozenset[str]) -> bool:
        """Whether a key with these models may use the route of this name, wherever it leads."""
        name = name or self.settings.default_model
        found = name and route_name(self.settings.routes, name)
        return bool(found) and f"{ROUTE}{found}" in allowed

    def leads_to(self, model: str, allowed: frozenset[str]) -> bool:
        """Whether one of a key's routes leads to this model first."""
        for name in [each.removeprefix(ROUTE) for each in allowed if each.startswith(ROUTE)]:
            route = self.settings.routes.get(name)
            if route is None:
                continue
            before, wildcard, after = route.model.partition(WILDCARD)
            if not wildcard:
                found = self.targets.find(route.model).model == model
            else:
                part = model.removeprefix(before).removesuffix(after)
                beginning = name.removesuffix(WILDCARD)
                client_name = part if part.startswith(beginning) else beginning + part
                meant = find_route(self.settings.routes, client_name)
                found = meant is not None and meant.model == model
            if found:
                return True
        return False

    def allow(self, arrival: Arrival, route: Route) -> Route:
        """The targets that the key may use."""
        allowed = arrival.principal.allowed_models
        if allowed is None or self.may_use_route(arrival.client_model, allowed):
            return route
        open = tuple([target for target in route.targets if target.model in allowed])
        if not open or (route.pool is None and open[0] is not route.targets[0]):
            model = route.targets[0].model
            text = f"this key is not allowed to use {model}"
            raise Refusal(403, ErrorKind.AUTH, text, "model_not_allowed")
        if len(open) == len(route.targets):
            return route
        return route.limited_to(open)
