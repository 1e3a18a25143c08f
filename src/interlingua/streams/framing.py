"""Which framing a dialect's streams have, and bytes to frames and back for each."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Protocol

import msgspec

from interlingua.streams import aws, jsonarray, ndjson, sse
from interlingua.streams.frames import Frame

json_decode = msgspec.json.Decoder().decode
json_encode = msgspec.json.Encoder().encode

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
    special = _SNIFFED.get(dialect)
    return DECODERS[FRAMING.get(dialect, "sse")]() if special is None else special()


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


class _AnthropicDecoder:
    """Server-sent events, or AWS event streams, whose messages begin with their length: its first
    byte is no text."""

    def __init__(self) -> None:
        self._decoder: Decoder | None = None

    def feed(self, data: bytes) -> list[Frame]:
        decoder = self._decoder
        if decoder is None:
            if not data:
                return []
            decoder = self._decoder = _Invoked() if data[0] == 0 else DECODERS["sse"]()
        return decoder.feed(data)

    def close(self) -> list[Frame]:
        return [] if self._decoder is None else self._decoder.close()


class _Invoked:
    """What Bedrock makes of Anthropic's frames: each is text in base64 in a message of AWS's."""

    def __init__(self) -> None:
        self._decoder = aws.Decoder()

    def feed(self, data: bytes) -> list[Frame]:
        return [_unwrapped(frame) for frame in self._decoder.feed(data)]

    def close(self) -> list[Frame]:
        return [_unwrapped(frame) for frame in self._decoder.close()]


def _unwrapped(frame: Frame) -> Frame:
    """A frame as Anthropic itself sends it, exceptions as its errors."""
    try:
        wire = json_decode(frame.data)
        if frame.event == "chunk":
            text = b64decode(wire["bytes"]).decode()
            kind = json_decode(text).get("type")
            return Frame(kind if type(kind) is str else None, text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return frame  # which the reader will have something to say about
    kind = _ERRORS.get((frame.event or "").lower())
    if kind is None:
        return frame
    message = wire.get("message") if type(wire) is dict else None
    error = {"type": kind, "message": message or frame.event}
    return Frame("error", json_encode({"type": "error", "error": error}).decode())


_ERRORS = {
    "throttlingexception": "rate_limit_error",
    "validationexception": "invalid_request_error",
    "internalserverexception": "api_error",
    "modelstreamerrorexception": "api_error",
    "modeltimeoutexception": "timeout_error",
    "serviceunavailableexception": "overloaded_error",
}
"""Exceptions of InvokeModelWithResponseStream (botocore's service model, read 2026-11), in
Anthropic's words."""
_SNIFFED: dict[str, Callable[[], Decoder]] = {
    "gemini": _GeminiDecoder,
    "anthropic": _AnthropicDecoder,
}
"""Dialects that come framed in more than one way."""
