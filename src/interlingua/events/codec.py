"""Events as JSON and back, and whether an event is what the catalogue allows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.errors import ReadError
from interlingua.events.catalogue import CATALOGUE, EventType, find
from interlingua.events.event import Actor, Event, EventError, Sensitivity
from interlingua.events.payloads import Payload


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
    """What a store keeps in its payload column."""
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
    """The parts of an event, or an EventError that names what is wrong and quotes no value."""
    known = find(type)
    if known is None:
        raise EventError(str(type), "the catalogue has no such type")
    for name, id in ids.items():
        if (id is not None or name == "session_id") and (not isinstance(id, str) or not id):
            raise EventError(known.name, f"{name} is no text, or an empty one")
    level, who = known.floor, known.actor
    if sensitivity is not None:
        level = _member(known, Sensitivity, sensitivity)
        if level.more_private_than(known.floor):
            raise EventError(known.name, f"{level} is more private than its floor, {known.floor}")
    if actor is not None:
        who = _member(known, Actor, actor)
    return Checked(known, _payload(known, payload), who, level)


def _payload(known: EventType, payload: Payload | Mapping[str, Any]) -> Payload:
    """A checked copy. The way through JSON also finds what no store could keep: half characters,
    numbers that are none, objects of other kinds."""
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
