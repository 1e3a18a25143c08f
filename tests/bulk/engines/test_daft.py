"""Daft, the real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlingua.bulk import arrow
from tests.bulk.engines.jobs import TO_ANTHROPIC, conversations, require_converted, require_same

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def daft() -> Any:
    return pytest.importorskip("daft", reason="make engines installs daft")


def test_daft_maps_it(daft: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import daft as adapter

    made = adapter.mapped(daft.read_parquet(str(parquet)), TO_ANTHROPIC)
    require_converted(made.to_pylist())


def test_daft_gives_conversations_back(daft: Any) -> None:
    require_same(list(arrow.from_batches(daft.from_arrow(conversations()).to_arrow())))
