"""Which dialect a stream is in, told from its first frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from interlingua.dialects.registry import dialect, dialects
from interlingua.errors import DetectError, ReadError
from interlingua.streams import ndjson, sse

ENOUGH = 1024 * 1024
"""So many bytes without a frame that tells are no stream that we know."""

_NOTHING: tuple[bytes, ...] = ()


def detect_stream(data: bytes) -> str | None:
    """The dialect, or None while there is too little to tell; `DetectError` where it is none."""
    start = data.lstrip(b" \t\r\n\xef\xbb\xbf")
    if not start:
        return None
    for name, signs in _signs():
        if start.startswith(getattr(signs, "STARTS", _NOTHING)):
            return name
    decoder = ndjson.Decoder() if start[:1] == b"{" else sse.Decoder()
    try:
        frames = decoder.feed(data)
    except ReadError as error:
        raise DetectError(f"no stream that we know: {error}") from None
    for frame in frames:
        try:
            found = _dialect_of(msgspec.json.decode(frame.data))
        except (msgspec.DecodeError, RecursionError):
            continue
        if found is not None:
            return found
    if len(data) > ENOUGH:
        raise DetectError("no frame of this stream tells its dialect")
    return None


def _dialect_of(wire: Any) -> str | None:
    if not isinstance(wire, dict):
        return None
    for name, signs in _signs():
        is_frame = getattr(signs, "is_frame", None)
        if is_frame is not None and is_frame(wire):
            return name
    return None


def _signs() -> Iterator[tuple[str, Any]]:
    for name in dialects():
        yield name, dialect(name).signs
