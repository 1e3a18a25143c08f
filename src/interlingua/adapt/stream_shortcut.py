"""Pieces of a stream that are spelled like the one before: bytes to bytes, in one step.

Most of a stream is such pieces. Once one of them was read and written, the next is the same frame
with another text, in both dialects: only that text is read and written."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.stream_reader import UNREADABLE, decode_text
from interlingua.dialects.kernel.stream_writer import encode_text
from interlingua.streams import sse
from interlingua.streams.frames import MANY, Frame, thin


class Shortcut:
    """A fast path for the pieces of one block; other frames pass it by unchanged."""

    def __init__(
        self, part: Any, block: Any, read: tuple[bytes, bytes], written: tuple[bytes, bytes]
    ) -> None:
        """`part` and `block` are the part being read and the block being written; the bytes of
        both wires precede and follow the JSON of a piece."""
        self._part, self._block = part, block
        self._before, self._behind = written
        self._opening, self._closing = read[0] + b'"', b'"' + read[1]
        self._start, self._stop = len(read[0]), -len(read[1])

    def one(self, data: bytes) -> bytes | None:
        """The output for bytes that are one piece; None for others."""
        if not (data.startswith(self._opening) and data.endswith(self._closing)):
            return None
        try:
            text = decode_text(data[self._start : self._stop])
        except UNREADABLE:
            return None
        if not text:
            return None
        self._add(text)
        return self._before + encode_text(text) + self._behind

    def run(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Converts all consecutive pieces in bytes from a position on, and appends them to a
        list; returns the position behind them."""
        opening, closing = self._opening, self._closing
        if not data.startswith(opening, at):
            return at
        found = data[at + len(opening) :].split(closing + opening)
        found[-1], ended, _ = found[-1].partition(closing)
        if not ended:
            found.pop()  # the rest of it is still to come
        try:
            texts = [decode_text(b'"' + text + b'"') for text in found]
        except UNREADABLE:
            return at
        if not texts or not all(texts):
            return at
        self._add("".join(texts))
        between = self._behind + self._before
        out.append(self._before + between.join(map(encode_text, texts)) + self._behind)
        return at + sum(map(len, found)) + (len(opening) + len(closing)) * len(found)

    def _add(self, text: str) -> None:
        pieces = self._part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        self._block.length += len(text)


def shortcut_from(
    decoder: Any, reader: Any, writer: Any, frame: Frame, event: Any
) -> Shortcut | None:
    """A shortcut for further pieces like the last one, in this frame and as this event; None
    where one of the three cannot predict how it continues. Both sides are server-sent events."""
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
    return Shortcut(part, block, (before, behind), (starts, ends))


_MARK = "\ufffc a piece \ufffc"
_MARK_BYTES = _MARK.encode()
