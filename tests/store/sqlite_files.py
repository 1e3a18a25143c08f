"""Files of SQLite, for tests."""

from __future__ import annotations

from interlingua.store.sqlite import SqliteStore
from tests.store.places import ask


def columns(store: SqliteStore, table: str) -> dict[str, tuple[str, bool, bool]]:
    """Name to type, whether it is required, whether it is the key."""
    rows = ask(store, 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)', [table])
    return {name: (type, bool(required), bool(key)) for name, type, required, key in rows}
