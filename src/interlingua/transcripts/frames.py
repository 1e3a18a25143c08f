"""Lines of JSON, or the same values as server-sent events: what a stream was recorded as."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from interlingua.losses import Report
from interlingua.transcripts.lines import Line, LinesFile, whole
from interlingua.transcripts.transcript import Span

_DATA = b"data:"
_DONE = b"[DONE]"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def is_events(head: bytes) -> bool:
    """Whether a file that begins so is made of server-sent events."""
    return head.lstrip().startswith(_FIELDS)


def form(name: str) -> str:
    """Whether a file of this name is a recorded stream, or lines or a value."""
    return "stream" if name.endswith(".sse") else "values"


def recorded(path: Path, report: Report) -> LinesFile:
    """The values of a recording, whichever of both it is."""
    with path.open("rb") as file:
        events = is_events(file.read(64))
    return EventsFile(path, report) if events else LinesFile(path, report)


class EventsFile(LinesFile):
    """Server-sent events with an object each. `done`: the stream says that it is complete."""

    done = False

    def lines(
        self, skip: tuple[bytes, ...] = (), decode: Callable[[bytes], Any] = whole
    ) -> Iterator[Line]:
        start = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                end = start + len(line)
                data = line.strip()
                if data.startswith(_DATA):
                    yield from self._value(data[len(_DATA) :].lstrip(), number, start, end)
                elif data and not data.startswith(_FIELDS):
                    self.report.add("dropped", f"line {number}", "it is no event", "error")
                start = end
        self.size = start

    def _value(self, data: bytes, number: int, start: int, end: int) -> Iterator[Line]:
        if data == _DONE:
            self.done = True
            return
        value = self._object(data, number)
        if value is not None:
            yield Line(number, Span(start, end, self.file), value)
