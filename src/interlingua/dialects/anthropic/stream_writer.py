"""Writing a stream: events in, frames out."""

from __future__ import annotations

from interlingua.dialects.anthropic.stream_abroad import Abroad
from interlingua.dialects.anthropic.stream_home import Home
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.streaming import TwoWays
from interlingua.model.blocks import CompactionBlock
from interlingua.model.events import FrameMark


class StreamWriter(TwoWays):
    """One stream of the Messages API."""

    def __init__(self) -> None:
        super().__init__(NAME)

    def _keeps(self, block: CompactionBlock) -> bool:
        return True

    def _home(self) -> Home:
        return Home()

    def _abroad(self, mark: FrameMark | None) -> Abroad:
        return Abroad(self.report)
