"""The way home of streams, the same for all dialects: the frame itself, byte for byte, as long as its
events say what it said.

Reading, `MarkedReader` puts the frame on the first of its events, with the count of them and what
they say. Writing, `Home` waits for that many and gives the frame, unless one of them is missing or
was changed: from there on the stream is written like one of others. Readers and writers of dialects
know nothing of this."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Protocol

import msgspec

from interlingua.dialects.kernel.wire import Wire
from interlingua.losses import Report
from interlingua.model.events import (
    Event,
    FrameMark,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
)
from interlingua.model.spelled import spelled
from interlingua.streams.frames import Frame

Steps = dict[type, Callable[[Any], list[Frame]]]
"""What to do with an event, by its type."""
_PIECES = frozenset({TextDelta, ThinkingDelta, ToolUseInputDelta})
_encode = msgspec.json.Encoder(enc_hook=spelled).encode


class Way(Protocol):
    """How the events of a stream become frames."""

    steps: Steps

    def close(self) -> list[Frame]: ...


class Reader(Protocol):
    """A dialect's own reader. A frame that says nothing is one `Other`; no event at all is for a
    frame whose events come later, and for what follows the end."""

    def feed(self, frame: Frame) -> list[Event]: ...
    def close(self) -> list[Event]: ...


def kept_in(mark: FrameMark | None, name: str) -> Wire:
    """What the dialect of this name put on a mark."""
    rest = mark.rest.get(name) if mark is not None and mark.rest is not None else None
    return rest if type(rest) is dict else {}


def is_marked(mark: FrameMark | None, name: str) -> bool:
    """Whether an event brings the frame along that it came from."""
    return "frames" in kept_in(mark, name)


def said_by(events: list[Event]) -> str:
    """What events say, to be compared: the same for equal ones only, in every process. Marks are no
    part of it; the text of a single piece is its own measure."""
    first = events[0]
    if len(events) == 1 and type(first) in _PIECES:
        return f"{first.choice} {first.index} {first.text}"  # type: ignore[union-attr]  # a piece
    bare = [event if event.frame is None else event.replace(frame=None) for event in events]
    return blake2b(_encode(bare), digest_size=16).hexdigest()


class MarkedReader:
    """Frames in, events out, each with the number of its frame."""

    def __init__(self, name: str, reader: Reader) -> None:
        self._name = name
        self._reader = reader
        self._number = -1
        self._waiting: list[list[str | None]] = []
        """Frames whose events are still to come."""

    @property
    def marks(self) -> bool:
        """Whether events know their frames. Only the way home asks for it."""
        return "feed" not in self.__dict__

    @marks.setter
    def marks(self, wanted: bool) -> None:
        if wanted:
            self.__dict__.pop("feed", None)
            self.__dict__.pop("close", None)
        else:
            self.__dict__.update(feed=self._reader.feed, close=self._reader.close)

    def feed(self, frame: Frame) -> list[Event]:
        self._number += 1
        events = self._reader.feed(frame)
        self._waiting.append([frame.event, frame.data])
        return self._marked(events) if events else []

    def close(self) -> list[Event]:
        """A stream that broke off ends with an error that no frame said: that one has no mark, so
        that whoever listens is told."""
        events = self._reader.close()
        told = not self._waiting and any(type(event) is StreamError for event in events)
        return events if told or not events else self._marked(events)

    def _marked(self, events: list[Event]) -> list[Event]:
        kept = {"frames": self._waiting, "said": said_by(events)}
        self._waiting = []
        if len(events) > 1:
            kept["events"] = len(events)  # type: ignore[assignment]  # a mark holds any JSON
        first = events[0].replace(frame=FrameMark(self._number, {self._name: kept}))
        if len(events) == 1:
            return [first]
        mark = FrameMark(self._number)
        return [first, *[event.replace(frame=mark) for event in events[1:]]]


class Home:
    """Events in, frames out. `others` writes the stream as one that came from elsewhere: it follows
    in silence, so that it can go on where an event was changed. What it lost (`heard`) is a loss of
    the stream only then."""

    def __init__(
        self,
        name: str,
        others: Steps,
        close_others: Callable[[], list[Frame]],
        heard: Report,
        report: Report,
    ) -> None:
        self._name = name
        self._others = others
        self._close_others = close_others
        self._heard = heard
        self._report = report
        self._held: list[Event] = []
        self._instead: list[Frame] = []
        self._is_changed = False
        self.steps: Steps = dict.fromkeys(others, self._step)

    def close(self) -> list[Frame]:
        frames = self._change() if self._held else []
        return [*frames, *self._close_others()] if self._is_changed else []

    def _step(self, event: Event) -> list[Frame]:
        instead = self._others[type(event)](event)
        if not self._belongs(event.frame):
            return [*self._change(), *instead]
        held = self._held
        held.append(event)
        self._instead += instead
        kept = kept_in(held[0].frame, self._name)
        if len(held) < kept.get("events", 1):
            return []
        if kept.get("said") != said_by(held):
            return self._change()
        self._held, self._instead = [], []
        return [Frame(*each) for each in kept["frames"]]

    def _belongs(self, mark: FrameMark | None) -> bool:
        """Whether an event is of the frame that is held, or the first one of another frame where
        none is held."""
        first = self._held[0].frame if self._held else None
        if first is None or mark is None:
            return first is None and is_marked(mark, self._name)
        return mark.number == first.number

    def _change(self) -> list[Frame]:
        """From here on it is a stream of others; of the frame that is held, too."""
        self._is_changed = True
        self._report.extend(self._heard)
        self._heard.losses = self._report.losses
        self.steps.update(self._others)
        instead, self._held, self._instead = self._instead, [], []
        return instead
