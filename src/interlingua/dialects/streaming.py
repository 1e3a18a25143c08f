"""Where dialects that are not on the kernel's way home look for what streams share."""

from __future__ import annotations

from abc import ABC, abstractmethod

from interlingua.dialects.kernel.stream_home import Steps
from interlingua.dialects.kernel.stream_home import Way as Way
from interlingua.dialects.kernel.stream_home import kept_in as kept_in
from interlingua.dialects.kernel.stream_reader import call_of as call_of
from interlingua.dialects.kernel.stream_reader import failed as failed
from interlingua.dialects.kernel.stream_reader import finish_call as finish_call
from interlingua.dialects.kernel.stream_reader import start_of_block as start_of_block
from interlingua.dialects.kernel.stream_reader import without_reason as without_reason
from interlingua.dialects.kernel.stream_writer import FAILED as FAILED
from interlingua.dialects.kernel.stream_writer import NO_TURN as NO_TURN
from interlingua.dialects.kernel.stream_writer import InPieces as InPieces
from interlingua.dialects.kernel.stream_writer import InTurn as InTurn
from interlingua.dialects.kernel.stream_writer import beside_error as beside_error
from interlingua.dialects.kernel.stream_writer import with_summaries
from interlingua.losses import Report
from interlingua.model.blocks import CompactionBlock
from interlingua.model.events import Event, FrameMark
from interlingua.streams.frames import Frame


class TwoWays(ABC):
    """A writer whose dialect makes its frames again on the way home."""

    def __init__(self, name: str) -> None:
        self.report = Report(name)
        self._name = name
        self._way: Way | None = None
        self.steps: Steps = {}

    def feed(self, event: Event) -> list[Frame]:
        if self._way is None:
            self._choose(event)
        return self.steps[type(event)](event)

    def close(self) -> list[Frame]:
        return [] if self._way is None else self._way.close()

    def _choose(self, event: Event) -> None:
        mark = event.frame
        ours = mark is not None and mark.rest is not None and self._name in mark.rest
        self._way = self._home() if ours else self._abroad(mark)
        self.steps = self._way.steps if ours else with_summaries(self._way.steps, self._keeps)

    def _keeps(self, block: CompactionBlock) -> bool:
        return False

    @abstractmethod
    def _home(self) -> Way: ...

    @abstractmethod
    def _abroad(self, mark: FrameMark | None) -> Way: ...
