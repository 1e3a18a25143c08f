"""Questions whether a tool may run. They are kept in the store, so that whichever process a client
asks can show and answer them; who does not answer in time has said no."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from interlingua.chat.chat import to_the_end
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.task_rows import Decision
from interlingua.tools.confirm import Confirmation

POLL = 0.5
"""Seconds between two looks whether another process was given the answer."""
MARGIN = 1.0
"""Seconds before the run stops waiting in which no answer counts any more: what counts is heard."""

Changed = Callable[[str], None]


class Questions:
    """Questions of the runs of this process. `changed` is told of each task whose questions are
    others now."""

    def __init__(self, store: AsyncStore, changed: Changed) -> None:
        self._store = store
        self._changed = changed
        self._waiting: dict[tuple[str, str], asyncio.Event] = {}

    def heard(self, task_id: str, call_id: str) -> None:
        """Somebody has answered, here."""
        waiting = self._waiting.get((task_id, call_id))
        if waiting is not None:
            waiting.set()

    def asker(self, task_id: str, holder: str) -> Callable[[Confirmation], Awaitable[bool]]:
        """For one run."""

        async def confirm(question: Confirmation) -> bool:
            return await self._ask(task_id, holder, question)

        return confirm

    async def _ask(self, task_id: str, holder: str, question: Confirmation) -> bool:
        call = question.tool_use_id
        asked = (question.tool.name, question.side_effects.value, question.input)
        seconds = max(question.timeout - MARGIN, question.timeout / 2)
        end = time.monotonic() + seconds
        heard = self._waiting[task_id, call] = asyncio.Event()
        try:
            await self._store.ask_confirmation(task_id, call, asked, holder, seconds)
            self._changed(task_id)
            return await self._answered(task_id, call, heard)
        finally:
            self._waiting.pop((task_id, call), None)
            await to_the_end(self._over(task_id, call, time.monotonic() >= end))

    async def _answered(self, task_id: str, call: str, heard: asyncio.Event) -> bool:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await heard.wait()
            status = (await self._store.confirmation(task_id, call)).status
            if status != "waiting":
                return status == "approved"
            heard.clear()

    async def _over(self, task_id: str, call: str, late: bool) -> None:
        """Whoever answers from now on is too late."""
        with suppress(StoreError):
            decision: Decision = "timeout" if late else "cancelled"
            await self._store.answer_confirmation(task_id, call, decision)
        self._changed(task_id)
