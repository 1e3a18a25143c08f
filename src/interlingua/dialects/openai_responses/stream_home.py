"""Writing a stream that came from this dialect: each frame as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.stream_frames import TEXT, changed, spell
from interlingua.dialects.openai_responses.stream_items import encode_text
from interlingua.dialects.openai_responses.stream_plain import UNSET
from interlingua.dialects.openai_responses.stream_sketch import Sketch
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.streaming import kept_in
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin


class Home:
    """Events in, frames out. What frames repeat is rebuilt from the events."""

    def __init__(self) -> None:
        self._sketch = Sketch()
        self._failed = False
        self.steps: dict[type, Callable[[Any], list[Frame]]] = {
            TextDelta: self._piece,
            ThinkingDelta: self._piece,
            ToolUseInputDelta: self._piece,
            Stop: self._nothing,
            UsageUpdate: self._nothing,
            Other: self._other,
        }
        for step in (MessageStart, BlockStart, ToolUseStart, BlockDelta, BlockEnd, ToolUseEnd):
            self.steps[step] = self._step
        for last in (MessageComplete, StreamError):
            self.steps[last] = self._last

    def close(self) -> list[Frame]:
        return []

    def _nothing(self, event: Event) -> list[Frame]:
        return []

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        """A piece of a block: the frame that there are most of, so it is made the fastest way."""
        sketch = self._sketch
        part = sketch.parts.get(event.index)
        mark = event.frame
        number = sketch.number
        if part is None or part.head is None or number is UNSET or self._failed:
            return self._step(event)
        tail = ""
        if mark is not None and mark.rest is not None:
            rest = mark.rest.get(NAME)
            if rest is None or len(rest) != 1 or type(rest.get("obfuscation")) is not str:
                return self._step(event)
            tail = f',"obfuscation":{encode_text(rest["obfuscation"]).decode()}'
        if part.piece is TEXT and sketch.logprobs is not UNSET:
            tail = f'{tail},"logprobs":[]'
        text = event.text
        pieces = part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        sketch.part, sketch.item, sketch.number = part, part.item, number + 1
        data = f'{part.head}{encode_text(text).decode()},"sequence_number":{number}{tail}}}'
        return [tuple.__new__(Frame, (part.piece.delta, data))]  # type: ignore[union-attr]  # it has a head

    def _step(self, event: Event) -> list[Frame]:
        """Everything but a plain piece."""
        if self._failed:
            return []
        rest = kept_in(event.frame, NAME)
        form = rest.get("$form") or {}
        sketch = self._sketch
        if "within" in form:
            sketch.tell_within(event, form)
            return []
        sketch.tell(event)
        wire = changed(sketch.expect(event, rest), rest)
        sketch.note(wire, event)
        return [spell(wire, rest.get("$event"))]

    def _other(self, event: Other) -> list[Frame]:
        mark = event.frame
        if mark is None or NAME not in (mark.rest or ()):
            return []
        rest = kept_in(mark, NAME)
        return [_as_it_was(rest)] if "$data" in rest else self._step(event)

    def _last(self, event: MessageComplete | StreamError) -> list[Frame]:
        if self._failed:
            return []
        frames = self._step(event)
        self._failed = type(event) is StreamError
        return [*frames, *map(_as_it_was, kept_in(event.frame, NAME).get("$after", ()))]


def _as_it_was(kept: Wire) -> Frame:
    return Frame(kept.get("$event"), kept["$data"])
