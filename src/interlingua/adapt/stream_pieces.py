"""The pieces of a stream in any of the forms in which libraries give them: bytes cut anywhere,
lines, parsed JSON, objects of an SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.dialects.registry import traits_of
from interlingua.errors import a_type
from interlingua.model.interop import dumped, is_sdk_object
from interlingua.streams.frames import Frame

if TYPE_CHECKING:
    from interlingua.adapt.stream_convert import StreamConverter
    from interlingua.adapt.stream_places import StreamSource

TAKEN = "il.stream_convert takes bytes, text, lines, dicts and chunks of an SDK"
_NAMED = (b"event:", b"id:", b"retry:", b":")
"""How lines of server-sent events begin that have no data."""
_encode = msgspec.json.Encoder().encode


class Pieces:
    """Feeds pieces to a converter, whose source is detected from the first ones if it has none."""

    def __init__(self, source: str | None, target: str, model: str | None) -> None:
        self._source, self._target, self._model = source, target, model
        self._converter: StreamConverter | None = None
        self._waiting = b""
        self._has_lines: bool | None = None
        """Whether the pieces are lines without their ends; None while that is not known."""
        self._undecided: list[bytes] = []
        self._frames: StreamSource | None = None
        if source is not None:
            self._begin(source)

    @property
    def converter(self) -> StreamConverter:
        """The converter; one that never saw a frame reads the source as empty."""
        return self._converter or self._begin(self._source or self._target)

    def feed(self, piece: Any) -> bytes:
        if type(piece) is bytes and self._has_lines is False and self._converter is not None:
            return self._feed_raw(piece)
        if isinstance(piece, (bytes, bytearray, memoryview, str)):
            return self._feed_bytes(piece.encode() if isinstance(piece, str) else bytes(piece))
        wire = dumped(piece) if is_sdk_object(piece) else piece
        if not isinstance(wire, dict):
            raise TypeError(f"{TAKEN}; found {a_type(piece)}")
        if self._converter is None:
            self._begin(_dialect_of(wire))
        frame = frame_of(wire, self.converter.source)
        self._frames.add(frame)  # type: ignore[union-attr]  # made with the converter
        return self.converter.feed_frame(frame)

    def close(self) -> bytes:
        """The end of the stream."""
        data = self._decide(len(self._undecided) > 1) if self._has_lines is None else b""
        last = self._feed_raw(data) + self.converter.close()
        self.converter.report.source = self._frames
        return last

    def _feed_bytes(self, data: bytes) -> bytes:
        if self._has_lines is None:
            self._undecided.append(data)
            decided = are_lines(self._undecided)
            return b"" if decided is None else self._feed_raw(self._decide(decided))
        return self._feed_raw(data + b"\n" if self._has_lines else data)

    def _decide(self, has_lines: bool) -> bytes:
        self._has_lines = has_lines
        pieces, self._undecided = self._undecided, []
        return b"".join([piece + b"\n" for piece in pieces] if has_lines else pieces)

    def _feed_raw(self, data: bytes) -> bytes:
        if self._converter is not None:
            if not data:
                return b""
            self._frames.add(data)  # type: ignore[union-attr]  # made with the converter
            return self._converter.feed(data)
        from interlingua.adapt.stream_convert import detect_stream

        self._waiting += data
        if (found := detect_stream(self._waiting)) is None:
            return b""
        waiting, self._waiting = self._waiting, b""
        self._begin(found)
        return self._feed_raw(waiting)

    def _begin(self, source: str) -> StreamConverter:
        from interlingua.adapt.stream_convert import StreamConverter
        from interlingua.adapt.stream_places import StreamSource

        self._converter = StreamConverter(source, self._target, self._model)
        self._frames = StreamSource(self._converter.source)
        return self._converter


def are_lines(pieces: list[bytes]) -> bool | None:
    """Whether the first pieces of a stream are lines without their ends, as `iter_lines` gives
    them; None while that cannot be told."""
    if any(b"\n" in piece for piece in pieces):
        return False
    full = [piece for piece in pieces if piece]
    if not full:
        return None
    if not _is_line(full[0]):
        return False
    return None if len(full) == 1 else full[1].startswith((b"data:", b"event:", b"{"))


def _is_line(data: bytes) -> bool:
    if data.startswith(_NAMED):
        return True
    text = data.removeprefix(b"data:").strip()
    try:
        return text == b"[DONE]" or isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeError):
        return False


def frame_of(wire: dict[str, Any], source: str) -> Frame:
    """The frame of a stream that holds this JSON."""
    if traits_of(source).framing == "aws" and len(wire) == 1:
        [(name, inner)] = wire.items()
        return Frame(name, _encode(inner).decode())
    kind = wire.get("type", wire.get("event_type"))
    return Frame(kind if isinstance(kind, str) else None, _encode(wire).decode())


def _dialect_of(wire: dict[str, Any]) -> str:
    from interlingua.adapt.stream_convert import dialect_of_frame
    from interlingua.errors import DetectError

    found = "bedrock" if "messageStart" in wire else dialect_of_frame(wire)
    if found is None:
        raise DetectError("not a frame of a known stream: pass its format as source")
    return found
