"""Looking into a store past its own calls, with the library it uses itself: a second one on the
same file in the same process would drop its locks."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from interlingua.store.base import Store
from interlingua.store.sqlite import SqliteStore

MEMORY = Path("/dev/shm")
TU_1, TU_2, TU_3, TU_4 = [f"tu_01HZ000000000000000000000{n}" for n in "1234"]
"""Ids of calls."""


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder for files that need not outlive a real power loss: in memory where there is one."""
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="interlingua-", dir=place) as folder:
        yield Path(folder)


def fork() -> int:
    """As `os.fork`. Newer Pythons warn where other threads are; those of a store that the child
    does not use are none of its business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def ask(store: Store, sql: str, values: Sequence[Any] = ()) -> list[Any]:
    """Run one statement, `?` for each value, and give its rows."""
    if isinstance(store, SqliteStore):
        with store._file.transaction() as db:
            return db.execute(sql, values)
    with store._pool.connection() as connection:  # type: ignore[attr-defined]  # the other engine
        cursor = connection.execute(sql.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []
