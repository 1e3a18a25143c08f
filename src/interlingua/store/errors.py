"""What a store raises.

    InterlinguaError
    └── StoreError           the store cannot do what was asked; `reason` says why in one word
        ├── BusyError        somebody else holds the store for longer than we wait; try again
        ├── NotFoundError    no such session or message
        ├── ConflictError    an id that is taken, or a session that others have appended to
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
    """The store cannot do what was asked. `where` is the file or the host."""

    def __init__(self, where: str, problem: str, reason: Reason = "other") -> None:
        self.where = where
        self.problem = problem
        self.reason: Reason = reason
        super().__init__(f"store {where}: {problem}")


class BusyError(StoreError):
    """Somebody else held the store for longer than we wait. Nothing was written."""

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


class InvalidError(StoreError):
    """A message that breaks a rule of what sessions hold; `violation` names it."""

    def __init__(self, where: str, violation: Violation) -> None:
        self.violation = violation
        super().__init__(where, f"no session holds such a message: {violation}", "invalid")


def of_value(where: str, error: UnicodeError | OverflowError) -> StoreError:
    """For a value that no database can hold, or that none of ours has written."""
    if isinstance(error, UnicodeDecodeError):
        return StoreError(where, "a stored text is no UTF-8", "corrupt")
    if isinstance(error, UnicodeError):
        return StoreError(where, "a value has a lone surrogate, which is no Unicode text")
    return StoreError(where, "a number is too large to be stored")


def unreadable(where: str, error: Exception) -> StoreError:
    """For a row that no program of ours has written."""
    return StoreError(where, f"a stored row cannot be read ({type(error).__name__})", "corrupt")
