"""What differs between operating systems: each difference has a branch or a refusal, tried here."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlingua import config
from interlingua.bulk import run as bulk_run
from interlingua.cli.chat_loop import on_interrupt, silent_keys
from interlingua.gateway.server import serve
from interlingua.gateway.server.worker import Overrides
from interlingua.gateway.settings import Listen, Settings
from interlingua.gateway.shared.principal import descriptors
from interlingua.sessions import holding

PACKAGE = Path(__file__).parents[1] / "src" / "interlingua"
UNIX_MODULES = {"fcntl", "termios", "pty", "tty", "pwd", "grp", "resource", "msvcrt", "winreg"}
UNIX_NAMES = {"fork", "forkpty", "getuid", "geteuid", "getgid", "setuid", "mkfifo", "SIGUSR1"}


def test_modules_of_one_system_are_imported_where_they_are_used() -> None:
    found = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {each.name for each in node.names} | {getattr(node, "module", None)}
                found += [f"{path.name}: {name}" for name in names & UNIX_MODULES]
        found += [
            f"{path.name}: {node.value.id}.{node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            if node.value.id in ("os", "signal") and node.attr in UNIX_NAMES
        ]
    assert found == []


class Locks:
    """A stand-in for the module `msvcrt`: one process at a time has the first byte of a file."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[int] = set()

    def locking(self, file: int, mode: int, size: int) -> None:
        assert (mode, size) == (self.LK_NBLCK, 1)
        inode = os.fstat(file).st_ino
        if inode in self.held:
            raise OSError(13, "Permission denied")
        self.held.add(inode)


def test_files_are_locked_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", Locks())
    with (tmp_path / "lock").open("w") as one, (tmp_path / "lock").open("w") as other:
        assert config.try_lock(one.fileno())
        assert not config.try_lock(other.fileno())
    (tmp_path / "state").mkdir()
    lock = tmp_path / "state" / "lock"
    refused = pytest.raises(bulk_run.BulkError, match="another run is in progress")
    with bulk_run._alone(lock), refused, bulk_run._alone(lock):
        pass


def test_several_workers_are_refused_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    several = Settings(listen=Listen(workers=2))
    with pytest.raises(serve.ListenError, match="--workers 1"):
        serve.serve(Overrides(), several, lambda _: None)


def test_keys_are_shown_where_terminals_cannot_hide_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "termios", None)
    with silent_keys():
        pass


def test_ctrl_c_reaches_a_loop_without_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)

    async def interrupted() -> bool:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()

        def refuse(*_: Any) -> None:
            raise NotImplementedError

        monkeypatch.setattr(type(loop), "add_signal_handler", refuse)
        with on_interrupt(stopped.set):
            signal.raise_signal(signal.SIGINT)
            return await asyncio.wait_for(stopped.wait(), 5)

    assert asyncio.run(interrupted())
    assert signal.getsignal(signal.SIGINT) is before


def test_open_files_are_not_counted_where_there_is_no_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert descriptors() is None


def test_no_process_is_asked_with_a_signal_that_would_end_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On Windows, `os.kill(pid, 0)` ends the process."""
    who = holding.holder()
    elsewhere = SimpleNamespace(name="nt", getpid=os.getpid, kill=lambda *_: pytest.fail("killed"))
    monkeypatch.setattr(holding, "os", elsewhere)
    assert holding.is_gone(who) is False
