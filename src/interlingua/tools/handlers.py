"""What runs a tool: a function of its input, sync or async, and what it is told about the call."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from interlingua.model.tools import ToolDefinition
    from interlingua.tools.workspace import Workspace

Handler: TypeAlias = Callable[..., Any]
"""`handler(input)` or `handler(input, run)`; one that is not async runs in a thread of its own."""


class ToolRun:
    """One run of a tool, for handlers that take a second argument.

    A thread cannot be stopped from outside. A handler that runs for long looks at `stopped`, or
    waits with `stopped.wait(seconds)`, and gives up when it is set: its result is no longer wanted.
    """

    def __init__(
        self,
        tool_use_id: str,
        tool: ToolDefinition,
        *,
        workspace: Workspace | None = None,
        session_id: str | None = None,
        timeout: float,
    ) -> None:
        self.tool_use_id = tool_use_id
        self.tool = tool
        self.workspace = workspace
        self.session_id = session_id
        self.timeout = timeout
        self.stopped = threading.Event()
        self.files_modified: list[str] = []
        """What the handler changed, for the trace: paths inside the workspace."""
        self.command: str | None = None
        """What the handler ran, for the trace."""


def handler_problem(handler: object) -> str | None:
    """Why this cannot be called as a handler, or None."""
    if not callable(handler):
        return f"expected a function, found a {type(handler).__name__}"
    if _arguments(handler) == 0:
        return "a handler takes the input, and the run after it if it wants to"
    return None


def takes_run(handler: Handler) -> bool:
    """Whether a handler wants to know about its run."""
    return _arguments(handler) == 2


def is_async(handler: Handler) -> bool:
    """Whether calling it gives something to await rather than a result."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    call = handler if inspect.isroutine(handler) else getattr(handler, "__call__", None)  # noqa: B004  # the method itself is wanted
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


def _arguments(handler: Handler) -> int:
    """With how many of (input, run) it can be called: 2, 1, or 0 for neither. A second parameter
    that has a default is the handler's own business."""
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):  # some built-in functions have none
        return 1
    places = [
        each
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    wanted = 2 if len(places) > 1 and places[1].default is inspect.Parameter.empty else 1
    try:
        signature.bind(*[None] * wanted)
    except TypeError:
        return 0
    return wanted
