"""A provider that lies in every way that the generator knows; `make hostile` asks more often."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.gateway import hostile


@pytest.mark.parametrize("seed", [1, 2])
def test_no_answer_of_a_provider_breaks_a_promise(tmp_path: Path, seed: int) -> None:
    assert asyncio.run(hostile.run(tmp_path, 300, seed)) == []
