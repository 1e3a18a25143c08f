"""Which dialect a stream is in, told from its first frame."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.errors import DetectError, ReadError
from interlingua.streams import ndjson, sse

ENOUGH = 1024 * 1024
"""So many bytes without a frame that tells are no stream that we know."""

_ANTHROPIC = ("message_", "content_block_", "ping")


def detect_stream(data: bytes) -> str | None:
    """The dialect, or None while there is too little to tell; `DetectError` where it is none."""
    start = data.lstrip(b" \t\r\n\xef\xbb\xbf")
    if not start:
        return None
    if data[:1] == b"\0":
        return "bedrock"  # the length of a message in AWS's framing
    if start[:1] == b"[":
        return "gemini"
    decoder = ndjson.Decoder() if start[:1] == b"{" else sse.Decoder()
    try:
        frames = decoder.feed(data)
    except ReadError as odd:
        raise DetectError(f"no stream that we know: {odd}") from None
    for frame in frames:
        try:
            name = _dialect_of(msgspec.json.decode(frame.data))
        except (msgspec.DecodeError, RecursionError):
            continue
        if name is not None:
            return name
    if len(data) > ENOUGH:
        raise DetectError("no frame of this stream tells its dialect")
    return None


def _dialect_of(wire: Any) -> str | None:
    if not isinstance(wire, dict):
        return None
    kind = wire.get("type")
    if isinstance(kind, str):
        if kind.startswith("response."):
            return "openai-responses"
        if kind.startswith(_ANTHROPIC):
            return "anthropic"
    if "candidates" in wire or "promptFeedback" in wire or "usageMetadata" in wire:
        return "gemini"
    if "choices" in wire:
        return "openrouter" if isinstance(wire.get("provider"), str) else "openai-chat"
    if "done" in wire and ("message" in wire or "model" in wire):
        return "ollama"
    return None
