"""A task, as effects that `agent.py` runs.

A task is claimed before its conversation changes, and then `tell` writes events for what is new
there. Messages are stored before their events, and the next holder of the task writes the events
that are missing: nothing is lost, and nothing comes twice.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from interlingua.agents.tasks import events
from interlingua.agents.tasks.events import TaskBusyError
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.sessions import core as sessions
from interlingua.sessions.base import is_unfinished, last_turn
from interlingua.sessions.core import open_calls
from interlingua.sessions.effects import Effects
from interlingua.sessions.holding import SILENCE, holder, is_gone
from interlingua.sessions.setting import Setting
from interlingua.store.base import AsyncStore, Store
from interlingua.store.errors import StoreError
from interlingua.store.rows import SessionRow
from interlingua.store.task_rows import QueuedRow, QueueLimit, QueueResult, TaskRow, TaskUpdate

if TYPE_CHECKING:
    from interlingua.agents.tasks.runner import Runner


LEASE = SILENCE.total_seconds()
"""Seconds of silence after which a holder counts as dead, if its process cannot be checked."""
UNKNOWN = "interrupted: it is not known whether {} ran. Check before you call it again."
ABANDONED = "interrupted: {} was stopped before it had a result."
_NAMES = uuid.UUID("5f0a7a54-7c1f-4d9e-9c50-1d8a4a0f4b1e")


def new_message_id(task_id: str, key: str | None = None) -> str:
    """The id for a message of a queue; the same key gives the same id, and so the same message."""
    return str(uuid.uuid4() if key is None else uuid.uuid5(_NAMES, f"{task_id}/{key}"))


def new_holder() -> str:
    """For one run of this process."""
    return f"{secrets.token_hex(8)}@{holder()}"


def is_lost(row: TaskRow) -> bool:
    """Whether the task's holder is gone, or silent for too long."""
    if not row.generating or row.holder is None:
        return False
    return row.abandoned or is_gone(row.holder.partition("@")[2])


def create(
    setting: Setting,
    cwd: str,
    owner: str,
    model: str | None,
    name: str | None,
    web_search: bool = False,
    policy: Mapping[str, object] | None = None,
) -> Effects[TaskCore]:
    """A new task, and its session with it."""
    setting.alone = True

    def make(store: Store, row: SessionRow) -> object:
        return store.create_task(row, owner, web_search=web_search)

    session = yield from sessions.create(setting, cwd, model, name, policy, make)
    row: TaskRow = yield lambda store: store.task(session.id)
    return TaskCore(row, session)


def reopen(setting: Setting, id: str) -> Effects[TaskCore]:
    """Opens a stored task."""
    setting.alone = True
    row: TaskRow = yield lambda store: store.task(id)
    return TaskCore(row, (yield from sessions.reopen(setting, id)))


def queue(
    id: str,
    message: Message,
    message_id: str,
    holder: str | None = None,
    most: QueueLimit | None = None,
    key_id: str | None = None,
) -> Effects[QueueResult]:
    """Give a task a message. With `holder` the task is claimed for it, if it is idle."""
    event = events.queued(message_id)
    result: QueueResult = yield lambda store: store.queue_message(
        id, message_id, message, event, holder=holder, seconds=LEASE, most=most, key_id=key_id
    )
    return result


class TaskCore:
    """A task in memory: its row and its session. `holder` is this process, if it runs the task."""

    def __init__(self, row: TaskRow, session: sessions.Core, holder: str | None = None) -> None:
        self.row = row
        self.session = session
        self.holder = holder or new_holder()
        self._first: list[bytes] = []
        """Events that come before all others of a run."""

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def is_ours(self) -> bool:
        return self.row.generating and self.row.holder == self.holder

    # Adding and queueing

    def add(self, message: Message) -> Effects[Message]:
        """Appends a message at once, without calling the model."""
        yield from self.claim()
        try:
            (stored,) = yield from self.session.append([message])
        finally:
            yield from self.finish()
        return stored

    def queue(self, message: Message, message_id: str | None = None) -> Effects[str]:
        """Queues a message; returns its id."""
        id = message_id or new_message_id(self.id)
        done = yield from queue(self.id, message, id)
        self.row = done.task
        return id

    def waiting(self) -> Effects[list[QueuedRow]]:
        rows: list[QueuedRow] = yield lambda store: store.task_queue(self.id)
        return rows

    # Running

    def claim(self, lost: str | None = None, running: bool = False) -> Effects[None]:
        """Claims the task; `TaskBusyError` if another process runs it. `running`: this is the
        beginning of a run, which gets an event."""
        holder = self.holder
        self.row = yield lambda store: store.claim_task(self.id, holder, LEASE, lost)
        if not self.is_ours:
            raise TaskBusyError(self.id)
        yield from self.take_over(running)

    def take_over(self, running: bool) -> Effects[None]:
        """Continues a task that is claimed already."""
        self._first = []
        yield from self.session.reload()
        yield from self.session.interrupted()
        yield from self.tell()
        self._first = [events.PRE_CONVERSATION] if running else []

    def next(self) -> Effects[QueuedRow | None]:
        """The next message to take up."""
        waiting = yield from self.waiting()
        return waiting[0] if waiting else None

    def tell(self, *more: bytes, goes_on: bool = False) -> Effects[None]:
        """Write events for new messages of the conversation, and `more`."""
        telling = (yield from self._telling(more))._replace(goes_on=goes_on)
        if telling.events or telling.reported != self.row.reported:
            self.row = yield lambda store: store.tell_task(self.id, telling)
            self._first = []

    def finish(self, *more: bytes, interrupted: bool = False, anyway: bool = True) -> Effects[bool]:
        """The run is over. Without `anyway` only if nothing waits; False if something does."""
        telling = yield from self._telling(more)
        self.row = yield lambda store: store.finish_task(
            self.id, telling, events.queued, interrupted=interrupted, anyway=anyway
        )
        return not self.row.generating

    def recover(self, lost: str) -> Effects[None]:
        """Takes over after the holder died: emits its missing events, and `Interrupted` if work
        remains."""
        yield from self.claim(lost)
        history = yield from self.session.load()
        turn = self.session.row.turn
        if turn is not None:
            yield lambda store: store.end_turn(self.id, turn.id)
        cut = is_unfinished(history) or bool((yield from self.waiting()))
        yield from self.finish(
            events.INTERRUPTED if cut else events.POST_CONVERSATION, interrupted=cut
        )

    def withdraw(self, message_id: str) -> Effects[None]:
        """The run does not begin after all."""
        holder = self.holder
        self.row = yield lambda store: store.withdraw_task(self.id, holder, message_id)

    def step_back(self) -> Effects[None]:
        """There was nothing to run."""
        self._first = []
        yield from self.finish()

    def give_up(self) -> Effects[None]:
        """Closes what the previous turn left open, because a new turn begins."""
        history = yield from self.session.load()
        open = open_calls(last_turn(history))
        yield from self._close(open, ABANDONED)

    def doubt(self) -> Effects[None]:
        """Continues the turn: approved calls may already have run, and do not run again. Those that
        need approval ask again; those that only read run again."""
        history = yield from self.session.load()
        open = open_calls(last_turn(history))
        allowed: set[str] = yield lambda store: store.approved(self.id, list(open))
        yield from self._close({id: open[id] for id in open if id in allowed}, UNKNOWN)

    def _close(self, calls: Mapping[str, str], text: str) -> Effects[None]:
        results = [
            Message.tool_result(id, text.format(name), is_error=True, tool_name=name)
            for id, name in calls.items()
        ]
        if results:
            yield from self.session.append(results)
            yield from self.tell()

    def _telling(self, more: Sequence[bytes]) -> Effects[TaskUpdate]:
        history = yield from self.session.load()
        new = _whole(history[self.row.reported :])
        marked = {mark for message in new if (mark := events.mark_of(message)) is not None}
        states = {}
        if marked:
            states = {row.id: row.state for row in (yield from self.waiting())}
        calls = _calls(history) if any(message.role is Role.TOOL for message in new) else {}
        new_events = list(self._first)
        for message in new:
            mark = events.mark_of(message)
            if mark is not None and states.get(mark) == "queued":
                new_events.append(events.taken(mark))
            new_events += events.of_message(message, calls)
        reported = self.row.reported + len(new)
        return TaskUpdate(self.holder, [*new_events, *more], reported, sorted(marked))


def _whole(messages: Sequence[Message]) -> Sequence[Message]:
    """Messages that no longer change: up to the first that is still arriving."""
    for number, message in enumerate(messages):
        if message.metadata.status is MessageStatus.PARTIAL:
            return messages[:number]
    return messages


def _calls(history: Sequence[Message]) -> dict[str, ToolUseBlock]:
    return {call.id: call for message in history for call in message.tool_calls}


logger = logging.getLogger(__name__)

RENEW = 5.0
"""Seconds between two signs of life."""
LOOK = 0.5
"""Seconds between two looks whether another process wants a run stopped."""


class Heartbeat:
    """Looks after runs while there are any."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._runners: dict[str, Runner] = {}
        self._work: asyncio.Task[None] | None = None
        self._renewed = time.monotonic()

    def add(self, runner: Runner) -> None:
        self._runners[runner.id] = runner
        if self._work is None or self._work.done():
            self._renewed = time.monotonic()
            self._work = asyncio.ensure_future(self._tend())

    def remove(self, runner: Runner) -> None:
        if self._runners.get(runner.id) is runner:
            del self._runners[runner.id]

    async def close(self) -> None:
        self._runners.clear()
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})

    async def _tend(self) -> None:
        while self._runners:
            await asyncio.sleep(LOOK)
            try:
                await self._look()
            except StoreError as error:
                logger.warning("tasks_heartbeat_failed", extra={"why": error.reason})

    async def _look(self) -> None:
        runners = dict(self._runners)
        if not runners:
            return
        stops = {id: runner.stops for id, runner in runners.items()}
        for id in await self._store.stopping_tasks(list(runners)):
            runners[id].stop(stops[id])
        began = time.monotonic()
        if began - self._renewed < RENEW:
            return
        held = await self._store.renew_tasks({r.id: r.holder for r in runners.values()}, LEASE)
        self._renewed = began
        for runner in runners.values():
            if runner.holder in held:
                runner.renewed(began)
                await runner.touch()
            elif self._runners.get(runner.id) is runner:
                runner.lose()
