"""Whether an event is what the catalogue allows, before it gets anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.bus.catalogue import CATALOGUE, EventType, find
from interlingua.bus.errors import EventError
from interlingua.bus.event import Actor, Sensitivity
from interlingua.bus.payloads.base import Payload

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
    level = _member(known, Sensitivity, sensitivity, known.floor)
    if level.more_private_than(known.floor):
        raise EventError(known.name, f"{level} is more private than its floor, {known.floor}")
    who = _member(known, Actor, actor, known.actor)
    return Checked(known, _payload(known, payload), who, level)


def _payload(known: EventType, payload: Payload | Mapping[str, Any]) -> Payload:
    """A checked copy. The way through JSON also finds what no store could keep: half characters,
    numbers that are none, objects of other kinds."""
    if isinstance(payload, Payload) and type(payload) is not known.payload:
        wanted, found = known.payload.__name__, type(payload).__name__
        raise EventError(known.name, f"expected a payload {wanted}, found {found}")
    plain = payload if isinstance(payload, Payload) else dict(payload)
    try:
        return _DECODERS[known.name].decode(msgspec.json.encode(plain))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as problem:
        raise EventError(known.name, _QUOTED.sub("'…'", str(problem))) from None


def _member(known: EventType, kind: type[E], value: str | None, otherwise: E) -> E:
    if value is None:
        return otherwise
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(kind)
        raise EventError(known.name, f"no {kind.__name__.lower()}; expected {names}") from None
