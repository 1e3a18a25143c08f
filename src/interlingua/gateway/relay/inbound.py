"""A request as it came in: read as far as has to be known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from interlingua.client.targets import Target
from interlingua.dialects.front import Front, Stored
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import ReadError
from interlingua.gateway.gateway import Gateway, Route
from interlingua.gateway.memory.responses import ids_in, ids_named, keeps
from interlingua.gateway.relay.patching import ESCAPED, members_of
from interlingua.gateway.shared.fronts import Match
from interlingua.gateway.shared.sizes import Most, plainly, said_once
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Refusal
from interlingua.model.exchange import ErrorKind, Request, Response

JSON = (b"content-type", b"application/json")


class _Fields(msgspec.Struct, frozen=True):
    model: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    previous_response_id: Any = None
    previous_interaction_id: Any = None
    n: Any = None


class Envelope(_Fields, frozen=True):
    """What we have to know of every request's body, whatever else it says. The body is taken apart
    once, into its members as they stand."""

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
    """A request that is understood: what it says, and who is to answer."""

    match: Match
    front: Front
    body: bytes
    headers: Mapping[bytes, bytes]
    envelope: Envelope
    route: Route
    request: Request | None
    """None where the body goes on as it is."""
    ours: bool = False
    """Whether the conversation is kept here, so that nothing of it can go on as it is."""
    most: Most | None = None
    """What a plain request asks for at most, where that has to be known."""
    respelled: bool = False
    """Whether the body was written anew, without what it said twice."""
    to_keep: Request | None = None
    """The request as the client sent it, where its answer may have to be kept."""

    @property
    def members(self) -> dict[str, msgspec.Raw] | None:
        """Those of the body; None where it is another than was opened."""
        return None if self.respelled else self.envelope.members


def envelope_of(match: Match, body: bytes) -> Envelope:
    try:
        return _opened(match, body)
    except (msgspec.DecodeError, UnicodeError) as error:
        text = f"invalid request body: {_problem(body) or error}"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text) from None
    except RecursionError:
        text = "request body nested too deeply"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text) from None


def _opened(match: Match, body: bytes) -> Envelope:
    """The members of a body, and those that we have to know, read. Most bodies have none of those
    that are rare."""
    members = members_of(body)
    model = _read_model(members["model"]) if "model" in members else None
    stream = _read_stream(members["stream"]) if "stream" in members else None
    if match.stream is not None:
        stream = match.stream
    elif stream is None:
        stream = match.front.streams_by_default
    model = match.model or model
    if _RARE_NAMES.isdisjoint(members):
        return Envelope(model, stream, members=members)
    rare = {name: read(members[name]) for name, read in _RARE.items() if name in members}
    return Envelope(model, stream, **rare, members=members)


def _problem(body: bytes) -> str | None:
    """What is wrong with a body, with the place."""
    try:
        _fields.decode(body)
    except (msgspec.DecodeError, UnicodeError) as error:
        return str(error)
    return None


def parse_inbound(
    gateway: Gateway,
    exchange: Exchange,
    match: Match,
    body: bytes,
    headers: Mapping[bytes, bytes],
) -> Inbound:
    """Who is to answer, and what is asked, as far as that has to be known."""
    said = envelope_of(match, body)
    arrival = exchange.arrival = exchange.arrival.asking_for(said.model, bool(said.stream))
    route = gateway.allow(arrival, gateway.route(said.model, match.front))
    exchange.decision = Decision(route.targets[0])
    request = most = None
    respelled = False
    dialect = match.front.dialect
    if arrival.principal.metered:
        most = plainly(dialect, body)
        if most is None:
            whole, body = body, said_once(body)
            respelled = body is not whole
            request = read_request(match, body)
    if request is None and route.common_dialect != dialect:
        request = read_request(match, body)
    front = match.front
    return Inbound(match, front, body, headers, said, route, request, False, most, respelled)


def read_request(match: Match, body: bytes) -> Request:
    try:
        return dialect_of(match.front.dialect).read_request(body, match.model, match.stream)
    except ReadError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None


async def with_history(gateway: Gateway, arrival: Arrival, inbound: Inbound) -> Inbound:
    """A request of an API that keeps its answers, with the history that we keep for it. A provider
    that keeps them itself is asked itself."""
    stored = inbound.front.stored
    if stored is None or gateway.responses is None:
        return inbound
    if keeps(inbound.route.targets[0], inbound.front.dialect):
        return await _own_only(gateway, arrival, inbound, stored)
    goes_on = getattr(inbound.envelope, stored.previous) is not None
    if not arrival.principal.keep_content and not goes_on:
        return inbound
    said = inbound.request or read_request(inbound.match, inbound.body)
    request = await gateway.responses.expand(said, arrival)
    ours = arrival.principal.keep_content or request is not said
    return inbound._replace(request=request, ours=ours, to_keep=said)


async def _own_only(
    gateway: Gateway, arrival: Arrival, inbound: Inbound, stored: Stored
) -> Inbound:
    """A request to a provider that keeps responses itself: nobody goes on from another's, nor
    brings up items of it."""
    if arrival.principal.key_id is None or gateway.responses is None:
        return inbound
    ids = ids_named(inbound.body, inbound.front.dialect)
    if any(ids):
        await gateway.responses.require_own(ids, arrival)
    twice = any(inbound.body.count(name) > 1 for name in stored.names)
    if twice or ESCAPED.search(inbound.body) is not None:
        body = said_once(inbound.body)  # only what was looked at
        return inbound._replace(body=body, respelled=True)
    return inbound


def note_kept(gateway: Gateway, arrival: Arrival, target: Target, response: Response) -> None:
    """Whose an answer is that its provider keeps."""
    if gateway.responses is not None and keeps(target, arrival.front):
        gateway.responses.note(ids_in(response), arrival.principal)
