"""The events of tasks for readers: `GET /task/{id}/events`.

A process reads each new event of a task once, however many readers there are, and holds the last
ones. A reader that is further behind, or slow, reads from the store at its own pace; so it costs
little memory, misses nothing and gets nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from interlingua.agents.chat.chat import to_the_end
from interlingua.gateway.shared.feed import PING, Poller, frame, is_set
from interlingua.gateway.tasks import output
from interlingua.model import events as ev
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.metadata import MessageStatus
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.task_rows import Decision, TaskEventRow, TaskRow
from interlingua.tools.confirm import Confirmation

_KINDS = {ev.TextDelta: "TextDelta", ev.ThinkingDelta: "ThinkingDelta"}
_LAST = (ev.MessageComplete, ev.StreamError)


class Block:
    """A growing text. `call` is the tool call whose arguments it is."""

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
        """Takes the stored part of another process's answer."""
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
    """The position of one reader."""

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
        """The new part, as frames."""
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
        return frame(output.DELTA, {**delta, "offset": offset, "text": text})


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
            await is_set(heard, POLL)
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


logger = logging.getLogger(__name__)

POLL = 0.5
"""Seconds between two polls for events of other processes."""
POLL_SAYING = 0.2
"""The same while one of them gets an answer, so that readers see it grow."""
SOON = 0.03
"""Seconds in which pieces of an answer are gathered before readers get them."""
MAX_RECENT, MAX_RECENT_BYTES = 256, 1024 * 1024
"""Limits of a task's recent events, for all of its readers together."""
PAGE = 100
CHUNK = 64 * 1024
_QUEUE_EVENTS = (b'{"msg":"MessageQueued"', b'{"msg":"MessageUnqueued"')


class RecentEvent(NamedTuple):
    seq: int
    data: bytes


class Feed:
    """The events of one task that is being read."""

    def __init__(self, store: AsyncStore, row: TaskRow, live: Live) -> None:
        self.id = row.id
        self.live = live
        self.seq = row.event_count
        self.queue = self.questions = b""
        self.readers = 0
        self.gone = False
        self.is_local: Callable[[], bool] = lambda: False
        """Whether the task is run by this process."""
        self.woken = asyncio.Event()
        self._store = store
        self._row = row
        self._recent: deque[RecentEvent] = deque()
        self._size = 0
        self._first = row.event_count
        """The number before the first event in memory."""
        self._busy = asyncio.Lock()
        self._again = False
        self._soon: asyncio.TimerHandle | None = None
        self._work: asyncio.Task[None] | None = None

    # New events

    def wake(self) -> None:
        woken, self.woken = self.woken, asyncio.Event()
        woken.set()

    def wake_soon(self) -> None:
        """Wakes readers in a moment, when more pieces have arrived."""
        if self._soon is None and self.readers:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._wake_now)

    def _wake_now(self) -> None:
        self._soon = None
        self.wake()

    def poke(self) -> None:
        """The store has something new."""
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._look())
        else:
            self._again = True

    async def _look(self) -> None:
        self._again = True
        while self._again:
            self._again = False
            try:
                await self.refresh()
            except StoreError as error:
                logger.warning("events_not_read", extra={"task": self.id, "why": error.reason})
                return

    async def refresh(self) -> None:
        """Reads new events, and wakes the readers."""
        async with self._busy:
            try:
                self._row = await self._store.task(self.id)
            except NotFoundError:
                self.gone = True
                self.wake()
                return
            rows = await self._events()
            await self._snapshots()
            for row in rows:
                self._keep(row)
            if not self.is_local():
                await self._overhear()
            self.wake()

    async def _events(self) -> list[TaskEventRow]:
        out: list[TaskEventRow] = []
        after = self.seq
        while len(out) < MAX_RECENT:
            page = await self._store.task_events(self.id, after, PAGE)
            if not page:
                break
            out += page
            after = page[-1].seq
        self._again = self._again or len(out) >= MAX_RECENT
        return out

    async def _snapshots(self) -> None:
        queue = output.queued(await self._store.task_queue(self.id))
        self.queue = frame(output.QUEUE, queue)
        rows = await self._store.confirmations(self.id)
        self.questions = frame(output.CONFIRMATIONS, [output.confirmation(row) for row in rows])

    def _keep(self, row: TaskEventRow) -> None:
        data = output.event_frame(row)
        if is_of_queue(row):
            data += self.queue
        self._recent.append(RecentEvent(row.seq, data))
        self._size += len(data)
        self.seq = row.seq
        while len(self._recent) > MAX_RECENT or (
            self._size > MAX_RECENT_BYTES and len(self._recent) > 1
        ):
            old = self._recent.popleft()
            self._size -= len(old.data)
            self._first = old.seq

    async def _overhear(self) -> None:
        """The stored part of an answer that another process gets."""
        last = await self._store.tail(self.id, 1) if self._row.generating else []
        if last and last[-1].metadata.status is MessageStatus.PARTIAL:
            self.live.see(last[-1], self.seq)
        else:
            self.live.done = True

    @property
    def is_generating_elsewhere(self) -> bool:
        """Whether another process gets an answer now."""
        return self._row.generating and not self.is_local()

    def behind(self, count: int, changed_at: int) -> bool:
        """Whether the store has more than is known here."""
        changed = changed_at != self._row.changed_at
        return count > self.seq or changed or self.is_generating_elsewhere

    # What readers ask

    def since(self, seq: int) -> list[RecentEvent] | None:
        """Recent events after a number; None if older ones are needed from the store."""
        if seq < self._first:
            return None
        return [each for each in self._recent if each.seq > seq]

    async def page(self, after: int) -> list[TaskEventRow]:
        """Events after a number that are no longer in memory."""
        page = await self._store.task_events(self.id, after, PAGE)
        return [row for row in page if row.seq <= self._first]

    def close(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
        if self._work is not None:
            self._work.cancel()


def is_of_queue(row: TaskEventRow) -> bool:
    return row.body.startswith(_QUEUE_EVENTS)


class Feeds(Poller):
    """Feeds of the tasks read in this process, with the unfinished answers of those run here."""

    def __init__(self, store: AsyncStore) -> None:
        super().__init__()
        self.is_local: Callable[[str], bool] = lambda id: False
        self._store = store
        self._feeds: dict[str, Feed] = {}
        self._lives: dict[str, Live] = {}

    def __len__(self) -> int:
        return sum(feed.readers for feed in self._feeds.values())

    def live(self, id: str) -> Live:
        return self._lives.setdefault(id, Live())

    def on_delta(self, id: str) -> None:
        """Wake the readers of a task that runs here: its answer has grown."""
        feed = self._feeds.get(id)
        if feed is not None:
            feed.wake_soon()

    def poke(self, id: str) -> None:
        """The store has something new of a task."""
        feed = self._feeds.get(id)
        if feed is not None:
            feed.poke()

    def forget(self, id: str) -> None:
        """A run is over."""
        if id not in self._feeds:
            self._lives.pop(id, None)

    async def read(self, row: TaskRow, after: int) -> AsyncGenerator[bytes, None]:
        """The events of a task after a number, until the reader leaves or the gateway stops."""
        feed = self._feeds.get(row.id)
        if feed is None:
            feed = self._feeds[row.id] = Feed(self._store, row, self.live(row.id))
            feed.is_local = lambda: self.is_local(row.id)
        feed.readers += 1
        self._begin(self._poll)
        try:
            await feed.refresh()
            async for piece in _Reader(feed, after, self.closed).run():
                yield piece
        finally:
            feed.readers -= 1
            if not feed.readers:
                feed.close()
                self._feeds.pop(row.id, None)
                if not self.is_local(row.id):
                    self._lives.pop(row.id, None)

    async def _poll(self) -> None:
        while self._feeds and not self.closed.is_set():
            saying = any(feed.is_generating_elsewhere for feed in self._feeds.values())
            await asyncio.sleep(POLL_SAYING if saying else POLL)
            try:
                await self._look()
            except StoreError as error:
                logger.warning("events_not_read", extra={"why": error.reason})

    async def _look(self) -> None:
        feeds = dict(self._feeds)
        seen = await self._store.watch_tasks(list(feeds))
        for id, feed in feeds.items():
            if id not in seen or feed.behind(*seen[id]):
                feed.poke()

    def close(self) -> None:
        super().close()
        for feed in self._feeds.values():
            feed.wake()


class _Reader:
    """One reader; `after` is the last number that it has."""

    def __init__(self, feed: Feed, after: int, closed: asyncio.Event) -> None:
        self._feed = feed
        self._after = after
        self._closed = closed
        self._listening = ReadPosition(feed.live)
        self._questions = feed.questions

    async def run(self) -> AsyncIterator[bytes]:
        feed = self._feed
        yield feed.queue + feed.questions
        while not self._closed.is_set() and not feed.gone:
            woken = feed.woken
            async for piece in self._pieces():
                if piece:
                    yield piece
            if not await is_set(woken):
                yield PING

    async def _pieces(self) -> AsyncIterator[bytes]:
        """All that is new: events in order, with the unfinished answer in its place."""
        while self._after < self._feed.seq:
            recent = self._feed.since(self._after)
            parts = self._frames(recent) if recent is not None else await self._stored()
            for piece in gathered(parts):
                yield piece
        if self._feed.live.after <= self._after:
            yield self._listening.growth()
        if self._questions != self._feed.questions:
            self._questions = self._feed.questions
            yield self._questions

    def _frames(self, events: list[RecentEvent]) -> list[bytes]:
        out = []
        for each in events:
            if self._listening.is_before(each.seq):
                out.append(self._listening.growth())
            out.append(each.data)
            self._after = each.seq
        return out

    async def _stored(self) -> list[bytes]:
        """A page of events that this reader has not seen; the current queue, if it has changed."""
        page = await self._feed.page(self._after)
        if not page:
            raise NotFoundError("the store", "event", str(self._after + 1))
        self._after = page[-1].seq
        out = [output.event_frame(row) for row in page]
        if any(is_of_queue(row) for row in page):
            out.append(self._feed.queue)
        return out


def gathered(parts: list[bytes]) -> Iterator[bytes]:
    """Joins small parts; a large one stays alone, because all readers share it."""
    small: list[bytes] = []
    size = 0
    for part in parts:
        if size + len(part) > CHUNK and small:
            yield b"".join(small)
            small, size = [], 0
        small.append(part)
        size += len(part)
    if small:
        yield small[0] if len(small) == 1 else b"".join(small)
