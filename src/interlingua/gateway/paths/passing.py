"""Images, audio, moderations and reranking: passed on to the provider of their model as they are,
with keys, caps, limits and the log of any other request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from interlingua.client.answer import Attempt
from interlingua.client.targets import Target
from interlingua.client.transport import HttpRequest, HttpTransport, Reply
from interlingua.client.transport_errors import Limits, TooLarge, TransportError
from interlingua.dialects.front import Front
from interlingua.gateway.gateway import CLIENT, Gateway
from interlingua.gateway.relay.headers import answer_headers, client_body
from interlingua.gateway.relay.inbound import members_of, patched
from interlingua.gateway.shared.bodies import body_of
from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.feed import PatientResponse
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, COHERE, HOST, HostPath, kind_of
from interlingua.gateway.shared.own_keys import with_own_key
from interlingua.gateway.shared.redaction import refuse_unredacted
from interlingua.gateway.shared.refusals import UNAVAILABLE, unavailable
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Principal, Refusal
from interlingua.gateway.shared.uploads import SpooledForm
from interlingua.model.codec import body_problem
from interlingua.model.exchange import ErrorKind
from interlingua.model.metadata import Usage
from interlingua.providers.provider import Provider, ProviderSetupError

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

_RERANKERS = ("cohere",)
"""Providers with the same path for reranking."""

PASSED = {
    "/v1/images/generations": "images",
    "/v1/images/edits": "images",
    "/v1/images/variations": "images",
    "/v1/audio/speech": "audio",
    "/v1/audio/transcriptions": "audio",
    "/v1/audio/translations": "audio",
    "/v1/moderations": "moderations",
    "/v1/rerank": "rerank",
    "/v2/rerank": "rerank",
}
"""Paths that are passed on, and their names in the log."""
FREE = frozenset({"moderations", "files"})
"""Operations without a cost."""
_USUAL = {"moderations": "openai:omni-moderation-latest"}
"""The model of a request that names none."""
_CHAT = "/chat/completions"
_FILES = "/v1/files"
_MULTIPART = "multipart/form-data"


class Passing:
    """The HTTP client for these requests: one connection each, because they belong to different
    tenants."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._transport = HttpTransport()

    async def close(self) -> None:
        await self._transport.close()

    async def send(self, request: HttpRequest, target: Target) -> Reply:
        usual = target.provider.timeouts
        limits = Limits(usual.connect, usual.first_byte, usual.idle, None)
        return await self._transport.send(request, limits)


class SentBody(NamedTuple):
    """The client's body: a JSON object, or a form."""

    model: str | None
    members: Mapping[str, Any]
    form: SpooledForm | None = None


def begun(
    gateway: Gateway, request: Request, principal: Principal, front: Front, action: str
) -> Exchange:
    """A request that is passed on, from now on among those under way."""
    arrival = Arrival(f"req_{gateway.ids.new()}", front.dialect, principal, action=action)
    if gateway.targets.client_keys:
        arrival = with_own_key(arrival, request.scope)
    exchange = gateway.under_way[arrival.id] = Exchange(arrival)
    return exchange


@asynccontextmanager
async def recorded(gateway: Gateway, exchange: Exchange) -> AsyncIterator[None]:
    """Records the exchange in the log, also when it fails; an answer exists once it is complete."""
    try:
        yield
    except (ApiError, Refusal) as error:
        code = error.code if isinstance(error, ApiError) else error.error.code
        exchange.outcome.fail(error.status, kind_of(error.status), code)
        _over(gateway, exchange)
        error.is_recorded = True
        raise
    except UNAVAILABLE as error:
        refused = unavailable(exchange.arrival.id, exchange.decision.target, error)
        exchange.outcome.fail(refused.status, refused.error.kind, refused.error.code)
        _over(gateway, exchange)
        refused.is_recorded = True
        raise refused from None
    except BaseException:
        exchange.outcome.fail(499, ErrorKind.CANCELLED)
        _over(gateway, exchange)
        raise


async def passed(service: Service, request: Request, principal: Principal) -> Response:
    """The provider's own answer."""
    path = request.url.path
    gateway, action = service.gateway, PASSED[path]
    front = COHERE if path == "/v2/rerank" else CHAT
    exchange = begun(gateway, request, principal, front, action)
    sent: SentBody | None = None
    try:
        async with recorded(gateway, exchange):
            refuse_unredacted(gateway, principal, path)
            sent = await _sent_body(request, service)
            there: HostPath | None = request.scope.get(HOST)
            named = sent.model if there is None else there.deployment or sent.model
            target = _target(gateway, exchange, named or _USUAL.get(action))
            await reserve(gateway, exchange, target, action)
            await gateway.targets.start(target)
            upward = _upward(service, target, sent, path)
            if principal.tenant is not None and upward.body:
                await service.provider_files.require_own(upward.body, principal.tenant)
            return await answered(service, exchange, target, upward)
    finally:
        if sent is not None and sent.form is not None:
            sent.form.close()


def _over(gateway: Gateway, exchange: Exchange) -> None:
    gateway.under_way.pop(exchange.arrival.id, None)
    if exchange.arrival.principal.capped:
        gateway.caps.settle_soon(exchange)
    gateway.trace.finished(exchange)


async def _sent_body(request: Request, service: Service) -> SentBody:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _MULTIPART:
        form = SpooledForm(request, service.limits)
        try:
            await form.read()
        except BaseException:
            form.close()
            raise
        return SentBody(form.model, {}, form)
    try:
        data = await body_of(request, service.limits)
        members = members_of(data)
        model = msgspec.json.decode(members["model"], type=str) if "model" in members else None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ApiError(400, "invalid_request", body_problem(error, data)[:300]) from None
    return SentBody(model, members)


def _target(gateway: Gateway, exchange: Exchange, name: str | None) -> Target:
    """The target. Unknown names belong to the vendor of the path."""
    front = COHERE if exchange.arrival.action == "rerank" else CHAT
    if not name:
        raise ApiError(400, "invalid_request", "model: required")
    exchange.arrival = replace(exchange.arrival, client_model=name)
    try:
        route = gateway.route(name, front)
    except Refusal:
        if ":" in name:
            raise
        route = gateway.route(f"{front.provider}:{name}", front)
    route = gateway.allow(exchange.arrival, route)
    if route.by_client:
        route = route.asked_with(exchange.arrival.own_key)
    target = route.targets[0]
    exchange.decision = Decision(target)
    return target


async def reserve(gateway: Gateway, exchange: Exchange, target: Target, action: str) -> None:
    """Counts the request. Its cost is not known in advance, so a key with a cap on money needs
    permission for it."""
    arrival = exchange.arrival
    if arrival.principal.capped:
        most = (
            Most(0, 0)
            if action in FREE
            else Most(1, 0, unbounded=(f"{action} without a token count",))
        )
        exchange.outcome.reservation = await gateway.caps.reserve(arrival, most, [target])


def path_at(provider: Provider, path: str) -> str:
    """The provider's form of a path of OpenAI's, of Cohere's, or of Anthropic's files."""
    if provider.key in _RERANKERS and path.endswith("/rerank"):
        return path
    messages = provider.dialects.get(ANTHROPIC.dialect)
    if path == _FILES and provider.dialect == ANTHROPIC.dialect and messages is not None:
        return messages.request.removesuffix("/messages") + "/files"
    chat = provider.dialects.get("openai-chat")
    if chat is None or not chat.request.endswith(_CHAT):
        raise ProviderSetupError(provider.key, f"has no {path}")
    return chat.request.removesuffix(_CHAT) + path.removeprefix("/v1").removeprefix("/v2")


def _upward(service: Service, target: Target, sent: SentBody, path: str) -> HttpRequest:
    targets, where = service.gateway.targets, path_at(target.provider, path)
    address = targets.address(target, {}, "request", body=b"", path=where)
    headers = {**address.headers, "accept": "*/*", "accept-encoding": "identity"}
    headers["connection"] = "close"
    if sent.form is None:
        body = patched(sent.members, {"model": target.name})
        return HttpRequest(address.url, headers, body, address.secrets)
    form = sent.form
    headers["content-type"] = form.content_type
    headers["content-length"] = str(form.length(target.name))
    pieces = form.body(target.name)
    return HttpRequest(address.url, headers, b"", address.secrets, pieces=pieces)


async def answered(
    service: Service, exchange: Exchange, target: Target, upward: HttpRequest
) -> Response:
    """The provider's response."""
    gateway, outcome = service.gateway, exchange.outcome
    try:
        reply = await service.passing.send(upward, target)
    except TransportError as error:
        outcome.tries = (Attempt(target.model, ErrorKind.NETWORK),)
        raise ApiError(502, "connection_failed", f"{target.model}: {error}") from None
    outcome.status = reply.status
    outcome.error = kind_of(reply.status) if reply.status >= 400 else None
    outcome.tries = (Attempt(target.model, outcome.error, reply.status),)
    if reply.status in (401, 403) and target.provider.credentials != CLIENT:
        reply.close()  # errors about our key are not for the client
        raise ApiError(
            502, "upstream_auth", f"{target.model}: the provider rejected the key of this gateway"
        )
    kind = reply.headers.get("content-type", "application/json")
    down = _down(exchange, reply, target, upward)
    if reply.status < 300 and not kind.startswith("application/json"):
        pieces = _pieces(gateway, exchange, reply, service.limits.answer)
        stalled = service.limits.stalled
        return PatientResponse(
            pieces, stalled, status_code=reply.status, media_type=kind, headers=down
        )
    try:
        data = await reply.body(service.limits.answer)
    except TooLarge:
        text = f"{target.model}: an answer of more than {service.limits.answer} bytes"
        raise ApiError(502, "upstream_failed", text) from None
    except TransportError as error:
        raise ApiError(502, "upstream_failed", f"{target.model}: {error}") from None
    finally:
        reply.close()
    _note_usage(gateway, exchange, target, data)
    _over(gateway, exchange)
    return Response(client_body(data, upward.secrets), reply.status, down, media_type=kind)


def _down(exchange: Exchange, reply: Reply, target: Target, upward: HttpRequest) -> dict[str, str]:
    """The headers of the answer."""
    dialect, secrets = target.dialect.name, upward.secrets
    found = answer_headers(exchange, reply.headers, CHAT, dialect, secrets)
    return {name.decode(): value.decode("latin-1") for name, value in found}


async def _pieces(
    gateway: Gateway, exchange: Exchange, reply: Reply, most: int
) -> AsyncGenerator[bytes, None]:
    """The answer as it arrives, up to so many bytes."""
    size = 0
    try:
        while data := await reply.chunk():
            size += len(data)
            if size > most:
                raise TransportError("read", f"an answer of more than {most} bytes", sent=True)
            yield data
    except TransportError:
        exchange.outcome.fail(502, ErrorKind.NETWORK)
        raise
    finally:
        reply.close()
        _over(gateway, exchange)


class _Counts(msgspec.Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Counted(msgspec.Struct):
    usage: _Counts | None = None


def _note_usage(gateway: Gateway, exchange: Exchange, target: Target, data: bytes) -> None:
    """Tokens, where the answer has them, and their price, where there is one."""
    try:
        found = msgspec.json.decode(data, type=_Counted).usage
    except (msgspec.DecodeError, UnicodeError):
        return
    if found is None or found.input_tokens is None:
        return
    usage = Usage(found.input_tokens, found.output_tokens or 0)
    exchange.outcome.usage = usage
    if gateway.pricer is not None:
        cost: Decimal | None = gateway.pricer.cost(usage, target.model, exchange.arrival.at)
        exchange.outcome.cost = cost
