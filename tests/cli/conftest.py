"""A folder of its own for every test of the commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua import config
from interlingua.store.base import Store
from interlingua.store.open import open_store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that `INTERLINGUA_HOME` names."""
    folder = tmp_path / "home"
    monkeypatch.setenv(config.HOME, str(folder))
    monkeypatch.delenv(config.STORE, raising=False)
    return folder


@pytest.fixture
def store() -> Iterator[Store]:
    """The store that commands use when none is named."""
    with open_store() as opened:
        yield opened
