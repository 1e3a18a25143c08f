"""Which pairs of client and provider the gate tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import is_tried
from tests.gateway.sdks.hosts import HOSTED

HERE = Path(__file__).parent
PAIRS = [HERE / name for name in ("test_matrix.py", "test_errors.py", "test_leaving.py")]
PART, HOSTED_PART = 6, 24
"""Of these tests the gate takes one in so many; of those with clients of hosts, which share most of
their way with others, fewer. `make pairs` tries every client with every provider in every way,
which takes minutes."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = [item for item in items if item.path in PAIRS and not _is_usual(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]


def _is_usual(item: pytest.Item) -> bool:
    case = item.name.partition("[")[2]
    part = HOSTED_PART if case.startswith(tuple(f"{name}-" for name in HOSTED)) else PART
    return not case or is_tried(item.name, part)
