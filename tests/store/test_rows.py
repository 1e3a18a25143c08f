"""Columns that are derived from structs."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from interlingua.store.open import open_store
from interlingua.store.reference import KEYS, TEAMS, USERS
from interlingua.store.requests import LISTED, REQUESTS
from interlingua.store.rows import CALLS, EVENTS, SESSIONS, Part, Table
from interlingua.store.statements import fill
from interlingua.store.task_rows import TASKS
from interlingua.store.usages import PATTERNS
from tests.store.places import ask

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
TABLES: list[Table[Any]] = [
    SESSIONS,
    CALLS,
    EVENTS,
    KEYS,
    USERS,
    TEAMS,
    REQUESTS,
    LISTED,
    TASKS,
    PATTERNS,
]


class Point(msgspec.Struct, frozen=True):
    x: int
    y: int


class Row(msgspec.Struct, frozen=True):
    id: str
    at: datetime
    kind: Literal["a", "b"] = "a"
    price: Decimal | None = None
    is_open: bool = False
    maybe: bool | None = None
    labels: tuple[str, ...] = ()
    choice: tuple[str, ...] | None = None
    data: dict[str, Any] | None = None
    point: Point | None = None
    elsewhere: int = 0


def _joined(stored: Any) -> Point | None:
    return None if stored[0] is None else Point(*stored)


TABLE = Table(
    "things",
    Row,
    names={"kind": "sort"},
    parts={"point": Part(("x", "y"), lambda p: (p.x, p.y) if p else (None, None), _joined)},
    without=("elsewhere",),
)


def test_a_column_is_derived_from_every_field() -> None:
    assert TABLE.columns == (
        *("id", "at", "sort", "price", "is_open", "maybe", "labels_json", "choice_json"),
        *("data_json", "x", "y"),
    )
    assert TABLE.insert(made_by="'us'") == (
        "INSERT INTO things (id, at, sort, price, is_open, maybe, labels_json, choice_json,"
        " data_json, x, y, made_by)"
        " VALUES (?, ?, ?, ?, ?, ?, {json}, {json}, {json}, ?, ?, 'us')"
    )
    selected = fill(TABLE.selected("t."), is_sqlite=True)
    assert selected.endswith("CAST(t.data_json AS BLOB), t.x, t.y")
    assert fill(TABLE.selected("t."), is_sqlite=False).endswith("t.data_json, t.x, t.y")


@pytest.mark.parametrize(
    "row",
    [
        Row("1", NOON),
        Row("2", NOON, "b", Decimal("0.10"), True, False, ("a",), (), {"a": [1]}, Point(1, 2)),
    ],
    ids=["defaults", "all"],
)
def test_a_row_comes_back_as_it_was(row: Row) -> None:
    assert TABLE.read(TABLE.values(row), elsewhere=0) == row


def test_values_are_stored_plainly() -> None:
    row = Row("1", NOON, price=Decimal("0.10"), is_open=True, choice=(), data={"a": "b"})
    assert TABLE.values(row) == [
        *("1", 1795003200000000, "a", "0.10", 1, None, None, b"[]", b'{"a":"b"}', None, None)
    ]
    stored = TABLE.ordered(id="1", sort="b", y=2)
    assert stored == ["1", None, "b", *[None] * 7, 2]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_is_in_the_database(table: Table[Any], tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        found = {row[1] for row in ask(store, f"PRAGMA table_info({table.name})")}
    assert set(table.columns) <= found


def test_a_column_is_one_field_and_one_migration(tmp_path: Path) -> None:
    """A user with a field that there is not yet, in a database that has its column."""

    class NewUser(msgspec.Struct, frozen=True):
        id: str
        created_at: datetime
        status: str = "active"
        seen_at: datetime | None = None

    users = Table("users", NewUser)
    with open_store(str(tmp_path / "s.db")) as store:
        ask(store, "ALTER TABLE users ADD COLUMN seen_at INTEGER")
        row = NewUser("usr_1", NOON, seen_at=NOON)
        ask(store, fill(users.upsert(), is_sqlite=True), users.values(row))
        ask(store, fill(users.upsert(), is_sqlite=True), users.values(row))
        (found,) = ask(store, fill(f"SELECT {users.selected()} FROM users", is_sqlite=True))
        assert users.read(found) == row
        assert store.user("usr_1").created_at == NOON
