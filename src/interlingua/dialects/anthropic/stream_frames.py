"""What reading and writing a stream have in common: the names of its frames, how the pieces of a
block are told, and what a frame's mark keeps."""

from __future__ import annotations

from typing import NamedTuple

from interlingua.dialects.base import Wire, encode
from interlingua.dialects.shape import merge
from interlingua.streams.frames import Frame

START = "content_block_start"
DELTA = "content_block_delta"
STOP = "content_block_stop"


class Piece(NamedTuple):
    """How a piece of a block is told: the type of the delta, and its key."""

    delta: str
    key: str


TEXT = Piece("text_delta", "text")
THINKING = Piece("thinking_delta", "thinking")
COMPACTION = Piece("compaction_delta", "content")
INPUT = Piece("input_json_delta", "partial_json")
_PIECES = {"text": TEXT, "thinking": THINKING, "compaction": COMPACTION}


def piece_of(part: Wire) -> Piece | None:
    """How a block that begins like this goes on; calls of tools have `INPUT`."""
    kind = part.get("type")
    return _PIECES.get(kind) if type(kind) is str else None


def spell(wire: Wire, rest: Wire | None = None) -> Frame:
    """A frame of this data, and of what else it had said."""
    name = wire["type"]
    if rest:
        name = rest.get("$event", name)
        wire = merge({key: item for key, item in rest.items() if key[:1] != "$"}, wire)
    return Frame(name, encode(wire).decode())
