"""Where the parts of a turn stand, and the tables by which they are read and written. The parts
themselves are in the modules that `content.py` lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from interlingua.dialects.anthropic.kept import form_of, mine_of
from interlingua.dialects.anthropic.tables import HOLDS, NAME
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import Block, TextBlock, UnknownBlock


class Place(NamedTuple):
    """Where parts stand. `holds` is None where everything is as the service made it."""

    name: str
    holds: frozenset[str] | None


SYSTEM = Place("system", HOLDS["system"])
USER = Place("user", HOLDS["user"])
ASSISTANT = Place("assistant", HOLDS["assistant"])
RESULT = Place("result", HOLDS["result"])
HOSTED = Place("hosted", HOLDS["hosted"])
SOURCE = Place("source", HOLDS["source"])
ANSWER = Place("answer", None)

READERS: dict[str, Callable[[Wire, Place], Block]] = {}
"""By the wire's type; what is not in it is unknown, or a hosted tool's result."""
WRITERS: dict[type[Block], Callable[[Any, Place, Scribe], Wire | None]] = {}
"""By the block's class; None for a block that was left out."""


def read_parts(parts: list[Any], place: Place) -> tuple[Block, ...]:
    blocks: list[Block] = []
    holds = place.holds
    try:
        for part in parts:
            kind = part.get("type") if type(part) is dict else None
            read = READERS.get(kind) if type(kind) is str else None
            if read is not None and (holds is None or kind in holds):
                blocks.append(read(part, place))
            else:
                blocks.append(read_part(part, place))
    except ShapeError as odd:
        raise odd.inside(f"[{len(blocks)}]") from None
    return tuple(blocks)


def read_part(part: Any, place: Place) -> Block:
    if type(part) is not dict:
        raise ShapeError("", "an object", part)
    kind = part.get("type")
    if type(kind) is not str:
        return UnknownBlock({NAME: part})
    read = READERS.get(kind)
    if read is None:
        return _read_other(part, kind, place)
    if place.holds is None or kind in place.holds:
        return read(part, place)
    if place is RESULT or place is HOSTED:
        return UnknownBlock({NAME: part})  # a result holds only some kinds of block
    return oddly(read(part, place))


def _read_other(part: Wire, kind: str, place: Place) -> Block:
    """The result of some hosted tool, or something unknown."""
    answers = kind.endswith("_tool_result") and type(part.get("tool_use_id")) is str
    if answers and place is not RESULT and place is not HOSTED:
        return READERS["*_tool_result"](part, place)
    return UnknownBlock({NAME: part})


def oddly(block: Block) -> Block:
    """The block, marked as standing where the writer would not put it."""
    form = {**form_of(block.raw), "odd": True}
    return block.replace(raw={NAME: {**mine_of(block.raw), "$form": form}})


def write_parts(blocks: Iterable[Block], place: Place, scribe: Scribe) -> list[Wire]:
    parts = []
    for block in blocks:
        part = WRITERS[type(block)](block, place, scribe)
        if part is not None:
            parts.append(part)
    return parts


def write_unknown(block: UnknownBlock, place: Place, scribe: Scribe) -> Wire | None:
    part = block.raw.get(NAME)
    if type(part) is not dict:
        scribe.dropped(block, "another dialect's")
        return None
    if block.cache is not None or len(block.raw) > 1:
        scribe.unsaid(block, frozenset())
    return part


WRITERS[UnknownBlock] = write_unknown


# -- the content of results -----------------------------------------------------------------------


def read_result_content(part: Wire, place: Place, spelled: Wire, form: Wire) -> tuple[Any, ...]:
    content = part.get("content")
    if type(content) is str and content:
        form["content"] = "string"
        return (TextBlock(content),)
    if type(content) is list and content:
        try:
            return read_parts(content, place)
        except ShapeError as odd:
            raise odd.inside(".content") from None
    if content is not None and content != "" and content != []:
        raise ShapeError(".content", "a string or a list", content)
    if "content" in part:
        spelled["content"] = content
    return ()


def put_result_content(
    out: Wire, content: tuple[Block, ...], form: Wire, place: Place, scribe: Scribe
) -> None:
    parts = write_parts(content, place, scribe)
    text = string_of(parts) if form.get("content") == "string" else None
    if text is not None:
        out["content"] = text
    elif parts:
        out["content"] = parts


def string_of(parts: list[Wire]) -> str | None:
    """The text that parts come to where a string can say them."""
    if len(parts) == 1 and len(parts[0]) == 2 and parts[0].get("type") == "text":
        text = parts[0].get("text")
        return text if type(text) is str else None
    return None
