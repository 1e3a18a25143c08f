"""AWS event streams (Bedrock): binary messages with checksums, to frames and back.

A message is: its length, the length of its headers, a checksum of these two, headers, payload, a
checksum of it all. The frame's event is the header `:event-type` (or `:exception-type`).
"""

from __future__ import annotations

import struct
from zlib import crc32

from interlingua.errors import ReadError, WriteError
from interlingua.streams.frames import LIMIT, Frame, bytes_of, text_of, too_large

WHAT = "AWS event stream"
_PRELUDE = struct.Struct(">III")
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header value by its type; 6 and 7 (bytes and text) begin with their length."""
_TEXT = 7


def length_of(data: bytes | bytearray, at: int, limit: int = LIMIT) -> int:
    """The length of the message that begins there."""
    total, headers, check = _PRELUDE.unpack_from(data, at)
    if crc32(data[at : at + 8]) != check or total < headers + 16:
        raise ReadError(WHAT, expected="a message", found="a wrong checksum of its start")
    if total > limit:
        raise too_large(WHAT, limit)
    return int(total)


def whole_messages(data: bytes) -> tuple[int, int]:
    """The length of the complete messages, and of the next one, if that is known."""
    at = 0
    while len(data) - at >= _PRELUDE.size:
        size = length_of(data, at)
        if len(data) - at < size:
            return at, size
        at += size
    return at, 0


class Decoder:
    """Bytes in, frames out."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._odd: ReadError | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """The complete messages. A malformed one raises after those before it were returned."""
        if self._odd is not None:
            raise self._odd
        self._buffer += data
        frames: list[Frame] = []
        at = 0
        try:
            while (size := self._next(at)) is not None:
                frames.append(_frame(bytes(self._buffer[at : at + size])))
                at += size
        except ReadError as error:
            if not frames:
                raise
            self._odd = error
        del self._buffer[:at]
        return frames

    def _next(self, at: int) -> int | None:
        """The length of the message that begins there, if all of it is here."""
        if len(self._buffer) - at < _PRELUDE.size:
            return None
        total = length_of(self._buffer, at, self._limit)
        return total if len(self._buffer) - at >= total else None

    def close(self) -> list[Frame]:
        """A message that is cut is no message."""
        self._buffer.clear()
        if self._odd is not None:
            raise self._odd
        return []


def _frame(message: bytes) -> Frame:
    headers_size = _PRELUDE.unpack_from(message)[1]
    (check,) = struct.unpack(">I", message[-4:])
    if crc32(message[:-4]) != check:
        raise ReadError(WHAT, expected="a message", found="a wrong checksum")
    headers = _headers(message[12 : 12 + headers_size])
    event = headers.get(":event-type") or headers.get(":exception-type")
    return Frame(event, text_of(message[12 + headers_size : -4], WHAT))


def _headers(data: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            size = data[at]
            name = text_of(data[at + 1 : at + 1 + size], WHAT)
            kind = data[at + 1 + size]
            at += 2 + size
            if kind in (6, _TEXT):
                (length,) = struct.unpack_from(">H", data, at)
                if kind == _TEXT:
                    headers[name] = text_of(data[at + 2 : at + 2 + length], WHAT)
                at += 2 + length
            else:
                at += _SIZES[kind]
    except (IndexError, KeyError, struct.error):
        raise ReadError(WHAT, expected="headers", found="something else") from None
    return headers


def encode(frame: Frame) -> bytes:
    """A frame as one message; names that end in `Exception` are exceptions."""
    event = frame.event or "chunk"
    kind = "exception" if event.endswith("Exception") else "event"
    headers = b"".join(
        _header(name, value)
        for name, value in (
            (f":{kind}-type", event),
            (":content-type", "application/json"),
            (":message-type", kind),
        )
    )
    payload = bytes_of(frame.data, WHAT)
    start = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    message = start + struct.pack(">I", crc32(start)) + headers + payload
    return message + struct.pack(">I", crc32(message))


def _header(name: str, value: str) -> bytes:
    text = bytes_of(value, WHAT)
    if len(text) > 0x7FFF:
        raise WriteError(WHAT, "$.event", "a name that is too long")
    return bytes([len(name)]) + name.encode() + bytes([_TEXT]) + struct.pack(">H", len(text)) + text
