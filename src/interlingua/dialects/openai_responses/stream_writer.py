"""Writing a stream: events in, frames out."""

from __future__ import annotations

from interlingua.dialects.openai_responses.stream_abroad import Abroad
from interlingua.dialects.openai_responses.stream_home import Home
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.streaming import TwoWays
from interlingua.model.blocks import CompactionBlock
from interlingua.model.events import FrameMark


class StreamWriter(TwoWays):
    """One stream of the Responses API."""

    def __init__(self) -> None:
        super().__init__(NAME)

    def _keeps(self, block: CompactionBlock) -> bool:
        return block.data is not None and not block.text

    def _home(self) -> Home:
        return Home()

    def _abroad(self, mark: FrameMark | None) -> Abroad:
        return Abroad(self.report)
