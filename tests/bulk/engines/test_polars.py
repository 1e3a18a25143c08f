"""Polars, the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bulk.engines.jobs import TO_ANTHROPIC, conversations, require_converted, require_same

pytestmark = pytest.mark.filterwarnings("default")


def test_polars_maps_it_at_once_and_lazily(parquet: Path) -> None:
    polars = pytest.importorskip("polars", reason="make engines installs polars")
    from interlingua.bulk.engines import polars as adapter

    require_converted(adapter.mapped(polars.read_parquet(parquet), TO_ANTHROPIC).to_dicts())
    lazy = adapter.mapped(polars.scan_parquet(parquet), TO_ANTHROPIC)
    require_converted(lazy.collect(engine="streaming").to_dicts())
    require_same(list(adapter.conversations(polars.from_arrow(conversations()))))
