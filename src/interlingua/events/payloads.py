"""Payloads of events, one Struct per type, grouped by domain.

No field holds the text of a message or the input of a tool: hashes, sizes and counts stand for
them. Texts named `redacted_…` were cleaned by the emitter."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec

from interlingua.model.base import plain_members
from interlingua.model.exchange import ErrorKind
from interlingua.model.metadata import StopReason
from interlingua.model.tools import SideEffects

Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Payload(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of all payloads. Fields are keywords; unknown ones are refused."""


class SessionCreated(Payload, frozen=True):
    workspace_path: str
    workspace_hash: str
    initial_active_model: str | None = None
    routing_policy_version: str | None = None
    """The hash of the rules file that was in force."""


class SessionResumed(Payload, frozen=True):
    active_model: str | None = None
    message_count: Count = 0
    routing_policy_version: str | None = None


class SessionEnded(Payload, frozen=True):
    disposition: Literal["completed", "abandoned", "error"]
    turn_count: Count
    total_cost_usd: Decimal | None
    """None where the price of some call is unknown."""
    duration_ms: Count


class TurnStarted(Payload, frozen=True):
    """The text itself is never here: its hash, and at most a text that was redacted."""

    message_hash: str
    estimated_input_tokens: Count
    has_images: bool
    has_tool_calls_in_history: bool
    redacted_text: str | None = None


class TurnCompleted(Payload, frozen=True):
    stop_reason: StopReason
    llm_call_count: Count
    tool_call_count: Count
    input_tokens: Count
    output_tokens: Count
    cost_usd: Decimal | None
    wall_time_ms: Count
    cached_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    gateway_key_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None


class TurnCancelled(Payload, frozen=True):
    """The counts are those reached before the end."""

    reason: Literal["user_cancel", "client_disconnect", "timeout"]
    llm_call_count: Count = 0
    tool_call_count: Count = 0
    output_tokens: Count = 0


class LlmCallStarted(Payload, frozen=True):
    model: str
    provider: str
    estimated_input_tokens: Count
    request_id: str
    is_worker: bool = False


class LlmCallCompleted(Payload, frozen=True):
    model: str
    provider: str
    input_tokens: Count
    output_tokens: Count
    cost_usd: Decimal | None
    pricing_version: str | None
    latency_ms: Count
    stop_reason: StopReason
    cached_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    produced_tool_calls: Count = 0
    produced_thinking_blocks: Count = 0
    request_id: str | None = None
    gateway_key_id: str | None = None
    inbound_shape: str | None = None
    """The dialect a client of the gateway spoke."""
    user_id: str | None = None
    team_id: str | None = None
    losses: dict[str, Any] | None = None
    """Losses of a conversion: a report, without any content."""
    message_id: str | None = None
    """The answer, where a session keeps it."""


class LlmCallFailed(Payload, frozen=True):
    model: str
    provider: str
    error_class: ErrorKind
    redacted_message: str
    retry_count: Count
    latency_ms: Count
    request_id: str | None = None
    gateway_key_id: str | None = None
    inbound_shape: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    losses: dict[str, Any] | None = None


ToolErrorClass = Literal[
    "timeout",
    "permission_denied",
    "not_found",
    "validation_error",
    "execution_error",
    "cancelled",
    "user_denied",
    "confirmation_timeout",
]


class ToolCalled(Payload, frozen=True):
    tool_use_id: str
    name: str
    input_hash: str
    input_size: Count
    side_effects: SideEffects


class ToolCompleted(Payload, frozen=True):
    """`success` is false if the tool ran and reported a failure."""

    tool_use_id: str
    name: str
    success: bool
    output_size: Count
    latency_ms: Count
    files_modified: tuple[str, ...] | None = None
    command: str | None = None


class ToolFailed(Payload, frozen=True):
    tool_use_id: str
    name: str
    error_class: ToolErrorClass
    latency_ms: Count = 0
    redacted_message: str | None = None


class ValidationProblem(Payload, frozen=True):
    path: str
    problem: str


class ToolInputInvalid(Payload, frozen=True):
    tool_name: str
    validation_errors: tuple[ValidationProblem, ...]
    tool_use_id: str | None = None


class ToolConfirmationRequested(Payload, frozen=True):
    tool_use_id: str
    tool_name: str
    side_effects: SideEffects
    timeout_ms: Count


class ToolConfirmationResolved(Payload, frozen=True):
    tool_use_id: str
    tool_name: str
    outcome: Literal["approved", "denied", "timeout", "cancelled"]
    latency_ms: Count


QuotaScope = Literal["key", "user", "team", "model", "tag", "end_user"]
QuotaWindow = Literal["day", "week", "month"]


class FeedbackExplicit(Payload, frozen=True):
    """A person's feedback on an answer."""

    message_id: str
    rating: Literal["up", "down"]
    redacted_comment: str | None = None


class FeedbackImplicit(Payload, frozen=True):
    """A person's action that is feedback about an answer."""

    message_id: str
    signal: Literal["retried", "edited", "overridden", "accepted", "abandoned"]
    strength: Share = 1.0


class SubscriberRegistered(Payload, frozen=True):
    name: str
    fast_path: bool
    types: tuple[str, ...] | None = None


class SubscriberUnregistered(Payload, frozen=True):
    name: str


class GapDetected(Payload, frozen=True):
    """A subscriber was too slow and missed these events; the store still has them."""

    name: str
    first_event_id: str
    last_event_id: str
    missed: Count


class ProviderDegraded(Payload, frozen=True):
    provider: str
    reason: str
    model: str | None = None
    error_rate: Share | None = None
    route: str | None = None


class KeyIssued(Payload, frozen=True):
    gateway_key_id: str
    user_id: str | None = None
    team_id: str | None = None


class KeyRevoked(Payload, frozen=True):
    gateway_key_id: str


class KeyRotated(Payload, frozen=True):
    """The new key belongs to the same user and team as the old one."""

    gateway_key_id: str
    new_gateway_key_id: str


class AuthFailed(Payload, frozen=True):
    """`secret_hash_prefix` is at most the first eight hex digits of the hash of the secret."""

    code: str
    inbound_shape: str | None = None
    gateway_key_id: str | None = None
    secret_hash_prefix: Annotated[str, msgspec.Meta(max_length=8)] | None = None


class QuotaExceeded(Payload, frozen=True):
    scope: QuotaScope
    window: QuotaWindow
    limit_usd: Decimal
    current_usd: Decimal
    gateway_key_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None


class QuotaAlert(Payload, frozen=True):
    """A soft limit was passed: `percent` of the hard one."""

    scope: QuotaScope
    window: QuotaWindow
    percent: Count
    limit_usd: Decimal
    current_usd: Decimal
    gateway_key_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None


class TraceSwept(Payload, frozen=True):
    """Old events were deleted."""

    deleted: Count
    older_than: str


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
    """Reserved; no slot uses it today."""
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
    """The decision of one slot."""

    policy: Slot
    verdict: Verdict
    candidate_model: str | None = None
    reason: str | None = None
    rule_name: str | None = None
    confidence: Share | None = None
    pattern_alternatives: tuple[PatternAlternative, ...] = ()
    validation_failure: FailureCode | None = None


class RouteDecided(Payload, frozen=True):
    """The chain up to the winner. `winner_index` is -1 without a winner; `reason` then has the
    cause."""

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
    """`model` is None if the whole provider is marked."""

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
    tool_use_id: str | None = None


class DelegateCompleted(Payload, frozen=True):
    worker_session_id: str
    model: str
    cost_usd: Decimal | None
    wall_time_ms: Count
    tool_use_id: str | None = None


class DelegateFailed(Payload, frozen=True):
    worker_session_id: str
    error_class: str
    wall_time_ms: Count
    model: str | None = None
    tool_use_id: str | None = None
