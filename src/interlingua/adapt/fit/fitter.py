"""A fitting under way: the request, the changes to it, and their report."""

from __future__ import annotations

from typing import Any

from interlingua.adapt.facts import Facts
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.registry import traits_of
from interlingua.model.blocks import Block
from interlingua.model.exchange import Request
from interlingua.model.losses import LossKind, Severity
from interlingua.model.message import Message
from interlingua.model.reasons import Reason
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.profile import Profile

MAXIMUM = "max_output_tokens"
FORM = "$form"


class Fitter:
    """The steps read with `now` and write with `change`; `lost` reports their changes."""

    def __init__(
        self, request: Request, profile: Profile, recorder: LossRecorder, facts: Facts | None = None
    ) -> None:
        self.request = request
        self._facts = facts
        self.profile = profile
        self.recorder = recorder
        self.dialect = recorder.dialect
        self.traits = traits_of(recorder.dialect)
        self.messages: tuple[Message, ...] = request.messages
        self.tools: tuple[ToolDefinition, ...] = request.tools
        self.thinking = False
        """Whether the model will think; `on_budget`, whether it was given so many tokens for it."""
        self.on_budget = False
        self.effort_none = False
        """Whether reasoning is switched off, or is off by default."""
        self.names: dict[str, str] = {}
        """The names that tools are called by here, to those that they have."""
        self.json_tool: str | None = None
        """The tool that is called in place of an answer in JSON."""
        self.moved: set[int] = set()
        """Instructions that were already reported as moved."""
        self.spelling: dict[str, Any] = {}
        self.respelled: dict[str, Any] = {}
        """The spelling of a field for this model, if its dialect has several."""
        self._changed: dict[str, Any] = {}

    @property
    def facts(self) -> Facts | None:
        """Facts about the messages, as long as none was changed."""
        return self._facts if self.messages is self.request.messages else None

    # -- options ----------------------------------------------------------------------------------

    def now(self, option: str) -> Any:
        if option in self._changed:
            return self._changed[option]
        return getattr(self.request.options, option)

    def change(self, option: str, value: Any) -> None:
        self._changed[option] = value

    # -- the account ------------------------------------------------------------------------------

    def lost(
        self,
        option: str,
        field: str,
        reason: Reason,
        kind: LossKind = "approximated",
        severity: Severity | None = None,
    ) -> None:
        """A loss at an option, or inside one; `field` is that of the profile that asks for it."""
        self.lost_at(self.request.options, option, field, reason, kind, severity)

    def lost_at(
        self,
        value: Any,
        inside: str | None,
        field: str,
        reason: Reason,
        kind: LossKind = "approximated",
        severity: Severity | None = None,
    ) -> None:
        """A loss at any part of the request."""
        rule = self.profile.rule(field)
        text = reason.about(self.profile.subject(rule), rule)
        self.recorder.lost(value, inside, text, kind, severity, None if rule is None else rule.id)

    def drop(
        self, option: str, field: str, reason: Reason, severity: Severity | None = None
    ) -> None:
        """Leave an option out."""
        self.change(option, None)
        self.lost(option, field, reason, "dropped", severity)

    def drop_block(
        self, block: Block, field: str, reason: Reason, severity: Severity | None = None
    ) -> None:
        rule = self.profile.rule(field)
        text = reason.about(self.profile.subject(rule), rule)
        self.recorder.dropped(block, text, severity, None if rule is None else rule.id)

    def stands_for(self, new: Any, original: Any) -> Any:
        self.recorder.alias(new, original)
        return new

    # -- the end ----------------------------------------------------------------------------------

    def fitted(self) -> Request:
        """The request with all changes; the original if nothing changed."""
        request = self.request
        changes: dict[str, Any] = {}
        if self._changed:
            changes["options"] = self._options()
        if self.messages is not request.messages:
            changes["messages"] = self.messages
        if self.tools is not request.tools:
            changes["tools"] = self.tools
        if self.spelling or self.respelled:
            own_raw = dict((request.raw or {}).get(self.dialect) or {})
            own_raw[FORM] = {**self.spelling, **(own_raw.get(FORM) or {}), **self.respelled}
            changes["raw"] = {**(request.raw or {}), self.dialect: own_raw}
        return request.replace(**changes) if changes else request

    def _options(self) -> Any:
        options = self.request.options
        for option in ("reasoning", "response_format", "tool_choice"):
            old, new = getattr(options, option), self._changed.get(option)
            if old is not None and new is not None and new is not old:
                self.recorder.alias(new, old)
        return self.stands_for(options.replace(**self._changed), options)
