"""Damaged wires: an error of ours that names a place, or a value that goes home; never a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.dialects.bedrock.wires import (
    CALL,
    PDF,
    PNG,
    POINT,
    TOOLS,
    answer,
    assistant,
    body,
    read,
    read_answer,
    result,
    text,
    user,
)
from tests.effort import examples
from tests.laws.mutate import mutate, survives

IMAGE = {"image": {"format": "png", "source": {"bytes": PNG}}}
PAPER = {"document": {"name": "a", "format": "pdf", "source": {"bytes": PDF}, "context": "c"}}
FILM = {
    "video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/a", "bucketOwner": "1"}}}
}
FOUND = {"searchResult": {"source": "s", "title": "t", "content": [text("A")]}}
GUARDED = {"guardContent": {"text": {"text": "A", "qualifiers": ["query"]}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "EqQB"}}}
HIDDEN = {"reasoningContent": {"redactedContent": "RXVZQg=="}}
PLACE = {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}
CITATION = {"title": "t", "sourceContent": [text("A")], "location": PLACE}
CITED = {"citationsContent": {"content": [text("So.")], "citations": [CITATION]}}
FORMAT = {"type": "json_schema", "structure": {"jsonSchema": {"schema": '{"a":1}', "name": "n"}}}

REQUESTS = [
    body(user(text("Hi"), POINT, IMAGE, PAPER, FILM, FOUND, GUARDED), system=[text("Be."), POINT]),
    body(
        user(text("Hi")),
        assistant(THOUGHT, HIDDEN, CITED, CALL),
        user(result({"json": {"a": 1}}, IMAGE, status="success"), text("And?")),
        {"role": "system", "content": [text("Be brief.")]},
        toolConfig={"tools": [*TOOLS["tools"], POINT, {"systemTool": {"name": "s"}}]}
        | {"toolChoice": {"tool": {"name": "get_weather"}}},
    ),
    body(
        inferenceConfig={"maxTokens": 5, "temperature": 0.5, "stopSequences": ["END"]},
        outputConfig={"textFormat": FORMAT, "effort": "low"},
        additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 1024}},
        requestMetadata={"job": "a"},
        serviceTier={"type": "flex"},
        guardrailConfig={"guardrailIdentifier": "g"},
        modelId="m",
    ),
]
CACHED = {"cacheReadInputTokens": 4, "cacheReadInputTokenCount": 4, "cacheDetails": [{"ttl": "5m"}]}
RESPONSES = [
    answer(THOUGHT, text("So."), CITED, CALL, result(status="error")),
    answer(usage={"inputTokens": 5, "outputTokens": 3, "totalTokens": 12, **CACHED}),
    {"__type": "a#ValidationException", "message": "No."},
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
        assert survives("bedrock", kind, wire) is None, wire
