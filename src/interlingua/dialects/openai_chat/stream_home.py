"""Writing a stream that came from this dialect: each frame as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from interlingua.dialects.base import Quiet, Wire, encode
from interlingua.dialects.openai_chat.errors import write_failure
from interlingua.dialects.openai_chat.response import read_stop
from interlingua.dialects.openai_chat.stream_frames import (
    DONE,
    Cuts,
    cut,
    fill,
    head_of,
    lengthen,
    say,
)
from interlingua.dialects.openai_chat.tables import NEAREST_STOP, Tables
from interlingua.dialects.openai_chat.usage import write_usage
from interlingua.dialects.streaming import FAILED, kept_in
from interlingua.losses import Report
from interlingua.model.events import (
    BlockStart,
    Event,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
    UsageUpdate,
)
from interlingua.model.exchange import Response
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import Frame

_PIECES = (TextDelta, ThinkingDelta, ToolUseInputDelta)
_BY_CONTENT = (StopReason.TOOL_USE, StopReason.REFUSAL)
"""Reasons that a word for the end of a turn may stand for."""


class Home:
    """Events in, frames out. A frame goes out with the last of its events."""

    def __init__(self, t: Tables) -> None:
        self._t = t
        self._head: Wire | None = None
        self._cuts: dict[tuple[int, int], Cuts] = {}
        self._held: list[Event] = []
        self._wanted = 0
        self._failed = False
        self._quiet = Quiet(t.name, None, Report(t.name))
        self.steps: dict[type, Callable[[Any], list[Frame]]] = dict.fromkeys(
            get_args(Event), self._step
        )
        self.steps.update(dict.fromkeys(_PIECES, self._piece))

    def close(self) -> list[Frame]:
        return self._flush()

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        mark = event.frame
        cuts = self._cuts.get((event.choice, event.index))
        if cuts is None or self._held or mark is None or mark.rest is not None:
            return self._step(event)
        return [say(cuts, event.text)]

    def _step(self, event: Event) -> list[Frame]:
        """Everything but a plain piece."""
        frames: list[Frame] = []
        mark = event.frame
        if self._failed:
            return []
        if mark is None:
            frames = self._flush()
            return [*frames, self._error(event, {})] if type(event) is StreamError else frames
        if self._held and mark.number != self._number():
            frames = self._flush()
        if not self._held:
            form = kept_in(mark, self._t.name).get("$form") or {}
            self._wanted = form.get("events", 1)
        self._held.append(event)
        return [*frames, *self._flush()] if len(self._held) == self._wanted else frames

    def _number(self) -> int | None:
        mark = self._held[0].frame
        return None if mark is None else mark.number

    def _flush(self) -> list[Frame]:
        """The frame of the events that were held."""
        events, self._held = self._held, []
        rest = kept_in(events[0].frame, self._t.name) if events else {}
        if "$data" in rest:
            self._failed = type(events[-1]) is StreamError
            return [Frame(rest.get("$event"), rest["$data"])]
        if "chunk" not in rest:
            return self._padded(events[0], rest) if events else []
        chunk = lengthen(rest, self._head or {})
        pads = rest.get("pads") or {}
        wire = fill(chunk, lambda number, field: self._said(events, number, field))
        if self._head is None:
            self._head = head_of(wire)
        if type(events[-1]) is StreamError:
            frame = self._error(events[-1], wire, rest.get("$event"))
            return [frame, Frame(None, DONE)] if "choices" in wire else [frame]
        if len(events) == 1 and type(events[0]) in _PIECES:
            self._learn(events[0], chunk)
        return [Frame(rest.get("$event"), encode({**wire, **pads}).decode())]

    def _learn(self, event: Any, chunk: Wire) -> None:
        cuts = cut(chunk)
        if cuts is not None:
            self._cuts[event.choice, event.index] = cuts

    def _padded(self, event: Any, rest: Wire) -> list[Frame]:
        """A piece that is spelled like those before it."""
        cuts = self._cuts.get((event.choice, event.index)) if type(event) in _PIECES else None
        return [] if cuts is None else [say(cuts, event.text, rest.get("pads"))]

    def _said(self, events: list[Event], number: int, field: str) -> Any:
        """What an event says in the place of a hole."""
        event: Any = events[number] if 0 <= number < len(events) else None
        if field == "usage" and type(event) is UsageUpdate:
            return write_usage(event.usage, self._t, self._quiet)
        if field == "stop" and type(event) is Stop:
            return self._word(event)
        if field == "data" and type(event) is BlockStart:
            return getattr(event.block, "data", None)
        return getattr(event, field, None)

    def _word(self, stop: Stop) -> Any:
        reason, word = stop.stop_reason, stop.raw_stop_reason
        if reason is None or word is None:
            return word if reason is None else self._nearest(reason)
        read = read_stop(word, ())
        if read is reason or (read is StopReason.END_TURN and reason in _BY_CONTENT):
            return word
        return self._nearest(reason)

    def _nearest(self, reason: StopReason) -> str:
        return self._t.stops.write(reason) or NEAREST_STOP.get(reason, "stop")

    def _error(self, event: Any, beside: Wire, name: str | None = None) -> Frame:
        self._failed = True
        response = Response(FAILED, error=event.error)
        wire = write_failure(response, event.error, self._t, self._quiet)
        return Frame(name, encode({**beside, **wire}).decode())
