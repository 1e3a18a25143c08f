"""Fixtures of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bulk.rows import lines


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(40))
    return path
