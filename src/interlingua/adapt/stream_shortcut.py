"""Pieces of a stream that are spelled like the one before: bytes to bytes, in one step.

Most of a stream is such pieces. Once one of them was read and written, the next is the same frame
with another text, in both dialects: only that text is read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.kernel.stream_reader import UNREADABLE, decode_text
from interlingua.dialects.kernel.stream_writer import encode_text
from interlingua.streams import sse
from interlingua.streams.frames import MANY, Frame, thin

Shortcut = Callable[[bytes], bytes | None]
"""What is said for the bytes of one or several pieces; None for other bytes, which changes nothing.
"""


def shortcut_from(
    decoder: Any, reader: Any, writer: Any, frame: Frame, event: Any
) -> Shortcut | None:
    """What says further pieces like the one that came last, in this frame and as this event; None
    where one of the three cannot tell how it goes on. Both sides are server-sent events."""
    head_of, found = getattr(decoder, "head_of", None), getattr(reader, "piece", None)
    block = writer.piece_block(event)
    head = None if head_of is None else head_of(frame.event)
    if found is None or head is None or block is None or block.cuts is None:
        return None
    part, pattern = found
    around = pattern.around
    if around is None or len(block.cuts) != 2:
        return None
    before, behind = f"{head}{around[0]}".encode(), f"{around[1]}\n\n".encode()
    starts, _, ends = sse.encode(Frame(block.name, _MARK.join(block.cuts))).partition(_MARK_BYTES)
    return _shortcut(part, block, before, behind, starts, ends)


_MARK = "\ufffc a piece \ufffc"
_MARK_BYTES = _MARK.encode()


def _shortcut(
    part: Any, block: Any, before: bytes, behind: bytes, starts: bytes, ends: bytes
) -> Shortcut:
    opening, closing = before + b'"', b'"' + behind
    start, stop = len(before), -len(behind)

    def text_in(data: bytes) -> str:
        if data.startswith(opening) and data.endswith(closing):
            return decode_text(data[start:stop])
        return ""

    def told(text: str) -> bytes:
        pieces = part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        block.length += len(text)
        return starts + encode_text(text) + ends

    def tell(data: bytes) -> bytes | None:
        try:
            text = text_in(data)
            return told(text) if text else None
        except UNREADABLE:
            frames = data.split(b"\n\n")
        if len(frames) < 3 or frames.pop():
            return None
        try:
            texts = [text_in(frame + b"\n\n") for frame in frames]
        except UNREADABLE:
            return None
        return b"".join(map(told, texts)) if all(texts) else None

    return tell
