"""Streams: one JSON object a line. A block begins with its first piece and ends where another
begins.

If text and thinking alternate, every run is a block of its own, although the whole answer has one
of each."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.errors import at_path, read_whole
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import (
    UNREADABLE,
    Blocks,
    MessageReader,
    end_of_block,
    failed,
    json_of,
    start_of_block,
)
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    THINKING,
    OpenBlock,
    PieceWriter,
    json_frame,
)
from interlingua.dialects.kernel.turns import read_calls
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.ollama.messages import is_empty, read_call, usual_wire, write_parts
from interlingua.dialects.ollama.response import (
    error_of,
    read_answer,
    read_usage,
    reason_of,
    write_response,
)
from interlingua.dialects.ollama.tables import DEFAULT_MODEL, DEFAULT_TIME, NAME
from interlingua.model import events as ev
from interlingua.model.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import MANY, Frame, thin

WHAT = f"{NAME} stream"

# -- the answer of a stream
# -------------------------------------------------------------------------

_MANY = 1000
_FIRST_INDEXES: dict[type[Block], int] = {
    ThinkingBlock: 0,
    TextBlock: _MANY,
    ImageBlock: 2 * _MANY,
    ToolUseBlock: 3 * _MANY,
}
"""The first indexes of each kind."""


class Run:
    """A block under assembly: neighbouring pieces of one kind."""

    __slots__ = ("event", "index", "kind", "pieces", "wire")

    def __init__(self, index: int, kind: type[TextBlock | ThinkingBlock], wire: Wire) -> None:
        self.index = index
        self.kind = kind
        self.event: Any = ev.TextDelta if kind is TextBlock else ev.ThinkingDelta
        self.pieces: list[str] = []
        self.wire = wire
        """Members of the lines beside their blocks."""


class ResponseBuilder(Blocks):
    """The message of a stream so far: assembled like the body of a whole answer, and read as such.
    Its blocks have the order of a whole answer: thinking, text, images, calls; those of one kind in
    the order of arrival."""

    def __init__(self, first: Wire) -> None:
        super().__init__()
        self.wire: Wire = {}
        self.run: Run | None = None
        self._next_indexes = dict(_FIRST_INDEXES)
        self._message: Wire | None = None
        self._streamed: set[str] = set()
        """Keys of the message that blocks hold."""
        self._logprobs: list[Any] = []
        self._calls = 0
        self._time = first.get("created_at")
        self._made_ids = False

    # -- blocks -----------------------------------------------------------------------------------

    def close(self) -> list[Event]:
        """The end of the run, if there is one."""
        run, self.run = self.run, None
        if run is None:
            return []
        block = self._blocks[run.index] = run.kind("".join(run.pieces))
        return [ev.BlockEnd(run.index, block)]

    def read_block(self, block: Block) -> list[Event]:
        """A piece of text or thinking; everything else arrives whole."""
        if isinstance(block, TextBlock | ThinkingBlock):
            return self._read_piece(block)
        events, index = self.close(), self._next_index(type(block))
        self._blocks[index] = block
        events.append(start_of_block(index, block))
        if type(block) is ToolUseBlock:
            text = block.raw_arguments
            text = encode(block.input).decode() if text is None else text
            events.append(ev.ToolUseInputDelta(index, text))
        return [*events, end_of_block(index, block)]

    def _read_piece(self, block: TextBlock | ThinkingBlock) -> list[Event]:
        run, events = self.run, []
        if run is None or run.kind is not type(block):
            events = self.close()
            run = self.run = Run(self._next_index(type(block)), type(block), self.wire)
            events.append(ev.BlockStart(run.index, run.kind("")))
        run.pieces.append(block.text)
        return [*events, run.event(run.index, block.text)]

    def _next_index(self, kind: type[Block]) -> int:
        """The next index for a block of this kind."""
        band = kind if kind in _FIRST_INDEXES else ToolUseBlock
        if self._next_indexes[band] - _FIRST_INDEXES[band] >= _MANY:
            band = ToolUseBlock  # the last kind has no end
        self._next_indexes[band] += 1
        return self._next_indexes[band] - 1

    def read_calls(self, listed: list[Any]) -> list[Block]:
        """The calls of a line. A missing id is made from the first line."""
        origin = self._time if type(self._time) is str else 0
        calls = read_calls(listed, read_call, origin, self._calls, self._found)
        self._calls += len(calls)
        self._made_ids = self._made_ids or not all(each.get("id") for each in listed)
        return calls

    # -- members beside them
    # --------------------------------------------------------------------------

    def add(self, line: Wire) -> None:
        """The members of a line beside its blocks. A null does not erase an earlier value."""
        for key, value in line.items():
            if key == "logprobs" and type(value) is list:
                self._logprobs += value
                self.wire[key] = self._logprobs
            elif key not in self.wire or (key != "message" and value is not None):
                self.wire[key] = value
        if type(line.get("message")) is dict:
            self._add_message(line["message"])

    def _add_message(self, update: Wire) -> None:
        message = self._message = self._message or {}
        for key, value in update.items():
            if key == "content":
                message[key] = "" if type(value) is str else message.get(key)
            elif key in ("thinking", "images", "tool_calls"):
                if value:
                    self._streamed.add(key)
                message.setdefault(key, value)
            elif value is not None or key not in message:
                message[key] = value

    def is_usual(self) -> bool:
        """Whether a plain line adds nothing but its piece, and its time."""
        message = self._message or {}
        usual = message.get("role") == "assistant" and message.get("content") == ""
        return usual and self.wire.get("done") is False

    def reason(self, word: Any) -> StopReason | None:
        return reason_of(word, self.blocks)

    def response(self) -> Response:
        """The response as if the whole answer was read. Its time is that of its last line, unless
        ids were made from another one."""
        wire = dict(self.wire)
        if self._message is not None:
            wire["message"] = {k: v for k, v in self._message.items() if k not in self._streamed}
        if self._made_ids:
            wire["created_at"] = self._time
            if self._time is None:
                del wire["created_at"]
        response = read_answer(wire)
        message, metadata = response.message, response.message.metadata
        changes: Wire = {}
        if metadata.raw_stop_reason is not None:
            changes["stop_reason"] = self.reason(metadata.raw_stop_reason)
        if self._found:
            changes["diagnostics"] = (*self._found, *metadata.diagnostics)
        if changes:
            metadata = metadata.replace(**changes)
        return response.replace(message=message.replace(content=self.blocks, metadata=metadata))

    def partial(self, error: ProviderError) -> Message:
        """The partial message when the stream fails."""
        self.close()
        return failed(self.response().message, error)


# -- reading --------------------------------------------------------------------------------------


class _PlainMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: str
    thinking: str | msgspec.UnsetType = msgspec.UNSET


class _PlainLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The line that there are most of, with nothing unusual in it."""

    model: str
    created_at: str
    message: _PlainMessage
    done: bool


_decode_plain = msgspec.json.Decoder(_PlainLine).decode


class StreamReader(MessageReader[ResponseBuilder]):
    """One stream of the chat. A message that begins after the end of another is read as well."""

    def __init__(self) -> None:
        super().__init__()
        self._model: str | None = None
        self._run: Run | None = None

    def feed(self, frame: Frame) -> list[Event]:
        run = self._run
        if run is None:
            return self._feed(frame)
        try:
            line = _decode_plain(frame.data)
        except UNREADABLE:
            return self._feed(frame)
        message = line.message
        text, thought = message.content, message.thinking
        if run.kind is ThinkingBlock and not text and type(thought) is str:
            text = thought
        elif run.kind is ThinkingBlock or thought is not msgspec.UNSET:
            text = ""
        if not text or line.done or line.model != self._model or message.role != "assistant":
            return self._feed(frame)
        pieces = run.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        run.wire["created_at"] = line.created_at
        return [run.event(run.index, text)]

    # -- lines ------------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._failed:
            return []
        wire = json_of(frame, WHAT)
        if self._is_over() and not (type(wire) is dict and wire.get("done") is False):
            return []  # nothing comes after the end but another message
        events = read_whole(WHAT, self._line, wire) if type(wire) is dict else []
        return events or [ev.Other()]

    def _line(self, wire: Wire) -> list[Event]:
        if "message" not in wire and "done" not in wire:
            return [self._break_off(error_of(wire))] if "error" in wire else []
        message = wire.get("message")
        calls = message.get("tool_calls") if type(message) is dict else None
        rest = wire
        if type(calls) is list and calls:  # they are counted over all lines
            rest = {**wire, "message": {k: v for k, v in message.items() if k != "tool_calls"}}  # type: ignore[union-attr]  # it has calls
        response = read_answer(rest)
        answer = self._answer or ResponseBuilder(wire)
        blocks = list(response.message.content)
        if rest is not wire:
            blocks += at_path(".message", answer.read_calls, calls or [])
        events = self._begin(answer, response)
        answer.add(wire)
        for block in blocks:
            events += answer.read_block(block)
        events += self._end(answer, response, wire.get("done") is True)
        self._run = answer.run if answer.is_usual() else None
        return events

    def _begin(self, answer: ResponseBuilder, response: Response) -> list[Event]:
        if self._answer is not None:
            return []
        self._answer = answer
        self._model = response.message.metadata.response_model
        return [ev.MessageStart(self._model)]

    def _end(self, answer: ResponseBuilder, response: Response, done: bool) -> list[Event]:
        metadata = response.message.metadata
        events = answer.close() if done else []
        if (word := metadata.raw_stop_reason) is not None:
            events.append(ev.Stop(answer.reason(word), word))
        if metadata.usage is not None and (usage := read_usage(answer.wire, [])) is not None:
            events.append(ev.UsageUpdate(usage))
        if done:
            self._answer, self._complete = None, True
            events.append(ev.MessageComplete(answer.response()))
        return events

    def _break_off(self, error: ProviderError) -> ev.StreamError:
        self._run = None
        return super()._break_off(error)


# -- writing events of other dialects, one block after the other
# ------------------------------------

_PIECES: tuple[Wire, ...] = (
    {"role": "assistant", "content": PIECE},
    {"role": "assistant", "content": "", "thinking": PIECE},
)
_PARTS = frozenset({"content", "thinking", "images", "tool_calls"})


class ForeignWriter(PieceWriter):
    """Writes the frames for events of other dialects. One block is open at a time; events of
    other blocks are queued. Usage and stop reason are written at the end, and losses are counted
    there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._line: Wire = {}
        self._last: int | None = None
        self._silent = True

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        """The first line is the first with content, or the last."""
        model = DEFAULT_MODEL if model is None else model
        self._line = {"model": model, "created_at": DEFAULT_TIME}
        return []

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        message = wire.get("message") or {"role": "assistant"}
        if not self._silent:
            message = {key: item for key, item in message.items() if key not in _PARTS}
        last = {**self._line, **wire, "message": {"content": "", **message}, "done": True}
        if response.message.metadata.response_model is None:
            last["model"] = self._line["model"]
        return [json_frame(None, last)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return json_frame(None, write_response(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, partial.role, recorder, is_answer=True)

    # -- blocks -----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = KINDS.get(type(block))
        if kind is None:
            self._current = OpenBlock(index)
            return []
        # Thoughts that follow each other are one here; so are texts, which go on without a gap.
        before = "\n" if kind == self._last == THINKING else ""
        self._current = OpenBlock(index, kind, before)
        return self._write_text(self._current, block.text)

    def _first(self, open_block: OpenBlock, text: str) -> list[Frame]:
        if open_block.kind is None:
            return []
        open_block.length += len(text)
        open_block.spell_as(None, self._line_of(_PIECES[open_block.kind]))
        self._last, self._silent = open_block.kind, False
        return [self._frame(open_block, open_block.before + text)]

    def _line_of(self, message: Wire) -> Wire:
        return {**self._line, "message": message, "done": False}

    def _end(self, open_block: OpenBlock, block: Any) -> list[Frame]:
        """The rest that was not streamed in pieces."""
        if not open_block.length and open_block.kind != KINDS.get(type(block)):
            self._open(open_block.index, block.replace(text="") if type(block) in KINDS else block)
            open_block = self._current or open_block
        self._current = None
        if open_block.kind is None:
            return self._whole(block)
        if type(block) in KINDS:
            return self._write_text(open_block, block.text[open_block.length :])
        return []

    def _whole(self, block: Block) -> list[Frame]:
        parts = write_parts((block,), Role.ASSISTANT, QUIET, is_answer=True)
        if is_empty(parts):
            return []
        self._last, self._silent = None, False
        return [json_frame(None, self._line_of(usual_wire(parts)))]


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the chat."""

    name, foreign_writer = NAME, ForeignWriter
