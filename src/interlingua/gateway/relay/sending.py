"""A request on its way up: as it is or retold, tried again, or with the next model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from interlingua.client.answer import Attempt
from interlingua.client.attempt import ErrorReply, Opened
from interlingua.client.attempts import Clock, tried
from interlingua.client.errors import CallError
from interlingua.client.middleware import Call
from interlingua.client.targets import Prepared, Target
from interlingua.client.transport import HttpRequest
from interlingua.errors import LossError, WriteError
from interlingua.fitting.hosts import says_otherwise
from interlingua.fitting.keys import shows_media, touches
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.asked import Asked, Told, read_request
from interlingua.gateway.relay.errors_down import body_down, headers_down
from interlingua.gateway.relay.headers import forwarded
from interlingua.gateway.relay.inbound import require_sayable
from interlingua.gateway.relay.patching import patched, says_twice
from interlingua.gateway.shared.state import Exchange, Refused
from interlingua.losses import Report
from interlingua.model.exchange import ErrorKind, Request
from interlingua.outbound import fitted_only, written_for

T = TypeVar("T")


async def tries_of(
    gateway: Gateway,
    exchange: Exchange,
    asked: Asked,
    once: Callable[[str, Clock], Awaitable[T]],
) -> tuple[T, tuple[Attempt, ...]]:
    """Retries and fallbacks, all of them before anything was delivered."""
    call = Call(exchange.id, asked.way.models, asked.request or _NO_REQUEST, exchange.stream)
    settings = gateway.settings
    try:
        done, exchange.tries = await tried(
            call,
            once,
            settings.retry,
            settings.fallback_on,
            asyncio.sleep,
            gateway.budget,
            provider_in,
        )
    except CallError as error:
        exchange.tries = error.attempts
        raise
    finally:
        exchange.fetched = None
    return done, exchange.tries


def provider_in(model: str) -> str:
    """The provider in the id of a target."""
    return model.partition(":")[0]


_NO_REQUEST = Request()


async def prepare(gateway: Gateway, exchange: Exchange, asked: Asked, target: Target) -> Prepared:
    """The request as it goes up: untouched where both sides speak the same, else retold."""
    exchange.target = target
    if gateway.targets.starts(target):
        await gateway.targets.start(target)
    prepared = None
    if target.dialect.name == asked.front.dialect and not (asked.ours or is_wrapped(target)):
        if _may_need_fitting(asked, target):
            prepared = await _fitted(gateway, exchange, asked, target)
        else:
            prepared = untouched(gateway, exchange, asked, target)
    if prepared is None:
        prepared = await translated(gateway, exchange, asked, target)
    exchange.target = prepared.target
    extra = forwarded(asked.headers, asked.front.dialect, prepared.target.dialect.name)
    extra |= gateway.trace.headers(exchange, asked.headers)
    return prepared.with_headers(extra) if extra else prepared


def _may_need_fitting(asked: Asked, target: Target) -> bool:
    """Whether a body of the target's own dialect has something in it that a rule speaks of."""
    if asked.way.passthrough:
        return False
    if target.host is not None and says_otherwise(target.host, asked.body):
        return True
    if not target.images and shows_media(asked.body):
        return True
    return target.profile is not None and touches(
        target.profile, target.dialect.name, asked.body, asked.members
    )


async def _fitted(
    gateway: Gateway, exchange: Exchange, asked: Asked, target: Target
) -> Prepared | None:
    """A body of the target's own dialect as the model takes it: the client's own bytes where that
    changes nothing, and None where it has to be retold: the model wants to be asked in another
    dialect, or takes no images."""
    request = asked.request or read_request(asked.match, asked.body)
    if gateway.targets.for_request(target, request) is not target:
        return None
    if not target.images and shows_media(asked.body):
        return None
    given = await gateway.inlined(request, asked.way, target, exchange)
    request = given.request.replace(model=target.name)
    told = fitted_only(request, target)
    own = target.host is not None and says_otherwise(target.host, asked.body)
    if told.value is request and not given.notes and not own:
        return untouched(gateway, exchange, asked, target)
    done = written_for(told, target)
    given.tell(done.report)
    exchange.report = done.report
    _refuse_losses(exchange)
    return gateway.targets.ready(done, target, exchange.stream)


def is_wrapped(target: Target) -> bool:
    """Whether it speaks a dialect in a wrapping of its own, which nobody's bytes fit."""
    return target.provider.dialects[target.dialect.name].framing is not None


async def translated(
    gateway: Gateway, exchange: Exchange, asked: Asked, target: Target
) -> Prepared:
    request = asked.request or read_request(asked.match, asked.body)
    require_sayable(request)
    request = await gateway.memory.put_back(request, exchange)
    source = asked.front.dialect
    target = gateway.targets.for_request(target, request)
    given = await gateway.inlined(request, asked.way, target, exchange)
    try:
        prepared = gateway.targets.prepare(given.request, target, exchange.stream, source)
    except LossError as error:
        raise Refused(400, ErrorKind.INVALID_REQUEST, str(error), "lossy_request") from None
    except WriteError as error:
        raise Refused(400, ErrorKind.INVALID_REQUEST, str(error)) from None
    given.tell(prepared.report)
    exchange.report = prepared.report
    _refuse_losses(exchange)
    return prepared


def _refuse_losses(exchange: Exchange) -> None:
    if exchange.principal.refuse_losses and exchange.report:
        text = f"this key takes no losses: {exchange.report.losses[0]}"
        raise Refused(400, ErrorKind.INVALID_REQUEST, text, "lossy_request")


def untouched(gateway: Gateway, exchange: Exchange, asked: Asked, target: Target) -> Prepared:
    """The client's own bytes, but for the model's name, which some providers want elsewhere, what
    the provider's address asks for, and what we must ask for to be able to count."""
    body = asked.body
    paths = target.provider.dialects[target.dialect.name]
    changes: dict[str, Any] = dict(paths.body) if paths.body else {}
    if asked.match.model is None:
        if not paths.model_in_body:
            changes["model"] = msgspec.UNSET
        elif asked.envelope.model != target.name:
            changes["model"] = target.name
    if target.host is not None and target.host.stream_usage and asks_usage(asked):
        changes["stream_options"] = {**(asked.envelope.stream_options or {}), "include_usage": True}
    if changes or (exchange.principal.limited and says_twice(body)):
        body = patched(asked.members or body, changes)
    address = gateway.targets.address(target, {}, "request", exchange.stream)
    report = exchange.report = Report(target.dialect.name)
    http = HttpRequest(address.url, address.headers, body, address.secrets)
    return Prepared(target, http, report)


def asks_usage(asked: Asked) -> bool:
    """Whether a stream's usage has to be asked for in the client's place."""
    if not asked.front.usage_on_request or not asked.envelope.stream:
        return False
    return not (asked.envelope.stream_options or {}).get("include_usage")


async def send(
    gateway: Gateway, asked: Asked, prepared: Prepared, clock: Clock, stream: bool, raw: list[Told]
) -> Opened:
    """A reply of success; else the error that it tells. What the provider said itself is kept in
    `raw`, for clients that speak its dialect."""

    def hear(said: ErrorReply) -> None:
        kind = said.headers.get("content-type", "application/json").encode("latin-1")
        down = [(b"content-type", kind), *headers_down(said.headers, said.secrets)]
        raw[:] = [Told(said.status, down, body_down(said.body, said.secrets))]

    return await gateway.asker.open(prepared, clock, stream, hear, not asked.way.passthrough)
