"""Damaged wires: an error of ours that names a place, or a value that goes home; never a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.dialects.cohere.wires import ANSWER, CALLING, WHOLE
from tests.effort import examples
from tests.laws.mutate import mutate, survives


@pytest.mark.parametrize(
    ("kind", "wire"), [("request", WHOLE), ("response", ANSWER), ("response", CALLING)]
)
def test_damage_is_named_or_goes_home(kind: str, wire: Any) -> None:
    rng = random.Random(7)
    for _ in range(examples(400)):
        assert survives("cohere", kind, mutate(wire, rng)) is None
