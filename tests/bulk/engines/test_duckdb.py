"""DuckDB, the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from tests.bulk.engines.jobs import TO_ANTHROPIC, require_converted

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def duck() -> Iterator[Any]:
    duckdb = pytest.importorskip("duckdb", reason="make engines installs duckdb")
    with duckdb.connect() as connection:
        yield connection


def test_duckdb_has_it_as_a_function(duck: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import duckdb as adapter

    adapter.create_function(duck, "to_anthropic", TO_ANTHROPIC)
    query = f"select number, unnest(to_anthropic(body)) from '{parquet}'"
    require_converted(duck.sql(query).to_arrow_table().to_pylist())


def test_duckdb_reads_the_sessions_of_a_store(duck: Any, tmp_path: Path) -> None:
    from interlingua.bulk.engines import duckdb as adapter

    url = f"sqlite:///{tmp_path / 'store.db'}"
    with il.open_store(url) as store:
        row = store.create_session(str(tmp_path), name="Colours", active_model="acme:m-1")
        store.append(row.id, [il.Message.user("Look."), il.Message.user("Again.")])
    sessions = adapter.read_sessions(duck, url)
    query = "select name, model, len(messages), rest->>'$.workspace_path' from sessions"
    assert duck.sql(query).fetchall() == [("Colours", "acme:m-1", 2, str(tmp_path))]
    assert [each.row.id for each in adapter.conversations(sessions)] == [row.id]
    blocks = adapter.read_sessions(duck, url, "blocks")
    assert duck.sql("select text from blocks order by message").fetchall() == [
        ("Look.",),
        ("Again.",),
    ]
    assert len(blocks.columns) > 10
