"""The result of adapting a value to its target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.losses import Report

if TYPE_CHECKING:
    from interlingua.adapt.fit.answers import AnswerAdapter
    from interlingua.adapt.target import WireTarget


class Adapted(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """A request (or a response, or messages) in a form that its target accepts."""

    value: Any
    recorder: LossRecorder
    """Has the original of each part of the value."""
    answer_adapter: AnswerAdapter | None = None
    """Translates the answer back if the request had to be changed for this model."""
    target: WireTarget | None = None
    """The target that `write` writes for; None if only a dialect is known."""

    @property
    def report(self) -> Report:
        """The losses of the target, and the repairs of the history."""
        return self.recorder.report

    @property
    def scribe(self) -> LossRecorder:
        """The name of `recorder` in earlier releases."""
        return self.recorder

    @property
    def back(self) -> AnswerAdapter | None:
        """The name of `answer_adapter` in earlier releases."""
        return self.answer_adapter
