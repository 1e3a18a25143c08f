"""Fixtures of these tests."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.bulk.engines.jobs import bodies


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "bodies.parquet"
    pq.write_table(bodies(), path, row_group_size=10)
    return path
