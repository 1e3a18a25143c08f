"""One request through the gateway, answered in one piece."""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from interlingua.adapt.history.retell import retell
from interlingua.adapt.refusals import with_category
from interlingua.adapt.transformations import carried
from interlingua.client.attempt import OpenReply
from interlingua.client.errors import CallError
from interlingua.client.fetching import MediaCache
from interlingua.client.retry import Clock
from interlingua.client.targets import LOCAL, Prepared, Target
from interlingua.costs.cost import with_runs
from interlingua.dialects.front import Front, Wire
from interlingua.gateway.gateway import CLIENT, CROWDED, Gateway, next_round
from interlingua.gateway.relay.headers import ATTEMPTS, answer_headers
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, note_owner, patched
from interlingua.gateway.relay.passthrough import peek_usage
from interlingua.gateway.relay.replaced import replacing, restore
from interlingua.gateway.relay.sending import (
    CUT,
    is_cut,
    may_be_cut,
    note_cache,
    prepare,
    send,
    try_targets,
)
from interlingua.gateway.shared.fronts import STATUSES, codec_of, error_body, front_of
from interlingua.gateway.shared.state import Arrival, Exchange, Recall
from interlingua.gateway.upstream.transport import FINISHED
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.metadata import StopReason, Usage

ANTHROPIC = "anthropic"
REFUSED = (StopReason.REFUSAL, StopReason.CONTENT_FILTER)
_decode = msgspec.json.Decoder(Wire).decode
_encode = msgspec.json.Encoder().encode
_DIAGNOSED = re.compile(rb'"cache_miss_reason"|"prompt_cache_diagnostics": ?\{')
"""In an answer with the reason for a missed prompt cache."""


async def relay(gateway: Gateway, exchange: Exchange, inbound: Inbound) -> HttpAnswer:
    """The answer, in the client's dialect."""
    raw: list[HttpAnswer] = []
    fetched: MediaCache = {}
    cut: list[HttpAnswer] = []

    async def once(model: str, clock: Clock) -> HttpAnswer:
        raw.clear()
        target = inbound.route.target(model)
        prepared, recall = await prepare(gateway, exchange, inbound, target, fetched)
        if len(gateway.under_way) >= CROWDED:
            await next_round()
        opened = await send(gateway, exchange, inbound, prepared, clock, False, raw)
        body = await opened.body(gateway.settings.limits.answer)
        exchange.outcome.upstream_id = opened.request_id
        if len(gateway.under_way) >= CROWDED:
            await next_round()
        answer = await answer_of(gateway, exchange, inbound, opened, body, recall)
        if may_be_cut(inbound, prepared.target) and is_cut(body):
            cut.append(answer)
            if inbound.route.settings.larger:
                await replacing(gateway, exchange, inbound)
            raise opened.refusal(CUT)
        return answer

    try:
        answer = await try_targets(gateway, exchange, inbound, once)
    except CallError as error:
        if not cut:
            return error_answer(exchange, inbound, error, raw)
        answer = cut[-1]  # better than none
        if exchange.outcome.replaced:
            restore(gateway, exchange)
        exchange.outcome.error = CUT.kind
    outcome = exchange.outcome
    outcome.status = answer.status
    if len(outcome.tries) > 1:
        answer.headers.append((ATTEMPTS, b"%d" % outcome.attempts))
    return answer


async def answer_of(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    opened: OpenReply,
    body: bytes,
    recall: Recall | None,
) -> HttpAnswer:
    """A provider's answer as one for the client."""
    prepared, arrival, front = opened.prepared, exchange.arrival, inbound.front
    target, principal = prepared.target, arrival.principal
    changed = inbound.ours or prepared.answer_adapter is not None
    same = target.dialect.name == front.dialect and not changed
    peeks = same and not principal.keep_content and _DIAGNOSED.search(body) is None
    peek = peek_usage(front.dialect, body) if peeks else None
    if peek is not None:
        _note_usage(gateway, exchange, target, *peek)
        return _passed_on(exchange, inbound, opened, body)
    response = opened.read(body)
    metadata = response.message.metadata
    exchange.outcome.heard = len(body)
    exchange.outcome.cache = metadata.cache_diagnosis
    exchange.outcome.answered_by = metadata.response_model
    used, id = (with_runs(response.message), metadata.stop_reason), metadata.response_id
    _note_usage(gateway, exchange, target, *used, response_id=id)
    if inbound.to_keep is not None and gateway.responses is not None:
        echo = echoed(response, arrival, target)
        await gateway.responses.keep(inbound.to_keep, echo, arrival, target.dialect.name)
    if front.stored is not None:
        note_owner(gateway, arrival, target, response, inbound.route.pool)
    if same:
        return _passed_on(exchange, inbound, opened, body)
    if len(gateway.under_way) >= CROWDED:
        await next_round()
    if recall is not None:
        await gateway.memory.keep(response, arrival, recall)
    if metadata.input_transformations:
        response = retold_transformations(response, prepared, front.dialect, inbound.body)
    return _answer(exchange, inbound, opened, written(response, exchange, target, inbound))


def retold_transformations(
    response: Response, prepared: Prepared, dialect: str, body: bytes
) -> Response:
    """The response with the thinking that the provider left out, in the client's words."""
    try:
        sent, received = _decode(prepared.http.body), _decode(body)
    except msgspec.DecodeError:
        return response
    return carried(response, prepared.target.dialect.name, dialect, sent, received)


def _answer(exchange: Exchange, inbound: Inbound, opened: OpenReply, body: bytes) -> HttpAnswer:
    dialect, secrets = opened.prepared.target.dialect.name, opened.prepared.http.secrets
    headers = answer_headers(exchange, opened.reply.headers, inbound.front, dialect, secrets)
    return HttpAnswer(200, [JSON, *headers], body)


def _note_usage(
    gateway: Gateway,
    exchange: Exchange,
    target: Target,
    usage: Usage | None,
    stop_reason: StopReason | None,
    response_id: str | None = None,
) -> None:
    outcome = exchange.outcome
    if usage is not None and FINISHED.get() is not None:
        usage = usage.replace(service_tier="batch")
    outcome.usage, outcome.stop_reason = usage, stop_reason
    if gateway.pricer is not None and usage is not None:
        at, by = exchange.arrival.at, outcome.answered_by
        outcome.cost = gateway.pricer.cost(usage, target.model, at, by)
    if outcome.compared is not None:
        note_cache(gateway, exchange, response_id)


def _passed_on(exchange: Exchange, inbound: Inbound, opened: OpenReply, body: bytes) -> HttpAnswer:
    """The provider's own bytes, but for the model's name."""
    front, target = inbound.front, opened.prepared.target
    if target.provider.key == LOCAL:  # it is ours, and leaves out what others promise
        body = _with_promised_members(front, inbound.body, body)
    if inbound.envelope.model not in ("", None, target.name) and inbound.match.model is None:
        body = patched(body, {"model": inbound.envelope.model})
    return _answer(exchange, inbound, opened, body)


def _with_promised_members(front: Front, request_body: bytes, body: bytes) -> bytes:
    """An answer with the members that its API promises even when they are empty."""
    try:
        return _encode(front.filler(request_body).whole(_decode(body)))
    except msgspec.DecodeError:
        return body


def written(response: Response, exchange: Exchange, target: Target, inbound: Inbound) -> bytes:
    front = inbound.front
    if exchange.outcome.cache is not None:
        response = diagnosed(response, exchange, inbound)
    if response.message.metadata.stop_reason in REFUSED and front.dialect == ANTHROPIC:
        response = with_category(response, target.dialect.name)
    response = echoed(response, exchange.arrival, target)
    if front.restyle is not None:
        response = front.restyle(response)
    codec = codec_of(front.dialect)
    retold = retell(response, codec, source=target.dialect.name)
    done = codec.write_response(retold.value, retold.recorder)
    if done.report.entries and exchange.decision.report is not None:
        exchange.decision.report.extend(done.report)
    return _encode(front.filler(inbound.body).whole(done.wire))


def diagnosed(response: Response, exchange: Exchange, inbound: Inbound) -> Response:
    """The answer with the reason why the cache was missed, for a client that asks for it."""
    found, request = exchange.outcome.cache, inbound.request
    if found is None or request is None or request.options.cache_comparison is None:
        return response
    message = response.message
    metadata = replace(message.metadata, cache_diagnosis=found)
    return replace(response, message=replace(message, metadata=metadata))


def fallback_id(arrival: Arrival) -> str | None:
    """An id for an answer whose provider has none, where a client may expect one and the dialect
    makes none of its own."""
    return arrival.id if front_of(arrival.front).needs_id else None


def echoed(response: Response, arrival: Arrival, target: Target) -> Response:
    """The answer with the name that the client asked for; the model's own if it asked for none.
    The provider's word for its end is left out: in the client's dialect the same word may mean
    something else."""
    message = response.message
    metadata = replace(
        message.metadata,
        response_model=arrival.client_model or target.name,
        response_id=message.metadata.response_id or fallback_id(arrival),
        raw_stop_reason=None,
    )
    return replace(response, message=replace(message, metadata=metadata))


def error_answer(
    exchange: Exchange, inbound: Inbound, error: CallError, raw: list[HttpAnswer]
) -> HttpAnswer:
    """An error in the client's dialect; in the provider's own words where they are the same. But
    what a provider has against our key is no business of the client, unless the key is its own."""
    outcome, front, target = exchange.outcome, inbound.front, exchange.decision.target
    outcome.error = error.kind
    headers: list[tuple[bytes, bytes]] = []
    if error.retry_after is not None:
        headers.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
    if outcome.attempts > 1:
        headers.append((ATTEMPTS, b"%d" % outcome.attempts))
    if target is not None:
        headers += answer_headers(exchange, {}, front, target.dialect.name)
    same = target is not None and target.dialect.name == (front.errors or front.dialect)
    own_key = target is not None and target.provider.credentials == CLIENT
    shown = own_key or error.kind is not ErrorKind.AUTH
    if raw and same and shown and raw[0].status >= 400:
        own = raw[0]
        outcome.status = own.status
        return HttpAnswer(own.status, [*own.headers, *headers], own.body)
    outcome.status = _status(error, shown)
    provider_error = ProviderError(error.kind, error.problem, error.code, outcome.status)
    headers = [JSON, *headers, *(raw[0].headers[1:] if raw else ())]
    return HttpAnswer(outcome.status, headers, error_body(front, provider_error))


def _status(error: CallError, shown: bool) -> int:
    """The part of a provider's error that is shown to the client."""
    usual = STATUSES[error.kind]
    if not shown or not error.status:
        return usual
    return error.status if 400 <= error.status < 500 else usual
