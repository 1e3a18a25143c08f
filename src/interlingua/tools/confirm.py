"""Asks for confirmation before a tool runs, and takes the first answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, Literal, TypeAlias

from interlingua.model.base import JsonObject
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.tools.handlers import GRACE, Threads, finish, is_async

Outcome = Literal["approved", "denied", "timeout", "cancelled"]


class Confirmation:
    """A question: may this tool run with this input?

    The first answer decides. `answer` may be called from any thread, and from several places at
    once (a terminal, a page, a policy).
    """

    def __init__(
        self,
        tool_use_id: str,
        tool: ToolDefinition,
        input: JsonObject,
        side_effects: SideEffects,
        timeout: float,
        session_id: str | None = None,
    ) -> None:
        self.tool_use_id = tool_use_id
        self.tool = tool
        self.input = deepcopy(input)
        """A copy: changing it changes nothing."""
        self.side_effects = side_effects
        self.timeout = timeout
        self.session_id = session_id
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[bool] = self._loop.create_future()

    def answer(self, approved: bool) -> None:
        """Answers yes (True) or no (anything else). Later answers have no effect."""
        try:
            self._loop.call_soon_threadsafe(self._settle, approved is True)
        except RuntimeError:  # the loop has ended, and with it the question
            return

    def _settle(self, approved: bool) -> None:
        if not self._answer.done():
            self._answer.set_result(approved)

    async def wait(self) -> bool:
        return await asyncio.shield(self._answer)


Confirm: TypeAlias = Callable[[Confirmation], "bool | Awaitable[bool | None] | None"]
"""Gives True or False; or None, when the answer will come through `Confirmation.answer`."""


async def ask(
    confirm: Confirm,
    question: Confirmation,
    threads: Threads,
    one_at_a_time: asyncio.Lock,
    on_ask: Callable[[], None],
) -> bool:
    """Waits for the first answer. Raises a TooLateError if none comes, and exceptions of `confirm`.

    A synchronous `confirm` runs in a thread, and gets one question of a message at a time, because
    it may read from a terminal. `asked` is called when it is this question's turn; its time begins
    then.
    """
    if is_async(confirm):
        on_ask()
        return await _first(confirm(question), question)
    await one_at_a_time.acquire()
    on_ask()
    try:
        thread = threads.start(lambda: confirm(question), "confirm")
    except BaseException:
        one_at_a_time.release()
        raise
    thread.add_done_callback(lambda _: one_at_a_time.release())
    return await _first(thread, question)


async def _first(asking: Any, question: Confirmation) -> bool:
    try:
        return bool(await finish(_either(asking, question), question.timeout))
    finally:
        question.answer(False)  # who answers from now on is too late


async def _either(asking: Any, question: Confirmation) -> bool:
    returned = asyncio.ensure_future(_result_of(asking))
    answered = asyncio.ensure_future(question.wait())
    try:
        await asyncio.wait({returned, answered}, return_when=asyncio.FIRST_COMPLETED)
        if not answered.done() and returned.result() is not None:
            question.answer(returned.result())
        return await answered
    finally:
        returned.cancel()
        answered.cancel()
        await asyncio.wait({returned, answered}, timeout=GRACE)


async def _result_of(asking: Any) -> Any:
    result = await asking
    return await result if inspect.isawaitable(result) else result
