"""Which fields have columns, and what a row may hold beside requests and responses."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import interlingua as il
from interlingua.bulk import arrow
from tests.bulk.arrow.values import same


def test_sessions_of_a_store_come_back(tmp_path: Path) -> None:
    with il.open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        row = store.create_session(str(tmp_path), name="Colours", active_model="acme:m-1")
        store.append(row.id, [il.Message.user("Look."), il.Message.user("Again.")])
        stored = list(arrow.sessions_in(store))
    [back] = arrow.from_batches(arrow.to_batches(stored))
    assert isinstance(back, arrow.StoredSession)
    assert back.row == stored[0].row
    assert same(list(back.messages), *stored[0].messages)
    assert back.row.created_at.tzinfo is UTC
