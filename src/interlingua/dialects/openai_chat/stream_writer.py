"""Writing a stream: events in, frames out."""

from __future__ import annotations

from interlingua.dialects.openai_chat.stream_abroad import Abroad
from interlingua.dialects.openai_chat.stream_home import Home
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, Tables
from interlingua.dialects.streaming import TwoWays
from interlingua.model.events import FrameMark


class StreamWriter(TwoWays):
    """One stream of Chat Completions."""

    tables: Tables = ANSWER_TABLES

    def __init__(self) -> None:
        super().__init__(self.tables.name)

    def _home(self) -> Home:
        return Home(self.tables)

    def _abroad(self, mark: FrameMark | None) -> Abroad:
        return Abroad(self.tables, self.report, mark)
