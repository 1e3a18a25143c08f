"""The gateway's models as a client for sessions: every call is reserved, settled and traced like a
request of any other client of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from interlingua.client.answer import Answer
from interlingua.client.attempt import Asker
from interlingua.client.client import AsyncClient
from interlingua.client.errors import AuthError, CallError, RateLimitError
from interlingua.client.stream import AsyncStream
from interlingua.errors import InterlinguaError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.sizes import most_of
from interlingua.gateway.state import Exchange, Principal, Refused
from interlingua.losses import Report
from interlingua.model.events import Event, MessageComplete, UsageUpdate
from interlingua.model.exchange import ErrorKind, Request
from interlingua.store.request_rows import SESSIONS


class Metered(AsyncClient):
    """Asks for one principal. What is set aside before a turn begins is used by its first call, so
    that a turn that may not be paid for is refused before anything of it is stored."""

    def __init__(
        self, gateway: Gateway, principal: Principal, session_id: str | None = None
    ) -> None:
        settings = gateway.settings
        super().__init__(
            gateway.targets.providers,
            retry=settings.retry,
            fallback_on=settings.fallback_on,
            budget=gateway.budget,
            transport=gateway.transport,
        )
        self.asker = Asker(gateway.targets, gateway.transport, None, settings.limits.answer)
        self._gateway = gateway
        self._principal = principal
        self._session_id = session_id
        self._held: Exchange | None = None

    async def hold(self, model: str, request: Request) -> None:
        """Set aside what the first call may cost; `Refused` where that is too much."""
        exchange = self._exchange(model)
        self._allow(exchange)
        if self._principal.capped:
            await self._reserve(exchange, request)
            self._held = exchange

    async def _reserve(self, exchange: Exchange, request: Request) -> None:
        target = exchange.target
        assert target is not None
        most = most_of(request, (target,), target.dialect.name)
        exchange.reservation = await self._gateway.caps.reserve(exchange, most, (target,))

    async def release(self) -> None:
        """Nothing was asked."""
        held, self._held = self._held, None
        if held is not None:
            held.error = ErrorKind.CANCELLED
            await self._gateway.caps.settle(held)

    def _exchange(self, model: str) -> Exchange:
        gateway = self._gateway
        return Exchange(
            gateway.new_id(),
            SESSIONS,
            self._principal,
            client_model=model,
            target=gateway.targets.find(model),
            session_id=self._session_id,
        )

    def _allow(self, exchange: Exchange) -> None:
        allowed, target = self._principal.allowed_models, exchange.target
        if allowed is not None and target is not None and target.model not in allowed:
            text = f"this key may not use {target.model}"
            raise Refused(403, ErrorKind.AUTH, text, "model_not_allowed")

    async def started(self, model: str, request: Request, stream: bool) -> Exchange:
        """A call that may be made, with what it may cost set aside."""
        held, self._held = self._held, None
        if held is not None:
            if held.target is not None and held.target.model == model:
                held.stream = stream
                return held
            self._held = held
            await self.release()
        exchange = self._exchange(model)
        exchange.stream = stream
        try:
            self._allow(exchange)
            if self._principal.capped:
                await self._reserve(exchange, request)
        except Refused as refused:
            raise call_error(refused) from None
        return exchange

    async def ended(self, exchange: Exchange, error: BaseException | None) -> None:
        """Whatever became of it."""
        if isinstance(error, CallError):
            exchange.error = error.kind
            exchange.status = error.status or 502
            exchange.attempts, exchange.tries = len(error.attempts), error.attempts
        elif error is not None:
            exchange.error, exchange.status = ErrorKind.CANCELLED, 499
        else:
            exchange.status = 200
        if exchange.principal.capped:
            await self._gateway.caps.settle(exchange)
        self._gateway.trace.finished(exchange)

    async def generate(  # type: ignore[override]  # as much of it as sessions use
        self, model: str, messages: Request, *, dialect: str | None = None
    ) -> Answer:
        exchange = await self.started(model, messages, stream=False)
        try:
            answer = await super().generate(model, messages, dialect=dialect)
        except BaseException as odd:
            await self.ended(exchange, odd)
            raise
        exchange.report = answer.report
        exchange.usage = answer.response.message.metadata.usage
        exchange.stop_reason = answer.response.message.metadata.stop_reason
        exchange.attempts, exchange.tries = len(answer.attempts), answer.attempts
        await self.ended(exchange, None)
        return answer

    def stream(  # type: ignore[override]  # as much of it as sessions use
        self, model: str, messages: Request, *, dialect: str | None = None
    ) -> MeteredStream:
        inner = super().stream(model, messages, dialect=dialect)
        return MeteredStream(self, inner, model, messages)


class MeteredStream:
    """A stream whose usage is watched."""

    def __init__(self, client: Metered, inner: AsyncStream, model: str, request: Request) -> None:
        self._client = client
        self._inner = inner
        self._model = model
        self._request = request
        self._exchange: Exchange | None = None
        self._error: CallError | None = None

    @property
    def report(self) -> Report | None:
        return self._inner.report

    async def __aenter__(self) -> Self:
        exchange = await self._client.started(self._model, self._request, stream=True)
        try:
            await self._inner.__aenter__()
        except BaseException as odd:
            await self._client.ended(exchange, odd)
            raise
        self._exchange = exchange
        exchange.report = self._inner.report
        exchange.attempts = len(self._inner.attempts)
        exchange.tries = self._inner.attempts
        exchange.first_byte_ms = exchange.elapsed_ms()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._inner.__aexit__(kind, error, trace)
        finally:
            exchange, self._exchange = self._exchange, None
            if exchange is not None:
                await self._client.ended(exchange, error or self._error)

    async def __aiter__(self) -> AsyncIterator[Event]:
        exchange = self._exchange
        assert exchange is not None
        try:
            async for event in self._inner:
                if isinstance(event, UsageUpdate):
                    exchange.usage = event.usage
                elif isinstance(event, MessageComplete):
                    metadata = event.response.message.metadata
                    exchange.usage = metadata.usage or exchange.usage
                    exchange.stop_reason = metadata.stop_reason
                yield event
        except CallError as odd:
            self._error = odd
            raise


def call_error(refused: Refused) -> InterlinguaError:
    """A refusal of ours as a call that failed."""
    said = refused.error
    kind = RateLimitError if said.kind is ErrorKind.RATE_LIMIT else AuthError
    return kind(said.message, status=refused.status, code=said.code)
