"""The store in one SQLite file: a log before the database (WAL), every commit on disk before it is
acknowledged (`synchronous=FULL`), one connection that writes and a few that read."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, LifoQueue
from typing import TypeVar

from interlingua.store import migrations, schema
from interlingua.store.base import Operations, Store
from interlingua.store.errors import BusyError, StoreError, unreadable
from interlingua.store.library import Connection, library
from interlingua.store.sessions import INCREMENTAL
from interlingua.store.statements import SQLITE, UNREADABLE, Make, Op, Rows

T = TypeVar("T")

TIMEOUT = 5.0
"""Seconds to wait for another program that is writing."""
READERS = 4

_opening = threading.Lock()

LOG = "PRAGMA wal_autocheckpoint = 1000"
"""4 MB of log, written over and over; a longer one grows for longer, and a file that grows is
slower to bring to the disk."""
_LONG_LOG = "PRAGMA wal_autocheckpoint = 0"
_AT_ONCE = "PRAGMA synchronous = FULL"
_SOON = "PRAGMA synchronous = NORMAL"
"""Durable with the next durable commit, or when the log is moved."""
_GIVES_BACK = f"PRAGMA auto_vacuum = {INCREMENTAL}"
_SETTINGS = (
    _AT_ONCE,
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA mmap_size = 0",
    LOG,
    "PRAGMA journal_size_limit = 67108864",
)


class SqliteFile:
    """One file: its connections, its transactions, and whether it is still the same file."""

    def __init__(self, path: str | os.PathLike[str], timeout: float = TIMEOUT) -> None:
        self.path = Path(path).absolute()
        self.where = str(self.path)
        self.timeout = timeout
        self._library = library()
        self._lock = threading.Lock()
        self._closed = False
        self._log_is_long = False
        self._is_durable = True
        """Whether the last transaction was durable."""
        self._idle: LifoQueue[Connection] = LifoQueue()
        self._room = threading.BoundedSemaphore(READERS)
        with _opening:
            is_new = self._make()
            self._identity: tuple[int, int] | None = None
            self._require_same_file()
            self._writer = self._connect()
        try:
            self._prepare()
        except BaseException as error:
            self._writer.close()
            if is_new and isinstance(error, StoreError) and error.reason == "full":
                self._unmake()
            raise

    def _unmake(self) -> None:
        """Removes the files of a store that could not be created because the disk is full."""
        with suppress(OSError):
            if self.path.stat().st_size == 0:
                for end in ("-wal", "-shm", "-journal", ""):
                    self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def _make(self) -> bool:
        """The file, readable by its owner alone from its first moment on; whether it is new."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Never an existing one: closing a handle would drop the locks that SQLite holds on the
            # file for other connections of this process.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o600))
        except FileExistsError:
            if not self.path.is_file():
                raise StoreError(self.where, "not a file", "io") from None
            return False
        except OSError as error:
            raise _os_error(self.where, error) from None
        return True

    def _require_same_file(self) -> None:
        if self._closed:
            raise StoreError(self.where, "the store is closed", "closed")
        try:
            found = os.stat(self.path)
        except OSError as error:
            problem = f"the file is gone ({error.strerror})"
            raise StoreError(self.where, problem, "replaced") from None
        identity = found.st_dev, found.st_ino
        self._identity = self._identity or identity
        if identity != self._identity:
            problem = "the file was replaced since it was opened"
            raise StoreError(self.where, problem, "replaced")

    def _connect(self) -> Connection:
        connection = self._library.connect(str(self.path), self.where, self.timeout)
        try:
            for setting in _SETTINGS:
                connection.execute(setting)
        except BaseException:
            connection.close()
            raise
        return connection

    # Tables

    def _prepare(self) -> None:
        """Make the tables, or see that they are ours; of several that open a new file one makes
        them and the others wait."""
        db = self._writer
        self._require_ours(db)
        if db.execute("PRAGMA journal_mode")[0][0] != "wal":
            db.execute(_GIVES_BACK)  # nothing changes in a file that has tables
            mode = db.execute("PRAGMA journal_mode = WAL")[0][0]
            if mode != "wal":
                problem = (
                    f"write-ahead logging (WAL) is not available here (found journal mode {mode!r})"
                )
                raise StoreError(self.where, problem, "io")
        if _version(db) < migrations.VERSION:
            with self.transaction() as connection:
                self._upgrade(connection)

    def _require_ours(self, db: Connection) -> None:
        version = _version(db)
        if version < 0:
            raise StoreError(self.where, f"the schema version is {version}", "corrupt")
        if version > migrations.VERSION:
            problem = f"created by a newer version of interlingua (schema version {version})"
            raise StoreError(self.where, problem, "newer")
        tables = db.execute("SELECT count(*) FROM sqlite_master")[0][0]
        application = db.execute("PRAGMA application_id")[0][0]
        if tables and application != schema.APPLICATION_ID:
            raise StoreError(
                self.where, "the file is a database that belongs to another program", "foreign"
            )

    def _upgrade(self, db: Connection) -> None:
        version = _version(db)  # again: another process may have been quicker
        if version == 0:
            self._require_ours(db)
            for statement in schema.SQLITE:
                db.execute(statement)
            version = 1
        while version < migrations.VERSION:
            for statement in migrations.MIGRATIONS["sqlite", version]:
                db.execute(statement)
            version += 1
            db.execute(f"PRAGMA user_version = {version}")
        with suppress(StoreError):  # see there
            db.execute(migrations.FORGET_WORDS)

    # Work

    @contextmanager
    def _held_writer(self) -> Iterator[Connection]:
        if not self._lock.acquire(timeout=self.timeout):
            raise BusyError(self.where, "another thread is writing; nothing was written")
        try:
            self._require_same_file()
            yield self._writer
        finally:
            self._lock.release()

    @contextmanager
    def transaction(self, large: bool = False, durable: bool = True) -> Iterator[Connection]:
        """The one writer, in a transaction: committed at the end, taken back on an error.

        A commit may have to move the log into the database. After a large one that takes as long
        as the writing itself, and the next transaction does it, or `tidy`."""
        if not self._lock.acquire(timeout=self.timeout):
            raise BusyError(self.where, "another thread is writing; nothing was written")
        try:
            self._require_same_file()
            db = self._writer
            if self._log_is_long:
                self._move_log()
            if large:
                db.execute(_LONG_LOG)
                self._log_is_long = True
            if durable is not self._is_durable:
                db.execute(_AT_ONCE if durable else _SOON)
                self._is_durable = durable
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(StoreError):  # what went wrong first is what matters
                    if db.in_transaction():  # a full disk may have ended it already
                        db.execute("ROLLBACK")
                raise
        finally:
            self._lock.release()

    def _move_log(self) -> None:
        self._log_is_long = False
        self._writer.execute(LOG)
        with suppress(StoreError):  # nothing is lost; the next commit tries again
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def tidy(self) -> None:
        """Moves a long log into the database while no call waits for it."""
        if self._log_is_long and self._lock.acquire(blocking=False):
            try:
                if not self._closed:
                    with suppress(StoreError):
                        self._move_log()
            finally:
                self._lock.release()

    def forget(self) -> None:
        """Moves the log into the database and truncates it, so no file contains the deleted rows.
        If other programs are reading for longer than the wait, that happens when the log is
        overwritten."""
        with suppress(StoreError), self._held_writer() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def vacuum(self) -> int:
        """Write the file anew, and let it give pages back from then on; the bytes it shrank by."""
        with self._held_writer() as db:
            before = self.path.stat().st_size
            db.execute(_GIVES_BACK)
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return max(0, before - self.path.stat().st_size)

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection that reads, in a transaction: all statements see one state."""
        if not self._room.acquire(timeout=self.timeout):
            raise BusyError(self.where, "too many threads are reading")
        try:
            self._require_same_file()
            try:
                db = self._idle.get_nowait()
            except Empty:
                db = self._connect()
            try:
                db.execute("BEGIN")
                yield db
            finally:
                self._give_back(db)
        finally:
            self._room.release()

    def _give_back(self, db: Connection) -> None:
        """Return a connection to the pool, unless it cannot end its transaction."""
        try:
            if db.in_transaction():
                db.execute("ROLLBACK")
        except StoreError:
            db.close()
        else:
            self._idle.put(db)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            # Until the last reader is done: closing under its hands would be an error there.
            held = [self._room.acquire(timeout=self.timeout) for _ in range(READERS)]
            while not self._idle.empty():
                self._idle.get_nowait().close()
            self._writer.close()
            for _ in range(sum(held)):
                self._room.release()


def perform(db: Connection, op: Op[T]) -> T:
    """Run an operation on a connection."""
    try:
        step = next(op)
        while True:
            rows: Rows = []
            if step.many:
                db.executemany(step.sql, step.values)
            else:
                rows = db.execute(step.sql, step.values)
            step = op.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result
    except UNREADABLE as error:
        raise unreadable(db.where, error) from error
    finally:
        op.close()


class SqliteStore(Store):
    """Sessions in one file. Threads may share it; so may processes, each with its own."""

    def __init__(self, path: str | os.PathLike[str], timeout: float = TIMEOUT) -> None:
        self._file = SqliteFile(path, timeout)
        self.where = self._file.where
        self._do = Operations(SQLITE, self.where)

    def _read(self, make: Make[T]) -> T:
        with self._file.reader() as db:
            return perform(db, make())

    def _write(
        self, make: Make[T], large: bool = False, durable: bool = True, erases: bool = False
    ) -> T:
        with self._file.transaction(large, durable) as db:
            result = perform(db, make())
        if erases:
            self._file.forget()
        return result

    def vacuum(self) -> int:
        return self._file.vacuum()

    def close(self) -> None:
        self._file.close()


def _version(db: Connection) -> int:
    version: int = db.execute("PRAGMA user_version")[0][0]
    return version


def _os_error(where: str, error: OSError) -> StoreError:
    import errno

    reason = {errno.ENOSPC: "full", errno.EACCES: "read_only", errno.EROFS: "read_only"}
    found = reason.get(error.errno or 0, "io")
    return StoreError(where, f"cannot create the database file ({error.strerror})", found)  # type: ignore[arg-type]  # one of the words above
