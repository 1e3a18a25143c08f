"""What a client asks: understood as far as that has to be known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.front import Front, Stored
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import ReadError
from interlingua.gateway.gateway import Gateway, Way
from interlingua.gateway.memory.responses import ids_in, ids_named, keeps
from interlingua.gateway.relay.fronts import Match
from interlingua.gateway.relay.patching import ESCAPED
from interlingua.gateway.relay.sizes import Most, plainly, said_once
from interlingua.gateway.state import Exchange, Refused
from interlingua.model.exchange import ErrorKind, Request, Response

JSON = (b"content-type", b"application/json")


class Envelope(msgspec.Struct):
    """What we have to know of every request's body, whatever else it says."""

    model: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    previous_response_id: Any = None
    previous_interaction_id: Any = None
    n: Any = None

    def answers(self) -> int:
        """How many answers a stream has."""
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
    most: Most | None = None
    """What a plain request asks for at most, where that has to be known."""

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
    request = most = None
    dialect = match.front.dialect
    if exchange.principal.metered:
        most = plainly(dialect, body)
        if most is None:
            body = said_once(body)
            request = read_request(match, body)
    if request is None and way.spoken != dialect:
        request = read_request(match, body)
    return Asked(match, body, headers, said, way, request, most=most)


def read_request(match: Match, body: bytes) -> Request:
    try:
        return dialect_of(match.front.dialect).read_request(body, match.model, match.stream)
    except ReadError as odd:
        raise Refused(400, ErrorKind.INVALID_REQUEST, str(odd)) from None


async def with_history(gateway: Gateway, exchange: Exchange, asked: Asked) -> Asked:
    """A request of an API that keeps its answers, with the history that we keep for it. A provider
    that keeps them itself is asked itself."""
    stored = asked.front.stored
    if stored is None or gateway.responses is None:
        return asked
    if keeps(asked.way.targets[0], asked.front.dialect):
        return await _own_only(gateway, exchange, asked, stored)
    goes_on = getattr(asked.envelope, stored.previous) is not None
    if not exchange.principal.keep_content and not goes_on:
        return asked
    said = asked.request or read_request(asked.match, asked.body)
    exchange.said = said
    request = await gateway.responses.expand(said, exchange)
    ours = exchange.principal.keep_content or request is not said
    return asked._replace(request=request, ours=ours)


async def _own_only(gateway: Gateway, exchange: Exchange, asked: Asked, stored: Stored) -> Asked:
    """A request to a provider that keeps responses itself: nobody goes on from another's, nor
    brings up items of it."""
    if exchange.principal.key_id is None or gateway.responses is None:
        return asked
    ids = ids_named(asked.body, asked.front.dialect)
    if any(ids):
        await gateway.responses.require_own(ids, exchange)
    twice = any(asked.body.count(name) > 1 for name in stored.names)
    if twice or ESCAPED.search(asked.body) is not None:
        return asked._replace(body=said_once(asked.body))  # only what was looked at
    return asked


def note_kept(gateway: Gateway, exchange: Exchange, response: Response) -> None:
    """Whose an answer is that its provider keeps."""
    target = exchange.target
    if gateway.responses is not None and target is not None and keeps(target, exchange.front):
        gateway.responses.note(ids_in(response), exchange)
