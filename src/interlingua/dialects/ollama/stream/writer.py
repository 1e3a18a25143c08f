"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import NO_TURN, InTurn, beside_error
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.ollama.errors import write_error
from interlingua.dialects.ollama.messages import plain_wire, write_parts
from interlingua.dialects.ollama.response import write_response
from interlingua.dialects.ollama.tables import DEFAULT_MODEL, DEFAULT_TIME, NAME
from interlingua.losses import Report
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    FrameMark,
    MessageComplete,
    MessageStart,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.streams.frames import Frame

_TEXT, _THINKING = 0, 1
_KINDS: dict[type[Block], int] = {TextBlock: _TEXT, RefusalBlock: _TEXT, ThinkingBlock: _THINKING}
"""Blocks that are told in pieces. All others come whole."""
_PARTS = frozenset({"content", "thinking", "images", "tool_calls"})
_TAIL = '},"done":false}'
_encode_text = msgspec.json.Encoder().encode


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the chat."""

    def __init__(self) -> None:
        super().__init__(NAME)

    def _abroad(self, report: Report, mark: FrameMark | None) -> Abroad:
        return Abroad(report)


class OpenBlock:
    """A block on its way: how its pieces begin, and how much was said of it."""

    __slots__ = ("before", "head", "index", "kind", "length", "start")

    def __init__(self, index: int, kind: int | None = None, before: str = "") -> None:
        self.index = index
        self.kind = kind
        self.before = before
        """Stands before the first piece."""
        self.head: str | None = None
        """How a piece begins, once there was one."""
        self.length = 0
        self.start: ToolUseStart | None = None


class Abroad(InTurn):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.steps[ToolUseInputDelta] = self._block

    def _begin_anew(self, model: str | None = None) -> None:
        super()._begin_anew()
        self._line: Wire = {
            "model": DEFAULT_MODEL if model is None else model,
            "created_at": DEFAULT_TIME,
        }
        self._heads = _heads(self._line)
        self._started = False
        self._current: OpenBlock | None = None
        self._last: int | None = None
        self._silent = True

    def _piece(self, event: TextDelta | ThinkingDelta) -> list[Frame]:
        said = self._current
        if said is None or said.index != event.index or said.head is None or event.choice:
            return self._block(event)
        text = event.text
        if not text:
            return []
        said.length += len(text)
        return [_say(said.head, text)]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, event: MessageStart) -> list[Frame]:
        """The first line is one that says something, or the last."""
        if not (event.choice or self._started or self._failed):
            self._begin_anew(event.model)
            self._started = True
        return []

    def _complete(self, event: MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        response = event.response
        model = response.message.metadata.response_model
        self._start(MessageStart(model))
        frames: list[Frame] = []
        while self._current is not None:
            self._current = None
            frames += self._go_on()
        wire = write_response(response, LossRecorder(NAME, response, self._report))
        message = wire.get("message") or {"role": "assistant"}
        if not self._silent:
            message = {key: item for key, item in message.items() if key not in _PARTS}
        last = {**self._line, **wire, "message": {"content": "", **message}, "done": True}
        if model is None:
            last["model"] = self._line["model"]
        self._begin_anew()
        return [*frames, _spell(last)]

    def _fail(self, event: StreamError) -> list[Frame]:
        if self._failed:
            return []
        error = event.error
        blank, recorder = beside_error(event, NAME, self._report)
        if event.partial is not None:
            self._report_partial(event.partial, recorder)
        self._failed, self._current = True, None
        return [_spell(write_error(Response(blank, error=error), error, recorder))]

    def _report_partial(self, partial: Message, recorder: LossRecorder) -> None:
        """What was said before the end is no loss; what still waited is, and a call that was not
        whole."""
        said = self._current
        unsaid = set(self._waiting)
        if said is not None and not said.length:
            unsaid.add(said.index)
        told = []
        for block, had_turn in self._with_turns(partial, unsaid):
            if had_turn:
                told.append(block)
            else:
                recorder.dropped(block, NO_TURN)
        write_parts(tuple(told), partial.role, recorder, is_answer=True)

    # -- blocks -----------------------------------------------------------------------------------

    def _turn(self) -> int | None:
        return None if self._current is None else self._current.index

    def _tell(self, event: Any) -> list[Frame]:
        said = self._current
        match event:
            case BlockStart():
                return self._open(event.index, event.block)
            case ToolUseStart():
                said = self._current = OpenBlock(event.index)
                said.start = event
                return []
            case BlockEnd() if said is not None:
                return self._end(said, event.block)
            case ToolUseEnd() if said is not None:
                self._current = None
                return [] if said.start is None else self._whole(call_of(said.start, event))
            case TextDelta(text="") | ThinkingDelta(text=""):
                return []
            case TextDelta() if said is None:
                return [*self._open(event.index, TextBlock("")), *self._tell(event)]
            case ThinkingDelta() if said is None:
                return [*self._open(event.index, ThinkingBlock("")), *self._tell(event)]
            case TextDelta() | ThinkingDelta() if said is not None:
                return self._say(said, event.text)
            case BlockDelta(field="text") if said is not None and type(event.value) is str:
                return self._say(said, event.value)
            case _:
                return []

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = _KINDS.get(type(block))
        if kind is None:
            self._current = OpenBlock(index)
            return []
        # Thoughts that follow each other are one here; so are texts, which go on without a gap.
        before = "\n" if kind == self._last == _THINKING else ""
        said = self._current = OpenBlock(index, kind, before)
        return self._say(said, block.text)

    def _say(self, said: OpenBlock, text: str) -> list[Frame]:
        if said.kind is None or not text:
            return []
        said.length += len(text)
        if said.head is not None:
            return [_say(said.head, text)]
        said.head, self._last, self._silent = self._heads[said.kind], said.kind, False
        return [_say(said.head, said.before + text)]

    def _end(self, said: OpenBlock, block: Any) -> list[Frame]:
        """What was not said in pieces."""
        if not said.length and said.kind != _KINDS.get(type(block)):
            self._open(said.index, block.replace(text="") if type(block) in _KINDS else block)
            said = self._current or said
        self._current = None
        if said.kind is None:
            return self._whole(block)
        return self._say(said, block.text[said.length :]) if type(block) in _KINDS else []

    def _whole(self, block: Block) -> list[Frame]:
        message = _message_of(block)
        if message is None:
            return []
        self._last, self._silent = None, False
        return [_spell({**self._line, "message": message, "done": False})]


def _spell(wire: Wire) -> Frame:
    return Frame(None, encode(wire).decode())


def _heads(line: Wire) -> tuple[str, str]:
    """How the lines begin that say a piece of text, and those that say a piece of thinking."""
    start = encode(line).decode()[:-1] + ',"message":{"role":"assistant",'
    return f'{start}"content":', f'{start}"content":"","thinking":'


def _say(head: str, text: str) -> Frame:
    """A piece of a block: the frame that there are most of, so it is made the fastest way."""
    return tuple.__new__(Frame, (None, f"{head}{_encode_text(text).decode()}{_TAIL}"))


def _message_of(block: Block) -> Wire | None:
    """The message of a line that says this block; None where it has no place."""
    out = plain_wire(write_parts((block,), Role.ASSISTANT, QUIET, is_answer=True))
    return out if out["content"] or len(out) > 2 else None
