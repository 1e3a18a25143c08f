"""Tools: calls, their ends, and questions put to a person before one runs."""

from __future__ import annotations

from typing import Literal

from interlingua.bus.payloads.base import Count, Payload
from interlingua.model.tools import SideEffects

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
    """`success` is false where the tool ran and said that it failed."""

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
