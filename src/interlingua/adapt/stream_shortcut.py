"""Pieces of a stream that are spelled like the one before: bytes to bytes, in one step.

Most of a stream is such pieces. Once one of them was read and written, the next is the same frame
with another text, in both dialects: only that text is read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from interlingua.dialects.kernel.stream_reader import UNREADABLE, decode_text
from interlingua.dialects.kernel.stream_writer import encode_text
from interlingua.streams import sse
from interlingua.streams.frames import MANY, Frame, thin


class Shortcut(NamedTuple):
    """How pieces of one block are said; whatever is no such piece changes nothing."""

    one: Callable[[bytes], bytes | None]
    """What is said for bytes that are one piece; None for others."""
    run: Callable[[bytes, int, list[bytes]], int]
    """Says all pieces that stand one after the other in bytes, from a position on, and appends that
    to a list; gives the position behind them."""


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
    apart, said_apart = closing + opening, ends + starts

    def add(text: str) -> None:
        pieces = part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        block.length += len(text)

    def one(data: bytes) -> bytes | None:
        if not (data.startswith(opening) and data.endswith(closing)):
            return None
        try:
            text = decode_text(data[start:stop])
        except UNREADABLE:
            return None
        if not text:
            return None
        add(text)
        return starts + encode_text(text) + ends

    def run(data: bytes, at: int, out: list[bytes]) -> int:
        if not data.startswith(opening, at):
            return at
        found = data[at + len(opening) :].split(apart)
        found[-1], ended, _ = found[-1].partition(closing)
        if not ended:
            found.pop()  # the rest of it is still to come
        try:
            texts = [decode_text(b'"' + text + b'"') for text in found]
        except UNREADABLE:
            return at
        if not texts or not all(texts):
            return at
        add("".join(texts))
        out.append(starts + said_apart.join(map(encode_text, texts)) + ends)
        return at + sum(map(len, found)) + len(apart) * len(found)

    return Shortcut(one, run)
