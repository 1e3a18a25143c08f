"""One request through the gateway, answered in one piece."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.client import failures
from interlingua.client.answer import Attempt
from interlingua.client.client import placed
from interlingua.client.errors import CallError, TooLargeError
from interlingua.client.middleware import Call
from interlingua.client.targets import LOCAL, Prepared, Target
from interlingua.client.transport import HttpRequest, Reply, TooLarge, TransportError
from interlingua.client.transport import Limits as HttpLimits
from interlingua.client.tries import Clock, tried
from interlingua.errors import LossError, ReadError, WriteError
from interlingua.gateway.errors_down import ATTEMPTS, body_down, headers_down
from interlingua.gateway.filled import Filler
from interlingua.gateway.fronts import GEMINI, RESPONSES, STATUSES, Front, Match, error_body
from interlingua.gateway.gateway import Gateway, Way
from interlingua.gateway.glance import glance
from interlingua.gateway.headers import answer_headers, forwarded
from interlingua.gateway.inbound import require_sayable
from interlingua.gateway.responses_store import keeps
from interlingua.gateway.sizes import tells_all
from interlingua.gateway.state import Exchange, Refused
from interlingua.losses import Report
from interlingua.model.exchange import ErrorKind, ProviderError, Request, Response
from interlingua.model.metadata import StopReason, Usage
from interlingua.retell import retell

JSON = (b"content-type", b"application/json")
_ERROR_BYTES = 1024 * 1024
T = TypeVar("T")
PLAINLY_LIMITED = frozenset({"anthropic", "openai-chat", "openai-responses"})
"""Dialects that say at the top how long an answer may be."""


class Envelope(msgspec.Struct):
    """What we have to know of every request's body, whatever else it says."""

    model: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    n: Any = None
    previous_response_id: Any = None

    def most_output(self) -> int | None:
        """How long an answer may be, in whichever word the client's dialect has for it; what is no
        number is for the provider to refuse."""
        said = (self.max_completion_tokens, self.max_output_tokens, self.max_tokens)
        return max([count for count in said if type(count) is int and count > 0], default=None)

    def answers(self) -> int:
        """How many of them."""
        return self.n if type(self.n) is int and self.n > 0 else 1


_envelope = msgspec.json.Decoder(Envelope)


class Told(NamedTuple):
    """An answer for a client."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Asked(NamedTuple):
    """A request that is understood: what it says, and who is to answer."""

    match: Match
    body: bytes
    headers: Mapping[bytes, bytes]
    envelope: Envelope
    way: Way
    request: Request | None
    """None where the body goes on as it is."""
    ours: bool = False
    """Whether the conversation is kept here, so that nothing of it can go on as it is."""

    @property
    def front(self) -> Front:
        return self.match.front


def envelope_of(match: Match, body: bytes) -> Envelope:
    try:
        said = _envelope.decode(body)
    except (msgspec.DecodeError, UnicodeError) as odd:
        text = f"the body is no request: {odd}"
        raise Refused(400, ErrorKind.INVALID_REQUEST, text) from None
    except RecursionError:
        text = "the body is nested too deeply"
        raise Refused(400, ErrorKind.INVALID_REQUEST, text) from None
    said.model = match.model or said.model
    if match.stream is not None:
        said.stream = match.stream
    elif said.stream is None:
        said.stream = match.front.streams_by_default
    return said


def understood(
    gateway: Gateway,
    exchange: Exchange,
    match: Match,
    body: bytes,
    headers: Mapping[bytes, bytes],
) -> Asked:
    """Who is to answer, and what is asked, as far as that has to be known."""
    said = envelope_of(match, body)
    exchange.client_model, exchange.stream = said.model, bool(said.stream)
    way = gateway.allow(exchange, gateway.way(said.model, match.front))
    exchange.target = way.targets[0]
    request = None
    same = way.spoken == match.front.dialect
    counted = exchange.principal.capped and (
        match.front.dialect not in PLAINLY_LIMITED or not tells_all(body)
    )
    if not same or counted:
        request = read_request(match, body)
    return Asked(match, body, headers, said, way, request)


def read_request(match: Match, body: bytes) -> Request:
    try:
        return match.front.codec().read_request(body, match.model, match.stream)
    except ReadError as odd:
        raise Refused(400, ErrorKind.INVALID_REQUEST, str(odd)) from None


async def with_history(gateway: Gateway, exchange: Exchange, asked: Asked) -> Asked:
    """A request of the Responses API with the history that we keep for it. A provider that keeps
    responses itself is asked itself."""
    if asked.front is not RESPONSES or gateway.responses is None:
        return asked
    if keeps(asked.way.targets[0]):
        return await _own_only(gateway, exchange, asked)
    if not exchange.principal.keep_content and b'"previous_response_id"' not in asked.body:
        return asked
    said = asked.request or read_request(asked.match, asked.body)
    exchange.said = said
    request = await gateway.responses.expand(said, exchange)
    ours = exchange.principal.keep_content or request is not said
    return asked._replace(request=request, ours=ours)


async def _own_only(gateway: Gateway, exchange: Exchange, asked: Asked) -> Asked:
    """A request to a provider that keeps responses itself: nobody goes on from another's."""
    previous = asked.envelope.previous_response_id
    if exchange.principal.key_id is None or gateway.responses is None:
        return asked
    if isinstance(previous, str):
        await gateway.responses.require_own(previous, exchange)
    if asked.body.count(b"previous_response_id") > 1 or _ESCAPED.search(asked.body) is not None:
        return asked._replace(body=patched(asked.body, {}))  # only the one that was looked at
    return asked


def note_kept(gateway: Gateway, exchange: Exchange, id: str | None) -> None:
    """Whose a response is that its provider keeps."""
    target = exchange.target
    if gateway.responses is not None and target is not None and keeps(target):
        gateway.responses.note(id, exchange)


async def relay(gateway: Gateway, exchange: Exchange, asked: Asked) -> Told:
    """The answer, in the client's dialect."""
    raw: list[Told] = []

    async def once(model: str, clock: Clock) -> Told:
        target = asked.way.target(model)
        raw.clear()
        prepared = await prepare(gateway, exchange, asked, target)
        reply = await send(gateway, prepared, clock, stream=False, raw=raw)
        body = await whole(gateway, reply, target)
        exchange.upstream_id = failures.request_id(reply.headers)
        return await answered(gateway, exchange, asked, prepared, body, reply.headers)

    try:
        told, tries = await tries_of(gateway, exchange, asked, once)
    except CallError as odd:
        return failed(exchange, asked, odd, raw)
    exchange.attempts = len(tries)
    exchange.status = told.status
    if len(tries) > 1:
        told.headers.append((ATTEMPTS, b"%d" % len(tries)))
    return told


async def tries_of(
    gateway: Gateway,
    exchange: Exchange,
    asked: Asked,
    once: Callable[[str, Clock], Awaitable[T]],
) -> tuple[T, tuple[Attempt, ...]]:
    """Retries and fallbacks, all of them before anything was delivered."""
    call = Call(exchange.id, asked.way.models, asked.request or _NO_REQUEST, exchange.stream)
    settings = gateway.settings
    return await tried(
        call,
        once,
        settings.retry,
        settings.fallback_on,
        asyncio.sleep,
        gateway.budget,
        provider_in,
    )


def provider_in(model: str) -> str:
    """The provider in the id of a target."""
    return model.partition(":")[0]


_NO_REQUEST = Request()


async def prepare(gateway: Gateway, exchange: Exchange, asked: Asked, target: Target) -> Prepared:
    """The request as it goes up: untouched where both sides speak the same, else retold."""
    exchange.target = target
    if gateway.targets.starts(target):
        await gateway.targets.start(target)
    extra = forwarded(asked.headers, asked.front.dialect, target.dialect.name)
    if target.dialect.name == asked.front.dialect and not asked.ours:
        prepared = untouched(gateway, exchange, asked, target)
    else:
        prepared = await translated(gateway, exchange, asked, target)
    if not extra:
        return prepared
    http = prepared.http
    headers = {**http.headers, **extra}
    return Prepared(target, msgspec.structs.replace(http, headers=headers), prepared.report)


async def translated(
    gateway: Gateway, exchange: Exchange, asked: Asked, target: Target
) -> Prepared:
    request = asked.request or read_request(asked.match, asked.body)
    require_sayable(request)
    request = await gateway.memory.put_back(request, exchange)
    source = asked.front.dialect
    try:
        prepared = gateway.targets.prepare(request, target, exchange.stream, source)
    except LossError as odd:
        raise Refused(400, ErrorKind.INVALID_REQUEST, str(odd), "lossy_request") from None
    except WriteError as odd:
        raise Refused(400, ErrorKind.INVALID_REQUEST, str(odd)) from None
    exchange.report = prepared.report
    if exchange.principal.refuse_losses and prepared.report:
        text = f"this key takes no losses: {prepared.report.losses[0]}"
        raise Refused(400, ErrorKind.INVALID_REQUEST, text, "lossy_request")
    return prepared


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
    if asks_usage(asked):
        changes["stream_options"] = {**(asked.envelope.stream_options or {}), "include_usage": True}
    if changes or (exchange.principal.limited and says_twice(body)):
        body = patched(body, changes)
    address = gateway.targets.address(target, {}, "request", exchange.stream)
    report = exchange.report = Report(target.dialect.name)
    http = HttpRequest(address.url, address.headers, body, address.secrets)
    return Prepared(target, http, report)


_LIMITED = re.compile(rb'"(model|n|max_tokens|max_completion_tokens|max_output_tokens)"\s*:')
"""Members that a key may be limited by."""
_ESCAPED = re.compile(rb'\\u00[0-7][0-9a-fA-F][^"\\]{0,24}"\s*:')
"""A member whose name is not written plainly."""


def says_twice(body: bytes) -> bool:
    """Whether a member that a key is limited by may stand in a body twice. We go by the last one,
    and a provider may go by the first: then only the last one is sent."""
    names = _LIMITED.findall(body)
    if len(set(names)) < len(names):
        return True
    return b"\\u00" in body and _ESCAPED.search(body) is not None


def asks_usage(asked: Asked) -> bool:
    """Whether a stream's usage has to be asked for in the client's place."""
    if asked.front.dialect != "openai-chat" or not asked.envelope.stream:
        return False
    return not (asked.envelope.stream_options or {}).get("include_usage")


_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode = msgspec.json.Encoder().encode


def patched(body: bytes, changes: Mapping[str, Any]) -> bytes:
    """A JSON object with some members changed, or taken out where they are `UNSET`, and all others
    byte for byte as they were."""
    members: dict[str, Any] = dict(_members.decode(body))
    members.update(changes)
    return _encode({name: value for name, value in members.items() if value is not msgspec.UNSET})


async def send(
    gateway: Gateway,
    prepared: Prepared,
    clock: Clock,
    stream: bool,
    raw: list[Told] | None = None,
) -> Reply:
    """A reply of status 200; else the error that it tells. What the provider said itself is kept in
    `raw`, for clients that speak its dialect."""
    target = prepared.target
    usual = target.provider.timeouts
    limits = HttpLimits(
        usual.connect,
        usual.first_byte if stream else None,
        usual.idle if stream else None,
        None if stream else usual.total,
    )
    secrets = prepared.http.secrets
    try:
        reply = await gateway.transport.send(prepared.http, limits)
        if reply.status == 200:
            return reply
        body = await _error_body(reply)
        if raw is not None:
            kind = reply.headers.get("content-type", "application/json").encode("latin-1")
            down = [(b"content-type", kind), *headers_down(reply.headers, secrets)]
            raw[:] = [Told(reply.status, down, body_down(body, secrets))]
        error = failures.of_reply(reply.status, reply.headers, body, target.dialect, secrets)
    except TransportError as odd:
        error = failures.of_transport(odd, secrets)
    raise placed(error, target)


async def _error_body(reply: Reply) -> bytes:
    try:
        return await reply.body(_ERROR_BYTES)
    except (TooLarge, TransportError):
        return b""
    finally:
        reply.close()


async def whole(gateway: Gateway, reply: Reply, target: Target) -> bytes:
    limit = gateway.settings.limits.answer
    try:
        return await reply.body(limit)
    except TooLarge:
        error: CallError = TooLargeError(f"an answer of more than {limit} bytes")
    except TransportError as odd:
        error = failures.of_transport(odd)
    finally:
        reply.close()
    raise placed(error, target)


async def answered(
    gateway: Gateway,
    exchange: Exchange,
    asked: Asked,
    prepared: Prepared,
    body: bytes,
    upstream: Mapping[str, str],
) -> Told:
    """A provider's answer as one for the client."""
    target, front = prepared.target, asked.front
    same = target.dialect.name == front.dialect and not asked.ours
    seen = glance(front.dialect, body) if same and not exchange.principal.keep_content else None
    if seen is not None:
        _note_usage(gateway, exchange, target, *seen)
        return _passed_on(exchange, asked, target, body, upstream)
    try:
        response = target.dialect.read_response(body)
    except ReadError as odd:
        raise placed(failures.unreadable(odd, upstream), target) from None
    if response.error is not None:
        error = failures.of_provider(response.error, upstream, prepared.http.secrets)
        raise placed(error, target)
    metadata = response.message.metadata
    _note_usage(gateway, exchange, target, metadata.usage, metadata.stop_reason)
    if exchange.said is not None and gateway.responses is not None:
        await gateway.responses.keep(exchange.said, echoed(response, exchange), exchange)
    if front is RESPONSES:
        note_kept(gateway, exchange, metadata.response_id)
    if exchange.principal.keep_content:
        exchange.response = response
    if same:
        return _passed_on(exchange, asked, target, body, upstream)
    await gateway.memory.keep(response, exchange)
    out = written(response, exchange, target, asked)
    headers = answer_headers(exchange, upstream, front, target.dialect.name)
    return Told(200, [JSON, *headers], out)


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
    exchange: Exchange, asked: Asked, target: Target, body: bytes, upstream: Mapping[str, str]
) -> Told:
    """The provider's own bytes, but for the model's name."""
    front = asked.front
    if target.provider.key == LOCAL:  # it is ours, and leaves out what others promise
        body = Filler(front.dialect, asked.body).body(body)
    if asked.envelope.model != target.name and asked.match.model is None:
        body = patched(body, {"model": asked.envelope.model})
    headers = answer_headers(exchange, upstream, front, target.dialect.name)
    return Told(200, [JSON, *headers], body)


def written(response: Response, exchange: Exchange, target: Target, asked: Asked) -> bytes:
    front = asked.front
    response = echoed(response, exchange)
    told = retell(response, front.dialect, source=target.dialect.name)
    said = front.codec().write_response(told.value, told.scribe)
    if said.report and exchange.report is not None:
        exchange.report.extend(said.report)
    return _encode(Filler(front.dialect, asked.body).whole(said.wire))


def given_id(exchange: Exchange) -> str | None:
    """An id for an answer whose provider has none, where a client may expect one and the dialect
    makes none of its own."""
    return exchange.id if exchange.front == GEMINI.dialect else None


def echoed(response: Response, exchange: Exchange) -> Response:
    """The answer under the name that the client knows the model by. The word that the provider has
    for its end stays behind: in the client's dialect the same word may say something else."""
    metadata = response.message.metadata
    metadata = metadata.replace(
        response_model=exchange.client_model,
        response_id=metadata.response_id or given_id(exchange),
        raw_stop_reason=None,
    )
    return response.replace(message=response.message.replace(metadata=metadata))


def failed(exchange: Exchange, asked: Asked, error: CallError, raw: list[Told]) -> Told:
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
        headers += answer_headers(exchange, {}, asked.front, target.dialect.name)
    same = target is not None and target.dialect.name == asked.front.dialect
    if raw and same and error.kind is not ErrorKind.AUTH and raw[0].status >= 400:
        told = raw[0]
        exchange.status = told.status
        return Told(told.status, [*told.headers, *headers], told.body)
    status = error.status if error.status and 400 <= error.status < 500 else STATUSES[error.kind]
    if error.kind is ErrorKind.AUTH:
        status = STATUSES[error.kind]
    said = ProviderError(error.kind, error.problem, error.code, status)
    exchange.status = status
    headers = [(b"content-type", b"application/json"), *headers]
    headers += raw[0].headers[1:] if raw else ()
    return Told(status, headers, error_body(asked.front, said))
