"""Writing a stream: events in, frames out."""

from __future__ import annotations

from interlingua.dialects.ollama.stream_abroad import Abroad
from interlingua.dialects.ollama.stream_home import Home
from interlingua.dialects.ollama.tables import NAME
from interlingua.dialects.streaming import TwoWays
from interlingua.model.events import FrameMark


class StreamWriter(TwoWays):
    """One stream of the chat."""

    def __init__(self) -> None:
        super().__init__(NAME)

    def _home(self) -> Home:
        return Home()

    def _abroad(self, mark: FrameMark | None) -> Abroad:
        return Abroad(self.report)
