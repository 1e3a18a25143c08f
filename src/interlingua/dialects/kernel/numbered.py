"""Streams of numbered blocks, as the wires have them that carry Claude: a block has a start, pieces
and a stop, each a frame with its number, and blocks of which there are no pieces come whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from interlingua.dialects.kernel.stream_reader import (
    Blocks,
    MessageReader,
    Pattern,
    ReadInPieces,
    Spot,
    call_of,
    end_of_block,
    failed,
    finish_call,
    pattern_of,
    start_of_block,
)
from interlingua.dialects.kernel.stream_writer import (
    OpenBlock,
    PieceWriter,
    before_pieces,
    json_frame,
)
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.model import events as ev
from interlingua.model.blocks import (
    Block,
    Citation,
    CompactionBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.events import Event
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic
from interlingua.streams.frames import MANY, Frame, thin

# -- reading --------------------------------------------------------------------------------------


_PIECES: dict[type[Block], Any] = {
    TextBlock: ev.TextDelta,
    ThinkingBlock: ev.ThinkingDelta,
    ToolUseBlock: ev.ToolUseInputDelta,
    CompactionBlock: lambda index, text: ev.BlockDelta(index, "text", text),
}
"""The event for a piece of a block."""


class OpenPart:
    """A block under assembly: its start, and its pieces."""

    def __init__(self, index: int, at: int, wire: Wire, block: Block) -> None:
        self.index = index
        self.at = at
        """Its number on the wire."""
        self.wire = dict(wire)
        self.block = block
        self.event: Any = _PIECES.get(type(block))
        self.pieces: list[str] = []
        self.citations: list[Wire] = []

    def add(self, text: str) -> Event:
        """Adds a piece."""
        self.pieces.append(text)
        event: Event = self.event(self.index, text)
        return event

    def finish(self) -> tuple[Block, Diagnostic | None]:
        """The block as the reader reads a whole answer, and its oddities."""
        if type(self.block) is ToolUseBlock:
            return finish_call(self.block, self.pieces)
        return self._whole(), None

    def _whole(self) -> Block:
        raise NotImplementedError


Opened = TypeVar("Opened", bound=OpenPart)


class OpenParts(Blocks, Generic[Opened]):
    """The blocks of an answer, and the unfinished ones by their numbers on the wire."""

    def __init__(self, part_type: type[Opened]) -> None:
        super().__init__()
        self.open: dict[int, Opened] = {}
        self._part_type, self._count = part_type, 0

    def begin(self, at: int, wire: Wire, block: Block) -> list[Event]:
        """A block that begins; one that has its number ends with that."""
        events = self.end(self.open[at]) if at in self.open else []
        part = self.open[at] = self._part_type(self._count, at, wire, block)
        self._count += 1
        return [*events, start_of_block(part.index, block)]

    def end(self, part: Opened) -> list[Event]:
        """A whole call is emitted in one piece by then."""
        del self.open[part.at]
        block = self.put(part.index, *part.finish())
        end = end_of_block(part.index, block)
        if type(block) is not ToolUseBlock or not block.input or any(part.pieces):
            return [end]
        return [ev.ToolUseInputDelta(part.index, encode(block.input).decode()), end]

    def end_all(self) -> list[Event]:
        """The ends of blocks that nothing has closed."""
        return [event for part in list(self.open.values()) for event in self.end(part)]

    def response(self) -> Response:
        """The response as the reader reads the whole answer."""
        raise NotImplementedError

    def partial(self, error: ProviderError) -> Message:
        """The partial message when the stream fails."""
        for part in self.open.values():
            self.put(part.index, part.finish()[0])
        return failed(self.response().message, error)


P = TypeVar("P", bound=OpenParts[Any])


class NumberedReader(MessageReader[P]):
    """A wire with one frame per piece: once a reader has `learned` the spelling of a block's
    pieces, it reads only their text, until another frame arrives."""

    def __init__(self) -> None:
        super().__init__()
        self._live: ReadInPieces | None = None
        """The block of the last piece, if no other frame has arrived since."""
        self._before: ReadInPieces | None = None
        self._pattern: Pattern | None = None
        self._fed: Frame | None = None

    def feed(self, frame: Frame) -> list[Event]:
        part, pattern = self._live, self._pattern
        if part is not None and pattern is not None and frame.event == self._fed.event:  # type: ignore[union-attr]  # it was learned of one
            text = pattern.find(frame.data)
            if text is not None:
                pieces = part.pieces
                pieces.append(text)
                if len(pieces) > MANY:
                    thin(pieces)
                return [part.event(part.index, text)]
        self._before, self._live, self._fed = part, None, frame
        return self._feed(frame)

    @property
    def piece(self) -> tuple[ReadInPieces, Pattern] | None:
        """The block of the last piece, and the spelling of its pieces."""
        part, pattern = self._live, self._pattern
        return None if part is None or pattern is None else (part, pattern)

    @property
    def _open(self) -> dict[int, Any]:
        """The blocks that have not ended."""
        return {} if self._answer is None else self._answer.open

    def _begun(self) -> tuple[P, list[Event]]:
        """The current message; starts one if the stream has not."""
        if self._answer is not None:
            return self._answer, []
        return self._begin({}), [ev.MessageStart()]

    def _begin(self, message: Wire) -> P:
        """Starts a message with this data."""
        raise NotImplementedError

    def _feed(self, frame: Frame) -> list[Event]:
        """Any frame, the long way."""
        raise NotImplementedError

    def _learn(self, part: ReadInPieces, wire: Wire, spot: Spot, pad: str | None = None) -> None:
        """Records that a frame with this JSON has a piece of this block at the spot, and no
        other content."""
        if self._fed is not None:
            if part is not self._before:
                self._pattern = pattern_of(self._fed.data, wire, [spot], pad)
            self._live = part


# -- writing --------------------------------------------------------------------------------------

TEXT, THINKING, INPUT = 0, 1, 2
KINDS: dict[type[Block], int] = {TextBlock: TEXT, RefusalBlock: TEXT, ThinkingBlock: THINKING}
"""Blocks that are streamed in pieces. All others come whole."""


class NumberedWriter(PieceWriter):
    """Writes the frames for events of other dialects. One block is open at a time; events of
    other blocks are queued. Usage and stop reason are written at the end, and losses are counted
    there. A dialect defines how its frames look."""

    announces_blocks = True
    opens_texts: ClassVar[bool]
    """Whether text and thinking have a start; else they begin with their first piece."""
    piece_keys: ClassVar[frozenset[str]]
    """Keys of parts that come in pieces."""
    pieces: ClassVar[Sequence[Wire]]
    """The frames of text, thinking and arguments, with `PIECE` in place of the piece."""
    frames: ClassVar[tuple[str, str, str]]
    """The names of a block's start, of a delta and of its stop."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._count = 0
        """The number of the open block."""
        self._begun = False
        """Whether a frame of it was written, pieces apart."""
        self._cited = 0
        """The number of its citations that were written."""

    def _open_as(self, index: int, kind: int | None = None) -> OpenBlock:
        open_block = self._current = OpenBlock(index, kind)
        self._begun, self._cited = False, 0
        if kind is not None:
            open_block.spell_as(*self._step(self.frames[1], {"delta": self.pieces[kind]}))
        return open_block

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = KINDS.get(type(block))
        part = None if kind is None else self._part(before_pieces(block))
        if part is None or self.piece_keys.isdisjoint(part):
            self._open_as(index)
            return []
        open_block = self._open_as(index, kind)
        start = [self._opening(part)] if self.opens_texts else []
        return [*start, *self._write_text(open_block, block.text)]

    def _open_call(self, event: ev.ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first, and the owner of a hosted tool may be
        known only at the end."""
        part = self._part(call_of(event)) if event.call_type is None else None
        self._open_as(event.index, None if part is None else INPUT).start = event
        return [] if part is None else [self._opening(part)]

    def _delta(self, open_block: OpenBlock, event: ev.BlockDelta) -> list[Frame]:
        """Writes a delta. A signature is written at the end of its block, whenever it arrived. A
        citation that was stored with its event is plain JSON."""
        is_citation = event.field == "citations" and open_block.kind == TEXT
        return self._cite(msgspec.convert(event.value, Citation)) if is_citation else []

    def _cite(self, citation: Citation) -> list[Frame]:
        self._cited += 1
        delta = self._citation(citation)
        return [] if delta is None else [self._delta_frame(delta)]

    def _opening(self, part: Wire) -> Frame:
        self._begun = True
        return json_frame(*self._step(self.frames[0], self._start_of(part)))

    def _delta_frame(self, delta: Wire) -> Frame:
        self._begun = True
        return json_frame(*self._step(self.frames[1], {"delta": delta}))

    def _end(self, open_block: OpenBlock, block: Any) -> list[Frame]:
        """Writes everything without deltas, and the end. The kind of a block may be unknown until
        then."""
        kind = KINDS.get(type(block))
        frames: list[Frame] = []
        if open_block.kind != kind and not (open_block.length or self._begun):
            frames += self._open(
                open_block.index, block if kind is None else block.replace(text="")
            )
            open_block = self._current or open_block
        if open_block.kind is None:
            frames += self._whole(block)
        elif open_block.kind == kind:
            frames += self._rest(open_block, block, kind)
        return frames + self._close(open_block)

    def _rest(self, open_block: OpenBlock, block: Any, kind: int) -> list[Frame]:
        frames = self._write_text(open_block, block.text[open_block.length :])
        for citation in getattr(block, "citations", ())[self._cited :]:
            frames += self._cite(citation)
        signature = block.signature if kind == THINKING else None
        if signature or (open_block.length and signature is not None):
            frames.append(self._delta_frame(self._signature(signature)))
        return frames

    def _end_call(self, open_block: OpenBlock, event: ev.ToolUseEnd) -> list[Frame]:
        frames: list[Frame] = []
        if open_block.kind is None and open_block.start is not None:
            part = self._part(call_of(open_block.start, event).replace(input={}))
            if part is not None:
                open_block = self._open_as(open_block.index, INPUT)
                frames.append(self._opening(part))
        if not open_block.length:
            frames += self._write_text(open_block, encode(event.input).decode())
        return frames + self._close(open_block)

    def _close(self, open_block: OpenBlock) -> list[Frame]:
        self._current = None
        if not (open_block.length or self._begun):
            return []
        frame = json_frame(*self._step(self.frames[2], {}))
        self._count += 1
        return [frame]

    @abstractmethod
    def _part(self, block: Block) -> Wire | None:
        """The block as a whole answer has it; None where it has no place."""

    @abstractmethod
    def _step(self, name: str, keys: Wire) -> tuple[str, Wire]:
        """The name and the JSON of a frame of the open block."""

    @abstractmethod
    def _start_of(self, part: Wire) -> Wire:
        """The members of a part's start."""

    @abstractmethod
    def _whole(self, block: Block) -> list[Frame]:
        """A block that has no pieces."""

    @abstractmethod
    def _citation(self, citation: Citation) -> Wire | None:
        """Its delta; None if it has no equivalent."""

    @abstractmethod
    def _signature(self, signature: str) -> Wire:
        """The delta of a signature."""
