"""Tasks: sessions in which an agent runs, with a folder, a queue and events; no HTTP.

`agent.py` has the classes for programs without and with `await`, which run the effects of
`core.py`. `runner.py` runs an agent and renews its claim, `events.py` has a task's events.
"""

from interlingua.agents.tasks.agent import Agent, AsyncAgent, QueuedMessage, TaskEvent
from interlingua.agents.tasks.events import NothingToDoError, TaskBusyError, TaskError
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
