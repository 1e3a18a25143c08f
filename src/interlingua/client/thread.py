"""A loop in a thread of its own, for programs without `await`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from interlingua.errors import InterlinguaError

T = TypeVar("T")


class LoopThread:
    """A loop that runs in a thread until it is stopped."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._turn, name="interlingua-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives, done on the loop. Ctrl-C here cancels it there, and waits until it has
        cleaned up."""
        if threading.current_thread() is self._thread:
            work.close()
            raise InterlinguaError("a tool of this client cannot wait for the client itself")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def soon(self, work: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(work)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=5)

    def _turn(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()
