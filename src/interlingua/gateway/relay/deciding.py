"""Requests for decisions: in the form of the client, from a model of any provider."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from interlingua.adapt.decisions.chat import EACH_OPTION, LONGEST_ANSWER
from interlingua.adapt.decisions.form import Form
from interlingua.adapt.decisions.forms import form_of, locate, read_request, write_decisions
from interlingua.client.attempt import ErrorReply
from interlingua.client.deciding import Asked, ask, place_of
from interlingua.client.errors import CallError
from interlingua.client.retry import Clock
from interlingua.errors import ReadError, WriteError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import ATTEMPTS, answer_headers, client_body, client_headers
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, envelope_of
from interlingua.gateway.relay.limits import labels_of
from interlingua.gateway.relay.sending import try_targets
from interlingua.gateway.relay.whole import error_answer
from interlingua.gateway.shared.fronts import DECISIONS, Match
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Decision, Exchange, Refusal
from interlingua.model.blocks import TextBlock
from interlingua.model.decisions import DecisionRequest
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.profiles.estimate.estimator import estimate_input_tokens

MODEL = b"ai-model-id"
"""The header in which clients of Vercel name the model."""
_decode = msgspec.json.Decoder().decode


async def decide(
    gateway: Gateway,
    exchange: Exchange,
    match: Match,
    body: bytes,
    headers: Mapping[bytes, bytes],
    path: str,
) -> HttpAnswer:
    """The answer to a request for decisions."""
    if MODEL in headers:
        match = match._replace(model=headers[MODEL].decode("latin-1"))
    inbound = _inbound(gateway, exchange, match, body, headers)
    form, request = _request(body, DECISIONS[path], inbound.envelope.model)
    arrival, outcome = exchange.arrival, exchange.outcome
    if arrival.principal.capped:
        reserved = await gateway.caps.reserve(arrival, _most(request), inbound.route.targets)
        outcome.reservation = reserved
        if reserved is not None and len(reserved.targets) < len(inbound.route.targets):
            inbound = inbound._replace(route=inbound.route.limited_to(reserved.targets))
    raw: list[HttpAnswer] = []

    async def once(model: str, clock: Clock) -> HttpAnswer:
        raw.clear()
        asked = await _asked(gateway, exchange, inbound, request, model, clock, raw)
        if exchange.decision.report is not None:
            locate(form, request, exchange.decision.report)
        return _answer(gateway, exchange, inbound, form, request, asked)

    try:
        answer = await try_targets(gateway, exchange, inbound, once)
    except CallError as error:
        return error_answer(exchange, inbound, error, raw)
    outcome.status = answer.status
    if outcome.attempts > 1:
        answer.headers.append((ATTEMPTS, b"%d" % outcome.attempts))
    if arrival.principal.capped:
        await gateway.caps.settle(exchange)
    return answer


def _inbound(
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
    exchange.decision = Decision(route.targets[0])
    return Inbound(match, match.front, body, headers, replace(envelope, model=name), route, None)


def _request(body: bytes, named: str, model: str | None) -> tuple[Form, DecisionRequest]:
    try:
        wire = _decode(body)
        form = form_of(wire, named)
        return form, read_request(form, wire, model)
    except ReadError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None


def _most(request: DecisionRequest) -> Most:
    """The most that a request may cost: the conversation and its questions, and a long answer."""
    texts = [each.instructions for each in request.questions]
    texts += [str(option) for each in request.questions for option in each.options]
    messages = [*request.messages, Message.user((TextBlock("\n".join(texts)),))]
    tokens = estimate_input_tokens(messages, (), request.model or "")
    options = sum(len(each.values) for each in request.questions)
    media = any(question.media for question in request.questions)
    return Most(
        tokens + 1000,
        LONGEST_ANSWER + EACH_OPTION * options,
        unbounded=("images in questions",) if media else (),
    )


async def _asked(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    request: DecisionRequest,
    model: str,
    clock: Clock,
    raw: list[HttpAnswer],
) -> Asked:
    """What a provider decides; losses of the request are known before it is asked."""
    target = inbound.route.target(model)
    place = place_of(target)
    report = Report(target.dialect.name if place is None else place.form.name)
    exchange.decision = Decision(target, report)

    def refuse() -> None:
        if exchange.arrival.principal.refuse_losses and report:
            text = f"this key rejects lossy translations: {report.losses[0]}"
            raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "lossy_request")

    def hear(reply: ErrorReply) -> None:
        kind = reply.headers.get("content-type", "application/json").encode("latin-1")
        down = [(b"content-type", kind), *client_headers(reply.headers, reply.secrets)]
        raw[:] = [HttpAnswer(reply.status, down, client_body(reply.body, reply.secrets))]

    extra = gateway.trace.headers(exchange, inbound.headers)
    asker = gateway.asker_for(exchange.arrival.principal)
    try:
        return await ask(
            asker, request, target, clock, hear, extra=extra, report=report, check=refuse
        )
    except WriteError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error), "input_unsupported") from None


def _answer(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    form: Form,
    request: DecisionRequest,
    asked: Asked,
) -> HttpAnswer:
    """The answer in the client's form: the provider's own where that is the same."""
    arrival, outcome, reply = exchange.arrival, exchange.outcome, asked.reply
    target, usage = reply.target, asked.decisions.usage
    outcome.usage, outcome.upstream_id = usage, reply.request_id
    if gateway.pricer is not None and usage is not None:
        outcome.cost = gateway.pricer.cost(usage, target.model, arrival.at)
    named = asked.decisions.replace(model=arrival.client_model, id=asked.decisions.id or arrival.id)
    body = msgspec.json.encode(write_decisions(form, named, request))
    headers = answer_headers(
        exchange, reply.headers, inbound.front, target.dialect.name, reply.secrets
    )
    return HttpAnswer(200, [JSON, *headers], client_body(body, reply.secrets))
