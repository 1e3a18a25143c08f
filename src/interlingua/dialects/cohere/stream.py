"""Streams, read and written: starts, pieces and ends of blocks; the plan has pieces alone.

A text stays open after its end, since citations of it may follow. The answer is assembled as the
whole response would be and read as such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.cohere.messages import read_part, write_parts
from interlingua.dialects.cohere.response import read_answer, read_error, write_response
from interlingua.dialects.cohere.tables import (
    CITED_PLAN,
    COMMENTARY,
    DEFAULT_ID,
    DONE,
    JOINER,
    NAME,
    STOP_REASONS,
)
from interlingua.dialects.cohere.text import (
    is_commentary,
    read_call,
    read_citation,
    target_of,
    write_citation,
)
from interlingua.dialects.cohere.usage import read_usage
from interlingua.dialects.cohere.v1_response import Stream
from interlingua.dialects.framing import EitherDecoder
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.errors import read_whole, require, require_key
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.preserved import FORM, NOTHING, raw_of, spelling_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import (
    BROKEN_OFF,
    call_of,
    failed,
    json_of,
    start_of_block,
)
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    TEXT,
    OpenBlock,
    PieceWriter,
    json_frame,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import arguments
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ToolUseBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.streams import ndjson
from interlingua.streams.frames import MANY, Frame, thin

_INPUT, _HELD = 2, 3
"""Other pieces than those of texts and thoughts."""
_KEYS = ("text", "thinking")
_BEGUN: Wire = {
    "role": "assistant",
    "content": [],
    "tool_plan": "",
    "tool_calls": [],
    "citations": [],
}
"""The message of the first frame."""
_STREAMED_BEFORE = frozenset({"id", "message", "logprobs"})
"""Members of a message that its end does not repeat."""


class ForeignWriter(PieceWriter):
    """Writes the frames for events of other dialects. One block is open at a time; events of
    other blocks are queued. Citations, usage and stop reason are written at the end, and losses
    are counted there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._items = 0
        """The number of content items."""
        self._calls = 0
        self._held: list[TextBlock] = []
        """Commentary that becomes the plan if a call follows."""
        self._planned = False
        self._cited: list[Wire] = []
        """Citations that were written."""

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        known = DEFAULT_ID if id is None else id
        return [_spell({"type": "message-start", "id": known, "delta": {"message": _BEGUN}})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        frames = self._write_held()
        wire = write_response(_of_this_version(response, recorder), recorder)
        frames += self._write_rest(wire["message"])
        delta = {key: item for key, item in wire.items() if key not in _STREAMED_BEFORE}
        return [*frames, _spell({"type": "message-end", "delta": delta}), Frame(None, DONE)]

    def _write_rest(self, message: Wire) -> list[Frame]:
        """Frames for parts without an event: a placeholder, and citations that were only known at
        the end."""
        frames: list[Frame] = []
        if not (self._items or self._calls or self._planned):
            for part in message.get("content") or ():
                frames += [*self._whole_item(part), self._item_end()]
        remaining = [*self._cited]
        for citation in message.get("citations") or ():
            if citation in remaining:
                remaining.remove(citation)
            else:
                frames += self._cite(citation)
        return frames

    def _cite(self, citation: Wire) -> list[Frame]:
        number, delta = len(self._cited), {"message": {"citations": citation}}
        self._cited.append(citation)
        return [
            _spell({"type": "citation-start", "index": number, "delta": delta}),
            _spell({"type": "citation-end", "index": number}),
        ]

    def _cite_all(self, block: Any, index: int | None) -> list[Frame]:
        cited = [write_citation(each, block, index, QUIET) for each in block.citations]
        return [frame for citation in cited for frame in self._cite(citation)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        wire = write_response(response, recorder)
        text = wire.pop("message")
        return _spell(
            {"type": "message-end", "delta": {**wire, "finish_reason": "ERROR", "error": text}}
        )

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, NOTHING, recorder)

    # -- content ----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        held = type(block) is TextBlock and is_commentary(block.replace(text="-"))
        frames = [] if held else self._write_held()
        kind = _HELD if held else KINDS.get(type(block))
        open_block = self._current = OpenBlock(index, kind)
        return frames if kind is None else [*frames, *self._write_text(open_block, block.text)]

    def _first(self, open_block: OpenBlock, text: str) -> list[Frame]:
        if open_block.kind is None:
            return []
        open_block.length += len(text)
        if open_block.kind == _HELD:
            open_block.before += text
            return []
        return [self._opening(open_block), self._frame(open_block, text)]

    def _opening(self, open_block: OpenBlock) -> Frame:
        """The start of an item that is streamed in pieces."""
        key = _KEYS[open_block.kind or TEXT]
        _spell_as(open_block, "content-delta", self._items, {"content": {key: PIECE}})
        return self._item({"type": key, key: ""})

    def _item(self, part: Wire) -> Frame:
        self._items += 1
        message = {"message": {"content": part}}
        return _spell({"type": "content-start", "index": self._items - 1, "delta": message})

    def _whole_item(self, part: Wire) -> list[Frame]:
        """An item with its text as one piece: clients look for it there, not in the start."""
        key = next((key for key in _KEYS if part.get(key)), None)
        if key is None:
            return [self._item(part)]
        start, delta = self._item({**part, key: ""}), {"message": {"content": {key: part[key]}}}
        return [start, _spell({"type": "content-delta", "index": self._items - 1, "delta": delta})]

    def _end(self, open_block: OpenBlock, block: Any) -> list[Frame]:
        """The rest that was not streamed in pieces, and the end."""
        frames: list[Frame] = []
        if not open_block.length and open_block.kind != self._kind_of(block):
            frames = self._open(open_block.index, block)
            open_block = self._current or open_block
        elif open_block.kind is not None and type(block) in KINDS:
            frames = self._write_text(open_block, block.text[open_block.length :])
        if open_block.kind == _HELD:
            self._held.append(block.replace(text=open_block.before))
            self._current = None
            return frames
        if open_block.cuts is None:
            self._current = None
            return [*frames, *self._whole(block)]
        if type(block) is TextBlock:
            frames += self._cite_all(block, self._items - 1)
        return [*frames, *self._close(open_block)]

    def _kind_of(self, block: Any) -> int | None:
        return _HELD if is_commentary(block) else KINDS.get(type(block))

    def _whole(self, block: Block) -> list[Frame]:
        """An item that is not streamed in pieces, or has none."""
        _, content = write_parts((block,), NOTHING, QUIET)
        frames: list[Frame] = []
        for part in content:
            frames += self._whole_item(part)
            if type(block) is TextBlock:
                frames += self._cite_all(block, self._items - 1)
            frames.append(self._item_end())
        return frames

    def _item_end(self) -> Frame:
        return _spell({"type": "content-end", "index": self._items - 1})

    def _close(self, open_block: OpenBlock) -> list[Frame]:
        self._current = None
        if open_block.cuts is None:
            return []
        if open_block.kind != _INPUT:
            return [self._item_end()]
        return [_spell({"type": "tool-call-end", "index": self._calls - 1})]

    # -- plans and calls --------------------------------------------------------------------------

    def _write_held(self, before_call: bool = False) -> list[Frame]:
        """Commentary is the plan where a call follows, and content elsewhere."""
        held, self._held = self._held, []
        frames: list[Frame] = []
        for block in held:
            frames += self._write_plan(block) if before_call else self._whole(block)
        return frames

    def _write_plan(self, block: TextBlock) -> list[Frame]:
        """One plan is all that there is: further ones go on with it."""
        plan = JOINER + block.text if self._planned else block.text
        cited = [] if self._planned else self._cite_all(block, None)
        self._planned = True
        message = {"message": {"tool_plan": plan}}
        return [_spell({"type": "tool-plan-delta", "delta": message}), *cited]

    def _open_call(self, event: ev.ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first."""
        if event.executor != "client":
            self._current = OpenBlock(event.index)
            return self._write_held()
        is_text = event.call_type is not None
        open_block = self._current = OpenBlock(event.index, None if is_text else _INPUT)
        open_block.start = event
        frames = self._write_held(before_call=True)
        return frames if is_text else [*frames, self._call(open_block)]

    def _call(self, open_block: OpenBlock) -> Frame:
        assert open_block.start is not None
        parts, _ = write_parts((call_of(open_block.start),), NOTHING, QUIET)
        (call,) = parts.tool_calls or [{}]
        call["function"] = {**call["function"], "arguments": ""}
        index, self._calls = self._calls, self._calls + 1
        piece = {"tool_calls": {"function": {"arguments": PIECE}}}
        _spell_as(open_block, "tool-call-delta", index, piece)
        delta = {"message": {"tool_calls": call}}
        return _spell({"type": "tool-call-start", "index": index, "delta": delta})

    def _end_call(self, open_block: OpenBlock, event: ev.ToolUseEnd) -> list[Frame]:
        if open_block.start is None:
            self._current = None
            return []
        frames: list[Frame] = []
        if open_block.cuts is None:
            open_block.kind = _INPUT
            frames = [self._call(open_block)]
        if not open_block.length:
            frames += self._write_text(open_block, arguments.to_text(event.input))
        return [*frames, *self._close(open_block)]


def _spell_as(open_block: OpenBlock, kind: str, index: int, message: Wire) -> None:
    open_block.spell_as(kind, {"type": kind, "index": index, "delta": {"message": message}})


def _spell(wire: Wire) -> Frame:
    return json_frame(wire["type"], wire)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the chat."""

    name, foreign_writer = NAME, ForeignWriter


_MANY = 1000
PLAN = _MANY
CALLS = 2 * _MANY
"""The first indexes of the plan and of the calls, which come after the content."""


class Part:
    """A block under assembly: its start, and its pieces."""

    __slots__ = ("event", "has_ended", "index", "key", "pieces", "wire")

    def __init__(self, index: int, wire: Wire, key: str, event: Any) -> None:
        self.index = index
        self.wire = wire
        self.key = key
        """The key of the pieces."""
        self.event = event
        self.pieces: list[str] = []
        self.has_ended = False

    def add(self, text: str) -> Event:
        pieces = self.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        event: Event = self.event(self.index, text)
        return event

    def whole(self) -> Wire:
        """The part as a whole answer has it."""
        if self.pieces:
            self._owner[self.key] = (self._owner.get(self.key) or "") + "".join(self.pieces)
            self.pieces = []
        return self.wire

    @property
    def _owner(self) -> Wire:
        """The object that has the text: arguments are inside the function of a call."""
        inner: Wire = self.wire["function"] if self.key == "arguments" else self.wire
        return inner


class ResponseBuilder:
    """The message of a stream, so far."""

    def __init__(self, wire: Wire, message: Wire) -> None:
        self.wire = wire
        self.parts: dict[int, Part] = {}
        self.citations: list[Wire] = []
        self.logprobs: list[Any] = []
        self._message = message

    def open(self, index: int, start: Wire) -> tuple[Part, list[Event]]:
        """An item of the content that begins."""
        is_thought = start.get("type", "thinking" if "thinking" in start else "text") == "thinking"
        key, event = ("thinking", ev.ThinkingDelta) if is_thought else ("text", ev.TextDelta)
        wire = {"type": key, key: "", **start}
        return self._add(Part(index, wire, key, event), read_part(wire))

    def open_plan(self) -> tuple[Part, list[Event]]:
        block = TextBlock("", phase=COMMENTARY)
        return self._add(Part(PLAN, {"tool_plan": ""}, "tool_plan", ev.TextDelta), block)

    def open_call(self, index: int, start: Wire) -> tuple[Part, list[Event]]:
        """A call that begins; arguments in its start are its first piece."""
        function = start.get("function")
        wire = {**start, "function": dict(function if type(function) is dict else {})}
        first = wire["function"].get("arguments")
        blank = {**wire, "function": {**wire["function"], "arguments": ""}}
        block = read_call(blank, self.wire.get("id") or 0, index, [])
        part, events = self._add(
            Part(CALLS + index, wire, "arguments", ev.ToolUseInputDelta), block
        )
        if type(first) is str and first and type(block) is ToolUseBlock:
            events.append(ev.ToolUseInputDelta(part.index, first))
        return part, events

    def _add(self, part: Part, block: Block) -> tuple[Part, list[Event]]:
        self.parts[part.index] = part
        return part, [start_of_block(part.index, block)]

    def close(self, first: int = 0, last: int | None = None) -> list[Event]:
        """The ends of the parts that are open, of those with these indexes."""
        events: list[Event] = []
        for index, part in sorted(self.parts.items()):
            if not part.has_ended and index >= first and (last is None or index <= last):
                events.append(self._end(part))
                part.has_ended = True
        return events

    def _end(self, part: Part) -> Event:
        block = self._block(part)
        if type(block) is ToolUseBlock:
            return ev.ToolUseEnd(part.index, block.input, block.raw_arguments, raw=block.raw)
        return ev.BlockEnd(part.index, block)

    def _block(self, part: Part) -> Block:
        """A part with all that is known of it, its citations too."""
        wire = part.whole()
        if part.index >= CALLS:
            return read_call(wire, self.wire.get("id") or 0, part.index - CALLS, [])
        if part.index == PLAN or wire["type"] == "text":
            blocks = self.response().message.content
            return blocks[sorted(self.parts).index(part.index)]
        return read_part(wire)

    def response(self) -> Response:
        """The response as the reader reads the whole answer."""
        message = dict(self._message)
        content = [self.parts[index].whole() for index in sorted(self.parts) if index < PLAN]
        calls = [self.parts[index].whole() for index in sorted(self.parts) if index >= CALLS]
        if PLAN in self.parts:
            message["tool_plan"] = self.parts[PLAN].whole()["tool_plan"]
        message |= {"content": content} if content else {}
        message |= {"tool_calls": calls} if calls else {}
        message |= {"citations": self.citations} if self.citations else {}
        wire = {**self.wire, "message": message}
        if self.logprobs:
            wire["logprobs"] = self.logprobs
        return read_answer(wire)

    def partial(self, error: ProviderError) -> Message:
        """The partial message when the stream fails."""
        return failed(self.response().message, error)


WHAT = f"{NAME} stream"
_STREAMED = frozenset({"content", "tool_plan", "tool_calls", "citations"})
"""Members of the first frame's message, all of them empty."""
_OF_THE_END = frozenset({"finish_reason", "usage", "error"})


class StreamReader:
    """One stream of the chat."""

    def __init__(self) -> None:
        self._answer: ResponseBuilder | None = None
        self._last: Event | None = None
        """Its end, which is emitted when `[DONE]` has come, or the stream ends."""
        self._over = False
        self._v1: Stream | None = None

    def feed(self, frame: Frame) -> list[Event]:
        if self._over:
            return []
        if frame.data == DONE:
            return self._emit_last() or [ev.Other()]
        wire = json_of(frame, WHAT, "type", _STEPS)
        return read_whole(WHAT, self._frame, wire) if type(wire) is dict else [ev.Other()]

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._over:
            return []
        if self._last is None:
            self._last = self._failed(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))
        return self._emit_last()

    def _emit_last(self) -> list[Event]:
        self._over = self._last is not None
        return [] if self._last is None else [self._last]

    def _frame(self, wire: Wire) -> list[Event]:
        if self._last is not None:
            return []
        if "event_type" in wire:
            return self._frame_of_v1(wire)
        kind = wire.get("type")
        step = _STEPS.get(kind) if type(kind) is str else None
        if kind is None and type(wire.get("message")) is str:
            step = StreamReader._error
        events = step(self, wire) if step is not None else []
        return events if events or self._last is not None else [ev.Other()]

    def _frame_of_v1(self, wire: Wire) -> list[Event]:
        if self._v1 is None:
            self._v1 = Stream()
        events = self._v1.feed(wire)
        if self._v1.complete is None:
            return events or [ev.Other()]
        self._last = self._v1.complete
        return [*events, *self._emit_last()]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, wire: Wire) -> list[Event]:
        if self._answer is not None:
            return []
        return self._begin(wire)[1]

    def _begin(self, wire: Wire) -> tuple[ResponseBuilder, list[Event]]:
        message, id = _message_of(wire), wire.get("id")
        known = {} if id is None else {"id": require(id, str, ".id")}
        preserved = {key: item for key, item in message.items() if key not in _STREAMED}
        self._answer = answer = ResponseBuilder(known, {"role": "assistant", **preserved})
        return answer, [ev.MessageStart(None, known.get("id"))]

    def _begun(self) -> tuple[ResponseBuilder, list[Event]]:
        """The current message; starts one if the stream has not."""
        return self._begin({}) if self._answer is None else (self._answer, [])

    def _end(self, wire: Wire) -> list[Event]:
        answer, events = self._begun()
        delta = require(wire.get("delta") or {}, dict, ".delta")
        if delta.get("error"):
            return [*events, *self._error(_error_body(delta))]
        events += answer.close()
        answer.wire |= {key: delta[key] for key in delta if key != "error"}
        if wire.get("id") is not None and "id" not in answer.wire:
            answer.wire["id"] = wire["id"]
        word = delta.get("finish_reason")
        if word is not None:
            events.append(ev.Stop(STOP_REASONS.read(word), word))
        usage = read_usage(delta.get("usage"), [])
        if usage is not None:
            events.append(ev.UsageUpdate(usage))
        self._last = ev.MessageComplete(answer.response())
        return events

    def _error(self, wire: Wire) -> list[Event]:
        error = read_error(wire).error
        assert error is not None
        self._last = self._failed(error)
        return []

    def _failed(self, error: ProviderError) -> ev.StreamError:
        builder = self._v1 or self._answer
        partial = None if builder is None else builder.partial(error)
        return ev.StreamError(error, partial)

    # -- content ----------------------------------------------------------------------------------

    def _content_start(self, wire: Wire) -> list[Event]:
        index, content = require_key(wire, "index", int), _inside(wire, "content")
        answer, events = self._begun()
        return [*events, *answer.close(last=PLAN), *answer.open(index, content)[1]]

    def _content_delta(self, wire: Wire) -> list[Event]:
        index, content = require_key(wire, "index", int), _inside(wire, "content")
        answer, events = self._begun()
        part = answer.parts.get(index)
        if part is None or part.has_ended:
            part, opened = answer.open(index, {key: "" for key in content if key == "thinking"})
            events += opened
        if wire.get("logprobs") is not None:
            answer.logprobs.append(wire["logprobs"])
        text = content.get(part.key)
        if text is None:
            return events
        return [*events, part.add(require(text, str, f".delta.message.content.{part.key}"))]

    def _content_end(self, wire: Wire) -> list[Event]:
        """Texts stay open for their citations."""
        index = require_key(wire, "index", int)
        part = None if self._answer is None else self._answer.parts.get(index)
        if part is None or self._answer is None or part.key == "text":
            return []
        return self._answer.close(index, index)

    def _plan(self, wire: Wire) -> list[Event]:
        text = _message_of(wire).get("tool_plan")
        if not text:
            return []
        answer, events = self._begun()
        part = answer.parts.get(PLAN)
        if part is None:
            events += answer.close(last=PLAN)
            part, opened = answer.open_plan()
            events += opened
        return [*events, part.add(require(text, str, ".delta.message.tool_plan"))]

    # -- calls ------------------------------------------------------------------------------------

    def _call_start(self, wire: Wire) -> list[Event]:
        index, call = require_key(wire, "index", int), _inside(wire, "tool_calls")
        answer, events = self._begun()
        return [*events, *answer.close(last=PLAN), *answer.open_call(index, call)[1]]

    def _call_delta(self, wire: Wire) -> list[Event]:
        part = self._call(wire)
        function = _inside(wire, "tool_calls").get("function")
        text = function.get("arguments") if type(function) is dict else None
        if part is None or not text:
            return []
        path = ".delta.message.tool_calls.function.arguments"
        return [part.add(require(text, str, path))]

    def _call_end(self, wire: Wire) -> list[Event]:
        part = self._call(wire)
        if part is None or self._answer is None:
            return []
        return self._answer.close(part.index, part.index)

    def _call(self, wire: Wire) -> Part | None:
        index = CALLS + require_key(wire, "index", int)
        part = None if self._answer is None else self._answer.parts.get(index)
        return None if part is None or part.has_ended else part

    # -- citations --------------------------------------------------------------------------------

    def _citation(self, wire: Wire) -> list[Event]:
        citation_wire = _inside(wire, "citations")
        answer, events = self._begun()
        answer.citations.append(citation_wire)
        target = target_of(citation_wire)
        part = answer.parts.get(PLAN if target == CITED_PLAN else target)  # type: ignore[arg-type]  # a number then
        if part is None or part.has_ended or part.key not in ("text", "tool_plan"):
            return events
        citation = read_citation(citation_wire, part.whole()[part.key])
        return [*events, ev.BlockDelta(part.index, "citations", citation)]


def _message_of(wire: Wire) -> Wire:
    """The message of a frame, or its part of one."""
    delta = require(wire.get("delta") or {}, dict, ".delta")
    return require(delta.get("message") or {}, dict, ".delta.message")


def _inside(wire: Wire, key: str) -> Wire:
    return require(_message_of(wire).get(key), dict, f".delta.message.{key}")


def _error_body(delta: Wire) -> Wire:
    others = {key: item for key, item in delta.items() if key not in _OF_THE_END}
    return {"message": require(delta["error"], str, ".delta.error"), **others}


def _of_this_version(response: Response, recorder: LossRecorder) -> Response:
    """The answer without the spelling of v1, whose streams have other frames."""
    own_raw = raw_of(NAME, response.raw)
    if spelling_in(own_raw).get("version") != 1:
        return response
    plain = {key: item for key, item in own_raw.items() if key != FORM}
    new = response.replace(raw={**(response.raw or {}), NAME: plain})
    recorder.alias(new, response)
    return new


_STEPS: dict[str, Callable[[StreamReader, Any], list[Event]]] = {
    "message-start": StreamReader._start,
    "content-start": StreamReader._content_start,
    "content-delta": StreamReader._content_delta,
    "content-end": StreamReader._content_end,
    "tool-plan-delta": StreamReader._plan,
    "tool-call-start": StreamReader._call_start,
    "tool-call-delta": StreamReader._call_delta,
    "tool-call-end": StreamReader._call_end,
    "citation-start": StreamReader._citation,
    "message-end": StreamReader._end,
}
"""By the type of the frame; no events for frames without content."""


def make_decoder() -> EitherDecoder:
    """Streams of v1 are JSON lines, unless the client requests events."""
    return EitherDecoder(b"{", ndjson.Decoder)
