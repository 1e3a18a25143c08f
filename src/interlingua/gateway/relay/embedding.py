"""Requests for embeddings: in the form of the client, from a model of any provider."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interlingua.adapt.embeddings.asking import (
    FORMS,
    estimated,
    locate,
    located,
    place_of,
    read_request,
    usage_of,
)
from interlingua.adapt.embeddings.form import Form
from interlingua.adapt.embeddings.google import VERTEX
from interlingua.client.embedding import Asked, Made, ask
from interlingua.client.retry import Clock
from interlingua.client.targets import Target
from interlingua.errors import ReadError, WriteError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import client_body
from interlingua.gateway.relay.inbound import HttpAnswer, Inbound, patched
from interlingua.gateway.relay.single import (
    answer_single,
    hearing,
    refuse_losses,
    reserve_single,
    single_answer,
    single_inbound,
)
from interlingua.gateway.shared.fronts import CHAT, COHERE, GEMINI, OLLAMA, Match
from interlingua.gateway.shared.redaction import note_redacted, redacted, redaction_of
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Decision, Exchange, Refusal
from interlingua.gateway.shared.unserved import not_served
from interlingua.model.blocks import TextBlock
from interlingua.model.decisions import EmbedRequest
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Report

_NAMELESS = ("cohere",)
"""Forms whose answers do not name the model."""

MOST_INPUTS = 2048
"""In one request, as at OpenAI."""
_FORMS = {CHAT.dialect: "openai", GEMINI.dialect: "gemini", COHERE.dialect: "cohere"}
_FORMS[OLLAMA.dialect] = "ollama"
_MISTRAL = b"mistral-client"
"""How Mistral's SDK names itself, which asks at OpenAI's path."""
_PASSED = frozenset({"openai", "mistral", "cohere", "ollama"})
"""Forms whose bodies go on as they are to a provider of the same form."""


async def embed(
    gateway: Gateway, exchange: Exchange, match: Match, body: bytes, headers: Mapping[bytes, bytes]
) -> HttpAnswer:
    """The answer to a request for embeddings."""
    form = _form(match, headers)
    inbound = single_inbound(gateway, exchange, match, body, headers)
    request = _request(form, body, inbound.envelope.model)
    inbound = await reserve_single(gateway, exchange, inbound, lambda: _most(request))
    sent, secrets = request, dict[str, str]()
    if redaction_of(gateway, exchange.arrival.principal) != "off":
        sent, secrets = await redacted(request)

    made: Made = {}

    async def once(model: str, clock: Clock, raw: list[HttpAnswer]) -> HttpAnswer:
        target = inbound.route.target(model)
        asked = await _asked(gateway, exchange, inbound, form, sent, target, clock, raw, made)
        if secrets:
            note_redacted(asked.report, secrets)
        return _answer(gateway, exchange, inbound, form, request, asked)

    answer = await answer_single(gateway, exchange, inbound, once)
    if made and exchange.outcome.usage is None:  # the parts that were made cost something
        exchange.outcome.usage = usage_of([each for each, _, _ in made.values()], request)
    return answer


def _form(match: Match, headers: Mapping[bytes, bytes]) -> Form:
    """The form of the client; those of Mistral and Vertex differ from those of their dialect."""
    if match.front is CHAT and _MISTRAL in headers.get(b"user-agent", b""):
        return FORMS["mistral"]
    is_vertex = match.front.provider == VERTEX.name
    return VERTEX if is_vertex else FORMS[_FORMS[match.front.dialect]]


def _most(request: EmbedRequest) -> Most:
    listed = [each for each in request.inputs if not isinstance(each, str)]
    media = any(not isinstance(part, int | TextBlock) for each in listed for part in each)
    return Most(estimated(request), 0, unbounded=("media",) if media else ())


def _request(form: Form, body: bytes, model: str | None) -> EmbedRequest:
    try:
        request = read_request(form, body, model)
    except ReadError as error:
        if form is VERTEX and b'"content"' not in body:
            text = not_served("POST", ":predict without texts to embed")
            raise Refusal(501, ErrorKind.INVALID_REQUEST, text, "not_implemented") from None
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None
    if len(request.inputs) > MOST_INPUTS:
        text = f"too many inputs: {len(request.inputs)}, at most {MOST_INPUTS}"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "too_many_inputs")
    return request


async def _asked(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    form: Form,
    request: EmbedRequest,
    target: Target,
    clock: Clock,
    raw: list[HttpAnswer],
    made: Made,
) -> Asked:
    """What a provider answers; losses of the request are known before it is asked."""
    their_form = place_of(target).form
    report = Report(their_form.name)
    exchange.decision = Decision(target, report)
    own = None
    is_own = redaction_of(gateway, exchange.arrival.principal) == "off"
    is_own = is_own and their_form is form and form.name in _PASSED
    if is_own and len(request.inputs) <= form.most:
        own = patched(inbound.envelope.members, {"model": target.name})
    elif exchange.arrival.principal.refuse_losses:
        _refuse_losses(exchange, their_form, request.replace(model=target.name), form, inbound.body)

    extra = gateway.trace.headers(exchange, inbound.headers)
    asker = gateway.asker_for(exchange.arrival.principal)
    try:
        asked = await ask(
            *(asker, request, target, clock, hearing(raw)),
            own_body=own,
            extra=extra,
            report=report,
            made=made,
        )
    except WriteError as error:
        raise _unsupported(form, inbound.body, error) from None
    locate(form, inbound.body, report)
    return asked


def _unsupported(form: Form, body: bytes, error: WriteError) -> Refusal:
    text = str(located(form, body, error))
    return Refusal(400, ErrorKind.INVALID_REQUEST, text, "input_unsupported")


def _refuse_losses(
    exchange: Exchange, form: Form, request: EmbedRequest, client_form: Form, body: bytes
) -> None:
    report = Report(form.name)
    try:
        form.write(request.replace(inputs=request.inputs[: form.most]), report)
    except WriteError as error:
        raise _unsupported(client_form, body, error) from None
    refuse_losses(exchange, report)


def _answer(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    form: Form,
    request: EmbedRequest,
    asked: Asked,
) -> HttpAnswer:
    """The answer in the client's form: the provider's own bytes where that is the same."""
    arrival, reply, target = exchange.arrival, asked.reply, asked.reply.target
    own = place_of(target).form is form and form.name in _PASSED and len(asked.bodies) == 1
    if own:
        body = client_body(asked.bodies[0], reply.secrets)
        if form.name not in _NAMELESS and arrival.client_model not in ("", None, target.name):
            body = patched(body, {"model": arrival.client_model})
    else:
        assert form.write_answer is not None
        named = asked.embeddings.replace(
            model=arrival.client_model or target.name, id=asked.embeddings.id or arrival.id
        )
        body = msgspec.json.encode(form.write_answer(named, request))
    return single_answer(gateway, exchange, inbound, reply, asked.embeddings.usage, body)
