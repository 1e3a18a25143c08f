"""The calls of a store about tasks, without and with `await`; `tasks.py` says what each does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from interlingua.model.message import Message
from interlingua.store.operations import Op, Operations
from interlingua.store.rows import SessionRow
from interlingua.store.task_rows import (
    ConfirmationRow,
    Decision,
    QueuedRow,
    QueueResult,
    TaskEventRow,
    TaskRow,
    TaskUpdate,
)
from interlingua.store.tasks import EventOf

T = TypeVar("T")

PAGE_BYTES = 1024 * 1024
"""Of events that are read at a time."""


class TaskCalls(ABC):
    """For threads."""

    _do: Operations

    @abstractmethod
    def _read(self, make: Callable[[], Op[T]]) -> T: ...

    @abstractmethod
    def _write(self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True) -> T: ...

    def create_task(self, session: SessionRow, owner: str, *, web_search: bool = False) -> TaskRow:
        """A task and its session, both new; ConflictError where the folder has one."""
        return self._write(lambda: self._do.create_task(session, owner, web_search))

    def task(self, id: str) -> TaskRow:
        """The task; NotFoundError if there is none."""
        return self._read(lambda: self._do.task(id))

    def task_at(self, owner: str, cwd: str) -> TaskRow | None:
        """The owner's task that lives in this folder."""
        return self._read(lambda: self._do.task_at(owner, cwd))

    def tasks(
        self, owner: str, limit: int = 1000, before: str | None = None, ended: bool = False
    ) -> list[TaskRow]:
        """Tasks, the newest first; with `ended` those as well that live no longer."""
        return self._read(lambda: self._do.tasks(owner, limit, before, ended))

    def changed_tasks(self, since: int, limit: int = 1000) -> list[TaskRow]:
        """Tasks of all owners that changed after this time (microseconds), in that order."""
        return self._read(lambda: self._do.changed_tasks(since, limit))

    def tasks_clock(self) -> int:
        """The time by which tasks change (microseconds): that of the database."""
        return self._read(lambda: self._do.tasks_clock())

    def generating_tasks(self) -> list[TaskRow]:
        """Tasks that somebody runs, or did when it died."""
        return self._read(lambda: self._do.generating_tasks())

    def count_tasks(self, owners: Sequence[str]) -> dict[str, int]:
        """How many tasks of each owner live."""
        return self._read(lambda: self._do.count_tasks(owners))

    def watch_tasks(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Of each task how many events it has, and when it last changed."""
        return self._read(lambda: self._do.watch_tasks(ids))

    def claim_task(self, id: str, holder: str, seconds: float, lost: str | None = None) -> TaskRow:
        """Run a task from here, if nobody does; its `holder` says who has it."""
        return self._write(lambda: self._do.claim_task(id, holder, seconds, lost))

    def renew_tasks(self, holders: Mapping[str, str], seconds: float) -> set[str]:
        """Still running these (task to holder). Gives the holders that still have theirs."""
        return self._write(lambda: self._do.renew_tasks(holders, seconds), durable=False)

    def stopping_tasks(self, ids: Sequence[str]) -> set[str]:
        """Which of these somebody wants to stop."""
        return self._read(lambda: self._do.stopping_tasks(ids))

    def tell_task(self, id: str, telling: TaskUpdate) -> TaskRow:
        """What has happened, from who runs the task; ConflictError if somebody else does now."""
        return self._write(lambda: self._do.tell_task(id, telling))

    def finish_task(
        self,
        id: str,
        telling: TaskUpdate,
        event: EventOf,
        *,
        interrupted: bool = False,
        anyway: bool = False,
    ) -> TaskRow:
        """The run is over, unless something waits: the row's `status` says which."""
        return self._write(lambda: self._do.finish_task(id, telling, interrupted, anyway, event))

    def withdraw_task(self, id: str, holder: str, message_id: str) -> TaskRow:
        """The run did not begin, and its message was never there."""
        return self._write(lambda: self._do.withdraw_task(id, holder, message_id))

    def stop_task(self, id: str, event: EventOf) -> list[QueuedRow] | None:
        """Have a run stopped and empty its queue; None if nothing runs."""
        return self._write(lambda: self._do.stop_task(id, event))

    def end_task(self, id: str) -> TaskRow:
        """The task lives no longer; its folder is free."""
        return self._write(lambda: self._do.end_task(id))

    def queue_message(
        self,
        id: str,
        message_id: str,
        message: Message,
        event: bytes,
        *,
        holder: str | None = None,
        seconds: float = 0.0,
    ) -> QueueResult:
        """Give a task a message; with `holder`, run it from here if nobody does."""
        return self._write(
            lambda: self._do.queue_message(id, message_id, message, event, holder, seconds)
        )

    def unqueue_message(self, id: str, message_id: str, event: EventOf) -> QueuedRow | None:
        """Take back a message that waits; None if it does not."""
        return self._write(lambda: self._do.unqueue_message(id, message_id, event))

    def task_queue(self, id: str) -> list[QueuedRow]:
        """What waits, in order."""
        return self._read(lambda: self._do.task_queue(id))

    def owned_queues(self, owner: str) -> list[QueuedRow]:
        """What waits in all tasks of an owner."""
        return self._read(lambda: self._do.owned_queues(owner))

    def task_events(
        self, id: str, after: int = 0, limit: int = 100, most_bytes: int = PAGE_BYTES
    ) -> list[TaskEventRow]:
        """Events behind a number; a page has one more than fits, at most."""
        return self._read(lambda: self._do.task_events(id, after, limit, most_bytes))

    def ask_confirmation(
        self, id: str, call_id: str, asked: tuple[str, str, Any], holder: str, seconds: float
    ) -> ConfirmationRow:
        """Ask whether a call may run: `asked` is the tool's name, its side effects, its input."""
        return self._write(lambda: self._do.ask_confirmation(id, call_id, asked, holder, seconds))

    def answer_confirmation(
        self, id: str, call_id: str, decision: Decision
    ) -> tuple[ConfirmationRow, bool]:
        """The question, and whether this answer counts: the first one in time does."""
        return self._write(lambda: self._do.answer_confirmation(id, call_id, decision))

    def confirmation(self, id: str, call_id: str) -> ConfirmationRow:
        """One question."""
        return self._read(lambda: self._do.confirmation(id, call_id))

    def confirmations(self, id: str) -> list[ConfirmationRow]:
        """What waits for an answer."""
        return self._read(lambda: self._do.confirmations(id))

    def approved(self, id: str, call_ids: Sequence[str]) -> set[str]:
        """Which of these calls somebody has allowed."""
        return self._read(lambda: self._do.approved(id, call_ids))


class AsyncTaskCalls(ABC):
    """The same for an event loop."""

    _do: Operations

    @abstractmethod
    async def _read(self, make: Callable[[], Op[T]]) -> T: ...

    @abstractmethod
    async def _write(
        self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True
    ) -> T: ...

    async def create_task(
        self, session: SessionRow, owner: str, *, web_search: bool = False
    ) -> TaskRow:
        """See `TaskCalls.create_task`."""
        return await self._write(lambda: self._do.create_task(session, owner, web_search))

    async def task(self, id: str) -> TaskRow:
        """See `TaskCalls.task`."""
        return await self._read(lambda: self._do.task(id))

    async def task_at(self, owner: str, cwd: str) -> TaskRow | None:
        """See `TaskCalls.task_at`."""
        return await self._read(lambda: self._do.task_at(owner, cwd))

    async def tasks(
        self, owner: str, limit: int = 1000, before: str | None = None, ended: bool = False
    ) -> list[TaskRow]:
        """See `TaskCalls.tasks`."""
        return await self._read(lambda: self._do.tasks(owner, limit, before, ended))

    async def changed_tasks(self, since: int, limit: int = 1000) -> list[TaskRow]:
        """See `TaskCalls.changed_tasks`."""
        return await self._read(lambda: self._do.changed_tasks(since, limit))

    async def tasks_clock(self) -> int:
        """See `TaskCalls.tasks_clock`."""
        return await self._read(lambda: self._do.tasks_clock())

    async def generating_tasks(self) -> list[TaskRow]:
        """See `TaskCalls.generating_tasks`."""
        return await self._read(lambda: self._do.generating_tasks())

    async def count_tasks(self, owners: Sequence[str]) -> dict[str, int]:
        """See `TaskCalls.count_tasks`."""
        return await self._read(lambda: self._do.count_tasks(owners))

    async def watch_tasks(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """See `TaskCalls.watch_tasks`."""
        return await self._read(lambda: self._do.watch_tasks(ids))

    async def claim_task(
        self, id: str, holder: str, seconds: float, lost: str | None = None
    ) -> TaskRow:
        """See `TaskCalls.claim_task`."""
        return await self._write(lambda: self._do.claim_task(id, holder, seconds, lost))

    async def renew_tasks(self, holders: Mapping[str, str], seconds: float) -> set[str]:
        """See `TaskCalls.renew_tasks`."""
        return await self._write(lambda: self._do.renew_tasks(holders, seconds), durable=False)

    async def stopping_tasks(self, ids: Sequence[str]) -> set[str]:
        """See `TaskCalls.stopping_tasks`."""
        return await self._read(lambda: self._do.stopping_tasks(ids))

    async def tell_task(self, id: str, telling: TaskUpdate) -> TaskRow:
        """See `TaskCalls.tell_task`."""
        return await self._write(lambda: self._do.tell_task(id, telling))

    async def finish_task(
        self,
        id: str,
        telling: TaskUpdate,
        event: EventOf,
        *,
        interrupted: bool = False,
        anyway: bool = False,
    ) -> TaskRow:
        """See `TaskCalls.finish_task`."""
        return await self._write(
            lambda: self._do.finish_task(id, telling, interrupted, anyway, event)
        )

    async def withdraw_task(self, id: str, holder: str, message_id: str) -> TaskRow:
        """See `TaskCalls.withdraw_task`."""
        return await self._write(lambda: self._do.withdraw_task(id, holder, message_id))

    async def stop_task(self, id: str, event: EventOf) -> list[QueuedRow] | None:
        """See `TaskCalls.stop_task`."""
        return await self._write(lambda: self._do.stop_task(id, event))

    async def end_task(self, id: str) -> TaskRow:
        """See `TaskCalls.end_task`."""
        return await self._write(lambda: self._do.end_task(id))

    async def queue_message(
        self,
        id: str,
        message_id: str,
        message: Message,
        event: bytes,
        *,
        holder: str | None = None,
        seconds: float = 0.0,
    ) -> QueueResult:
        """See `TaskCalls.queue_message`."""
        return await self._write(
            lambda: self._do.queue_message(id, message_id, message, event, holder, seconds)
        )

    async def unqueue_message(self, id: str, message_id: str, event: EventOf) -> QueuedRow | None:
        """See `TaskCalls.unqueue_message`."""
        return await self._write(lambda: self._do.unqueue_message(id, message_id, event))

    async def task_queue(self, id: str) -> list[QueuedRow]:
        """See `TaskCalls.task_queue`."""
        return await self._read(lambda: self._do.task_queue(id))

    async def owned_queues(self, owner: str) -> list[QueuedRow]:
        """See `TaskCalls.owned_queues`."""
        return await self._read(lambda: self._do.owned_queues(owner))

    async def task_events(
        self, id: str, after: int = 0, limit: int = 100, most_bytes: int = PAGE_BYTES
    ) -> list[TaskEventRow]:
        """See `TaskCalls.task_events`."""
        return await self._read(lambda: self._do.task_events(id, after, limit, most_bytes))

    async def ask_confirmation(
        self, id: str, call_id: str, asked: tuple[str, str, Any], holder: str, seconds: float
    ) -> ConfirmationRow:
        """See `TaskCalls.ask_confirmation`."""
        return await self._write(
            lambda: self._do.ask_confirmation(id, call_id, asked, holder, seconds)
        )

    async def answer_confirmation(
        self, id: str, call_id: str, decision: Decision
    ) -> tuple[ConfirmationRow, bool]:
        """See `TaskCalls.answer_confirmation`."""
        return await self._write(lambda: self._do.answer_confirmation(id, call_id, decision))

    async def confirmation(self, id: str, call_id: str) -> ConfirmationRow:
        """See `TaskCalls.confirmation`."""
        return await self._read(lambda: self._do.confirmation(id, call_id))

    async def confirmations(self, id: str) -> list[ConfirmationRow]:
        """See `TaskCalls.confirmations`."""
        return await self._read(lambda: self._do.confirmations(id))

    async def approved(self, id: str, call_ids: Sequence[str]) -> set[str]:
        """See `TaskCalls.approved`."""
        return await self._read(lambda: self._do.approved(id, call_ids))
