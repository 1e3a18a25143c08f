"""What the two faces of an agent show without asking the store."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from interlingua.model.message import Message
from interlingua.store.task_rows import TaskEventRow, TaskRow
from interlingua.tasks.core import TaskCore
from interlingua.views import openai_ui


class QueuedMessage(NamedTuple):
    """A message that waits."""

    id: str
    message: Message | None


class TaskEvent(NamedTuple):
    """An event: its number in the task, its id, when it was (milliseconds), and what it says."""

    seq: int
    id: str
    time: int
    body: dict[str, Any]

    @property
    def msg(self) -> str:
        return str(self.body["msg"])


def task_event(row: TaskEventRow) -> TaskEvent:
    return TaskEvent(row.seq, row.id, row.made_at // 1000, msgspec.json.decode(row.body))


class AgentFace:
    """A task that was read or made."""

    _core: TaskCore

    user_message = staticmethod(openai_ui.user_message)
    system_message = staticmethod(openai_ui.system_message)
    assistant_message = staticmethod(openai_ui.assistant_message)
    tool_message = staticmethod(openai_ui.tool_message)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} in {self.cwd}>"

    @property
    def id(self) -> str:
        """The session's, too."""
        return self._core.id

    @property
    def row(self) -> TaskRow:
        """The task as it was last seen."""
        return self._core.row

    @property
    def cwd(self) -> str:
        return self._core.row.cwd

    @property
    def status(self) -> str:
        """`idle` or `generating`, as it was last seen."""
        return self._core.row.status
