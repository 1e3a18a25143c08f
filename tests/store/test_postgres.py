"""The PostgreSQL store: keys that can be split by session, and a server that goes away."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlingua.model.blocks import ToolUseBlock
from interlingua.model.message import Message
from interlingua.store import schema
from interlingua.store.errors import BusyError, StoreError
from interlingua.store.steps import Op, Step
from tests.store.conftest import Server, in_schema
from tests.store.places import ask

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
from interlingua.store import postgres as postgres_module  # noqa: E402  # needs the extra
from interlingua.store.postgres import PostgresStore, place  # noqa: E402  # the same

requirement = pytest.mark.requirement


@pytest.fixture
def address(new_address: Callable[[str], str]) -> str:
    return new_address("postgres")


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    with PostgresStore(address) as opened:
        yield opened


KEYS = """SELECT c.relname, array_agg(a.attname::text ORDER BY array_position(i.indkey, a.attnum))
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
WHERE i.indisprimary AND c.relnamespace = current_schema()::regnamespace GROUP BY c.relname"""
UNIQUE = """SELECT ic.relname, a.attname FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indisunique AND ic.relnamespace = current_schema()::regnamespace"""
FOREIGN = """SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"""


def test_all_that_belongs_to_a_session_is_keyed_by_it(store: PostgresStore) -> None:
    keys = dict(ask(store, KEYS))
    assert keys == {
        "sessions": ["id"],
        "messages": ["session_id", "id"],
        "tool_calls": ["session_id", "id"],
        "events": ["session_id", "id"],
        "message_texts": ["session_id", "message_id"],
    }
    for index, first in ask(store, UNIQUE):
        assert first == "session_id" or index == "sessions_pkey", index
    for table, text in ask(store, FOREIGN):
        assert text.startswith("FOREIGN KEY (session_id"), (table, text)


@requirement("S002-95", "S002-97")
def test_the_indexes_have_the_names_of_the_other_engine(store: PostgresStore) -> None:
    sql = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
    found = dict(ask(store, sql))
    assert "(session_id, created_at)" in found["idx_messages_session_created"]
    assert "(session_id, status)" in found["idx_tool_calls_session_status"]


def test_every_statement_on_the_way_of_a_turn_names_its_session(store: PostgresStore) -> None:
    """So that a distributed PostgreSQL can send it to the one place where the session lives."""
    do = store._do
    session = store.create_session("/w").id
    used = Message.assistant([ToolUseBlock("tu_1", "f", {})])
    (added,) = store.append(session, [used]).messages
    asked: list[Step] = []

    def watched(op: Any) -> Any:
        with store._pool.connection() as connection:

            def pieces() -> Any:
                step = next(op)
                while True:
                    asked.append(step)
                    try:
                        step = op.send((yield step))
                    except StopIteration:
                        return

            return postgres_module._on(connection, pieces())

    watched(do.session(session))
    watched(do.append(session, do.drafts(session, [Message.tool_result("tu_1")]), {}, None))
    watched(do.save(do.draft(added), {}))
    watched(do.tail(session, 50))
    watched(do.messages(session, 0, 10))
    watched(do.messages(session, added.id or "", 10))
    watched(do.message(session, added.id or ""))
    watched(do.tool_calls(session))
    watched(do.unanswered(session))
    watched(do.failed(session))
    watched(do.events(session, 0, 10, ()))
    watched(do.events(session, 0, 10, ("turn.started",)))
    watched(do.update_session(session, "n", None, None, "/w"))
    assert len(asked) > 15
    for step in asked:
        rows = step.values if step.many else [step.values]
        assert all(session in row for row in rows), step.sql
        by_session = "session_id = %s" in step.sql or "session_id" in step.sql.split("VALUES")[0]
        assert by_session or ("sessions" in step.sql and "WHERE id = %s" in step.sql), step.sql


def test_tables_of_another_program_are_left_alone(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE sessions (name TEXT)")
    with pytest.raises(StoreError) as raised:
        PostgresStore(address)
    assert raised.value.reason == "foreign"


def test_a_store_of_a_newer_version_is_refused(address: str) -> None:
    with PostgresStore(address) as store:
        ask(store, "UPDATE store_info SET version = ?", [schema.VERSION + 1])
    with pytest.raises(StoreError, match="newer version"):
        PostgresStore(address)


def test_older_tables_are_brought_up_to_date_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresStore(address).close()
    step = ("ALTER TABLE sessions ADD COLUMN mood TEXT",)
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, ("postgres", schema.VERSION - 1), step)
    for _ in range(2):
        with PostgresStore(address) as store:
            assert ask(store, "SELECT mood FROM sessions") == []
            assert ask(store, "SELECT version FROM store_info") == [(schema.VERSION,)]


def test_a_password_is_no_part_of_the_name() -> None:
    named = place("postgresql://ada:secret@db.example:6543/chats?sslmode=require")
    assert named == "postgresql://db.example:6543/chats"
    with pytest.raises(StoreError) as raised:
        place("postgresql://ada:secret@[broken")
    assert "secret" not in str(raised.value)


def test_a_session_that_somebody_holds_is_waited_for_so_long(
    store: PostgresStore, address: str
) -> None:
    session = store.create_session("/w").id
    with psycopg.connect(address) as other:
        other.execute("SELECT 1 FROM sessions WHERE id = %s FOR UPDATE", [session])
        start = time.monotonic()
        with pytest.raises(BusyError):
            store.append(session, [Message.user("x")])
        assert 4 < time.monotonic() - start < 15
        assert store.messages(session) == []
    store.append(session, [Message.user("x")])
    assert len(store.messages(session)) == 1


def test_a_database_that_can_only_be_read_is_told(store: PostgresStore) -> None:
    session = store.create_session("/w").id
    do = store._do

    def only_reading() -> Any:
        yield Step("SET TRANSACTION READ ONLY")
        yield from do.append(session, do.drafts(session, [Message.user("x")]), {}, None)

    with pytest.raises(StoreError) as raised:
        store._write(only_reading)
    assert raised.value.reason == "read_only"
    store.append(session, [Message.user("x")])


def backend() -> Op[int]:
    pid: int = (yield Step("SELECT pg_backend_pid()"))[0][0]
    return pid


def test_connections_that_were_cut_are_replaced(store: PostgresStore, postgres: str) -> None:
    session = store.create_session("/w").id
    for number in range(5):
        pid = store._read(backend)
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        assert list(store.append(session, [Message.user("x")]).seqs) == [number + 1]


def test_a_killed_server_is_told_and_the_session_goes_on_when_it_is_back() -> None:
    server = Server()
    try:
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA il")
        with PostgresStore(in_schema(server.address, "il"), timeout=1) as store:
            session = store.create_session("/w").id
            store.append(session, [Message.user("before")])
            os.kill(server.server.get_pid(), signal.SIGQUIT)  # down at once, as in a crash
            time.sleep(0.5)
            start = time.monotonic()
            for ask_for in (
                lambda: store.append(session, [Message.user("lost")]),
                lambda: store.messages(session),
            ):
                with pytest.raises(StoreError) as raised:
                    ask_for()
                assert raised.value.reason == "unreachable"
            assert time.monotonic() - start < 15
            server.server.ensure_postgres_running()
            deadline = time.monotonic() + 20
            while True:
                try:
                    store.append(session, [Message.user("after")])
                    break
                except StoreError:
                    assert time.monotonic() < deadline
            assert [message.text for message in store.messages(session)] == ["before", "after"]
    finally:
        server.close()


def test_a_server_that_is_not_there_is_told_soon() -> None:
    start = time.monotonic()
    with pytest.raises(StoreError) as raised:
        PostgresStore("postgresql://ada:secret@127.0.0.1:9/none", timeout=1)
    assert raised.value.reason == "unreachable"
    assert "secret" not in str(raised.value)
    assert time.monotonic() - start < 10
