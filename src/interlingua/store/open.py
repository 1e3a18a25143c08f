"""The way in: a store by its address, or the one in the user's data folder."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlingua import config
from interlingua.store.errors import StoreError

if TYPE_CHECKING:
    from interlingua.store.base import AsyncStore, Store

FILE = config.STORE_FILE
_POSTGRES = ("postgresql", "postgres")


def default_path() -> Path:
    """The file that is used when none is named."""
    return config.store_path()


def open_store(address: str | os.PathLike[str] | None = None) -> Store:
    """Opens a store: a path or `sqlite:///path` is a file (`sqlite:////path` begins at the root),
    `postgresql://…` a database, and `:memory:` a store that lasts as long as the program. Without
    an address, opens the one in `INTERLINGUA_STORE`, or a file in the user's data folder. Missing
    stores are created."""
    place = _place(address)
    if isinstance(place, str):
        from interlingua.store.postgres import PostgresStore

        return PostgresStore(place)
    from interlingua.store.sqlite import SqliteStore

    return SqliteStore(place)


def open_async_store(address: str | os.PathLike[str] | None = None) -> OpeningStore:
    """The same for programs with an event loop: `async with il.open_async_store() as store`, or
    `store = await il.open_async_store()`, which has to be closed."""
    return OpeningStore(_place(address))


class OpeningStore:
    """A store that opens when it is awaited, or entered with `async with`."""

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self._store: AsyncStore | None = None

    def __await__(self) -> Generator[Any, None, AsyncStore]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncStore:
        self._store = await self._open()
        return self._store

    async def __aexit__(self, *_: object) -> None:
        if self._store is not None:
            await self._store.close()

    async def _open(self) -> AsyncStore:
        if isinstance(self._place, str):
            from interlingua.store.postgres import AsyncPostgresStore

            return await AsyncPostgresStore.open(self._place)
        from interlingua.store.aio import AsyncSqliteStore

        return await AsyncSqliteStore.open(self._place)


_PASSING = (":memory:", "sqlite:///:memory:")


def _passing_path() -> Path:
    """A new file in memory if the system has files there, else in a private folder; removed when
    the program ends."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="interlingua-", dir=place)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder, "passing.db")


def _place(address: str | os.PathLike[str] | None) -> Path | str:
    """A path for SQLite, or the address of a PostgreSQL."""
    if address is None:
        address = config.store_address()
    if address is None:
        return default_path()
    text = os.fspath(address)
    if text in _PASSING:
        return _passing_path()
    scheme, mark, _ = text.partition("://")
    if not mark or not isinstance(address, str):
        return Path(text)
    if scheme in _POSTGRES:
        return text
    if scheme == "sqlite":
        _, mark, path = text.partition("sqlite:///")
        if mark and path:
            return Path(path)
        raise StoreError(text, "a file is written as sqlite:///path, with three slashes", "io")
    known = "a path, sqlite:///path or postgresql://…"
    raise StoreError(f"{scheme}://…", f"expected {known}")
