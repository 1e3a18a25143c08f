"""Which framing a dialect's streams have, and bytes to frames and back for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from interlingua.streams import aws, jsonarray, ndjson, sse
from interlingua.streams.frames import Frame

FRAMING: dict[str, str] = {"ollama": "ndjson", "bedrock": "aws"}
"""Dialect to framing; all others have server-sent events."""
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
    return _GeminiDecoder() if dialect == "gemini" else DECODERS[FRAMING.get(dialect, "sse")]()


def encoder(dialect: str) -> Callable[[Frame], bytes]:
    """What makes a frame of a dialect bytes."""
    encode = ENCODERS[FRAMING.get(dialect, "sse")]
    return _one_line(encode) if dialect in CAREFUL else encode


CAREFUL = frozenset({"gemini", "ollama"})
"""Their official clients end a line at every mark that Unicode calls a line end (google-genai 3.1,
ollama 0.6, tried 2026-11), so those marks are written as JSON escapes."""
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}


def _one_line(encode: Callable[[Frame], bytes]) -> Callable[[Frame], bytes]:
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


class _GeminiDecoder:
    """Server-sent events, or an array of JSON: the first mark tells."""

    def __init__(self) -> None:
        self._decoder: Decoder | None = None
        self._before = b""
        """What came before it, such as a byte order mark."""

    def feed(self, data: bytes) -> list[Frame]:
        if self._decoder is not None:
            return self._decoder.feed(data)
        data = self._before + data
        start = data.lstrip(b" \t\r\n\xef\xbb\xbf")
        if not start:
            self._before = data
            return []
        is_array = start[:1] == b"["
        self._decoder = DECODERS["json" if is_array else "sse"]()
        return self._decoder.feed(start if is_array else data)

    def close(self) -> list[Frame]:
        return [] if self._decoder is None else self._decoder.close()
