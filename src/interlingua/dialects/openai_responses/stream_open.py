"""What is open while an output is written into a stream: an item, and one of its blocks."""

from __future__ import annotations

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.hosted import HOLDS_RESULT
from interlingua.dialects.openai_responses.spelling import form
from interlingua.dialects.openai_responses.stream_frames import TEXT, Piece
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.openai_responses.thinking import group
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.events import ToolUseStart


class Said:
    """A block on its way: how its pieces begin, and what was said of it."""

    __slots__ = ("block", "head", "index", "notes", "number", "piece", "pieces", "start", "tail")

    def __init__(self, index: int, piece: Piece | None = None) -> None:
        self.index = index
        self.piece = piece
        self.block: Block | None = None
        self.start: ToolUseStart | None = None
        self.number = 0
        self.pieces: list[str] = []
        self.notes = 0
        self.head: str | None = None
        self.tail = ',"logprobs":[]}' if piece is TEXT else "}"


class Open:
    """An item that is announced and not closed."""

    __slots__ = ("at", "blocks", "counts", "id", "kind", "wire")

    def __init__(self, at: int, wire: Wire) -> None:
        self.at = at
        self.wire = wire
        self.kind = wire.get("type") or ("message" if "role" in wire else None)
        self.id = wire.get("id")
        self.blocks: list[Block] = []
        self.counts: dict[str | None, int] = {}

    def place(self, piece: Piece, number: int) -> Wire:
        place: Wire = {"item_id": self.id, "output_index": self.at}
        return place if piece.key is None else {**place, piece.key: number}


def joins(item: Open, block: Block) -> bool:
    """Whether a block belongs to the item that is open."""
    spelling = form(block.raw)
    if type(block) is ThinkingBlock:
        last = item.blocks[-1] if item.blocks else None
        return type(last) is ThinkingBlock and len(group((last, block), 0)) == 2
    return item.kind == "message" and "item" not in spelling and "apart" not in spelling


def holds(item: Open, block: ToolResultBlock) -> bool:
    call = item.blocks[-1] if item.blocks else None
    if type(call) is not ToolUseBlock or call.call_type not in HOLDS_RESULT:
        return False
    return call.id == block.tool_use_id


def is_part(block: Block) -> bool:
    """Whether a block that is not told in pieces is a part of a message."""
    if type(block) is UnknownBlock:
        return NAME in block.raw and "part" in form(block.raw)
    if type(block) is ImageBlock or type(block) is DocumentBlock:
        return "type" in form(block.raw)
    return False
