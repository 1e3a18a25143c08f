"""Both engines, as the tests of the store have them."""

from __future__ import annotations

from tests.store.conftest import address, engine, new_address, postgres, quick_folder

__all__ = ["address", "engine", "new_address", "postgres", "quick_folder"]
