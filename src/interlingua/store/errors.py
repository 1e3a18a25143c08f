"""Exceptions of stores.

    InterlinguaError
    └── StoreError           the store cannot do what was asked; `reason` says why in one word
        ├── BusyError        another process holds the store for longer than we wait; try again
        ├── NotFoundError    no such session or message
        ├── ConflictError    an id that is taken, or a session that others have appended to
        │   └── ReusedIdError    an id under which another message was sent
        ├── QueueFullError   a task has as many messages in its queue as it may have
        └── InvalidError     a message that breaks a rule of what sessions hold

Messages name the store by its file or host, and ids; never what a conversation says.
"""

from __future__ import annotations

from typing import Literal

from interlingua.errors import InterlinguaError
from interlingua.model.rules import Violation

Reason = Literal[
    "busy",
    "not_found",
    "conflict",
    "invalid",
    "full",
    "read_only",
    "io",
    "corrupt",
    "replaced",
    "foreign",
    "newer",
    "unreachable",
    "closed",
    "other",
]
"""Why, for programs. `replaced`: the file was removed or another one put in its place; `foreign`:
it is no store of ours; `newer`: a newer version of this package made it."""


class StoreError(InterlinguaError):
    """The store cannot carry out an operation. `where` is the file or the host."""

    def __init__(self, where: str, problem: str, reason: Reason = "other") -> None:
        self.where = where
        self.problem = problem
        self.reason: Reason = reason
        super().__init__(f"store {where}: {problem}")

    @property
    def is_away(self) -> bool:
        """Whether the store accepts no writes at all now."""
        return self.reason in _AWAY


_AWAY = frozenset({"busy", "full", "read_only", "io", "replaced", "unreachable", "closed"})


class BusyError(StoreError):
    """Another process held the store for longer than we wait. Nothing was written."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(where, problem, "busy")


class NotFoundError(StoreError):
    """No session, or no message in it, with this id."""

    def __init__(self, where: str, what: str, id: str) -> None:
        self.what = what
        self.id = id
        super().__init__(where, f"no {what} {id[:80]!r}", "not_found")


class ConflictError(StoreError):
    """An id that is taken already, or a session that is not where the caller thought."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(where, problem, "conflict")


class ReusedIdError(ConflictError):
    """Another message was sent under this id before."""

    def __init__(self, where: str, id: str) -> None:
        self.id = id
        super().__init__(where, f"another message was sent under the id {id[:80]!r}")


class QueueFullError(StoreError):
    """A task has as many messages in its queue, or as many bytes of them, as it may have."""

    def __init__(self, where: str, messages: int, size: int) -> None:
        self.messages = messages
        self.size = size
        super().__init__(where, f"the queue is full: {messages} messages, {size} bytes", "full")


class InvalidError(StoreError):
    """A message that breaks a rule of sessions; `violation` names it."""

    def __init__(self, where: str, violation: Violation) -> None:
        self.violation = violation
        super().__init__(where, f"a session cannot hold this message: {violation}", "invalid")


def of_value(where: str, error: UnicodeError | OverflowError) -> StoreError:
    """For a value that no database can hold, or that none of ours has written."""
    if isinstance(error, UnicodeDecodeError):
        return StoreError(where, "a stored text is not UTF-8", "corrupt")
    if isinstance(error, UnicodeError):
        return StoreError(where, "a value has a lone surrogate, which is not valid Unicode")
    return StoreError(where, "a number is too large to be stored")


def unreadable(where: str, error: Exception) -> StoreError:
    """For a row that no program of ours has written."""
    return StoreError(where, f"a stored row cannot be read ({type(error).__name__})", "corrupt")
