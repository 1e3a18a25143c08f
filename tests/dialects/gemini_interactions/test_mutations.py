"""Damaged wires: an error of ours that names a place, or a value that goes home; never a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.dialects.gemini_interactions.wires import (
    CALL,
    IMAGE,
    NAME,
    RESULT,
    SEARCH,
    TOOL,
    USAGE,
    answer,
    body,
    output,
    text,
    thought,
    user,
)
from tests.effort import examples
from tests.laws.mutate import mutate, survives

CITED = text("Grüße!", annotations=[{"type": "url_citation", "url": "u", "end_index": 3}])
REQUESTS = [
    body(
        user(text("Hi"), IMAGE),
        thought(text("a"), text("b"), signature="c2ln"),
        output(CITED, text("b"), status="done"),
        output(),
        CALL,
        {**RESULT, "result": [text("x"), IMAGE]},
        *SEARCH,
        user({**RESULT, "result": {"a": 1}}, text("and")),
        tools=[TOOL, {"type": "google_search"}, {"type": "mcp_server", "name": "s"}],
        system_instruction="Be brief.",
        previous_interaction_id="v1_a",
    ),
    body(
        generation_config={
            "max_output_tokens": 5,
            "thinking_level": "low",
            "thinking_summaries": "auto",
            "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["add"]}},
            "stop_sequences": ["a"],
        },
        response_format={"type": "text", "mime_type": "application/json", "schema": {"a": 1}},
        response_modalities=["text"],
        labels={"a": "b"},
        service_tier="flex",
        stream=True,
    ),
    {"model": "m", "input": "Hi"},
    {"agent": "a", "input": [text("Hi")]},
]
RESPONSES = [
    answer(thought(signature="s"), output(CITED), CALL, *SEARCH, usage=USAGE),
    answer(status="failed", errors=[{"code": "internal", "message": "a"}]),
    {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}},
]


@pytest.mark.parametrize(("kind", "wires"), [("request", REQUESTS), ("response", RESPONSES)])
def test_a_damaged_wire_is_refused_with_a_place_or_goes_home(kind: str, wires: list[Any]) -> None:
    rng = random.Random(7)
    for _ in range(examples(3000)):
        wire = mutate(rng.choice(wires), rng)
        assert survives(NAME, kind, wire) is None, wire
