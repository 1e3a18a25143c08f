"""The output of a response while it is written into a stream: items one after the other, and the
blocks that belong to each.

An item is announced when its first block begins, and closed when a block begins that is none of
its own, since more text joins the message before it."""

from __future__ import annotations

from typing import Any

from interlingua.arguments import recover
from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.hosted import HOLDS_RESULT
from interlingua.dialects.openai_responses.spelling import form
from interlingua.dialects.openai_responses.stream_frames import (
    ANNOTATION,
    ARGUMENTS,
    CALL_PIECES,
    INPUT,
    ITEM_ADDED,
    ITEM_DONE,
    PART_ADDED,
    PART_DONE,
    SUMMARIZED,
    SUMMARY_ADDED,
    SUMMARY_DONE,
    TEXT,
    Piece,
    kind_of,
    piece_of,
    spell,
)
from interlingua.dialects.openai_responses.stream_items import encode_text
from interlingua.dialects.openai_responses.stream_open import Open, Said, holds, is_part, joins
from interlingua.dialects.openai_responses.stream_said import QUIET, cited, part_of, write_item
from interlingua.dialects.openai_responses.tables import CALLS
from interlingua.dialects.openai_responses.writing import ItemWriter
from interlingua.dialects.streaming import call_of
from interlingua.model.base import same
from interlingua.model.blocks import (
    Block,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.events import BlockDelta, ToolUseEnd, ToolUseStart
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

_EMPTY: Wire = {"text": "", "citations": (), "signature": None}
_LATER = frozenset({"encrypted_content", "content", "summary"})
"""What an item does not say when it begins."""
_PAIRED = ("function_call", "custom_tool_call")
_VENDORS = frozenset({*CALLS, "mcp_call"})


class Output:
    """Blocks in, frames out. `seed` is the response's id, which made-up ids are made from."""

    def __init__(self, seed: str | None) -> None:
        self.current: Said | None = None
        self._number = 0
        self._item: Open | None = None
        self._writer = ItemWriter(QUIET, whole=True, seed=seed)
        self._calls: dict[Any, Wire] = {}
        """Calls as they were said, by what their results call them."""

    def spell(self, wire: Wire) -> Frame:
        wire["sequence_number"] = self._number
        self._number += 1
        return spell(wire)

    # -- items ----------------------------------------------------------------------------------

    def _announce(self, block: Block) -> tuple[Open, list[Frame]] | None:
        """Begin the item of a block; None where the block has no place."""
        frames = self.close_item()
        writer = ItemWriter(QUIET, whole=True, seed=self._writer.seed)
        writer.items = [{}] * len(self._writer.items)
        written = write_item(writer, (block,))
        if not written:
            return None
        wire = {key: value for key, value in written[0].items() if key not in _LATER}
        if wire.get("type") == "message":
            wire["content"] = []
        elif wire.get("type") == "reasoning":
            wire["summary"] = []
        piece = CALL_PIECES.get(kind_of(wire))
        if piece is not None:
            wire[piece.whole] = ""
        if "status" in wire:
            wire["status"] = "in_progress"
        item = self._item = Open(len(self._writer.items), wire)
        added = {"type": ITEM_ADDED, "output_index": item.at, "item": wire}
        return item, [*frames, self.spell(added)]

    def close_item(self) -> list[Frame]:
        """The end of the item that is open."""
        item = self._item
        if item is None:
            return []
        wire, *others = self._written(item)
        return [self._close(item, wire), *self._items(others, item.at + 1)]

    def _written(self, item: Open) -> list[Wire]:
        """The item as it is in the whole response; more than one where not all of its blocks are
        its own after all. It keeps the id that it was announced with, but for thinking whose own
        id came later: the signature belongs to that one."""
        wires = write_item(self._writer, tuple(item.blocks))
        if not wires:
            self._writer.items.append(item.wire)
            wires = [item.wire]
        first = item.blocks[0] if item.blocks else None
        if item.id is not None and not (type(first) is ThinkingBlock and first.id is not None):
            wires[0]["id"] = item.id
        return wires

    def _close(self, item: Open, wire: Wire) -> Frame:
        self._item = None
        return self.spell({"type": ITEM_DONE, "output_index": item.at, "item": wire})

    def _items(self, wires: list[Wire], at: int) -> list[Frame]:
        """Items that come whole."""
        frames: list[Frame] = []
        for place, wire in enumerate(wires, at):
            for kind in (ITEM_ADDED, ITEM_DONE):
                frames.append(self.spell({"type": kind, "output_index": place, "item": wire}))
        return frames

    def _put(self, *blocks: Block) -> list[Frame]:
        """Blocks that come whole, as an item."""
        frames = self.close_item()
        at = len(self._writer.items)
        return [*frames, *self._items(write_item(self._writer, blocks), at)]

    def agreed(self, wire: Wire) -> Wire:
        """The whole response, where calls have the ids and arguments that they had in the stream.
        What was told as two items, because it was not known yet that they are one, stays two."""
        calls, told = self._calls, self._writer.items
        kinds = [[item.get("type") for item in each] for each in (wire.get("output") or (), told)]
        if kinds[0] != kinds[1] and len(told) > len(kinds[0]):
            return {**wire, "output": list(told)}
        output = [
            {**item, **calls[item["call_id"]]}
            if item.get("type") in _PAIRED and item.get("call_id") in calls
            else item
            for item in wire.get("output") or ()
        ]
        return {**wire, "output": output} if calls else wire

    # -- parts ----------------------------------------------------------------------------------

    def open(self, index: int, block: Any) -> list[Frame]:
        """A block that is no call begins; what is told in pieces opens its part."""
        piece = piece_of(block)
        said = self.current = Said(index, piece)
        said.block = block
        if piece is None or "string" in form(block.raw):
            said.piece = None
            return []
        empty = {name: item for name, item in _EMPTY.items() if name in block.__struct_fields__}
        begun = block.replace(**empty)
        frames: list[Frame] = []
        item = self._item
        if item is None or not joins(item, begun):
            announced = self._announce(begun)
            if announced is None:
                said.piece = None
                return []
            item, frames = announced
        if type(block) is not ThinkingBlock:
            frames.append(self._open_part(said, item, begun))
        return [*frames, *(self.say(said, block.text) if block.text else ())]

    def _open_part(self, said: Said, item: Open, block: Block) -> Frame:
        piece = said.piece
        assert piece is not None
        said.number = item.counts.get(piece.key, 0)
        item.counts[piece.key] = said.number + 1
        self._prepare(said, item, piece)
        kind = SUMMARY_ADDED if piece is SUMMARIZED else PART_ADDED
        part = part_of(block, piece)
        return self.spell({"type": kind, **item.place(piece, said.number), "part": part})

    def _prepare(self, said: Said, item: Open, piece: Piece) -> None:
        place = "" if piece.key is None else f'"{piece.key}":{said.number},'
        said.head = (
            f'{{"type":"{piece.delta}","item_id":{encode_text(item.id).decode()},'
            f'"output_index":{item.at},{place}"delta":'
        )

    def say(self, said: Said, text: str) -> list[Frame]:
        """A piece of a block: the frame that there are most of, so it is made the fastest way."""
        head = said.head
        if head is None:
            return self._say_first(said, text)
        pieces = said.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        number = self._number
        self._number = number + 1
        data = f'{head}{encode_text(text).decode()},"sequence_number":{number}{said.tail}'
        return [tuple.__new__(Frame, (said.piece.delta, data))]  # type: ignore[union-attr]  # it has a head

    def _say_first(self, said: Said, text: str) -> list[Frame]:
        """Thinking opens its part when there is something to say."""
        item = self._item
        if not text or type(said.block) is not ThinkingBlock or said.piece is None or item is None:
            return []
        block = said.block.replace(text="", signature=None)
        return [self._open_part(said, item, block), *self.say(said, text)]

    def delta(self, said: Said, event: BlockDelta) -> list[Frame]:
        """A signature is said at the end of its item, whenever it came."""
        if event.field == "text" and type(event.value) is str:
            return self.say(said, event.value)
        is_text = event.field == "citations" and said.piece is TEXT
        note = cited(event.value) if is_text else None
        return [] if note is None else [self._note(said, note)]

    def _note(self, said: Said, note: Wire) -> Frame:
        assert self._item is not None
        place = {**self._item.place(TEXT, said.number), "annotation_index": said.notes}
        said.notes += 1
        return self.spell({"type": ANNOTATION, **place, "annotation": note})

    def end(self, said: Said, block: Block) -> list[Frame]:
        """What was not said in pieces, and the end."""
        item = self._item
        if said.start is not None:
            return self.cut()
        if said.piece is None or item is None or piece_of(block) is None:
            self.current = None
            return self._end_whole(block)
        text = "".join(said.pieces)
        more: str = block.text[len(text) :]  # type: ignore[union-attr, index]  # told in pieces
        frames = self.say(said, more) if more else []
        self.current = None
        item.blocks.append(block)
        if said.head is None:
            return frames
        part = part_of(block, said.piece) or {}
        if said.piece is TEXT:
            for note in (part.get("annotations") or ())[said.notes :]:
                frames.append(self._note(said, note))
        return [*frames, *self._done(said, item, part)]

    def _done(self, said: Said, item: Open, part: Wire) -> list[Frame]:
        piece = said.piece
        assert piece is not None
        place = item.place(piece, said.number)
        whole = {"type": piece.done, **place, piece.whole: part.get(piece.whole)}
        if piece is TEXT:
            whole["logprobs"] = []
        kind = SUMMARY_DONE if piece is SUMMARIZED else PART_DONE
        return [self.spell(whole), self.spell({"type": kind, **place, "part": part})]

    def _end_whole(self, block: Block) -> list[Frame]:
        item = self._item
        if type(block) is ToolResultBlock and item is not None and holds(item, block):
            item.blocks.append(block)
            return []
        if not is_part(block):
            return self._put(block)
        part = part_of(block, None)
        if part is None:
            return []
        frames: list[Frame] = []
        if item is None or item.kind != "message" or "item" in form(block.raw):
            announced = self._announce(block)
            if announced is None:
                return []
            item, frames = announced
        number = item.counts.get(TEXT.key, 0)
        item.counts[TEXT.key] = number + 1
        item.blocks.append(block)
        for kind in (PART_ADDED, PART_DONE):
            frames.append(self.spell({"type": kind, **item.place(TEXT, number), "part": part}))
        return frames

    def cut(self) -> list[Frame]:
        """The block that is open has no end: it is what was said of it."""
        said = self.current
        if said is None:
            return []
        if said.start is not None:
            text = "".join(said.pieces)
            return self.end_call(said, ToolUseEnd(said.index, recover(text).input, text))
        block = said.block
        if said.piece is not None and block is not None:
            return self.end(said, block.replace(text="".join(said.pieces)))
        self.current = None
        return []

    # -- calls ----------------------------------------------------------------------------------

    def open_call(self, event: ToolUseStart) -> list[Frame]:
        """Free text is said in one piece, when it is known for such; calls of the vendor's tools
        come whole."""
        said = self.current = Said(event.index)
        said.start = event
        is_told = event.call_type == "custom" or event.executor == "client"
        if not is_told or event.call_type in _VENDORS:
            return []
        announced = self._announce(call_of(event))
        if announced is None:
            return []
        item, frames = announced
        said.piece = INPUT if event.call_type == "custom" else ARGUMENTS
        if said.piece is ARGUMENTS:
            self._prepare(said, item, ARGUMENTS)
        return frames

    def end_call(self, said: Said, event: ToolUseEnd) -> list[Frame]:
        if said.start is None:
            return self.cut()
        self.current = None
        block = call_of(said.start, event)
        item = self._item
        if said.piece is None or item is None:
            return self._end_hosted(block)
        item.blocks.append(block)
        wire, *_ = self._written(item)
        return [*self._end_arguments(said, item, wire), self._close(item, wire)]

    def _end_arguments(self, said: Said, item: Open, wire: Wire) -> list[Frame]:
        """The rest of what a call is given, and all of it again."""
        piece = said.piece
        assert piece is not None
        text, told = wire.get(piece.whole), "".join(said.pieces)
        if type(text) is not str:
            return []
        frames: list[Frame] = []
        if text.startswith(told):
            self._prepare(said, item, piece)
            frames = self.say(said, text[len(told) :]) if len(text) > len(told) else []
        elif same(recover(told).input, recover(text).input):
            wire[piece.whole] = text = told
        if type(wire.get("call_id")) is str:
            self._calls[wire["call_id"]] = {"id": item.id, piece.whole: text}
        place = item.place(piece, 0)
        return [*frames, self.spell({"type": piece.done, **place, piece.whole: text})]

    def _end_hosted(self, block: ToolUseBlock) -> list[Frame]:
        """A result may be part of its call's item: it is waited for."""
        if block.call_type not in HOLDS_RESULT:
            return self._put(block)
        announced = self._announce(block)
        if announced is None:
            return []
        item, frames = announced
        item.blocks.append(block)
        return frames
