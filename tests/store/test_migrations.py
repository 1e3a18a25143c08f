"""Tables of an older version become the present ones: whole or not at all, once, whoever comes."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlingua.model.blocks import ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.message import Message
from interlingua.store import migrations, schema
from interlingua.store.base import Store
from interlingua.store.errors import StoreError
from interlingua.store.library import Connection
from interlingua.store.open import open_store
from interlingua.store.sqlite import SqliteFile
from interlingua.store.statements import Op
from tests.store.places import TU_1, ask, fork

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills are of POSIX")


def version_of(store: Store) -> int:
    sql = "SELECT version FROM store_info"
    if not store.where.startswith("postgresql"):
        sql = "PRAGMA user_version"
    version: int = ask(store, sql)[0][0]
    return version


@pytest.fixture
def address(engine: str, new_address: Callable[[str], str]) -> str:
    """That of an empty place."""
    return new_address(engine)


@pytest.fixture
def older(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place with tables of version 1 and something in them."""
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "VERSION", 1)
        with open_store(address) as store:
            session = store.create_session("/w", id="s").id
            used = Message.assistant([ToolUseBlock(TU_1, "f", {"a": 1})])
            store.append(session, [Message.user("some 北京 words"), used])
            store.search("words")
            assert version_of(store) == 1
    return address


def in_child(work: Callable[[], object]) -> int:
    """How a process ended that did this: 0, or less for the signal that killed it."""
    pid = fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


class Dying:
    """A connection whose process is killed before its n-th statement."""

    def __init__(self, db: Connection, left: int) -> None:
        self.db = db
        self.left = left

    def execute(self, sql: str, values: Any = ()) -> list[Any]:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.db.execute(sql, values)


def dies_at(number: int, engine: str, address: str) -> Callable[[], None]:
    """A program that is killed at the n-th statement of making or changing the tables."""

    def work() -> None:
        if engine == "sqlite":
            upgrade = SqliteFile._upgrade
            SqliteFile._upgrade = lambda self, db: upgrade(self, Dying(db, number))  # type: ignore[method-assign, arg-type, assignment]  # of the child alone
        else:
            from interlingua.store import postgres

            steps = postgres.table_steps

            def counted(where: str) -> Op[None]:
                op = steps(where)
                rows: Any = None
                for _ in range(number):
                    try:
                        rows = yield op.send(rows)
                    except StopIteration:
                        return
                os.kill(os.getpid(), signal.SIGKILL)

            postgres.table_steps = counted
        open_store(address)

    return work


def kills(engine: str, address: str, look: Callable[[], None]) -> int:
    """Kill at each statement in turn (in PostgreSQL at every third), and look; gives how many
    statements there are."""
    for number in range(0, 200, 1 if engine == "sqlite" else 3):
        ended = in_child(dies_at(number, engine, address))
        if ended == 0:
            return number
        assert ended == -signal.SIGKILL
        if number % 3 == 0 or number > 25:
            look()
    raise AssertionError("there is no end to it")


def state(engine: str, address: str) -> list[Any]:
    """The version and the tables as they are, without bringing anything up to date."""
    if engine == "sqlite":
        from interlingua.store.library import library

        if not os.path.exists(address):
            return []
        db = library().connect(address, "look", 5)
        try:
            rows = db.execute("SELECT name FROM sqlite_master ORDER BY name")
            return [db.execute("PRAGMA user_version"), rows]
        finally:
            db.close()
    import psycopg

    sql = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    with psycopg.connect(address) as connection:
        return sorted(connection.execute(sql).fetchall())


def test_a_start_killed_at_any_statement_leaves_nothing_half_made(
    engine: str, address: str
) -> None:
    seen: list[list[Any]] = []

    def look() -> None:
        time.sleep(0.02 if engine == "postgres" else 0)  # the server notices in a moment
        found = state(engine, address)
        if found not in seen:
            seen.append(found)

    count = kills(engine, address, look)
    assert count > len(schema.SQLITE) // 2
    assert len(seen) == 1  # always as before the first
    with open_store(address) as store:
        store.create_session("/w")
        assert version_of(store) == migrations.VERSION


def test_an_upgrade_killed_at_any_statement_leaves_the_older_tables(
    engine: str, older: str
) -> None:
    before = state(engine, older)

    def look() -> None:
        time.sleep(0.02 if engine == "postgres" else 0)
        assert state(engine, older) == before

    count = kills(engine, older, look)
    assert count >= len(migrations.MIGRATIONS[engine, 1])  # and asking for the version
    assert state(engine, older) != before
    assert_present(older)


def assert_present(address: str) -> None:
    """Everything that was in the older tables is there, and what the new ones can do."""
    with open_store(address) as store:
        assert version_of(store) == migrations.VERSION
        texts = [message.text for message in store.messages("s")]
        assert texts == ["some 北京 words", ""]
        assert [row.id for row in store.unanswered("s")] == [TU_1]
        assert len(store.search("京")) == 1
        assert store.keys() == []


def test_of_many_programs_that_come_at_once_one_upgrades(older: str) -> None:
    def children() -> Iterator[int]:
        for _ in range(6):
            pid = fork()
            if pid == 0:
                code = 1
                try:
                    assert_present(older)
                    code = 0
                finally:
                    os._exit(code)
            yield pid

    endings = [os.waitpid(pid, 0)[1] for pid in list(children())]
    assert endings == [0] * 6


def test_old_and_new_databases_come_to_the_same_tables(
    engine: str, older: str, new_address: Callable[[str], str]
) -> None:
    fresh = new_address(engine)
    for address in (older, fresh):
        open_store(address).close()
    assert state(engine, older) == state(engine, fresh)


def test_messages_are_not_touched_by_an_upgrade(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "VERSION", 1)
        with open_store(address) as store:
            store.create_session("/w", id="s")
            before = [dumps(m) for m in store.append("s", [Message.user("a\0b")]).messages]
    with open_store(address) as store:
        assert [dumps(message) for message in store.messages("s")] == before


def test_a_program_of_the_older_version_refuses_the_newer_tables(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(address).close()
    monkeypatch.setattr(migrations, "VERSION", 1)
    with pytest.raises(StoreError) as raised:
        open_store(address)
    assert raised.value.reason == "newer"


def test_every_step_of_the_way_is_there_for_both_engines() -> None:
    expected = {(engine, version) for engine in ("sqlite", "postgres") for version in range(1, 99)}
    steps = set(migrations.MIGRATIONS)
    assert steps <= expected
    assert len(steps) == 2 * (migrations.VERSION - 1)
