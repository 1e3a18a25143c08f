"""Streams: frames in, events out, and back. They come as server-sent events, or wrapped by
Bedrock."""

from __future__ import annotations

from base64 import b64decode

import msgspec

from interlingua.dialects.anthropic.stream.reader import StreamReader as StreamReader
from interlingua.dialects.anthropic.stream.writer import StreamWriter as StreamWriter
from interlingua.streams import aws
from interlingua.streams.frames import Frame
from interlingua.streams.framing import EitherDecoder

json_decode = msgspec.json.Decoder().decode
json_encode = msgspec.json.Encoder().encode


def make_decoder() -> EitherDecoder:
    """Messages of AWS begin with their length, whose first byte is no text."""
    return EitherDecoder(b"\0", _InvokedDecoder)


class _InvokedDecoder:
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
