"""How many tokens a prompt has, for clients that ask: the provider's own count where it has one,
else an estimate, and a header that names which."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from interlingua.client import counting, failures
from interlingua.client.errors import CallError
from interlingua.client.fetching import MediaCache
from interlingua.client.retry import Clock
from interlingua.client.targets import Target
from interlingua.errors import WriteError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.headers import answer_headers
from interlingua.gateway.relay.inbound import (
    HttpAnswer,
    Inbound,
    parse_inbound,
    read_request,
    with_history,
)
from interlingua.gateway.relay.sending import try_targets
from interlingua.gateway.relay.whole import error_answer
from interlingua.gateway.shared.fronts import Match
from interlingua.gateway.shared.redaction import redacted, redaction_of
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Exchange, Refusal
from interlingua.model.codec import body_problem
from interlingua.model.exchange import ErrorKind, Request
from interlingua.profiles.estimate.estimator import estimate_input_tokens

NOTHING = Most(0, 0)
DOES_NOT_COUNT = frozenset({404, 405, 501})
"""How a server rejects a path that it does not have: many have a dialect without this part of
it."""


async def count(
    gateway: Gateway, exchange: Exchange, match: Match, body: bytes, headers: Mapping[bytes, bytes]
) -> HttpAnswer:
    """The answer to a request for a count. Nothing is generated, so it costs nothing, but it is a
    request like others."""
    body = request_of(match, body)
    inbound = parse_inbound(gateway, exchange, match, body, headers)
    arrival = exchange.arrival = replace(exchange.arrival, stream=False)
    if match.front.stored is not None:
        inbound = await with_history(gateway, arrival, inbound, match.front.stored)
    request = inbound.request or read_request(match, body)
    target = inbound.route.targets[0]
    if arrival.principal.capped:
        exchange.outcome.reservation = await gateway.caps.reserve(
            arrival, NOTHING, inbound.route.targets
        )
    try:
        tokens, source = await _count(gateway, exchange, inbound, request, target)
    except CallError as error:
        return error_answer(exchange, inbound, error, [])
    exchange.outcome.status = 200
    counted = {str(match.front.counted): tokens, **match.front.count_members}
    response_headers = [
        (b"content-type", b"application/json"),
        (b"x-interlingua-count", source.encode()),
        *answer_headers(exchange, {}, match.front, target.dialect.name),
    ]
    return HttpAnswer(200, response_headers, msgspec.json.encode(counted))


def request_of(match: Match, body: bytes) -> bytes:
    """The request that is to be counted; some dialects wrap it."""
    try:
        return match.front.to_count(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        text = body_problem(error, body)
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text) from None


async def _count(
    gateway: Gateway, exchange: Exchange, inbound: Inbound, request: Request, target: Target
) -> tuple[int, str]:
    def estimate() -> int:
        return estimate_input_tokens(request.messages, request.tools, target.model, request.options)

    if not counting.can_count(target):
        return estimate(), "estimate"

    fetched, asker = MediaCache(), gateway.asker_for(exchange.arrival.principal)

    async def once(model: str, clock: Clock) -> int:
        await gateway.targets.start(target)
        whole = request
        if inbound.fetches_media:
            inlined = await gateway.fetcher.inlined(request, target.profile, cache=fetched)
            whole = inlined.request
        if redaction_of(gateway, exchange.arrival.principal) != "off":
            whole = (await redacted(whole)).value
        try:
            return await asker.count_of(whole, target, clock)
        except WriteError as error:
            raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None

    try:
        tokens = await try_targets(gateway, exchange, inbound, once)
    except CallError as error:
        if not _does_not_count(error, target):
            raise
        return estimate(), "estimate"
    return tokens, "provider"


def _does_not_count(error: CallError, target: Target) -> bool:
    """Whether it is the path that is not there, and not the model."""
    about_model = error.code in failures.UNKNOWN_MODEL or target.name in error.problem
    return error.status in DOES_NOT_COUNT and not about_model
