"""Sessions, their turns, and the calls to models inside a turn."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from interlingua.bus.payloads.base import Count, Payload
from interlingua.model.exchange import ErrorKind
from interlingua.model.metadata import StopReason


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
    """What could not be said in the other's dialect: a report, without any content."""
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
