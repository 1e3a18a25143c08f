"""Running one handler, and being sure when it ends: in time, too late, or stopped.

A coroutine that is stopped is cancelled, and has a moment to clean up. A thread cannot be stopped
in Python: its handler is told (`ToolRun.stopped`), and if it does not listen it is left behind. Its
result is then thrown away, but what it does goes on until it returns by itself. Threads are daemons
so that none of them keeps a program from ending, and a dispatcher that has too many left behind
starts no more.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

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
        """How many threads still run although their time was up."""
        self._left = {thread for thread in self._left if thread.is_alive()}
        return len(self._left)

    def start(self, work: Callable[[], Any], name: str) -> asyncio.Future[Any]:
        """Run `work` in a thread; the future's result is what it gives or raises."""
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
            except BaseException as problem:  # nobody else could see it
                error = problem if isinstance(problem, Exception) else _plain(problem)
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:  # the loop has ended; so has whoever waited
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
    """What `work` gives, in time. Otherwise it is stopped, and a TooLateError is raised.

    Being cancelled oneself stops the work as well. Work that cannot be cancelled is told by `tell`,
    and has a moment to listen.
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
    """Retrieves an exception that is not needed, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _plain(problem: BaseException) -> Exception:
    """What ends a program elsewhere is an error of the tool here."""
    return RuntimeError(f"{type(problem).__name__}: {problem}")
