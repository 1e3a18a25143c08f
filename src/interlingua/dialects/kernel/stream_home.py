"""Round trips of streams, the same for all dialects: the frame itself, byte for byte, as long as
its events are unchanged.

Reading, `MarkedReader` puts the frame on the first of its events, with their number and content.
Writing, `Home` waits for that many and returns the frame, unless one of them, or all of the frame
before, is missing or was changed: from there on the stream is written as one from another dialect.
A frame without content may be left out. Readers and writers of dialects are not concerned."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Protocol

import msgspec
from msgspec.structs import force_setattr, replace

from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import TextBlock, ThinkingBlock
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
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
    UsageUpdate,
)
from interlingua.model.exchange import Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.model.spelled_numbers import spelled
from interlingua.streams.frames import MANY, Frame, thin

Steps = dict[type, Callable[[Any], list[Frame]]]
"""The handler of an event, by its type."""
_PIECES: dict[type, str] = {
    each: each.type for each in (TextDelta, ThinkingDelta, ToolUseInputDelta)
}
_ENDS = (MessageComplete, StreamError)
_encode = msgspec.json.Encoder(enc_hook=spelled).encode


class FrameWriter(Protocol):
    """Turns the events of a stream into frames. When one with `resume` continues after the original
    frames, it gets their number, and those that are more than a piece. Pieces are among them from
    the first frame on that contains one of the texts in `grows`."""

    steps: Steps

    def close(self) -> list[Frame]: ...


class Reader(Protocol):
    """A dialect's own reader. A frame without content gives one `Other`; a frame gives no event
    if its events come later, and after the end. `waits` is true while more frames may follow a
    complete message: its end then waits for them."""

    def feed(self, frame: Frame) -> list[Event]: ...
    def close(self) -> list[Event]: ...


def mark_content(mark: FrameMark | None, name: str) -> Wire:
    """The content that the dialect of this name put on a mark: its `frames`, and the digest of
    their events (`said`). A frame that is one piece has a short form."""
    rest = mark.rest.get(name) if mark is not None and mark.rest is not None else None
    match rest:
        case {"piece": [name, data, *texts]}:
            return {"frames": [[name, data]], "said": texts}
        case dict():
            return rest
    return {}


def is_marked(mark: FrameMark | None, name: str) -> bool:
    """Whether an event has its original frame."""
    return "frames" in mark_content(mark, name)


def digest_of(events: list[Event]) -> Any:
    """A digest of events: the same for equal events only, in every process. Marks are no part of
    it; a single piece is its own digest."""
    first: Any = events[0]
    if len(events) == 1 and type(first) in _PIECES:
        return [_PIECES[type(first)], first.choice, first.index, first.text]
    bare = [event if event.frame is None else event.replace(frame=None) for event in events]
    return blake2b(_encode(bare), digest_size=16).hexdigest()


class MarkedReader:
    """Frames in, events out, each with the number of its frame."""

    def __init__(self, name: str, reader: Reader) -> None:
        self._name = name
        self._reader = reader
        self._read = reader.feed
        self._number = -1
        self._waiting: list[list[str | None]] = []
        """Frames whose events are still to come."""
        self._last_written = -1
        """The last frame with content."""
        self._held: list[Event] = []
        """The end of a message, while frames may follow it."""
        self._has_ended = False

    @property
    def piece(self) -> Any:
        """The block of the last piece and its spelling, if the reader has them."""
        return getattr(self._reader, "piece", None)

    @property
    def marks(self) -> bool:
        """Whether events have their frames, which only writing back unchanged needs."""
        return "feed" not in self.__dict__

    @marks.setter
    def marks(self, enabled: bool) -> None:
        if enabled:
            self.__dict__.pop("feed", None)
            self.__dict__.pop("close", None)
        else:
            self.__dict__.update(feed=self._reader.feed, close=self._reader.close)

    def feed(self, frame: Frame) -> list[Event]:
        events = self._read(frame)
        number = self._number
        event: Any = events[0] if len(events) == 1 and number == self._last_written else None
        kind = _PIECES.get(type(event))
        if kind is None:
            return self._feed(frame, events)
        self._number = self._last_written = number = number + 1  # the frame that there are most of
        name, data = frame
        piece = [name, data, kind, event.choice, event.index, event.text]
        mark = FrameMark(number, {self._name: {"piece": piece}})
        force_setattr(event, "frame", mark)  # made for this frame, and shared with no other code
        return events

    def _feed(self, frame: Frame, events: list[Event]) -> list[Event]:
        last = self._let_go() if events and self._held else []
        self._number += 1
        self._waiting.append([frame.event, frame.data])
        if events and getattr(self._reader, "waits", False):
            self._held = events
            return last
        if self._has_ended and not events:
            events = [Other()]  # a frame after an end that did not wait for it is written back, too
        return [*last, *self._marked(events)] if events else last

    def close(self) -> list[Event]:
        """Ends a stream that broke off with an error that no frame contains: it has no mark, so
        that the client receives it."""
        last = self._let_go() if self._held else []
        self._has_ended = False
        events = self._reader.close()
        failed = not self._waiting and any(type(event) is StreamError for event in events)
        return [*last, *(events if failed or not events else self._marked(events))]

    def _let_go(self) -> list[Event]:
        held, self._held = self._held, []
        return self._marked(held)

    def _marked(self, events: list[Event]) -> list[Event]:
        preserved: Wire = {"frames": self._waiting, "said": digest_of(events)}
        if self._last_written != self._number - len(self._waiting):
            preserved["after"] = self._last_written
        if not _is_silent(events):
            self._last_written = self._number
            self._has_ended = type(events[-1]) in _ENDS
        self._waiting = []
        mark = FrameMark(self._number, {self._name: preserved})
        if len(events) == 1:
            return [replace(events[0], frame=mark)]
        preserved["events"] = len(events)
        plain = FrameMark(self._number)
        return [
            replace(event, frame=plain if index else mark) for index, event in enumerate(events)
        ]


def _is_silent(events: list[Event]) -> bool:
    return type(events[0]) is Other and len(events) == 1


class _Agreement:
    """Makes the end of a stream agree with its events, so that code that changes a piece, a name, a
    reason or the usage need not also change the end."""

    def __init__(self) -> None:
        self.start: MessageStart | None = None
        self._pieces: dict[tuple[int, int], list[str]] = {}
        self._stops: dict[int, Stop] = {}
        self._usage: Usage | None = None

    def agreed(self, event: Any) -> Any:
        kind = type(event)
        if kind is TextDelta or kind is ThinkingDelta:
            pieces = self._pieces.setdefault((event.choice, event.index), [])
            pieces.append(event.text)
            if len(pieces) > MANY:
                thin(pieces)
        elif kind is BlockStart and getattr(event.block, "text", None):
            self._pieces[event.choice, event.index] = [event.block.text]
        elif kind is BlockEnd:
            return self._agreed_end(event)
        elif kind is Stop:
            self._stops[event.choice] = event
        elif kind is UsageUpdate:
            self._usage = event.usage
        elif kind is MessageStart and not event.choice:
            self.start = event
        elif kind is MessageComplete:
            return event.replace(response=self._agreed_response(event.response))
        return event

    def _agreed_end(self, event: BlockEnd) -> BlockEnd:
        pieces, block = self._pieces.pop((event.choice, event.index), None), event.block
        if pieces is None or not isinstance(block, TextBlock | ThinkingBlock):
            return event
        text = "".join(pieces)
        return event if text == block.text else event.replace(block=block.replace(text=text))

    def _agreed_response(self, response: Response) -> Response:
        messages = [
            self._agreed_message(message, self._stops.get(choice))
            for choice, message in enumerate((response.message, *response.alternatives))
        ]
        if self.start is not None:
            messages[0] = _named(messages[0], self.start)
        self._stops, self._usage, self.start = {}, None, None
        return response.replace(message=messages[0], alternatives=tuple(messages[1:]))

    def _agreed_message(self, message: Message, stop: Stop | None) -> Message:
        metadata = message.metadata
        changes: dict[str, Any] = {}
        if stop is not None and stop.stop_reason is not metadata.stop_reason:
            changes = {"stop_reason": stop.stop_reason, "raw_stop_reason": stop.raw_stop_reason}
        if None not in (self._usage, metadata.usage) and self._usage != metadata.usage:
            changes["usage"] = self._usage
        return message.replace(metadata=metadata.replace(**changes)) if changes else message


def _named(message: Message, start: MessageStart) -> Message:
    """The message under the names that its start has for it."""
    metadata = message.metadata
    model, id = start.model or metadata.response_model, start.response_id or metadata.response_id
    if model == metadata.response_model and id == metadata.response_id:
        return message
    return message.replace(metadata=metadata.replace(response_model=model, response_id=id))


class Home:
    """Writes events home as frames. `others` writes the stream as one of another dialect: from
    the first change on, when it gets all events before. Losses of its reading (`heard`) count
    only from then on."""

    def __init__(
        self, name: str, others: FrameWriter, steps: Steps, foreign_report: Report, report: Report
    ) -> None:
        self._name = name
        self._others = steps
        self._close_others = others.close
        self._resume: Callable[[int, list[Frame]], None] | None = getattr(others, "resume", None)
        self._grows: tuple[str, ...] = getattr(others, "grows", ())
        self._keeps_pieces = False
        self._count = 0
        """The number of frames that were written back, and those of them that are more than a
        piece."""
        self._frames: list[Frame] = []
        self._foreign_report = foreign_report
        self._report = report
        self._past = _Past()
        self._held: list[Event] = []
        self._mark: Wire = {}
        self._number = -1
        self._last_written = -1
        self._agreement = _Agreement()
        self._is_changed = False
        self.steps: Steps = dict.fromkeys(steps, self._step) | dict.fromkeys(_PIECES, self._piece)

    def close(self) -> list[Frame]:
        frames = self._change() if self._held else []
        return [*frames, *self._close_others()] if self._is_changed else []

    def _piece(self, event: Any) -> list[Frame]:
        """The event that there are most of: a piece that is all of the next frame."""
        mark = event.frame
        preserved = (
            mark.rest.get(self._name) if mark is not None and mark.rest is not None else None
        )
        piece = preserved.get("piece") if type(preserved) is dict else None
        if type(piece) is not list or len(piece) != 6 or mark.number != self._last_written + 1:
            return self._step(event)
        name, data, kind, choice, index, text = piece
        if text != event.text or index != event.index or choice != event.choice:
            return self._step(event)
        if kind != _PIECES[type(event)] or self._held or self._is_changed:
            return self._step(event)
        self._last_written = mark.number
        self._count += 1
        self._past.add_piece(event)
        frame = tuple.__new__(Frame, (name, data))
        if self._keeps_pieces:
            self._frames.append(frame)
        return [frame]

    def _step(self, event: Event) -> list[Frame]:
        if self._is_changed:
            return self._follow(event)
        if not self._belongs(event.frame):
            return [*self._change(), *self._follow(event)]
        held, preserved = self._held, self._mark
        held.append(event)
        if len(held) < preserved.get("events", 1):
            return []
        if preserved.get("said") != digest_of(held):
            return self._change()
        if not _is_silent(held):
            self._last_written = self._number
        self._past.add(held)
        self._held = []
        self._count += len(preserved["frames"])
        frames = [Frame(*frame) for frame in preserved["frames"]]
        if self._resume is not None:
            self._frames += frames
        for text in self._grows:
            self._keeps_pieces |= any(text in frame.data for frame in frames)
        return frames

    def _belongs(self, mark: FrameMark | None) -> bool:
        """Whether an event is of the frame that is held, or the first one of the next frame where
        none is held."""
        if mark is None:
            return False
        if self._held:
            return mark.number == self._number
        preserved = mark_content(mark, self._name)
        if "frames" not in preserved:
            return False
        self._mark, self._number = preserved, mark.number
        after: int = preserved.get("after", mark.number - len(preserved["frames"]))
        return self._last_written == after

    def _follow(self, event: Event) -> list[Frame]:
        return self._others[type(event)](self._agreement.agreed(event))

    def _change(self) -> list[Frame]:
        """From here on it is a stream of others; of the frame that is held, too."""
        if self._is_changed:
            return []
        self._is_changed = True
        for event in self._past.events():
            self._follow(event)
        self._agreement.start = None  # it went home as it was, and an end may name another model
        if self._resume is not None:
            self._resume(self._count, self._frames)
        self._report.extend(self._foreign_report)
        self._foreign_report.entries = self._report.entries
        held, self._held = self._held, []
        return [frame for event in held for frame in self._follow(event)]


class _Past:
    """Events that were written back, in case they are needed later: neighbouring pieces of one
    block are joined to save memory."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._last: Any = None
        self._pieces: list[str] = []

    def add(self, events: list[Event]) -> None:
        for event in events:
            if type(event) in _PIECES:
                self.add_piece(event)
            else:
                self._close()
                self._events.append(event)

    def add_piece(self, event: Any) -> None:
        last, pieces = self._last, self._pieces
        if type(event) is not type(last) or event.index != last.index:
            last = None
        if last is None or event.choice != last.choice:
            self._close()
            self._last = event
            pieces.clear()
        pieces.append(event.text)
        if len(pieces) > MANY:
            thin(pieces)

    def _close(self) -> None:
        if self._last is not None:
            self._events.append(self._last.replace(text="".join(self._pieces), frame=None))
            self._last = None

    def events(self) -> list[Event]:
        self._close()
        return self._events
