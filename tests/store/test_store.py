"""What a store does, the same on every engine."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from interlingua.errors import ReadError, WriteError
from interlingua.model import message as message_module
from interlingua.model import salvage
from interlingua.model.blocks import (
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.codec import dumps
from interlingua.model.ids import Ulids, is_tool_id, is_ulid
from interlingua.model.message import Message, micros
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, InvalidError, NotFoundError, StoreError
from interlingua.store.open import open_store
from interlingua.store.rows import EventRow, SessionRow
from tests.effort import examples
from tests.laws import strategies as il
from tests.store.places import TU_1, TU_2, TU_3, TU_4, ask

requirement = pytest.mark.requirement
some = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])

NONE = "01HZ0000000000000000000000"
CANCELLED = MessageMetadata(status=MessageStatus.CANCELLED, stop_reason=StopReason.CANCELLED)


def new_session(store: Store, **fields: Any) -> str:
    return store.create_session("/work", **fields).id


def call(id: str, name: str = "read_file", **more: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, {"path": "a.txt"}, **more)


def statuses(store: Store, session_id: str) -> dict[str, str]:
    return {row.id: row.status for row in store.tool_calls(session_id)}


# Sessions


def test_a_session_is_found_as_it_was_made(store: Store) -> None:
    policy = {"rules": [1, "zwei", None], "deep": {"a": 1.5}}
    made = store.create_session("/w", name="first", active_model="a:b", routing_policy=policy)
    assert is_ulid(made.id)
    assert store.session(made.id) == made
    assert made.routing_policy == policy
    assert made.created_at.tzinfo is UTC
    assert made.message_count == 0


def test_a_session_may_bring_its_own_id_and_only_once(store: Store) -> None:
    assert new_session(store, id="mine") == "mine"
    with pytest.raises(ConflictError):
        store.create_session("/other", id="mine")
    assert store.session("mine").workspace_path == "/work"


def test_sessions_are_listed_the_last_changed_first_page_by_page(store: Store) -> None:
    ids = [new_session(store) for _ in range(5)]
    store.append(ids[1], [Message.user("hi")])
    pages: list[SessionRow] = []
    before = None
    while page := store.sessions(limit=2, before=before):
        pages += page
        before = page[-1]
    assert [row.id for row in pages] == [ids[1], ids[4], ids[3], ids[2], ids[0]]


def test_only_what_is_named_is_changed(store: Store) -> None:
    made = store.create_session("/w", name="first", active_model="a:b", routing_policy={"x": 1})
    changed = store.update_session(made.id, name=None, active_model="c:d")
    assert (changed.name, changed.active_model, changed.routing_policy) == (None, "c:d", {"x": 1})
    assert changed.updated_at >= made.updated_at
    assert store.session(made.id) == changed


def test_a_deleted_session_leaves_nothing_behind(store: Store) -> None:
    gone, stays = new_session(store), new_session(store)
    for id, tool in ((gone, TU_1), (stays, TU_2)):
        store.append(id, [Message.assistant([TextBlock("needle"), call(tool)])])
        store.append(id, [Message.tool_result(tool, "needle")])
        store.append_events([event(f"e-{id}", id)])
    assert len(store.search("needle")) == 4
    store.delete_session(gone)
    with pytest.raises(NotFoundError, match="no session"):
        store.session(gone)
    for table in ("messages", "tool_calls", "events", "message_texts"):
        found = ask(store, f"SELECT DISTINCT session_id FROM {table}")
        assert [id for (id,) in found] == [stays], table
    assert {hit.session_id for hit in store.search("needle")} == {stays}


def test_what_is_not_there_is_said_by_name(store: Store) -> None:
    session = new_session(store)
    message = Message.user("x").replace(id=NONE, session_id=session)
    for ask_for in (
        lambda: store.session("nowhere"),
        lambda: store.update_session("nowhere", name="x"),
        lambda: store.delete_session("nowhere"),
        lambda: store.append("nowhere", [Message.user("x")]),
        lambda: store.fork("nowhere"),
        lambda: store.message(session, "none"),
        lambda: store.messages(session, after="none"),
        lambda: store.fork(session, "none"),
        lambda: store.save(message),
        lambda: store.save(message.replace(session_id="nowhere")),
    ):
        with pytest.raises(NotFoundError, match=rf"no (session|message) '(nowhere|none|{NONE})'"):
            ask_for()


# Messages


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
    mine = Ulids().new()
    message = Message.user("hi", name="Ada").replace(id=mine, created_at=time)
    store.append(session, [message])
    (found,) = store.messages(session)
    assert (found.id, found.created_at, found.name) == (mine, time, "Ada")


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


def test_who_appends_after_others_did_is_told(store: Store) -> None:
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


@pytest.mark.parametrize(
    "text", ["a\0b", "\u2400", "\u24000\u24001\0", "\U0001f9d1\u200d\U0001f52c", "'; --", "%s ? \\"]
)
def test_any_text_survives_in_every_column(store: Store, text: str) -> None:
    session = store.create_session(text, name=text, active_model=text, id="id" + text)
    message = Message.user(text, name=text).replace(id="m" + text)
    result = Message.tool_result("t" + text, text)
    used = Message.assistant(call("t" + text, text))
    sent = [message, used, result]
    store.append(session.id, sent, provider_ids={"t" + text: text}, check=False)
    found = store.session(session.id)
    assert (found.workspace_path, found.name, found.active_model) == (text, text, text)
    assert store.messages(session.id)[0].name == text
    assert store.messages(session.id)[0].text == text
    (row,) = store.tool_calls(session.id)
    assert (row.id, row.name, row.provider_id, row.status) == ("t" + text, text, text, "succeeded")
    store.search("anything")
    ask(store, "SELECT * FROM conversation")


def test_what_is_no_unicode_text_is_refused_in_every_column(store: Store) -> None:
    session, odd = new_session(store), "a\ud800b"
    used = Message.assistant(call(TU_1))
    for ask_for in (
        lambda: store.create_session(odd),
        lambda: store.create_session("/w", name=odd),
        lambda: store.session(odd),
        lambda: store.message(session, odd),
        lambda: store.append(session, [Message.user("x", name=odd)]),
        lambda: store.append(session, [Message.user(odd)]),
        lambda: store.append(session, [used], provider_ids={TU_1: odd}),
        lambda: store.update_session(session, routing_policy={"a": odd}),
    ):
        with pytest.raises((StoreError, WriteError), match="surrogate"):
            ask_for()
    assert store.search(odd) == []
    assert store.messages(session) == []
    store.append(session, [used])


# L8: what is stored comes back byte for byte


@given(messages=il.conversations(stored=True, with_raw=True, failures=True))
@some
def test_stored_conversations_come_back_byte_for_byte(
    long_store: Store, messages: tuple[Message, ...]
) -> None:
    session = messages[0].session_id
    assert session is not None
    long_store.create_session("/w", id=session)
    try:
        long_store.append(session, messages)
        again = long_store.messages(session)
        assert [dumps(message) for message in again] == [dumps(message) for message in messages]
        for message in again:
            long_store.save(message)
        once_more = long_store.messages(session)
        assert [dumps(m) for m in once_more] == [dumps(message) for message in messages]
        assert_calls_agree(long_store, session, messages)
    finally:
        long_store.delete_session(session)


def assert_calls_agree(store: Store, session: str, messages: tuple[Message, ...]) -> None:
    """The rows say of each call what going through all messages says."""
    expected: dict[str, str] = {}
    for message in messages:
        given_up = message.metadata.status is not MessageStatus.COMPLETE
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                expected[block.id] = "cancelled" if given_up else "pending"
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                failed = block.is_error or message.metadata.status is MessageStatus.ERROR
                cancelled = message.metadata.status is MessageStatus.CANCELLED
                ending = "failed" if failed else "succeeded"
                expected[block.tool_use_id] = "cancelled" if cancelled else ending
    assert statuses(store, session) == expected


@requirement("S002-103", "S002-102")
def test_unknown_blocks_and_fields_survive_a_save(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = new_session(store)
    (added,) = store.append(session, [Message.assistant("hi")]).messages
    assert added.id is not None
    content = (
        '[{"type":"hologram","depth":3,"x":[1,{"y":null}]},{"type":"text","text":"hi","new":1}]'
    )
    metadata = (
        '{"mood":"calm","usage":{"input_tokens":1,"carbon":0.5},"provider":"p","model":"p:m",'
        '"routing":{"mode":"default","chosen_model":"p:m","reason":"r"}}'
    )
    for column, value in (("content_json", content), ("metadata_json", metadata)):
        sql = f"UPDATE messages SET {column} = ? WHERE session_id = ? AND id = ?"
        ask(store, sql, [value if engine_is_sqlite(store) else value.encode(), session, added.id])
    with caplog.at_level(logging.WARNING):
        found = store.message(session, added.id)
    assert "stored_data_kept" in caplog.text
    assert isinstance(found.content[0], UnknownBlock)
    assert found.text == "hi"
    assert found.metadata.extra == {"mood": "calm"}
    store.save(found.replace(name="touched"))
    row = "SELECT content_json, metadata_json FROM messages WHERE session_id = ? AND id = ?"
    ((stored_content, stored_metadata),) = ask(store, row, [session, added.id])
    assert same_json(stored_content, content)
    assert same_json(stored_metadata, metadata)
    assert store.message(session, added.id) == found.replace(name="touched")


def engine_is_sqlite(store: Store) -> bool:
    return not store.where.startswith("postgresql")


def same_json(a: str | bytes, b: str | bytes) -> bool:
    import json

    same: bool = json.loads(a) == json.loads(b)
    return same


@requirement("S002-103")
def test_a_message_of_a_role_we_do_not_know_is_skipped_and_stays(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = new_session(store)
    added = store.append(session, [Message.user("a"), Message.user("b"), Message.user("c")])
    oracle = added.messages[1].id
    sql = "UPDATE messages SET role = 'oracle' WHERE session_id = ? AND id = ?"
    ask(store, sql, [session, oracle])
    with caplog.at_level(logging.WARNING):
        assert [message.text for message in store.messages(session)] == ["a", "c"]
    (record,) = [each for each in caplog.records if each.message == "stored_message_skipped"]
    assert record.__dict__["message_id"] == oracle
    copy = store.fork(session)
    roles = "SELECT role FROM messages WHERE session_id = ? ORDER BY seq"
    assert ask(store, roles, [copy.id]) == [("user",), ("oracle",), ("user",)]
    assert list(store.append(session, [Message.user("d")]).seqs) == [4]


@requirement("S002-107", "S002-102", "S002-101")
def test_a_row_of_version_1_is_upgraded_when_read_and_written_only_by_save(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(store)
    (added,) = store.append(session, [Message.user("old words")]).messages
    assert added.id is not None
    row = "SELECT schema_version, content_json FROM messages WHERE session_id = ?"
    before = ask(store, row, [session])
    assert before[0][0] == 1

    def louder(plain: dict[str, Any]) -> dict[str, Any]:
        return {**plain, "content": [{"type": "text", "text": plain["content"][0]["text"].upper()}]}

    monkeypatch.setattr(message_module, "SCHEMA_VERSION", 2)
    monkeypatch.setitem(salvage.UPGRADES, 1, louder)
    (found,) = store.messages(session)
    assert (found.text, found.schema_version) == ("OLD WORDS", 2)
    assert ask(store, row, [session]) == before
    store.save(found)
    ((version, content),) = ask(store, row, [session])
    assert version == 2
    assert same_json(content, '[{"type":"text","text":"OLD WORDS"}]')
    assert store.messages(session) == [found]


@requirement("S002-101")
def test_a_row_that_cannot_be_read_names_the_message_and_spares_the_others(store: Store) -> None:
    session = new_session(store)
    added = store.append(session, [Message.user("fine"), Message.user("broken")])
    broken = added.messages[1].id
    value: Any = '[{"type":"text"}]' if engine_is_sqlite(store) else b'[{"type":"text"}]'
    sql = "UPDATE messages SET content_json = ? WHERE session_id = ? AND id = ?"
    ask(store, sql, [value, session, broken])
    with pytest.raises(ReadError, match=f"stored message {broken}"):
        store.messages(session)
    assert [message.text for message in store.messages(session, limit=1)] == ["fine"]
    assert [hit.seq for hit in store.search("fine")] == [1]


# Calls


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


# Forks


def test_a_fork_has_the_messages_up_to_a_point_and_lives_on_its_own(store: Store) -> None:
    parent = store.create_session("/w", active_model="a:b", routing_policy={"x": 1})
    used = Message.assistant([TextBlock("look"), call(TU_1)], MessageMetadata(provider="p"))
    answer = Message.tool_result(TU_1, "found")
    added = store.append(
        parent.id,
        [Message.user("q"), used, answer, Message.assistant("done"), Message.user("more")],
        provider_ids={TU_1: "toolu_1"},
    ).messages
    fork = store.fork(parent.id, added[2].id, name="try again")
    assert (fork.parent_id, fork.parent_message_id) == (parent.id, added[2].id)
    assert (fork.workspace_path, fork.active_model, fork.routing_policy) == ("/w", "a:b", {"x": 1})
    assert store.session(fork.id) == fork
    copies = store.messages(fork.id)
    assert [message.text for message in copies] == ["q", "look", ""]
    assert [message.created_at for message in copies] == [m.created_at for m in added[:3]]
    assert not {message.id for message in copies} & {message.id for message in added}
    (row,) = store.tool_calls(fork.id)
    assert is_tool_id(row.id)
    assert (row.provider_id, row.status) == ("toolu_1", "succeeded")
    assert row.result_message_id == copies[2].id
    assert copies[2].metadata.parent_tool_use_id == row.id
    assert store.append(fork.id, [Message.user("other way")]).first == 4
    assert len(store.messages(parent.id)) == 5
    store.delete_session(parent.id)
    assert len(store.messages(fork.id)) == 4


def test_a_fork_without_a_message_has_all_of_them(store: Store) -> None:
    parent = new_session(store)
    assert store.messages(store.fork(parent).id) == []
    store.append(parent, [Message.user(str(number)) for number in range(1203)])
    fork = store.fork(parent)
    assert fork.message_count == 1203
    texts = [message.text for message in store.messages(fork.id)]
    assert texts == [str(number) for number in range(1203)]


def test_a_call_with_a_foreign_id_keeps_it_as_the_providers_in_a_fork(store: Store) -> None:
    parent = new_session(store)
    store.append(parent, [Message.assistant(call("call_77"))], check=False)
    (row,) = store.tool_calls(store.fork(parent).id)
    assert row.provider_id == "call_77"


# Events


def event(id: str, session: str, type: str = "turn.started") -> EventRow:
    time = datetime(2026, 5, 8, 12, 0, 0, 123_456, tzinfo=UTC)
    payload = {"n": 1, "text": "a\0b", "list": [1.5, None]}
    return EventRow(id, session, type, time, "user", "private", payload, "turn-1")


def test_events_are_numbered_without_gaps_in_each_session(store: Store) -> None:
    first = store.append_events([event("1", "a"), event("2", "b"), event("3", "a")])
    assert [(row.session_id, row.seq) for row in first] == [("a", 1), ("b", 1), ("a", 2)]
    second = store.append_events([event("4", "a", "turn.completed"), event("5", "a")])
    assert [row.seq for row in second] == [3, 4]
    assert store.events("a") == [first[0], first[2], *second]
    assert store.events("a", after=2, limit=1) == second[:1]
    assert store.events("a", types=["turn.completed", "x"]) == second[:1]
    assert store.events("c") == []
    assert store.append_events([]) == []


def test_an_event_that_comes_again_keeps_its_place(store: Store) -> None:
    (first,) = store.append_events([event("1", "a")])
    given = [event("2", "a"), event("1", "a"), event("3", "b"), event("2", "a")]
    assert [row.seq for row in store.append_events(given)] == [2, 1, 1, 2]
    assert [row.id for row in store.events("a")] == ["1", "2"]
    assert store.events("a")[0] == first


# Search


@requirement("S002-100")
def test_messages_are_found_by_their_words_newest_first(store: Store) -> None:
    session, other = new_session(store), new_session(store)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    texts = ["The quick brown fox", "A brown bear, quick-witted", "Über die Brücke", "fox_trot"]
    for number, text in enumerate(texts):
        time = start + timedelta(minutes=number)
        store.append(session, [Message.user(text).replace(created_at=time)])
    result = Message.tool_result(TU_1, "src/quick/brown.py: 3 lines")
    store.append(other, [Message.assistant(call(TU_1)), result])

    def found(words: str, **more: Any) -> list[int]:
        return [hit.seq for hit in store.search(words, **more)]

    assert found("quick brown", session_id=session) == [2, 1]
    assert found("BROWN", session_id=session) == [2, 1]
    assert found("fox", session_id=session) == [4, 1]
    assert found("über") == [3]
    assert found("brü*") == [3]
    assert found("brü") == []
    assert found("quick-witted") == [2]
    assert found("quick fox bear") == []
    assert found("brown", limit=1, session_id=session) == [2]
    assert [hit.session_id for hit in store.search("quick py")] == [other]
    hit = store.search("bear")[0]
    assert hit.snippet == "A brown bear, quick-witted"
    assert (hit.role, hit.created_at) == ("user", start + timedelta(minutes=1))


@pytest.mark.parametrize("words", ["", " ", '"', "*", "a OR", "NEAR(", "') --", "&|!:", "\0", "-x"])
def test_any_question_is_words_and_never_a_language(store: Store, words: str) -> None:
    session = new_session(store)
    store.append(session, [Message.user("a or near x")])
    assert len(store.search(words)) <= 1


@requirement("S002-100")
def test_a_saved_message_is_found_by_its_new_words_alone(store: Store) -> None:
    session = new_session(store)
    (added,) = store.append(session, [Message.user("apple")]).messages
    assert len(store.search("apple")) == 1
    store.save(added.replace(content=(TextBlock("pear"),)))
    assert store.search("apple") == []
    assert len(store.search("pear")) == 1


def test_a_huge_message_is_searched_in_its_first_part(store: Store) -> None:
    session = new_session(store)
    text = "start " + " ".join(f"word{number}" for number in range(200_000)) + " finish"
    store.append(session, [Message.user(text)])
    (hit,) = store.search("start")
    assert len(hit.snippet) < 200
    assert store.search("finish") == []
    assert store.messages(session)[0].text == text


# Reading with other tools


def test_the_views_tell_the_story(store: Store) -> None:
    session = store.create_session("/w", name="n").id
    time = datetime(2026, 5, 8, 12, 30, tzinfo=UTC)
    usage = Usage(input_tokens=8, output_tokens=42, cost_usd=Decimal("0.000654"))
    metadata = MessageMetadata(model="a:m", provider="a", usage=usage, user_id="u", team_id="t")
    added = [
        Message.user("hi"),
        Message.assistant([TextBlock("one"), call(TU_1, "f"), RefusalBlock("two")], metadata),
        Message.tool_result(TU_1, ["x", "y"]),
    ]
    store.append(session, [message.replace(created_at=time) for message in added])
    rows = ask(store, "SELECT seq, role, model, status, text FROM conversation ORDER BY seq")
    assert rows == [
        (1, "user", None, "complete", "hi"),
        (2, "assistant", "a:m", "complete", "one\n[calls f]\ntwo"),
        (3, "tool", None, "complete", "x\ny"),
    ]
    assert ask(store, "SELECT name, message_count FROM session_list") == [("n", 3)]
    assert ask(store, "SELECT seq, name, status FROM call_list") == [(2, "f", "succeeded")]
    columns = "model, user_id, team_id, input_tokens, output_tokens, CAST(day AS TEXT)"
    costs = ask(store, f"SELECT {columns} FROM message_costs")
    assert costs == [("a:m", "u", "t", 8, 42, "2026-05-08")]
    ((cost,),) = ask(store, "SELECT CAST(cost_usd AS TEXT) FROM message_costs")
    assert Decimal(cost) == Decimal("0.000654")
    stored = ask(store, "SELECT DISTINCT created_at FROM messages")
    assert stored == [(micros(time),)]


def test_a_closed_store_says_so(address: str) -> None:
    store = open_store(address)
    store.close()
    store.close()
    for ask_for in (store.sessions, lambda: store.create_session("/w")):
        with pytest.raises(StoreError, match="closed") as raised:
            ask_for()
        assert raised.value.reason == "closed"


def test_no_error_quotes_what_was_said(store: Store) -> None:
    session = new_session(store)
    secret = Message.user("my secret words").replace(id=NONE)
    store.append(session, [secret])
    with pytest.raises(ConflictError) as raised:
        store.append(session, [secret])
    assert "secret" not in str(raised.value)
