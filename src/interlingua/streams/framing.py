"""Bytes to frames and back, for each framing that streams have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from interlingua.dialects.registry import dialect as dialect_of
from interlingua.streams import aws, jsonarray, ndjson, sse
from interlingua.streams.frames import Frame

DECODERS: dict[str, Callable[[], Decoder]] = {
    "sse": sse.Decoder,
    "ndjson": ndjson.Decoder,
    "aws": aws.Decoder,
    "json": jsonarray.Decoder,
}
ENCODERS: dict[str, Callable[[Frame], bytes]] = {
    "sse": sse.encode,
    "ndjson": ndjson.encode,
    "aws": aws.encode,
}


class Decoder(Protocol):
    """Bytes in, frames out."""

    def feed(self, data: bytes) -> list[Frame]: ...
    def close(self) -> list[Frame]: ...


def decoder(dialect: str) -> Decoder:
    """A new decoder for one stream of a dialect."""
    of = dialect_of(dialect)
    return DECODERS[of.traits.framing]() if of.decoder is None else of.decoder()


def encoder(dialect: str) -> Callable[[Frame], bytes]:
    """What makes a frame of a dialect bytes."""
    traits = dialect_of(dialect).traits
    encode = ENCODERS[traits.framing]
    return _one_line(encode) if traits.one_line else encode


_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}


def _one_line(encode: Callable[[Frame], bytes]) -> Callable[[Frame], bytes]:
    """Marks that Unicode calls a line end are written as JSON escapes."""

    def careful(frame: Frame) -> bytes:
        data = frame.data
        if not data.isascii():
            for mark, escape in _LINE_ENDS.items():
                if mark in data:
                    data = data.replace(mark, escape)
            if data is not frame.data:
                frame = frame._replace(data=data)
        return encode(frame)

    return careful
