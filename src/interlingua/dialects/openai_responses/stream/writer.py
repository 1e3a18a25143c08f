"""Writing a stream of another dialect: as this wire requires, one item after the other.

An item is announced when its first block begins, and closed when a block of another item begins,
since more text joins the message before it."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.preserved import spelling_of
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import FAILED as FAILED_MESSAGE
from interlingua.dialects.kernel.stream_writer import (
    PIECE,
    InPieces,
    OpenBlock,
    before_pieces,
    encode_text,
)
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.openai_responses import tables as t
from interlingua.dialects.openai_responses.calls import HOLDS_RESULT
from interlingua.dialects.openai_responses.messages import ItemWriter
from interlingua.dialects.openai_responses.response import BODIES, is_failure, write_response
from interlingua.dialects.openai_responses.stream.answer import PART_TYPES, kind_of, piece_of
from interlingua.dialects.openai_responses.tables import NAME, Piece
from interlingua.dialects.openai_responses.text import restore_own, write_citation, write_part
from interlingua.dialects.openai_responses.thinking import group
from interlingua.model import blocks as model
from interlingua.model import events as ev
from interlingua.model.arguments import recover
from interlingua.model.base import same
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason
from interlingua.model.reasons import because
from interlingua.streams.frames import MANY, Frame, thin

_BEGUN = MessageMetadata(stop_reason=StopReason.PAUSE, status=MessageStatus.PARTIAL)
_LATER = frozenset({"encrypted_content", "content", "summary"})
"""Members that an item does not have at its start."""
_LISTS = {"message": "content", "reasoning": "summary"}
"""But for the list that its parts come into."""
_PAIRED = ("function_call", "custom_tool_call")
_VENDORS = frozenset({*t.CALLS, "mcp_call"})
_TOO_LATE = because("stream_too_late")
_QUIET = quiet(NAME)


class OpenPart(OpenBlock):
    """A block being written: its kind of pieces, if any, and the frames so far."""

    __slots__ = ("block", "notes", "number", "piece", "pieces")

    def __init__(self, index: int, block: Any = None, start: Any = None) -> None:
        super().__init__(index, start=start)
        self.block = block
        self.piece: Piece | None = None
        self.pieces: list[str] = []
        self.number = self.notes = 0

    def text(self) -> str:
        return "".join(self.pieces)


class OpenItem(msgspec.Struct, eq=False):
    """An item that is announced and not closed."""

    at: int
    wire: Wire
    blocks: list[model.Block] = []
    counts: dict[str | None, int] = {}

    @property
    def id(self) -> Any:
        return self.wire.get("id")

    @property
    def is_message(self) -> bool:
        return self.wire.get("type", "message" if "role" in self.wire else None) == "message"

    def count(self, piece: Piece) -> int:
        """The number of its next part."""
        number = self.counts.get(piece.key, 0)
        self.counts[piece.key] = number + 1
        return number

    def place(self, piece: Piece, number: int) -> Wire:
        place: Wire = {"item_id": self.id, "output_index": self.at}
        return place if piece.key is None else {**place, piece.key: number}

    def takes(self, block: model.Block) -> bool:
        """Whether a block belongs to it."""
        last = self.blocks[-1] if self.blocks else None
        if type(block) is model.ThinkingBlock:
            return type(last) is model.ThinkingBlock and len(group((last, block), 0)) == 2
        if type(block) is model.ToolResultBlock:
            is_holding = type(last) is model.ToolUseBlock and last.call_type in HOLDS_RESULT
            return is_holding and last.id == block.tool_use_id  # type: ignore[union-attr]  # a call
        spelling = spelling_of(NAME, block.raw)
        if not self.is_message or "item" in spelling or "apart" in spelling:
            return False
        texts = [each for each in self.blocks if type(each) is model.TextBlock]
        return type(block) is not model.TextBlock or not texts or texts[-1].phase == block.phase


class ForeignWriter(InPieces[OpenPart]):
    """Writes the frames for events of other dialects. One block is open at a time; events of
    other blocks are queued. Usage and stop reason are written at the end, and losses are counted
    there."""

    def __init__(self, name: str, report: Report) -> None:
        super().__init__(name, report)
        self._number = 0
        self._is_resumed = False

    def resume(self, count: int, frames: list[Frame]) -> None:
        """Continues a changed stream with higher numbers, because clients ignore lower ones as
        repeats. Parts that the original frames opened and closed are not repeated."""
        if self._current is None:
            self._close_item()
        else:
            self._open_late(self._current)
        self._number = max(self._number, count)
        self._is_resumed = True

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._begun: Wire = {}
        self._item: OpenItem | None = None
        self._writer = ItemWriter(_QUIET, whole=True)
        self._calls: dict[Any, Wire] = {}
        """The calls that were written, by the ids that results use."""

    def _spell(self, wire: Wire) -> Frame:
        wire["sequence_number"] = self._number
        self._number += 1
        return Frame(wire["type"], encode(wire).decode())

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        self._writer.seed = id
        metadata = _BEGUN.replace(response_model=model, response_id=id)
        self._begun = write_response(Response(Message(Role.ASSISTANT, metadata=metadata)), _QUIET)
        kinds = (t.CREATED, t.IN_PROGRESS)
        return [self._spell({"type": kind, "response": self._begun}) for kind in kinds]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        frames = self._close_item()
        wire = self._as_begun(write_response(response, recorder), response, recorder)
        if output := self._agreed(wire.get("output") or []):
            wire["output"] = output
        status = wire.get("status")
        kind = t.ENDINGS.get(status, t.COMPLETED) if type(status) is str else t.COMPLETED
        frames.append(self._spell({"type": kind, "response": wire}))
        self._number = 0
        return frames

    def _as_begun(self, wire: Wire, response: Response, recorder: LossRecorder) -> Wire:
        """Keeps the id that the response began with."""
        if self._begun and wire.get("id") != self._begun["id"]:
            if response.message.metadata.response_id is not None:
                recorder.lost(response.message, "metadata.response_id", _TOO_LATE)
            wire["id"] = self._begun["id"]
        return wire

    def _agreed(self, output: list[Wire]) -> list[Wire]:
        """The items, with the ids and arguments of calls as in the stream. Items that were written
        separately, before they were known to belong together, stay separate."""
        streamed, calls = self._writer.items, self._calls
        if len(streamed) > len(output):
            return list(streamed)
        return [
            {**item, **calls[item["call_id"]]}
            if item.get("type") in _PAIRED and item.get("call_id") in calls
            else item
            for item in output
        ]

    def _fail(self, event: ev.StreamError) -> list[Frame]:
        """Everything written before the end is repeated with it, and queued content is added;
        not where a stream breaks off on its way home, since its frames are complete."""
        if self._failed:
            return []
        partial = None if self._is_resumed and event.frame is None else event.partial
        response = Response(partial or FAILED_MESSAGE, error=event.error)
        recorder = LossRecorder(NAME, response, self._report)
        wire = write_response(response, recorder)
        if is_failure(wire):
            frames = [self._spell(_error_frame(event.error, wire))]
        else:
            metadata = response.message.metadata
            frames = self._start(ev.MessageStart(metadata.response_model, metadata.response_id))
            wire = self._as_begun(wire, response, recorder)
            frames.append(self._spell({"type": t.FAILED, "response": wire}))
        self._failed, self._current = True, None
        return frames

    # -- items ------------------------------------------------------------------------------------

    def _announce(self, block: model.Block) -> tuple[OpenItem | None, list[Frame]]:
        """Begin the item of a block; None where the block has no place."""
        writer = ItemWriter(_QUIET, whole=True, seed=self._writer.seed)
        frames = self._close_item()
        writer.items = [{}] * len(self._writer.items)
        written = _write_items(writer, (block,))
        if not written:
            return None, frames
        wire = {key: value for key, value in written[0].items() if key not in _LATER}
        piece = t.CALL_PIECES.get(kind_of(wire))
        if kind_of(wire) in _LISTS:
            wire[_LISTS[kind_of(wire)]] = []
        elif piece is not None:
            wire[piece.whole] = ""
        if "status" in wire:
            wire["status"] = "in_progress"
        item = self._item = OpenItem(len(self._writer.items), wire)
        added = {"type": t.ITEM_ADDED, "output_index": item.at, "item": wire}
        return item, [*frames, self._spell(added)]

    def _close_item(self) -> list[Frame]:
        """The end of the item that is open."""
        item = self._item
        if item is None:
            return []
        wire, *others = self._written(item)
        return [self._item_done(item, wire), *self._items(others, item.at + 1)]

    def _written(self, item: OpenItem) -> list[Wire]:
        """The item as in the whole response; several if some of its blocks belong to others. It
        keeps its announced id, except for thinking whose own id came later: the signature belongs
        to that one."""
        wires = _write_items(self._writer, tuple(item.blocks))
        if not wires:
            self._writer.items.append(item.wire)
            wires = [item.wire]
        first = item.blocks[0] if item.blocks else None
        if item.id is not None and not (
            type(first) is model.ThinkingBlock and first.id is not None
        ):
            wires[0]["id"] = item.id
        return wires

    def _item_done(self, item: OpenItem, wire: Wire) -> Frame:
        self._item = None
        return self._spell({"type": t.ITEM_DONE, "output_index": item.at, "item": wire})

    def _items(self, wires: list[Wire], at: int) -> list[Frame]:
        """Items that come whole."""
        return [
            self._spell({"type": kind, "output_index": place, "item": wire})
            for place, wire in enumerate(wires, at)
            for kind in (t.ITEM_ADDED, t.ITEM_DONE)
        ]

    def _put(self, block: model.Block) -> list[Frame]:
        """A whole block as an item."""
        frames = self._close_item()
        at = len(self._writer.items)
        return [*frames, *self._items(_write_items(self._writer, (block,)), at)]

    # -- parts ------------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        """Begins a block that is not a call; one that is streamed in pieces opens its part."""
        piece, item = piece_of(block), self._item
        open_part = self._current = OpenPart(index, block)
        if piece is None or "string" in spelling_of(NAME, block.raw):
            return []
        begun = before_pieces(block)
        frames: list[Frame] = []
        if item is None or not item.takes(begun):
            item, frames = self._announce(begun)
            if item is None:
                return frames
        open_part.piece = piece
        if type(block) is not model.ThinkingBlock:
            frames.append(self._open_part(open_part, item, piece))
        return [*frames, *self._write_text(open_part, block.text)]

    def _open_part(self, open_part: OpenPart, item: OpenItem, piece: Piece) -> Frame:
        open_part.number = item.count(piece)
        self._prepare(open_part, item, piece)
        kind = t.SUMMARY_ADDED if piece is t.SUMMARIZED else t.PART_ADDED
        part = _part_of(before_pieces(open_part.block), piece)
        return self._spell({"type": kind, **item.place(piece, open_part.number), "part": part})

    def _prepare(self, open_part: OpenPart, item: OpenItem, piece: Piece) -> None:
        tokens: Wire = {"logprobs": []} if piece is t.TEXT else {}
        wire = {
            "type": piece.delta,
            **item.place(piece, open_part.number),
            "delta": PIECE,
            **tokens,
        }
        open_part.spell_as(piece.delta, wire)

    def _frame(self, open_part: Any, text: str) -> Frame:
        pieces = open_part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        number = self._number
        self._number = number + 1
        before, after = open_part.cuts
        data = f'{before}{encode_text(text).decode()},"sequence_number":{number}{after}'
        return tuple.__new__(Frame, (open_part.name, data))

    def _write_text(self, open_part: OpenPart, text: str) -> list[Frame]:
        opened = self._open_late(open_part) if text else []
        return [*opened, *super()._write_text(open_part, text)]

    def _open_late(self, open_part: OpenPart) -> list[Frame]:
        """Thinking opens its part with its first content."""
        item, piece = self._item, open_part.piece
        is_open = open_part.cuts is not None or type(open_part.block) is not model.ThinkingBlock
        return [] if is_open or not item or not piece else [self._open_part(open_part, item, piece)]

    def _delta(self, open_part: OpenPart, event: ev.BlockDelta) -> list[Frame]:
        """Writes a delta. A signature is written at the end of its item, whenever it arrived."""
        if event.field != "citations" or open_part.piece is not t.TEXT:
            return []
        # One that was stored with its event is plain JSON.
        note = write_citation(msgspec.convert(event.value, model.Citation), _QUIET)
        return [] if note is None else self._cite(open_part, [note])

    def _cite(self, open_part: OpenPart, notes: list[Wire]) -> list[Frame]:
        item = self._item
        if item is None:
            return []
        place = {"type": t.ANNOTATION, **item.place(t.TEXT, open_part.number)}
        first, open_part.notes = open_part.notes, open_part.notes + len(notes)
        return [
            self._spell({**place, "annotation_index": number, "annotation": note})
            for number, note in enumerate(notes, first)
        ]

    def _end(self, open_part: OpenPart, block: Any) -> list[Frame]:
        """The rest that was not streamed in pieces, and the end."""
        item = self._item
        if open_part.start is not None:
            return self._close(open_part)
        if open_part.piece is None or item is None or piece_of(block) is None:
            self._current = None
            return self._end_whole(block)
        frames = self._write_text(open_part, block.text[open_part.length :])
        self._current = None
        item.blocks.append(block)
        if open_part.cuts is None:
            return frames
        part = _part_of(block, open_part.piece) or {}
        if open_part.piece is t.TEXT:
            frames += self._cite(open_part, (part.get("annotations") or [])[open_part.notes :])
        return [*frames, *self._part_done(open_part, item, open_part.piece, part)]

    def _part_done(
        self, open_part: OpenPart, item: OpenItem, piece: Piece, part: Wire
    ) -> list[Frame]:
        place = item.place(piece, open_part.number)
        whole = {"type": piece.done, **place, piece.whole: part.get(piece.whole)}
        if piece is t.TEXT:
            whole["logprobs"] = []
        kind = t.SUMMARY_DONE if piece is t.SUMMARIZED else t.PART_DONE
        return [self._spell(whole), self._spell({"type": kind, **place, "part": part})]

    def _end_whole(self, block: model.Block) -> list[Frame]:
        item = self._item
        if type(block) is model.ToolResultBlock and item is not None and item.takes(block):
            item.blocks.append(block)
            return []
        if not _is_part(block):
            return self._put(block)
        part = _part_of(block, None)
        if part is None:
            return []
        frames: list[Frame] = []
        if item is None or not item.is_message or "item" in spelling_of(NAME, block.raw):
            item, frames = self._announce(block)
            if item is None:
                return frames
        item.blocks.append(block)
        keys = {**item.place(t.TEXT, item.count(t.TEXT)), "part": part}
        frames += [self._spell({"type": kind, **keys}) for kind in (t.PART_ADDED, t.PART_DONE)]
        return frames

    def _close(self, open_part: OpenPart) -> list[Frame]:
        """A block without an end is complete with its pieces."""
        if open_part.start is not None:
            text = open_part.text()
            return self._end_call(
                open_part, ev.ToolUseEnd(open_part.index, recover(text).input, text)
            )
        if open_part.piece is not None:
            return self._end(open_part, open_part.block.replace(text=open_part.text()))
        self._current = None
        return []

    # -- calls ------------------------------------------------------------------------------------

    def _open_call(self, event: ev.ToolUseStart) -> list[Frame]:
        """Free text is written in one piece, once it is known to be free text; calls of the
        vendor's tools are written whole."""
        open_part = self._current = OpenPart(event.index, start=event)
        is_free = event.call_type == "custom"
        if event.call_type in _VENDORS or not (is_free or event.executor == "client"):
            return []
        item, frames = self._announce(call_of(event))
        if item is not None:
            open_part.piece = t.INPUT if is_free else t.ARGUMENTS
            if not is_free:
                self._prepare(open_part, item, t.ARGUMENTS)
        return frames

    def _end_call(self, open_part: OpenPart, event: ev.ToolUseEnd) -> list[Frame]:
        if open_part.start is None:
            return self._close(open_part)
        block, item = call_of(open_part.start, event), self._item
        if open_part.piece is None or item is None:
            self._current = None
            return self._end_hosted(block)
        item.blocks.append(block)
        wire, *_ = self._written(item)
        frames = self._end_arguments(open_part, item, open_part.piece, wire)
        self._current = None
        return [*frames, self._item_done(item, wire)]

    def _end_arguments(
        self, open_part: OpenPart, item: OpenItem, piece: Piece, wire: Wire
    ) -> list[Frame]:
        """The rest of a call's arguments, and all of them again."""
        text, streamed = wire.get(piece.whole), open_part.text()
        if type(text) is not str:
            return []
        frames: list[Frame] = []
        if text.startswith(streamed):
            self._prepare(open_part, item, piece)
            frames = self._write_text(open_part, text[len(streamed) :])
        elif same(recover(streamed).input, recover(text).input):
            wire[piece.whole] = text = streamed
        if type(wire.get("call_id")) is str:
            self._calls[wire["call_id"]] = {"id": item.id, piece.whole: text}
        place = item.place(piece, 0)
        return [*frames, self._spell({"type": piece.done, **place, piece.whole: text})]

    def _end_hosted(self, block: model.ToolUseBlock) -> list[Frame]:
        """A result may be part of its call's item: it is waited for."""
        if block.call_type not in HOLDS_RESULT:
            return self._put(block)
        item, frames = self._announce(block)
        if item is not None:
            item.blocks.append(block)
        return frames


def _error_frame(error: ProviderError, body: Wire) -> Wire:
    """The frame of an error instead of a response. The error object of a body has what its code
    cannot express."""
    if error.raw is not None and NAME in error.raw:
        return {"type": t.ERROR, **body}
    wire: Wire = {"type": t.ERROR, "code": error.code, "message": error.message, "param": None}
    again = BODIES.read_failure(wire).error
    return wire if again is not None and again.kind is error.kind else wire | body


def _part_of(block: model.Block, piece: Piece | None) -> Wire | None:
    """The block as a part of an item."""
    if type(block) is model.ThinkingBlock and piece is not None:
        return restore_own({"type": PART_TYPES[piece], "text": block.text}, block.raw)
    return write_part(block, _QUIET, by_model=True)


def _is_part(block: model.Block) -> bool:
    """Whether a block that is not streamed in pieces is a part of a message."""
    if type(block) is model.UnknownBlock:
        return NAME in block.raw and "part" in spelling_of(NAME, block.raw)
    if type(block) is model.ImageBlock or type(block) is model.DocumentBlock:
        return "type" in spelling_of(NAME, block.raw)
    return False


def _write_items(writer: ItemWriter, blocks: tuple[model.Block, ...]) -> list[Wire]:
    """The items of these blocks, which nothing before them belongs to."""
    before, index = len(writer.items), 0
    writer.parts = None
    while index < len(blocks):
        index += writer.block(blocks, index)
    writer.parts = None
    return writer.items[before:]


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the Responses API."""

    name, foreign_writer = NAME, ForeignWriter

    def _keeps(self, block: model.CompactionBlock) -> bool:
        return block.data is not None and not block.text
