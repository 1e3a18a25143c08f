"""Requests beside those for messages, which are answered in one piece: embeddings and decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec.structs import replace

from interlingua.client.attempt import ErrorReply, OpenReply
from interlingua.client.errors import CallError
from interlingua.client.retry import Clock
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import ATTEMPTS, answer_headers, client_body, client_headers
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, envelope_of
from interlingua.gateway.relay.limits import labels_of
from interlingua.gateway.relay.sending import try_targets
from interlingua.gateway.relay.whole import error_answer
from interlingua.gateway.shared.fronts import Match
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Decision, Exchange, Refusal
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage


def single_inbound(
    gateway: Gateway, exchange: Exchange, match: Match, body: bytes, headers: Mapping[bytes, bytes]
) -> Inbound:
    """Who is to answer."""
    envelope = envelope_of(match, body)
    name = None if envelope.model is None else envelope.model.removeprefix("models/")
    arrival = replace(exchange.arrival, client_model=name, stream=False)
    if arrival.principal.budgets:
        arrival = replace(arrival, labels=labels_of(envelope.members, headers))
    exchange.arrival, principal = arrival, arrival.principal
    route = gateway.route(name, match.front)
    if principal.allowed_models is not None or route.pool is not None:
        route = gateway.allow(arrival, route).placed({}, principal.tenant)
    if route.by_client:
        route = route.asked_with(arrival.own_key)
    exchange.decision = Decision(route.targets[0])
    return Inbound(match, match.front, body, headers, replace(envelope, model=name), route, None)


async def reserve_single(
    gateway: Gateway, exchange: Exchange, inbound: Inbound, most: Callable[[], Most]
) -> Inbound:
    """The request with its highest cost reserved, for the models whose budget has room for it."""
    arrival, route = exchange.arrival, inbound.route
    if not arrival.principal.capped:
        return inbound
    reserved = await gateway.caps.reserve(arrival, most(), route.targets)
    exchange.outcome.reservation = reserved
    if reserved is None or len(reserved.targets) == len(route.targets):
        return inbound
    return inbound._replace(route=route.limited_to(reserved.targets))


async def answer_single(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    once: Callable[[str, Clock, list[HttpAnswer]], Awaitable[HttpAnswer]],
) -> HttpAnswer:
    """What the first model answers that can; `once` notes the words of an error in its list."""
    raw: list[HttpAnswer] = []

    async def attempt(model: str, clock: Clock) -> HttpAnswer:
        raw.clear()
        return await once(model, clock, raw)

    outcome = exchange.outcome
    try:
        answer = await try_targets(gateway, exchange, inbound, attempt)
    except CallError as error:
        return error_answer(exchange, inbound, error, raw)
    outcome.status = answer.status
    if outcome.attempts > 1:
        answer.headers.append((ATTEMPTS, b"%d" % outcome.attempts))
    if exchange.arrival.principal.capped:
        await gateway.caps.settle(exchange)
    return answer


def hearing(raw: list[HttpAnswer]) -> Callable[[ErrorReply], None]:
    """Notes a provider's own error, for clients of the same dialect."""

    def hear(reply: ErrorReply) -> None:
        kind = reply.headers.get("content-type", "application/json").encode("latin-1")
        down = [(b"content-type", kind), *client_headers(reply.headers, reply.secrets)]
        raw[:] = [HttpAnswer(reply.status, down, client_body(reply.body, reply.secrets))]

    return hear


def refuse_losses(exchange: Exchange, report: Report) -> None:
    if exchange.arrival.principal.refuse_losses and report:
        text = f"this key rejects lossy translations: {report.losses[0]}"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "lossy_request")


def single_answer(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    reply: OpenReply,
    usage: Usage | None,
    body: bytes,
) -> HttpAnswer:
    """A body in the client's form as its answer; its usage is noted."""
    outcome, target = exchange.outcome, reply.target
    outcome.usage, outcome.upstream_id = usage, reply.request_id
    if gateway.pricer is not None and usage is not None:
        outcome.cost = gateway.pricer.cost(usage, target.model, exchange.arrival.at)
    dialect = target.dialect.name
    headers = answer_headers(exchange, reply.headers, inbound.front, dialect, reply.secrets)
    return HttpAnswer(200, [JSON, *headers], body)
