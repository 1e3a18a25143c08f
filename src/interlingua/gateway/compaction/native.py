"""`/responses/compact` of a provider that has it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from interlingua.client.errors import CallError
from interlingua.client.retry import Clock
from interlingua.errors import ReadError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import answer_headers
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, reserve, with_history
from interlingua.gateway.relay.sending import send, try_targets, untouched
from interlingua.gateway.relay.whole import error_answer
from interlingua.gateway.shared.fronts import RESPONSES, codec_of
from interlingua.gateway.shared.state import Exchange


async def relay_compaction(gateway: Gateway, exchange: Exchange, inbound: Inbound) -> HttpAnswer:
    """The provider's own compaction."""
    assert RESPONSES.stored is not None
    exchange.arrival = replace(exchange.arrival, stream=False)
    inbound = await with_history(gateway, exchange.arrival, inbound, RESPONSES.stored)
    if exchange.arrival.principal.capped:
        inbound = await reserve(gateway, exchange, inbound, may_shorten=False)
    raw: list[HttpAnswer] = []

    async def once(model: str, clock: Clock) -> HttpAnswer:
        raw.clear()
        prepared = untouched(gateway, exchange.arrival, inbound, inbound.route.target(model))
        path, mark, query = prepared.http.url.partition("?")
        http = replace(prepared.http, url=f"{path.rstrip('/')}/compact{mark}{query}")
        prepared = replace(prepared, http=http)
        opened = await send(gateway, exchange, inbound, prepared, clock, False, raw)
        body = await opened.body(gateway.settings.limits.answer)
        exchange.outcome.upstream_id = opened.request_id
        headers = answer_headers(exchange, opened.reply.headers, inbound.front, RESPONSES.dialect)
        return HttpAnswer(200, [JSON, *headers], body)

    try:
        answer = await try_targets(gateway, exchange, inbound, once)
    except CallError as error:
        return error_answer(exchange, inbound, error, raw)
    exchange.outcome.status = 200
    _note_usage(gateway, exchange, inbound, answer.body)
    if exchange.arrival.principal.capped:
        await gateway.caps.settle(exchange)
    return answer


def _note_usage(gateway: Gateway, exchange: Exchange, inbound: Inbound, body: bytes) -> None:
    try:
        wire = {"status": "completed", **msgspec.json.decode(body), "object": "response"}
        response = codec_of(RESPONSES.dialect).read_response(wire)
    except (ReadError, msgspec.DecodeError):
        return
    usage = exchange.outcome.usage = response.message.metadata.usage
    if gateway.pricer is not None and usage is not None:
        model, at = inbound.route.targets[0].model, exchange.arrival.at
        exchange.outcome.cost = gateway.pricer.cost(usage, model, at)
