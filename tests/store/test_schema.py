"""The tables of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.model.message import Message
from interlingua.store.errors import StoreError
from interlingua.store.sqlite import SqliteStore
from tests.store.places import TU_1, ask
from tests.store.sqlite_files import columns

requirement = pytest.mark.requirement


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(path, timeout=0.3) as opened:
        yield opened


def index_columns(store: SqliteStore, index: str) -> tuple[str, list[str]]:
    ((table,),) = ask(store, "SELECT tbl_name FROM sqlite_master WHERE name = ?", [index])
    rows = ask(store, "SELECT name FROM pragma_index_info(?) ORDER BY seqno", [index])
    return table, [name for (name,) in rows]


def references(store: SqliteStore, table: str) -> set[tuple[str, str, str]]:
    rows = ask(store, 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', [table])
    return {(column, other, key) for column, other, key in rows}


@requirement("S002-93")
def test_the_table_of_sessions(store: SqliteStore) -> None:
    found = columns(store, "sessions")
    assert found["id"] == ("TEXT", False, True)
    assert found["workspace_path"] == ("TEXT", True, False)
    for name in ("active_model", "routing_policy_json"):
        assert found[name] == ("TEXT", False, False)
    for name in ("schema_version", "created_at", "updated_at"):
        assert found[name] == ("INTEGER", True, False)


@requirement("S002-94")
def test_the_table_of_messages(store: SqliteStore) -> None:
    found = columns(store, "messages")
    assert found["id"] == ("TEXT", False, True)
    for name in ("session_id", "role", "content_json", "metadata_json"):
        assert found[name] == ("TEXT", True, False)
    for name in ("created_at", "schema_version"):
        assert found[name] == ("INTEGER", True, False)
    assert ("session_id", "sessions", "id") in references(store, "messages")


@requirement("S002-95", "S002-97")
def test_the_indexes(store: SqliteStore) -> None:
    messages = index_columns(store, "idx_messages_session_created")
    assert messages == ("messages", ["session_id", "created_at"])
    calls = index_columns(store, "idx_tool_calls_session_status")
    assert calls == ("tool_calls", ["session_id", "status"])


@requirement("S002-96")
def test_the_table_of_calls(store: SqliteStore) -> None:
    found = columns(store, "tool_calls")
    assert found["id"][2]
    for name in ("session_id", "message_id", "name", "status"):
        assert found[name] == ("TEXT", True, False)
    for name in ("result_message_id", "provider_id", "provider"):
        assert found[name] == ("TEXT", False, False)
    assert found["created_at"] == ("INTEGER", True, False)
    assert found["completed_at"] == ("INTEGER", False, False)
    expected = {
        ("session_id", "sessions", "id"),
        ("message_id", "messages", "id"),
        ("result_message_id", "messages", "id"),
    }
    assert references(store, "tool_calls") == expected
    session = store.create_session("/w").id
    (message,) = store.append(session, [Message.user("x")]).messages
    row = [TU_1, session, message.id, "f", "unheard_of", 1]
    names = "id, session_id, message_id, name, status, created_at"
    with pytest.raises(StoreError, match="CHECK"):
        ask(store, f"INSERT INTO tool_calls ({names}) VALUES (?, ?, ?, ?, ?, ?)", row)


def test_the_page_about_the_store_names_every_table_view_and_column(store: SqliteStore) -> None:
    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text(encoding="utf-8")
    found = ask(store, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    named = {name for (name,) in found if "message_search_" not in name}
    for table in ("sessions", "messages", "tool_calls", "events"):
        named |= set(columns(store, table))
    assert not [name for name in sorted(named) if f"`{name}`" not in page]
