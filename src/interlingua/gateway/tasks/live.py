"""What a task is saying right now, before it is stored: the blocks of the answer that arrives, as
far as it has arrived. There is one copy for all who read; each remembers how far it has read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from interlingua.agents.chat.chat import to_the_end
from interlingua.gateway.tasks import output
from interlingua.model import events as ev
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.task_rows import Decision
from interlingua.tools.confirm import Confirmation

_KINDS = {ev.TextDelta: "TextDelta", ev.ThinkingDelta: "ThinkingDelta"}
_LAST = (ev.MessageComplete, ev.StreamError)


class Block:
    """Text that grows. `call` is the tool call that it is the arguments of."""

    def __init__(self, msg: str, call: dict[str, str] | None = None) -> None:
        self.msg = msg
        self.call = call
        self.pieces: list[str] = []


class Live:
    """The unfinished answer. `after` is the number of events before it, `number` which answer it
    is; readers place it by both."""

    def __init__(self) -> None:
        self.number = 0
        self.after = 0
        self.message_id: str | None = None
        self.done = True
        self.blocks: dict[int, Block] = {}

    def take(self, event: Any, message_id: str | None, after: int) -> None:
        """One event of an answer."""
        if isinstance(event, ev.MessageStart):
            self._begin(after)
        elif isinstance(event, _LAST):
            self.done = True
        elif isinstance(event, (ev.TextDelta, ev.ThinkingDelta)):
            self._block(event.index, _KINDS[type(event)]).pieces.append(event.text)
        elif isinstance(event, ev.ToolUseStart):
            call = {"id": event.id, "name": event.name}
            self.blocks[event.index] = Block("ToolCallDelta", call)
        elif isinstance(event, ev.ToolUseInputDelta):
            self._block(event.index, "ToolCallDelta").pieces.append(event.text)
        self.message_id = message_id if self.message_id is None else self.message_id

    def see(self, message: Message, after: int) -> None:
        """What another process has stored of the answer that it gets."""
        if self.message_id != message.id:
            self._begin(after)
            self.message_id = message.id
        for index, block in enumerate(message.content):
            if isinstance(block, (TextBlock, ThinkingBlock)):
                kind = "TextDelta" if isinstance(block, TextBlock) else "ThinkingDelta"
                self._grow(index, kind, block.text)
            elif isinstance(block, ToolUseBlock):
                call = {"id": block.id, "name": block.name}
                self.blocks.setdefault(index, Block("ToolCallDelta", call))

    def _begin(self, after: int) -> None:
        self.number += 1
        self.after = after
        self.message_id = None
        self.done = False
        self.blocks = {}

    def _block(self, index: int, kind: str) -> Block:
        return self.blocks.setdefault(index, Block(kind))

    def _grow(self, index: int, kind: str, text: str) -> None:
        block = self._block(index, kind)
        known = sum(len(piece) for piece in block.pieces)
        if len(text) > known:
            block.pieces.append(text[known:])


class ReadPosition:
    """How far one reader has read."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._past = live.number if live.done else -1
        """The answer that was already complete: readers get it as an event, not as deltas."""
        self._number = -1
        self._read: dict[int, tuple[int, int]] = {}

    def is_before(self, seq: int) -> bool:
        """Whether the unfinished answer comes before the event of this number."""
        return self._live.after < seq

    def growth(self) -> bytes:
        """What is new, as frames."""
        live = self._live
        if live.message_id is None or live.number == self._past:
            return b""
        if self._number != live.number:
            self._number, self._read = live.number, {}
        out = [self._more(*each) for each in enumerate(live.blocks.items())]
        return b"".join(out)

    def _more(self, number: int, item: tuple[int, Block]) -> bytes:
        index, block = item
        read, offset = self._read.get(index, (-1, 0))
        new = block.pieces[max(read, 0) :]
        if not new and not (read < 0 and block.call is not None):
            return b""
        text = "".join(new)
        self._read[index] = (len(block.pieces), offset + len(text))
        delta: dict[str, Any] = {
            "msg": block.msg,
            "message_id": self._live.message_id,
            "index": number,
        }
        if block.call is not None:
            delta["tool_call"] = block.call
        return output.frame(output.DELTA, {**delta, "offset": offset, "text": text})


POLL = 0.5
"""Seconds between two looks whether another process was given the answer."""
MARGIN = 1.0
"""Seconds before the run's own timeout in which answers are refused, so that an accepted one always
reaches the run."""

Changed = Callable[[str], None]


class Questions:
    """Questions of the runs of this process. `changed` is called with each task whose questions
    have changed."""

    def __init__(self, store: AsyncStore, changed: Changed) -> None:
        self._store = store
        self._changed = changed
        self._waiting: dict[tuple[str, str], asyncio.Event] = {}

    def heard(self, task_id: str, call_id: str) -> None:
        """An answer has arrived in this process."""
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
        details = (question.tool.name, question.side_effects.value, question.input)
        seconds = max(question.timeout - MARGIN, question.timeout / 2)
        end = time.monotonic() + seconds
        heard = self._waiting[task_id, call] = asyncio.Event()
        try:
            await self._store.ask_confirmation(task_id, call, details, holder, seconds)
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
        """Closes the question, so that later answers no longer count."""
        with suppress(StoreError):
            decision: Decision = "timeout" if late else "cancelled"
            await self._store.answer_confirmation(task_id, call, decision)
        self._changed(task_id)
