"""The PostgreSQL store for an event loop: psycopg's own asynchronous connections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from interlingua.errors import MissingExtraError
from interlingua.store.base import AsyncStore, Operations
from interlingua.store.effects import UNREADABLE, Op
from interlingua.store.errors import StoreError, of_value, unreadable
from interlingua.store.postgres import (
    CONNECTIONS,
    TIMEOUT,
    HeldConnections,
    as_ours,
    is_lost,
    place,
    prepare,
    settings,
    table_steps,
)
from interlingua.store.statements import POSTGRES

try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise MissingExtraError("a PostgreSQL store", "postgres") from error

T = TypeVar("T")


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
            configure=partial(_configure, settings(timeout)),
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

    async def _read(self, make: Callable[[], Op[T]]) -> T:
        return await self._perform(make)

    async def _write(
        self,
        make: Callable[[], Op[T]],
        large: bool = False,
        durable: bool = True,
        erases: bool = False,
    ) -> T:
        return await self._perform(make)

    async def _perform(self, make: Callable[[], Op[T]]) -> T:
        """See `PostgresStore._perform`."""
        if self._closed:
            raise StoreError(self.where, "the store is closed", "closed")
        for last in (False, True):
            committing = False
            op = make()
            try:
                async with self._pool.connection() as connection:
                    with self._held:
                        result = await _on(connection, op)
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


async def _configure(settings: str, connection: psycopg.AsyncConnection[Any]) -> None:
    prepare(connection)
    await connection.execute(settings.encode())
    await connection.commit()


async def _on(connection: psycopg.AsyncConnection[Any], op: Op[T]) -> T:
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
