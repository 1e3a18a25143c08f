"""Damaged wires: an error of ours that names a place, or a value that goes home; never a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.dialects.cohere import v1_wires
from tests.dialects.cohere.wires import ANSWER, CALLING, WHOLE
from tests.effort import examples
from tests.laws.mutate import mutate, survives

_OF_V1 = [
    *[("request", v1_wires.REQUESTS[name]) for name in ("everything", "outputs of all kinds")],
    ("request", v1_wires.REQUESTS["results beside the message"]),
    *[("response", v1_wires.ANSWERS[name]) for name in ("cited", "calls", "older counts")],
]


@pytest.mark.parametrize(
    ("kind", "wire"),
    [("request", WHOLE), ("response", ANSWER), ("response", CALLING), *_OF_V1],
)
def test_damage_is_named_or_goes_home(kind: str, wire: Any) -> None:
    rng = random.Random(7)
    for _ in range(examples(400)):
        assert survives("cohere", kind, mutate(wire, rng)) is None
