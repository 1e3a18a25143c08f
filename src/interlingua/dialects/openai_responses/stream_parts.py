"""An answer while a stream tells it. Its items are put together as the wire would have them whole,
and read as such, so that both ways give the same value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.arguments import to_text
from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.hosted import HOLDS_RESULT
from interlingua.dialects.openai_responses.logprobs import without_tokens
from interlingua.dialects.openai_responses.reading import ItemReader
from interlingua.dialects.openai_responses.response import read_response
from interlingua.dialects.openai_responses.stream_frames import (
    CODE,
    PART_TYPES,
    REFUSAL,
    SUMMARIZED,
    TEXT,
    THOUGHT,
    Piece,
    kind_of,
)
from interlingua.dialects.openai_responses.stream_items import Item, Part
from interlingua.dialects.openai_responses.stream_sketch import Sketch
from interlingua.dialects.openai_responses.stream_snapshot import Place, filled, places
from interlingua.dialects.streaming import failed
from interlingua.errors import ReadError
from interlingua.model.blocks import (
    Block,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message

ROOM = 64
"""Indexes that an unfinished item keeps for its further blocks when another one begins."""


def said(part: Part, text: str) -> Event:
    """A piece of a part."""
    if part.event is not None:
        told: Event = part.event(part.index, text)
        return told
    return BlockDelta(part.index, "code" if part.piece is CODE else "text", text)


def start_of(block: ToolUseBlock, index: int) -> ToolUseStart:
    return ToolUseStart(index, block.id, block.name, block.executor, block.call_type, raw=block.raw)


def whole(block: Block, index: int) -> list[Event]:
    """The events of a block that came in one piece."""
    block = without_tokens(block)
    if type(block) is ToolUseBlock:
        return [start_of(block, index), *_end_call(block, index, "")]
    start: Block = block
    delta: list[Event] = []
    if type(block) is TextBlock and block.text:
        start = block.replace(text="", citations=())
        delta = [TextDelta(index, block.text)]
    elif type(block) is ThinkingBlock and block.text:
        start = block.replace(text="", signature=None)
        delta = [ThinkingDelta(index, block.text)]
    return [BlockStart(index, start), *delta, BlockEnd(index, block)]


def end(part: Part, block: Block) -> list[Event]:
    """The events of its end, and what no piece has told by then."""
    if type(block) is ToolUseBlock:
        return _end_call(block, part.index, "" if part.piece is CODE else part.text())
    events: list[Event] = [BlockEnd(part.index, without_tokens(block))]
    if type(block) in (TextBlock, ThinkingBlock, RefusalBlock) and part.piece is not None:
        told = part.whole()[part.piece.whole]
        text: str = block.text  # type: ignore[union-attr, assignment]  # all three have it
        if len(text) > len(told) and text.startswith(told):
            events.insert(0, said(part, text[len(told) :]))
    return events


def _end_call(block: ToolUseBlock, index: int, told: str) -> list[Event]:
    more = (block.raw_arguments, block.signature, block.raw)
    events: list[Event] = [ToolUseEnd(index, block.input, *more)]
    if block.call_type == "custom":
        text = str(block.input.get("input", ""))
    elif block.raw_arguments is not None:
        text = block.raw_arguments
    else:
        text = to_text(block.input) if block.input else ""
    if len(text) > len(told) and text.startswith(told):
        events.insert(0, ToolUseInputDelta(index, text[len(told) :]))
    return events


class Answer:
    """The message of a stream, so far."""

    def __init__(self, wire: Wire, sketch: Sketch) -> None:
        self.wire = wire
        self.sketch = sketch
        id = wire.get("id")
        self.seed = id if type(id) is str else None
        self.count = 0
        self._read = ItemReader(all_made=True, seed=self.seed)

    # -- the order of blocks --------------------------------------------------------------------

    def make_room(self) -> None:
        """Another item begins: what the last one may still have to say stands before it."""
        item = self.sketch.item
        if item is None or item.done is not None or item.room is not None:
            return
        kind = kind_of(item.wire)
        if kind in ("message", "reasoning") or kind in HOLDS_RESULT:
            item.room = range(self.count, self.count + ROOM)
            self.count += ROOM

    def index(self, item: Item | None) -> int:
        """The index of the next block of an item."""
        if item is not None and item.room:
            index, item.room = item.room[0], item.room[1:]
            return index
        self.count += 1
        return self.count - 1

    # -- items ----------------------------------------------------------------------------------

    def blocks(self, wire: Any, at: Any) -> list[Block]:
        """The blocks of an item that is whole."""
        before = len(self._read.blocks)
        self._read.read_made(wire, at)
        return self._read.blocks[before:]

    def glimpse(self, wire: Wire, at: Any) -> list[Block]:
        """The blocks of an item that is not whole yet."""
        reader = ItemReader(all_made=True, seed=self.seed)
        reader.blocks = last = self._read.blocks[-1:]
        before = len(last)
        reader.read_made(wire, at)
        return reader.blocks[before:]

    def so_far(self, item: Item, status: str | None = None) -> Wire:
        """What there is of an item. The encrypted content of a beginning is none to rely on."""
        if item.done is not None:
            return item.done
        wire = {key: value for key, value in item.wire.items() if key != "encrypted_content"}
        parts = sorted(item.parts.values(), key=lambda part: part.index)
        if not wire:
            wire = _guess(parts)
        if status is not None and "status" in wire:
            wire["status"] = status
        lists: dict[str, list[Wire]] = {}
        for part in parts:
            if part.start is not None:
                if part.piece is not None and (text := part.text()):
                    wire[part.piece.whole] = text
                continue
            key = "summary" if part.piece is SUMMARIZED else "content"
            lists.setdefault(key, []).append(part.whole())
        return {**wire, **lists}

    def state(self, part: Part, status: str | None = None) -> Block:
        """A block that is not whole yet."""
        wire = self.so_far(part.item, status)
        blocks = self.glimpse(wire, part.item.at)
        for place, each in places_of(list(part.item.parts.values()), wire).items():
            if each is part and place < len(blocks) and fits(part, blocks[place]):
                return blocks[place]
        return part.so_far()

    # -- the whole --------------------------------------------------------------------------------

    def told(self) -> list[Item]:
        items = self.sketch.items.values()
        return sorted(items, key=lambda item: item.at if type(item.at) is int else -1)

    def places(self, output: Any) -> list[Place]:
        """The items of the whole answer, where the last frame has this output."""
        return places(self.told(), output if type(output) is list else ())

    def item(self, place: Place) -> Any:
        """An item of the whole answer; what was told of it to its end stands."""
        if place.item is None or place.number is None:
            return place.given if place.item is None else self.so_far(place.item)
        told = place.item.done
        return as_told(place.item, place.given if told is None else filled(told, place.given))

    def response(self, wire: Wire, output: list[Any]) -> Response:
        """The whole answer, where this is the last frame's and those are the items. Its id is the
        one it began with; another model may have taken over."""
        begun = {key: self.wire[key] for key in ("id", "model") if type(self.wire.get(key)) is str}
        if type(wire.get("model")) is str:
            begun.pop("model", None)
        wire = {**wire, **begun}
        return read_response({**wire, "output": output} if output else wire)

    def partial(self, error: ProviderError) -> Message:
        """What there is of it when the stream fails."""
        begun = {key: self.wire[key] for key in ("id", "model") if type(self.wire.get(key)) is str}
        output = [wire for item in self.told() if self._is_sound(wire := self.so_far(item))]
        message = read_response({"object": "response", **begun, "output": output}).message
        return failed(message, error)

    def _is_sound(self, wire: Wire) -> bool:
        """Whether what there is of an item can be read already."""
        try:
            return bool(self.glimpse(wire, None))
        except ReadError:
            return False


def _guess(parts: list[Part]) -> Wire:
    """An item whose beginning was not told."""
    id = parts[0].id if parts else None
    if any(part.piece in (SUMMARIZED, THOUGHT) for part in parts):
        return {"type": "reasoning", "id": id, "summary": []}
    return {"type": "message", "id": id, "role": "assistant", "content": []}


def places_of(parts: Sequence[Part], wire: Wire) -> dict[int, Part]:
    """Which of the blocks of an item each of its parts is."""
    found: dict[int, Part] = {}
    lists: dict[str, list[Part]] = {}
    for part in parts:
        if part.start is not None:
            found[0] = part
        else:
            lists.setdefault("summary" if part.piece is SUMMARIZED else "content", []).append(part)
    for key, told in lists.items():
        is_second = key == "content" and wire.get("type") == "reasoning"
        first = _length(wire.get("summary")) if is_second else 0
        for number, part in _numbered(told, _length(wire.get(key))):
            found[first + number] = part
    return found


def _numbered(parts: list[Part], length: int) -> list[tuple[int, Part]]:
    """The parts of one list with their places in it. There are servers that go on counting over all
    items (vLLM, gpt-oss on Bedrock; seen 2026-11): their parts stand in the order of their
    numbers."""
    numbers = [0 if part.number is None else part.number for part in parts]
    if all(number in range(length) for number in numbers) and len({*numbers}) == len(numbers):
        return list(zip(numbers, parts, strict=True))
    return list(enumerate(sorted(parts, key=lambda part: part.index)))


def _length(value: Any) -> int:
    return len(value) if type(value) is list else 0


_BLOCKS: dict[Any, type] = {
    TEXT: TextBlock,
    THOUGHT: ThinkingBlock,
    SUMMARIZED: ThinkingBlock,
    REFUSAL: RefusalBlock,
}


def fits(part: Part, block: Block) -> bool:
    """Whether a part can end as this block."""
    if part.start is not None or type(block) is ToolUseBlock:
        return part.start is not None and type(block) is ToolUseBlock
    return type(block) is _BLOCKS.get(part.piece, type(block))


def as_told(item: Item, wire: Any) -> Any:
    """An item with the id that its call began with: whoever was told it answers to it."""
    start = next((part.start for part in item.parts.values() if part.start is not None), None)
    if start is None or type(wire) is not dict or wire.get("call_id") in (None, "", start.id):
        return wire
    return {**wire, "call_id": start.id}


def blank(piece: Piece) -> Wire:
    """A part whose beginning was not told."""
    wire: Wire = {"type": PART_TYPES[piece], piece.whole: ""}
    if piece is TEXT:
        wire["annotations"] = []
    return wire
