"""Tasks in the store: one holder, each message once, events without gaps, whoever comes."""

from __future__ import annotations

import threading

import pytest

from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, NotFoundError
from interlingua.store.open import open_store
from interlingua.store.task_rows import TaskUpdate
from tests.store.tasks import LEASE, event, new, queue, seqs


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


def test_a_branch_takes_the_folder_and_what_came_before(store: Store) -> None:
    old = new(store)
    store.append(old, [Message.user("one"), Message.assistant("two")])
    first, second = store.messages(old)
    assert first.id is not None
    store.claim_task(old, "a", LEASE)
    with pytest.raises(ConflictError):
        store.branch_task(old, first.id)
    assert store.task(old).ended_at is None
    store.finish_task(old, TaskUpdate("a"), event)
    made = store.branch_task(old, first.id)
    assert [each.text for each in store.messages(made.id)] == ["one"]
    assert (made.cwd, made.status, made.reported) == ("/w", "idle", 0)
    assert store.session(made.id).parent_id == old
    assert store.task(old).ended_at is not None
    assert [each.text for each in store.messages(old)] == ["one", "two"], "it stays as it was"
    empty = store.branch_task(made.id, None)
    assert (store.messages(empty.id), store.session(empty.id).message_count) == ([], 0)
    assert [row.id for row in store.tasks("")] == [empty.id]
    with pytest.raises(NotFoundError):
        store.branch_task(empty.id, second.id)
    assert store.task(empty.id).ended_at is None, "all of it or nothing"


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
            with open_store(address) as own:
                for each in range(5):
                    claims.append(queue(own, id, f"{number}-{each}", f"h{number}")[1])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert claims.count(True) == 1
        assert len(store.task_queue(id)) == 30
        assert seqs(store, id) == list(range(1, 30))
