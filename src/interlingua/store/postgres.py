"""The store in a PostgreSQL database, through psycopg 3 and its pool of connections.

Each call is a transaction that names one session (search and lists of sessions apart), and holds
that session's row while it appends. PostgreSQL commits many connections together by itself.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from interlingua.errors import MissingExtraError
from interlingua.store import migrations, schema
from interlingua.store.base import AsyncStore, Operations, Store
from interlingua.store.errors import (
    BusyError,
    ConflictError,
    Reason,
    StoreError,
    of_value,
    unreadable,
)
from interlingua.store.statements import POSTGRES, UNREADABLE, Make, Op, Rows, Step, run

if TYPE_CHECKING:
    from psycopg.abc import AdaptContext


try:
    import psycopg
    import psycopg_pool
    from psycopg import errors as _pg
    from psycopg.adapt import Buffer, Dumper, Loader
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.types.string import StrDumper
except ImportError as error:
    raise MissingExtraError("a PostgreSQL store", "postgres") from error


T = TypeVar("T")

TIMEOUT = 5.0
"""Seconds to wait for a connection, and for others that write to the same session."""
CONNECTIONS = 8
_LOCK = 0x696C7374
"""The lock under which tables are made: one program does, others wait."""


def settings(timeout: float) -> str:
    """The statement that configures every new connection."""
    return (
        f"SET lock_timeout = {max(1, int(timeout * 1000))};"
        " SET idle_in_transaction_session_timeout = '60s';"
        " SET default_transaction_isolation = 'read committed'; SET client_encoding = 'UTF8'"
    )


_BUSY = (
    _pg.LockNotAvailable,
    _pg.DeadlockDetected,
    _pg.SerializationFailure,
    _pg.QueryCanceled,
    _pg.TooManyConnections,
)
_REASONS: tuple[tuple[type[psycopg.Error], Reason, str], ...] = (
    (_pg.DiskFull, "full", "the server's disk is full"),
    (_pg.ReadOnlySqlTransaction, "read_only", "the database can only be read"),
    (_pg.InsufficientPrivilege, "read_only", "no permission"),
    (_pg.DataCorrupted, "corrupt", "the database is damaged"),
    (_pg.IndexCorrupted, "corrupt", "the database is damaged"),
)


# Text without NUL. PostgreSQL's text cannot hold it, so names and ids spell it with a sign of their
# own; JSON spells it as an escape anyway.

_SIGN = "\u2400"


def _spelled(text: str) -> str:
    return text.replace(_SIGN, _SIGN + "1").replace("\0", _SIGN + "0")


def _meant(text: str) -> str:
    return text.replace(_SIGN + "0", "\0").replace(_SIGN + "1", _SIGN)


class _TextDumper(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        if "\0" in obj or _SIGN in obj:
            obj = _spelled(obj)
        return super().dump(obj)


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return _meant(text) if _SIGN in text else text


class _JsonDumper(Dumper):
    """Bytes as JSON, the only bytes that are stored."""

    oid = psycopg.adapters.types["json"].oid

    def dump(self, obj: bytes) -> Buffer | None:
        return obj


class _JsonLoader(Loader):
    """Returns the stored bytes, for our own decoder."""

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def prepare(connection: AdaptContext) -> None:
    """Set the conversions of parameters and results."""
    adapters = connection.adapters
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(bytes, _JsonDumper)
    adapters.register_loader("text", _TextLoader)
    adapters.register_loader("json", _JsonLoader)


def place(address: str) -> str:
    """Host and database, without user and password."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        raise StoreError("postgresql://…", "the address is invalid", "unreachable") from None
    host = parts.get("host") or "local"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{host}{port}/{parts.get('dbname') or ''}"


def as_ours(where: str, error: Exception) -> StoreError:
    """psycopg's error as ours; its detail may quote values, so only its kind is reported."""
    kind = type(error).__name__
    if isinstance(error, psycopg_pool.TooManyRequests):
        return BusyError(where, "too many calls are waiting for a connection")
    if isinstance(error, _BUSY):
        return BusyError(where, f"the server is busy ({kind}); nothing was written")
    if isinstance(error, psycopg.IntegrityError):
        table = f" in {error.diag.table_name}" if error.diag.table_name else ""
        return ConflictError(where, f"an id already exists, or refers to nothing{table} ({kind})")
    for found, reason, problem in _REASONS:
        if isinstance(error, found):
            return StoreError(where, problem, reason)
    if is_lost(error):
        return StoreError(where, f"the server cannot be reached ({kind})", "unreachable")
    code = getattr(error, "sqlstate", None)
    return StoreError(where, f"PostgreSQL refused ({kind}, {code})", "other")


class HeldConnections:
    """Counts the connections that our calls hold: if waiting for one fails, this shows whether the
    server is gone or there are too many calls."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1

    def require_room(self, where: str, error: Exception) -> None:
        if isinstance(error, psycopg_pool.PoolTimeout) and self._count >= self._room:
            raise BusyError(where, "too many calls are waiting for a connection") from None


def is_lost(error: Exception) -> bool:
    """Whether the connection failed, and not the statement."""
    if isinstance(error, (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed)):
        return True
    shutdown = (_pg.AdminShutdown, _pg.CrashShutdown, _pg.CannotConnectNow)
    if isinstance(error, shutdown):
        return True
    return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and not getattr(
        error, "sqlstate", None
    )


def table_steps(where: str) -> Op[None]:
    """Make the tables in an empty database, or see that they are ours."""
    yield Step(f"SELECT pg_advisory_xact_lock({_LOCK})")
    rows = yield Step("SELECT to_regclass('store_info')::text, to_regclass('sessions')::text")
    info, sessions = rows[0]
    if info is None:
        if sessions is not None:
            problem = "the database has a table `sessions` that belongs to another program"
            raise StoreError(where, problem, "foreign")
        for statement in schema.POSTGRES:
            yield Step(statement)
    version = (yield Step("SELECT version FROM store_info"))[0][0]
    if version > migrations.VERSION:
        problem = f"created by a newer version of interlingua (schema version {version})"
        raise StoreError(where, problem, "newer")
    while version < migrations.VERSION:
        for statement in migrations.MIGRATIONS["postgres", version]:
            yield Step(statement)
        version += 1
        yield Step(POSTGRES.set_version, (version,))


class PostgresStore(Store):
    """Sessions in a database. Threads may share it; so may any number of programs."""

    def __init__(
        self, address: str, timeout: float = TIMEOUT, connections: int = CONNECTIONS
    ) -> None:
        self.where = place(address)
        self._do = Operations(POSTGRES, self.where)
        self._closed = False
        self._held = HeldConnections(connections)
        self._pool = psycopg_pool.ConnectionPool(
            address,
            min_size=1,
            max_size=connections,
            timeout=timeout,
            max_waiting=1000,
            configure=partial(_configure, settings(timeout)),
            reconnect_timeout=timeout,
            open=False,
        )
        try:
            self._pool.open(wait=True, timeout=timeout)
            self._write(lambda: table_steps(self.where))
        except BaseException as error:
            self._pool.close()
            if isinstance(error, psycopg_pool.PoolTimeout):
                raise as_ours(self.where, error) from None
            raise

    def _read(self, make: Make[T]) -> T:
        return self._perform(make)

    def _write(
        self, make: Make[T], large: bool = False, durable: bool = True, erases: bool = False
    ) -> T:
        return self._perform(make)

    def _perform(self, make: Make[T]) -> T:
        """Runs a call in a transaction. If the server was lost before the commit, nothing was
        written, so the call is repeated once on a new connection."""
        if self._closed:
            raise StoreError(self.where, "the store is closed", "closed")
        for last in (False, True):
            committing = False
            op = make()
            try:
                with self._pool.connection() as connection, self._held:
                    result = _on(connection, op)
                    committing = True
                return result
            except (psycopg.Error, psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
                self._held.require_room(self.where, error)
                if last or committing or not is_lost(error):
                    raise as_ours(self.where, error) from None
                self._pool.check()
            except UnicodeEncodeError as error:
                raise of_value(self.where, error) from None
            except UNREADABLE as error:
                raise unreadable(self.where, error) from error
        raise AssertionError("the second try returns or raises")

    def close(self) -> None:
        self._closed = True
        self._pool.close()


def _configure(settings: str, connection: psycopg.Connection[Any]) -> None:
    prepare(connection)
    connection.execute(settings.encode())
    connection.commit()


def _on(connection: psycopg.Connection[Any], op: Op[T]) -> T:
    cursor = connection.cursor()

    def execute(step: Step) -> Rows:
        if step.many:
            cursor.executemany(step.sql, step.values)
            return []
        cursor.execute(step.sql, step.values or None)
        return cursor.fetchall() if cursor.description else []

    return run(op, execute)


class AsyncPostgresStore(AsyncStore):
    """Sessions in a database, for an event loop."""

    def __init__(self, address: str, timeout: float, connections: int) -> None:
        self.where = place(address)
        self._do = Operations(POSTGRES, self.where)
        self._closed = False
        self._held = HeldConnections(connections)
        self._pool = psycopg_pool.AsyncConnectionPool(
            address,
            min_size=1,
            max_size=connections,
            timeout=timeout,
            max_waiting=10_000,
            configure=partial(_configure_async, settings(timeout)),
            reconnect_timeout=timeout,
            open=False,
        )

    @classmethod
    async def open(
        cls, address: str, timeout: float = TIMEOUT, connections: int = CONNECTIONS
    ) -> AsyncPostgresStore:
        store = cls(address, timeout, connections)
        try:
            await store._pool.open(wait=True, timeout=timeout)
            await store._write(lambda: table_steps(store.where))
        except BaseException as error:
            await store._pool.close()
            if isinstance(error, psycopg_pool.PoolTimeout):
                raise as_ours(store.where, error) from None
            raise
        return store

    async def _read(self, make: Make[T]) -> T:
        return await self._perform(make)

    async def _write(
        self, make: Make[T], large: bool = False, durable: bool = True, erases: bool = False
    ) -> T:
        return await self._perform(make)

    async def _perform(self, make: Make[T]) -> T:
        """See `PostgresStore._perform`."""
        if self._closed:
            raise StoreError(self.where, "the store is closed", "closed")
        for last in (False, True):
            committing = False
            op = make()
            try:
                async with self._pool.connection() as connection:
                    with self._held:
                        result = await _on_async(connection, op)
                    committing = True
                return result
            except (psycopg.Error, psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
                self._held.require_room(self.where, error)
                if last or committing or not is_lost(error):
                    raise as_ours(self.where, error) from None
                await self._pool.check()
            except UnicodeEncodeError as error:
                raise of_value(self.where, error) from None
            except UNREADABLE as error:
                raise unreadable(self.where, error) from error
        raise AssertionError("the second try returns or raises")

    async def close(self) -> None:
        self._closed = True
        await self._pool.close()


async def _configure_async(settings: str, connection: psycopg.AsyncConnection[Any]) -> None:
    prepare(connection)
    await connection.execute(settings.encode())
    await connection.commit()


async def _on_async(connection: psycopg.AsyncConnection[Any], op: Op[T]) -> T:
    cursor = connection.cursor()
    try:
        step = next(op)
        while True:
            rows: list[Any] = []
            if step.many:
                await cursor.executemany(step.sql, step.values)
            else:
                await cursor.execute(step.sql, step.values or None)
                rows = await cursor.fetchall() if cursor.description else []
            step = op.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        op.close()
