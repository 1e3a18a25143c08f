"""How a model was chosen, what stood in the way, and what was learned from earlier choices."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from interlingua.bus.payloads.base import Count, Payload, Share
from interlingua.model.base import plain_members


@plain_members
class Slot(StrEnum):
    """The seven slots of the chain, in their order."""

    PER_MESSAGE_OVERRIDE = "per_message_override"
    MANUAL_STICKY = "manual_sticky"
    RULE = "rule"
    PATTERN = "pattern"
    DELEGATE_REQUEST = "delegate_request"
    WORKSPACE_DEFAULT = "workspace_default"
    GLOBAL_DEFAULT = "global_default"


@plain_members
class Verdict(StrEnum):
    NOT_APPLICABLE = "not_applicable"
    DEFERRED = "deferred"
    """Reserved; no slot says it today."""
    REJECTED = "rejected"
    CHOSE = "chose"


@plain_members
class FailureCode(StrEnum):
    """Why a model cannot serve a turn, in the order in which the causes are looked for."""

    NOT_CONFIGURED = "not_configured"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    NO_VISION_SUPPORT = "no_vision_support"
    EXCEEDS_CONTEXT_WINDOW = "exceeds_context_window"
    NO_TOOL_SUPPORT = "no_tool_support"
    NO_SYSTEM_PROMPT_SUPPORT = "no_system_prompt_support"
    NO_STRUCTURED_OUTPUT_SUPPORT = "no_structured_output_support"
    SIDE_EFFECTS_NOT_ALLOWED = "side_effects_not_allowed"


class PatternAlternative(Payload, frozen=True):
    model: str
    score: float


class ChainStep(Payload, frozen=True):
    """What one slot had to say."""

    policy: Slot
    verdict: Verdict
    candidate_model: str | None = None
    reason: str | None = None
    rule_name: str | None = None
    confidence: Share | None = None
    pattern_alternatives: tuple[PatternAlternative, ...] = ()
    validation_failure: FailureCode | None = None


class RouteDecided(Payload, frozen=True):
    """The chain up to the winner. `winner_index` is -1 where nobody won; `reason` then says why."""

    chosen_model: str | None
    winner_index: Annotated[int, msgspec.Meta(ge=-1, le=6)]
    elapsed_ms: Annotated[float, msgspec.Meta(ge=0)]
    chain: tuple[ChainStep, ...]
    reason: str | None = None


class RouteOverridden(Payload, frozen=True):
    """A person chose a model: by command, at the start of a message, or in an API field."""

    via: Literal["command", "message", "api"]
    model: str | None
    """None where the choice was taken back."""
    previous_model: str | None = None
    queued: bool = False


class PolicyInvalid(Payload, frozen=True):
    path: str
    problems: tuple[str, ...]
    version_in_force: str | None = None


class ProviderUnavailable(Payload, frozen=True):
    """`model` is None where the whole provider is marked."""

    provider: str
    reason: str
    model: str | None = None
    for_seconds: float | None = None
    """None: until a call works, or nothing was tried for some minutes."""


class ProviderRecovered(Payload, frozen=True):
    provider: str
    reason: str
    model: str | None = None


class ConstraintFailure(Payload, frozen=True):
    """A change of model was refused; there is no turn, and so no `route.decided`."""

    model: str
    code: FailureCode
    reason: str
    active_model: str | None = None


class PatternRecorded(Payload, frozen=True):
    fingerprint: str
    model: str
    success: Share
    cost_usd: Decimal | None = None


class PatternMatched(Payload, frozen=True):
    fingerprint: str
    model: str
    confidence: Share
    sample_size: Count


class PatternEvicted(Payload, frozen=True):
    fingerprint: str
    reason: Literal["age", "capacity", "reset"]


class PatternOverrideDismissed(Payload, frozen=True):
    fingerprint: str
    model: str


class DelegateStarted(Payload, frozen=True):
    worker_session_id: str
    model: str
    task_hash: str


class DelegateCompleted(Payload, frozen=True):
    worker_session_id: str
    model: str
    cost_usd: Decimal | None
    wall_time_ms: Count


class DelegateFailed(Payload, frozen=True):
    worker_session_id: str
    error_class: str
    wall_time_ms: Count
    model: str | None = None
