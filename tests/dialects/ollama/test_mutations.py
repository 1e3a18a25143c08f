"""Damaged wires: an error of ours that names a place, or a value that goes home; never a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.dialects.ollama.wires import (
    CALL,
    PNG,
    SCHEMA,
    TOOL,
    answer,
    assistant,
    body,
    read,
    read_answer,
    result,
    user,
)
from tests.effort import examples
from tests.laws.mutate import mutate, survives

BARE = {"type": "function", "function": {"name": "f", "arguments": {"a": [1]}, "index": 1}}
REQUESTS = [
    body(
        {"role": "system", "content": "Be brief."},
        user("Hi", images=[PNG]),
        assistant("So.", thinking="Hm.", tool_calls=[CALL, BARE]),
        result(tool_name="get_weather", tool_call_id="call_abcdefgh"),
        result("[tool error] no", tool_name="f", images=[PNG]),
        tools=[TOOL, {"type": "future"}],
    ),
    body(
        options={"num_predict": 5, "temperature": 0.5, "stop": ["END"], "num_ctx": 8},
        format=SCHEMA,
        think="low",
        logprobs=True,
        top_logprobs=3,
        keep_alive="5m",
    ),
]
RESPONSES = [
    answer("So.", message={"thinking": "Hm.", "tool_calls": [CALL, BARE], "images": [PNG]}),
    answer(done=False, logprobs=[]),
    {"error": "model not found", "status": 404},
]


def test_the_undamaged_wires_go_home() -> None:
    for wire in REQUESTS:
        read(wire)
    for wire in RESPONSES:
        read_answer(wire)


@pytest.mark.parametrize(("kind", "wires"), [("request", REQUESTS), ("response", RESPONSES)])
def test_a_damaged_wire_is_refused_with_a_place_or_goes_home(kind: str, wires: list[Any]) -> None:
    rng = random.Random(7)
    for _ in range(examples(3000)):
        wire = mutate(rng.choice(wires), rng)
        assert survives("ollama", kind, wire) is None, wire
