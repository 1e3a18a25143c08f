"""Fixtures of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file in it, beside a file that nobody may see."""
    (tmp_path / "secret.txt").write_text("outside")
    root = tmp_path / "work"
    (root / "a").mkdir(parents=True)
    (root / "a" / "b.png").write_bytes(b"inside")
    return root
