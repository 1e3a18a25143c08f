"""A stream as far as it has come, and what the next frame will say if nothing is unusual.

Reader and writer keep the same sketch, so that a mark needs to hold only what it does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.response import write_response
from interlingua.dialects.openai_responses.stream_frames import (
    ANNOTATION,
    BY_DELTA,
    BY_DONE,
    CALL_PIECES,
    CONTENT,
    CREATED,
    FAILED,
    ITEM_ADDED,
    ITEM_DONE,
    LAST,
    PART_ADDED,
    PART_DONE,
    PROGRESS,
    REPEATS,
    SUMMARIZED,
    SUMMARY_ADDED,
    SUMMARY_DONE,
    TEXT,
    Piece,
    ending_of,
    kind_of,
    piece_of,
)
from interlingua.dialects.openai_responses.stream_items import Item, Part
from interlingua.dialects.openai_responses.stream_plain import UNSET
from interlingua.dialects.openai_responses.stream_said import (
    QUIET,
    cited,
    error_of,
    opening,
    part_of,
    write_item,
)
from interlingua.dialects.openai_responses.writing import ItemWriter
from interlingua.dialects.streaming import FAILED as FAILED_MESSAGE
from interlingua.dialects.streaming import call_of
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.exchange import Response


class Sketch:
    """`tell` it each event, ask what to `expect` of the last one of a frame, and let it `note` the
    frame itself."""

    def __init__(self) -> None:
        self.number: Any = 0
        self.logprobs: Any = []
        """What plain pieces of text say of themselves; not set where they say nothing."""
        self.begin(None)

    def begin(self, seed: str | None) -> None:
        self.response: Wire = {}
        self.items: dict[Any, Item] = {}
        self.item: Item | None = None
        self.next: Any = 0
        self.part: Part | None = None
        self.parts: dict[int, Part] = {}
        self.writer = ItemWriter(QUIET, whole=True, seed=seed)

    def place(self, wire: Wire, id: Any) -> Any:
        """The number of the item that a frame is about."""
        at = wire.get("output_index")
        if at is not None:
            return at
        for item in self.items.values():
            if id is not None and item.id == id:
                return item.at
        return self.item.at if self.item is not None else self.next

    def is_another(self, at: Any, id: Any) -> bool:
        """Whether the item of a place is whole and not the one with this id: there are servers
        that give all items one number."""
        item = self.items.get(at)
        return item is not None and item.done is not None and item.done.get("id") != id

    def _make_way(self, at: Any) -> None:
        """Another item takes the number of one that is whole."""
        self.items["before", len(self.items)] = self.items.pop(at)

    def turn(self, at: Any) -> Item:
        """Go on with an item, or begin it."""
        item = self.items.get(at)
        if item is None:
            item = self.items[at] = Item(at, {})
        self.item = item
        self.next = at + 1 if type(at) is int else self.next
        return item

    def _open(self, index: int, item: Item, piece: Piece | None, number: Any) -> Part:
        key = piece.key if piece is not None else CONTENT
        part = self.parts[index] = item.parts[key, number] = Part(index, item, piece, number)
        self.part, self.item = part, item
        return part

    # -- events ---------------------------------------------------------------------------------

    def tell_within(self, event: Event, spelling: Wire) -> None:
        """An event that stands within a frame of another; `spelling` is what its mark has."""
        if "item" in spelling:
            at = spelling["item"]
            item = self.items.get(at)
            if "another" in spelling and item is not None and item.done is not None:
                self._make_way(at)
            self.turn(at)
        self.tell(event, within=True)

    def tell(self, event: Event, within: bool = False) -> None:
        """An event; one that stands `within` a frame of another has no frame of its own."""
        match event:
            case TextDelta() | ThinkingDelta() | ToolUseInputDelta():
                self._say(event.index, event.text)
            case BlockDelta() if event.field in ("text", "code"):
                self._say(event.index, event.value)
            case BlockEnd() if event.index in self.parts:
                self.parts[event.index].block = event.block
            case ToolUseEnd() if event.index in self.parts:
                part = self.parts[event.index]
                part.block = None if part.start is None else call_of(part.start, event)
            case MessageStart() if within:
                self.begin(event.response_id)
            case BlockStart() if within:
                item = self.item or self.turn(self.next)
                piece = piece_of(event.block)
                part = self._open(event.index, item, piece, self._count(item, piece))
                part.wire = part_of(event.block, piece) or {}
            case ToolUseStart() if within:
                item = self.item or self.turn(self.next)
                self._open(event.index, item, None, None).start = event

    def _say(self, index: int, text: str) -> None:
        part = self.parts.get(index)
        if part is not None:
            part.pieces.append(text)

    def _count(self, item: Item, piece: Piece | None) -> int:
        key = piece.key if piece is not None else CONTENT
        return sum(each == key for each, _ in item.parts)

    # -- what a frame will say ----------------------------------------------------------------

    def expect(self, event: Event, rest: Wire) -> Wire:
        """The frame of an event; `rest` tells what kind of frame it is where the event does not."""
        wire = _EXPECTED[type(event)](self, event, rest)
        if self.number is not UNSET:
            wire["sequence_number"] = self.number
        return wire

    def _start(self, event: MessageStart, rest: Wire) -> Wire:
        return {"type": CREATED, "response": opening(event)}

    def _call(self, event: ToolUseStart, rest: Wire) -> Wire:
        writer = ItemWriter(QUIET, whole=True, seed=self.writer.seed)
        writer.items = [{}] * len(self.writer.items)
        written = write_item(writer, (call_of(event),))
        item = written[0] if written else {}
        piece = CALL_PIECES.get(kind_of(item))
        if piece is not None:
            item[piece.whole] = ""
        return {"type": ITEM_ADDED, "output_index": self.next, "item": item}

    def _block(self, event: BlockStart, rest: Wire) -> Wire:
        piece = piece_of(event.block)
        kind = SUMMARY_ADDED if piece is SUMMARIZED else PART_ADDED
        item = self.item or Item(None, {})
        part = Part(event.index, item, piece, self._count(item, piece))
        return {"type": kind, **part.place(), "part": part_of(event.block, piece) or {}}

    def _delta(self, event: Any, rest: Wire) -> Wire:
        part = self.parts.get(event.index)
        if part is None or part.piece is None:
            return {}
        text = event.value if type(event) is BlockDelta else event.text
        wire = {"type": part.piece.delta, **part.place(), "delta": text}
        if part.piece is TEXT and self.logprobs is not UNSET:
            wire["logprobs"] = []
        return wire

    def _block_delta(self, event: BlockDelta, rest: Wire) -> Wire:
        if event.field != "citations":
            return self._delta(event, rest)
        part = self.parts.get(event.index)
        wire: Wire = {"type": ANNOTATION}
        if part is not None:
            wire |= {**part.place(), "annotation_index": len(part.notes)}
        return {**wire, "annotation": cited(event.value) or {}}

    def _end(self, event: BlockEnd | ToolUseEnd, rest: Wire) -> Wire:
        part = self.parts.get(event.index)
        if part is None:
            return {}
        parts = sorted(part.item.parts.values(), key=lambda each: each.index)
        blocks = tuple([each.block for each in parts if each.block is not None])
        before = len(self.writer.items)
        written = write_item(self.writer, blocks)
        self.writer.items[before:] = written[:1] or [{}]
        return {
            "type": ITEM_DONE,
            "output_index": part.item.at,
            "item": self.writer.items[before],
        }

    def _complete(self, event: MessageComplete, rest: Wire) -> Wire:
        wire = write_response(event.response, QUIET)
        return {"type": ending_of(wire), "response": wire}

    def _fail(self, event: StreamError, rest: Wire) -> Wire:
        if kind_of(rest) in LAST:
            response = Response(event.partial or FAILED_MESSAGE, error=event.error)
            return {"type": FAILED, "response": write_response(response, QUIET)}
        return error_of(event.error)

    def _other(self, event: Other, rest: Wire) -> Wire:
        kind = kind_of(rest)
        wire: Wire = {"type": rest["type"]} if "type" in rest else {}
        item, part = self.item, self._about(rest)
        if kind in REPEATS:
            wire["response"] = self.response
        elif kind == ITEM_ADDED:
            wire |= {"output_index": self.next, "item": {}}
        elif kind == ITEM_DONE and item is not None:
            wire |= {"output_index": item.at, "item": {}}
        elif kind in PROGRESS and item is not None:
            wire |= {"output_index": item.at, "item_id": item.id}
        elif part is not None and kind in (PART_DONE, SUMMARY_DONE):
            wire |= {**part.place(), "part": part.whole()}
        elif part is not None and part.piece is not None and kind in BY_DONE:
            wire |= {**part.place(), part.piece.whole: part.text()}
            if part.piece is TEXT and self.logprobs is not UNSET:
                wire["logprobs"] = part.logprobs
        return wire

    def _about(self, rest: Wire) -> Part | None:
        """The part that a frame is about."""
        index = (rest.get("$form") or {}).get("block")
        return self.part if index is None else self.parts.get(index)

    # -- what a frame said --------------------------------------------------------------------

    def note(self, wire: Wire, event: Event) -> None:
        number = wire.get("sequence_number", UNSET)
        self.number = number + 1 if type(number) is int else UNSET
        step = _NOTED.get(kind_of(wire))
        if step is not None:
            step(self, wire, event)

    def _note_start(self, wire: Wire, event: Event) -> None:
        if type(event) is MessageStart:
            self.begin(event.response_id)
            self.response = _object(wire.get("response"))

    def _note_item(self, wire: Wire, event: Event) -> None:
        at = wire.get("output_index")
        at = self.next if at is None else at
        given = _object(wire.get("item"))
        if self.is_another(at, given.get("id")):
            self._make_way(at)
        if at in self.items:
            return
        item = self.items[at] = self.item = Item(at, given)
        self.next = at + 1 if type(at) is int else self.next
        if type(event) is ToolUseStart:
            piece = CALL_PIECES.get(kind_of(item.wire))
            self._open(event.index, item, piece, None).start = event

    def _note_part(self, wire: Wire, event: Event) -> None:
        if type(event) is BlockStart:
            piece = piece_of(event.block)
            number = wire.get(piece.key or CONTENT if piece is not None else CONTENT)
            part = self._open(event.index, self._item_of(wire), piece, number)
            part.wire = _object(wire.get("part"))
            part.learn(wire)

    def _item_of(self, wire: Wire) -> Item:
        return self.turn(self.place(wire, wire.get("item_id")))

    def _note_delta(self, wire: Wire, event: Event) -> None:
        part = self.parts.get(getattr(event, "index", -1))
        if part is None:
            return
        part.learn(wire)
        self.part, self.item = part, part.item
        if part.piece is TEXT:
            self._note_logprobs(wire)
            logprobs = wire.get("logprobs")
            if logprobs and type(logprobs) is list:
                part.logprobs += logprobs

    def _note_logprobs(self, wire: Wire, event: Event | None = None) -> None:
        self.logprobs = [] if "logprobs" in wire else UNSET

    def _note_annotation(self, wire: Wire, event: Event) -> None:
        part = self.parts.get(getattr(event, "index", -1))
        if part is not None:
            part.notes.append(wire.get("annotation"))
            self.part, self.item = part, part.item

    def _note_item_done(self, wire: Wire, event: Event) -> None:
        given = _object(wire.get("item"))
        at = self.place(wire, given.get("id"))
        item = self.items.get(at)
        if item is not None and not self.is_another(at, given.get("id")):
            item.done = given
        if type(event) is Other:
            self.writer.items.append({})


def _object(value: Any) -> Wire:
    return value if type(value) is dict else {}


_EXPECTED: dict[type, Callable[[Sketch, Any, Wire], Wire]] = {
    MessageStart: Sketch._start,
    BlockStart: Sketch._block,
    ToolUseStart: Sketch._call,
    TextDelta: Sketch._delta,
    ThinkingDelta: Sketch._delta,
    ToolUseInputDelta: Sketch._delta,
    BlockDelta: Sketch._block_delta,
    BlockEnd: Sketch._end,
    ToolUseEnd: Sketch._end,
    MessageComplete: Sketch._complete,
    StreamError: Sketch._fail,
    Other: Sketch._other,
    Stop: lambda *_: {},
    UsageUpdate: lambda *_: {},
}
_NOTED: dict[str, Callable[[Sketch, Wire, Event], None]] = {
    CREATED: Sketch._note_start,
    ITEM_ADDED: Sketch._note_item,
    PART_ADDED: Sketch._note_part,
    SUMMARY_ADDED: Sketch._note_part,
    **dict.fromkeys(BY_DELTA, Sketch._note_delta),
    TEXT.done: Sketch._note_logprobs,
    ANNOTATION: Sketch._note_annotation,
    ITEM_DONE: Sketch._note_item_done,
}
