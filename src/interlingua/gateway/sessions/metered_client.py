"""The gateway's models as a client for sessions: every call is reserved, settled and traced like a
request of any other client of the gateway."""

from __future__ import annotations

from msgspec.structs import replace

from interlingua.client.answer import Answer, Call, Middleware
from interlingua.client.client import AsyncClient
from interlingua.client.errors import AuthError, CallError, RateLimitError, ServerError
from interlingua.client.targets import Prepared
from interlingua.errors import InterlinguaError
from interlingua.gateway.gateway import NO_ROUTE, Gateway
from interlingua.gateway.relay.limits import answer_limit, limited
from interlingua.gateway.shared.sizes import most_of, output_limit
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Principal, Refusal
from interlingua.model.events import Event, UsageUpdate
from interlingua.model.exchange import ErrorKind, Request
from interlingua.model.losses import Report
from interlingua.model.reasons import because
from interlingua.store.requests import SESSIONS


class MeteredClient(AsyncClient):
    """Asks for one principal, by the gateway's own way to its providers."""

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
        self.asker = gateway.asker_for(principal)

    async def act_for(self, key_id: str) -> Principal:
        """Ask with the authority of this key from now on; `Refusal` if the key is void."""
        gateway = self.meter._gateway
        principal = await gateway.keys.current(Principal(key_id), looked_up=True)
        await self.release()
        self.meter.principal = principal
        self.asker = gateway.asker_for(principal)
        return principal

    async def hold(self, model: str, request: Request) -> None:
        """Set aside what the first call may cost; `Refusal` where that is too much."""
        await self.meter.hold(model, request)

    async def release(self) -> None:
        """Nothing was asked."""
        await self.meter.release()


class Meter(Middleware):
    """Reserves before a call and settles after it. What is set aside before a turn begins is used
    by its first call, so that a turn that may not be paid for is refused before anything of it is
    stored."""

    def __init__(self, gateway: Gateway, principal: Principal, session_id: str | None) -> None:
        self.principal = principal
        self._gateway = gateway
        self._session_id = session_id
        self._held: Exchange | None = None
        self._under_way: dict[str, Exchange] = {}
        self._changes: dict[str, Report] = {}

    async def renew(self) -> Principal:
        """The principal with the rights its key has now; `Refusal` if the key is void."""
        self.principal = await self._gateway.keys.current(self.principal, looked_up=True)
        return self.principal

    async def hold(self, model: str, request: Request) -> None:
        await self.renew()
        exchange = self._exchange(model)
        self._allow(exchange)
        if self.principal.capped:
            await self._reserve(exchange, request)
            self._held = exchange

    async def release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.outcome.error = ErrorKind.CANCELLED
            await self._gateway.caps.settle(held)

    def _exchange(self, model: str) -> Exchange:
        gateway = self._gateway
        arrival = Arrival(
            f"req_{gateway.ids.new()}",
            SESSIONS,
            self.principal,
            client_model=model,
            session_id=self._session_id,
        )
        return Exchange(arrival, Decision(gateway.targets.find(model)))

    def _allow(self, exchange: Exchange) -> None:
        allowed, target = self.principal.allowed_models, exchange.decision.target
        if allowed is None or target is None or target.model in allowed:
            return
        if not self._gateway.leads_to(target.model, allowed):
            text = f"this key is not allowed to use {target.model}"
            raise Refusal(403, ErrorKind.AUTH, text, "model_not_allowed")

    async def _reserve(self, exchange: Exchange, request: Request) -> None:
        target = exchange.decision.target
        assert target is not None
        short, _ = self._limited(exchange, request)
        most = most_of(short, (target,), target.dialect.name)
        shortens = output_limit(request, target.dialect.name) is None
        exchange.outcome.reservation = await self._gateway.caps.reserve(
            exchange.arrival, most, (target,), shortens=shortens
        )

    def _limited(self, exchange: Exchange, request: Request) -> tuple[Request, Report | None]:
        """The request with the limit of its answer that its key and its caps set."""
        tokens = getattr(exchange.outcome.reservation, "shortened_to", None)
        if tokens is not None:
            return limited(request, SESSIONS, tokens, because("output_limit_by_cap", tokens=tokens))
        if not self.principal.limits_answers:
            return request, None
        return answer_limit(request, SESSIONS, self.principal, NO_ROUTE)

    async def _started(self, model: str, request: Request) -> Exchange:
        """A call that may be made, with what it may cost set aside."""
        try:
            await self.renew()
            exchange = self._exchange(model)
            self._allow(exchange)
            held = self._held
            if held is not None and held.decision.target == exchange.decision.target:
                self._held = None
                return held
            await self.release()
            if self.principal.capped:
                await self._reserve(exchange, request)
        except Refusal as refused:
            raise call_error(refused) from None
        return exchange

    # What happens to each call.

    async def request(self, call: Call) -> Call:
        exchange = await self._started(call.models[0], call.request)
        if call.stream:
            exchange.arrival = replace(exchange.arrival, stream=True)
        self._under_way[call.id] = exchange
        request, changes = self._limited(exchange, call.request)
        if changes is None:
            return call
        self._changes[call.id] = changes
        return call.replace(request=request)

    def sending(self, call: Call, prepared: Prepared) -> None:
        if call.id in self._changes:
            prepared.report.extend(self._changes.pop(call.id))
        self._under_way[call.id].decision = Decision(prepared.target, prepared.report)

    def event(self, call: Call, event: Event) -> Event:
        exchange = self._under_way[call.id]
        outcome = exchange.outcome
        if outcome.first_byte_ms is None:
            outcome.first_byte_ms = exchange.arrival.elapsed_ms()
        if type(event) is UsageUpdate:
            outcome.usage = event.usage
        return event

    async def answer(self, call: Call, answer: Answer) -> Answer:
        exchange = self._under_way.pop(call.id)
        outcome, metadata = exchange.outcome, answer.response.message.metadata
        exchange.decision = Decision(exchange.decision.target, answer.report)
        outcome.status, outcome.tries = 200, answer.attempts
        outcome.usage = metadata.usage or outcome.usage
        outcome.stop_reason = metadata.stop_reason
        if exchange.arrival.principal.capped:
            await self._gateway.caps.settle(exchange)
        self._gateway.trace.finished(exchange)
        return answer

    def error(self, call: Call, error: CallError) -> CallError:
        exchange = self._under_way.pop(call.id, None)
        if exchange is not None:
            exchange.outcome.tries = error.attempts
            cancelled = error.kind is ErrorKind.CANCELLED
            self._failed(exchange, error.kind, 499 if cancelled else error.status or 502)
        return error

    def dropped(self, call: Call) -> None:
        exchange = self._under_way.pop(call.id, None)
        if exchange is not None:
            self._failed(exchange, ErrorKind.CANCELLED, 499)

    def _failed(self, exchange: Exchange, kind: ErrorKind, status: int) -> None:
        exchange.outcome.fail(status, kind)
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
