"""What the two faces of sessions, turns and calls show without asking the store."""

from __future__ import annotations

from typing import Any

from interlingua.adapters.adapter import Adapter
from interlingua.bus.turn import TurnTrace
from interlingua.losses import Report
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message
from interlingua.outbound import WrittenRequest
from interlingua.routing.decision import Decision, show
from interlingua.sessions.call import CallCore
from interlingua.sessions.core import Core
from interlingua.sessions.turn import TurnCore
from interlingua.store.rows import SessionRow
from interlingua.tools.registry import ToolRegistry


class SessionFace:
    """A session that was read or made."""

    _core: Core

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} with {self.model}>"

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def row(self) -> SessionRow:
        """The session as the store has it."""
        return self._core.row

    @property
    def model(self) -> str | None:
        """The model in use: the one that was chosen, else the session's default."""
        return self._core.model

    @property
    def decision(self) -> Decision | None:
        """How the model of the last turn was chosen."""
        return self._core.decision

    @property
    def tools(self) -> ToolRegistry | None:
        """The tools of this session."""
        return self._core.setting.tools

    @property
    def in_turn(self) -> bool:
        return self._core.turn is not None

    def show(self) -> str:
        """What `/model show` prints."""
        return show(self._core.decision)


class TurnFace:
    """A turn that has started."""

    _core: TurnCore

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def model(self) -> str:
        return self._core.model

    @property
    def decision(self) -> Decision:
        return self._core.decision

    @property
    def trace(self) -> TurnTrace:
        """Emits further events of this turn, such as those of tools."""
        return self._core.trace

    @property
    def options(self) -> Options | None:
        """How its answers are generated, where somebody said so."""
        return self._core.options

    @property
    def ended(self) -> bool:
        return self._core.ended

    @property
    def answers(self) -> tuple[Message, ...]:
        """What the model said in this turn."""
        return tuple(self._core.made)

    def open_calls(self) -> dict[str, str]:
        """Calls that wait for a result: id to the tool's name."""
        return self._core.open()


class CallFace:
    """A request that can be sent."""

    _core: CallCore

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def adapter(self) -> Adapter:
        return self._core.adapter

    @property
    def request(self) -> Request:
        """What is to be said, canonical, under the ids that the provider knows."""
        return self._core.request

    @property
    def wire(self) -> Any:
        """The same as the provider takes it."""
        return self._core.wire()

    @property
    def report(self) -> Report:
        """What the wire could not say."""
        report = self._core.report
        return self._core.written.report if report is None else report

    @property
    def written_request(self) -> WrittenRequest | None:
        """The wire, for a client that is to send it; None where something may not be left out."""
        return self._core.written_request()

    def sent(self, report: Report | None) -> None:
        """It was written by a client of its own: what that could not say."""
        self._core.report = report

    @property
    def message(self) -> Message | None:
        """The answer as it is stored."""
        return self._core.message

    @property
    def ended(self) -> bool:
        return self._core.ended
