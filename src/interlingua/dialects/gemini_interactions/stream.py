"""Streams, read and written: server-sent events with starts, pieces and ends of steps.

The answer is assembled as the whole response would be and read as such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from interlingua.dialects.gemini_interactions.messages import Run, Steps, write_answer
from interlingua.dialects.gemini_interactions.response import (
    read_error,
    read_interaction,
    read_usage,
    write_error,
    write_response,
)
from interlingua.dialects.gemini_interactions.stream_steps import (
    BlockStep,
    OutputContent,
    OutputStep,
    Step,
    WholeContent,
)
from interlingua.dialects.gemini_interactions.tables import (
    COMPLETE,
    CREATED,
    DEFAULT_ID,
    DELTA,
    DONE,
    ERROR,
    MEDIA,
    MODEL_OUTPUT,
    NAME,
    OBJECT,
    OLD_FRAMES,
    START,
    STATUS,
    STOP,
    THOUGHT,
)
from interlingua.dialects.gemini_interactions.text import write_citation
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.errors import at_path, read_each, read_whole, require, require_key
from interlingua.dialects.kernel.preserved import raw_of
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import (
    BROKEN_OFF,
    UNREADABLE,
    call_of,
    failed,
    json_of,
)
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    TEXT,
    THINKING,
    OpenBlock,
    PieceWriter,
    json_frame,
)
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
from interlingua.model.events import (
    Event,
    MessageComplete,
    MessageStart,
    Other,
    StreamError,
    ToolUseEnd,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.events import Stop as StopEvent
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic
from interlingua.model.reasons import because
from interlingua.streams.frames import Frame

_INPUT = 2
"""Other pieces than those of texts and thoughts."""
_PIECES: tuple[Wire, ...] = (
    {"type": "text", "text": PIECE},
    {"type": "thought_summary", "content": {"type": "text", "text": PIECE}},
    {"type": "arguments_delta", "arguments": PIECE},
)
_OLD_STARTS = (f'"{OLD_FRAMES[CREATED]}"', f'"{OLD_FRAMES[START]}"', f'"{OLD_FRAMES[DELTA]}"')
_BARE = frozenset({"type", "text", "annotations", "summary", "signature", "content"})
"""Members that a step may have after its start."""
_TOO_LATE = because("stream_too_late")
_QUIET = quiet(NAME)


class ForeignWriter(PieceWriter):
    """Writes the frames for events of other dialects. One step is open at a time; events of
    other blocks are queued. Usage and status are written at the end, and losses are counted
    there."""

    announces_blocks = True
    _is_old = False

    def resume(self, count: int, frames: list[Frame]) -> None:
        """Continues in the revision of the original frames."""
        self._is_old = any(word in frame.data for frame in frames[:9] for word in _OLD_STARTS)
        if self._is_old and self._current is not None and self._current.kind is not None:
            self._spell_pieces(self._current, self._current.kind, self._steps - 1)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._steps = 0
        self._cited = 0
        """The citations written for the open text."""
        self._late: dict[int, list[str]] = {}
        """Members of block starts that became known only later."""

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        interaction: Wire = {"id": id or DEFAULT_ID, "status": "in_progress", "object": OBJECT}
        if model is not None:
            interaction["model"] = model
        return [self._spell({"event_type": CREATED, "interaction": interaction})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        self._report_late(response.message, recorder)
        wire = {key: item for key, item in wire.items() if key not in ("steps", "outputs")}
        last = {"event_type": COMPLETE, "interaction": {"id": DEFAULT_ID, **wire}}
        return [self._spell(last), Frame("done", DONE)]

    def _report_late(self, message: Message, recorder: LossRecorder) -> None:
        positions = {index: number for number, index in enumerate(sorted(self._seen))}
        for index, keys in self._late.items():
            if positions[index] < len(message.content):
                for key in keys:
                    recorder.lost(message.content[positions[index]], f"raw.{NAME}.{key}", _TOO_LATE)

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        assert response.error is not None
        error = write_error(response.error, recorder)
        return self._spell({"event_type": ERROR, "error": error})

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_answer(partial, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = KINDS.get(type(block))
        open_block = self._current = OpenBlock(index, kind)
        if kind is None:
            return []
        step = {"type": THOUGHT if kind == THINKING else MODEL_OUTPUT}
        return [self._opening(open_block, step), *self._write_text(open_block, block.text)]

    def _open_call(self, event: ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first, and the input of a hosted tool is known
        only at the end."""
        plain = event.call_type is None and event.executor == "client" and not self._is_old
        open_block = self._current = OpenBlock(event.index, _INPUT if plain else None)
        open_block.start = event
        step = _step_of(call_of(event)) if plain else None
        return [] if step is None else [self._opening(open_block, step)]

    def _opening(self, open_block: OpenBlock, step: Wire) -> Frame:
        index, self._cited = self._steps, 0
        self._steps += 1
        if open_block.kind is not None:
            self._spell_pieces(open_block, open_block.kind, index)
        if not self._is_old:
            return self._spell({"event_type": START, "index": index, "step": step})
        kind = "text" if step["type"] == MODEL_OUTPUT else step["type"]
        return self._spell({"event_type": START, "index": index, "content": {"type": kind}})

    def _spell_pieces(self, open_block: OpenBlock, kind: int, index: int) -> None:
        name = OLD_FRAMES[DELTA] if self._is_old else DELTA
        open_block.spell_as(name, {"event_type": name, "index": index, "delta": _PIECES[kind]})

    def _beside(self, delta: Wire) -> Frame:
        return self._spell({"event_type": DELTA, "index": self._steps - 1, "delta": delta})

    def _end(self, open_block: OpenBlock, block: Any) -> list[Frame]:
        """Writes everything without deltas, and the end: a signature, and citations, whose
        positions refer to the complete text."""
        if open_block.kind is None:
            return self._whole(open_block, block)
        frames = self._write_text(open_block, block.text[open_block.length :])
        if (
            not open_block.length
            and open_block.kind == TEXT
            and not frames
            and open_block.cuts is not None
        ):
            frames.append(self._frame(open_block, ""))  # without a piece there is no text
        if type(block) is TextBlock:
            cited = [write_citation(each, block.text, _QUIET) for each in block.citations]
            if annotations := [each for each in cited if each is not None]:
                kind = "text_annotation" if self._is_old else "text_annotation_delta"
                frames.append(self._beside({"type": kind, "annotations": annotations}))
        elif type(block) is ThinkingBlock and block.signature:
            frames.append(self._beside({"type": "thought_signature", "signature": block.signature}))
        if own_raw := raw_of(NAME, block.raw):
            self._late[open_block.index] = sorted(own_raw.keys() - _BARE - {"$form"})
        return frames + self._close(open_block)

    def _end_call(self, open_block: OpenBlock, event: ToolUseEnd) -> list[Frame]:
        text = encode(event.input).decode()
        if open_block.kind is not None:
            return [
                *(self._write_text(open_block, text) if not open_block.length else ()),
                *self._close(open_block),
            ]
        block = None if open_block.start is None else call_of(open_block.start, event)
        return self._whole(open_block, block)

    def _whole(self, open_block: OpenBlock, block: Any) -> list[Frame]:
        """A block that is written at once. Media of an output is a piece of it."""
        self._current = None
        step = None if block is None else _step_of(block)
        if step is None:
            return []
        content = step.get("content")
        is_output = step["type"] == MODEL_OUTPUT and type(content) is list
        if self._is_old:
            whole = content[0] if is_output and content else step
            return [self._opening(open_block, whole), self._beside(whole), self._closing()]
        if not is_output or type(content) is not list:
            return [self._opening(open_block, step), self._closing()]
        bare = {key: item for key, item in step.items() if key != "content"}
        pieces = [(self._steps, part) for part in content]
        return [
            self._opening(open_block, bare),
            *[self._spell({"event_type": DELTA, "index": i, "delta": part}) for i, part in pieces],
            self._closing(),
        ]

    def _close(self, open_block: OpenBlock) -> list[Frame]:
        self._current = None
        return [] if open_block.kind is None else [self._closing()]

    def _closing(self) -> Frame:
        return self._spell({"event_type": STOP, "index": self._steps - 1})

    def _spell(self, wire: Wire) -> Frame:
        if self._is_old:
            wire["event_type"] = OLD_FRAMES.get(wire["event_type"], wire["event_type"])
        return json_frame(wire["event_type"], wire)


def _step_of(block: Block) -> Wire | None:
    """The step that an answer has for a block; None where it has none."""
    steps = Steps(_QUIET)
    steps.add(block)
    return steps.steps[0] if steps.steps else None


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the Interactions API."""

    name, foreign_writer = NAME, ForeignWriter


WHAT = f"{NAME} stream"

# -- the frame that there are most of -------------------------------------------------------------


class _PlainText(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    text: str


class _PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of a text with nothing unusual beside it."""

    event_type: Literal["step.delta", "content.delta"]
    index: int
    delta: _PlainText


_decode_plain = msgspec.json.Decoder(_PlainDelta).decode
_DELTAS = (DELTA, OLD_FRAMES[DELTA], None)
_OLD_KINDS = frozenset(OLD_FRAMES.values())
_ANSWERS = ("steps", "outputs")
_PIECES_OF = {"text_annotation": "text", "thought_summary": THOUGHT, "thought_signature": THOUGHT}
"""Pieces of the older revision whose type is not that of their content."""


# -- the stream -----------------------------------------------------------------------------------


class StreamReader:
    """One stream. It ends with `interaction.completed`; anything after that belongs to its last
    frame."""

    def __init__(self) -> None:
        self._wire: Wire | None = None
        self._steps: list[Step] = []
        self._open: dict[int, Step] = {}
        self._count = 0
        self._found: list[Diagnostic] = []
        self._is_complete = False
        self._is_over = False
        self._is_old = False
        """Whether it has frames of the older revision."""
        self._is_held = False
        """Whether the events of a frame come later."""

    def feed(self, frame: Frame) -> list[Event]:
        try:
            plain = _decode_plain(frame.data)
        except UNREADABLE:
            return self._feed(frame)
        step = self._open.get(plain.index)
        if not isinstance(step, OutputStep) or self._is_over or frame.event not in _DELTAS:
            return self._feed(frame)
        return step.read_text(plain.delta.text)

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
        wire = json_of(frame, WHAT, "event_type", _STEPS)
        if type(wire) is not dict:
            return [Other()]
        return read_whole(WHAT, self._frame, wire)

    def _frame(self, wire: Wire) -> list[Event]:
        kind = wire.get("event_type")
        if kind is None and "error" in wire:
            kind = ERROR
        step = _STEPS.get(kind) if type(kind) is str else None
        self._is_old |= kind in _OLD_KINDS
        self._is_held = False
        events = step(self, wire) if step is not None else []
        return events or ([] if self._is_held else [Other()])

    # -- messages ---------------------------------------------------------------------------------

    def _begun(self) -> list[Event]:
        """Starts the answer, if the stream has not."""
        if self._wire is not None:
            return []
        self._wire = {}
        return [MessageStart()]

    def _created(self, wire: Wire) -> list[Event]:
        interaction = require_key(wire, "interaction", dict)
        if self._wire is not None:
            return []
        self._wire = interaction
        response = self._read(interaction)
        metadata = response.message.metadata
        return [MessageStart(metadata.response_model, metadata.response_id)]

    def _read(self, interaction: Wire) -> Response:
        bare = {key: interaction[key] for key in interaction if key not in _ANSWERS}
        whole = {**bare, "outputs": []} if self._is_old else bare
        return at_path(".interaction", read_interaction, whole)

    def _usage(self, wire: Wire) -> list[Event]:
        """Counts of all so far, where a frame has them."""
        usage = read_usage(wire.get("usage"), [])
        return [] if usage is None else [UsageUpdate(usage)]

    def _completed(self, wire: Wire) -> list[Event]:
        interaction, events = require_key(wire, "interaction", dict), self._begun()
        if self._is_complete:
            return []
        for index in list(self._open):
            events += self._close(index)
        self._wire = {**(self._wire or {}), **interaction}
        if not self._steps:
            events += self._read_snapshot(interaction)
        metadata = self._response().message.metadata
        self._is_complete = True
        if metadata.stop_reason is not None:
            events.append(StopEvent(metadata.stop_reason, metadata.raw_stop_reason))
        if metadata.usage is not None:
            events.append(UsageUpdate(metadata.usage))
        return events

    def _response(self) -> Response:
        """The response as the reader reads the whole answer. A snapshot at the end fills gaps
        only."""
        interaction = dict(self._wire or {})
        run = Run()
        for step in self._steps:
            step.blocks(run)
        response = self._read(interaction)
        message, metadata = run.message(), response.message.metadata
        metadata = metadata.replace(
            diagnostics=(*metadata.diagnostics, *self._found),
            provider_raw=message.metadata.provider_raw,
        )
        return response.replace(message=message.replace(metadata=metadata))

    def _read_snapshot(self, interaction: Wire) -> list[Event]:
        """Reads the content of an answer that only the last frame has."""
        key = "outputs" if "steps" not in interaction else "steps"
        open_item = self._open_content if key == "outputs" else self._open_step

        def read(item: Any) -> list[Event]:
            index = len(self._steps)
            return [*open_item(index, require(item, dict)).begin(), *self._close(index)]

        read_items = read_each(interaction.get(key) or [], f".interaction.{key}", read)
        return [event for events in read_items for event in events]

    def _finish(self) -> list[Event]:
        self._is_over = True
        return [MessageComplete(self._response())]

    def _error(self, wire: Wire) -> list[Event]:
        return [self._fail(at_path(".error", read_error, wire.get("error") or {}))]

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
        return self._begin_item(wire, "step", self._open_step)

    def _start_content(self, wire: Wire) -> list[Event]:
        return self._begin_item(wire, "content", self._open_content)

    def _begin_item(
        self, wire: Wire, key: str, open_item: Callable[[int, Wire], Step]
    ) -> list[Event]:
        index, item = require_key(wire, "index", int), require_key(wire, key, dict)
        events = self._begun()
        if index in self._open:
            events += self._close(index)
        return [*events, *at_path(f".{key}", lambda: open_item(index, item).begin())]

    def _add(self, kind: type[Step], index: int, wire: Wire) -> Step:
        step = self._open[index] = kind(wire, self._number)
        self._steps.append(step)
        return step

    def _open_step(self, index: int, wire: Wire) -> Step:
        is_output = wire.get("type") == MODEL_OUTPUT
        return self._add(OutputStep if is_output else BlockStep, index, wire)

    def _open_content(self, index: int, content: Wire) -> Step:
        kind = content.get("type")
        if kind == "text" or (type(kind) is str and kind in MEDIA):
            step = self._add(OutputContent, index, content)
        else:
            step = self._add(BlockStep if kind == THOUGHT else WholeContent, index, content)
        self._is_held = type(step) is WholeContent
        return step

    def _first_of(self, index: int, delta: Wire) -> Step | None:
        """The step of a piece without a start; agents of the older revision have no starts."""
        kind = delta.get("type")
        if self._is_old and type(kind) is str:
            return self._open_content(index, {"type": _PIECES_OF.get(kind, kind)})
        return self._add(OutputStep, index, {"type": MODEL_OUTPUT}) if kind == "text" else None

    def _delta(self, wire: Wire) -> list[Event]:
        index, delta = require_key(wire, "index", int), require_key(wire, "delta", dict)
        events = self._begun()
        step = self._open.get(index) or self._first_of(index, delta)
        if step is None:
            return events
        self._is_held = type(step) is WholeContent
        return [*events, *at_path(".delta", step.read_delta, delta)]

    def _stop(self, wire: Wire) -> list[Event]:
        index = require_key(wire, "index", int)
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
"""By the type of the frame; no events for frames without content."""
_STEPS |= {old: _STEPS[name] for name, old in OLD_FRAMES.items()}
_STEPS[OLD_FRAMES[START]] = StreamReader._start_content
