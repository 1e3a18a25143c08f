"""Writing a stream that came from elsewhere: as this wire wants it, one item after the other."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_responses.failures import is_failure
from interlingua.dialects.openai_responses.response import write_response
from interlingua.dialects.openai_responses.stream_frames import (
    CREATED,
    FAILED,
    ending_of,
)
from interlingua.dialects.openai_responses.stream_output import Output
from interlingua.dialects.openai_responses.stream_said import error_of, opening
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.streaming import FAILED as FAILED_MESSAGE
from interlingua.dialects.streaming import InTurn
from interlingua.model.blocks import TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    MessageComplete,
    MessageStart,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.streams.frames import Frame

_TOO_LATE = "a stream says it at its start, when it was not known"


class Abroad(InTurn):
    """Events in, frames out. One block is open at a time; what others say meanwhile waits. Usage
    and stop reason are said at the end, and losses are counted there."""

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._begun: Wire | None = None
        self._output = Output(None)

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        output = self._output
        said = output.current
        if said is None or said.index != event.index or said.head is None or event.choice:
            return self._block(event)
        return output.say(said, event.text)

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, event: MessageStart) -> list[Frame]:
        if event.choice or self._begun is not None or self._failed:
            return []
        self._begun = opening(event)
        self._output = Output(event.response_id)
        frames = [{"type": CREATED}, {"type": "response.in_progress"}]
        return [self._spell({**wire, "response": self._begun}) for wire in frames]

    def _spell(self, wire: Wire) -> Frame:
        return self._output.spell(wire)

    def _complete(self, event: MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        response = event.response
        told = response.message.metadata
        frames = self._start(MessageStart(told.response_model, told.response_id))
        while self._output.current is not None:
            frames += [*self._output.cut(), *self._go_on()]
        frames += self._output.close_item()
        scribe = Scribe(NAME, response, self._report)
        wire = self._as_begun(write_response(response, scribe), response, scribe)
        wire = self._output.agreed(wire)
        frames.append(self._spell({"type": ending_of(wire), "response": wire}))
        self._begin_anew()
        return frames

    def _as_begun(self, wire: Wire, response: Response, scribe: Scribe) -> Wire:
        """A response keeps the id that it began with."""
        if self._begun is not None and wire.get("id") != self._begun["id"]:
            if response.message.metadata.response_id is not None:
                scribe.lost(response.message, "metadata.response_id", _TOO_LATE)
            wire["id"] = self._begun["id"]
        return wire

    def _fail(self, event: StreamError) -> list[Frame]:
        if self._failed:
            return []
        error, partial = event.error, event.partial
        response = Response(partial or FAILED_MESSAGE, error=error)
        scribe = Scribe(NAME, response, self._report)
        wire = write_response(response, scribe)
        if is_failure(wire):
            frames = [self._spell(error_of(error, wire))]
        else:
            told = response.message.metadata
            frames = self._start(MessageStart(told.response_model, told.response_id))
            wire = self._as_begun(wire, response, scribe)
            frames.append(self._spell({"type": FAILED, "response": wire}))
        self._failed, self._output.current = True, None
        return frames

    # -- blocks -----------------------------------------------------------------------------------

    def _turn(self) -> int | None:
        current = self._output.current
        return None if current is None else current.index

    def _tell(self, event: Any) -> list[Frame]:
        output = self._output
        said = output.current
        match event:
            case BlockStart():
                return output.open(event.index, event.block)
            case ToolUseStart():
                return output.open_call(event)
            case BlockEnd() if said is not None:
                return output.end(said, event.block)
            case ToolUseEnd() if said is not None:
                return output.end_call(said, event)
            case TextDelta(text="") | ThinkingDelta(text="") if said is None:
                return []
            case TextDelta() if said is None:
                return [*output.open(event.index, TextBlock("")), *self._piece(event)]
            case ThinkingDelta() if said is None:
                return [*output.open(event.index, ThinkingBlock("")), *self._piece(event)]
            case BlockDelta() if said is not None:
                return output.delta(said, event)
            case TextDelta() | ThinkingDelta() | ToolUseInputDelta() if said is not None:
                return output.say(said, event.text)
            case _:
                return []
