"""Events as JSON and back: whole, or the payload alone as a store keeps it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from interlingua.bus.catalogue import find
from interlingua.bus.event import Actor, Event, Sensitivity
from interlingua.bus.payloads.base import Payload
from interlingua.errors import ReadError


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
    """The inverse of `dump_event`; what a newer program wrote is kept, not refused."""
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
