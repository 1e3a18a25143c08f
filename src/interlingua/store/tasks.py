"""Tasks: their holders, queues, events and confirmations.

Every change holds the task's row until it is written, so that of two concurrent programs one is
first. Only the holder writes events of the conversation: one that was silent for longer than its
lease has lost the task, and gets an error here. Times are those of the database.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.model.codec import dumps, loads
from interlingua.model.message import Message, from_micros
from interlingua.store import task_rows
from interlingua.store.errors import ConflictError, NotFoundError, QueueFullError, ReusedIdError
from interlingua.store.quotas import Quotas
from interlingua.store.rows import SessionRow
from interlingua.store.sessions import Forks, Sessions
from interlingua.store.statements import Op, Step, now
from interlingua.store.task_rows import (
    TASKS,
    ConfirmationRow,
    Decision,
    QueuedRow,
    QueueLimit,
    QueueResult,
    TaskEventRow,
    TaskRow,
    TaskUpdate,
)

MOST_QUEUED = 10_000
"""Messages of one task, or of one owner, that are read at a time."""
PAGE_BYTES = 1024 * 1024
"""Bytes of events that are read at a time."""
LAST = "\U0010ffff"
"""Behind every id."""
EventOf = Callable[[str], bytes]
"""The event that a queued message causes, by the message's id."""


class Tasks(Sessions, Quotas):
    @property
    def _tasks(self) -> task_rows.TaskStatements:
        return task_rows.SQLITE if self.sql.is_sqlite else task_rows.POSTGRES

    # Made and found

    def create_task(
        self, session: SessionRow, owner: str, *, web_search: bool = False
    ) -> Op[TaskRow]:
        """A task and its session, both new; ConflictError where the folder has one."""
        yield from self.add_session(session)
        return (yield from self._add_task(session, owner, web_search))

    def _add_task(self, session: SessionRow, owner: str, web_search: bool) -> Op[TaskRow]:
        at = (yield Step(self._tasks.clock))[0][0]
        row = TaskRow(
            session.id,
            owner,
            session.workspace_path,
            web_search=web_search,
            created_at=at,
            changed_at=at,
        )
        yield Step(self._tasks.add, TASKS.values(row))
        return (yield from self.task(session.id))

    def task(self, id: str) -> Op[TaskRow]:
        """The task; NotFoundError if there is none."""
        return (yield from self._task(self._tasks.task, id))

    def _task(self, sql: str, id: str) -> Op[TaskRow]:
        rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, "task", id)
        return _task_row(rows[0])

    def task_at(self, owner: str, cwd: str) -> Op[TaskRow | None]:
        """The owner's task that lives in this folder."""
        rows = yield Step(self._tasks.at, (owner, cwd))
        return _task_row(rows[0]) if rows else None

    def tasks(
        self, owner: str, limit: int = 1000, before: str | None = None, ended: bool = False
    ) -> Op[list[TaskRow]]:
        """Tasks, the newest first; with `ended` those as well that live no longer."""
        sql = self._tasks.all if ended else self._tasks.living
        rows = yield Step(sql, (owner, LAST if before is None else before, limit))
        return [_task_row(row) for row in rows]

    def changed_tasks(self, since: int, limit: int = 1000) -> Op[list[TaskRow]]:
        """Tasks of all owners that changed after this time (microseconds), in that order."""
        rows = yield Step(self._tasks.changed, (since, limit))
        return [_task_row(row) for row in rows]

    def tasks_clock(self) -> Op[int]:
        """The time by which tasks change (microseconds): that of the database."""
        at: int = (yield Step(self._tasks.clock))[0][0]
        return at

    def generating_tasks(self) -> Op[list[TaskRow]]:
        """Tasks that are running, or were when their holder died."""
        return [_task_row(row) for row in (yield Step(self._tasks.generating))]

    def count_tasks(self, owners: Sequence[str]) -> Op[dict[str, int]]:
        """The number of living tasks of each owner."""
        rows = yield Step(self._tasks.owned, (self._list(owners),))
        return dict(rows)

    def watch_tasks(self, ids: Sequence[str]) -> Op[dict[str, tuple[int, int]]]:
        """The number of events of each task, and the time of its last change."""
        rows = yield Step(self._tasks.watch, (self._list(ids),))
        return {id: (count, changed) for id, count, changed in rows}

    # Who runs one

    def claim_task(
        self, id: str, holder: str, seconds: float, lost: str | None = None
    ) -> Op[TaskRow]:
        """Claims a task for this holder if it is free, or held by `lost`, which is gone;
        `holder` of the row is the owner after that."""
        row = yield from self._locked(id)
        free = not row.generating if lost is None else row.generating and row.holder == lost
        if not free or row.ended_at is not None:
            return row
        return (yield from self._saved(_claimed(row, holder, seconds)))

    def renew_tasks(self, holders: Mapping[str, str], seconds: float) -> Op[set[str]]:
        """Renews the claims of holders (task to holder). Returns the holders that still have
        theirs."""
        ids, names = self._list(holders), self._list(holders.values())
        rows = yield Step(self._tasks.renew, (_micros(seconds), ids, names))
        return {row[0] for row in rows}

    def stopping_tasks(self, ids: Sequence[str]) -> Op[set[str]]:
        """The tasks among these that are to be stopped."""
        return {row[0] for row in (yield Step(self._tasks.stopping, (self._list(ids),)))}

    def tell_task(self, id: str, telling: TaskUpdate) -> Op[TaskRow]:
        """Stores events from the holder of a task; ConflictError if it has another holder now."""
        row = yield from self._advance((yield from self._held(id, telling.holder)), telling)
        if telling.goes_on:
            row = replace(row, stopping=False)
        return (yield from self._saved(row, seen=bool(telling.taken)))

    def finish_task(
        self,
        id: str,
        telling: TaskUpdate,
        event: EventOf,
        *,
        interrupted: bool = False,
        anyway: bool = False,
    ) -> Op[TaskRow]:
        """Ends the run, unless messages wait: the row's `status` shows which. With `anyway`, it
        always ends. A message that was about to begin waits again (`event`)."""
        row = yield from self._held(id, telling.holder)
        waiting = yield from self.task_queue(id)
        if waiting and not anyway:
            return row
        starting = [each.id for each in waiting if each.state == "starting"]
        for each in starting:
            yield Step(self._tasks.set_state, ("queued", id, each))
        yield Step(self._tasks.answer_all, ("cancelled", id))
        events = [*telling.events, *[event(each) for each in starting]]
        row = yield from self._advance(row, telling._replace(events=events))
        free = replace(row, status="idle", holder=None, lease_until=0, stopping=False)
        return (yield from self._saved(replace(free, interrupted=interrupted)))

    def withdraw_task(self, id: str, holder: str, message_id: str) -> Op[TaskRow]:
        """Withdraws a message whose run cannot begin, as if it had never been queued."""
        row = yield from self._held(id, holder)
        yield Step(self._tasks.drop_message, (id, message_id))
        free = replace(row, status="idle", holder=None, lease_until=0, stopping=False)
        return (yield from self._saved(free))

    def stop_task(self, id: str, event: EventOf) -> Op[list[QueuedRow] | None]:
        """Have a run stopped and empty its queue; None if nothing runs."""
        row = yield from self._locked(id)
        if not row.generating:
            return None
        queue = [each for each in (yield from self.task_queue(id)) if each.state == "queued"]
        for each in queue:
            yield Step(self._tasks.close_message, ("removed", id, each.id))
        row = yield from self._append(row, [event(each.id) for each in queue])
        yield from self._saved(replace(row, stopping=True))
        return queue

    def end_task(self, id: str) -> Op[TaskRow]:
        """The task lives no longer; its folder is free."""
        row = yield from self._locked(id)
        if row.ended_at is not None:
            return row
        return (yield from self._saved(replace(row, ended_at=row.now)))

    def _locked(self, id: str) -> Op[TaskRow]:
        return (yield from self._task(self._tasks.lock, id))

    def _held(self, id: str, holder: str) -> Op[TaskRow]:
        row = yield from self._locked(id)
        if row.holder != holder:
            raise ConflictError(self.where, f"task {id} is now run by another program")
        return row

    def _advance(self, row: TaskRow, telling: TaskUpdate) -> Op[TaskRow]:
        for id in telling.taken:
            yield Step(self._tasks.close_message, ("taken", row.id, id))
        row = yield from self._append(row, telling.events)
        return (
            row
            if telling.reported is None
            else replace(row, reported=max(row.reported, telling.reported))
        )

    def _append(self, row: TaskRow, events: Sequence[bytes]) -> Op[TaskRow]:
        if not events:
            return row
        first = row.event_count + 1
        values = [
            (row.id, seq, str(uuid.uuid4()), row.now, len(body), body)
            for seq, body in enumerate(events, first)
        ]
        yield Step(self._tasks.add_event, values, many=True)
        return replace(row, event_count=row.event_count + len(events))

    def _saved(self, row: TaskRow, seen: bool = True) -> Op[TaskRow]:
        """`seen`: whether what others see of the task, besides its events, has changed."""
        changed = max(row.now, row.changed_at + 1) if seen else row.changed_at
        row = replace(row, changed_at=changed)
        stored = dict(zip(TASKS.columns, TASKS.values(row), strict=True))
        values = [stored[column] for column in task_rows.CHANGING]
        yield Step(self._tasks.save, (*values, row.id))
        return row

    # What waits

    def queue_message(
        self,
        id: str,
        message_id: str,
        message: Message,
        event: bytes,
        *,
        holder: str | None = None,
        seconds: float = 0.0,
        most: QueueLimit | None = None,
        key_id: str | None = None,
    ) -> Op[QueueResult]:
        """Queues a message for a task; with `holder`, claims the task if it is free. If nothing
        else waits then, the message is `starting` and was never queued. `QueueFullError` if `most`
        wait already, `ReusedIdError` for another message under a used id."""
        row = yield from self._locked(id)
        found = yield Step(self._tasks.message, (id, message_id))
        if found:
            (digest,) = (yield Step(self._tasks.digest, (id, message_id)))[0]
            if digest not in (None, message.digest()):
                raise ReusedIdError(self.where, message_id)
            return QueueResult(row, found[0][2], False, False)
        if row.ended_at is not None:
            raise ConflictError(self.where, f"task {id} has ended")
        if most is not None:
            count, size = (yield Step(self._tasks.queue_size, (id,)))[0]
            if count >= most.messages or size >= most.size:
                raise QueueFullError(self.where, count, int(size))
        claimed = holder is not None and not row.generating
        waits = not claimed or bool((yield Step(self._tasks.queue, (id, 1))))
        state = "queued" if waits else "starting"
        values = (id, message_id, state, dumps(message), message.digest(), key_id, id)
        yield Step(self._tasks.add_message, values)
        if claimed:
            assert holder is not None
            row = _claimed(row, holder, seconds)
        row = yield from self._append(row, [event] if waits else [])
        row = yield from self._saved(row)
        return QueueResult(row, "queued" if waits else "starting", True, claimed)

    def unqueue_message(self, id: str, message_id: str, event: EventOf) -> Op[QueuedRow | None]:
        """Take back a message that waits; None if it does not."""
        row = yield from self._locked(id)
        found = yield Step(self._tasks.message, (id, message_id))
        if not found or found[0][2] != "queued":
            return None
        yield Step(self._tasks.close_message, ("removed", id, message_id))
        yield from self._saved((yield from self._append(row, [event(message_id)])))
        return _queued_row(found[0])

    def task_queue(self, id: str) -> Op[list[QueuedRow]]:
        """The queued messages, and the one about to begin, in order."""
        return [_queued_row(row) for row in (yield Step(self._tasks.queue, (id, MOST_QUEUED)))]

    def owned_queues(self, owner: str) -> Op[list[QueuedRow]]:
        """The queued messages in all tasks of an owner."""
        rows = yield Step(self._tasks.queues, (owner, MOST_QUEUED))
        return [_queued_row(row) for row in rows]

    # Events

    def task_events(
        self, id: str, after: int = 0, limit: int = 100, most_bytes: int = PAGE_BYTES
    ) -> Op[list[TaskEventRow]]:
        """Events behind a number; a page has one more than fits, at most."""
        rows = yield Step(self._tasks.events, (id, after, limit, most_bytes))
        return [TaskEventRow(seq, event, at, bytes(body)) for seq, event, at, body in rows]

    # Confirmations

    def ask_confirmation(
        self, id: str, call_id: str, call: tuple[str, str, Any], holder: str, seconds: float
    ) -> Op[ConfirmationRow]:
        """Ask whether a call may run: the tool's name, its side effects, its input."""
        row = yield from self._held(id, holder)
        name, effects, input = call
        until = row.now + _micros(seconds)
        values = (id, call_id, name, effects, dumps(input), row.now, until)
        yield Step(self._tasks.add_confirmation, values)
        yield from self._saved(row)
        return ConfirmationRow(id, call_id, "waiting", name, effects, input, row.now, until)

    def answer_confirmation(
        self, id: str, call_id: str, decision: Decision
    ) -> Op[tuple[ConfirmationRow, bool]]:
        """The question, and whether this answer counts: the first one does, and no approval after
        the deadline."""
        row = yield from self._locked(id)
        found = yield from self._confirmation(id, call_id)
        late = found.expires_at <= row.now
        if found.status != "waiting" or (late and decision in ("approved", "denied")):
            status = "timeout" if late and found.status == "waiting" else found.status
            return found._replace(status=status), False
        yield Step(self._tasks.answer, (decision, id, call_id))
        yield from self._saved(row)
        return found._replace(status=decision), True

    def confirmation(self, id: str, call_id: str) -> Op[ConfirmationRow]:
        """One question."""
        return (yield from self._confirmation(id, call_id))

    def _confirmation(self, id: str, call_id: str) -> Op[ConfirmationRow]:
        rows = yield Step(self._tasks.confirmation, (id, call_id))
        if not rows:
            raise NotFoundError(self.where, "confirmation", call_id)
        return _confirmation_row(rows[0])

    def confirmations(self, id: str) -> Op[list[ConfirmationRow]]:
        """The open confirmations."""
        rows = yield Step(self._tasks.confirmations, (id,))
        return [_confirmation_row(row) for row in rows]

    def approved(self, id: str, call_ids: Sequence[str]) -> Op[set[str]]:
        """The calls among these that were approved."""
        rows = yield Step(self._tasks.approved, (id, self._list(call_ids)))
        return {row[0] for row in rows}


def _claimed(row: TaskRow, holder: str, seconds: float) -> TaskRow:
    return replace(
        row,
        status="generating",
        holder=holder,
        lease_until=row.now + _micros(seconds),
        stopping=False,
    )


def _task_row(row: Sequence[Any]) -> TaskRow:
    name, model, queued, waiting, now = row[-5:]
    return TASKS.read(row, name=name, model=model, queued=queued, waiting=waiting, now=now)


def _queued_row(row: Sequence[Any]) -> QueuedRow:
    task_id, id, state, data, key_id = row
    message = None if data is None else loads(bytes(data), Message)
    return QueuedRow(task_id, id, state, message, key_id)


def _confirmation_row(row: Sequence[Any]) -> ConfirmationRow:
    values: list[Any] = list(row)
    values[5] = msgspec.json.decode(bytes(row[5]))
    return ConfirmationRow(*values)


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)


class Branches(Forks, Tasks):
    def branch_task(self, id: str, last: str | None, *, name: str | None = None) -> Op[TaskRow]:
        """A new task in the folder of this one, which ends, with copies of its messages up to and
        including `last` (None: none of them), called `name` or as this one. ConflictError while it
        runs."""
        old = yield from self._locked(id)
        if old.generating:
            raise ConflictError(self.where, f"task {id} is running")
        yield from self.end_task(id)
        parent = yield from self.session(id)
        if last is not None:
            child = yield from self.fork(id, last, name=name or parent.name)
            return (yield from self._add_task(child, old.owner, old.web_search))
        at = from_micros(now())
        child = replace(
            parent,
            id=self.ulids.new(),
            created_at=at,
            updated_at=at,
            message_count=0,
            name=name or parent.name,
            parent_id=id,
        )
        return (yield from self.create_task(child, old.owner, web_search=old.web_search))
