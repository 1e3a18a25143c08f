"""Blocks while they are written into a stream."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.anthropic.parts import ANSWER, WRITERS
from interlingua.dialects.anthropic.stream_frames import DELTA, START, STOP, Piece
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import write_citation
from interlingua.dialects.base import Quiet, Wire
from interlingua.losses import Report
from interlingua.model.blocks import Block, Citation
from interlingua.model.events import ToolUseStart
from interlingua.streams.frames import Frame

QUIET = Quiet(NAME, None, Report(NAME))

_encode_text = msgspec.json.Encoder().encode


def part_of(block: Block) -> Wire | None:
    """The block as an answer has it; None where it has no place."""
    return WRITERS[type(block)](block, ANSWER, QUIET)


def cited(value: Any) -> Wire | None:
    """A citation; one that was stored with its event is plain JSON."""
    return write_citation(msgspec.convert(value, Citation), QUIET, answering=True)


class Said:
    """A block on its way: its place on the wire, how its pieces begin, how much was said of it."""

    __slots__ = ("at", "citations", "head", "index", "length", "piece", "start")

    def __init__(self, index: int, at: int, piece: Piece | None) -> None:
        self.index = index
        self.at = at
        self.piece = piece
        self.length = 0
        self.citations = 0
        self.start: ToolUseStart | None = None
        self.head: str | None = None
        if piece is not None:
            self.head = (
                f'{{"type":"content_block_delta","index":{at},'
                f'"delta":{{"type":"{piece.delta}","{piece.key}":'
            )

    def opening(self, part: Wire) -> Wire:
        return {"type": START, "index": self.at, "content_block": part}

    def delta(self, kind: str, key: str, value: Any) -> Wire:
        return {"type": DELTA, "index": self.at, "delta": {"type": kind, key: value}}

    def closing(self) -> Wire:
        return {"type": STOP, "index": self.at}


def say(head: str, text: str) -> Frame:
    """A piece of a block: the frame that there are most of, so it is made the fastest way."""
    return tuple.__new__(Frame, (DELTA, f"{head}{_encode_text(text).decode()}}}}}"))
