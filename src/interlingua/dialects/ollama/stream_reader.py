"""Reading a stream: frames in, events out.

The wire has no starts and ends: a block begins with its first piece, and ends where something else
begins. Where text and thinking take turns, a stream tells more than a whole answer, which has one
of each: there every run is a block of its own."""

from __future__ import annotations

import msgspec

from interlingua.dialects.base import Wire, encode, parse
from interlingua.dialects.ollama.response import COUNTS, read_response
from interlingua.dialects.ollama.shape import mine_of
from interlingua.dialects.ollama.stream_parts import Answer, PlainLine, Run
from interlingua.dialects.ollama.tables import NAME
from interlingua.dialects.shape import ShapeError
from interlingua.errors import ReadError
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    FrameMark,
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
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"
BROKEN_OFF = "the stream ended before the message did"

_decode_plain = msgspec.json.Decoder(PlainLine).decode


class StreamReader:
    """One stream of the chat. A message that begins after the end of another is read as well."""

    def __init__(self) -> None:
        self._number = -1
        self._model: str | None = None
        self._answer: Answer | None = None
        self._run: Run | None = None
        self._wire: Wire = {}
        self._complete = False
        self._failed = False

    def feed(self, frame: Frame) -> list[Event]:
        self._number += 1
        run = self._run
        if run is None or frame.event is not None:
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
        time = self._wire["created_at"] = line.created_at
        mark = FrameMark(self._number, {NAME: {"created_at": time}})
        return [run.event(run.index, text, frame=mark)]

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._failed or (self._complete and self._answer is None):
            return []
        return [self._break_off(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))]

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._failed:
            return []
        wire = parse(frame.data, WHAT)
        is_over = self._complete and self._answer is None
        if is_over and not (type(wire) is dict and wire.get("done") is False):
            return []  # nothing comes after the end but another message
        try:
            events = self._line(wire) if type(wire) is dict else []
        except ReadError as odd:
            raise ReadError(WHAT, odd.path, odd.expected, odd.found) from None
        except ShapeError as odd:
            raise odd.error(f"{NAME} stream") from None
        rest = None
        if not events:
            rest = dict(wire) if type(wire) is dict else {"$data": frame.data}
            events = [Other(frame=FrameMark(self._number, {NAME: rest}))]
        if frame.event is not None:
            rest = mine_of(events[0].frame.rest if events[0].frame is not None else None)
            mark = FrameMark(self._number, {NAME: {**rest, "$event": frame.event}})
            events[0] = events[0].replace(frame=mark)
        return events

    def _line(self, wire: Wire) -> list[Event]:
        if "message" not in wire and "done" not in wire:
            return self._error(wire) if "error" in wire else []
        given = wire.get("message")
        calls = given.get("tool_calls") if type(given) is dict else None
        told = wire
        if type(calls) is list and calls:  # they are counted over all lines
            kept = {key: item for key, item in wire["message"].items() if key != "tool_calls"}
            told = {**wire, "message": kept}
        response = read_response(told)
        answer = self._answer or Answer(wire)
        blocks = list(response.message.content)
        if told is not wire and type(calls) is list:
            blocks += answer.read_calls(calls)
        events = self._begin(answer, response)
        answer.add(wire)
        for block in blocks:
            events += self._tell(answer, block)
        events += self._end(answer, response, wire)
        self._run, self._wire = answer.run, answer.wire
        if events:
            events[0] = events[0].replace(frame=self._mark(wire, response, answer, len(events)))
        return events

    def _mark(self, wire: Wire, response: Response, answer: Answer, count: int) -> FrameMark:
        """The mark of a frame's first event: what the line says beyond its events."""
        told = response.message.metadata
        kept = dict(mine_of(response.raw))
        form = dict(kept.pop("$form", ()))
        if told.response_model not in (None, self._model):
            form["model"] = told.response_model
        if told.usage is not None and told.usage != answer.usage():
            form["counts"] = [key for key in COUNTS if wire.get(key) is not None]
        if count > 1:
            form["events"] = count
        if form:
            kept["$form"] = form
        if told.logprobs:
            kept["logprobs"] = list(told.logprobs)
        if told.provider_raw is not None:
            kept["message"] = told.provider_raw[NAME]
        return FrameMark(self._number, {NAME: kept})

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, answer: Answer, response: Response) -> list[Event]:
        if self._answer is not None:
            return []
        self._answer = answer
        self._model = response.message.metadata.response_model
        return [MessageStart(self._model, frame=FrameMark(self._number))]

    def _end(self, answer: Answer, response: Response, wire: Wire) -> list[Event]:
        events: list[Event] = []
        plain = FrameMark(self._number)
        told = response.message.metadata
        done = wire.get("done") is True
        if done:
            events += self._close(answer)
        if (word := told.raw_stop_reason) is not None:
            events.append(Stop(answer.reason(word), word, frame=plain))
        usage = answer.usage() if told.usage is not None else None
        if usage is not None:
            events.append(UsageUpdate(usage, frame=plain))
        if done:
            self._answer, self._complete = None, True
            events.append(MessageComplete(answer.response(), frame=plain))
        return events

    def _error(self, wire: Wire) -> list[Event]:
        error = read_response(wire).error
        if error is None:
            return []
        return [self._break_off(error, FrameMark(self._number, {NAME: {}}))]

    def _break_off(self, error: ProviderError, mark: FrameMark | None = None) -> StreamError:
        partial = None if self._answer is None else self._answer.partial(error)
        self._failed, self._run = True, None
        return StreamError(error, partial, frame=mark)

    # -- blocks -----------------------------------------------------------------------------------

    def _tell(self, answer: Answer, block: Block) -> list[Event]:
        """A piece of text or thinking; everything else comes whole."""
        plain = FrameMark(self._number)
        if isinstance(block, TextBlock | ThinkingBlock):
            kind, run, events = type(block), answer.run, []
            if run is None or run.kind is not kind:
                events = self._close(answer)
                run = answer.open(kind)
                events.append(BlockStart(run.index, kind(""), frame=plain))
            run.pieces.append(block.text)
            return [*events, run.event(run.index, block.text, frame=plain)]
        events, index = self._close(answer), answer.put(block)
        if not isinstance(block, ToolUseBlock):
            return [
                *events,
                BlockStart(index, block, frame=plain),
                BlockEnd(index, block, frame=plain),
            ]
        text = block.raw_arguments
        if text is None:
            text = encode(block.input).decode()
        return [
            *events,
            ToolUseStart(index, block.id, block.name, raw=block.raw, frame=plain),
            ToolUseInputDelta(index, text, frame=plain),
            ToolUseEnd(index, block.input, block.raw_arguments, raw=block.raw, frame=plain),
        ]

    def _close(self, answer: Answer) -> list[Event]:
        index = -1 if answer.run is None else answer.run.index
        block = answer.close()
        return [] if block is None else [BlockEnd(index, block, frame=FrameMark(self._number))]
