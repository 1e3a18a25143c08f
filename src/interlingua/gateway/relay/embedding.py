"""Requests for embeddings: in the form of the client, from a model of any provider."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from interlingua.adapt.embeddings.asking import FORMS, estimated, locate, place_of, read_request
from interlingua.adapt.embeddings.form import Form
from interlingua.client.attempt import ErrorReply
from interlingua.client.embedding import Asked, ask
from interlingua.client.errors import CallError
from interlingua.client.retry import Clock
from interlingua.client.targets import Target
from interlingua.errors import ReadError, WriteError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import ATTEMPTS, answer_headers, client_body, client_headers
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, envelope_of, patched
from interlingua.gateway.relay.limits import labels_of
from interlingua.gateway.relay.sending import try_targets
from interlingua.gateway.relay.whole import error_answer
from interlingua.gateway.shared.fronts import CHAT, COHERE, GEMINI, OLLAMA, Match
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Decision, Exchange, Refusal
from interlingua.model.embeddings import EmbedRequest
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Report

_NAMELESS = ("cohere",)
"""Forms whose answers do not name the model."""

MOST_INPUTS = 2048
"""In one request, as at OpenAI."""
_FORMS = {CHAT: "openai", GEMINI: "gemini", COHERE: "cohere", OLLAMA: "ollama"}
_PASSED = frozenset({"openai", "cohere", "ollama"})
"""Forms whose bodies go on as they are to a provider of the same form."""


async def embed(
    gateway: Gateway, exchange: Exchange, match: Match, body: bytes, headers: Mapping[bytes, bytes]
) -> HttpAnswer:
    """The answer to a request for embeddings."""
    form = FORMS[_FORMS[match.front]]
    inbound = _inbound(gateway, exchange, match, body, headers)
    request = _request(form, body, inbound.envelope.model)
    arrival, outcome = exchange.arrival, exchange.outcome
    if arrival.principal.capped:
        media = any(not isinstance(part, int) for each in _listed(request) for part in each)
        most = Most(estimated(request), 0, unbounded=("media",) if media else ())
        reserved = await gateway.caps.reserve(arrival, most, inbound.route.targets)
        outcome.reservation = reserved
        if reserved is not None and len(reserved.targets) < len(inbound.route.targets):
            inbound = inbound._replace(route=inbound.route.limited_to(reserved.targets))
    raw: list[HttpAnswer] = []

    async def once(model: str, clock: Clock) -> HttpAnswer:
        raw.clear()
        target = inbound.route.target(model)
        asked = await _asked(gateway, exchange, inbound, form, request, target, clock, raw)
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
    arrival = replace(exchange.arrival, client_model=envelope.model, stream=False)
    if arrival.principal.budgets:
        arrival = replace(arrival, labels=labels_of(envelope.members, headers))
    exchange.arrival, principal = arrival, arrival.principal
    route = gateway.route(envelope.model, match.front)
    if principal.allowed_models is not None or route.pool is not None:
        route = gateway.allow(arrival, route).placed({}, principal.tenant)
    exchange.decision = Decision(route.targets[0])
    return Inbound(match, match.front, body, headers, envelope, route, None)


def _request(form: Form, body: bytes, model: str | None) -> EmbedRequest:
    try:
        request = read_request(form, body, model)
    except ReadError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None
    if len(request.inputs) > MOST_INPUTS:
        text = f"too many inputs: {len(request.inputs)}, at most {MOST_INPUTS}"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "too_many_inputs")
    return request


def _listed(request: EmbedRequest) -> list[tuple[object, ...]]:
    return [each for each in request.inputs if not isinstance(each, str)]


async def _asked(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    form: Form,
    request: EmbedRequest,
    target: Target,
    clock: Clock,
    raw: list[HttpAnswer],
) -> Asked:
    """What a provider answers; losses of the request are known before it is asked."""
    their_form = place_of(target).form
    report = Report(their_form.name)
    exchange.decision = Decision(target, report)
    own = None
    if their_form is form and form.name in _PASSED and len(request.inputs) <= form.most:
        own = patched(inbound.envelope.members, {"model": target.name})
    elif exchange.arrival.principal.refuse_losses:
        _refuse_losses(their_form, request.replace(model=target.name))

    def hear(reply: ErrorReply) -> None:
        kind = reply.headers.get("content-type", "application/json").encode("latin-1")
        down = [(b"content-type", kind), *client_headers(reply.headers, reply.secrets)]
        raw[:] = [HttpAnswer(reply.status, down, client_body(reply.body, reply.secrets))]

    extra = gateway.trace.headers(exchange, inbound.headers)
    asker = gateway.asker_for(exchange.arrival.principal)
    try:
        asked = await ask(
            asker, request, target, clock, hear, own_body=own, extra=extra, report=report
        )
    except WriteError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error), "input_unsupported") from None
    locate(form, inbound.body, report)
    return asked


def _refuse_losses(form: Form, request: EmbedRequest) -> None:
    report = Report(form.name)
    try:
        form.write(request.replace(inputs=request.inputs[: form.most]), report)
    except WriteError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error), "input_unsupported") from None
    if report:
        text = f"this key rejects lossy translations: {report.losses[0]}"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "lossy_request")


def _answer(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    form: Form,
    request: EmbedRequest,
    asked: Asked,
) -> HttpAnswer:
    """The answer in the client's form: the provider's own bytes where that is the same."""
    arrival, outcome, reply = exchange.arrival, exchange.outcome, asked.reply
    target, usage = reply.target, asked.embeddings.usage
    outcome.usage, outcome.upstream_id = usage, reply.request_id
    if gateway.pricer is not None and usage is not None:
        outcome.cost = gateway.pricer.cost(usage, target.model, arrival.at)
    own = place_of(target).form is form and form.name in _PASSED and len(asked.bodies) == 1
    if own:
        body = client_body(asked.bodies[0], reply.secrets)
        if form.name not in _NAMELESS and arrival.client_model != target.name:
            body = patched(body, {"model": arrival.client_model})
    else:
        assert form.write_answer is not None
        named = asked.embeddings.replace(
            model=arrival.client_model, id=asked.embeddings.id or arrival.id
        )
        body = msgspec.json.encode(form.write_answer(named, request))
    headers = answer_headers(
        exchange, reply.headers, inbound.front, target.dialect.name, reply.secrets
    )
    return HttpAnswer(200, [JSON, *headers], body)
