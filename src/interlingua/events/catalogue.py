"""The closed list of event types: the payload, sensitivity and description of each.

The list is closed. Drops of blocks, a full queue and failing handlers are not in it on purpose:
they are log entries only. Events and payloads as JSON are at the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.errors import ReadError
from interlingua.events import payloads as p
from interlingua.events.event import Actor, Event, EventError, Sensitivity
from interlingua.events.payloads import Payload

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
    """`floor` is the highest sensitivity of events of this type, and the default; an emitter may
    choose a lower one."""

    name: str
    payload: type[Payload]
    says: str
    floor: Sensitivity = _PRIVATE
    actor: Actor = Actor.SYSTEM
    """The default actor of the type."""


def _types(actor: Actor, *rows: tuple[str, type[Payload], Sensitivity, str]) -> list[EventType]:
    return [EventType(name, payload, says, floor, actor) for name, payload, floor, says in rows]


TYPES: tuple[EventType, ...] = (
    *_types(
        Actor.USER,
        ("session.created", p.SessionCreated, _PRIVATE, "a session was created"),
        ("session.resumed", p.SessionResumed, _PSEUDONYMOUS, "a session was reopened"),
        ("session.ended", p.SessionEnded, _PSEUDONYMOUS, "a session ended"),
        ("turn.started", p.TurnStarted, _PRIVATE, "a user message started a turn"),
        ("turn.cancelled", p.TurnCancelled, _PSEUDONYMOUS, "a turn was cancelled"),
    ),
    *_types(
        Actor.AGENT,
        ("turn.completed", p.TurnCompleted, _PSEUDONYMOUS, "a turn completed"),
        ("llm.call_started", p.LlmCallStarted, _PSEUDONYMOUS, "a model call started"),
        ("llm.call_completed", p.LlmCallCompleted, _PSEUDONYMOUS, "a model call succeeded"),
        ("llm.call_failed", p.LlmCallFailed, _PRIVATE, "a model call failed"),
        ("tool.called", p.ToolCalled, _USER, "a tool is about to run"),
    ),
    *_types(
        Actor.TOOL,
        ("tool.completed", p.ToolCompleted, _PRIVATE, "a tool succeeded"),
        ("tool.failed", p.ToolFailed, _PRIVATE, "a tool failed"),
    ),
    *_types(
        Actor.SYSTEM,
        (
            "tool.input_invalid",
            p.ToolInputInvalid,
            _PRIVATE,
            "tool input does not match its schema",
        ),
        (
            "tool.confirmation_requested",
            p.ToolConfirmationRequested,
            _USER,
            "the user was asked whether a tool may run",
        ),
        (
            "tool.confirmation_resolved",
            p.ToolConfirmationResolved,
            _USER,
            "the user's answer to that",
        ),
        ("route.decided", p.RouteDecided, _USER, "the model of a turn was chosen; once per turn"),
        ("route.overridden", p.RouteOverridden, _PSEUDONYMOUS, "a user chose the model"),
        ("routing.policy_invalid", p.PolicyInvalid, _PRIVATE, "a rules file was rejected"),
        (
            "routing.provider_unavailable",
            p.ProviderUnavailable,
            _AGGREGATABLE,
            "routing skips a provider or model from now on",
        ),
        ("routing.provider_recovered", p.ProviderRecovered, _AGGREGATABLE, "routing uses it again"),
        (
            "routing.constraint_failure",
            p.ConstraintFailure,
            _PSEUDONYMOUS,
            "a change of model was refused because of the session's content",
        ),
        (
            "pattern.recorded",
            p.PatternRecorded,
            _USER,
            "the outcome of a kind of turn was recorded",
        ),
        ("pattern.matched", p.PatternMatched, _USER, "a turn matched a known kind"),
        ("pattern.evicted", p.PatternEvicted, _USER, "a kind of turn was evicted"),
        (
            "pattern.override_dismissed",
            p.PatternOverrideDismissed,
            _USER,
            "a user's choice was not learned from",
        ),
        (
            "provider.degraded",
            p.ProviderDegraded,
            _AGGREGATABLE,
            "a provider's service is degraded",
        ),
    ),
    *_types(
        Actor.WORKER,
        ("delegate.started", p.DelegateStarted, _USER, "a worker session started"),
        ("delegate.completed", p.DelegateCompleted, _PSEUDONYMOUS, "a worker session completed"),
        ("delegate.failed", p.DelegateFailed, _PSEUDONYMOUS, "a worker session failed"),
    ),
    *_types(
        Actor.USER,
        ("feedback.explicit", p.FeedbackExplicit, _PRIVATE, "a user rated an answer"),
        ("feedback.implicit", p.FeedbackImplicit, _USER, "what a user did with an answer"),
    ),
    *_types(
        Actor.SYSTEM,
        (
            "bus.subscriber_registered",
            p.SubscriberRegistered,
            _AGGREGATABLE,
            "a subscriber was added",
        ),
        (
            "bus.subscriber_unregistered",
            p.SubscriberUnregistered,
            _AGGREGATABLE,
            "a subscriber was removed",
        ),
        ("bus.gap_detected", p.GapDetected, _AGGREGATABLE, "a slow subscriber missed events"),
        ("gateway.key_issued", p.KeyIssued, _PSEUDONYMOUS, "a key was issued"),
        ("gateway.key_revoked", p.KeyRevoked, _PSEUDONYMOUS, "a key was revoked"),
        ("gateway.key_rotated", p.KeyRotated, _PSEUDONYMOUS, "a key was replaced"),
        ("gateway.auth_failed", p.AuthFailed, _PSEUDONYMOUS, "a request had no valid key"),
        ("gateway.quota_exceeded", p.QuotaExceeded, _PSEUDONYMOUS, "a hard cap was reached"),
        ("quota.alert", p.QuotaAlert, _PSEUDONYMOUS, "a soft limit was exceeded"),
        ("trace.swept", p.TraceSwept, _AGGREGATABLE, "old events were deleted"),
    ),
)


CATALOGUE: dict[str, EventType] = {each.name: each for each in TYPES}


def find(name: str) -> EventType | None:
    """A type by its name, or by a spelling of `ALIASES`."""
    return CATALOGUE.get(ALIASES.get(name, name))


def type_named(name: str) -> str:
    """The catalogue's own name of a type. An unknown type is an error: that its events never
    come would go unnoticed."""
    known = find(name)
    if known is None:
        raise EventError(name, "the catalogue has no such type")
    return known.name


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope with its payload still in JSON."""

    id: str
    timestamp: datetime
    session_id: str
    type: str
    actor: Actor
    sensitivity: Sensitivity
    payload: msgspec.Raw
    turn_id: str | None = None
    parent_event_id: str | None = None


_envelope = msgspec.json.Decoder(_Stored)


def dump_event(event: Event) -> bytes:
    """One event as JSON: times in ISO form, money as text."""
    return msgspec.json.encode(event)


def load_event(data: bytes | str) -> Event:
    """The inverse of `dump_event`; unknown fields of newer versions are preserved, not refused."""
    try:
        stored = _envelope.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError) as problem:
        raise ReadError("event", "$", found=str(problem)) from None
    return Event(
        id=stored.id,
        timestamp=stored.timestamp.astimezone(UTC),
        session_id=stored.session_id,
        turn_id=stored.turn_id,
        parent_event_id=stored.parent_event_id,
        type=stored.type,
        actor=stored.actor,
        sensitivity=stored.sensitivity,
        payload=load_payload(stored.type, bytes(stored.payload)),
    )


def dump_payload(event: Event) -> bytes:
    """The payload as JSON, for the store's column."""
    return msgspec.json.encode(event.payload)


def load_payload(type: str, data: bytes | str) -> Payload | dict[str, Any]:
    """A stored payload as its Struct; as a dict where type or fields are not known here."""
    known = find(type)
    if known is not None:
        try:
            return msgspec.json.decode(data, type=known.payload)
        except msgspec.ValidationError:
            pass
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as problem:
        raise ReadError(f"payload of {type}", "$", found=str(problem)) from None


E = TypeVar("E", bound=StrEnum)

# Values stand in single quotes in msgspec's messages, names in backticks; values may be private.
_QUOTED = re.compile(r"'[^']*'")
_DECODERS: dict[str, msgspec.json.Decoder[Payload]] = {
    name: msgspec.json.Decoder(each.payload) for name, each in CATALOGUE.items()
}


class Checked(NamedTuple):
    type: EventType
    payload: Payload
    actor: Actor
    sensitivity: Sensitivity


def check_event(
    type: str,
    payload: Payload | Mapping[str, Any],
    ids: Mapping[str, object],
    actor: str | None,
    sensitivity: str | None,
) -> Checked:
    """The parts of an event, or an EventError that names the problem and quotes no value."""
    known = find(type)
    if known is None:
        raise EventError(str(type), "the catalogue has no such type")
    for name, id in ids.items():
        if (id is not None or name == "session_id") and (not isinstance(id, str) or not id):
            raise EventError(known.name, f"{name}: expected text that is not empty")
    level, who = known.floor, known.actor
    if sensitivity is not None:
        level = _member(known, Sensitivity, sensitivity)
        if level.more_private_than(known.floor):
            raise EventError(known.name, f"{level} is more private than its floor, {known.floor}")
    if actor is not None:
        who = _member(known, Actor, actor)
    return Checked(known, _payload(known, payload), who, level)


def _payload(known: EventType, payload: Payload | Mapping[str, Any]) -> Payload:
    """A checked copy. Converting it to JSON and back also finds what a store cannot hold: lone
    surrogates, NaN and infinities, objects of other types."""
    if isinstance(payload, Payload) and type(payload) is not known.payload:
        expected, found = known.payload.__name__, type(payload).__name__
        raise EventError(known.name, f"expected a payload {expected}, found {found}")
    plain = payload if isinstance(payload, Payload) else dict(payload)
    try:
        return _DECODERS[known.name].decode(msgspec.json.encode(plain))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as problem:
        raise EventError(known.name, _QUOTED.sub("'…'", str(problem))) from None


def _member(known: EventType, kind: type[E], value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(kind)
        raise EventError(known.name, f"no {kind.__name__.lower()}; expected {names}") from None
