"""A candidate while a stream tells it. It is put together as the wire would have it whole, and read
as such, so that both ways give the same value.

Neighbouring texts of one kind are one block. A block of its own is a text that comes with its
signature (a signed part is not joined with an unsigned one), with anything that only this wire
knows, or right after another text in the same frame. A signature that comes by itself belongs to
the text that it ends."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from interlingua.dialects.base import Wire, encode
from interlingua.dialects.gemini.content import read_part
from interlingua.dialects.gemini.contents import take_some
from interlingua.dialects.gemini.response import (
    calls_of,
    read_response,
    stop_reason,
    take_candidate_content,
    take_finish,
)
from interlingua.dialects.gemini.spelling import SNAKE, Place, Taking, mine
from interlingua.dialects.gemini.stream_calls import PiecedCall, begins, goes_on
from interlingua.dialects.gemini.stream_merge import merge
from interlingua.dialects.gemini.turn import Calls
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    FrameMark,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.message import Message

Text = TextBlock | ThinkingBlock

_SIGNATURES = ("thoughtSignature", SNAKE["thoughtSignature"])
_METADATA = ("groundingMetadata", "citationMetadata")
_CITING = tuple(key for name in _METADATA for key in (name, SNAKE[name]))
_CONTENT = frozenset({"content"})
_PARTS = frozenset({"parts"})


class Run:
    """A text that may still grow. Nothing is added to a sealed one."""

    __slots__ = ("event", "index", "kind", "part", "pieces", "sealed", "thought")

    def __init__(self, index: int, part: Wire, block: Text) -> None:
        self.index = index
        self.part = part
        self.kind = type(block)
        self.event: Any = TextDelta if self.kind is TextBlock else ThinkingDelta
        self.thought = UNSET if self.kind is TextBlock else True
        self.pieces: list[str] = []
        self.sealed = False

    def settle(self) -> None:
        """All of the text so far into the part."""
        if self.pieces:
            self.part["text"] = "".join((self.part["text"], *self.pieces))
            self.pieces.clear()


class Candidate:
    """One of the answers of a stream, so far."""

    def __init__(self, choice: int, origin: Any) -> None:
        self.choice = choice
        self.run: Run | None = None
        self.finished = False
        self._calls = calls_of(origin, choice)
        self._client_calls: list[Block] = []
        self._pieced: PiecedCall | None = None
        self._count = 0
        self._wire: Wire = {}
        self._content: Wire | None = None
        self._parts: list[Wire] = []
        self._begin_frame(FrameMark(0))

    def _begin_frame(self, mark: FrameMark) -> None:
        self._mark: FrameMark | None = mark
        self._events: list[Event] = []
        self._notes: Wire = {}
        self._begun: list[int] = []
        self._said = 0
        self._before: type[Block] | None = None

    # -- frames -----------------------------------------------------------------------------------

    def tell(self, wire: Wire, candidate: Taking, mark: FrameMark) -> list[Event]:
        """The events of a frame; what they do not say is left in `candidate`."""
        self._begin_frame(mark)
        content = take_candidate_content(candidate)
        if content is not None:
            parts = take_some(content)
            for at, part in enumerate(parts):
                self._tell_part(part, ((content.place, "parts"), at))
            candidate.absorb("content", content)
            self._keep_content(wire["content"])
            if parts:
                self.finished = False
        merge(self._wire, wire, _CONTENT)
        word = take_finish(candidate)
        if word is not None:
            self.finished = True
            reason = stop_reason(word, self._client_calls)
            self._events.append(Stop(reason, word, choice=self.choice, frame=mark))
        notes = {"choice": self.choice, "parts": self._notes, "pieces": self._begun}
        candidate.form.update({name: note for name, note in notes.items() if note})
        return self._events

    def _keep_content(self, content: Wire) -> None:
        if self._content is None:
            self._content = {}
        merge(self._content, content, _PARTS)
        if content.get("parts") is not None:
            self._content["parts"] = self._parts

    def _tell_part(self, part: Any, place: Place) -> None:
        if type(part) is dict and self._tell_piece(part, place):
            return
        blocks = read_part(part, place, self._calls)
        if len(blocks) == 1 and isinstance(blocks[0], Text):
            self._tell_text(part, blocks[0])
            self._before = type(blocks[0])
            return
        self._close()
        self._parts.append(part)
        for block in blocks:
            self._tell_block(block)
        self._before = None

    def _tell_block(self, block: Block) -> None:
        index, choice, mark = self._open(), self.choice, self._mark
        self._said += 1
        if type(block) is ToolUseBlock:
            if block.executor == "client":
                self._client_calls = [block]
            self._start_call(block, index)
            self._end_call(block, index)
            return
        self._events += [
            BlockStart(index, block, choice=choice, frame=mark),
            BlockEnd(index, block, choice=choice, frame=mark),
        ]

    def _open(self) -> int:
        self._count += 1
        return self._count - 1

    # -- texts ------------------------------------------------------------------------------------

    def _tell_text(self, part: Wire, block: Text) -> None:
        run, whole = self.run, bool(mine(block.raw)[0])
        if (
            run is None
            or run.kind is not type(block)
            or run.sealed
            or whole
            or self._before is run.kind
            or (block.text and block.signature)
        ):
            if not (block.text or block.signature or whole):
                self._notes[str(self._said)] = {"part": part}  # which opens no block
                self._said += 1
                return
            self._close()
            run = self._start_run(part, block)
        if block.text or block.signature is None:
            run.pieces.append(block.text)
            self._add(run.event(run.index, block.text, choice=self.choice, frame=self._mark))
        if block.signature is not None:
            name = next(key for key in _SIGNATURES if part.get(key) is not None)
            run.part[name] = block.signature
            self._add(
                BlockDelta(
                    run.index, "signature", block.signature, choice=self.choice, frame=self._mark
                )
            )
        run.sealed = whole or bool(block.signature)
        if block.raw is not None:
            self._notes[str(self._said)] = {"raw": block.raw}
        self._said += 1

    def _start_run(self, part: Wire, block: Text) -> Run:
        run = self.run = Run(self._open(), {**part, "text": ""}, block)
        self._parts.append(run.part)
        start = type(block)("", raw=block.raw)
        self._add(BlockStart(run.index, start, choice=self.choice, frame=self._mark))
        return run

    def _add(self, event: Event) -> None:
        self._events.append(event)

    def _close(self) -> None:
        """The end of a text, since something else begins."""
        run, self.run = self.run, None
        if run is None:
            return
        run.settle()
        block = read_part(run.part, None, Calls())[0]
        if any(self._wire.get(key) for key in _CITING):
            block = read_response({"candidates": [self.whole()]}).message.content[run.index]
        self._add(BlockEnd(run.index, block, choice=self.choice, frame=self._mark))

    # -- calls that come in pieces ----------------------------------------------------------------

    def _tell_piece(self, part: Wire, place: Place) -> bool:
        """Whether it was a piece of a call, and not a whole one."""
        call = begins(part)
        if call is None or (self._pieced is None and not goes_on(call)):
            return False
        if self._pieced is not None and "name" in call:
            self._end_pieced()
            if not goes_on(call):
                return False
        self._notes[str(self._said)] = {"part": part}
        self._said += 1
        if self._pieced is None:
            self._start_pieced(part, call, place)
        assert self._pieced is not None
        self._pieced.add(call)
        if not goes_on(call):
            self._end_pieced()
        return True

    def _start_pieced(self, part: Wire, call: Wire, place: Place) -> None:
        self._close()
        index = self._open()
        begun = {**part, "functionCall": {key: call[key] for key in ("id", "name") if key in call}}
        begun["functionCall"]["args"] = {}
        block = read_part(begun, place, self._calls)[0]
        assert isinstance(block, ToolUseBlock)
        self._parts.append(begun)
        self._client_calls = [block]
        self._pieced = PiecedCall(index, block, begun)
        self._begun.append(index)
        self._start_call(block, index)

    def _end_pieced(self) -> None:
        pieced, self._pieced = self._pieced, None
        if pieced is not None:
            self._end_call(pieced.finish(), pieced.index)

    def _start_call(self, block: ToolUseBlock, index: int) -> None:
        start = ToolUseStart(
            index,
            block.id,
            block.name,
            block.executor,
            raw=block.raw,
            choice=self.choice,
            frame=self._mark,
        )
        self._events.append(start)

    def _end_call(self, block: ToolUseBlock, index: int) -> None:
        choice, mark, text = self.choice, self._mark, encode(block.input).decode()
        more = (None, block.signature, block.raw)
        self._events += [
            ToolUseInputDelta(index, text, choice=choice, frame=mark),
            ToolUseEnd(index, block.input, *more, choice=choice, frame=mark),
        ]

    # -- the whole --------------------------------------------------------------------------------

    def whole(self) -> Wire:
        """All of it as a whole response has it."""
        if self._pieced is not None:
            self._pieced.finish()
        if self.run is not None:
            self.run.settle()
        return self._wire if self._content is None else {**self._wire, "content": self._content}

    def end(self, message: Message) -> list[Event]:
        """The ends of what is still open; `message` is all of it."""
        self._begin_frame(FrameMark(0))
        self._mark = None
        self._end_pieced()
        if self.run is not None:
            block = message.content[self.run.index]
            self._events.append(BlockEnd(self.run.index, block, choice=self.choice))
        return self._events
