"""Tasks: who runs one, what waits for it, what has happened, and what it wants to be allowed.

Every change holds the task's row until it is written, so that whatever two programs do, one of them
is first. Only the holder tells what happens in the conversation: one that was silent for longer
than its lease has lost the task, and finds out here. Times are those of the database.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.model.codec import dumps, loads
from interlingua.model.message import Message
from interlingua.store import task_statements
from interlingua.store.effects import Op, Step
from interlingua.store.errors import ConflictError, NotFoundError
from interlingua.store.quotas import Quotas
from interlingua.store.rows import SessionRow
from interlingua.store.sessions import Sessions
from interlingua.store.task_rows import (
    ConfirmationRow,
    Decision,
    QueuedRow,
    QueueResult,
    TaskEventRow,
    TaskRow,
    TaskUpdate,
)

MOST_QUEUED = 10_000
"""Messages of one task, or of one owner, that are read at a time."""
LAST = "\U0010ffff"
"""Behind every id."""
EventOf = Callable[[str], bytes]
"""The event that tells of a message of the queue, by its id."""


class Tasks(Sessions, Quotas):
    @property
    def _tasks(self) -> task_statements.TaskStatements:
        return task_statements.SQLITE if self.sql.is_sqlite else task_statements.POSTGRES

    # Made and found

    def create_task(self, session: SessionRow, owner: str, web_search: bool) -> Op[TaskRow]:
        """With its session: there is never one without the other."""
        yield from self.create_session(session)
        at = (yield Step(self._tasks.clock))[0][0]
        cwd, searches = session.workspace_path, int(web_search)
        values = (session.id, owner, cwd, "idle", None, 0, 0, 0, searches, 0, 0, at, at, None)
        yield Step(self._tasks.add, values)
        return (yield from self.task(session.id))

    def task(self, id: str) -> Op[TaskRow]:
        return (yield from self._task(self._tasks.task, id))

    def _task(self, sql: str, id: str) -> Op[TaskRow]:
        rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, "task", id)
        return _task_row(rows[0])

    def task_at(self, owner: str, cwd: str) -> Op[TaskRow | None]:
        rows = yield Step(self._tasks.at, (owner, cwd))
        return _task_row(rows[0]) if rows else None

    def tasks(self, owner: str, limit: int, before: str | None, ended: bool) -> Op[list[TaskRow]]:
        sql = self._tasks.all if ended else self._tasks.living
        rows = yield Step(sql, (owner, LAST if before is None else before, limit))
        return [_task_row(row) for row in rows]

    def changed_tasks(self, since: int, limit: int) -> Op[list[TaskRow]]:
        rows = yield Step(self._tasks.changed, (since, limit))
        return [_task_row(row) for row in rows]

    def tasks_clock(self) -> Op[int]:
        """The time by which tasks change."""
        at: int = (yield Step(self._tasks.clock))[0][0]
        return at

    def generating_tasks(self) -> Op[list[TaskRow]]:
        return [_task_row(row) for row in (yield Step(self._tasks.generating))]

    def count_tasks(self, owners: Sequence[str]) -> Op[dict[str, int]]:
        rows = yield Step(self._tasks.owned, (self._list(owners),))
        return dict(rows)

    def watch_tasks(self, ids: Sequence[str]) -> Op[dict[str, tuple[int, int]]]:
        rows = yield Step(self._tasks.watch, (self._list(ids),))
        return {id: (count, changed) for id, count, changed in rows}

    # Who runs one

    def claim_task(self, id: str, holder: str, seconds: float, lost: str | None) -> Op[TaskRow]:
        """Its row; whether it is ours now is said by `holder`. With `lost`, the task is taken from
        the one who was its holder and is gone."""
        row = yield from self._locked(id)
        free = not row.generating if lost is None else row.generating and row.holder == lost
        if not free or row.ended_at is not None:
            return row
        return (yield from self._saved(_claimed(row, holder, seconds)))

    def renew_tasks(self, holders: Mapping[str, str], seconds: float) -> Op[set[str]]:
        """Tasks and who holds each; gives the holders that still do."""
        ids, names = self._list(holders), self._list(holders.values())
        rows = yield Step(self._tasks.renew, (_micros(seconds), ids, names))
        return {row[0] for row in rows}

    def stopping_tasks(self, ids: Sequence[str]) -> Op[set[str]]:
        return {row[0] for row in (yield Step(self._tasks.stopping, (self._list(ids),)))}

    def tell_task(self, id: str, telling: TaskUpdate) -> Op[TaskRow]:
        row = yield from self._told((yield from self._held(id, telling.holder)), telling)
        if telling.goes_on:
            row = replace(row, stopping=False)
        return (yield from self._saved(row, seen=bool(telling.taken)))

    def finish_task(
        self, id: str, telling: TaskUpdate, interrupted: bool, anyway: bool, event: EventOf
    ) -> Op[TaskRow]:
        """The run is over, unless something waits; then the row still says `generating`. With
        `anyway` it is over whatever waits. What was about to begin waits from now on (`event`)."""
        row = yield from self._held(id, telling.holder)
        waiting = yield from self.task_queue(id)
        if waiting and not anyway:
            return row
        starting = [each.id for each in waiting if each.state == "starting"]
        for each in starting:
            yield Step(self._tasks.set_state, ("queued", id, each))
        yield Step(self._tasks.answer_all, ("cancelled", id))
        events = [*telling.events, *[event(each) for each in starting]]
        row = yield from self._told(row, telling._replace(events=events))
        free = replace(row, status="idle", holder=None, lease_until=0, stopping=False)
        return (yield from self._saved(replace(free, interrupted=interrupted)))

    def withdraw_task(self, id: str, holder: str, message_id: str) -> Op[TaskRow]:
        """What was about to begin cannot, and is as if it had never been given."""
        row = yield from self._held(id, holder)
        yield Step(self._tasks.drop_message, (id, message_id))
        free = replace(row, status="idle", holder=None, lease_until=0, stopping=False)
        return (yield from self._saved(free))

    def stop_task(self, id: str, event: EventOf) -> Op[list[QueuedRow] | None]:
        """Have the run stopped, and empty the queue; None if nothing runs."""
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

    def _told(self, row: TaskRow, telling: TaskUpdate) -> Op[TaskRow]:
        for id in telling.taken:
            yield Step(self._tasks.close_message, ("taken", row.id, id))
        row = yield from self._append(row, telling.events)
        return row if telling.told is None else replace(row, told=max(row.told, telling.told))

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
        """`seen`: what others see of the task, beside its events, has changed."""
        changed = max(row.now, row.changed_at + 1) if seen else row.changed_at
        values = (
            *(row.status, row.holder, row.lease_until, int(row.stopping), int(row.interrupted)),
            *(row.told, row.event_count, changed, row.ended_at, row.id),
        )
        yield Step(self._tasks.save, values)
        return replace(row, changed_at=changed)

    # What waits

    def queue_message(
        self,
        id: str,
        message_id: str,
        message: Message,
        event: bytes,
        holder: str | None,
        seconds: float,
    ) -> Op[QueueResult]:
        """A message for a task. If the task is idle and `holder` is given, the task is claimed for
        it; and if then nothing else waits, the message is `starting` and was never queued."""
        row = yield from self._locked(id)
        found = yield Step(self._tasks.message, (id, message_id))
        if found:
            return QueueResult(row, found[0][2], False, False)
        if row.ended_at is not None:
            raise ConflictError(self.where, f"task {id} has ended")
        claimed = holder is not None and not row.generating
        waits = not claimed or bool((yield Step(self._tasks.queue, (id, 1))))
        state = "queued" if waits else "starting"
        yield Step(self._tasks.add_message, (id, message_id, state, dumps(message), id))
        if claimed:
            assert holder is not None
            row = _claimed(row, holder, seconds)
        row = yield from self._append(row, [event] if waits else [])
        row = yield from self._saved(row)
        return QueueResult(row, "queued" if waits else "starting", True, claimed)

    def unqueue_message(self, id: str, message_id: str, event: EventOf) -> Op[QueuedRow | None]:
        """Take a message out of the queue; None if it is not there (any more)."""
        row = yield from self._locked(id)
        found = yield Step(self._tasks.message, (id, message_id))
        if not found or found[0][2] != "queued":
            return None
        yield Step(self._tasks.close_message, ("removed", id, message_id))
        yield from self._saved((yield from self._append(row, [event(message_id)])))
        return _queued_row(found[0])

    def task_queue(self, id: str, limit: int = MOST_QUEUED) -> Op[list[QueuedRow]]:
        """What waits, and what is about to begin, in order."""
        return [_queued_row(row) for row in (yield Step(self._tasks.queue, (id, limit)))]

    def owned_queues(self, owner: str) -> Op[list[QueuedRow]]:
        rows = yield Step(self._tasks.queues, (owner, MOST_QUEUED))
        return [_queued_row(row) for row in rows]

    # What has happened

    def task_events(
        self, id: str, after: int, limit: int, most_bytes: int
    ) -> Op[list[TaskEventRow]]:
        """Events behind a number, as many as have room; at least one, if there is one."""
        rows = yield Step(self._tasks.events, (id, after, limit, most_bytes))
        return [TaskEventRow(seq, event, at, bytes(body)) for seq, event, at, body in rows]

    # What it wants to be allowed

    def ask_confirmation(
        self, id: str, call_id: str, asked: tuple[str, str, Any], holder: str, seconds: float
    ) -> Op[ConfirmationRow]:
        """`asked` is the tool's name, its side effects and its input."""
        row = yield from self._held(id, holder)
        name, effects, input = asked
        until = row.now + _micros(seconds)
        values = (id, call_id, name, effects, dumps(input), row.now, until)
        yield Step(self._tasks.add_confirmation, values)
        yield from self._saved(row)
        return ConfirmationRow(id, call_id, "waiting", name, effects, input, row.now, until)

    def answer_confirmation(
        self, id: str, call_id: str, decision: Decision
    ) -> Op[tuple[ConfirmationRow, bool]]:
        """The question, and whether this answer is the one that counts. Nobody's yes counts when
        the time is up."""
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
        return (yield from self._confirmation(id, call_id))

    def _confirmation(self, id: str, call_id: str) -> Op[ConfirmationRow]:
        rows = yield Step(self._tasks.confirmation, (id, call_id))
        if not rows:
            raise NotFoundError(self.where, "confirmation", call_id)
        return _confirmation_row(rows[0])

    def confirmations(self, id: str) -> Op[list[ConfirmationRow]]:
        rows = yield Step(self._tasks.confirmations, (id,))
        return [_confirmation_row(row) for row in rows]

    def approved(self, id: str, call_ids: Sequence[str]) -> Op[set[str]]:
        """Which of these calls somebody has allowed."""
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
    values: list[Any] = list(row)
    values[6:9] = [bool(flag) for flag in row[6:9]]
    return TaskRow(*values)


def _queued_row(row: Sequence[Any]) -> QueuedRow:
    task_id, id, state, data = row
    return QueuedRow(task_id, id, state, None if data is None else loads(bytes(data), Message))


def _confirmation_row(row: Sequence[Any]) -> ConfirmationRow:
    values: list[Any] = list(row)
    values[5] = msgspec.json.decode(bytes(row[5]))
    return ConfirmationRow(*values)


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)
