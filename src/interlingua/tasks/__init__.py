"""Tasks: sessions in which an agent runs, with a folder, a queue and events. No HTTP: that is
`gateway/tasks`.

`agent.py` and `aio.py` are the two ways in, without and with `await`; both run the effects of
`core.py`. `runner.py` runs an agent, `heartbeat.py` says that it is alive, `events.py` has the
events of a task.
"""

from interlingua.tasks.agent import Agent
from interlingua.tasks.aio import AsyncAgent
from interlingua.tasks.errors import NothingToDoError, TaskBusyError, TaskError
from interlingua.tasks.faces import QueuedMessage, TaskEvent
from interlingua.views.openai_ui import (
    assistant_message,
    system_message,
    tool_message,
    user_message,
)

__all__ = [
    "Agent",
    "AsyncAgent",
    "NothingToDoError",
    "QueuedMessage",
    "TaskBusyError",
    "TaskError",
    "TaskEvent",
    "assistant_message",
    "system_message",
    "tool_message",
    "user_message",
]
