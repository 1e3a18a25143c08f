"""What a store gives back about tasks."""

from __future__ import annotations

import pytest

from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, NotFoundError
from interlingua.store.task_rows import TaskUpdate
from tests.store.tasks import LEASE, event, new, queue, seqs


def test_events_are_numbered_without_gaps(store: Store) -> None:
    id = new(store)
    store.claim_task(id, "a", LEASE)
    assert (
        store.tell_task(id, TaskUpdate("a", [b'{"n":1}', b'{"n":2}'], reported=3)).event_count == 2
    )
    store.tell_task(id, TaskUpdate("a", [b'{"n":3}'], reported=2))
    rows = store.task_events(id)
    assert [(row.seq, row.body) for row in rows] == [
        (1, b'{"n":1}'),
        (2, b'{"n":2}'),
        (3, b'{"n":3}'),
    ]
    assert len({row.id for row in rows}) == 3
    assert store.task(id).reported == 3
    assert [row.seq for row in store.task_events(id, 1)] == [2, 3]
    assert [row.seq for row in store.task_events(id, 0, 2)] == [1, 2]
    assert [row.seq for row in store.task_events(id, 0, 9, 8)] == [1, 2], "those that begin in it"
    assert store.watch_tasks([id])[id][0] == 3


def test_a_message_starts_an_idle_task_and_waits_for_a_busy_one(store: Store) -> None:
    id = new(store)
    assert queue(store, id, "one", "a") == ("starting", True)
    assert queue(store, id, "two", "b") == ("queued", False)
    assert queue(store, id, "two", "b") == ("queued", False), "the same message"
    assert [row.id for row in store.task_queue(id)] == ["one", "two"]
    assert [row.id for row in store.owned_queues("")] == ["two"]
    row = store.task(id)
    assert (row.status, row.queued, row.event_count) == ("generating", 1, 1)
    assert store.finish_task(id, TaskUpdate("a"), event).status == "generating", "something waits"
    store.tell_task(id, TaskUpdate("a", [b"{}"], 1, ["one"]))
    store.tell_task(id, TaskUpdate("a", [b"{}"], 2, ["two"]))
    assert queue(store, id, "one", "c") == ("taken", False)
    assert store.finish_task(id, TaskUpdate("a", [b"{}"]), event).status == "idle"
    assert seqs(store, id) == [1, 2, 3, 4]


def test_the_first_answer_in_time_counts(store: Store) -> None:
    id = new(store)
    store.claim_task(id, "a", LEASE)
    asked = ("write_file", "write", {"path": "a\0b"})
    store.ask_confirmation(id, "tu_1", asked, "a", LEASE)
    store.ask_confirmation(id, "tu_2", asked, "a", -1.0)
    assert [row.id for row in store.confirmations(id)] == ["tu_1", "tu_2"]
    assert store.confirmation(id, "tu_1").input == {"path": "a\0b"}
    assert store.task(id).waiting == 2
    row, counts = store.answer_confirmation(id, "tu_1", "approved")
    assert (row.status, counts) == ("approved", True)
    row, counts = store.answer_confirmation(id, "tu_1", "denied")
    assert (row.status, counts) == ("approved", False)
    row, counts = store.answer_confirmation(id, "tu_2", "approved")
    assert (row.status, counts) == ("timeout", False), "nobody's yes counts after its time"
    assert store.answer_confirmation(id, "tu_2", "timeout")[1] is True
    assert store.approved(id, ["tu_1", "tu_2", "tu_3"]) == {"tu_1"}
    with pytest.raises(NotFoundError):
        store.answer_confirmation(id, "tu_3", "approved")
    with pytest.raises(ConflictError):
        store.ask_confirmation(id, "tu_4", asked, "b", LEASE)
