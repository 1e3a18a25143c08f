"""Which pairs of client and provider the gate tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import is_tried

HERE = Path(__file__).parent
PAIRS = [HERE / name for name in ("test_matrix.py", "test_errors.py", "test_leaving.py")]
PART = 6
"""Of these tests the gate takes one in so many; `make pairs` tries every client with every provider
in every way, which takes minutes."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = [item for item in items if item.path in PAIRS and not _is_usual(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]


def _is_usual(item: pytest.Item) -> bool:
    return "[" not in item.name or is_tried(item.name, PART)
