"""A disk that can be watched and can fail: it stands between SQLite and the files (apsw's VFS).

A VFS written in Python has no shared memory, so the store's connections are one here, which holds
the file alone; everything else is as usual.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw
import pytest

from interlingua.store import library as library_module
from interlingua.store import sqlite as sqlite_module
from interlingua.store.library import Connection, Version

Kind = Literal["write", "sync", "truncate", "read", "delete", "open", "size"]
FOLDER = "folder"
_numbers = itertools.count()


class Deed(NamedTuple):
    """One thing that was done to a file; `name` is its suffix: empty, `-wal`, …"""

    kind: Kind
    name: str
    offset: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """`deeds` is what was done; `fail`, when set, is asked before each and may raise."""

    def __init__(self) -> None:
        self.vfs_name = f"interlingua-test-{next(_numbers)}"
        self.deeds: list[Deed] = []
        self.watching = False
        self.fail: Callable[[Kind, str], None] | None = None
        super().__init__(self.vfs_name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802  # SQLite's name
        self.asked("open", _path(name))
        return DiskFile(self, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        self.asked("delete", name)
        super().xDelete(name, syncdir)
        self.note(Deed("delete", suffix(name)))
        if syncdir:
            self.note(Deed("sync", FOLDER))

    def asked(self, kind: Kind, path: str) -> None:
        if self.fail is not None:
            self.fail(kind, path)

    def note(self, deed: Deed) -> None:
        if self.watching:
            self.deeds.append(deed)


class DiskFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.path = _path(name)
        super().__init__("", name, flags)
        self.is_new = bool(flags[0] & apsw.SQLITE_OPEN_CREATE)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.asked("write", self.path)
        super().xWrite(data, offset)
        self.disk.note(Deed("write", suffix(self.path), offset, bytes(data)))

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.disk.asked("read", self.path)
        return super().xRead(amount, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.asked("sync", self.path)
        super().xSync(flags)
        if self.is_new and suffix(self.path):
            # SQLite brings the folder to the disk with the first sync of a journal or log (its
            # os_unix.c, UNIXFILE_DIRSYNC), so that the file is found again.
            self.is_new = False
            self.disk.note(Deed("sync", FOLDER))
        self.disk.note(Deed("sync", suffix(self.path)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.disk.asked("truncate", self.path)
        super().xTruncate(size)
        self.disk.note(Deed("truncate", suffix(self.path), size))

    def xFileSize(self) -> int:  # noqa: N802
        self.disk.asked("size", self.path)
        return super().xFileSize()


def _path(name: Any) -> str:
    return name.filename() if isinstance(name, apsw.URIFilename) else str(name or "")


def suffix(path: str) -> str:
    _, mark, rest = Path(path).name.partition("-")
    return mark + rest


class OneConnection:
    """A library whose connections to a file are one."""

    name = "apsw"

    def __init__(self, disk: Disk) -> None:
        self._library = library_module._Apsw(disk.vfs_name)
        self.version: Version = self._library.version
        self._open: list[Shared] = []

    def connect(self, path: str, where: str, timeout: float) -> Connection:
        self._open = [each for each in self._open if each.holders]
        for each in self._open:
            if each.path == path:
                each.holders += 1
                return each
        db = self._library.connect(path, where, timeout)
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._open.append(Shared(path, db))
        return self._open[-1]


class Shared:
    def __init__(self, path: str, db: Connection) -> None:
        self.path = path
        self.holders = 1
        self.where = db.where
        self._db = db

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._db.execute(sql, values)

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._db.executemany(sql, rows)

    def in_transaction(self) -> bool:
        return self._db.in_transaction()

    def close(self) -> None:
        self.holders -= 1
        if not self.holders:
            # SQLite moves the log as it closes, and does not mind when that fails; apsw would still
            # raise what the disk below, being Python, has raised.
            with suppress(apsw.Error):
                self._db.close()


@contextmanager
def watched() -> Iterator[Disk]:
    """All stores that are opened meanwhile use this disk."""
    disk = Disk()
    one = OneConnection(disk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_module, "library", lambda: one)
        yield disk
    disk.unregister()
