"""What tasks raise.

InterlinguaError
└── TaskError            a task cannot do what was asked
    ├── TaskBusyError    somebody else runs it
    └── NothingToDoError there is nothing to go on with
"""

from __future__ import annotations

from interlingua.errors import InterlinguaError


class TaskError(InterlinguaError):
    """A task cannot do what was asked."""


class TaskBusyError(TaskError):
    """Somebody else runs this task."""

    def __init__(self, id: str) -> None:
        super().__init__(f"task {id} is run by somebody else")


class NothingToDoError(TaskError):
    """There is nothing to go on with."""

    def __init__(self, id: str) -> None:
        super().__init__(f"task {id} has nothing to resume")
