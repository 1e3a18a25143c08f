"""Requests for decisions: in the form of the client, from a model of any provider."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from interlingua.adapt.decisions.chat import EACH_OPTION, LONGEST_ANSWER
from interlingua.adapt.decisions.form import Form
from interlingua.adapt.decisions.forms import form_of, locate, read_request, write_decisions
from interlingua.client.deciding import Asked, ask, place_of
from interlingua.client.retry import Clock
from interlingua.errors import ReadError, WriteError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import client_body
from interlingua.gateway.relay.inbound import HttpAnswer, Inbound
from interlingua.gateway.relay.single import (
    answer_single,
    hearing,
    refuse_losses,
    reserve_single,
    single_answer,
    single_inbound,
)
from interlingua.gateway.shared.fronts import Match, decision_form
from interlingua.gateway.shared.redaction import (
    RestoringAdapter,
    note_redacted,
    redacted,
    redaction_of,
)
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Decision, Exchange, Refusal
from interlingua.model.blocks import TextBlock
from interlingua.model.decisions import DecisionRequest, Decisions
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
    inbound = single_inbound(gateway, exchange, match, body, headers)
    form, request = _request(body, decision_form(path), inbound.envelope.model)
    inbound = await reserve_single(gateway, exchange, inbound, lambda: _most(request))
    sent, secrets = request, dict[str, str]()
    if redaction_of(gateway, exchange.arrival.principal) != "off":
        sent, secrets = await redacted(request)

    async def once(model: str, clock: Clock, raw: list[HttpAnswer]) -> HttpAnswer:
        asked = await _asked(gateway, exchange, inbound, sent, model, clock, raw)
        report = exchange.decision.report
        assert report is not None, "made before a model is asked"
        locate(form, request, report)
        if secrets:
            note_redacted(report, secrets)
        decisions = _restored(asked.decisions, secrets) if secrets else asked.decisions
        return _answer(
            gateway, exchange, inbound, form, request, asked._replace(decisions=decisions)
        )

    return await answer_single(gateway, exchange, inbound, once)


def _restored(decisions: Decisions, secrets: dict[str, str]) -> Decisions:
    """The answers in the client's own words: an option may have been one of the secrets."""
    words = RestoringAdapter(secrets=secrets).json
    answers = [
        each.replace(
            name=words(each.name),
            value=words(each.value),
            probabilities=tuple([p.replace(value=words(p.value)) for p in each.probabilities]),
        )
        for each in decisions.answers
    ]
    return decisions.replace(answers=tuple(answers))


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

    extra = gateway.trace.headers(exchange, inbound.headers)
    asker = gateway.asker_for(exchange.arrival.principal)
    try:
        return await ask(
            *(asker, request, target, clock, hearing(raw)),
            extra=extra,
            report=report,
            check=partial(refuse_losses, exchange, report),
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
    arrival, decisions = exchange.arrival, asked.decisions
    model = arrival.client_model or decisions.model
    named = decisions.replace(model=model, id=decisions.id or arrival.id)
    report = exchange.decision.report
    body = msgspec.json.encode(write_decisions(form, named, request, report))
    if report is not None:
        locate(form, request, report)
    body = client_body(body, asked.reply.secrets)
    return single_answer(gateway, exchange, inbound, asked.reply, decisions.usage, body)
