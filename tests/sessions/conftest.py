"""Both engines, as the tests of the store have them. Sessions do not see each other, so all tests
share one store of each kind."""

from __future__ import annotations

import pytest

from interlingua.store.base import Store
from tests.store.conftest import (
    address,
    engine,
    long_store,
    new_address,
    postgres,
    quick_folder,
)

__all__ = [
    "address",
    "engine",
    "long_store",
    "new_address",
    "postgres",
    "quick_folder",
    "store",
]


@pytest.fixture
def store(long_store: Store) -> Store:
    return long_store
