"""What a store gives back about tasks: plain immutable rows, times in microseconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.model.message import Message

QueueState = Literal["starting", "queued", "taken", "removed"]
"""`starting`: about to be taken up without having waited; nobody sees it in a queue."""
Decision = Literal["waiting", "approved", "denied", "timeout", "cancelled"]


class TaskRow(msgspec.Struct, frozen=True):
    """A task: a session (`id` is the session's) in which an agent runs.

    `told` is the number of the last message that its events have told of. `now` is the database's
    clock when the row was read: with it, and not with ours, the lease is compared."""

    id: str
    owner: str
    cwd: str
    status: str
    holder: str | None
    lease_until: int
    stopping: bool
    interrupted: bool
    web_search: bool
    told: int
    event_count: int
    created_at: int
    changed_at: int
    ended_at: int | None
    name: str | None = None
    model: str | None = None
    queued: int = 0
    waiting: int = 0
    now: int = 0

    @property
    def generating(self) -> bool:
        return self.status == "generating"

    @property
    def abandoned(self) -> bool:
        """Whether who runs it has said nothing for too long."""
        return self.generating and self.lease_until <= self.now


class QueuedRow(NamedTuple):
    """A message that waits, or has waited, for its turn."""

    task_id: str
    id: str
    state: QueueState
    message: Message | None
    """None once it was taken up: then it is in the conversation."""


class QueueResult(NamedTuple):
    """What became of a message that was given to a task."""

    task: TaskRow
    state: QueueState
    is_new: bool
    """False: the same message was there already."""
    claimed: bool
    """Whether the task is now the caller's to run."""


class TaskEventRow(NamedTuple):
    """One event. `body` is a JSON object without id and time."""

    seq: int
    id: str
    made_at: int
    body: bytes


class ConfirmationRow(NamedTuple):
    """A question whether a call may run; `id` is the call's."""

    task_id: str
    id: str
    status: Decision
    name: str
    side_effects: str
    input: Any
    asked_at: int
    expires_at: int


class TaskUpdate(NamedTuple):
    """What the holder of a task tells about it: events, how far they tell the conversation, and
    which messages of the queue they have taken up."""

    holder: str
    events: Sequence[bytes] = ()
    told: int | None = None
    taken: Sequence[str] = ()
    goes_on: bool = False
    """Somebody wanted the run stopped; it has stopped, and goes on with what came since."""
