"""Copies a whole store into an empty one, of the same engine or the other: sessions, keys, teams,
budgets, spending, tasks and the request log. The source may be in use: all rows are those of one
moment. The search index is not copied; the next search makes it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from interlingua.store.base import Store
from interlingua.store.errors import StoreError
from interlingua.store.sqlite import SqliteStore
from interlingua.store.statements import Op, Step

TABLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("users", "teams", "keys", "budgets", "audit"), ("id",)),
    "prices": ("version",),
    "secrets": ("name",),
    "sessions": ("id",),
    "messages": ("session_id", "seq"),
    "tool_calls": ("session_id", "id"),
    "events": ("session_id", "seq"),
    "pattern_turns": ("session_id", "turn_id"),
    "tasks": ("id",),
    "task_messages": ("session_id", "id"),
    "task_events": ("session_id", "seq"),
    "task_confirmations": ("session_id", "id"),
    **dict.fromkeys(("spend", "rates", "ledger", "holders", "remembered", "repeats"), ("id",)),
    "objects": ("tenant", "kind", "parent", "id"),
    "requests": ("id",),
    "request_costs": ("kind", "day", "name"),
    "request_stats": ("tenant", "kind", "period", "name", "bucket"),
}
"""Tables and the columns that order their rows; referenced tables come first."""
WITHOUT = frozenset({"message_texts", "store_info"})
"""Tables that are made again, or by opening a store."""
_JSON = ("_json", "payload")
PAGE = 500
"""Rows in memory at a time."""
Rows = Sequence[Sequence[Any]]


def copy(source: Store, target: Store) -> dict[str, int]:
    """Copies all rows; how many there were, by table. `StoreError` if the target has any. A copy
    that fails leaves nothing behind."""
    has_rows = target._read(_filled)
    if has_rows:
        problem = f"it is not empty ({has_rows} has rows); restore into a new one"
        raise StoreError(target.where, problem, "conflict")
    try:
        return source._read(partial(_copied, _is_sqlite(source), partial(_save, target)))
    except BaseException:
        with suppress(StoreError):
            target._write(_emptied)
        raise


def _is_sqlite(store: Store) -> bool:
    return isinstance(store, SqliteStore)


def _filled() -> Op[str | None]:
    """A table that has rows."""
    for table in TABLES:
        if table not in ("secrets", "holders") and (yield Step(f"SELECT 1 FROM {table} LIMIT 1")):
            return table
    return None


def _emptied() -> Op[None]:
    for table in reversed(TABLES):
        yield Step(f"DELETE FROM {table}")


def _copied(is_sqlite: bool, save: Callable[[str, list[str], Rows], None]) -> Op[dict[str, int]]:
    """Reads every table, in one transaction that sees one state."""
    if not is_sqlite:
        yield Step("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    counts: dict[str, int] = {}
    for table, key in TABLES.items():
        columns = yield from _columns(table, is_sqlite)
        places = [columns.index(name) for name in key]
        counts[table] = 0
        after: list[Any] = []
        while rows := (yield from _page(table, key, columns, after, is_sqlite)):
            save(table, columns, rows)
            counts[table] += len(rows)
            after = [rows[-1][place] for place in places]
    return counts


def _columns(table: str, is_sqlite: bool) -> Op[list[str]]:
    if is_sqlite:
        rows = yield Step(f"PRAGMA table_info({table})")
        return [row[1] for row in rows]
    rows = yield Step(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
        " AND NOT attisdropped ORDER BY attnum",
        (table,),
    )
    return [name for (name,) in rows]


def _page(
    table: str, key: Sequence[str], columns: list[str], after: list[Any], is_sqlite: bool
) -> Op[Rows]:
    mark = "?" if is_sqlite else "%s"
    names = [f"CAST({name} AS TEXT)" if name.endswith(_JSON) else name for name in columns]
    where = f"WHERE ({', '.join(key)}) > ({', '.join([mark] * len(key))})" if after else ""
    order = f"ORDER BY {', '.join(key)} LIMIT {PAGE}"
    return (yield Step(f"SELECT {', '.join(names)} FROM {table} {where} {order}", after))


def _save(target: Store, table: str, columns: list[str], rows: Rows) -> None:
    if table == "sessions":
        index = columns.index("indexed_count")
        rows = [[*row[:index], 0, *row[index + 1 :]] for row in rows]
    target._write(partial(_loaded, table, columns, rows, _is_sqlite(target)), large=True)


def _loaded(table: str, columns: list[str], rows: Rows, is_sqlite: bool) -> Op[None]:
    mark = "?" if is_sqlite else "%s"
    marks = [
        f"{mark}::json" if not is_sqlite and name.endswith(_JSON) else mark for name in columns
    ]
    over = " ON CONFLICT DO NOTHING" if table == "holders" else ""
    if table == "secrets":
        over = " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(marks)}){over}"
    yield Step(sql, [list(row) for row in rows], many=True)
