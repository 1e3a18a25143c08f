"""Disks that fail, power that goes, and processes that get into each other's way, each in short;
the modules beside this one do the same for as long as one likes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from interlingua.model.message import Message
from interlingua.store import sqlite as sqlite_module
from interlingua.store.errors import BusyError, StoreError
from interlingua.store.library import library
from interlingua.store.sqlite import SqliteStore
from tests.effort import THOROUGH
from tests.store import hammer
from tests.store.kills import WrongError
from tests.store.places import ask, memory_folder

ROOT = Path(__file__).parents[2]

apsw = pytest.importorskip("apsw", reason="the extra `store` is not installed")
from tests.store import faults, flips, power, story  # noqa: E402  # they need it

posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")


@pytest.fixture
def folder() -> Iterator[Path]:
    with memory_folder() as made:
        yield made


# S2: power loss


def test_nothing_acknowledged_is_lost_when_the_power_goes(folder: Path) -> None:
    tally = power.run(folder, 250, seed=2)
    assert tally.unsynced > 200
    assert tally.damaged > 1000


def test_without_syncing_the_harness_sees_a_loss(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = tuple(setting.replace("FULL", "NORMAL") for setting in sqlite_module._SETTINGS)
    monkeypatch.setattr(sqlite_module, "_SETTINGS", loose)
    with pytest.raises(WrongError, match="acknowledged and lost"):
        power.run(folder, 250, seed=2)


def test_a_log_that_was_cut_anywhere_opens_as_it_was_at_some_commit(folder: Path) -> None:
    path = folder / "s.db"
    with SqliteStore(path) as store:
        session = store.create_session("/w").id
        for number in range(12):
            store.append(session, [Message.user(f"{number} " + "x" * 700)] * 3)
        data, log = path.read_bytes(), path.with_name("s.db-wal").read_bytes()
    seen = set()
    for size in [*range(0, len(log), 2777), *range(len(log) - 40, len(log) + 1)]:
        cut = folder / f"{size}.db"
        cut.write_bytes(data)
        cut.with_name(f"{size}.db-wal").write_bytes(log[:size])
        with SqliteStore(cut) as store:
            found = len(store.messages(session)) if store.sessions() else 0
            assert ask(store, "PRAGMA integrity_check") == [("ok",)]
        assert found % 3 == 0
        seen.add(found)
    assert max(seen) == 36
    assert len(seen) > 5


# S3, S4: every access fails in its turn


def test_every_access_to_the_disk_may_fail_and_nothing_acknowledged_is_lost(folder: Path) -> None:
    tally = faults.run(folder, stride=17 if THOROUGH else 37, rounds=4)
    assert tally.faults > 50
    assert {"io", "full"} <= set(tally.reasons)


def test_the_harness_notices_what_is_lost(folder: Path) -> None:
    result = story.Story(folder / "s.db")
    result.append("1", 10)
    result.append("2", 10)
    result.close()
    assert story.check(result.path, result.acknowledged, result.begun) == 2
    with pytest.raises(WrongError, match="lost"):
        story.check(result.path, ["1/0", "3/0"], result.begun)


def fill(store: SqliteStore, session: str) -> None:
    for _ in range(200):
        store.append(session, [Message.user("x" * 10_000)])


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_really_full_is_told_and_used_again_when_there_is_room(
    tmp_path: Path,
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing may be mounted here")
    try:
        filler = small / "filler"
        filler.write_bytes(b"x" * 300_000)
        with SqliteStore(small / "s.db", timeout=0.3) as store:
            session = store.create_session("/w").id
            with pytest.raises(StoreError) as raised:
                fill(store, session)
            done = len(store.messages(session))
            assert raised.value.reason in ("full", "io")
            assert store.session(session).message_count == done > 0
            filler.unlink()
            store.append(session, [Message.user("room again")])
            assert len(store.messages(session)) == done + 1
            assert ask(store, "PRAGMA integrity_check") == [("ok",)]
    finally:
        subprocess.run(["umount", str(small)], check=True)


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount")
def test_a_store_for_which_there_is_no_room_says_so_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing may be mounted here")
    try:
        with SqliteStore(small / "s.db") as store:
            store.create_session("/w")
        with suppress(OSError), (small / "filler").open("ab", buffering=0) as filler:
            while True:
                filler.write(b"x" * 4096)
        for name in ("s.db", "new.db"):
            with pytest.raises(StoreError) as raised:
                SqliteStore(small / name, timeout=0.3)
            assert raised.value.reason == "full", raised.value
        assert not (small / "new.db").exists()
        (small / "filler").unlink()
        with SqliteStore(small / "s.db") as store:
            assert len(store.sessions()) == 1
    finally:
        subprocess.run(["umount", str(small)], check=True)


def as_nobody(path: Path, work: str) -> str:
    """What a program prints that may not do what root may."""
    program = f"""
    import os, sys
    from interlingua.model.message import Message
    from interlingua.store.errors import StoreError
    from interlingua.store.library import library
    from interlingua.store.sqlite import SqliteStore
    path = sys.argv[1]
    library()
    Message.user("all that is needed is imported")
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    try:
        {work}
        print("fine")
    except StoreError as odd:
        print(odd.reason)
    """
    lines = "\n".join(line[4:] for line in program.splitlines())
    run = subprocess.run(
        [sys.executable, "-c", lines, str(path)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@posix
def test_a_file_or_folder_that_may_not_be_written_is_told_and_left_alone(folder: Path) -> None:
    folder.chmod(0o755)
    path = folder / "s.db"
    with SqliteStore(path) as store:
        session = store.create_session("/w", id="s").id
        store.append(session, [Message.user("x")])
    before = path.read_bytes()
    write = 'SqliteStore(path).append("s", [Message.user("y")])'
    path.chmod(0o444)
    assert as_nobody(path, write) in ("read_only", "io")
    path.chmod(0o000)
    assert as_nobody(path, write) in ("read_only", "io")
    assert as_nobody(folder / "new.db", write) in ("read_only", "io")
    assert not (folder / "new.db").exists()
    assert path.read_bytes() == before
    path.chmod(0o666)
    folder.chmod(0o777)
    assert as_nobody(path, write) == "fine"
    with SqliteStore(path) as store:
        assert len(store.messages("s")) == 2


# S5: held by another process


@posix
def test_a_file_that_another_process_holds_is_waited_for_so_long(folder: Path) -> None:
    path = folder / "s.db"
    program = """
    import sys, time
    from interlingua.store.library import library
    db = library().connect(sys.argv[1], "other", 1)
    db.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    time.sleep(60)
    """
    with SqliteStore(path, timeout=0.3) as store:
        session = store.create_session("/w").id
        lines = "\n".join(line[4:] for line in program.splitlines())
        other = subprocess.Popen(
            [sys.executable, "-c", lines, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == "held\n"
            start = time.monotonic()
            with pytest.raises(BusyError):
                store.append(session, [Message.user("x")])
            assert 0.2 < time.monotonic() - start < 3
            assert store.messages(session) == []
        finally:
            other.send_signal(signal.SIGKILL)
            other.wait()
            other.stdout.close()
        store.append(session, [Message.user("x")])
        assert len(store.messages(session)) == 1


# S7: the log is moved by others


@posix
def test_nothing_is_lost_while_other_processes_move_the_log(folder: Path) -> None:
    tally = hammer.run(folder, 2.0)
    assert tally.acknowledged > 50
    assert tally.moved > 50


def test_the_hammer_notices_a_loss(folder: Path) -> None:
    path = folder / "s.db"
    with SqliteStore(path) as store:
        session = store.create_session("/w").id
        store.append(session, [Message.user("0 x"), Message.user("1 x")])
    hammer._check(path, {session: 2})
    with pytest.raises(WrongError, match="3 were acknowledged, 2 are there"):
        hammer._check(path, {session: 3})


# S11: a copy while others write


def test_a_copy_made_while_others_write_is_one_state(folder: Path) -> None:
    path = folder / "s.db"
    with SqliteStore(path) as store:
        sessions = [store.create_session("/w").id for _ in range(3)]
        done = threading.Event()

        def work(session: str) -> None:
            number = 0
            while not done.is_set():
                store.append(session, [Message.user(str(number)), Message.user(str(number + 1))])
                number += 2

        threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        db = library().connect(str(path), "copy", 5)
        sizes: list[int] = []
        try:
            for number in range(8):
                db.execute("VACUUM INTO ?", [str(folder / f"copy-{number}.db")])
        finally:
            done.set()
            for thread in threads:
                thread.join()
            db.close()
    for number in range(8):
        with SqliteStore(folder / f"copy-{number}.db") as copy:
            assert ask(copy, "PRAGMA integrity_check") == [("ok",)]
            total = 0
            for session in sessions:
                texts = [message.text for message in copy.messages(session)]
                assert texts == [str(place) for place in range(len(texts))]
                assert len(texts) % 2 == 0
                assert copy.session(session).message_count == len(texts)
                total += len(texts)
            sizes.append(total)
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


# S15: what was deleted is gone from the files


def test_a_deleted_session_is_gone_from_the_files(folder: Path) -> None:
    path = folder / "s.db"

    def found() -> list[str]:
        return [
            file.name
            for file in sorted(folder.iterdir())
            if any(word in file.read_bytes().lower() for word in (b"canary", b"xylophone"))
        ]

    with SqliteStore(path) as store:
        stored, gone = store.create_session("/w").id, store.create_session("/w").id
        store.append(stored, [Message.user("a plain message")] * 20)
        words = [Message.user(f"canary {number} " + "xylophone " * 300) for number in range(50)]
        store.append(gone, words)
        assert len(store.search("canary xylophone")) == 50
        assert "s.db" in found() or "s.db-wal" in found()
        store.delete_session(gone)
        assert found() == []
        assert store.search("canary") == []
        assert len(store.search("plain")) == 20
    assert found() == []


# S10: a damaged file


def test_a_file_cut_at_any_page_is_told_or_says_nothing_new(folder: Path) -> None:
    path, session = flips.small(folder)
    data = path.read_bytes()
    with SqliteStore(path) as store:
        whole = store.messages(session)
    reasons: list[str] = []
    for size in range(4096, len(data), 4096):  # an empty file is a new one
        path.write_bytes(data[:size])
        try:
            with SqliteStore(path) as store:
                assert store.messages(session) == whole
        except StoreError as error:
            reasons.append(error.reason)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    assert len(reasons) > 10
    assert set(reasons) <= {"corrupt", "not_found", "io", "foreign"}


def test_a_changed_byte_anywhere_leads_to_answers_or_errors_of_ours(folder: Path) -> None:
    seen = flips.run(folder, 150, seed=8)
    assert seen["corrupt"] > 5
    assert seen["fine"] > 50


def test_a_session_that_says_it_has_more_messages_than_there_are_holds_no_search_up(
    folder: Path,
) -> None:
    with SqliteStore(folder / "s.db") as store:
        session = store.create_session("/w").id
        store.append(session, [Message.user("some words")])
        ask(store, "UPDATE sessions SET message_count = 7")
        start = time.monotonic()
        assert len(store.search("words")) == 1
        assert time.monotonic() - start < 5
