"""The envelope that every event of a trace travels in, and who may see it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from interlingua.bus.payloads.base import Payload
from interlingua.model.base import plain_members

NO_SESSION = "system"
"""The `session_id` of events that belong to no session, as those of the bus itself."""


@plain_members
class Actor(StrEnum):
    """Who made something happen."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"
    TOOL = "tool"
    WORKER = "worker"


@plain_members
class Sensitivity(StrEnum):
    """Who may see an event, the most private first."""

    PRIVATE = "private"
    USER_CONTROLLED = "user_controlled"
    PSEUDONYMOUS = "pseudonymous"
    AGGREGATABLE = "aggregatable"

    def more_private_than(self, other: Sensitivity) -> bool:
        return _PRIVACY[self] < _PRIVACY[other]


_PRIVACY = {level: rank for rank, level in enumerate(Sensitivity)}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. `id` is a ULID, greater than all ids this process made before.

    `payload` is the Struct that the catalogue gives the type. Only an event that was stored by
    another version of the program, with a type or fields unknown here, has a plain dict.
    """

    id: str
    timestamp: datetime
    session_id: str
    turn_id: str | None
    parent_event_id: str | None
    type: str
    actor: Actor
    sensitivity: Sensitivity
    payload: Payload | dict[str, Any]
