"""Messages and their calls: appended, rewritten, read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from interlingua.errors import WriteError
from interlingua.model.blocks import (
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.ids import Ulids, is_ulid
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, InvalidError, StoreError
from interlingua.store.open import open_store
from tests.store.places import TU_1, TU_2, TU_3, TU_4, ask
from tests.store.stored import call, new_session, statuses

requirement = pytest.mark.requirement

CANCELLED = MessageMetadata(status=MessageStatus.CANCELLED, stop_reason=StopReason.CANCELLED)


def test_messages_come_back_in_order_with_what_was_filled_in(store: Store) -> None:
    session = new_session(store)
    before = datetime.now(UTC)
    first = store.append(session, [Message.user("a"), Message.assistant("b")])
    second = store.append(session, [Message.user("c")])
    assert list(first.seqs) == [1, 2]
    assert list(second.seqs) == [3]
    messages = [*first.messages, *second.messages]
    assert store.messages(session) == messages
    assert [message.text for message in messages] == ["a", "b", "c"]
    ids = [message.id for message in messages]
    assert ids == sorted(set(ids), key=str)
    assert all(is_ulid(id) for id in ids if id)
    for message in messages:
        assert message.session_id == session
        assert message.created_at is not None
        assert before - timedelta(seconds=1) < message.created_at < datetime.now(UTC)
    assert store.session(session).message_count == 3


def test_a_message_keeps_its_own_id_and_time(store: Store) -> None:
    session = new_session(store)
    time = datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    own = Ulids().new()
    message = Message.user("hi", name="Ada").replace(id=own, created_at=time)
    store.append(session, [message])
    (found,) = store.messages(session)
    assert (found.id, found.created_at, found.name) == (own, time, "Ada")


@requirement("S002-64")
def test_new_ids_are_greater_than_the_last_even_when_the_clock_was_ahead(store: Store) -> None:
    session = new_session(store)
    ahead = Ulids(clock=lambda: 2**47).new()
    store.append(session, [Message.user("from the future").replace(id=ahead)])
    added = store.append(session, [Message.user("a"), Message.user("b")])
    first, second = (message.id for message in added.messages)
    assert first is not None
    assert second is not None
    assert ahead < first < second


def test_messages_are_read_from_a_cursor_and_to_a_limit(store: Store) -> None:
    session = new_session(store)
    store.append(session, [Message.user(str(number)) for number in range(10)])
    texts = [message.text for message in store.messages(session, after=3, limit=2)]
    assert texts == ["3", "4"]
    eighth = store.messages(session, limit=8)[-1]
    assert eighth.id is not None
    assert [message.text for message in store.messages(session, after=eighth.id)] == ["8", "9"]
    assert store.messages(session, after=10) == []
    assert store.messages(session, limit=0) == []
    assert [message.text for message in store.tail(session, 3)] == ["7", "8", "9"]
    assert store.tail(session, 0) == []
    assert len(store.tail(session, 50)) == 10
    assert store.message(session, eighth.id) == eighth


def test_appending_nothing_is_no_error(store: Store) -> None:
    session = new_session(store)
    assert list(store.append(session, []).seqs) == []
    assert store.messages(session) == []


def test_appending_is_all_or_nothing(store: Store) -> None:
    session = new_session(store)
    taken = store.append(session, [Message.user("a")]).messages[0].id
    with pytest.raises(ConflictError):
        store.append(session, [Message.user("b"), Message.user("c").replace(id=taken)])
    assert [message.text for message in store.messages(session)] == ["a"]
    assert list(store.append(session, [Message.user("d")]).seqs) == [2]


def test_what_json_cannot_hold_is_refused_and_nothing_is_appended(store: Store) -> None:
    session = new_session(store)
    odd = Message.assistant(ToolUseBlock(TU_1, "f", {"x": float("nan")}))
    with pytest.raises(WriteError):
        store.append(session, [Message.user("a"), odd])
    assert store.messages(session) == []


def test_appending_after_others_did_is_reported(store: Store) -> None:
    session = new_session(store)
    store.append(session, [Message.user("a")], after=0)
    with pytest.raises(ConflictError, match="has 1 messages, not 0"):
        store.append(session, [Message.user("b")], after=0)
    assert list(store.append(session, [Message.user("c")], after=1).seqs) == [2]


def test_a_message_of_another_session_is_refused(store: Store) -> None:
    session = new_session(store)
    with pytest.raises(ConflictError, match="belongs to session 'other'"):
        store.append(session, [Message.user("a").replace(session_id="other")])


@requirement("S002-98", "S002-50")
def test_a_saved_message_replaces_the_whole_of_the_old_one(store: Store) -> None:
    session = new_session(store)
    partial = MessageMetadata(status=MessageStatus.PARTIAL)
    added = store.append(session, [Message.assistant("Hel", partial), Message.user("next")])
    blocks = (ThinkingBlock("hm"), TextBlock("Hello"), RefusalBlock("no"), TextBlock("!"))
    store.save(added.messages[0].replace(content=blocks, metadata=MessageMetadata()))
    first, second = store.messages(session)
    assert first.content == blocks
    assert first.metadata.status is MessageStatus.COMPLETE
    assert first.id == added.messages[0].id
    assert second == added.messages[1]
    columns = ask(store, "SELECT count(*) FROM messages WHERE session_id = ?", [session])
    assert columns == [(2,)]


def test_only_a_message_that_says_which_it_is_can_be_saved(store: Store) -> None:
    with pytest.raises(StoreError, match="id and session_id"):
        store.save(Message.user("x"))


@requirement("S002-96", "S002-99")
def test_a_call_is_pending_until_its_result_comes(store: Store) -> None:
    session = new_session(store)
    metadata = MessageMetadata(provider="anthropic", model="anthropic:m")
    calls = [call(TU_1), call(TU_2, "run"), call(TU_3), call(TU_4)]
    ids = {TU_1: "toolu_1", TU_2: "toolu_2"}
    used = store.append(session, [Message.assistant(calls, metadata)], provider_ids=ids)
    assert [row.id for row in store.unanswered(session)] == [TU_1, TU_2, TU_3, TU_4]
    assert store.failed(session) == []

    results = [
        Message.tool_result(TU_1, "fine"),
        Message.tool_result(TU_2, "broke", is_error=True),
        Message.tool_result(TU_3).replace(metadata=CANCELLED),
    ]
    answers = store.append(session, results)
    rows = {row.id: row for row in store.tool_calls(session)}
    assert {id: row.status for id, row in rows.items()} == {
        TU_1: "succeeded",
        TU_2: "failed",
        TU_3: "cancelled",
        TU_4: "pending",
    }
    assert rows[TU_2].message_id == used.messages[0].id
    assert rows[TU_2].result_message_id == answers.messages[1].id
    assert rows[TU_2].completed_at == answers.messages[1].created_at
    assert (rows[TU_2].provider_id, rows[TU_2].provider) == ("toolu_2", "anthropic")
    assert (rows[TU_4].result_message_id, rows[TU_4].completed_at) == (None, None)
    assert [row.id for row in store.unanswered(session)] == [TU_4]
    assert [row.id for row in store.failed(session)] == [TU_2]


@requirement("S002-99")
def test_open_and_failed_calls_are_found_by_plain_sql(store: Store) -> None:
    session = new_session(store)
    store.append(session, [Message.assistant([call(TU_1), call(TU_2)])])
    store.append(session, [Message.tool_result(TU_1, "no", is_error=True)])
    sql = "SELECT id FROM tool_calls WHERE session_id = ? AND status = ?"
    assert ask(store, sql, [session, "pending"]) == [(TU_2,)]
    assert ask(store, sql, [session, "failed"]) == [(TU_1,)]


def test_calls_and_results_may_be_appended_together(store: Store) -> None:
    session = new_session(store)
    used = Message.assistant([call(TU_1), call(TU_2)])
    store.append(session, [Message.user("go"), used, Message.tool_result(TU_2, "ok")])
    assert statuses(store, session) == {TU_1: "pending", TU_2: "succeeded"}


def test_what_a_provider_runs_itself_is_not_waited_for(store: Store) -> None:
    session = new_session(store)
    hosted = call(TU_1, "web_search", executor="provider")
    paused = call(TU_2, "web_search", executor="provider")
    store.append(session, [Message.assistant([hosted, ToolResultBlock(TU_1), paused])])
    assert statuses(store, session) == {TU_1: "succeeded", TU_2: "pending"}
    assert store.unanswered(session) == []


def test_a_turn_that_was_given_up_leaves_no_open_call(store: Store) -> None:
    session = new_session(store)
    partial = MessageMetadata(status=MessageStatus.PARTIAL)
    (added,) = store.append(session, [Message.assistant(call(TU_1), partial)]).messages
    assert [row.id for row in store.unanswered(session)] == [TU_1]
    store.save(added.replace(metadata=CANCELLED))
    assert statuses(store, session) == {TU_1: "cancelled"}
    store.append(session, [Message.assistant(call(TU_2), CANCELLED)])
    assert statuses(store, session) == {TU_1: "cancelled", TU_2: "cancelled"}


def test_saving_brings_the_calls_in_step(store: Store) -> None:
    session = new_session(store)
    used, result = store.append(
        session,
        [Message.assistant([call(TU_1), call(TU_2)]), Message.tool_result(TU_1, "x")],
        provider_ids={TU_1: "p1"},
    ).messages
    store.save(used.replace(content=(call(TU_1, "renamed"), call(TU_3))))
    rows = {row.id: row for row in store.tool_calls(session)}
    assert statuses(store, session) == {TU_1: "succeeded", TU_3: "pending"}
    assert (rows[TU_1].name, rows[TU_1].provider_id) == ("renamed", "p1")
    metadata = result.metadata.replace(parent_tool_use_id=TU_3)
    store.save(result.replace(content=(ToolResultBlock(TU_3, is_error=True),), metadata=metadata))
    assert statuses(store, session) == {TU_1: "pending", TU_3: "failed"}


@requirement("S002-54")
def test_the_first_answer_counts(store: Store) -> None:
    session = new_session(store)
    store.append(session, [Message.assistant(call(TU_1))])
    first = store.append(session, [Message.tool_result(TU_1, "yes")]).messages[0]
    with pytest.raises(InvalidError, match="call_is_answered_once"):
        store.append(session, [Message.tool_result(TU_1, "no", is_error=True)])
    (row,) = store.tool_calls(session)
    assert (row.status, row.result_message_id) == ("succeeded", first.id)


@requirement("S002-53")
def test_a_result_answers_no_call_of_another_session(store: Store) -> None:
    here, there = new_session(store), new_session(store)
    store.append(here, [Message.assistant(call(TU_1))])
    with pytest.raises(InvalidError, match="result_answers_an_earlier_call"):
        store.append(there, [Message.tool_result(TU_1, "x")])
    assert statuses(store, here) == {TU_1: "pending"}
    assert store.messages(there) == []


def test_a_call_id_is_used_once(store: Store) -> None:
    session = new_session(store)
    with pytest.raises(ConflictError, match="is used twice"):
        store.append(session, [Message.assistant([call(TU_1), call(TU_1)])])
    store.append(session, [Message.assistant(call(TU_1))])
    with pytest.raises(ConflictError):
        store.append(session, [Message.assistant(call(TU_1))])
    assert store.session(session).message_count == 1


@requirement("S002-66")
def test_the_id_map_survives_a_restart(address: str) -> None:
    with open_store(address) as store:
        session = new_session(store)
        metadata = MessageMetadata(provider="openai")
        used = Message.assistant([call(TU_1), call(TU_2)], metadata)
        store.append(session, [used], provider_ids={TU_1: "call_a", TU_2: "call_b"})
    with open_store(address) as store:
        rows = store.tool_calls(session)
    assert [(row.id, row.provider, row.provider_id) for row in rows] == [
        (TU_1, "openai", "call_a"),
        (TU_2, "openai", "call_b"),
    ]
