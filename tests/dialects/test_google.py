"""Counts of both of Google's APIs: one that is missing is unknown, unless the total tells it."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.registry import dialect as dialect_of
from tests.dialects.gemini_interactions.wires import answer

KEYS = {
    "gemini": (
        *("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount"),
        *("thoughtsTokenCount", "totalTokenCount", "toolUsePromptTokenCount"),
    ),
    "gemini-interactions": (
        *("total_input_tokens", "total_cached_tokens", "total_output_tokens"),
        *("total_thought_tokens", "total_tokens", "total_tool_use_tokens"),
    ),
}

CASES: list[tuple[tuple[int | None, ...], tuple[int | None, ...]]] = [
    ((None, None, 1, 153, 450, None), (296, 154)),
    ((None, None, 1, 153, 450, 6), (290, 154)),
    ((None, 100, 5, None, 405, None), (300, 5)),
    ((10, None, None, None, 30, None), (10, 20)),
    ((10, None, None, 5, 30, None), (10, 20)),
    ((10, None, None, None, 10, None), (10, None)),
    ((None, None, 5, None, 5, None), (None, 5)),
    ((None, None, 5, None, None, None), (None, 5)),
    ((None, None, None, None, 30, None), (None, None)),
]


def wire_of(dialect: str, numbers: tuple[int | None, ...]) -> dict[str, Any]:
    named = zip(KEYS[dialect], numbers, strict=True)
    usage = {key: number for key, number in named if number is not None}
    if dialect == "gemini-interactions":
        return answer(usage=usage)
    part = {"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "STOP"}
    return {"candidates": [part], "usageMetadata": usage}


@pytest.mark.parametrize("dialect", KEYS)
@pytest.mark.parametrize(("numbers", "wanted"), CASES)
def test_a_missing_count_is_what_the_total_leaves(
    dialect: str, numbers: tuple[int | None, ...], wanted: tuple[int | None, ...]
) -> None:
    wire = wire_of(dialect, numbers)
    response = dialect_of(dialect).read_response(wire)
    usage = response.message.metadata.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == wanted
    for each in (response, il.loads(il.dumps(response), il.Response)):
        assert dialect_of(dialect).write_response(each).wire == wire


@pytest.mark.parametrize("dialect", KEYS)
def test_a_total_goes_abroad_or_is_reported(dialect: str) -> None:
    for numbers, _ in CASES:
        done = il.convert(wire_of(dialect, numbers), dialect, "openai-chat", "response")
        total = numbers[4]
        tools = numbers[5] or 0
        written = (done.wire.get("usage") or {}).get("total_tokens", 0) + tools
        is_reported = any("usage" in loss.path for loss in done.report.entries)
        assert total is None or total == written or is_reported, numbers


def test_a_changed_count_is_written() -> None:
    response = dialect_of("gemini").read_response(wire_of("gemini", CASES[0][0]))
    metadata = response.message.metadata
    assert metadata.usage is not None
    changed = metadata.replace(usage=metadata.usage.replace(input_tokens=300))
    message = response.message.replace(metadata=changed)
    wire = dialect_of("gemini").write_response(response.replace(message=message)).wire
    assert wire["usageMetadata"]["promptTokenCount"] == 300
    assert wire["usageMetadata"]["totalTokenCount"] == 454
