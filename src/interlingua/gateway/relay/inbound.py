"""A request as it came in: read as far as necessary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.adapt.remembered import Conversation
from interlingua.client.targets import Target
from interlingua.dialects.front import Front, Stored
from interlingua.errors import ReadError
from interlingua.gateway.gateway import Gateway, Route
from interlingua.gateway.memory.responses import ids_in, ids_named, keeps
from interlingua.gateway.pools import Pool, response_key
from interlingua.gateway.relay.limits import answer_limit, labels_of, limited
from interlingua.gateway.shared.bodies import ESCAPED
from interlingua.gateway.shared.fronts import Match, codec_of
from interlingua.gateway.shared.sizes import (
    Most,
    has_duplicate_keys,
    most_of,
    plainly,
    without_duplicate_keys,
)
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Principal, Refusal
from interlingua.model.arguments import recover
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.codec import body_problem
from interlingua.model.exchange import ErrorKind, Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Role
from interlingua.model.reasons import because

_LIMITED = re.compile(rb'"(model|n|max_tokens|max_completion_tokens|max_output_tokens)"\s*:')
"""Members that a key may be limited by."""


def repeats_field(body: bytes) -> bool:
    """Whether a member that a key is limited by may stand in a body twice. We go by the last one,
    and a provider may go by the first: then only the last one is sent."""
    names = _LIMITED.findall(body)
    if len(set(names)) < len(names):
        return True
    return b"\\" in body and b"\\u00" in body and ESCAPED.search(body) is not None


members_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
"""The members of a JSON object, as raw JSON."""
_encode = msgspec.json.Encoder().encode


def patched(body: bytes | Mapping[str, Any], changes: Mapping[str, Any]) -> bytes:
    """A JSON object, or its members, with some changed, or taken out where they are `UNSET`, and
    all others byte for byte as they were."""
    members: dict[str, Any] = dict(members_of(body) if isinstance(body, bytes) else body)
    members.update(changes)
    return _encode({name: value for name, value in members.items() if value is not msgspec.UNSET})


JSON = (b"content-type", b"application/json")


class _Fields(msgspec.Struct, frozen=True):
    model: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    previous_response_id: Any = None
    previous_interaction_id: Any = None
    n: Any = None


class Envelope(_Fields, frozen=True):
    """The members of every request's body that the gateway needs to know. The body is taken
    apart once, into its members as they are spelled."""

    members: dict[str, msgspec.Raw] = {}

    def answers(self) -> int:
        """How many answers a stream has."""
        return self.n if type(self.n) is int and self.n > 0 else 1


_fields = msgspec.json.Decoder(_Fields)
_read_model = msgspec.json.Decoder(str | None).decode
_read_stream = msgspec.json.Decoder(bool | None).decode
_RARE: dict[str, Callable[[msgspec.Raw], Any]] = {
    name: msgspec.json.Decoder(kind).decode
    for name, kind in (
        ("stream_options", dict[str, Any] | None),
        ("previous_response_id", Any),
        ("previous_interaction_id", Any),
        ("n", Any),
    )
}
_RARE_NAMES = frozenset(_RARE)


class HttpAnswer(NamedTuple):
    """An answer for a client."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Inbound(NamedTuple):
    """A parsed request, and the target that is to answer."""

    match: Match
    front: Front
    body: bytes
    headers: Mapping[bytes, bytes]
    envelope: Envelope
    route: Route
    request: Request | None
    """None if the body is passed on unchanged."""
    ours: bool = False
    """Whether the conversation is stored or was changed here, so that the body cannot be passed
    through."""
    most: Most | None = None
    """What a plain request asks for at most, where that has to be known."""
    respelled: bool = False
    """Whether the body was rewritten without its duplicate keys."""
    to_keep: Request | None = None
    """The request as the client sent it, if its answer may have to be stored."""
    fetches_media: bool = False
    """Whether media by URL is fetched where its model takes none: by the setting of its key,
    else of its route, else of the gateway."""
    conversation: Conversation | None = None
    """What the gateway remembers of the turns before this one."""
    changes: Report | None = None
    """What the gateway did to the conversation."""
    shortens: bool = False
    """Whether the limit of its answer is ours, and may be lower."""
    shortened_to: int | None = None
    """Output tokens that the caps leave room for."""

    @property
    def members(self) -> dict[str, msgspec.Raw] | None:
        """Those of the body; None where it is another than was opened."""
        return None if self.respelled else self.envelope.members


def envelope_of(match: Match, body: bytes) -> Envelope:
    """The members of a body, and those that we have to know, read. Most bodies have none of those
    that are rare."""
    try:
        members = members_of(body)
        model = _read_model(members["model"]) if "model" in members else None
        stream = _read_stream(members["stream"]) if "stream" in members else None
        rare: dict[str, Any] = {}
        if not _RARE_NAMES.isdisjoint(members):
            rare = {name: read(members[name]) for name, read in _RARE.items() if name in members}
    except (msgspec.DecodeError, UnicodeError) as error:
        text = _problem(body) or body_problem(error, body)
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text) from None
    except RecursionError:
        text = "request body nested too deeply"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text) from None
    if match.stream is not None:
        stream = match.stream
    elif stream is None:
        stream = match.front.streams_by_default
    return Envelope(match.model or model, stream, members=members, **rare)


def _problem(body: bytes) -> str | None:
    """What is wrong with a body, and where; None if nothing is."""
    try:
        _fields.decode(body)
    except (msgspec.DecodeError, UnicodeError) as error:
        return body_problem(error, body)
    return None


def parse_inbound(
    gateway: Gateway,
    exchange: Exchange,
    match: Match,
    body: bytes,
    headers: Mapping[bytes, bytes],
) -> Inbound:
    """The target of a request, and as much of its body as has to be read."""
    envelope = envelope_of(match, body)
    model, stream = envelope.model, bool(envelope.stream)
    arrival = exchange.arrival = replace(exchange.arrival, client_model=model, stream=stream)
    principal, route = arrival.principal, gateway.route(model, match.front)
    if principal.budgets:
        exchange.arrival = replace(arrival, labels=labels_of(envelope.members, headers))
    if principal.allowed_models is not None or route.pool is not None:
        route = gateway.allow(arrival, route).placed(envelope.members, principal.tenant)
    if route.by_client:
        route = route.asked_with(arrival.own_key)
    exchange.decision = Decision(route.targets[0])
    request = most = conversation = None
    whole, dialect, fetches = body, match.front.dialect, principal.fetch_media
    if principal.metered:
        most = plainly(dialect, body)
        if most is None:
            body, request, conversation = _read_unique(gateway, principal, match, body)
    if request is None and route.common_dialect != dialect:
        request, conversation = _read(gateway, principal, match, body)
    ours = match.front.wrapping is not None and not match.front.wrapping.passes
    fetches = route.fetch_media if fetches is None else fetches
    first = (match, match.front, body, headers, envelope, route, request)  # names take longer
    inbound = Inbound(*first, ours, most, body is not whole, None, fetches, conversation)
    if principal.limits_answers or route.limits_answers:
        return _limited(inbound, principal)
    return inbound


def _limited(inbound: Inbound, principal: Principal) -> Inbound:
    """The request with the limit of answers that its key or route sets."""
    request = inbound.request or read_request(inbound.match, inbound.body)
    settings, dialect = inbound.route.settings, inbound.front.dialect
    request, changes = answer_limit(request, dialect, principal, settings)
    if changes is None:
        return inbound._replace(request=request)
    has_limit = any(change.code == "output_limit_lowered" for change in changes.entries)
    return inbound._replace(request=request, ours=True, changes=changes, shortens=not has_limit)


def _read_unique(
    gateway: Gateway, principal: Principal, match: Match, body: bytes
) -> tuple[bytes, Request, Conversation | None]:
    """A body without duplicate keys, and as `_read`."""
    request, conversation = _read(gateway, principal, match, body)
    unique = _with_unique_keys(body, conversation)
    if unique is not body:
        request, conversation = read_request(match, unique), None
    return unique, request, conversation


def _with_unique_keys(body: bytes, conversation: Conversation | None) -> bytes:
    """As `without_duplicate_keys`; of a conversation, only the new messages are checked."""
    if conversation is None:
        return without_duplicate_keys(body)
    new = conversation.unchecked(body)
    if has_duplicate_keys(new):
        return without_duplicate_keys(body)
    conversation.checked = len(conversation.ends)
    return body


def _read(
    gateway: Gateway, principal: Principal, match: Match, body: bytes
) -> tuple[Request, Conversation | None]:
    """The request of a body, and the memory of its conversation."""
    dialect = codec_of(match.front.dialect)
    found = gateway.conversations.read(body, dialect, match.model, match.stream, principal.key_id)
    return (read_request(match, body), None) if found is None else (found.request, found)


def read_request(match: Match, body: bytes) -> Request:
    try:
        return codec_of(match.front.dialect).read_request(body, match.model, match.stream)
    except ReadError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None


_NOTHING = Most(0, 0)


async def reserve(
    gateway: Gateway, exchange: Exchange, inbound: Inbound, may_shorten: bool = True
) -> Inbound:
    """Reserves the most that the request may cost, if that is bounded. A request without a limit of
    its own is given the one that the caps leave room for."""
    route, dialect = inbound.route, inbound.front.dialect
    targets, most = route.targets, _NOTHING
    if exchange.arrival.principal.metered:
        most = inbound.most or most
        if inbound.ours or inbound.most is None:
            request = inbound.request or read_request(inbound.match, inbound.body)
            body = b"" if inbound.ours else inbound.body
            retold = inbound.ours or route.common_dialect != dialect
            conversation = inbound.conversation if request is inbound.request else None
            members = None if inbound.ours else inbound.members
            most = most_of(request, targets, dialect, body, retold, conversation, members)
    shortens = may_shorten and (inbound.shortens or most.output is None)
    reserved = await gateway.caps.reserve(exchange.arrival, most, targets, shortens=shortens)
    exchange.outcome.reservation = reserved
    if reserved is not None:
        if reserved.shortened_to is not None:
            inbound = shortened(inbound, reserved.shortened_to)
        if len(reserved.targets) < len(targets):
            fewer = route.limited_to(reserved.targets)
            inbound = inbound._replace(route=fewer._replace(conversation=route.conversation))
    return inbound


def shortened(inbound: Inbound, tokens: int) -> Inbound:
    """The request with an answer of at most so many tokens, in place of any other limit of ours."""
    request = inbound.request or read_request(inbound.match, inbound.body)
    why = because("output_limit_by_cap", tokens=tokens)
    request, changes = limited(request, inbound.front.dialect, tokens, why)
    if inbound.changes is not None:
        codes = ("output_limit_default", "output_limit_by_cap")
        changes.entries[:0] = [each for each in inbound.changes.entries if each.code not in codes]
    return inbound._replace(request=request, ours=True, changes=changes, shortened_to=tokens)


def reserved_as(inbound: Inbound, other: Inbound) -> Inbound:
    """Another form of a request, within the reservation of the first."""
    if len(inbound.route.targets) < len(other.route.targets):
        other = other._replace(route=inbound.route)
    tokens = inbound.shortened_to
    return other if tokens is None else shortened(other, tokens)


async def with_history(
    gateway: Gateway, arrival: Arrival, inbound: Inbound, stored: Stored
) -> Inbound:
    """A request of an API that keeps its answers, with the history that we keep for it. A provider
    that keeps them itself is asked itself."""
    if gateway.responses is None:
        return inbound
    if keeps(inbound.route.targets[0], inbound.front.dialect):
        return await _own_only(gateway, arrival, inbound, stored)
    goes_on = getattr(inbound.envelope, stored.previous) is not None
    if not arrival.principal.keep_content and not goes_on:
        return inbound
    as_sent = inbound.request or read_request(inbound.match, inbound.body)
    request = await gateway.responses.expand(as_sent, arrival)
    ours = arrival.principal.keep_content or request is not as_sent or inbound.ours
    return inbound._replace(request=request, ours=ours, to_keep=as_sent)


async def _own_only(
    gateway: Gateway, arrival: Arrival, inbound: Inbound, stored: Stored
) -> Inbound:
    """Checks a request to a provider that stores responses itself: a tenant can only continue its
    own responses and refer to its own items. Of a pool, the deployment that has them is asked."""
    has_key = arrival.principal.key_id is not None
    pool = inbound.route.pool
    if gateway.responses is None or not (has_key or pool):
        return inbound
    ids = ids_named(inbound.body, inbound.front.dialect)
    if any(ids) and has_key:
        await gateway.responses.require_own(ids, arrival)
    if pool is not None and (id := next(filter(None, ids), None)):
        label = await gateway.responses.deployment(id, arrival.principal)
        inbound = inbound._replace(route=inbound.route.beginning_with(label))
    if not has_key:
        return inbound
    twice = any(inbound.body.count(name) > 1 for name in stored.names)
    if twice or ESCAPED.search(inbound.body) is not None:
        body = without_duplicate_keys(inbound.body)  # only the part that was checked
        return inbound._replace(body=body, respelled=True)
    return inbound


def note_owner(
    gateway: Gateway, arrival: Arrival, target: Target, response: Response, pool: Pool | None = None
) -> None:
    """Whose an answer is that its provider keeps, and which deployment has it."""
    if gateway.responses is not None and keeps(target, arrival.front):
        ids = list(ids_in(response))
        label = target.label if pool is not None else ""
        gateway.responses.note(ids, arrival.principal, label)
        if pool is not None:
            tenant = arrival.principal.tenant
            pool.remember([response_key(tenant, id) for id in ids], target.label)


def require_convertible(request: Request, conversation: Conversation | None = None) -> None:
    """`Refusal` with 400 if there are no messages, or if arguments of a call are not JSON: other
    dialects need an object there, and an empty one would be a different call. Those of a
    `conversation` are looked at once."""
    if not request.messages and request.continues is None:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, "the request has no messages")
    known = 0
    if conversation is not None and conversation.messages is request.messages:
        known, conversation.accepted = conversation.accepted, len(request.messages)
    for message in request.messages[known:]:
        if message.role is not Role.ASSISTANT:
            continue
        for block in message.content:
            if not isinstance(block, ToolUseBlock) or block.call_type == "custom":
                continue
            text = block.raw_arguments
            if text is not None and recover(text).mode == "invalid":
                if conversation is not None:
                    conversation.accepted = 0
                why = f"the arguments of the call {block.id[:100]!r} are not valid JSON"
                raise Refusal(400, ErrorKind.INVALID_REQUEST, why, "invalid_arguments")
