"""Reading a stream: frames in, events out.

The wire has no starts and ends: a block begins with its first piece, and ends where something else
begins. Where text and thinking take turns, a stream tells more than a whole answer, which has one
of each: there every run is a block of its own."""

from __future__ import annotations

import msgspec

from interlingua.dialects.kernel.errors import ShapeError, read_whole
from interlingua.dialects.kernel.stream_reader import MessageReader
from interlingua.dialects.kernel.wire import Wire, encode, parse
from interlingua.dialects.ollama.errors import read_error
from interlingua.dialects.ollama.response import read_answer
from interlingua.dialects.ollama.stream.answer import Answer, Run
from interlingua.dialects.ollama.tables import NAME
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.exchange import ProviderError, Response
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"


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
        except (msgspec.DecodeError, UnicodeError, RecursionError):
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
        return events or [Other()]

    def _line(self, wire: Wire) -> list[Event]:
        if "message" not in wire and "done" not in wire:
            return [self._break_off(_error_of(wire))] if "error" in wire else []
        given = wire.get("message")
        calls = given.get("tool_calls") if type(given) is dict else None
        told = wire
        if type(calls) is list and calls:  # they are counted over all lines
            told = {**wire, "message": {k: v for k, v in given.items() if k != "tool_calls"}}  # type: ignore[union-attr]  # it has calls
        response = read_answer(told)
        answer = self._answer or Answer(wire)
        blocks = list(response.message.content)
        if told is not wire:
            try:
                blocks += answer.read_calls(calls or [])
            except ShapeError as error:
                raise error.inside(".message") from None
        events = self._begin(answer, response)
        answer.add(wire)
        for block in blocks:
            events += _tell(answer, block)
        events += self._end(answer, response, wire.get("done") is True)
        self._run = answer.run if answer.is_usual() else None
        return events

    def _begin(self, answer: Answer, response: Response) -> list[Event]:
        if self._answer is not None:
            return []
        self._answer = answer
        self._model = response.message.metadata.response_model
        return [MessageStart(self._model)]

    def _end(self, answer: Answer, response: Response, done: bool) -> list[Event]:
        metadata = response.message.metadata
        events = _close(answer) if done else []
        if (word := metadata.raw_stop_reason) is not None:
            events.append(Stop(answer.reason(word), word))
        if metadata.usage is not None and (usage := answer.usage()) is not None:
            events.append(UsageUpdate(usage))
        if done:
            self._answer, self._complete = None, True
            events.append(MessageComplete(answer.response()))
        return events

    def _break_off(self, error: ProviderError) -> StreamError:
        self._run = None
        return super()._break_off(error)


def _error_of(wire: Wire) -> ProviderError:
    error = read_error(wire).error
    assert error is not None
    return error


def _tell(answer: Answer, block: Block) -> list[Event]:
    """A piece of text or thinking; everything else comes whole."""
    if isinstance(block, TextBlock | ThinkingBlock):
        kind, run, events = type(block), answer.run, []
        if run is None or run.kind is not kind:
            events = _close(answer)
            run = answer.open(kind)
            events.append(BlockStart(run.index, kind("")))
        run.pieces.append(block.text)
        return [*events, run.event(run.index, block.text)]
    events, index = _close(answer), answer.put(block)
    if not isinstance(block, ToolUseBlock):
        return [*events, BlockStart(index, block), BlockEnd(index, block)]
    text = block.raw_arguments
    if text is None:
        text = encode(block.input).decode()
    return [
        *events,
        ToolUseStart(index, block.id, block.name, raw=block.raw),
        ToolUseInputDelta(index, text),
        ToolUseEnd(index, block.input, block.raw_arguments, raw=block.raw),
    ]


def _close(answer: Answer) -> list[Event]:
    index = -1 if answer.run is None else answer.run.index
    block = answer.close()
    return [] if block is None else [BlockEnd(index, block)]
