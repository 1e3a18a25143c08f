"""Tasks in the store: one holder, each message once, events without gaps, whoever comes."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from interlingua.model.ids import Ulids
from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, NotFoundError
from interlingua.store.open import open_store
from interlingua.store.rows import SessionRow
from interlingua.store.task_rows import TaskUpdate

LEASE = 60.0


def event(id: str) -> bytes:
    return b'{"of":"%s"}' % id.encode()


def new(store: Store, cwd: str = "/w", owner: str = "") -> str:
    begun = datetime.now(UTC)
    row = SessionRow(Ulids().new(), cwd, begun, begun)
    return store.create_task(row, owner).id


def seqs(store: Store, id: str) -> list[int]:
    return [row.seq for row in store.task_events(id, 0, 1000)]


def queue(store: Store, id: str, name: str, holder: str | None = None) -> tuple[str, bool]:
    done = store.queue_message(
        id, name, Message.user(name), event(name), holder=holder, seconds=LEASE
    )
    return done.state, done.claimed


def test_a_folder_has_one_living_task_of_an_owner(store: Store) -> None:
    first = new(store)
    with pytest.raises(ConflictError):
        new(store)
    assert len(store.sessions()) == 1, "nothing is left of the second"
    assert new(store, owner="other") != first
    found = store.task_at("", "/w")
    assert found is not None
    assert found.id == first
    assert store.end_task(first).ended_at is not None
    assert store.task_at("", "/w") is None
    second = new(store)
    assert [row.id for row in store.tasks("")] == [second]
    assert [row.id for row in store.tasks("", ended=True)] == [second, first]
    assert store.count_tasks(["", "other", "none"]) == {"": 1, "other": 1}
    with pytest.raises(ConflictError):
        queue(store, first, "too late")


def test_one_holder_at_a_time(store: Store) -> None:
    id = new(store)
    assert store.claim_task(id, "a", LEASE).holder == "a"
    assert store.claim_task(id, "b", LEASE).holder == "a"
    with pytest.raises(ConflictError):
        store.tell_task(id, TaskUpdate("b", [b"{}"]))
    assert store.renew_tasks({id: "a"}, LEASE) == {"a"}
    assert store.renew_tasks({id: "b"}, LEASE) == set()
    (row,) = store.generating_tasks()
    assert not row.abandoned
    store.renew_tasks({id: "a"}, -1.0)
    (row,) = store.generating_tasks()
    assert row.abandoned
    assert store.claim_task(id, "c", LEASE, lost="b").holder == "a", "it was not lost by b"
    assert store.claim_task(id, "c", LEASE, lost="a").holder == "c"
    with pytest.raises(ConflictError):
        store.tell_task(id, TaskUpdate("a", [b"{}"]))
    assert store.finish_task(id, TaskUpdate("c"), event, interrupted=True).interrupted
    assert store.task(id).status == "idle"


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


def test_a_run_that_does_not_begin_leaves_nothing(store: Store) -> None:
    id = new(store)
    queue(store, id, "one", "a")
    assert store.withdraw_task(id, "a", "one").status == "idle"
    assert store.task_queue(id) == []
    assert seqs(store, id) == []
    assert queue(store, id, "one", "a") == ("starting", True), "it may come again"


def test_what_was_about_to_begin_waits_when_the_run_is_lost(store: Store) -> None:
    id = new(store)
    queue(store, id, "one", "a")
    store.claim_task(id, "b", LEASE, lost="a")
    done = store.finish_task(id, TaskUpdate("b", [b"{}"]), event, interrupted=True, anyway=True)
    assert done.status == "idle"
    assert [row.state for row in store.task_queue(id)] == ["queued"]
    assert store.task_events(id)[-1].body == event("one")
    assert queue(store, id, "two", "b") == ("queued", True), "in order"


def test_messages_are_taken_back_and_queues_emptied(store: Store) -> None:
    id = new(store)
    assert store.stop_task(id, event) is None
    queue(store, id, "one", "a")
    for name in ("two", "three", "four"):
        queue(store, id, name)
    assert store.unqueue_message(id, "one", event) is None, "it is being taken up"
    taken = store.unqueue_message(id, "three", event)
    assert taken is not None
    assert taken.message is not None
    assert taken.message.text == "three"
    assert store.unqueue_message(id, "three", event) is None
    stopped = store.stop_task(id, event)
    assert stopped is not None
    assert [row.id for row in stopped] == ["two", "four"]
    assert store.stopping_tasks([id, "none"]) == {id}
    assert store.finish_task(id, TaskUpdate("a"), event, anyway=True).stopping is False
    assert seqs(store, id) == list(range(1, 8))


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


def test_a_deleted_session_takes_its_task_along(store: Store) -> None:
    id = new(store)
    queue(store, id, "one", "a")
    queue(store, id, "two")
    store.ask_confirmation(id, "tu_1", ("f", "write", {}), "a", LEASE)
    store.delete_session(id)
    with pytest.raises(NotFoundError):
        store.task(id)
    assert store.task_events(id) == []
    assert store.task_queue(id) == []
    new(store)


def test_changes_are_seen_in_order(store: Store) -> None:
    first, second = new(store, "/a"), new(store, "/b")
    since = max(row.changed_at for row in store.changed_tasks(0))
    queue(store, second, "one", "a")
    (changed,) = store.changed_tasks(since)
    assert changed.id == second
    before = changed.changed_at
    store.tell_task(second, TaskUpdate("a", [b"{}"]))
    assert store.changed_tasks(before) == [], "events alone change nothing of what lists show"
    while store.tasks_clock() <= before:  # SQLite's clock has milliseconds
        pass
    store.claim_task(first, "a", LEASE)
    assert [row.id for row in store.changed_tasks(before)] == [first]


def test_programs_that_queue_at_once_are_all_heard(address: str) -> None:
    with open_store(address) as store:
        id = new(store)
        claims: list[bool] = []

        def work(number: int) -> None:
            with open_store(address) as mine:
                for each in range(5):
                    claims.append(queue(mine, id, f"{number}-{each}", f"h{number}")[1])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert claims.count(True) == 1
        assert len(store.task_queue(id)) == 30
        assert seqs(store, id) == list(range(1, 30))
