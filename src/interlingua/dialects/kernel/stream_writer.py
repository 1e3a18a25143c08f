"""Shared by writers of streams: the choice between the original frames and new ones, blocks that
wait for their turn, spellings of pieces, and the members beside an error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from interlingua.dialects.kernel import stream_home
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_home import FrameWriter, Steps
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.model.blocks import Block, CompactionBlock, RefusalBlock, TextBlock, ThinkingBlock
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
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason
from interlingua.model.reasons import because
from interlingua.streams.frames import Frame

FAILED = Message(Role.ASSISTANT, metadata=MessageMetadata(stop_reason=StopReason.ERROR))
"""Members beside an error if there is no message."""
NO_TURN = because("stream_cut")
_QUIET = quiet("stream")


def beside_error(event: StreamError, name: str, report: Report) -> tuple[Message, LossRecorder]:
    """An empty message to write with an error, and its recorder, which reports paths in the message
    that broke off."""
    partial = event.partial
    blank = FAILED if partial is None else partial.replace(content=())
    recorder = LossRecorder(name, Response(partial or blank, error=event.error), report)
    if partial is not None:
        recorder.alias(blank, partial)
    return blank, recorder


class StreamWriter:
    """A stream's writer. Its first event shows whether this is a stream of the same dialect on
    its way home; marks of other dialects are ignored. A dialect defines its name and the writer
    for events of others; the way home is the same for all."""

    name: ClassVar[str]
    foreign_writer: ClassVar[type[ForeignWriter]]

    def __init__(self) -> None:
        self.report = Report(self.name)
        self.source: str | None = None
        """The dialect of the stream; the marks of events have it, if there are any.
        """
        self._writer: FrameWriter | None = None
        self.steps: Steps = {}
        """The handlers of events, once the first one has come."""

    def feed(self, event: Event) -> list[Frame]:
        if self._writer is None:
            self._choose(event)
        try:
            step = self.steps[type(event)]
        except KeyError:
            # an event of a type that writers do not know, as a later version may add
            self.report.add("dropped", "$", because("event_unsupported", event=event.type))
            return []
        return step(event)

    def close(self) -> list[Frame]:
        return [] if self._writer is None else self._writer.close()

    def piece_block(self, event: Any) -> OpenBlock | None:
        """The open block of a piece, if `piece_frame` writes all of it."""
        writer = self._writer
        return writer.piece_block(event) if isinstance(writer, ForeignWriter) else None

    def _choose(self, event: Event) -> None:
        mark = event.frame
        if mark is not None and mark.rest:
            self.source = next(iter(mark.rest))
        if stream_home.is_marked(mark, self.name):
            foreign_report = Report(self.name)
            others = self._abroad(foreign_report)
            steps = with_summaries(others.steps, self._keeps)
            self._writer = stream_home.Home(self.name, others, steps, foreign_report, self.report)
            self.steps = self._writer.steps
        else:
            self._writer = self._abroad(self.report)
            self.steps = with_summaries(self._writer.steps, self._keeps)

    def _keeps(self, block: CompactionBlock) -> bool:
        """Whether the wire has a place for compacted history of this kind."""
        return False

    def _abroad(self, report: Report) -> FrameWriter:
        """A writer of events from other dialects."""
        return self.foreign_writer(self.name, report)


def with_summaries(steps: Steps, keeps: Callable[[CompactionBlock], bool]) -> Steps:
    """The steps of a wire on which compacted history becomes text, once it is known."""
    held: set[tuple[int, int]] = set()
    start, delta, end = steps[BlockStart], steps[BlockDelta], steps[BlockEnd]

    def begin(event: BlockStart) -> list[Frame]:
        if type(event.block) is not CompactionBlock:
            return start(event)
        held.add((event.choice, event.index))
        return []

    def go_on(event: BlockDelta) -> list[Frame]:
        return [] if (event.choice, event.index) in held else delta(event)

    def finish(event: BlockEnd) -> list[Frame]:
        block, choice = event.block, event.choice
        if type(block) is not CompactionBlock:
            return end(event)
        held.discard((choice, event.index))
        if keeps(block):
            return [*start(BlockStart(event.index, block, choice=choice)), *end(event)]
        text = compaction_as_text(block, _QUIET)
        if text is None:
            return []
        return [
            *start(BlockStart(event.index, text.replace(text=""), choice=choice)),
            *steps[TextDelta](TextDelta(event.index, text.text, choice=choice)),
            *end(BlockEnd(event.index, text, choice=choice)),
        ]

    return {**steps, BlockStart: begin, BlockDelta: go_on, BlockEnd: finish}


class ForeignWriter(ABC):
    """Writes a stream of another dialect. Usage and stop reasons are written at the end."""

    def __init__(self, name: str, report: Report) -> None:
        self._name = name
        self._report = report
        self._failed = False
        self.steps: Steps = {
            **dict.fromkeys((BlockStart, BlockDelta, BlockEnd), self._block),
            **dict.fromkeys((ToolUseStart, ToolUseEnd), self._block),
            **dict.fromkeys((TextDelta, ThinkingDelta, ToolUseInputDelta), self._piece),
            **dict.fromkeys((Stop, UsageUpdate, Other), self._nothing),
            MessageStart: self._start,
            MessageComplete: self._complete,
            StreamError: self._fail,
        }

    def close(self) -> list[Frame]:
        return []

    def piece_block(self, event: Any) -> OpenBlock | None:
        """Like `StreamWriter.piece_block`."""
        return None

    def _nothing(self, event: Event) -> list[Frame]:
        return []

    @abstractmethod
    def _block(self, event: Any) -> list[Frame]:
        """Handles every event of a block."""

    @abstractmethod
    def _piece(self, event: Any) -> list[Frame]: ...

    @abstractmethod
    def _start(self, event: MessageStart) -> list[Frame]: ...

    @abstractmethod
    def _complete(self, event: MessageComplete) -> list[Frame]: ...

    @abstractmethod
    def _fail(self, event: StreamError) -> list[Frame]: ...


# -- blocks, one after the other ------------------------------------------------------------------

PIECE = "\ufffc\u0000a piece\u0000\ufffc"
"""A placeholder for a piece in the JSON of a frame."""
encode_text = msgspec.json.Encoder().encode
_CUT = encode_text(PIECE).decode()


def json_frame(name: str | None, wire: Wire) -> Frame:
    """A frame of this name."""
    return Frame(name, encode(wire).decode())


def before_pieces(block: Any) -> Any:
    """The block before any piece of it was written."""
    return block.replace(
        **{k: v for k, v in _STREAMED_FIELDS.items() if k in block.__struct_fields__}
    )


_STREAMED_FIELDS: dict[str, Any] = {"text": "", "citations": (), "signature": None}


TEXT, THINKING = 0, 1
KINDS: dict[type[Block], int] = {TextBlock: TEXT, RefusalBlock: TEXT, ThinkingBlock: THINKING}
"""Blocks that most wires stream in pieces, and the kind of pieces. All others come whole."""


class OpenBlock:
    """A block being written: how its pieces are spelled, and how much of it is out. (A struct
    would take longer to count.)"""

    __slots__ = ("before", "cuts", "index", "kind", "length", "name", "start")

    def __init__(
        self,
        index: int,
        kind: int | None = None,
        before: str = "",
        start: ToolUseStart | None = None,
    ) -> None:
        self.index = index
        self.kind = kind
        """The kind of pieces, for blocks that are streamed in pieces."""
        self.before = before
        """Text before the first piece."""
        self.start = start
        """For a call: its start event."""
        self.name: str | None = None
        self.cuts: list[str] | None = None
        """The JSON of a piece's frame, split at the piece, once pieces can be written; and the name
        of the frame."""
        self.length = 0

    def spell_as(self, name: str | None, wire: Wire) -> None:
        """Sets the frame of a piece: its name and its JSON, with `PIECE` in place of the piece."""
        self.name, self.cuts = name, encode(wire).decode().split(_CUT)


def piece_frame(open_block: OpenBlock, text: str) -> Frame:
    """The frame of a piece. Streams are mostly these, so it is built the fastest way."""
    data = encode_text(text).decode().join(open_block.cuts)  # type: ignore[arg-type]  # it has pieces
    return tuple.__new__(Frame, (open_block.name, data))


S = TypeVar("S", bound=OpenBlock)


class BlockQueue(ABC, Generic[S]):
    """Writes blocks as starts, pieces and ends, one after the other: events of other blocks are
    queued while one is open. Pieces go out at once."""

    announces_blocks = False
    """Whether a block that is streamed in pieces writes a frame before the first of them."""

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._waiting: dict[int, list[Event]] = {}
        self._seen: set[int] = set()
        self._current: S | None = None

    def push(self, event: Any) -> list[Frame]:
        """Handles every event of a block."""
        open_block = self._current
        self._seen.add(event.index)
        if open_block is not None and open_block.index != event.index:
            self._waiting.setdefault(event.index, []).append(event)
            return []
        return [*self._emit(event), *self._go_on()]

    def _go_on(self) -> list[Frame]:
        """Continue with the waiting blocks, until one of them is still open."""
        frames: list[Frame] = []
        while self._current is None and self._waiting:
            for event in self._waiting.pop(min(self._waiting)):
                frames += self._emit(event)
        return frames

    def _emit(self, event: Any) -> list[Frame]:
        """The frames of an event of the open block, or of one that opens."""
        open_block = self._current
        match event:
            case BlockStart():
                return self._open(event.index, event.block)
            case ToolUseStart():
                return self._open_call(event)
            case BlockEnd() if open_block is not None:
                return self._end(open_block, event.block)
            case BlockEnd():
                return [*self._open(event.index, event.block), *self._emit(event)]
            case ToolUseEnd() if open_block is not None:
                return self._end_call(open_block, event)
            case TextDelta(text="") | ThinkingDelta(text="") if open_block is None:
                return []
            case TextDelta() if open_block is None:
                return [*self._open(event.index, TextBlock("")), *self._emit(event)]
            case ThinkingDelta() if open_block is None:
                return [*self._open(event.index, ThinkingBlock("")), *self._emit(event)]
            case BlockDelta(field="text", value=str(text)) if open_block is not None:
                return self._write_text(open_block, text)
            case BlockDelta() if open_block is not None:
                return self._delta(open_block, event)
            case TextDelta() | ThinkingDelta() | ToolUseInputDelta() if open_block is not None:
                return self._write_text(open_block, event.text)
            case _:
                return []

    def _write_text(self, open_block: S, text: str) -> list[Frame]:
        if not text:
            return []
        if open_block.cuts is None:
            return self._first(open_block, text)
        open_block.length += len(text)
        return [self._frame(open_block, text)]

    def _first(self, open_block: S, text: str) -> list[Frame]:
        """The first piece of a block whose pieces have no spelling yet."""
        return []

    def _frame(self, open_block: S, text: str) -> Frame:
        """`piece_frame` without another call: there are more of these than of anything else."""
        data = encode_text(text).decode().join(open_block.cuts)  # type: ignore[arg-type]  # it has pieces
        return tuple.__new__(Frame, (open_block.name, data))

    def close_all(self) -> list[Frame]:
        """The ends of the open block, and of all that wait."""
        frames: list[Frame] = []
        while self._current is not None:
            frames += [*self._close(self._current), *self._go_on()]
        return frames

    def _close(self, open_block: S) -> list[Frame]:
        """A block without an end is complete with its pieces."""
        self._current = None
        return []

    def _delta(self, open_block: S, event: BlockDelta) -> list[Frame]:
        """The frames of a delta of anything but the text."""
        return []

    def _open_call(self, event: ToolUseStart) -> list[Frame]:
        """Calls are written when they end; a writer that streams them in pieces opens them
        itself."""
        self._current = OpenBlock(event.index, start=event)  # type: ignore[assignment]  # as above
        return []

    def _end_call(self, open_block: S, event: ToolUseEnd) -> list[Frame]:
        self._current = None
        if open_block.start is None:
            return []
        return self._end(open_block, call_of(open_block.start, event))

    def _with_turns(self, partial: Message) -> list[tuple[Block, bool]]:
        """The blocks of a message that broke off, and whether each had its turn."""
        unwritten = self._unwritten()
        turns = [index not in unwritten for index in sorted(self._seen)]
        if len(turns) != len(partial.content):
            turns = [True] * len(partial.content)
        return list(zip(partial.content, turns, strict=True))

    def _unwritten(self) -> set[int]:
        """The blocks that have not been written at all."""
        block = self._current
        if block is None or (block.kind is not None if self.announces_blocks else block.length):
            return {*self._waiting}
        return {*self._waiting, block.index}

    @abstractmethod
    def _open(self, index: int, block: Any) -> list[Frame]: ...

    @abstractmethod
    def _end(self, open_block: S, block: Any) -> list[Frame]: ...


class InPieces(ForeignWriter, BlockQueue[S]):
    """The same for wires with one answer, from its start to its end. Others may follow it."""

    def __init__(self, name: str, report: Report) -> None:
        super().__init__(name, report)
        self._begin_anew()

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._started = False

    def _block(self, event: Any) -> list[Frame]:
        if event.choice or self._failed:
            return []
        return [*self._start(MessageStart()), *self.push(event)]

    def _piece(self, event: Any) -> list[Frame]:
        block, text = self._current, event.text
        if block is None or block.index != event.index or block.cuts is None or event.choice:
            return self._block(event)
        if not text:
            return []
        block.length += len(text)
        return [self._frame(block, text)]

    def _start(self, event: MessageStart) -> list[Frame]:
        if event.choice or self._started or self._failed:
            return []
        self._begin_anew()
        self._started = True
        return self._begin(event.model, event.response_id)

    def _complete(self, event: MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        response, metadata = event.response, event.response.message.metadata
        frames = self._start(MessageStart(metadata.response_model, metadata.response_id))
        frames += self.close_all()
        frames += self._finish(response, LossRecorder(self._name, response, self._report))
        self._begin_anew()
        return frames

    @abstractmethod
    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        """An answer begins."""

    @abstractmethod
    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        """Writes the rest of a message after its blocks, and its end. Losses are counted here."""


class PieceWriter(InPieces[OpenBlock]):
    """The same for wires whose errors are separate frames."""

    def piece_block(self, event: Any) -> OpenBlock | None:
        block = self._current
        if block is None or block.index != event.index or block.cuts is None or event.choice:
            return None
        return block

    def _fail(self, event: StreamError) -> list[Frame]:
        """Blocks written before the end are no loss; queued ones are, and so is a call that was
        not complete."""
        if self._failed:
            return []
        blank, recorder = beside_error(event, self._name, self._report)
        if event.partial is not None:
            blocks = []
            for block, had_turn in self._with_turns(event.partial):
                if had_turn:
                    blocks.append(block)
                else:
                    recorder.dropped(block, NO_TURN)
            self._account(event.partial.replace(content=tuple(blocks)), recorder)
        self._failed, self._current = True, None
        return [self._failure(Response(blank, error=event.error), recorder)]

    @abstractmethod
    def _failure(self, response: Response, recorder: LossRecorder) -> Frame: ...

    @abstractmethod
    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        """Report the losses of the blocks that were written."""
