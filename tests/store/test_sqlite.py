"""The SQLite store: its tables, its library, and what it does when the file is in trouble."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.model.message import Message
from interlingua.store import messages, migrations, schema
from interlingua.store.errors import BusyError, StoreError
from interlingua.store.library import library
from interlingua.store.sqlite import SqliteStore
from tests.store.places import ask
from tests.store.sqlite_files import columns


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(path, timeout=0.3) as opened:
        yield opened


# Tables


def test_the_settings_that_durability_depends_on(store: SqliteStore) -> None:
    with store._file.transaction() as db:
        found = {
            name: db.execute(f"PRAGMA {name}")[0][0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "mmap_size")
        }
    full = 2
    assert found == {
        "journal_mode": "wal",
        "synchronous": full,
        "foreign_keys": 1,
        "busy_timeout": 300,
        "mmap_size": 0,
    }


def test_the_hot_queries_use_their_indexes(store: SqliteStore) -> None:
    sql = store._do.sql
    for statement, values in (
        (sql.tail, ["s", 1]),
        (sql.messages, ["s", 1, 1]),
        (sql.message, ["s", "m"]),
        (sql.unanswered, ["s"]),
        (sql.failed, ["s"]),
        (sql.events, ["s", 1, 1]),
        (sql.last_event, ["s"]),
        (sql.sessions, [1]),
        (sql.unindexed, []),
    ):
        plan = [row[-1] for row in ask(store, f"EXPLAIN QUERY PLAN {statement}", values)]
        assert not [step for step in plan if "SCAN" in step and "INDEX" not in step], plan
        assert not [step for step in plan if "TEMP B-TREE" in step and "tail" in statement], plan


def test_the_log_of_a_large_append_is_moved_by_the_next_one(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "LARGE", 5)
    session = store.create_session("/w").id
    for _ in range(3):
        store.append(session, [Message.user("x" * 5000)] * 1200)
        assert ask_writer(store, "PRAGMA wal_autocheckpoint") == 0
        fill(store, session)
        assert ask_writer(store, "PRAGMA wal_autocheckpoint") == 1000
    store.append(session, [Message.user("x" * 5000)] * 1200)
    store._file.tidy()
    assert ask_writer(store, "PRAGMA wal_autocheckpoint") == 1000
    log = store._file.path.with_name(store._file.path.name + "-wal").stat().st_size
    data = store._file.path.stat().st_size
    assert log < data / 2  # as long as the longest append, not as all of them
    assert texts(store, session) == 4803


def ask_writer(store: SqliteStore, sql: str) -> int:
    found: int = store._file._writer.execute(sql)[0][0]
    return found


# The file


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
def test_nobody_else_may_read_the_files(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with SqliteStore(tmp_path / "new" / "deep" / "s.db") as store:
            store.create_session("/w")
            files = list((tmp_path / "new" / "deep").iterdir())
            assert len(files) == 3
            for file in files:
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    finally:
        os.umask(old)


def test_a_file_of_another_program_is_left_alone(path: Path) -> None:
    path.write_bytes(b"not a database, but somebody's diary\n" * 40)
    with pytest.raises(StoreError) as raised:
        SqliteStore(path)
    assert raised.value.reason == "corrupt"
    assert path.read_bytes().startswith(b"not a database")

    other = path.with_name("other.db")
    db = library().connect(_made(other), "other", 1)
    db.execute("CREATE TABLE birds (name TEXT)")
    db.close()
    before = other.read_bytes()
    with pytest.raises(StoreError) as raised:
        SqliteStore(other)
    assert raised.value.reason == "foreign"
    assert other.read_bytes() == before


def _made(path: Path) -> str:
    path.touch()
    return str(path)


def test_a_store_of_a_newer_version_is_refused(path: Path) -> None:
    with SqliteStore(path) as store:
        store._file._writer.execute(f"PRAGMA user_version = {migrations.VERSION + 1}")
    with pytest.raises(StoreError, match="newer version") as raised:
        SqliteStore(path)
    assert raised.value.reason == "newer"


def test_a_broken_off_start_leaves_a_file_that_opens(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = schema.SQLITE
    for count in range(0, len(whole), 4):
        monkeypatch.setattr(schema, "SQLITE", (*whole[:count], "CREATE NONSENSE"))
        with pytest.raises(StoreError):
            SqliteStore(path)
    monkeypatch.setattr(schema, "SQLITE", whole)
    with SqliteStore(path) as store:
        assert store.sessions() == []


def test_older_tables_are_brought_up_to_date_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStore(path).close()
    step = ("ALTER TABLE sessions ADD COLUMN mood TEXT",)
    monkeypatch.setattr(migrations, "VERSION", migrations.VERSION + 1)
    monkeypatch.setitem(migrations.MIGRATIONS, ("sqlite", migrations.VERSION - 1), step)
    for _ in range(2):
        with SqliteStore(path) as store:
            assert "mood" in columns(store, "sessions")


# Trouble: an error that says what is wrong, and the store goes on when it is over


def fill(store: SqliteStore, session: str, count: int = 1, size: int = 100) -> None:
    for _ in range(count):
        store.append(session, [Message.user("x" * size)])


def texts(store: SqliteStore, session: str) -> int:
    return len(store.messages(session))


def test_a_file_that_another_program_holds_is_waited_for_so_long(
    store: SqliteStore, path: Path
) -> None:
    session = store.create_session("/w").id
    other = library().connect(str(path), "other", 1)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    with pytest.raises(BusyError) as raised:
        fill(store, session)
    assert 0.2 < time.monotonic() - start < 3
    assert raised.value.reason == "busy"
    assert texts(store, session) == 0  # reading goes on meanwhile
    other.execute("ROLLBACK")
    fill(store, session)
    assert texts(store, session) == 1
    other.close()


def test_a_full_disk_is_told_and_leaves_what_was_there(store: SqliteStore) -> None:
    session = store.create_session("/w").id
    fill(store, session, 3)
    pages = ask(store, "PRAGMA page_count")[0][0]
    ask(store, f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(StoreError) as raised:
        fill(store, session, 200, 10_000)
    assert raised.value.reason == "full"
    stored = texts(store, session)
    assert 3 <= stored < 203
    assert store.session(session).message_count == stored
    ask(store, "PRAGMA max_page_count = 1000000")
    fill(store, session, 20, 10_000)
    assert texts(store, session) == stored + 20
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.skipif(sys.platform == "win32", reason="limits are of POSIX")
def test_a_write_that_fails_midway_is_told_and_leaves_what_was_there(
    store: SqliteStore, path: Path
) -> None:
    """A limit on the size of files makes the operating system refuse the log's next pages."""
    session = store.create_session("/w").id
    fill(store, session, 3)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    log = path.with_name(path.name + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (log + 50_000, before[1]))
    try:
        with pytest.raises(StoreError) as raised:
            fill(store, session, 100, 20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert raised.value.reason in ("full", "io")
    stored = texts(store, session)
    assert store.session(session).message_count == stored >= 3
    fill(store, session, 5, 20_000)
    assert texts(store, session) == stored + 5
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]


def test_a_file_that_cannot_be_written_is_reported(store: SqliteStore) -> None:
    session = store.create_session("/w").id
    fill(store, session)
    store._file._writer.execute("PRAGMA query_only = ON")  # permissions do not stop root
    with pytest.raises(StoreError) as raised:
        fill(store, session)
    assert raised.value.reason == "read_only"
    assert texts(store, session) == 1
    store._file._writer.execute("PRAGMA query_only = OFF")
    fill(store, session)
    assert texts(store, session) == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_read_only_file_is_reported(path: Path) -> None:
    SqliteStore(path).close()
    path.chmod(0o400)
    with pytest.raises(StoreError) as raised, SqliteStore(path) as store:
        store.create_session("/w")
    assert raised.value.reason in ("read_only", "io")


def test_a_removed_file_is_told_and_no_empty_one_is_made(store: SqliteStore, path: Path) -> None:
    session = store.create_session("/w").id
    aside = path.with_name("aside.db")
    path.rename(aside)
    for ask_for in (lambda: fill(store, session), lambda: texts(store, session)):
        with pytest.raises(StoreError, match="gone") as raised:
            ask_for()
        assert raised.value.reason == "replaced"
    assert not path.exists()
    aside.rename(path)
    fill(store, session)
    assert texts(store, session) == 1


def test_a_replaced_file_is_told_and_not_written_to(store: SqliteStore, path: Path) -> None:
    session = store.create_session("/w").id
    other = path.with_name("other.db")
    SqliteStore(other).close()
    before = other.read_bytes()
    shutil.move(other, path)
    with pytest.raises(StoreError, match="replaced") as raised:
        fill(store, session)
    assert raised.value.reason == "replaced"
    assert path.read_bytes() == before


def test_a_damaged_file_is_reported(path: Path) -> None:
    with SqliteStore(path) as store:
        session = store.create_session("/w").id
        fill(store, session, 50, 2000)
    data = bytearray(path.read_bytes())
    data[4096 : 4096 * 20] = b"\xa5" * (4096 * 19)
    path.write_bytes(data)
    with pytest.raises(StoreError) as raised:
        read_all(path, session)
    assert raised.value.reason == "corrupt"


def read_all(path: Path, session: str) -> None:
    with SqliteStore(path) as store:
        store.sessions()
        store.messages(session)
        store.tool_calls(session)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        SqliteStore(tmp_path)


# The library
