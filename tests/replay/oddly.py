"""Faults in the telling: the right answer, packed, split, repeated or spoiled."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from typing import Literal

import interlingua as il
from interlingua.dialects.framing import DECODERS
from interlingua.model.events import StreamError
from tests.replay.answers import Answer, Piece, Step
from tests.replay.exchanges import framed
from tests.replay.fault import Play, named, require


@named
def large_headers(size: int = 65536, count: int = 1) -> Play:
    more = tuple((f"x-padding-{number}", "a" * size) for number in range(count))
    return lambda answer: replace(answer, headers=(*answer.headers, *more)).steps()


@named
def gzipped() -> Play:
    """The answer as it is, compressed: no fault, but what the faults below start from."""
    return lambda answer: _compressed(answer).steps()


@named
def truncated_gzip(keep: float = 0.5) -> Play:
    """A compressed body of which only a part came, in a well-formed HTTP message."""

    def play(answer: Answer) -> list[Step]:
        body = gzip.compress(answer.body, mtime=0)
        part = Piece(body[: int(len(body) * keep)])
        return replace(_compressed(answer), pieces=(part,)).steps()

    return play


@named
def gzip_bomb(size: int = 64 * 2**20) -> Play:
    """A small body that becomes spaces for many bytes, and the answer after them."""

    def play(answer: Answer) -> list[Step]:
        squeeze = zlib.compressobj(9, wbits=31)
        block = b" " * 2**20
        parts = [squeeze.compress(block) for _ in range(size // len(block))]
        parts += [squeeze.compress(answer.body), squeeze.flush()]
        return replace(_compressed(answer), pieces=(Piece(b"".join(parts)),)).steps()

    return play


def _compressed(answer: Answer) -> Answer:
    """Each piece can be read when it has come."""
    squeeze = zlib.compressobj(wbits=31)
    pieces = [
        Piece(squeeze.compress(data) + squeeze.flush(zlib.Z_SYNC_FLUSH), pause)
        for data, pause in answer.pieces
    ]
    collected = (*answer.headers, ("content-encoding", "gzip"))
    return replace(answer, headers=collected, pieces=(*pieces, Piece(squeeze.flush())))


@named
def invalid_utf8(data: str = "ff") -> Play:
    """Bytes (in hex) that are no UTF-8, in the middle of the piece in the middle."""

    def play(answer: Answer) -> list[Step]:
        require(answer, "invalid_utf8", "sse", "ndjson", "json", None)
        pieces = list(answer.pieces)
        at = len(pieces) // 2
        old = pieces[at].data
        half = len(old) // 2
        pieces[at] = Piece(old[:half] + bytes.fromhex(data) + old[half:], pieces[at].pause)
        return replace(answer, pieces=tuple(pieces)).steps()

    return play


@named
def line_ends(end: Literal["crlf", "cr"] = "crlf") -> Play:
    """Lines that end with CR LF, each pair cut in two, or with CR alone."""

    def play(answer: Answer) -> list[Step]:
        require(answer, "line_ends", "sse" if end == "cr" else "", "sse", "ndjson")
        to = b"\r\n" if end == "crlf" else b"\r"
        pieces: list[Piece] = []
        for data, pause in answer.pieces:
            first, *others = data.replace(b"\n", to).split(b"\r")
            pieces += [Piece(first, pause), *(Piece(b"\r" + other) for other in others)]
        return replace(answer, pieces=tuple(_between(pieces))).steps()

    return play


def _between(pieces: list[Piece]) -> list[Piece]:
    """Pieces that begin with CR, cut again after it, with time for each to arrive alone."""
    cut: list[Piece] = []
    for data, pause in pieces:
        if data[:1] == b"\r":
            cut += [Piece(b"\r", pause), Piece(data[1:], 0.001)]
        else:
            cut.append(Piece(data, pause))
    return cut


_NOTHING = {"sse": b": keep-alive\n\n", "ndjson": b"\n", "json": b"\n"}
"""What says nothing, by framing."""


@named
def keep_alive(count: int = 3, pause: float = 0.01) -> Play:
    """Comments (or blank lines) before every frame."""

    def play(answer: Answer) -> list[Step]:
        require(answer, "keep_alive", *_NOTHING)
        assert answer.framing is not None
        nothing = [Piece(_NOTHING[answer.framing], pause)] * count
        pieces = [each for piece in answer.pieces for each in (*nothing, piece)]
        return replace(answer, pieces=tuple(pieces)).steps()

    return play


@named
def duplicate_end(times: int = 1, frames: int = 1) -> Play:
    """The last frames come again."""

    def play(answer: Answer) -> list[Step]:
        require(answer, "duplicate_end", "sse", "ndjson", "aws", "invoke")
        return replace(answer, pieces=answer.pieces + answer.pieces[-frames:] * times).steps()

    return play


@named
def error_event(
    after: int | None = None, kind: str = "server_error", message: str = "overloaded"
) -> Play:
    """So many frames (half of them, if nothing is said), and then an error in their place."""

    def play(answer: Answer) -> list[Step]:
        require(answer, "error_event", "sse", "ndjson", "aws", "json")
        stored = answer.pieces[: len(answer.pieces) // 2 if after is None else after]
        error = StreamError(il.ProviderError(il.ErrorKind(kind), message))
        tail = [Piece(data) for data in _error_frames(answer, stored, error)]
        return replace(answer, pieces=(*stored, *tail)).steps()

    return play


def _error_frames(answer: Answer, kept: tuple[Piece, ...], error: StreamError) -> list[bytes]:
    """How this dialect's stream goes on with an error: numbers and ids are those of the stream."""
    assert answer.framing is not None
    dialect = il.dialect(answer.dialect)
    reader, writer = dialect.stream_reader(), dialect.stream_writer()
    for frame in DECODERS[answer.framing]().feed(b"".join(piece.data for piece in kept)):
        for event in reader.feed(frame):
            writer.feed(event)
    frames = [*writer.feed(error), *writer.close()]
    if answer.framing != "json":
        return framed(frames, answer.framing)
    comma = b",\r\n" if kept else b"["
    return [comma + frame.data.encode() for frame in frames] + [b"]"]
