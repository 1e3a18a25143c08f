"""Whatever stands on the wire: it reads and goes home, or it is an error that names its place."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from interlingua.dialects.gemini import DIALECT
from interlingua.errors import ReadError
from interlingua.model.base import same
from tests.dialects.gemini.wires import PNG, answer, body, call, model, result, text, user
from tests.effort import seeds

REQUESTS: list[Any] = [
    body(
        user(text("Hi"), {"inlineData": {"mimeType": "image/png", "data": PNG}}),
        model(text("Hm.", thought=True), {**call(id="c1"), "thoughtSignature": "AA=="}, call()),
        user(
            result({"output": "x"}, id="c1", parts=[{"fileData": {"fileUri": "gs://a/b.pdf"}}]),
            result({"a": [1]}),
        ),
        systemInstruction={"parts": [text("Be brief.")]},
        generationConfig={
            "temperature": 1,
            "stopSequences": ["a"],
            "responseLogprobs": True,
            "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT"},
            "responseModalities": ["TEXT"],
            "thinkingConfig": {
                "thinkingBudget": 5,
                "thinkingLevel": "LOW",
                "includeThoughts": True,
            },
        },
        tools=[{"functionDeclarations": [{"name": "f", "parameters": {}}], "googleSearch": {}}, {}],
        toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        labels={"a": "b"},
        serviceTier="flex",
        continuationToken="x",
        model="m",
    ),
]
RESPONSES: list[Any] = [
    {
        **answer(
            {"toolCall": {"id": "t", "toolType": "URL_CONTEXT", "args": {}}},
            {"toolResponse": {"id": "t", "toolType": "URL_CONTEXT", "response": {"a": 1}}},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            text("Föhn."),
            groundingMetadata={
                "groundingChunks": [{"web": {"uri": "u", "title": "t"}}],
                "groundingSupports": [
                    {"segment": {"startIndex": 1, "endIndex": 3, "text": "ö"}}
                    | {"groundingChunkIndices": [0, 0]}
                ],
            },
            citationMetadata={"citations": [{"endIndex": 3, "uri": "u"}]},
        ),
        "usageMetadata": {
            "promptTokenCount": 9,
            "cachedContentTokenCount": 3,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 4,
            "totalTokenCount": 15,
        },
        "promptFeedback": {"blockReason": "SAFETY"},
    },
    {"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT", "details": []}},
]
VALUES: list[Any] = [None, True, 0, -1, 2.5, "", "x", [], {}, [1], [{}], {"a": 1}, {"text": "q"}]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


def mutated(wire: Any, chance: random.Random) -> Any:
    wire = copy.deepcopy(wire)
    path = chance.choice(list(places(wire)) or [()])
    if not path:
        return wire
    inside = wire
    for step in path[:-1]:
        inside = inside[step]
    match chance.randrange(4):
        case 0:
            del inside[path[-1]]
        case 1 if isinstance(inside, dict):
            inside[chance.choice(("text", "thought", "id", "parts", "role", "x"))] = chance.choice(
                VALUES
            )
        case _:
            inside[path[-1]] = chance.choice(VALUES)
    return wire


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("kind", ["request", "response"])
def test_a_changed_wire_reads_and_goes_home_or_is_refused(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind}{seed}")
    read = DIALECT.read_request if kind == "request" else DIALECT.read_response
    refused: list[str] = []
    for _ in range(150):
        wire = chance.choice(REQUESTS if kind == "request" else RESPONSES)
        for _ in range(chance.choice((1, 1, 2))):
            wire = mutated(wire, chance)
        try:
            value: Any = read(wire)
        except ReadError as error:
            refused.append(error.path)
            continue
        write: Any = DIALECT.write_request if kind == "request" else DIALECT.write_response
        assert same(write(value).wire, wire), wire
        assert not write(value).report.entries
    assert 0 < len(refused) < 130
    assert all(path.startswith("$") for path in refused)


@pytest.mark.parametrize("wire", [*REQUESTS, *RESPONSES])
def test_the_unchanged_wires_go_home(wire: Any) -> None:
    if "contents" in wire:
        assert same(DIALECT.write_request(DIALECT.read_request(wire)).wire, wire)
    else:
        assert same(DIALECT.write_response(DIALECT.read_response(wire)).wire, wire)
