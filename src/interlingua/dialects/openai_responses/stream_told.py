"""What the frames of a stream tell of items and their parts, as events."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Wire, expect
from interlingua.dialects.openai_responses.citations import read_citation
from interlingua.dialects.openai_responses.spelling import inside
from interlingua.dialects.openai_responses.stream_frames import (
    BY_DELTA,
    BY_DONE,
    CALL_PIECES,
    CONTENT,
    PART_PIECES,
    SUMMARY,
    SUMMARY_ADDED,
    SUMMARY_DONE,
    TEXT,
    Piece,
    kind_of,
)
from interlingua.dialects.openai_responses.stream_items import Item, Part
from interlingua.dialects.openai_responses.stream_parts import (
    Answer,
    as_told,
    blank,
    end,
    fits,
    places_of,
    said,
    start_of,
    whole,
)
from interlingua.dialects.openai_responses.stream_plain import UNSET
from interlingua.dialects.openai_responses.stream_sketch import Sketch
from interlingua.dialects.openai_responses.tables import CALLS, NAME
from interlingua.errors import ReadError
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    FrameMark,
    MessageStart,
    Other,
    ToolUseEnd,
)


class Ending:
    """The last event, while a further frame may belong to it: `answer` is there after an `error`,
    which the response that failed may follow."""

    def __init__(self, event: Event, wire: Wire, answer: Answer | None) -> None:
        self.event = event
        self.wire = wire
        self.answer = answer
        self.after: list[Wire] = []

    def events(self) -> list[Event]:
        mark = self.event.frame
        if not self.after or mark is None:
            return [self.event]
        kept = {**((mark.rest or {}).get(NAME) or {}), "$after": self.after}
        return [self.event.replace(frame=FrameMark(mark.number, {NAME: kept}))]

    def others(self) -> list[Event]:
        """Its frames, once they are not the last."""
        first = self.event.frame.number if self.event.frame is not None else 0
        wire = dict(self.wire)
        if "sequence_number" not in wire:
            wire["$form"] = {"without": ["sequence_number"]}
        kept = [wire, *self.after]
        return [Other(frame=FrameMark(n, {NAME: rest})) for n, rest in enumerate(kept, first)]


class Told:
    """The answer so far, and the frames that add to it. What they give is yet to be marked: the
    last event has the frame, the others stand within it."""

    def __init__(self) -> None:
        self._sketch = Sketch()
        self._answer: Answer | None = None
        self._turn: Any = UNSET
        """The item that a frame begins by itself or goes on with, where that has to be known."""
        self._is_another = False
        """Whether that takes the number of one that is whole."""
        self._block: int | None = None
        """The block that a frame is about which repeats what was told."""

    def _begun(self, given: Wire) -> tuple[Answer, list[Event]]:
        """The answer, also if it began without saying so."""
        if self._answer is not None:
            return self._answer, []
        self._answer = Answer(given, self._sketch)
        id, model = given.get("id"), given.get("model")
        start = MessageStart(model if type(model) is str else None, id if type(id) is str else None)
        return self._answer, [start]

    # -- items ------------------------------------------------------------------------------------

    def _place(self, wire: Wire, id: Any) -> Any:
        """The number of the item that a frame is about."""
        at = wire.get("output_index")
        if at is not None:
            expect(at, int, NAME, "$.output_index")
        return self._sketch.place(wire, id)

    def _item_added(self, wire: Wire) -> list[Event] | None:
        given = expect(wire.get("item"), dict, NAME, "$.item")
        at = wire.get("output_index")
        at = self._sketch.next if at is None else expect(at, int, NAME, "$.output_index")
        answer, events = self._begun({})
        if at in self._sketch.items and not self._sketch.is_another(at, given.get("id")):
            return [*events, Other()]
        answer.make_room()
        if kind_of(given) in _TOLD_LATER:
            return [*events, Other()]
        try:
            blocks = answer.glimpse(given, at)
        except ReadError:
            return [*events, Other()]  # the end of the item will have it all
        if not blocks or type(blocks[0]) is not ToolUseBlock:
            return [*events, Other()]
        return [*events, start_of(blocks[0], answer.index(None))]

    def _item_done(self, wire: Wire) -> list[Event] | None:
        given = expect(wire.get("item"), dict, NAME, "$.item")
        at = self._place(wire, given.get("id"))
        answer, events = self._begun({})
        self._turn = at
        self._is_another = self._sketch.is_another(at, given.get("id"))
        item = None if self._is_another else self._sketch.items.get(at)
        try:
            events += self._finish_item(answer, item, given, at)
        except ReadError as odd:
            raise inside(odd, "$.item") from None
        if not events or type(events[-1]) is MessageStart:
            events.append(Other())
        return events

    def _finish_item(self, answer: Answer, item: Item | None, given: Any, at: Any) -> list[Event]:
        """The events of an item's end: its blocks in order, as far as they are not closed."""
        blocks = answer.blocks(given if item is None else as_told(item, given), at)
        parts = list(item.parts.values()) if item is not None else []
        by_place = places_of(parts, given)
        events: list[Event] = []
        for place, block in enumerate(blocks):
            part = by_place.get(place)
            if part is None or not fits(part, block):
                events += whole(block, answer.index(item))
                continue
            del by_place[place]
            if part.block is None:
                events += end(part, block)
        for part in by_place.values():
            if part.block is None:
                events[:0] = end(part, answer.state(part))
        return events

    # -- parts ------------------------------------------------------------------------------------

    def _part(self, wire: Wire, key: str | None) -> Part | None:
        """The part that a frame is about."""
        item = self._sketch.items.get(self._place(wire, wire.get("item_id")))
        if item is None:
            return None
        if key is None:
            return next((part for part in item.parts.values() if part.start is not None), None)
        number = wire.get(key)
        if number is not None:
            expect(number, int, NAME, f"$.{key}")
        return item.parts.get((key, number))

    def _part_added(self, wire: Wire) -> list[Event] | None:
        given = expect(wire.get("part"), dict, NAME, "$.part")
        key = SUMMARY if wire.get("type") == SUMMARY_ADDED else CONTENT
        if self._part(wire, key) is not None:
            # Of an item with one part there are servers that do not number it.
            expect(wire.get(key), int, NAME, f"$.{key}")
            return None
        kind = given.get("type")
        piece = PART_PIECES.get(kind) if type(kind) is str else None
        if piece is not None and given.get(piece.whole) is not None:
            expect(given[piece.whole], str, NAME, f"$.part.{piece.whole}")
        answer, events = self._begun({})
        told, block = self._open(answer, wire, piece, given)
        events += told
        return [*events, block]

    def _open(
        self, answer: Answer, wire: Wire, piece: Piece | None, given: Wire
    ) -> tuple[list[Event], BlockStart]:
        """Begin a part, and end the one before it in the same item."""
        at = self._place(wire, wire.get("item_id"))
        item = self._sketch.items.get(at) or Item(at, {})
        events: list[Event] = []
        for part in item.parts.values():
            if part.block is None:
                events += end(part, answer.state(part, "completed"))
        index = answer.index(item)
        key = piece.key if piece is not None else CONTENT
        number = wire.get(key or CONTENT)
        begun = Part(index, item, piece, number)
        begun.wire = given
        item.parts[key, number] = begun
        try:
            first = answer.state(begun)
        finally:
            del item.parts[key, number]
        return events, BlockStart(index, first)

    def _delta(self, wire: Wire) -> list[Event] | None:
        piece = BY_DELTA[wire["type"]]
        text = expect(wire.get("delta"), str, NAME, "$.delta")
        part = self._part(wire, piece.key)
        if part is not None:
            return None if part.block is not None or part.piece is not piece else [said(part, text)]
        if piece.key is None or not text:
            return None
        answer, events = self._begun({})
        self._turn = self._place(wire, wire.get("item_id"))
        told, start = self._open(answer, wire, piece, blank(piece))
        late = Part(start.index, Item(None, {}), piece, None)
        return [*events, *told, start, said(late, text)]

    def _annotation(self, wire: Wire) -> list[Event] | None:
        part = self._part(wire, CONTENT)
        if part is None or part.piece is not TEXT or part.block is not None:
            return None
        note = expect(wire.get("annotation"), dict, NAME, "$.annotation")
        return [BlockDelta(part.index, "citations", read_citation(note))]

    def _done(self, wire: Wire) -> None:
        """A frame that repeats what its part said; the sketch expects it of the present one."""
        kind = wire["type"]
        piece = BY_DONE.get(kind)
        key = piece.key if piece is not None else SUMMARY if kind == SUMMARY_DONE else CONTENT
        part = self._part(wire, key)
        if part is not None and part is not self._sketch.part:
            self._block = part.index

    def _finish(self, answer: Answer, output: Any) -> tuple[list[Any], list[Event]]:
        """The items of the whole answer, and what the last frame says of those that were not told
        to their end, or not at all."""
        items: list[Any] = []
        events: list[Event] = []
        for at, place in enumerate(answer.places(output)):
            item, wire = place.item, answer.item(place)
            items.append(wire)
            if item is None or item.done is None or not item.parts:
                try:
                    events += self._finish_item(answer, item, wire, at)
                except ReadError as odd:
                    number = at if place.number is None else place.number
                    raise inside(odd, f"$.output[{number}]") from None
        closed = {event.index for event in events if isinstance(event, BlockEnd | ToolUseEnd)}
        for part in self._sketch.parts.values():
            if part.block is None and part.index not in closed:
                events += end(part, answer.state(part))
        return items, events


_WHOLE = [
    kind for kind, call in CALLS.items() if call.id_key == "call_id" and kind not in CALL_PIECES
]
_TOLD_LATER = frozenset({"message", "reasoning", "image_generation_call", *_WHOLE})
"""Items whose beginning does not tell what block they begin with; and calls that come whole, whose
end may have another id than their beginning."""
