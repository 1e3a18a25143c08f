"""Writing a stream: events in, frames out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.openai_responses.stream_abroad import Abroad
from interlingua.dialects.openai_responses.stream_home import Home
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.losses import Report
from interlingua.model.events import Event
from interlingua.streams.frames import Frame


class StreamWriter:
    """One stream of the Responses API. Its first event tells whether it is a stream of this dialect
    that goes home; the marks of others say nothing here."""

    def __init__(self) -> None:
        self.report = Report(NAME)
        self._way: Home | Abroad | None = None
        self._steps: dict[type, Callable[[Any], list[Frame]]] = {}

    def feed(self, event: Event) -> list[Frame]:
        if self._way is None:
            self._choose(event)
        return self._steps[type(event)](event)

    def close(self) -> list[Frame]:
        return [] if self._way is None else self._way.close()

    def _choose(self, event: Event) -> None:
        mark = event.frame
        ours = mark is not None and mark.rest is not None and NAME in mark.rest
        self._way = Home() if ours else Abroad(self.report)
        self._steps = self._way.steps
