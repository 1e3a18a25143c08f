"""A request on its way to the provider: unchanged or retold, tried again, or with the next
model."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from interlingua.adapt.caching import CACHINGS, KEY_ADDED
from interlingua.adapt.fit.keys import shows_media, touches
from interlingua.adapt.request import adapt, write
from interlingua.client.answer import Attempt, Call
from interlingua.client.attempt import ErrorReply, OpenReply
from interlingua.client.errors import CallError, CallTimeoutError, RateLimitError
from interlingua.client.fetching import InlinedRequest, MediaCache
from interlingua.client.retry import DEPLOYMENT_LIMIT, Clock, with_retries
from interlingua.client.targets import Prepared, Target
from interlingua.costs.comparing import LEAST, ComparedPrompt, SentTurns, merged
from interlingua.errors import LossError, WriteError
from interlingua.gateway.gateway import CLIENT, CROWDED, Gateway, Route, next_round
from interlingua.gateway.keys.tariffs import BYTES_A_TOKEN
from interlingua.gateway.pools import COOLING, Member, Pool
from interlingua.gateway.relay.headers import client_body, client_headers, forwarded
from interlingua.gateway.relay.inbound import (
    HttpAnswer,
    Inbound,
    patched,
    read_request,
    repeats_field,
    require_convertible,
)
from interlingua.gateway.settings import Redaction
from interlingua.gateway.shared.redaction import redacted
from interlingua.gateway.shared.state import (
    Arrival,
    Decision,
    Exchange,
    Recall,
    Refusal,
    ReportSource,
)
from interlingua.gateway.upstream.transport import may_name_files
from interlingua.model.exchange import ErrorKind, ProviderError, Request
from interlingua.model.losses import Report
from interlingua.store.errors import StoreError

logger = logging.getLogger(__name__)

LARGEST_SOURCE = 1024 * 1024
"""Bytes of a body in which places of losses are searched for, at most."""
T = TypeVar("T")


async def try_targets(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    once: Callable[[str, Clock], Awaitable[T]],
) -> T:
    """Retries and fallbacks, all of them before anything was delivered."""
    arrival, route = exchange.arrival, inbound.route
    request, deadline = inbound.request or _NO_REQUEST, route.settings.deadline
    call = Call(arrival.id, route.models, request, arrival.stream, deadline=deadline)
    try:
        work = with_route(gateway, exchange, route, call, once, len(inbound.body))
        done, exchange.outcome.tries = await work
    except CallError as error:
        exchange.outcome.tries = error.attempts
        raise
    return done


def with_route(
    gateway: Gateway,
    exchange: Exchange,
    route: Route,
    call: Call,
    once: Callable[[str, Clock], Awaitable[T]],
    size: int,
) -> Awaitable[tuple[T, tuple[Attempt, ...]]]:
    """Calls `once` with the targets of a route in turn, by its settings. `size` is about how
    many bytes the request has, for limits of deployments."""
    settings, retries = gateway.settings, route.settings.retries
    retry, fallback_on, tried_once = settings.retry, settings.fallback_on, frozenset[str]()
    if retries is not None:
        retry = msgspec.structs.replace(retry, max_retries=retries)
    if route.settings.overflow is not None and route.settings.larger:
        fallback_on |= {ErrorKind.CONTEXT_OVERFLOW}
    if call.stream and call.deadline is not None:
        once = _begun_in_time(once)
    if route.pool is not None:
        once = pooled(gateway, exchange, route, route.pool, once, size)
        fallback_on |= COOLING
        tried_once = frozenset(route.models[:-1]) & route.pool.members.keys()
    return with_retries(
        *(call, once, retry, fallback_on, asyncio.sleep, gateway.budget, provider_in, tried_once)
    )


def _begun_in_time(
    once: Callable[[str, Clock], Awaitable[T]],
) -> Callable[[str, Clock], Awaitable[T]]:
    """`once` for a stream, which has to begin before the deadline and may end after it."""

    async def attempt(label: str, clock: Clock) -> T:
        timer = asyncio.timeout(clock.left())
        try:
            async with timer:
                return await once(label, Clock(None))
        except TimeoutError:
            if not timer.expired():
                raise
        late = CallTimeoutError("the deadline has passed", model=label)
        late.phase = "deadline"
        raise late

    return attempt


def provider_in(label: str) -> str:
    """The provider in the label of a target; a deployment has a budget for retries of its own."""
    return label if "#" in label else label.partition(":")[0]


OF_THE_KEY = frozenset({ErrorKind.AUTH, ErrorKind.RATE_LIMIT})
"""Failures that concern one key only, and no callers with keys of their own."""


def pooled(
    gateway: Gateway,
    exchange: Exchange,
    route: Route,
    pool: Pool,
    once: Callable[[str, Clock], Awaitable[T]],
    size: int,
) -> Callable[[str, Clock], Awaitable[T]]:
    """`once`, with the pool knowing of each attempt at one of its members."""
    outcome = exchange.outcome

    async def attempt(label: str, clock: Clock) -> T:
        member = pool.members.get(label)
        if member is None:
            return await once(label, clock)
        taken = await _take(gateway, exchange, size, pool, member)
        begun = pool.begin(label)

        def leave(tokens: int) -> None:
            outcome.leave_pool = None
            pool.finished(label, tokens)
            if taken is not None:
                gateway.caps.give_back(taken, tokens)

        outcome.leave_pool = leave
        try:
            done = await once(label, clock)
        except BaseException as error:
            own_key = member.target.provider.credentials == CLIENT
            if isinstance(error, CallError) and not (own_key and error.kind in OF_THE_KEY):
                pool.failed(label, error)
            leave(0)
            raise
        pool.answered(label, begun)
        if route.conversation is not None:
            pool.remember([route.conversation.name], label)
        return done

    return attempt


async def _take(
    gateway: Gateway, exchange: Exchange, size: int, pool: Pool, member: Member
) -> str | None:
    """Counts the request against the limits of a deployment; `RateLimitError` if they are
    reached."""
    if member.rpm is None and member.tpm is None:
        return None
    id, owner = f"dep_{gateway.ids.new()}", member.owner
    tokens = size // BYTES_A_TOKEN
    try:
        if await gateway.caps.take(id, owner, tokens, member.rpm, member.tpm):
            return id
    except StoreError as error:  # the provider has limits of its own
        extra = {"request": exchange.arrival.id, "why": error.reason}
        logger.warning("deployment_limits_unreadable", extra=extra)
        return None
    seconds = 60.0 - time.time() % 60.0
    pool.rest(member.label, seconds, ErrorKind.RATE_LIMIT)
    text = f"{member.label} has reached its limit of requests or tokens for this minute"
    raise RateLimitError(text, retry_after=seconds, code=DEPLOYMENT_LIMIT)


_NO_REQUEST = Request()


Upward = tuple[Prepared, Recall | None]
"""A request to be sent, and what was remembered for it; None where nothing of the answer is."""


async def prepare(
    gateway: Gateway, exchange: Exchange, inbound: Inbound, target: Target, fetched: MediaCache
) -> Upward:
    """The request as it is sent: unchanged where both sides have the same dialect, else retold.
    `fetched` is the media that earlier attempts have fetched."""
    if CACHING in inbound.headers or exchange.arrival.principal.caching is not None:
        target = _in_mode(target, exchange.arrival, inbound)
    if exchange.decision.target is not target:
        exchange.decision = Decision(target, exchange.decision.report)
    if target.provider.key in gateway.targets.started:
        await gateway.targets.start(target)
    arrival, recall, prepared = exchange.arrival, None, None
    redaction = arrival.principal.redaction or gateway.settings.redaction
    plain = redaction == "off" and not (inbound.ours or is_wrapped(target))
    if plain and target.dialect.name == inbound.front.dialect:
        if _may_need_fitting(inbound, target):
            prepared = await _fitted(gateway, arrival, inbound, target, fetched)
        else:
            prepared = untouched(gateway, arrival, inbound, target)
    if prepared is None:
        prepared, recall = await translated(gateway, arrival, inbound, target, fetched, redaction)
    source = _source(inbound, prepared.report, recall) if prepared.report.entries else None
    if inbound.changes is not None:
        prepared.report.extend(inbound.changes)
    exchange.decision = Decision(prepared.target, prepared.report, source)
    if arrival.principal.refuse_losses and prepared.report:
        text = f"this key rejects lossy translations: {prepared.report.losses[0]}"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "lossy_request")
    if len(prepared.http.body) >= LEAST:
        exchange.outcome.compared = _compared(gateway, arrival, inbound, prepared)
        if prepared.turns is not None and prepared.turns.lacks(may_name_files):
            http = msgspec.structs.replace(prepared.http, may_name_files=False)
            prepared = msgspec.structs.replace(prepared, http=http)
    extra: dict[str, str] = {}
    if inbound.front.headers_up and prepared.target.dialect.name == inbound.front.dialect:
        extra = forwarded(inbound.headers, inbound.front)
    if gateway.trace.spans is not None or b"traceparent" in inbound.headers:
        extra |= gateway.trace.headers(exchange, inbound.headers)
    return (prepared.with_headers(extra) if extra else prepared), recall


def _compared(
    gateway: Gateway, arrival: Arrival, inbound: Inbound, prepared: Prepared
) -> ComparedPrompt | None:
    """The request beside the last one of its conversation."""
    members, names = inbound.envelope.members, []
    for name in ("prompt_cache_key", "previous_response_id", "previous_interaction_id"):
        if name in members and (word := bytes(members[name])) != b"null":
            names.append(word.decode("utf-8", "replace")[:200])
    if arrival.session_id is not None:
        names.append(arrival.session_id)
    target, owner = prepared.target, arrival.principal.tenant
    how = (target.model, target.deployment, names, arrival.at)
    turns = _sent_turns(inbound, prepared)
    compared = gateway.prompts.compare(owner, prepared.http.body, *how, turns)
    if compared is not None and gateway.pricer is not None:
        compared.prices = gateway.pricer.table
    return compared


def _sent_turns(inbound: Inbound, prepared: Prepared) -> SentTurns | None:
    """The turns of a body on its way, where they are remembered."""
    turns, read = prepared.turns, inbound.conversation
    if turns is not None:
        return SentTurns(turns.outside, turns.text, turns.start, turns.places(), turns.digests)
    if read is not None and prepared.http.body is inbound.body:
        return SentTurns(read.head + read.rest, read.stem, read.start, read.ends, read.digests)
    return None


def note_cache(gateway: Gateway, exchange: Exchange, response_id: str | None = None) -> None:
    """Records why the prompt cache was hit or missed, once the answer has its usage."""
    outcome, compared = exchange.outcome, exchange.outcome.compared
    if compared is None or outcome.status >= 400 or outcome.error is not None:
        return
    own = compared.diagnosis(outcome.usage)
    outcome.cache, outcome.compared = merged(outcome.cache, own), None
    names = () if response_id is None else (f'"{response_id}"',)
    gateway.prompts.answered(compared, outcome.usage, names)


CACHING = b"x-interlingua-caching"
"""The header by which one request has its own mode of prompt caching."""


def _in_mode(target: Target, arrival: Arrival, inbound: Inbound) -> Target:
    """The target in the mode of prompt caching of the request or its key, if they have one."""
    asked = inbound.headers.get(CACHING)
    if asked is not None:
        word = asked.decode("latin-1")
        if word not in CACHINGS:
            text = f"{CACHING.decode()}: expected one of {', '.join(CACHINGS)}, found {word[:40]!r}"
            raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "invalid_caching")
        return target.with_caching(word)  # type: ignore[arg-type]  # one of them
    caching = arrival.principal.caching
    return target if caching is None else target.with_caching(caching)


def _source(inbound: Inbound, report: Report, recall: Recall | None) -> ReportSource | None:
    """Where the places of the losses can be found; a stored history is not in the body."""
    if inbound.ours or inbound.changes is not None or len(inbound.body) > LARGEST_SOURCE:
        return None
    match, count = inbound.match, len(report.entries)
    is_same = recall is None or recall.request.messages is recall.prompt
    return ReportSource(
        inbound.body, inbound.front.dialect, match.model, match.stream, count, is_same
    )


def _may_need_fitting(inbound: Inbound, target: Target) -> bool:
    """Whether a body of the target's own dialect has something that a rule is about."""
    if inbound.route.passthrough:
        return False
    if target.caching == "off":
        return True
    if target.origin is not None and len(inbound.body) >= LEAST and _may_cache(inbound, target):
        return True
    if target.host is not None and _host_differs(inbound, target):
        return True
    if not target.images and shows_media(inbound.body):
        return True
    return target.profile is not None and touches(
        target.profile, target.dialect.name, inbound.body, inbound.members
    )


def _host_differs(inbound: Inbound, target: Target) -> bool:
    assert target.host is not None, "asked only of those that have one"
    return target.dialect.host_differs(target.host, inbound.body, inbound.members)


_MARK = re.compile(rb'"(?:cache_control|cachePoint|prompt_cache_key|prompt_cache_breakpoint)"')


def _may_cache(inbound: Inbound, target: Target) -> bool:
    """Whether something may have to be added to the body for the prompt cache: it is long
    enough, and has no cache settings."""
    profile = target.profile
    least = (profile and profile.limits.cache_min) or 0
    return len(inbound.body) >= 2 * least and _MARK.search(inbound.body) is None


async def _fitted(
    gateway: Gateway, arrival: Arrival, inbound: Inbound, target: Target, fetched: MediaCache
) -> Prepared | None:
    """A body of the target's own dialect as the model takes it: the client's own bytes where that
    changes nothing, and None where it has to be retold: the model wants to be asked in another
    dialect, or takes no images."""
    request = inbound.request or read_request(inbound.match, inbound.body)
    if gateway.targets.for_request(target, request) is not target:
        return None
    if not target.images and shows_media(inbound.body):
        return None
    inlined = InlinedRequest(request)
    if inbound.fetches_media:
        inlined = await gateway.fetcher.inlined(request, target.profile, cache=fetched)
    request = inlined.request.replace(model=target.name)
    adapted = adapt(request, target, history=False, owner=arrival.principal.tenant)
    own = target.host is not None and _host_differs(inbound, target)
    if adapted.value is request and not inlined.notes and not own:
        return untouched(gateway, arrival, inbound, target)
    changed = [entry.code for entry in adapted.report.entries]
    if changed == [KEY_ADDED] and not (inlined.notes or own):
        key = {"prompt_cache_key": adapted.value.options.cache_key}
        keyed = untouched(gateway, arrival, inbound, target, key)
        return msgspec.structs.replace(keyed, report=adapted.report)
    done = write(adapted)
    inlined.tell(done.report)
    return gateway.targets.ready(done, target, arrival.stream)


def is_wrapped(target: Target) -> bool:
    """Whether it has a wrapping of its own, which no client's bytes fit."""
    return target.provider.dialects[target.dialect.name].framing is not None


async def translated(
    gateway: Gateway,
    arrival: Arrival,
    inbound: Inbound,
    target: Target,
    fetched: MediaCache,
    redaction: Redaction = "off",
) -> Upward:
    request = inbound.request or read_request(inbound.match, inbound.body)
    require_convertible(request, inbound.conversation)
    recall = await gateway.memory.put_back(request, arrival, target, inbound.conversation)
    if len(gateway.under_way) >= CROWDED:
        await next_round()
    request, inlined = recall.request, None
    if inbound.fetches_media:
        target = gateway.targets.for_request(target, request)
        inlined = await gateway.fetcher.inlined(request, target.profile, cache=fetched)
        request = inlined.request
    source, turns, clean = inbound.front.dialect, recall.history, None
    if redaction != "off":
        clean = await redacted(request)
        request, turns = clean.value, None
    try:
        owner = arrival.principal.tenant
        prepared = gateway.targets.prepare(request, target, arrival.stream, source, turns, owner)
    except LossError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error), "lossy_request") from None
    except WriteError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None
    if inlined is not None:
        inlined.tell(prepared.report)
    if clean is not None:
        prepared = clean.prepared(prepared, redaction)
    return prepared, recall


def untouched(
    gateway: Gateway,
    arrival: Arrival,
    inbound: Inbound,
    target: Target,
    added: dict[str, Any] | None = None,
) -> Prepared:
    """The client's own bytes, but for the model's name, which some providers want elsewhere, what
    the provider's address asks for, and what we must ask for to be able to count."""
    body = inbound.body
    paths = target.provider.dialects[target.dialect.name]
    changes: dict[str, Any] = {**(paths.body or {}), **(added or {})}
    if inbound.match.model is None:
        if not paths.model_in_body:
            changes["model"] = msgspec.UNSET
        elif inbound.envelope.model != target.name:
            changes["model"] = target.name
    if target.host is not None and target.host.stream_usage and asks_usage(inbound):
        changes["stream_options"] = {
            **(inbound.envelope.stream_options or {}),
            "include_usage": True,
        }
    if changes or (arrival.principal.limited and repeats_field(body)):
        body = patched(inbound.members or body, changes)
    http = gateway.targets.address(target, {}, "request", arrival.stream, body)
    return Prepared(target, http, Report(target.dialect.name))


_CUT = re.compile(rb'"stop_?[rR]eason" ?: ?"model_context_window_exceeded"')
_CONTENT = re.compile(b"content_?[bB]lock")
_CUTTING = frozenset({"anthropic", "bedrock"})
"""The dialects in which an answer may end because the model's window is full."""
CUT = ProviderError(ErrorKind.CONTEXT_OVERFLOW, "the answer ended where the context window is full")


def may_be_cut(inbound: Inbound, target: Target) -> bool:
    """Whether something else is to be tried if the answer is cut by the model's window."""
    return inbound.route.settings.overflow is not None and target.dialect.name in _CUTTING


def is_cut(body: bytes) -> bool:
    return _CUT.search(body) is not None


def has_content(frames: bytes) -> bool:
    """Whether a stream of such a dialect has come to its content."""
    return _CONTENT.search(frames) is not None


def asks_usage(inbound: Inbound) -> bool:
    """Whether a stream's usage has to be asked for in the client's place."""
    if not inbound.front.usage_on_request or not inbound.envelope.stream:
        return False
    return not (inbound.envelope.stream_options or {}).get("include_usage")


def send(
    gateway: Gateway,
    exchange: Exchange,
    inbound: Inbound,
    prepared: Prepared,
    clock: Clock,
    stream: bool,
    raw: list[HttpAnswer],
) -> Awaitable[OpenReply]:
    """Returns a successful reply, or raises the error in it. The provider's own error goes to
    `raw`, for clients of the same dialect."""

    def hear(reply: ErrorReply) -> None:
        kind = reply.headers.get("content-type", "application/json").encode("latin-1")
        down = [(b"content-type", kind), *client_headers(reply.headers, reply.secrets)]
        named = inbound.front.error_header
        if named is not None and (word := reply.headers.get(named)) and word.isascii():
            down.append((named.encode(), word.encode()))
        raw[:] = [HttpAnswer(reply.status, down, client_body(reply.body, reply.secrets))]

    asker = gateway.asker_for(exchange.arrival.principal)
    lessons = None if inbound.route.passthrough else asker.lessons
    return asker.open(prepared, clock, stream, hear, lessons)
