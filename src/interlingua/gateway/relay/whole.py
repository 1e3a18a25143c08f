"""One request through the gateway, answered in one piece."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from interlingua.client.attempt import OpenReply
from interlingua.client.attempts import Clock
from interlingua.client.errors import CallError
from interlingua.client.targets import LOCAL, Prepared, Target
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.errors_down import ATTEMPTS
from interlingua.gateway.relay.headers import answer_headers
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, note_kept
from interlingua.gateway.relay.patching import patched
from interlingua.gateway.relay.peek_usage import peek_usage
from interlingua.gateway.relay.promised_members import promised_members, with_promised_members
from interlingua.gateway.relay.sending import prepare, send, try_targets
from interlingua.gateway.shared.fronts import STATUSES, error_body, front_of
from interlingua.gateway.shared.state import Exchange
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.metadata import StopReason, Usage
from interlingua.retell import retell

_encode = msgspec.json.Encoder().encode


async def relay(gateway: Gateway, exchange: Exchange, inbound: Inbound) -> HttpAnswer:
    """The answer, in the client's dialect."""
    raw: list[HttpAnswer] = []

    async def once(model: str, clock: Clock) -> HttpAnswer:
        target = inbound.route.target(model)
        raw.clear()
        prepared = await prepare(gateway, exchange, inbound, target)
        opened = await send(gateway, inbound, prepared, clock, False, raw)
        body = await opened.body(gateway.asker.max_bytes)
        exchange.upstream_id = opened.request_id
        return await answer_of(gateway, exchange, inbound, opened, body)

    try:
        answer, tries = await try_targets(gateway, exchange, inbound, once)
    except CallError as error:
        return error_answer(exchange, inbound, error, raw)
    exchange.attempts = len(tries)
    exchange.status = answer.status
    if len(tries) > 1:
        answer.headers.append((ATTEMPTS, b"%d" % len(tries)))
    return answer


async def answer_of(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    opened: OpenReply,
    body: bytes,
) -> HttpAnswer:
    """A provider's answer as one for the client."""
    prepared, upstream = opened.prepared, opened.headers
    target, front = prepared.target, inbound.front
    back = prepared.back
    same = target.dialect.name == front.dialect and not inbound.ours and back is None
    peek = peek_usage(front.dialect, body) if same and not exchange.principal.keep_content else None
    if peek is not None:
        _note_usage(gateway, exchange, target, *peek)
        return _passed_on(exchange, inbound, prepared, body, upstream)
    response = opened.read(body)
    metadata = response.message.metadata
    if exchange.principal.metered:
        exchange.heard = len(body)
    _note_usage(gateway, exchange, target, metadata.usage, metadata.stop_reason)
    if exchange.said is not None and gateway.responses is not None:
        await gateway.responses.keep(exchange.said, echoed(response, exchange), exchange)
    if front.stored is not None:
        note_kept(gateway, exchange, response)
    if exchange.principal.keep_content:
        exchange.response = response
    if same:
        return _passed_on(exchange, inbound, prepared, body, upstream)
    await gateway.memory.keep(response, exchange)
    out = written(response, exchange, target, inbound)
    secrets = prepared.http.secrets
    headers = answer_headers(exchange, upstream, front, target.dialect.name, secrets)
    return HttpAnswer(200, [JSON, *headers], out)


def _note_usage(
    gateway: Gateway,
    exchange: Exchange,
    target: Target,
    usage: Usage | None,
    stop_reason: StopReason | None,
) -> None:
    exchange.usage, exchange.stop_reason = usage, stop_reason
    if gateway.pricer is not None and usage is not None:
        exchange.cost = gateway.pricer.cost(usage, target.model, exchange.at)


def _passed_on(
    exchange: Exchange,
    inbound: Inbound,
    prepared: Prepared,
    body: bytes,
    upstream: Mapping[str, str],
) -> HttpAnswer:
    """The provider's own bytes, but for the model's name."""
    front, target = inbound.front, prepared.target
    if target.provider.key == LOCAL:  # it is ours, and leaves out what others promise
        body = with_promised_members(front.dialect, inbound.body, body)
    if inbound.envelope.model != target.name and inbound.match.model is None:
        body = patched(body, {"model": inbound.envelope.model})
    secrets = prepared.http.secrets
    headers = answer_headers(exchange, upstream, front, target.dialect.name, secrets)
    return HttpAnswer(200, [JSON, *headers], body)


def written(response: Response, exchange: Exchange, target: Target, inbound: Inbound) -> bytes:
    front = inbound.front
    response = echoed(response, exchange)
    retold = retell(response, front.dialect, source=target.dialect.name)
    said = dialect_of(front.dialect).write_response(retold.value, retold.scribe)
    if said.report and exchange.report is not None:
        exchange.report.extend(said.report)
    return _encode(promised_members(front.dialect, inbound.body).whole(said.wire))


def given_id(exchange: Exchange) -> str | None:
    """An id for an answer whose provider has none, where a client may expect one and the dialect
    makes none of its own."""
    return exchange.id if front_of(exchange.front).needs_id else None


def echoed(response: Response, exchange: Exchange) -> Response:
    """The answer under the name that the client knows the model by. The word that the provider has
    for its end stays behind: in the client's dialect the same word may say something else."""
    message = response.message
    metadata = replace(
        message.metadata,
        response_model=exchange.client_model,
        response_id=message.metadata.response_id or given_id(exchange),
        raw_stop_reason=None,
    )
    return replace(response, message=replace(message, metadata=metadata))


def error_answer(
    exchange: Exchange, inbound: Inbound, error: CallError, raw: list[HttpAnswer]
) -> HttpAnswer:
    """An error in the client's dialect; in the provider's own words where they are the same. But
    what a provider has against our key is no business of the client, whose own key is good."""
    exchange.error = error.kind
    exchange.attempts = len(error.attempts)
    target = exchange.target
    headers: list[tuple[bytes, bytes]] = []
    if error.retry_after is not None:
        headers.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
    if exchange.attempts > 1:
        headers.append((ATTEMPTS, b"%d" % exchange.attempts))
    if target is not None:
        headers += answer_headers(exchange, {}, inbound.front, target.dialect.name)
    same = target is not None and target.dialect.name == inbound.front.dialect
    if raw and same and error.kind is not ErrorKind.AUTH and raw[0].status >= 400:
        own = raw[0]
        exchange.status = own.status
        return HttpAnswer(own.status, [*own.headers, *headers], own.body)
    status = error.status if error.status and 400 <= error.status < 500 else STATUSES[error.kind]
    if error.kind is ErrorKind.AUTH:
        status = STATUSES[error.kind]
    said = ProviderError(error.kind, error.problem, error.code, status)
    exchange.status = status
    headers = [(b"content-type", b"application/json"), *headers]
    headers += raw[0].headers[1:] if raw else ()
    return HttpAnswer(status, headers, error_body(inbound.front, said))
