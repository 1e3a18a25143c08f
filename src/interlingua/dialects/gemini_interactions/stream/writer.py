"""Writing a stream that came from elsewhere: one step after the other, each with one block."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.citations import write_citation
from interlingua.dialects.gemini_interactions.errors import write_error
from interlingua.dialects.gemini_interactions.messages import Steps, write_answer
from interlingua.dialects.gemini_interactions.response import write_response
from interlingua.dialects.gemini_interactions.tables import (
    COMPLETE,
    CREATED,
    DEFAULT_ID,
    DELTA,
    DONE,
    ERROR,
    MODEL_OUTPUT,
    NAME,
    OBJECT,
    START,
    STOP,
    THOUGHT,
)
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.kept import mine_of
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    TEXT,
    THINKING,
    OpenBlock,
    PieceWriter,
    spell,
)
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
from interlingua.model.events import ToolUseEnd, ToolUseStart
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_INPUT = 2
"""Other pieces than those of texts and thoughts."""
_PIECES: tuple[Wire, ...] = (
    {"type": "text", "text": PIECE},
    {"type": "thought_summary", "content": {"type": "text", "text": PIECE}},
    {"type": "arguments_delta", "arguments": PIECE},
)
_BARE = frozenset({"type", "text", "annotations", "summary", "signature", "content"})
"""What a step may say after its start."""
_TOO_LATE = "a step says it at its start, when it was not known"
_QUIET = quiet(NAME)


class Abroad(PieceWriter):
    """Events in, frames out. One step is open at a time; what others say meanwhile waits. Usage
    and status are said at the end, and losses are counted there."""

    says_starts = True

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._steps = 0
        self._cited = 0
        """The citations that were said of the open text."""
        self._late: dict[int, list[str]] = {}
        """What blocks have to say at their start, and was not known by then."""

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        told: Wire = {"id": id or DEFAULT_ID, "status": "in_progress", "object": OBJECT}
        if model is not None:
            told["model"] = model
        return [_spell({"event_type": CREATED, "interaction": told})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        self._report_late(response.message, recorder)
        wire = {key: item for key, item in wire.items() if key != "steps"}
        last = {"event_type": COMPLETE, "interaction": {"id": DEFAULT_ID, **wire}}
        return [_spell(last), Frame("done", DONE)]

    def _report_late(self, message: Message, recorder: LossRecorder) -> None:
        places = {index: number for number, index in enumerate(sorted(self._seen))}
        for index, keys in self._late.items():
            if places[index] < len(message.content):
                for key in keys:
                    recorder.lost(message.content[places[index]], f"raw.{NAME}.{key}", _TOO_LATE)

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        assert response.error is not None
        error = write_error(response.error, recorder)
        return _spell({"event_type": ERROR, "error": error})

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_answer(partial, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = KINDS.get(type(block))
        said = self._current = OpenBlock(index, kind)
        if kind is None:
            return []
        step = {"type": THOUGHT if kind == THINKING else MODEL_OUTPUT}
        return [self._opening(said, step), *self._say(said, block.text)]

    def _open_call(self, event: ToolUseStart) -> list[Frame]:
        """Free text has to be put into an object first, and of a hosted tool it is known at the end
        only what it was asked."""
        plain = event.call_type is None and event.executor == "client"
        said = self._current = OpenBlock(event.index, _INPUT if plain else None)
        said.start = event
        step = _step_of(call_of(event)) if plain else None
        return [] if step is None else [self._opening(said, step)]

    def _opening(self, said: OpenBlock, step: Wire) -> Frame:
        index, self._cited = self._steps, 0
        self._steps += 1
        if said.kind is not None:
            piece = {"event_type": DELTA, "index": index, "delta": _PIECES[said.kind]}
            said.spell_as(DELTA, piece)
        return _spell({"event_type": START, "index": index, "step": step})

    def _beside(self, delta: Wire) -> Frame:
        return _spell({"event_type": DELTA, "index": self._steps - 1, "delta": delta})

    def _end(self, said: OpenBlock, block: Any) -> list[Frame]:
        """What was not said in pieces, and the end: a signature, and citations, whose places are
        counted in a text that is whole by then."""
        if said.kind is None:
            return self._whole(said, block)
        frames = self._say(said, block.text[said.length :])
        if not said.length and said.kind == TEXT and not frames and said.cuts is not None:
            frames.append(self._frame(said, ""))  # without a piece there is no text
        if type(block) is TextBlock:
            cited = [write_citation(each, block.text, _QUIET) for each in block.citations]
            if annotations := [each for each in cited if each is not None]:
                delta: Wire = {"type": "text_annotation_delta", "annotations": annotations}
                frames.append(self._beside(delta))
        elif type(block) is ThinkingBlock and block.signature:
            frames.append(self._beside({"type": "thought_signature", "signature": block.signature}))
        if mine := mine_of(NAME, block.raw):
            self._late[said.index] = sorted(mine.keys() - _BARE - {"$form"})
        return frames + self._close(said)

    def _end_call(self, said: OpenBlock, event: ToolUseEnd) -> list[Frame]:
        text = encode(event.input).decode()
        if said.kind is not None:
            return [*(self._say(said, text) if not said.length else ()), *self._close(said)]
        block = None if said.start is None else call_of(said.start, event)
        return self._whole(said, block)

    def _whole(self, said: OpenBlock, block: Any) -> list[Frame]:
        """A block that is told at once. What an output shows is a piece of it."""
        self._current = None
        step = None if block is None else _step_of(block)
        if step is None:
            return []
        content = step.get("content")
        if step["type"] != MODEL_OUTPUT or type(content) is not list:
            return [self._opening(said, step), self._closing()]
        bare = {key: item for key, item in step.items() if key != "content"}
        pieces = [(self._steps, part) for part in content]
        return [
            self._opening(said, bare),
            *[_spell({"event_type": DELTA, "index": at, "delta": part}) for at, part in pieces],
            self._closing(),
        ]

    def _close(self, said: OpenBlock) -> list[Frame]:
        self._current = None
        return [] if said.kind is None else [self._closing()]

    def _closing(self) -> Frame:
        return _spell({"event_type": STOP, "index": self._steps - 1})


def _step_of(block: Block) -> Wire | None:
    """The step that an answer has for a block; None where it has none."""
    steps = Steps(_QUIET)
    steps.add(block)
    return steps.steps[0] if steps.steps else None


def _spell(wire: Wire) -> Frame:
    return spell(wire["event_type"], wire)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the Interactions API."""

    name, way = NAME, Abroad
