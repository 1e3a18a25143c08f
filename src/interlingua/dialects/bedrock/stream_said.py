"""Blocks while they are written into a stream."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.base import Quiet, Wire
from interlingua.dialects.bedrock.cited import write_citation
from interlingua.dialects.bedrock.parts import WRITERS
from interlingua.dialects.bedrock.stream_frames import Piece
from interlingua.dialects.bedrock.tables import NAME
from interlingua.losses import Report
from interlingua.model.blocks import Block, Citation
from interlingua.model.events import ToolUseStart

QUIET = Quiet(NAME, None, Report(NAME))


def part_of(block: Block) -> Wire | None:
    """The block as a whole answer has it; None where it has no place."""
    return WRITERS[type(block)](block, QUIET, True)


def cited(value: Any) -> Wire:
    """A citation; one that was stored with its event is plain JSON."""
    return write_citation(msgspec.convert(value, Citation), QUIET)


_FILLED = {"toolUse": "input", "toolResult": "content", "image": "source"}
"""What a start does not say yet, by the key that says its kind."""


def start_of(part: Wire) -> Wire:
    """The start of a block that has one."""
    return {
        key: {name: item for name, item in inner.items() if name != _FILLED.get(key)}
        for key, inner in part.items()
    }


class Said:
    """A block on its way: its place on the wire, how its pieces begin, how much was said of it."""

    __slots__ = (
        *("at", "citations", "head", "index", "length"),
        *("opened", "piece", "signed", "start", "tail"),
    )

    def __init__(self, index: int, at: int, piece: Piece | None = None) -> None:
        self.index = index
        self.at = at
        self.piece = piece
        self.head = None if piece is None else piece.head(at)
        self.tail = "" if piece is None else piece.tail
        self.opened = False
        self.length = 0
        self.citations = 0
        self.signed = 0
        self.start: ToolUseStart | None = None

    @property
    def begun(self) -> bool:
        """Whether anything was said of it."""
        return self.opened or bool(self.length or self.citations or self.signed)

    def opening(self, part: Wire) -> Wire:
        return {"contentBlockIndex": self.at, "start": part}

    def delta(self, delta: Wire) -> Wire:
        return {"contentBlockIndex": self.at, "delta": delta}

    def closing(self) -> Wire:
        return {"contentBlockIndex": self.at}
