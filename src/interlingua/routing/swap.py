"""Whether a session's whole history can be continued by another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.bus.payloads.routes import ConstraintFailure, FailureCode
from interlingua.model.blocks import ImageBlock
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.model.walk import walk
from interlingua.routing.limits import CapabilityLookup, Failure, failure_of
from interlingua.routing.registry import Registry
from interlingua.routing.turn import needs_of


@dataclass(frozen=True)
class Refusal:
    """Why the model stays as it is."""

    model: str
    failure: Failure
    images: int = 0
    active_model: str | None = None

    @property
    def text(self) -> str:
        """What a person is told: which model, why, and that nothing has changed."""
        why = self.failure.reason
        if self.failure.code is FailureCode.NO_VISION_SUPPORT:
            count = "an image" if self.images == 1 else f"{self.images} images"
            why = f"the conversation contains {count}, and {why}"
        active = self.active_model or "not set"
        return f"Cannot switch to {self.model}: {why}. The active model is unchanged: {active}."

    def event(self) -> ConstraintFailure:
        """What `routing.constraint_failure` says."""
        return ConstraintFailure(
            model=self.model,
            code=self.failure.code,
            reason=self.failure.reason,
            active_model=self.active_model,
        )


def check_swap(
    model: str,
    history: Sequence[Message],
    registry: Registry,
    capabilities: CapabilityLookup,
    *,
    active_model: str | None = None,
    tools: Sequence[ToolDefinition] = (),
    input_tokens: int = 0,
) -> Refusal | None:
    """None if the model can take the session over as it is. Images count wherever they stand, and
    so do their media types, the tools and the window. Whether the model answers at the moment does
    not: that is for the next turn to find out."""
    needs = needs_of(history, tools, input_tokens=input_tokens)
    failure = failure_of(model, needs, registry, capabilities)
    if failure is None:
        return None
    images = sum(isinstance(block, ImageBlock) for _, _, block in walk(history))
    return Refusal(model, failure, images, active_model)
