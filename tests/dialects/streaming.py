"""Reading and writing small streams in tests, and the law of the order of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from interlingua.dialects.record import Dialect
from interlingua.losses import Report
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    StreamError,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.pointer import difference
from interlingua.streams.frames import Frame

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
    for told in (events, _decode(msgspec.json.encode(events))):
        written, report = write(told)
        assert difference(wires, written) is None
        assert list(report) == []
    return events


def disorder(events: list[Event]) -> list[str]:
    """Where events break the law of their order, in a stream of one answer after the other."""
    problems: list[str] = []
    opened: set[int] = set()
    seen: set[int] = set()
    under_way = False
    for event in events:
        if isinstance(event, MessageStart):
            if under_way:
                problems.append("a message inside another")
            under_way, opened, seen = True, set(), set()
        elif isinstance(event, StreamError):
            under_way = False
        elif not isinstance(event, Other) and not under_way:
            problems.append(f"{type(event).__name__} outside a message")
        if isinstance(event, BlockStart | ToolUseStart):
            if event.index in seen:
                problems.append("an index twice")
            opened.add(event.index)
            seen.add(event.index)
        elif hasattr(event, "index") and event.index not in opened:
            problems.append(f"{type(event).__name__} outside a block")
        if isinstance(event, BlockEnd | ToolUseEnd):
            opened.discard(event.index)
        if isinstance(event, MessageComplete):
            under_way = False
            if opened:
                problems.append("a block that nothing closed")
    if not isinstance(events[-1], MessageComplete | StreamError):
        problems.append("no end")
    return problems
