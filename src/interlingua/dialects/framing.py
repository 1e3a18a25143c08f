"""Bytes to frames and back, for each framing that streams have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from interlingua.dialects.registry import dialect as dialect_of
from interlingua.streams import aws as aws
from interlingua.streams import jsonarray, ndjson, sse
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


class EitherDecoder:
    """Server-sent events, or a framing that the first byte reveals: not a blank, nor one of a byte
    order mark."""

    def __init__(self, first: bytes, other: Callable[[], Decoder]) -> None:
        self.first = first
        self._other = other
        self._before = b""
        self._decoder: Decoder | None = None

    def feed(self, data: bytes) -> list[Frame]:
        if self._decoder is not None:
            return self._decoder.feed(data)
        data = self._before + data
        start = data.lstrip(b" \t\r\n\xef\xbb\xbf")
        if not start:
            self._before = data
            return []
        is_other = start.startswith(self.first)
        self._decoder = self._other() if is_other else sse.Decoder()
        return self._decoder.feed(start if is_other else data)

    def head_of(self, name: str | None) -> str | None:
        """Like `sse.Decoder.head_of`."""
        decoder = self._decoder
        return decoder.head_of(name) if isinstance(decoder, sse.Decoder) else None

    @property
    def is_cut(self) -> bool:
        """Like `sse.Decoder.is_cut`."""
        return isinstance(self._decoder, sse.Decoder) and self._decoder.is_cut

    def close(self) -> list[Frame]:
        return [] if self._decoder is None else self._decoder.close()


def decoder(dialect: str) -> Decoder:
    """A new decoder for one stream of a dialect."""
    of = dialect_of(dialect)
    return DECODERS[of.traits.framing]() if of.decoder is None else of.decoder()


def encoder(dialect: str) -> Callable[[Frame], bytes]:
    """The function that encodes frames of a dialect as bytes."""
    traits = dialect_of(dialect).traits
    encode = ENCODERS[traits.framing]
    return _one_line(encode) if traits.unicode_newlines else encode


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
