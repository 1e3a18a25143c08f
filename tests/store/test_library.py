"""Which SQLite is used."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from interlingua.errors import MissingExtraError
from interlingua.store import library as library_module
from interlingua.store.library import is_affected, library


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 44, 7), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), True),
        ((3, 52, 1), False),
        ((3, 54, 1), False),
    ],
)
def test_versions_that_can_lose_a_commit_are_known(version: Any, affected: bool) -> None:
    assert is_affected(version) is affected


def test_the_library_in_use_cannot_lose_a_commit() -> None:
    assert not is_affected(library().version)
    assert library() is library()


def test_pythons_own_is_used_where_it_is_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    library.cache_clear()
    try:
        monkeypatch.setattr(sqlite3, "sqlite_version", "3.51.3")
        assert library().name == "sqlite3"
        library.cache_clear()
        monkeypatch.setattr(sqlite3, "sqlite_version", "3.51.2")
        assert library().name == "apsw"
    finally:
        library.cache_clear()


def test_without_a_sound_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr(sqlite3, "sqlite_version", "3.40.1")
    monkeypatch.setitem(sys.modules, "apsw", None)
    library.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"3\.40\.1.*interlingua\[store\]"):
            library()
    finally:
        library.cache_clear()


def test_pythons_own_library_runs_the_whole_store(tmp_path: Path) -> None:
    """In a process of its own, since one process never uses two libraries."""
    program = """
    import sqlite3, sys
    sqlite3.sqlite_version = "3.51.3"  # one process, one connection at a time: nothing can be lost
    from interlingua.model.blocks import ToolUseBlock
    from interlingua.model.message import Message
    from interlingua.store.errors import BusyError, ConflictError
    from interlingua.store.library import library
    from interlingua.store.sqlite import SqliteStore
    assert library().name == "sqlite3"
    with SqliteStore(sys.argv[1], timeout=0.2) as store:
        session = store.create_session("/w", routing_policy={"a": 1}).id
        used = Message.assistant(ToolUseBlock("tu_01HZ0000000000000000000001", "f", {}))
        sent = [Message.user("a\\0b caf\u00e9"), used]
        added = store.append(session, sent).messages
        assert tuple(store.messages(session)) == added
        assert [hit.seq for hit in store.search("caf\u00e9")] == [1]
        assert len(store.messages(store.fork(session).id)) == 2
        other = library().connect(sys.argv[1], "other", 0)
        other.execute("BEGIN IMMEDIATE")
        for wrong, message in ((BusyError, "holds"), (ConflictError, "already exists")):
            try:
                store.append(session, [added[0]])
                raise SystemExit("no error")
            except wrong as odd:
                assert message in str(odd), odd
            if other.in_transaction():
                other.execute("ROLLBACK")
        other.close()
        store.delete_session(session)
    print("fine")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "s.db")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert run.stdout == "fine\n", run.stderr


def test_errors_of_the_library_have_names_of_ours() -> None:
    for code, reason in (
        (5, "busy"),
        (261, "busy"),
        (13, "full"),
        (8, "read_only"),
        (11, "corrupt"),
    ):
        assert library_module.as_ours("here", code, "text").reason == reason
