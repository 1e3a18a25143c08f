"""Every type of event there is: its payload, how private it can be, and what it tells.

The list is closed. Drops of blocks, a full queue and failing handlers are not in it on purpose:
they are log entries only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from interlingua.bus.event import Actor, Sensitivity
from interlingua.bus.payloads import conversation, routes, service, tools
from interlingua.bus.payloads.base import Payload

DOMAINS = (
    *("session", "turn", "llm", "tool", "route", "skill", "memory", "delegate", "feedback", "bus"),
    *("pattern", "provider", "eval", "routing", "gateway", "quota", "trace"),
)
"""What a type may begin with. `skill`, `memory` and `eval` are reserved and have no types yet."""

LIVE_PREFIXES = ("message.", "text.", "thinking.", "tool.use_")
"""These names belong to the live stream, whose events are not stored."""

ALIASES = {
    "tool_input_invalid": "tool.input_invalid",
    "routing_constraint_failure": "routing.constraint_failure",
}
"""Spellings that some documents use for two of the types; events carry the catalogue's own."""

_PRIVATE = Sensitivity.PRIVATE
_USER = Sensitivity.USER_CONTROLLED
_PSEUDONYMOUS = Sensitivity.PSEUDONYMOUS
_AGGREGATABLE = Sensitivity.AGGREGATABLE


class EventType(NamedTuple):
    """`floor` is the most private that an event of this type can be, and what it is unless its
    emitter knows it to be less private."""

    name: str
    payload: type[Payload]
    says: str
    floor: Sensitivity = _PRIVATE
    actor: Actor = Actor.SYSTEM
    """Who is behind it unless the emitter says otherwise."""


def _types(actor: Actor, *rows: tuple[str, type[Payload], Sensitivity, str]) -> list[EventType]:
    return [EventType(name, payload, says, floor, actor) for name, payload, floor, says in rows]


TYPES: tuple[EventType, ...] = (
    *_types(
        Actor.USER,
        ("session.created", conversation.SessionCreated, _PRIVATE, "a session was created"),
        ("session.resumed", conversation.SessionResumed, _PSEUDONYMOUS, "a session was reopened"),
        ("session.ended", conversation.SessionEnded, _PSEUDONYMOUS, "a session ended"),
        ("turn.started", conversation.TurnStarted, _PRIVATE, "a user message started a turn"),
        ("turn.cancelled", conversation.TurnCancelled, _PSEUDONYMOUS, "a turn was cancelled"),
    ),
    *_types(
        Actor.AGENT,
        ("turn.completed", conversation.TurnCompleted, _PSEUDONYMOUS, "a turn completed"),
        ("llm.call_started", conversation.LlmCallStarted, _PSEUDONYMOUS, "a model call started"),
        (
            "llm.call_completed",
            conversation.LlmCallCompleted,
            _PSEUDONYMOUS,
            "a model call succeeded",
        ),
        ("llm.call_failed", conversation.LlmCallFailed, _PRIVATE, "a model call failed"),
        ("tool.called", tools.ToolCalled, _USER, "a tool is about to run"),
    ),
    *_types(
        Actor.TOOL,
        ("tool.completed", tools.ToolCompleted, _PRIVATE, "a tool succeeded"),
        ("tool.failed", tools.ToolFailed, _PRIVATE, "a tool failed"),
    ),
    *_types(
        Actor.SYSTEM,
        (
            "tool.input_invalid",
            tools.ToolInputInvalid,
            _PRIVATE,
            "tool input does not match its schema",
        ),
        (
            "tool.confirmation_requested",
            tools.ToolConfirmationRequested,
            _USER,
            "the user was asked whether a tool may run",
        ),
        (
            "tool.confirmation_resolved",
            tools.ToolConfirmationResolved,
            _USER,
            "the user's answer to that",
        ),
        (
            "route.decided",
            routes.RouteDecided,
            _USER,
            "the model of a turn was chosen; once per turn",
        ),
        ("route.overridden", routes.RouteOverridden, _PSEUDONYMOUS, "a user chose the model"),
        ("routing.policy_invalid", routes.PolicyInvalid, _PRIVATE, "a rules file was rejected"),
        (
            "routing.provider_unavailable",
            routes.ProviderUnavailable,
            _AGGREGATABLE,
            "routing skips a provider or model from now on",
        ),
        (
            "routing.provider_recovered",
            routes.ProviderRecovered,
            _AGGREGATABLE,
            "routing uses it again",
        ),
        (
            "routing.constraint_failure",
            routes.ConstraintFailure,
            _PSEUDONYMOUS,
            "a change of model was refused because of the session's content",
        ),
        (
            "pattern.recorded",
            routes.PatternRecorded,
            _USER,
            "the outcome of a kind of turn was recorded",
        ),
        ("pattern.matched", routes.PatternMatched, _USER, "a turn matched a known kind"),
        ("pattern.evicted", routes.PatternEvicted, _USER, "a kind of turn was evicted"),
        (
            "pattern.override_dismissed",
            routes.PatternOverrideDismissed,
            _USER,
            "a user's choice was not learned from",
        ),
        (
            "provider.degraded",
            service.ProviderDegraded,
            _AGGREGATABLE,
            "a provider's service is degraded",
        ),
    ),
    *_types(
        Actor.WORKER,
        ("delegate.started", routes.DelegateStarted, _USER, "a worker session started"),
        (
            "delegate.completed",
            routes.DelegateCompleted,
            _PSEUDONYMOUS,
            "a worker session completed",
        ),
        ("delegate.failed", routes.DelegateFailed, _PSEUDONYMOUS, "a worker session failed"),
    ),
    *_types(
        Actor.USER,
        ("feedback.explicit", service.FeedbackExplicit, _PRIVATE, "a user rated an answer"),
        ("feedback.implicit", service.FeedbackImplicit, _USER, "what a user did with an answer"),
    ),
    *_types(
        Actor.SYSTEM,
        (
            "bus.subscriber_registered",
            service.SubscriberRegistered,
            _AGGREGATABLE,
            "a subscriber was added",
        ),
        (
            "bus.subscriber_unregistered",
            service.SubscriberUnregistered,
            _AGGREGATABLE,
            "a subscriber was removed",
        ),
        ("bus.gap_detected", service.GapDetected, _AGGREGATABLE, "a slow subscriber missed events"),
        ("gateway.key_issued", service.KeyIssued, _PSEUDONYMOUS, "a key was issued"),
        ("gateway.key_revoked", service.KeyRevoked, _PSEUDONYMOUS, "a key was revoked"),
        ("gateway.key_rotated", service.KeyRotated, _PSEUDONYMOUS, "a key was replaced"),
        ("gateway.auth_failed", service.AuthFailed, _PSEUDONYMOUS, "a request had no valid key"),
        ("gateway.quota_exceeded", service.QuotaExceeded, _PSEUDONYMOUS, "a hard cap was reached"),
        ("quota.alert", service.QuotaAlert, _PSEUDONYMOUS, "a soft limit was exceeded"),
        ("trace.swept", service.TraceSwept, _AGGREGATABLE, "old events were deleted"),
    ),
)


def problems_of(types: Iterable[EventType]) -> list[str]:
    """What is wrong with a list of types; nothing, for the catalogue."""
    problems: list[str] = []
    seen: set[str] = set()
    for each in types:
        if each.name in seen:
            problems.append(f"{each.name} is listed twice")
        seen.add(each.name)
        if each.name.startswith(LIVE_PREFIXES):
            problems.append(f"{each.name} has a prefix of the live stream")
        domain, dot, rest = each.name.partition(".")
        if domain not in DOMAINS or not dot or not rest:
            problems.append(f"{each.name} is in none of the domains {', '.join(DOMAINS)}")
    return problems


CATALOGUE: dict[str, EventType] = {each.name: each for each in TYPES}


def find(name: str) -> EventType | None:
    """A type by its name, or by a spelling of `ALIASES`."""
    return CATALOGUE.get(ALIASES.get(name, name))
