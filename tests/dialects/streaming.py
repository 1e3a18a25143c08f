"""Reading and writing small streams in tests, and the law of the order of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from interlingua.dialects.record import Dialect
from interlingua.model.base import difference
from interlingua.model.events import (
    Event,
    MessageComplete,
    Other,
    StreamError,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.laws import streams

_decode = msgspec.json.Decoder(list[Event]).decode


def events_of(
    dialect: Dialect, frames: Iterable[Any], frame: Callable[[Any], Frame]
) -> list[Event]:
    """All events of a stream; `frame` makes a frame of whatever is none."""
    reader = dialect.stream_reader()
    events: list[Event] = []
    for each in frames:
        events += reader.feed(each if isinstance(each, Frame) else frame(each))
    return events + reader.close()


def frames_of(dialect: Dialect, events: Iterable[Event]) -> tuple[list[Frame], Report]:
    """All frames that are written for these events."""
    writer = dialect.stream_writer()
    frames: list[Frame] = []
    for event in events:
        frames += writer.feed(event)
    return frames + writer.close(), writer.report


def bare(events: Iterable[Event]) -> list[Event]:
    """Events that carry no marks of a wire."""
    return [event.replace(frame=None) for event in events]


def check_home(
    wires: list[Any],
    events: list[Event],
    write: Callable[[list[Event]], tuple[list[Any], Report]],
) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    for reported in (events, _decode(msgspec.json.encode(events))):
        written, report = write(reported)
        assert difference(wires, written) is None
        assert list(report.entries) == []
    return events


def only_unread(events: list[Event], known: list[Event]) -> bool:
    """Whether nothing follows the known events but frames whose content is not read."""
    more = events[len(known) :]
    return events[: len(known)] == known and all(type(event) is Other for event in more)


def disorder(events: list[Event]) -> list[str]:
    """Where events break the law of their order, in a stream that has an end."""
    emitted = [event for event in events if type(event) is not Other]
    is_ended = bool(emitted) and isinstance(emitted[-1], MessageComplete | StreamError)
    return streams.disorder(events) + ([] if is_ended else ["no end"])
