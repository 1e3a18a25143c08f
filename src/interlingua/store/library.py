"""Which SQLite is used, and one way to call it.

Python brings a SQLite, often an old one. Versions 3.7.0 to 3.51.2 can lose a commit: when one
connection restarts the log while another one moves it into the database, pages that were committed
are passed over (fixed in 3.51.3, 3.50.7 and 3.44.6; published in March 2026). Where Python's own is
one of those, `apsw` is used, which brings its own. The choice holds for the whole process: two
libraries that open one file in one process drop each other's locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

from interlingua.errors import MissingExtraError
from interlingua.store.errors import BusyError, ConflictError, Reason, StoreError, of_value

Version = tuple[int, int, int]

_WITHDRAWN: Version = (3, 52, 0)
_REASONS: dict[int, tuple[Reason, str]] = {
    3: ("read_only", "no permission to use the file"),
    8: ("read_only", "the file cannot be written to"),
    10: ("io", "reading or writing the file failed"),
    11: ("corrupt", "the file is damaged"),
    13: ("full", "the disk is full"),
    14: ("io", "the file cannot be opened"),
    23: ("read_only", "no permission to use the file"),
    26: ("corrupt", "the file is not a SQLite database"),
}
"""SQLite's primary result codes (sqlite.org/rescode.html) that have a name of ours."""
_NO_SHARED_MEMORY = 4874
"""SQLite's error when the shared-memory file cannot be created; in practice, the disk is full."""
_BUSY = (5, 6)
_CONSTRAINT = 19


class Connection:
    """A connection to one file; `OSError`s and the library's own errors come out as ours."""

    _db: Any
    _error: type[Exception]
    _code: str
    """The attribute of an error that has SQLite's code."""

    def __init__(self, where: str) -> None:
        self.where = where

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            rows: list[Any] = self._db.execute(sql, values).fetchall()
            return rows
        except self._error as error:
            raise self._ours(error) from None
        except (UnicodeError, OverflowError) as error:
            raise of_value(self.where, error) from None

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        try:
            self._db.executemany(sql, rows)
        except self._error as error:
            raise self._ours(error) from None
        except (UnicodeError, OverflowError) as error:
            raise of_value(self.where, error) from None

    def in_transaction(self) -> bool:
        return bool(self._db.in_transaction)

    def close(self) -> None:
        self._db.close()

    def _ours(self, error: Exception) -> StoreError:
        return as_ours(self.where, getattr(error, self._code, 1), str(error))


class Library(Protocol):
    """One SQLite: its name, its version, and how to connect to a file that exists."""

    name: str
    version: Version

    def connect(self, path: str, where: str, timeout: float) -> Connection: ...


def is_affected(version: Version) -> bool:
    """Whether this SQLite can lose commits (or was withdrawn by its makers)."""
    if version == _WITHDRAWN:
        return True
    if version < (3, 7, 0) or version >= (3, 51, 3):
        return False
    return not ((3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0))


@cache
def library() -> Library:
    """The SQLite of this process: Python's own where it is sound, else the one in `apsw`."""
    own = _Stdlib()
    if not is_affected(own.version):
        return own
    try:
        other = _Apsw()
    except ImportError:
        other = None
    if other is None or is_affected(other.version):
        found = ".".join(map(str, own.version))
        what = f"a SQLite store (SQLite {found} of this Python can lose commits)"
        raise MissingExtraError(what, "store")
    return other


def _version(text: str) -> Version:
    major, minor, patch = (int(part) for part in text.split(".")[:3])
    return major, minor, patch


def as_ours(where: str, code: int, text: str) -> StoreError:
    """SQLite's error as ours. Its text names tables and columns, never values."""
    primary = code & 0xFF
    if primary in _BUSY:
        return BusyError(where, "another program holds the database; nothing was written")
    if primary == _CONSTRAINT:
        return ConflictError(where, f"an id already exists, or refers to nothing ({text})")
    reason, problem = _REASONS.get(primary, ("other", "SQLite refused"))
    if code == _NO_SHARED_MEMORY:
        reason, problem = _REASONS[13]
    return StoreError(where, f"{problem} ({text}, SQLite code {code})", reason)


class _Stdlib:
    name = "sqlite3"

    def __init__(self) -> None:
        import sqlite3

        self.version = _version(sqlite3.sqlite_version)

    def connect(self, path: str, where: str, timeout: float) -> Connection:
        return _StdlibConnection(path, where, timeout)


class _StdlibConnection(Connection):
    _code = "sqlite_errorcode"

    def __init__(self, path: str, where: str, timeout: float) -> None:
        import sqlite3
        from urllib.parse import quote

        super().__init__(where)
        self._error = sqlite3.Error
        try:
            self._db = sqlite3.connect(
                f"file:{quote(path)}?mode=rw",
                timeout=timeout,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
        except sqlite3.Error as error:
            raise self._ours(error) from None


class _Apsw:
    name = "apsw"

    def __init__(self, vfs: str | None = None) -> None:
        """`vfs` names the layer between SQLite and the disk, if it is not the default."""
        import apsw

        self.version = _version(apsw.sqlite_lib_version())
        self._vfs = vfs

    def connect(self, path: str, where: str, timeout: float) -> Connection:
        return _ApswConnection(path, where, timeout, self._vfs)


class _ApswConnection(Connection):
    _code = "extendedresult"

    def __init__(self, path: str, where: str, timeout: float, vfs: str | None = None) -> None:
        import apsw

        super().__init__(where)
        self._error = apsw.Error
        try:
            self._db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
            self._db.set_busy_timeout(int(timeout * 1000))
        except apsw.Error as error:
            raise self._ours(error) from None
