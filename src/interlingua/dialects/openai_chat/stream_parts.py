"""Blocks while a stream tells them, and the events of one frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from interlingua.dialects.base import Wire, encode
from interlingua.dialects.openai_chat.stream_frames import hole
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    FrameMark,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)


class Part:
    """A block that is being told. `finish` reads it as a whole answer would have it."""

    __slots__ = (
        "also",
        "choice",
        "event",
        "finish",
        "index",
        "is_item",
        "is_open",
        "pattern",
        "pieces",
        "shape",
        "since",
        "wire",
    )

    def __init__(self, choice: int, index: int, event: Any, finish: Callable[[], Block]) -> None:
        self.choice = choice
        self.index = index
        self.event = event
        """What its pieces are."""
        self.finish = finish
        self.pieces: list[str] = []
        self.wire: Wire = {}
        self.also: set[str] = set()
        """The keys for thinking that say it, or say it again."""
        self.is_item = False
        """Thinking that a list tells."""
        self.is_open = True
        self.shape: bytes | None = None
        """What the mark of its last piece kept, as JSON."""
        self.pattern: Any = None
        self.since = 0
        """The frame in which its pattern was found."""

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class Telling:
    """The events of one frame, as they are found. `wire` is the frame, which gets a hole wherever
    an event says what stood there."""

    def __init__(self, number: int, wire: Wire) -> None:
        self.number = number
        self.wire = wire
        self.events: list[Event] = []
        self.piece: tuple[Part, tuple[str, ...]] | None = None
        """What a frame of one event is a piece of, and the keys that say it."""

    def add(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events) - 1

    def start(self, part: Part, block: Block) -> None:
        """A block begins."""
        mark = FrameMark(self.number)
        if type(block) is ToolUseBlock:
            more = (block.id, block.name, block.executor, block.call_type, block.raw)
            self.add(ToolUseStart(part.index, *more, choice=part.choice, frame=mark))
        else:
            self.add(BlockStart(part.index, block, choice=part.choice, frame=mark))

    def say(self, part: Part, text: str, *spots: tuple[Wire, str]) -> int:
        """A piece of a block, which stands in these places of the frame."""
        part.pieces.append(text)
        mark = FrameMark(self.number)
        if part.event is BlockDelta:
            event: Event = BlockDelta(part.index, "text", text, choice=part.choice, frame=mark)
        else:
            event = part.event(part.index, text, choice=part.choice, frame=mark)
        number = self.add(event)
        field = "value" if part.event is BlockDelta else "text"
        for wire, key in spots:
            wire[key] = hole(number, field)
        self.piece = (part, tuple([key for _, key in spots]))
        return number

    def change(self, part: Part, field: str, value: Any, wire: Wire | None, key: str) -> None:
        """Something else of a block than its text."""
        mark = FrameMark(self.number)
        number = self.add(BlockDelta(part.index, field, value, choice=part.choice, frame=mark))
        if wire is not None:
            wire[key] = hole(number, "value")

    def end(self, part: Part) -> Block:
        block = part.finish()
        part.is_open = False
        mark = FrameMark(self.number)
        if type(block) is ToolUseBlock:
            self._end_call(part, block, mark)
        else:
            self.add(BlockEnd(part.index, block, choice=part.choice, frame=mark))
        return block

    def _end_call(self, part: Part, block: ToolUseBlock, mark: FrameMark) -> None:
        if block.input and not part.pieces:  # it came as an object
            text = encode(block.input).decode()
            self.add(ToolUseInputDelta(part.index, text, choice=part.choice, frame=mark))
        more = (block.input, block.raw_arguments, block.signature, block.raw)
        self.add(ToolUseEnd(part.index, *more, choice=part.choice, frame=mark))

    def whole(self, choice: int, indexes: Sequence[int], blocks: Sequence[Block]) -> None:
        """Blocks that came in one piece."""
        for index, block in zip(indexes, blocks, strict=True):
            part = Part(choice, index, ToolUseInputDelta, _known(block))
            self.start(part, block)
            self.end(part)


def _known(block: Block) -> Callable[[], Block]:
    return lambda: block
