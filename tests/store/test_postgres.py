"""The PostgreSQL store: keys that can be split by session, and a server that goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlingua.model.blocks import ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.store import migrations
from interlingua.store.errors import BusyError, StoreError
from interlingua.store.statements import Op, Step
from interlingua.store.usages import walk
from tests.store.conftest import Server, in_schema
from tests.store.places import TU_1, ask
from tests.store.test_base import event

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
from interlingua.store import postgres as postgres_module  # noqa: E402  # needs the extra
from interlingua.store.postgres import (  # noqa: E402  # the same
    AsyncPostgresStore,
    PostgresStore,
    place,
)
from tests.store import cuts  # noqa: E402  # the same

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
UNIQUE = """SELECT i.indrelid::regclass::text, ic.relname, a.attname FROM pg_index i
JOIN pg_class ic ON ic.oid = i.indexrelid
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indisunique AND ic.relnamespace = current_schema()::regnamespace"""
FOREIGN = """SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"""


SESSION_TABLES = {
    *("sessions", "messages", "tool_calls", "events", "message_texts"),
    *("task_messages", "task_events", "task_confirmations", "pattern_turns"),
}


def test_all_that_belongs_to_a_session_is_keyed_by_it(store: PostgresStore) -> None:
    """The rest are reference tables: small, and whole on every machine."""
    keys = dict(ask(store, KEYS))
    columns = "SELECT table_name, column_name FROM information_schema.columns"
    own = {
        table
        for table, name in ask(store, f"{columns} WHERE table_schema = current_schema()")
        if name == "session_id"
    }
    views = {"conversation", "call_list", "message_costs"}
    assert own - views == SESSION_TABLES - {"sessions"}
    assert {table: keys[table] for table in SESSION_TABLES} == {
        "sessions": ["id"],
        "messages": ["session_id", "id"],
        "tool_calls": ["session_id", "id"],
        "events": ["session_id", "id"],
        "message_texts": ["session_id", "message_id"],
        "task_messages": ["session_id", "id"],
        "task_events": ["session_id", "seq"],
        "task_confirmations": ["session_id", "id"],
        "pattern_turns": ["session_id", "turn_id"],
    }
    for table, index, first in ask(store, UNIQUE):
        if table in SESSION_TABLES:
            assert first == "session_id" or index == "sessions_pkey", index
    for table, text in ask(store, FOREIGN):
        named = text.split("REFERENCES ")[1].split("(")[0].strip()
        if table in SESSION_TABLES:
            assert text.startswith("FOREIGN KEY (session_id"), (table, text)
        else:
            assert named not in SESSION_TABLES, (table, text)


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
    used = Message.assistant([ToolUseBlock(TU_1, "f", {})])
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
    watched(do.append(session, [Message.tool_result(TU_1)]).make())
    usage = MessageMetadata(usage=Usage(output_tokens=1))
    watched(do.append(session, [Message.assistant("x", usage)]).make())
    (row,) = store.usages(session_id=session)
    asked_for = walk(None, None, session)
    watched(do.usage_page(asked_for, asked_for.start))
    watched(do.save_metadata([(row, usage)]))
    watched(do.append_events([event("1", session)]))
    watched(do.save(added).make())
    watched(do.tail(session, 50))
    watched(do.messages(session, 0, 10))
    watched(do.messages(session, added.id or "", 10))
    watched(do.message(session, added.id or ""))
    watched(do.tool_calls(session))
    watched(do.unanswered(session))
    watched(do.failed(session))
    watched(do.events(session, 0, 10, ()))
    watched(do.events(session, 0, 10, ("turn.started",)))
    watched(
        do.update_session(
            session, name="n", active_model=None, routing_policy=None, workspace_path="/w"
        )
    )
    assert len(asked) > 15
    assert not [step.sql for step in asked if not names_its_session(step, session)]


def names_its_session(step: Step, session: str) -> bool:
    """Whether a distributed database could see from the statement alone where it belongs."""
    if step.sql.startswith("SELECT pg_advisory_xact_lock"):
        return True  # it asks no table
    rows = step.values if step.many else [step.values]
    if not all(session in row for row in rows):
        return False
    by_session = "session_id = %s" in step.sql or "session_id" in step.sql.split("VALUES")[0]
    if step.sql.startswith("INSERT"):
        return by_session
    _, _, where = step.sql.partition(" WHERE ")
    return "session_id = %s" in where or ("sessions" in step.sql and where.startswith("id = %s"))


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT id FROM messages WHERE id = %s", ("s",)),
        ("SELECT session_id FROM messages WHERE id = %s", ("s",)),
        ("SELECT id FROM messages WHERE session_id = %s", ("other",)),
        ("UPDATE messages SET session_id = %s", ("s",)),
        ("SELECT id FROM sessions ORDER BY updated_at", ()),
        ("INSERT INTO messages (id) VALUES (%s)", ("s",)),
    ],
)
def test_a_statement_that_does_not_name_its_session_is_noticed(
    sql: str, values: tuple[str, ...]
) -> None:
    assert not names_its_session(Step(sql, values), "s")
    named = Step("SELECT 1 FROM messages WHERE session_id = %s AND seq > %s", ("s", 1))
    assert names_its_session(named, "s")


def test_tables_of_another_program_are_left_alone(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE sessions (name TEXT)")
    with pytest.raises(StoreError) as raised:
        PostgresStore(address)
    assert raised.value.reason == "foreign"


def test_a_store_of_a_newer_version_is_refused(address: str) -> None:
    with PostgresStore(address) as store:
        ask(store, "UPDATE store_info SET version = ?", [migrations.VERSION + 1])
    with pytest.raises(StoreError, match="newer version"):
        PostgresStore(address)


def test_older_tables_are_brought_up_to_date_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresStore(address).close()
    step = ("ALTER TABLE sessions ADD COLUMN mood TEXT",)
    monkeypatch.setattr(migrations, "VERSION", migrations.VERSION + 1)
    monkeypatch.setitem(migrations.MIGRATIONS, ("postgres", migrations.VERSION - 1), step)
    for _ in range(2):
        with PostgresStore(address) as store:
            assert ask(store, "SELECT mood FROM sessions") == []
            assert ask(store, "SELECT version FROM store_info") == [(migrations.VERSION,)]


def test_a_password_is_no_part_of_the_name() -> None:
    named = place("postgresql://ada:secret@db.example:6543/chats?sslmode=require")
    assert named == "postgresql://db.example:6543/chats"
    with pytest.raises(StoreError) as raised:
        place("postgresql://ada:secret@[broken")
    assert "secret" not in str(raised.value)


def test_a_session_that_somebody_holds_is_waited_for_so_long(address: str) -> None:
    with PostgresStore(address, timeout=0.5) as store:
        waits_and_goes_on(store, address)


def waits_and_goes_on(store: PostgresStore, address: str) -> None:
    session = store.create_session("/w").id
    with psycopg.connect(address) as other:
        other.execute("SELECT 1 FROM sessions WHERE id = %s FOR UPDATE", [session])
        start = time.monotonic()
        with pytest.raises(BusyError):
            store.append(session, [Message.user("x")])
        assert 0.4 < time.monotonic() - start < 5
        assert store.messages(session) == []
    store.append(session, [Message.user("x")])
    assert len(store.messages(session)) == 1


def test_a_database_that_can_only_be_read_is_reported(store: PostgresStore) -> None:
    session = store.create_session("/w").id
    do = store._do

    def only_reading() -> Any:
        yield Step("SET TRANSACTION READ ONLY")
        yield from do.append(session, [Message.user("x")]).make()

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


def test_nothing_is_lost_or_twice_while_connections_are_cut(address: str) -> None:
    cut = appended = 0
    for _ in range(10):  # a busy machine gets less done in the same time
        tally = cuts.run(address, 1.5)
        cut, appended = cut + tally.cuts, appended + tally.appended
        if cut > 5 and appended > 20:
            return
    pytest.fail(f"only {cut} cuts and {appended} appends in fifteen seconds")


def slow() -> Op[None]:
    yield Step("SELECT pg_sleep(1)")


def test_a_pool_with_no_connection_left_is_busy_and_not_gone(address: str) -> None:
    with PostgresStore(address, timeout=0.3, connections=2) as store:
        session = store.create_session("/w").id
        callers = [threading.Thread(target=store._read, args=(slow,)) for _ in range(2)]
        for caller in callers:
            caller.start()
        time.sleep(0.2)
        with pytest.raises(BusyError, match="waiting for a connection"):
            store.append(session, [Message.user("x")])
        for caller in callers:
            caller.join()
        store.append(session, [Message.user("x")])
        assert len(store.messages(session)) == 1


def test_an_event_loop_waits_as_long_and_no_longer(address: str) -> None:
    async def work() -> None:
        async with await AsyncPostgresStore.open(address, timeout=0.5) as store:
            session = (await store.create_session("/w")).id
            with psycopg.connect(address) as other:
                other.execute("SELECT 1 FROM sessions WHERE id = %s FOR UPDATE", [session])
                start = time.monotonic()
                with pytest.raises(BusyError):
                    await store.append(session, [Message.user("x")])
                assert 0.4 < time.monotonic() - start < 5
            await store.append(session, [Message.user("x")])

    asyncio.run(work())


def test_an_event_loops_pool_with_no_connection_left_is_busy_too(address: str) -> None:
    async def work() -> None:
        async with await AsyncPostgresStore.open(address, 0.3, 2) as store:
            session = (await store.create_session("/w")).id
            callers = [asyncio.create_task(store._read(slow)) for _ in range(2)]
            await asyncio.sleep(0.2)
            with pytest.raises(BusyError, match="waiting for a connection"):
                await store.append(session, [Message.user("x")])
            await asyncio.gather(*callers)
            await store.append(session, [Message.user("x")])
            assert len(await store.messages(session)) == 1

    asyncio.run(work())


@pytest.mark.parametrize(
    ("kind", "sqlstate"), [("SerializationFailure", "40001"), ("DeadlockDetected", "40P01")]
)
def test_what_may_be_tried_again_is_busy_and_nothing_was_written(
    store: PostgresStore, kind: str, sqlstate: str
) -> None:
    """Raised by the server itself, in the middle of an append."""
    session = store.create_session("/w").id
    do = store._do

    def disturbed() -> Any:
        yield from do.append(session, [Message.user("x")]).make()
        yield Step(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{sqlstate}'; END $$")

    with pytest.raises(BusyError, match=kind):
        store._write(disturbed)
    assert store.messages(session) == []


def test_two_that_wait_for_each_other_are_told_and_one_goes_on(store: PostgresStore) -> None:
    first, second = store.create_session("/w").id, store.create_session("/w").id
    do = store._do
    both = threading.Barrier(2, timeout=10)

    def crossed(one: str, other: str) -> Any:
        yield from do.append(one, [Message.user("x")]).make()
        both.wait()
        yield from do.append(other, [Message.user("x")]).make()

    results: list[str] = []

    def work(one: str, other: str) -> None:
        try:
            store._write(lambda: crossed(one, other))
            results.append("written")
        except BusyError:
            results.append("busy")

    pairs = ((first, second), (second, first))
    callers = [threading.Thread(target=work, args=pair) for pair in pairs]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(results) == ["busy", "written"]
    assert len(store.messages(first)) == len(store.messages(second)) == 1


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
