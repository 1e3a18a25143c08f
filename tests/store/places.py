"""Looking into a store past its own calls, with the library it uses itself: a second one on the
same file in the same process would drop its locks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.store.base import Store
from interlingua.store.sqlite import SqliteStore


def ask(store: Store, sql: str, values: Sequence[Any] = ()) -> list[Any]:
    """Run one statement, `?` for each value, and give its rows."""
    if isinstance(store, SqliteStore):
        with store._file.transaction() as db:
            return db.execute(sql, values)
    with store._pool.connection() as connection:  # type: ignore[attr-defined]  # the other engine
        cursor = connection.execute(sql.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []
