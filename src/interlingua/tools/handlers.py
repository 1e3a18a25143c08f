"""Handlers of tools: functions of the input, sync or async, the facts they get about a call,
and how they are run: in a thread or on the loop, with a time limit."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from interlingua.errors import InterlinguaError, a_type
from interlingua.model.tools import SideEffects, ToolDefinition

if TYPE_CHECKING:
    from interlingua.events.event import TurnTrace
    from interlingua.tools.workspace import Workspace

NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
NAMES = "use letters of ASCII, digits and _ - . : (at most 128)"
"""Names that some provider takes; for the others they are changed on the way, and back."""
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
        caller: object = None,
    ) -> None:
        self.tool_use_id = tool_use_id
        self.tool = tool
        self.workspace = workspace
        self.session_id = session_id
        self.timeout = timeout
        self.caller = caller
        self.stopped = threading.Event()
        self.files_modified: list[str] = []
        """Files that the handler changed, for the trace: paths inside the workspace."""
        self.command: str | None = None
        """The command that the handler ran, for the trace."""


def handler_problem(handler: object) -> str | None:
    """Why this cannot be called as a handler, or None."""
    if not callable(handler):
        return f"expected a function, found {a_type(handler)}"
    if _arguments(handler) == 0:
        return "a handler takes the input, and optionally the run as a second parameter"
    return None


def takes_run(handler: Handler) -> bool:
    """Whether a handler has a parameter for its run."""
    return _arguments(handler) == 2


def is_async(handler: Handler) -> bool:
    """Whether calling it gives something to await rather than a result."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    call = handler if inspect.isroutine(handler) else getattr(handler, "__call__", None)  # noqa: B004  # the method itself is wanted
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


def _arguments(handler: Handler) -> int:
    """How many of (input, run) to pass: 2, 1 or 0. A second parameter with a default is not
    used."""
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):  # some built-in functions have none
        return 1
    places = [
        each
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    required = 2 if len(places) > 1 and places[1].default is inspect.Parameter.empty else 1
    try:
        signature.bind(*[None] * required)
    except TypeError:
        return 0
    return required


WorkspaceReason = Literal[
    "outside", "link", "not_found", "not_a_file", "too_large", "unreadable", "bad_name"
]


class WorkspaceError(InterlinguaError):
    """`path` is the requested path, as written."""

    def __init__(self, path: str, problem: str, reason: WorkspaceReason) -> None:
        self.path = path
        self.problem = problem
        self.reason: WorkspaceReason = reason
        shown = path if len(path) <= 200 else path[:199] + "…"
        super().__init__(f"workspace path {shown!r}: {problem}")


class DispatchError(InterlinguaError):
    """A mistake of the program, not of the model."""


class McpError(InterlinguaError):
    """`server` is the name that the configuration gives it."""

    def __init__(self, server: str, problem: str) -> None:
        self.server = server
        self.problem = problem
        super().__init__(f"MCP server {server!r}: {problem}")


AUTOMATIC = frozenset({SideEffects.NONE, SideEffects.READ})
"""Side effects that need no confirmation."""
SLOW = frozenset({SideEffects.EXECUTE, SideEffects.NETWORK})


Permit = Callable[[], Awaitable[None]]
"""Raises `PermissionError` where tools may not run any more."""


class Timeouts(NamedTuple):
    """Seconds. `tools` has those of single tools, by name."""

    usual: float = 60.0
    slow: float = 600.0
    """For tools that execute something or change something on the network."""
    confirmation: float = 300.0
    tools: Mapping[str, float] = {}

    def of(self, tool: ToolDefinition, handler: object = None) -> float:
        """By the tool's name, else by the `timeout` of its handler, else by its side effects."""
        own = self.tools.get(tool.name, getattr(handler, "timeout", None))
        return own if own is not None else self.slow if effects_of(tool) in SLOW else self.usual


class CallContext(NamedTuple):
    """The context of one message's calls.

    The parent of their events is the `llm.call_completed` of the calls, which `trace` has; without
    a trace it is `parent_event_id`, and events go to the dispatcher's bus.
    """

    session_id: str | None = None
    turn_id: str | None = None
    trace: TurnTrace | None = None
    parent_event_id: str | None = None
    workspace: Workspace | None = None
    """In place of the dispatcher's own."""
    caller: object = None
    """The owner of the calls, for tools that act for it."""


NO_CONTEXT = CallContext()


def effects_of(tool: ToolDefinition) -> SideEffects:
    """The effects of a tool. Without a declaration it may have any."""
    return SideEffects.EXECUTE if tool.side_effects is None else SideEffects(tool.side_effects)


logger = logging.getLogger(__name__)

GRACE = 1.0
"""Seconds that a cancelled coroutine has to end."""


class TooLateError(Exception):
    """Time was up before the work was done."""


class HandlerCancelledError(Exception):
    """A handler ended as if cancelled although it was not."""


class ThreadsLeftError(Exception):
    """Too many abandoned threads are still running."""


class Threads:
    """Starts threads, and counts the abandoned ones."""

    def __init__(self, most_left: int) -> None:
        self.most_left = most_left
        self._left: set[threading.Thread] = set()

    @property
    def left(self) -> int:
        """The number of threads still running after their time was up."""
        self._left = {thread for thread in self._left if thread.is_alive()}
        return len(self._left)

    def start(self, work: Callable[[], Any], name: str) -> asyncio.Future[Any]:
        """Runs `work` in a thread; the future has its result or exception."""
        if self.left >= self.most_left:
            raise ThreadsLeftError(
                f"{self.left} earlier calls are still running although they were stopped"
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def run() -> None:
            result, error = None, None
            try:
                result = context.run(work)
            except BaseException as problem:  # no other code could see it
                error = problem if isinstance(problem, Exception) else _plain(problem)
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:  # the loop has ended, and its waiters with it
                logger.debug("late_thread_ended", extra={"of": threading.current_thread().name})

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        future.add_done_callback(lambda done: self._leave(thread) if done.cancelled() else None)
        return future

    def _leave(self, thread: threading.Thread) -> None:
        if thread.is_alive():
            self._left.add(thread)


async def finish(
    work: Awaitable[Any], timeout: float, tell: Callable[[], None] | None = None
) -> Any:
    """Returns the result of `work` if it is in time. Otherwise it is stopped, and a TooLateError is
    raised.

    Cancelling the caller stops the work as well. Work that cannot be cancelled is notified by
    `tell`, and has a moment to react.
    """
    task = asyncio.ensure_future(_guarded(work))
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        await _end(task, tell)
        raise
    if not done:
        await _end(task, tell)
        raise TooLateError
    if task.cancelled():
        raise HandlerCancelledError("the handler was cancelled from inside")
    return task.result()


async def _guarded(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except SystemExit as problem:  # would end the whole loop
        raise _plain(problem) from None


async def _end(task: asyncio.Future[Any], tell: Callable[[], None] | None) -> None:
    """Stop a task, and wait a moment for its clean-up. One that does not end is left behind."""
    task.add_done_callback(_look_away)
    try:
        if tell is not None:
            tell()
            await asyncio.wait({task}, timeout=GRACE)
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE)
    except asyncio.CancelledError:  # cancelled once more: the moment is over
        task.cancel()
        return
    if not task.done():
        logger.warning("coroutine_ignored_cancellation", extra={"grace_seconds": GRACE})


def _look_away(task: asyncio.Future[Any]) -> None:
    """Retrieves an unneeded exception, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _plain(problem: BaseException) -> Exception:
    """Exceptions that would end a program are errors of the tool here."""
    return RuntimeError(f"{type(problem).__name__}: {problem}")
