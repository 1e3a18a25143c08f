"""Reading a stream: frames in, events out. A step begins and ends; a text, or anything else that an
output holds, begins with its first piece. What came is put together as the wire would have it
whole, and read as such, so that both ways give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from interlingua.dialects.gemini_interactions.citations import read_citations
from interlingua.dialects.gemini_interactions.errors import read_error
from interlingua.dialects.gemini_interactions.messages import Run
from interlingua.dialects.gemini_interactions.response import read_interaction
from interlingua.dialects.gemini_interactions.tables import (
    COMPLETE,
    CREATED,
    DELTA,
    DONE,
    ERROR,
    MEDIA,
    MODEL_OUTPUT,
    NAME,
    START,
    STATUS,
    STOP,
    THOUGHT,
)
from interlingua.dialects.gemini_interactions.text import read_content
from interlingua.dialects.gemini_interactions.usage import read_usage
from interlingua.dialects.kernel.errors import ShapeError, read_whole, take, want
from interlingua.dialects.kernel.stream_reader import (
    BROKEN_OFF,
    failed,
    finish_call,
    start_of_block,
)
from interlingua.dialects.kernel.wire import Wire, encode, parse
from interlingua.model.blocks import Block, TextBlock, ToolUseBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    UsageUpdate,
)
from interlingua.model.events import Stop as StopEvent
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"

# -- the frame that there are most of -------------------------------------------------------------


class _PlainText(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    text: str


class _PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of a text with nothing unusual beside it."""

    event_type: Literal["step.delta"]
    index: int
    delta: _PlainText


_decode_plain = msgspec.json.Decoder(_PlainDelta).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


# -- a step that is being told --------------------------------------------------------------------


class Step:
    """One step: how it began, and what came since. It tells its blocks, numbered by `number`."""

    def __init__(self, wire: Wire, number: Callable[[], int]) -> None:
        self.wire = dict(wire)
        self.number = number

    def begin(self) -> list[Event]:
        """What its start says."""
        return []

    def tell(self, delta: Wire) -> list[Event]:
        """What a piece says; nothing for one that we do not know."""
        return []

    def end(self, found: list[Diagnostic]) -> list[Event]:
        return []

    def blocks(self, run: Run) -> None:
        """The blocks of the step, as those of a whole answer."""
        run.add(self.wire)


class OutputStep(Step):
    """What a model says and shows. Its text is open as long as nothing else comes."""

    def __init__(self, wire: Wire, number: Callable[[], int]) -> None:
        super().__init__(wire, number)
        self.index = -1
        self.pieces: list[str] = []
        self.cited: list[Any] = []
        self._parts: list[Any] = []

    def begin(self) -> list[Event]:
        events: list[Event] = []
        for part in want(self.wire.get("content") or [], list, ".content"):
            events += self._whole(part)
        return events

    def _whole(self, part: Wire) -> list[Event]:
        block, index = read_content(part), self.number()
        self._parts.append(part)
        return [start_of_block(index, block), BlockEnd(index, block)]

    def tell(self, delta: Wire) -> list[Event]:
        kind = delta.get("type")
        if kind == "text":
            return self.tell_text(take(delta, "text", str))
        if kind == "text_annotation_delta":
            return self._cite(delta)
        if type(kind) is str and kind in MEDIA:
            return [*self._close(), *self._whole(delta)]
        return []

    def tell_text(self, text: str) -> list[Event]:
        events: list[Event] = []
        if self.index < 0:
            self.index = self.number()
            events.append(start_of_block(self.index, TextBlock("")))
        pieces = self.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        return [*events, TextDelta(self.index, text)]

    def _cite(self, delta: Wire) -> list[Event]:
        listed = want(delta.get("annotations") or [], list, ".annotations")
        citations = read_citations(listed, "".join(self.pieces))
        begun = [] if self.index >= 0 or not listed else self.tell_text("")[:1]
        self.cited += listed
        told = [BlockDelta(self.index, "citations", citation) for citation in citations]
        return [*begun, *told]

    def _close(self) -> list[Event]:
        if self.index < 0:
            return []
        part: Wire = {"type": "text", "text": "".join(self.pieces)}
        if self.cited:
            part["annotations"] = self.cited
        self._parts.append(part)
        index, self.index, self.pieces, self.cited = self.index, -1, [], []
        return [BlockEnd(index, read_content(part))]

    def end(self, found: list[Diagnostic]) -> list[Event]:
        events = self._close()
        if self._parts:
            self.wire["content"] = self._parts
        return events


class BlockStep(Step):
    """A step that is one block: a thought, a call, a result, or one that we do not know. Pieces of
    hosted tools have the keys of their steps."""

    def __init__(self, wire: Wire, number: Callable[[], int]) -> None:
        super().__init__(wire, number)
        self._read: list[Block] = _read(wire)
        self._first = [number() for _ in self._read]
        self._pieces: list[str] = []
        self._call: ToolUseBlock | None = None
        self._beside: list[Any] = []

    def begin(self) -> list[Event]:
        return [start_of_block(i, b) for i, b in zip(self._first, self._read, strict=True)]

    def tell(self, delta: Wire) -> list[Event]:
        kind, index = delta.get("type"), self._first[-1]
        if kind == "arguments_delta" and type(self._read[-1]) is ToolUseBlock:
            text = take(delta, "arguments", str) if delta.get("arguments") is not None else ""
            return self._piece(text, ToolUseInputDelta)
        if self.wire.get("type") == THOUGHT:
            return self._think(kind, delta, index)
        if kind == self.wire.get("type"):
            self.wire.update({key: item for key, item in delta.items() if key != "type"})
        return []

    def _piece(self, text: str, event: Any) -> list[Event]:
        self._pieces.append(text)
        if len(self._pieces) > MANY:
            thin(self._pieces)
        return [event(self._first[-1], text)]

    def _think(self, kind: Any, delta: Wire, index: int) -> list[Event]:
        if kind == "thought_signature":
            signature = delta.get("signature")
            if signature is None:
                return []
            self.wire["signature"] = want(signature, str, ".signature")
            return [BlockDelta(index, "signature", signature)]
        content = delta.get("content") if kind == "thought_summary" else None
        if content is None:
            return []
        if want(content, dict, ".content").get("type") != "text":
            self._beside.append(content)
            return []
        return self._piece(take(content, "text", str), ThinkingDelta)

    def end(self, found: list[Diagnostic]) -> list[Event]:
        if self.wire.get("type") == THOUGHT:
            self._put_summary()
        elif self._pieces:
            self._finish_call(found)
        blocks = [self._call] if self._call is not None else _read(self.wire)
        events: list[Event] = []
        for number, block in enumerate(blocks):
            if number < len(self._first):
                events += _end_of(self._first[number], block, bool(self._pieces))
            else:
                index = self.number()
                events += [start_of_block(index, block), BlockEnd(index, block)]
        return events

    def _put_summary(self) -> None:
        """Pieces of a summary go on with its last part."""
        summary = list(self.wire.get("summary") or ())
        if self._pieces:
            text = "".join(self._pieces)
            last = summary.pop() if summary else {"type": "text", "text": ""}
            if last.get("type") != "text":
                summary.append(last)
                last = {"type": "text", "text": ""}
            summary.append({**last, "text": last["text"] + text})
        if summary or self._beside:
            self.wire["summary"] = [*summary, *self._beside]

    def _finish_call(self, found: list[Diagnostic]) -> None:
        block: Any = _read(self.wire)[-1]
        self._call, odd = finish_call(block, self._pieces)
        self.wire["arguments"] = self._call.input
        if odd is not None:
            found.append(odd)

    def blocks(self, run: Run) -> None:
        run.add(self.wire)
        if self._call is not None:
            run.blocks[-1] = self._call


def _read(wire: Wire) -> list[Block]:
    run = Run()
    run.add(wire)
    return run.blocks


def _end_of(index: int, block: Block, is_told: bool) -> list[Event]:
    """The end of a block. A call that came whole is told in one piece by then."""
    if type(block) is not ToolUseBlock:
        return [BlockEnd(index, block)]
    end = ToolUseEnd(index, block.input, block.raw_arguments, block.signature, block.raw)
    if is_told or not block.input:
        return [end]
    return [ToolUseInputDelta(index, encode(block.input).decode()), end]


# -- the stream -----------------------------------------------------------------------------------


class StreamReader:
    """One stream. It is over with `interaction.completed`; what comes behind that is its last
    frame."""

    def __init__(self) -> None:
        self._wire: Wire | None = None
        self._steps: list[Step] = []
        self._open: dict[int, Step] = {}
        self._count = 0
        self._found: list[Diagnostic] = []
        self._is_complete = False
        self._is_over = False

    def feed(self, frame: Frame) -> list[Event]:
        try:
            plain = _decode_plain(frame.data)
        except _UNREADABLE:
            return self._feed(frame)
        step = self._open.get(plain.index)
        if type(step) is not OutputStep or self._is_over or frame.event not in (DELTA, None):
            return self._feed(frame)
        return step.tell_text(plain.delta.text)

    def close(self) -> list[Event]:
        """The stream has ended; an answer that has not is broken off."""
        if self._is_over:
            return []
        if self._is_complete:
            return self._finish()
        return [self._fail(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))]

    def _feed(self, frame: Frame) -> list[Event]:
        if self._is_over:
            return []
        if frame.data == DONE:
            return self._finish() if self._is_complete else [Other()]
        wire = parse(frame.data, WHAT)
        if type(wire) is not dict:
            return [Other()]
        return read_whole(WHAT, self._frame, wire)

    def _frame(self, wire: Wire) -> list[Event]:
        kind = wire.get("event_type")
        if kind is None and "error" in wire:
            kind = ERROR
        step = _STEPS.get(kind) if type(kind) is str else None
        return (step(self, wire) if step is not None else None) or [Other()]

    # -- messages ---------------------------------------------------------------------------------

    def _begun(self) -> list[Event]:
        """An answer that began without saying so."""
        if self._wire is not None:
            return []
        self._wire = {}
        return [MessageStart()]

    def _created(self, wire: Wire) -> list[Event]:
        told = take(wire, "interaction", dict)
        if self._wire is not None:
            return []
        self._wire = told
        response = self._read(told)
        metadata = response.message.metadata
        return [MessageStart(metadata.response_model, metadata.response_id)]

    def _read(self, told: Wire) -> Response:
        try:
            return read_interaction({key: told[key] for key in told if key != "steps"})
        except ShapeError as error:
            raise error.inside(".interaction") from None

    def _usage(self, wire: Wire) -> list[Event]:
        """Counts of all so far, where a frame has them."""
        usage = read_usage(wire.get("usage"), [])
        return [] if usage is None else [UsageUpdate(usage)]

    def _completed(self, wire: Wire) -> list[Event]:
        told, events = take(wire, "interaction", dict), self._begun()
        if self._is_complete:
            return []
        for index in list(self._open):
            events += self._close(index)
        self._wire = {**(self._wire or {}), **told}
        metadata = self._response().message.metadata
        self._is_complete = True
        if metadata.stop_reason is not None:
            events.append(StopEvent(metadata.stop_reason, metadata.raw_stop_reason))
        if metadata.usage is not None:
            events.append(UsageUpdate(metadata.usage))
        return events

    def _response(self) -> Response:
        """What reading the whole answer gives. A snapshot at the end fills gaps only."""
        told = dict(self._wire or {})
        steps = told.pop("steps", None)
        run = Run()
        for step in self._steps:
            step.blocks(run)
        if not self._steps and type(steps) is list:
            return self._read_snapshot({**told, "steps": steps})
        response = self._read(told)
        message, metadata = run.message(), response.message.metadata
        metadata = metadata.replace(
            diagnostics=(*metadata.diagnostics, *self._found),
            provider_raw=message.metadata.provider_raw,
        )
        return response.replace(message=message.replace(metadata=metadata))

    def _read_snapshot(self, told: Wire) -> Response:
        try:
            return read_interaction(told)
        except ShapeError as error:
            raise error.inside(".interaction") from None

    def _finish(self) -> list[Event]:
        self._is_over = True
        return [MessageComplete(self._response())]

    def _error(self, wire: Wire) -> list[Event]:
        try:
            error = read_error(wire.get("error") or {})
        except ShapeError as odd:
            raise odd.inside(".error") from None
        return [self._fail(error)]

    def _fail(self, error: ProviderError) -> StreamError:
        partial: Message | None = None
        if self._wire is not None:
            for index in list(self._open):
                self._close(index)
            partial = failed(self._response().message, error)
        self._is_over = True
        return StreamError(error, partial)

    # -- steps ------------------------------------------------------------------------------------

    def _number(self) -> int:
        self._count += 1
        return self._count - 1

    def _start(self, wire: Wire) -> list[Event]:
        index, told, events = take(wire, "index", int), take(wire, "step", dict), self._begun()
        if index in self._open:
            events += self._close(index)
        made = OutputStep if told.get("type") == MODEL_OUTPUT else BlockStep
        try:
            step = made(told, self._number)
            begun = step.begin()
        except ShapeError as error:
            raise error.inside(".step") from None
        self._open[index] = step
        self._steps.append(step)
        return [*events, *begun]

    def _delta(self, wire: Wire) -> list[Event]:
        index, delta, events = take(wire, "index", int), take(wire, "delta", dict), self._begun()
        step = self._open.get(index)
        if step is None:
            if delta.get("type") != "text":
                return events
            step = self._open[index] = OutputStep({"type": MODEL_OUTPUT}, self._number)
            self._steps.append(step)
        try:
            return [*events, *step.tell(delta)]
        except ShapeError as error:
            raise error.inside(".delta") from None

    def _stop(self, wire: Wire) -> list[Event]:
        index = take(wire, "index", int)
        return [*self._close(index), *self._usage(wire)]

    def _close(self, index: int) -> list[Event]:
        step = self._open.pop(index, None)
        return [] if step is None else step.end(self._found)


_STEPS: dict[str, Callable[[StreamReader, Any], list[Event]]] = {
    CREATED: StreamReader._created,
    STATUS: StreamReader._usage,
    START: StreamReader._start,
    DELTA: StreamReader._delta,
    STOP: StreamReader._stop,
    COMPLETE: StreamReader._completed,
    ERROR: StreamReader._error,
}
"""By the type of the frame; no events for one that said nothing."""
