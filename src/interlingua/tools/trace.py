"""The events of the calls of one message, each with the event that caused it."""

from __future__ import annotations

import hashlib
import logging
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from interlingua.events.event import NO_SESSION, Event, QueueFullError
from interlingua.events.payloads import (
    ToolCalled,
    ToolCompleted,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolErrorClass,
    ToolFailed,
    ToolInputInvalid,
    ValidationProblem,
)
from interlingua.tools.results import sound

if TYPE_CHECKING:
    from interlingua.events.bus import Bus
    from interlingua.events.event import TurnTrace
    from interlingua.events.payloads import Payload
    from interlingua.model.blocks import ToolUseBlock
    from interlingua.model.tools import SideEffects
    from interlingua.tools.confirm import Outcome
    from interlingua.tools.handlers import ToolRun
    from interlingua.tools.schema import Problem

logger = logging.getLogger(__name__)

MAX_NAME = 128
MAX_FILES = 100
MAX_COMMAND = 1000


class CallTrace:
    """Emits what happens to one call: through the turn's trace, to a bus, or to nobody.

    A full queue of events is no reason to stop a tool: the bus has logged it.
    """

    def __init__(
        self,
        call: ToolUseBlock,
        *,
        turn: TurnTrace | None = None,
        bus: Bus | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
        parent_event_id: str | None = None,
    ) -> None:
        self._id = sound(call.id)
        self._name = sound(call.name)[:MAX_NAME]  # a model may have made it up
        self._turn = turn
        self._bus = bus
        self._ids = (session_id or NO_SESSION, turn_id)
        self._parent = parent_event_id
        self._question: str | None = None
        self._called: str | None = None
        self._started: float | None = None

    def invalid(self, problems: list[Problem]) -> None:
        errors = tuple([ValidationProblem(path=path, problem=text) for path, text in problems])
        payload = ToolInputInvalid(
            tool_name=self._name, validation_errors=errors, tool_use_id=self._id
        )
        self._emit("tool.input_invalid", payload, self._parent)

    def asked(self, side_effects: SideEffects, timeout: float) -> None:
        payload = ToolConfirmationRequested(
            tool_use_id=self._id,
            tool_name=self._name,
            side_effects=side_effects,
            timeout_ms=round(timeout * 1000),
        )
        event = self._emit("tool.confirmation_requested", payload, self._parent)
        self._question = self._parent if event is None else event.id

    def answered(self, outcome: Outcome, latency_ms: int) -> None:
        payload = ToolConfirmationResolved(
            tool_use_id=self._id, tool_name=self._name, outcome=outcome, latency_ms=latency_ms
        )
        self._emit("tool.confirmation_resolved", payload, self._question)

    def called(self, input: object, side_effects: SideEffects) -> None:
        data = msgspec.json.encode(input, order="sorted")
        payload = ToolCalled(
            tool_use_id=self._id,
            name=self._name,
            input_hash=hashlib.sha256(data).hexdigest(),
            input_size=len(data),
            side_effects=side_effects,
        )
        event = self._emit("tool.called", payload, self._parent)
        self._called = self._parent if event is None else event.id
        self._started = monotonic()

    def completed(self, success: bool, output_size: int, run: ToolRun) -> None:
        files = tuple([str(each) for each in list(run.files_modified)[:MAX_FILES]])
        payload = ToolCompleted(
            tool_use_id=self._id,
            name=self._name,
            success=success,
            output_size=output_size,
            latency_ms=milliseconds_since(self._started),
            files_modified=files or None,
            command=None if run.command is None else str(run.command)[:MAX_COMMAND],
        )
        self._emit("tool.completed", payload, self._called)

    def failed(self, error_class: ToolErrorClass) -> None:
        payload = ToolFailed(
            tool_use_id=self._id,
            name=self._name,
            error_class=error_class,
            latency_ms=milliseconds_since(self._started),
        )
        self._emit("tool.failed", payload, self._called or self._question or self._parent)

    def _emit(self, type: str, payload: Payload, parent: str | None) -> Event | None:
        try:
            if self._turn is not None:
                return self._turn.emit(type, payload)
            if self._bus is not None:
                session, turn = self._ids
                return self._bus.emit(
                    type, payload, session_id=session, turn_id=turn, parent_event_id=parent
                )
        except QueueFullError:
            logger.debug("event_not_emitted", extra={"type": type, "tool_use_id": self._id})
        return None


def milliseconds_since(start: float | None) -> int:
    """How long something took that began then; nothing, if it never began."""
    return 0 if start is None else round((monotonic() - start) * 1000)
