"""What a store gives back: plain immutable rows, times as datetimes in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.model.message import Message, from_micros, micros
from interlingua.model.metadata import MessageMetadata
from interlingua.store.columns import Part, Table

JsonObject = dict[str, Any]
CallStatus = Literal["pending", "succeeded", "failed", "cancelled"]


class TurnRow(msgspec.Struct, frozen=True):
    """A turn that is under way: who has it, and when that was last heard of."""

    id: str
    holder: str
    seen_at: datetime


class Hold(NamedTuple):
    """A program's claim, when it writes, that its turn is the one under way.

    It holds if the turn under way is this one or `instead_of` (None: there is none). Otherwise the
    write is refused (ConflictError), unless it is not `firm`: then it is done all the same, and the
    turn stays another's."""

    turn_id: str
    holder: str
    instead_of: str | None = None
    firm: bool = True


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A session. `message_count` is also the `seq` of its last message: they count 1, 2, 3, …

    A fork says where it came from: `parent_id` and the last message that was copied. A worker's
    session has the `parent_id` alone."""

    id: str
    workspace_path: str
    created_at: datetime
    updated_at: datetime
    active_model: str | None = None
    routing_policy: JsonObject | None = None
    name: str | None = None
    parent_id: str | None = None
    parent_message_id: str | None = None
    message_count: int = 0
    schema_version: int = 1
    turn: TurnRow | None = None

    @property
    def origin(self) -> Origin:
        policy = self.routing_policy or {}
        return "task" if "task" in policy else "gateway" if "owner" in policy else "chat"


def _turn_columns(turn: TurnRow | None) -> tuple[Any, ...]:
    return (None,) * 3 if turn is None else (turn.id, turn.holder, micros(turn.seen_at))


def _turn(stored: Sequence[Any]) -> TurnRow | None:
    id, holder, seen_at = stored
    return None if id is None else TurnRow(id, holder, from_micros(seen_at))


SESSIONS = Table(
    "sessions",
    SessionRow,
    parts={"turn": Part(("turn_id", "turn_holder", "turn_seen_at"), _turn_columns, _turn)},
)
NEW_SESSIONS = Table("sessions", SessionRow, without=("message_count", "turn"))
"""What is written of a session that has no messages yet, and no turn."""

Origin = Literal["chat", "gateway", "task"]
"""Where a session was made: on the command line or in a program, over HTTP, or as an agent's."""


WORKER = "worker"
"""Where the policy of a worker's session names the tool call that it works for; its `parent_id` is
the session of that call."""


class SessionFilter(NamedTuple):
    """Which sessions are wanted; None is all. Texts are found anywhere in their fields and in any
    case, `folder` is a path and what lies below it, times are those of the last change."""

    words: str | None = None
    """In its name, its folder or its model."""
    origin: Origin | None = None
    model: str | None = None
    folder: str | None = None
    since: datetime | None = None
    until: datetime | None = None


ALL_SESSIONS = SessionFilter()


class ToolCallRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call and what became of it. `provider_id` is what `provider` called it when it was made."""

    id: str
    session_id: str
    message_id: str
    name: str
    status: CallStatus
    created_at: datetime
    result_message_id: str | None = None
    provider_id: str | None = None
    provider: str | None = None
    executor: str = "client"
    completed_at: datetime | None = None


CALLS = Table("tool_calls", ToolCallRow)


class EventRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event of the trace. `seq` is assigned by the store: 1, 2, 3, … in each session."""

    id: str
    session_id: str
    type: str
    timestamp: datetime
    actor: str
    sensitivity: str
    payload: JsonObject
    turn_id: str | None = None
    parent_event_id: str | None = None
    seq: int = 0


EVENTS = Table("events", EventRow, names={"payload": "payload"})


class SearchHit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that has all the words. `snippet` is a piece of its text around the first."""

    session_id: str
    message_id: str
    seq: int
    role: str
    created_at: datetime
    snippet: str


class UsageRow(NamedTuple):
    """What is known about one answer: where it is, when it was made, and what it used."""

    session_id: str
    message_id: str
    created_at: datetime
    metadata: MessageMetadata


class Appended(msgspec.Struct, frozen=True):
    """What was appended: the messages with what the store filled in, and where they stand."""

    first: int
    messages: tuple[Message, ...]

    @property
    def seqs(self) -> range:
        return range(self.first, self.first + len(self.messages))
