"""Messages as rows and back."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from interlingua.errors import ReadError
from interlingua.model import message as message_module
from interlingua.model import salvage
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.codec import dumps
from interlingua.model.message import Message
from interlingua.model.metadata import MessageStatus
from interlingua.store.base import Store
from tests.effort import examples
from tests.laws import strategies as il
from tests.store.places import ask
from tests.store.stored import new_session, statuses

requirement = pytest.mark.requirement

some = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])


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
    assert "stored_data_unknown" in caplog.text
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
