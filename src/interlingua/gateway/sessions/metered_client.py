"""The gateway's models as a client for sessions: every call is reserved, settled and traced like a
request of any other client of the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from interlingua.client.answer import Answer, Attempt, Call, Middleware
from interlingua.client.attempt import Asker
from interlingua.client.client import AsyncClient
from interlingua.client.errors import AuthError, CallError, RateLimitError, ServerError
from interlingua.client.retry import Clock
from interlingua.client.targets import Prepared
from interlingua.dialects.front import Front
from interlingua.errors import InterlinguaError
from interlingua.gateway.gateway import Gateway, Route
from interlingua.gateway.pools import ConversationName
from interlingua.gateway.relay.limits import answer_limit, limited
from interlingua.gateway.relay.replaced import tokens_of
from interlingua.gateway.relay.sending import with_route
from interlingua.gateway.shared.redaction import RedactingAsker, redaction_of
from interlingua.gateway.shared.sizes import most_of, output_limit
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Principal, Refusal
from interlingua.model.events import Event, UsageUpdate
from interlingua.model.exchange import ErrorKind, Request
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.reasons import because
from interlingua.routing.swap import split_override
from interlingua.sessions.core import ROUTE_NAME
from interlingua.sessions.session import AsyncSession
from interlingua.store.request_costs import SESSIONS

T = TypeVar("T")
FRONT = Front(dialect=SESSIONS, provider="", paths={})
"""Turns have no front: each model is called in its own dialect."""


class MeteredClient(AsyncClient):
    """A client for one principal, through the gateway's own upstream."""

    def __init__(
        self, gateway: Gateway, principal: Principal, session_id: str | None = None
    ) -> None:
        settings = gateway.settings
        self.meter = Meter(gateway, principal, session_id)
        super().__init__(
            gateway.targets.providers,
            retry=settings.retry,
            middleware=[self.meter],
            fallback_on=settings.fallback_on,
            budget=gateway.budget,
            transport=gateway.transport,
        )
        self.asker = self._asker()

    def _asker(self) -> Asker:
        gateway, meter = self.meter._gateway, self.meter
        asker = gateway.asker_for(meter.principal)
        return RedactingAsker(asker, lambda: redaction_of(gateway, meter.principal))

    async def act_for(self, key_id: str) -> Principal:
        """Ask with the authority of this key from now on; `Refusal` if the key is void."""
        gateway = self.meter._gateway
        principal = await gateway.keys.current(Principal(key_id), looked_up=True)
        await self.release()
        self.meter.principal = principal
        self.asker = self._asker()
        return principal

    def for_worker(self, route_name: str | None) -> MeteredClient:
        """A client for a worker of the turn, with this name for its model."""
        meter = self.meter
        client = MeteredClient(meter._gateway, meter.principal, meter._session_id)
        client.meter.route_name = route_name
        return client

    def name_route(
        self, session: AsyncSession, message: Message | None = None, override: str | None = None
    ) -> None:
        """Uses the route whose name the turn's model was requested by, if it is a route's."""
        if override is None and message is not None:
            override = split_override(message.text)[0]
        if override is None and session.model is None:
            override = self.meter._gateway.settings.default_model
        policy = session.row.routing_policy or {}
        self.meter.route_name = override or policy.get(ROUTE_NAME)

    async def hold(self, model: str, request: Request) -> None:
        """Reserves the cost of the first call; `Refusal` if that is too much."""
        await self.meter.hold(model, request)

    async def release(self) -> None:
        """Release the reservation: no request was sent."""
        await self.meter.release()

    def tries(
        self, call: Call, once: Callable[[str, Clock], Awaitable[T]]
    ) -> Awaitable[tuple[T, tuple[Attempt, ...]]]:
        """Attempts by the call's route, if it has one."""
        metered = self.meter._under_way.get(call.id)
        if metered is None or not call.targets:
            return super().tries(call, once)
        size = sum(len(message.text) for message in call.request.messages)
        gateway, exchange, route = self.meter._gateway, metered.exchange, metered.route
        return with_route(gateway, exchange, route, call, once, size)


class MeteredCall(NamedTuple):
    """A call, and its possible targets."""

    exchange: Exchange
    route: Route


class Meter(Middleware):
    """Reserves before a call and settles after it. The reservation before a turn is used by its
    first call, so a turn that cannot be paid for is refused before any of it is stored."""

    def __init__(self, gateway: Gateway, principal: Principal, session_id: str | None) -> None:
        self.principal = principal
        self._gateway = gateway
        self._session_id = session_id
        self.route_name: str | None = None
        """The requested name of the turn's model, if it is a route's."""
        self._held: MeteredCall | None = None
        self._under_way: dict[str, MeteredCall] = {}
        self._changes: dict[str, Report] = {}

    async def renew(self) -> Principal:
        """The principal with the rights its key has now; `Refusal` if the key is void."""
        self.principal = await self._gateway.keys.current(self.principal, looked_up=True)
        return self.principal

    async def hold(self, model: str, request: Request) -> None:
        await self.renew()
        metered = self._metered(model)
        if self.principal.capped:
            self._held = await self._reserve(metered, request)

    async def release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.exchange.outcome.error = ErrorKind.CANCELLED
            await self._gateway.caps.settle(held.exchange)

    def _metered(self, model: str) -> MeteredCall:
        """A call of this model, by the name of its route; `Refusal` where the key may not."""
        gateway, named = self._gateway, self.route_name
        meant = None if named is None else gateway.route_settings(named)
        if named is None or meant is None or gateway.targets.find(meant.model).model != model:
            named = model
        arrival = Arrival(
            f"req_{gateway.ids.new()}",
            SESSIONS,
            self.principal,
            client_model=named,
            session_id=self._session_id,
        )
        route = gateway.route(named, FRONT)
        if all(target.model != model for target in route.targets):
            route = Route.to([gateway.targets.find(model)])
        route = self._allowed(arrival, route)
        if route.pool is not None:
            name = ConversationName(f"{self.principal.tenant}\0{self._session_id}")
            route = route.ordered(route.pool, name)
        return MeteredCall(Exchange(arrival, Decision(route.targets[0])), route)

    def _is_routed(self, metered: MeteredCall) -> bool:
        """Whether the settings define more of the request than its model."""
        arrival, route = metered.exchange.arrival, metered.route
        if len(route.targets) > 1 or route.pool is not None:
            return True
        return self._gateway.route_settings(arrival.client_model or "") is not None

    def _allowed(self, arrival: Arrival, route: Route) -> Route:
        """The targets that the key may use; one of its routes may lead to the first."""
        try:
            return self._gateway.allow(arrival, route)
        except Refusal:
            allowed = arrival.principal.allowed_models or frozenset()
            if not self._gateway.leads_to(route.targets[0].model, allowed):
                raise
        return route.limited_to(route.targets[:1])

    async def _reserve(self, metered: MeteredCall, request: Request) -> MeteredCall:
        """The call with its cost reserved, and the targets whose budget has room for it."""
        exchange, route = metered
        short, _ = self._limited(metered, request)
        dialect = route.targets[0].dialect.name
        most = most_of(short, route.targets, dialect)
        shortens = output_limit(request, dialect) is None
        reserved = exchange.outcome.reservation = await self._gateway.caps.reserve(
            exchange.arrival, most, route.targets, shortens=shortens
        )
        if reserved is None or len(reserved.targets) == len(route.targets):
            return metered
        fewer = route.limited_to(reserved.targets)
        return MeteredCall(exchange, fewer._replace(conversation=route.conversation))

    def _limited(self, metered: MeteredCall, request: Request) -> tuple[Request, Report | None]:
        """The request with the limit of its answer that its key, its route and its caps set."""
        exchange, route = metered
        tokens = getattr(exchange.outcome.reservation, "shortened_to", None)
        if tokens is not None:
            return limited(request, SESSIONS, tokens, because("output_limit_by_cap", tokens=tokens))
        if not (self.principal.limits_answers or route.limits_answers):
            return request, None
        return answer_limit(request, SESSIONS, self.principal, route.settings)

    async def _started(self, model: str, request: Request) -> MeteredCall:
        """A call that is allowed, with its highest cost reserved."""
        try:
            await self.renew()
            metered, held = self._metered(model), self._held
            names = (each.exchange.arrival.client_model for each in (held, metered) if each)
            if held is not None and len(set(names)) == 1:
                self._held = None
                return held
            await self.release()
            if self.principal.capped:
                metered = await self._reserve(metered, request)
        except Refusal as refused:
            raise call_error(refused) from None
        return metered

    # What happens to each call.

    async def request(self, call: Call) -> Call:
        metered = await self._started(call.models[0], call.request)
        exchange, route = metered
        if call.stream:
            exchange.arrival = replace(exchange.arrival, stream=True)
        self._under_way[call.id] = metered
        self._gateway.under_way[exchange.arrival.id] = exchange
        if self._is_routed(metered):
            call = call.replace(
                models=route.models,
                targets=dict(zip(route.models, route.targets, strict=True)),
                deadline=route.settings.deadline,
            )
        request, changes = self._limited(metered, call.request)
        if changes is None:
            return call
        self._changes[call.id] = changes
        return call.replace(request=request)

    def sending(self, call: Call, prepared: Prepared) -> None:
        if call.id in self._changes:
            prepared.report.extend(self._changes.pop(call.id))
        self._under_way[call.id].exchange.decision = Decision(prepared.target, prepared.report)

    def event(self, call: Call, event: Event) -> Event:
        exchange = self._under_way[call.id].exchange
        outcome = exchange.outcome
        if outcome.first_byte_ms is None:
            outcome.first_byte_ms = exchange.arrival.elapsed_ms()
        if type(event) is UsageUpdate:
            outcome.usage = event.usage
        return event

    async def answer(self, call: Call, answer: Answer) -> Answer:
        exchange = self._under_way.pop(call.id).exchange
        outcome, metadata = exchange.outcome, answer.response.message.metadata
        exchange.decision = Decision(exchange.decision.target, answer.report)
        outcome.status, outcome.tries = 200, answer.attempts
        outcome.usage = metadata.usage or outcome.usage
        outcome.stop_reason = metadata.stop_reason
        if outcome.leave_pool is not None:
            outcome.leave_pool(tokens_of(outcome.usage))
        self._gateway.under_way.pop(exchange.arrival.id, None)
        if exchange.arrival.principal.capped:
            await self._gateway.caps.settle(exchange)
        self._gateway.trace.finished(exchange)
        return answer

    def error(self, call: Call, error: CallError) -> CallError:
        metered = self._under_way.pop(call.id, None)
        if metered is not None:
            metered.exchange.outcome.tries = error.attempts
            cancelled = error.kind is ErrorKind.CANCELLED
            self._failed(metered.exchange, error.kind, 499 if cancelled else error.status or 502)
        return error

    def dropped(self, call: Call) -> None:
        metered = self._under_way.pop(call.id, None)
        if metered is not None:
            self._failed(metered.exchange, ErrorKind.CANCELLED, 499)

    def _failed(self, exchange: Exchange, kind: ErrorKind, status: int) -> None:
        outcome = exchange.outcome
        self._gateway.under_way.pop(exchange.arrival.id, None)
        outcome.fail(status, kind)
        if outcome.leave_pool is not None:
            outcome.leave_pool(tokens_of(outcome.usage))
        if exchange.arrival.principal.capped:
            self._gateway.caps.settle_soon(exchange)
        self._gateway.trace.finished(exchange)


def call_error(refused: Refusal) -> InterlinguaError:
    """A refusal of ours as a call that failed."""
    error = refused.error
    kind = _CALL_ERRORS.get(error.kind, AuthError)
    return kind(error.message, status=refused.status, code=error.code)


_CALL_ERRORS: dict[ErrorKind, type[CallError]] = {
    ErrorKind.RATE_LIMIT: RateLimitError,
    ErrorKind.SERVER_ERROR: ServerError,
}
