"""Every type of event there is: its payload, how private it can be, and what it tells.

The list is closed. Drops of blocks, a full queue and failing handlers are not in it on purpose:
they are log entries only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from interlingua.events import payloads
from interlingua.events.event import Actor, EventError, Sensitivity
from interlingua.events.payloads import Payload

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
        ("session.created", payloads.SessionCreated, _PRIVATE, "a session was created"),
        ("session.resumed", payloads.SessionResumed, _PSEUDONYMOUS, "a session was reopened"),
        ("session.ended", payloads.SessionEnded, _PSEUDONYMOUS, "a session ended"),
        ("turn.started", payloads.TurnStarted, _PRIVATE, "a user message started a turn"),
        ("turn.cancelled", payloads.TurnCancelled, _PSEUDONYMOUS, "a turn was cancelled"),
    ),
    *_types(
        Actor.AGENT,
        ("turn.completed", payloads.TurnCompleted, _PSEUDONYMOUS, "a turn completed"),
        ("llm.call_started", payloads.LlmCallStarted, _PSEUDONYMOUS, "a model call started"),
        (
            "llm.call_completed",
            payloads.LlmCallCompleted,
            _PSEUDONYMOUS,
            "a model call succeeded",
        ),
        ("llm.call_failed", payloads.LlmCallFailed, _PRIVATE, "a model call failed"),
        ("tool.called", payloads.ToolCalled, _USER, "a tool is about to run"),
    ),
    *_types(
        Actor.TOOL,
        ("tool.completed", payloads.ToolCompleted, _PRIVATE, "a tool succeeded"),
        ("tool.failed", payloads.ToolFailed, _PRIVATE, "a tool failed"),
    ),
    *_types(
        Actor.SYSTEM,
        (
            "tool.input_invalid",
            payloads.ToolInputInvalid,
            _PRIVATE,
            "tool input does not match its schema",
        ),
        (
            "tool.confirmation_requested",
            payloads.ToolConfirmationRequested,
            _USER,
            "the user was asked whether a tool may run",
        ),
        (
            "tool.confirmation_resolved",
            payloads.ToolConfirmationResolved,
            _USER,
            "the user's answer to that",
        ),
        (
            "route.decided",
            payloads.RouteDecided,
            _USER,
            "the model of a turn was chosen; once per turn",
        ),
        ("route.overridden", payloads.RouteOverridden, _PSEUDONYMOUS, "a user chose the model"),
        ("routing.policy_invalid", payloads.PolicyInvalid, _PRIVATE, "a rules file was rejected"),
        (
            "routing.provider_unavailable",
            payloads.ProviderUnavailable,
            _AGGREGATABLE,
            "routing skips a provider or model from now on",
        ),
        (
            "routing.provider_recovered",
            payloads.ProviderRecovered,
            _AGGREGATABLE,
            "routing uses it again",
        ),
        (
            "routing.constraint_failure",
            payloads.ConstraintFailure,
            _PSEUDONYMOUS,
            "a change of model was refused because of the session's content",
        ),
        (
            "pattern.recorded",
            payloads.PatternRecorded,
            _USER,
            "the outcome of a kind of turn was recorded",
        ),
        ("pattern.matched", payloads.PatternMatched, _USER, "a turn matched a known kind"),
        ("pattern.evicted", payloads.PatternEvicted, _USER, "a kind of turn was evicted"),
        (
            "pattern.override_dismissed",
            payloads.PatternOverrideDismissed,
            _USER,
            "a user's choice was not learned from",
        ),
        (
            "provider.degraded",
            payloads.ProviderDegraded,
            _AGGREGATABLE,
            "a provider's service is degraded",
        ),
    ),
    *_types(
        Actor.WORKER,
        ("delegate.started", payloads.DelegateStarted, _USER, "a worker session started"),
        (
            "delegate.completed",
            payloads.DelegateCompleted,
            _PSEUDONYMOUS,
            "a worker session completed",
        ),
        ("delegate.failed", payloads.DelegateFailed, _PSEUDONYMOUS, "a worker session failed"),
    ),
    *_types(
        Actor.USER,
        ("feedback.explicit", payloads.FeedbackExplicit, _PRIVATE, "a user rated an answer"),
        ("feedback.implicit", payloads.FeedbackImplicit, _USER, "what a user did with an answer"),
    ),
    *_types(
        Actor.SYSTEM,
        (
            "bus.subscriber_registered",
            payloads.SubscriberRegistered,
            _AGGREGATABLE,
            "a subscriber was added",
        ),
        (
            "bus.subscriber_unregistered",
            payloads.SubscriberUnregistered,
            _AGGREGATABLE,
            "a subscriber was removed",
        ),
        (
            "bus.gap_detected",
            payloads.GapDetected,
            _AGGREGATABLE,
            "a slow subscriber missed events",
        ),
        ("gateway.key_issued", payloads.KeyIssued, _PSEUDONYMOUS, "a key was issued"),
        ("gateway.key_revoked", payloads.KeyRevoked, _PSEUDONYMOUS, "a key was revoked"),
        ("gateway.key_rotated", payloads.KeyRotated, _PSEUDONYMOUS, "a key was replaced"),
        ("gateway.auth_failed", payloads.AuthFailed, _PSEUDONYMOUS, "a request had no valid key"),
        ("gateway.quota_exceeded", payloads.QuotaExceeded, _PSEUDONYMOUS, "a hard cap was reached"),
        ("quota.alert", payloads.QuotaAlert, _PSEUDONYMOUS, "a soft limit was exceeded"),
        ("trace.swept", payloads.TraceSwept, _AGGREGATABLE, "old events were deleted"),
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


def type_named(name: str) -> str:
    """The catalogue's own name of a type. A type that does not exist is an error: nobody would
    notice that it never comes."""
    known = find(name)
    if known is None:
        raise EventError(name, "the catalogue has no such type")
    return known.name


BEGIN, END = "<!-- catalogue -->", "<!-- end of catalogue -->"


def table() -> str:
    """The catalogue for `docs/events.md`: one row per type, with the marks around it."""
    rows = ["| type | meaning | payload | floor | actor |", "| --- | --- | --- | --- | --- |"]
    for each in TYPES:
        fields = ", ".join(
            f"`{field.name}`{'' if field.required else '?'}"
            for field in msgspec.structs.fields(each.payload)
        )
        rows.append(f"| `{each.name}` | {each.says} | {fields} | {each.floor} | {each.actor} |")
    return "\n".join([BEGIN, *rows, END])


def page(text: str) -> str:
    """The page with its table replaced."""
    before, _, rest = text.partition(BEGIN)
    return before + table() + rest.partition(END)[2]
