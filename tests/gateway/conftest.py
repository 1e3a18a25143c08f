"""Both engines, as the tests of the store have them."""

from __future__ import annotations

import os
import zlib

import pytest

from tests.store.conftest import (
    address,
    engine,
    new_address,
    postgres,
    quick_folder,
)

ALL = "INTERLINGUA_ALL_PAIRS"
"""Set it (`make pairs` does) to try every client with every provider in every way."""
PAIRS = ("test_sdks_matrix.py", "test_sdks_errors.py", "test_sdks_leaving.py")
PART = 4
"""Of these tests the usual run takes one in so many, always the same ones: all take minutes."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(ALL):
        return
    left = [item for item in items if item.path.name in PAIRS and not _is_usual(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]


def _is_usual(item: pytest.Item) -> bool:
    return "[" not in item.name or zlib.crc32(item.name.encode()) % PART == 0


__all__ = ["address", "engine", "new_address", "postgres", "quick_folder"]
