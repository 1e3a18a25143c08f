"""Members that an API promises in every answer, although there is nothing to say in them.

A translated answer has what the provider said. Typed clients, and judges of conformance, also look
for the rest: nulls, zeros, and what a response repeats of its request. They are put in here, on
the way to the client alone, so that nothing of them is ever kept or counted as said."""

from __future__ import annotations

import msgspec

from interlingua.dialects.front import Filler, Wire
from interlingua.dialects.registry import dialect as dialect_of

_decode = msgspec.json.Decoder(Wire).decode
_encode = msgspec.json.Encoder().encode


def promised_members(dialect: str, request_body: bytes) -> Filler:
    """What fills the answers to one request."""
    front = dialect_of(dialect).front
    return Filler(request_body) if front is None else front.filler(request_body)


def with_promised_members(dialect: str, request_body: bytes, body: bytes) -> bytes:
    """An answer as bytes, with all that is promised."""
    try:
        return _encode(promised_members(dialect, request_body).whole(_decode(body)))
    except msgspec.DecodeError:
        return body
