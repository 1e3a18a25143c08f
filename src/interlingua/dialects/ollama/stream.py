"""Streams of the chat: one JSON object a line. The wire has no starts and ends: a block begins with
its first piece, and ends where something else begins. Where text and thinking take turns, a stream
tells more than a whole answer, which has one of each: there every run is a block of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.errors import below, read_whole
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.messages import read_calls
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import (
    UNREADABLE,
    Blocks,
    MessageReader,
    end_of_block,
    failed,
    start_of_block,
)
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    THINKING,
    OpenBlock,
    PieceWriter,
    spell,
)
from interlingua.dialects.kernel.wire import Wire, encode, parse
from interlingua.dialects.ollama.calls import read_call
from interlingua.dialects.ollama.errors import error_of
from interlingua.dialects.ollama.messages import says_nothing, usual_wire, write_parts
from interlingua.dialects.ollama.response import read_answer, reason_of, write_response
from interlingua.dialects.ollama.tables import DEFAULT_MODEL, DEFAULT_TIME, NAME
from interlingua.dialects.ollama.usage import read_usage
from interlingua.model import events as ev
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.events import Event
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"

# -- an answer while a stream tells it ------------------------------------------------------------

_MANY = 1000
_PLACES: dict[type[Block], int] = {
    ThinkingBlock: 0,
    TextBlock: _MANY,
    ImageBlock: 2 * _MANY,
    ToolUseBlock: 3 * _MANY,
}
"""Where the indexes of each kind begin."""


class Run:
    """A block that is being told: neighbouring pieces of one kind."""

    __slots__ = ("event", "index", "kind", "pieces", "wire")

    def __init__(self, index: int, kind: type[TextBlock | ThinkingBlock], wire: Wire) -> None:
        self.index = index
        self.kind = kind
        self.event: Any = ev.TextDelta if kind is TextBlock else ev.ThinkingDelta
        self.pieces: list[str] = []
        self.wire = wire
        """What the lines say beside their blocks."""


class Answer(Blocks):
    """The message of a stream, so far: it is put together as the wire would have it whole, and read
    as such. Its blocks stand where a whole answer has them: thinking, text, images, calls; those of
    one kind in the order in which they came."""

    def __init__(self, first: Wire) -> None:
        super().__init__()
        self.wire: Wire = {}
        self.run: Run | None = None
        self._places = dict(_PLACES)
        self._message: Wire | None = None
        self._told: set[str] = set()
        """Keys of the message that blocks tell."""
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

    def tell(self, block: Block) -> list[Event]:
        """A piece of text or thinking; everything else comes whole."""
        if isinstance(block, TextBlock | ThinkingBlock):
            return self._tell_piece(block)
        events, index = self.close(), self._place(type(block))
        self._blocks[index] = block
        events.append(start_of_block(index, block))
        if type(block) is ToolUseBlock:
            text = block.raw_arguments
            text = encode(block.input).decode() if text is None else text
            events.append(ev.ToolUseInputDelta(index, text))
        return [*events, end_of_block(index, block)]

    def _tell_piece(self, block: TextBlock | ThinkingBlock) -> list[Event]:
        run, events = self.run, []
        if run is None or run.kind is not type(block):
            events = self.close()
            run = self.run = Run(self._place(type(block)), type(block), self.wire)
            events.append(ev.BlockStart(run.index, run.kind("")))
        run.pieces.append(block.text)
        return [*events, run.event(run.index, block.text)]

    def _place(self, kind: type[Block]) -> int:
        """The next index for a block of this kind."""
        band = kind if kind in _PLACES else ToolUseBlock
        if self._places[band] - _PLACES[band] >= _MANY:
            band = ToolUseBlock  # the last kind has no end
        self._places[band] += 1
        return self._places[band] - 1

    def read_calls(self, listed: list[Any]) -> list[Block]:
        """The calls of a line. An id that has to be made is made of what the first line said."""
        place = self._time if type(self._time) is str else 0
        calls = read_calls(listed, read_call, place, self._calls, self._found)
        self._calls += len(calls)
        self._made_ids = self._made_ids or not all(each.get("id") for each in listed)
        return calls

    # -- what is said beside them -----------------------------------------------------------------

    def add(self, line: Wire) -> None:
        """What a line says beside its blocks. A null does not undo what was said before."""
        for key, value in line.items():
            if key == "logprobs" and type(value) is list:
                self._logprobs += value
                self.wire[key] = self._logprobs
            elif key not in self.wire or (key != "message" and value is not None):
                self.wire[key] = value
        if type(line.get("message")) is dict:
            self._add_message(line["message"])

    def _add_message(self, given: Wire) -> None:
        message = self._message = self._message or {}
        for key, value in given.items():
            if key == "content":
                message[key] = "" if type(value) is str else message.get(key)
            elif key in ("thinking", "images", "tool_calls"):
                if value:
                    self._told.add(key)
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
        """What reading the whole answer gives. Its time is that of its last line, unless it has to
        be the one that ids were made of."""
        wire = dict(self.wire)
        if self._message is not None:
            wire["message"] = {k: v for k, v in self._message.items() if k not in self._told}
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
        """What there is of it when the stream fails."""
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


class StreamReader(MessageReader[Answer]):
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
        said = line.message
        text, thought = said.content, said.thinking
        if run.kind is ThinkingBlock and not text and type(thought) is str:
            text = thought
        elif run.kind is ThinkingBlock or thought is not msgspec.UNSET:
            text = ""
        if not text or line.done or line.model != self._model or said.role != "assistant":
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
        wire = parse(frame.data, WHAT)
        if self._is_over() and not (type(wire) is dict and wire.get("done") is False):
            return []  # nothing comes after the end but another message
        events = read_whole(WHAT, self._line, wire) if type(wire) is dict else []
        return events or [ev.Other()]

    def _line(self, wire: Wire) -> list[Event]:
        if "message" not in wire and "done" not in wire:
            return [self._break_off(error_of(wire))] if "error" in wire else []
        given = wire.get("message")
        calls = given.get("tool_calls") if type(given) is dict else None
        told = wire
        if type(calls) is list and calls:  # they are counted over all lines
            told = {**wire, "message": {k: v for k, v in given.items() if k != "tool_calls"}}  # type: ignore[union-attr]  # it has calls
        response = read_answer(told)
        answer = self._answer or Answer(wire)
        blocks = list(response.message.content)
        if told is not wire:
            blocks += below(".message", answer.read_calls, calls or [])
        events = self._begin(answer, response)
        answer.add(wire)
        for block in blocks:
            events += answer.tell(block)
        events += self._end(answer, response, wire.get("done") is True)
        self._run = answer.run if answer.is_usual() else None
        return events

    def _begin(self, answer: Answer, response: Response) -> list[Event]:
        if self._answer is not None:
            return []
        self._answer = answer
        self._model = response.message.metadata.response_model
        return [ev.MessageStart(self._model)]

    def _end(self, answer: Answer, response: Response, done: bool) -> list[Event]:
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


# -- writing, as this wire wants it, one block after the other ------------------------------------

_PIECES: tuple[Wire, ...] = (
    {"role": "assistant", "content": PIECE},
    {"role": "assistant", "content": "", "thinking": PIECE},
)
_PARTS = frozenset({"content", "thinking", "images", "tool_calls"})


class Abroad(PieceWriter):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._line: Wire = {}
        self._last: int | None = None
        self._silent = True

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        """The first line is one that says something, or the last."""
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
        return [spell(None, last)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return spell(None, write_response(response, recorder))

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
        return self._say(self._current, block.text)

    def _first(self, said: OpenBlock, text: str) -> list[Frame]:
        if said.kind is None:
            return []
        said.length += len(text)
        said.spell_as(None, self._line_of(_PIECES[said.kind]))
        self._last, self._silent = said.kind, False
        return [self._frame(said, said.before + text)]

    def _line_of(self, message: Wire) -> Wire:
        return {**self._line, "message": message, "done": False}

    def _end(self, said: OpenBlock, block: Any) -> list[Frame]:
        """What was not said in pieces."""
        if not said.length and said.kind != KINDS.get(type(block)):
            self._open(said.index, block.replace(text="") if type(block) in KINDS else block)
            said = self._current or said
        self._current = None
        if said.kind is None:
            return self._whole(block)
        return self._say(said, block.text[said.length :]) if type(block) in KINDS else []

    def _whole(self, block: Block) -> list[Frame]:
        parts = write_parts((block,), Role.ASSISTANT, QUIET, is_answer=True)
        if says_nothing(parts):
            return []
        self._last, self._silent = None, False
        return [spell(None, self._line_of(usual_wire(parts)))]


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the chat."""

    name, way = NAME, Abroad
