"""Token counts that an answer does not have: unknown is not 0. Where a wire demands a number, 0 is
written and reported; elsewhere the count is left out."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.registry import dialect as dialect_of
from tests.dialects.streaming import frames_of
from tests.laws import laws

COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")

MAIN = COUNTS[:2]

USAGES = [
    il.Usage(**dict(zip(COUNTS, numbers, strict=True)))
    for numbers in product((5, None), (7, None), (None, 3), (None, 2))
]

USAGE = "$.message.metadata.usage"


def response(usage: il.Usage) -> il.Response:
    message = il.Message.assistant("hi")
    metadata = message.metadata.replace(usage=usage, stop_reason="end_turn")
    return il.Response(message.replace(metadata=metadata))


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize("usage", USAGES, ids=str)
def test_an_unknown_count_is_left_out_or_reported(target: str, usage: il.Usage) -> None:
    dialect = dialect_of(target)
    answer = response(usage)
    written = dialect.write_response(answer)
    reported = {loss.path for loss in written.report.entries}
    again = dialect.read_response(written.wire).message.metadata.usage or il.Usage()
    for name in COUNTS:
        before, after = getattr(usage, name), getattr(again, name)
        details_filled = target == "openai-responses" and name not in MAIN and before is None
        if before != after and not details_filled:
            assert f"{USAGE}.{name}" in reported, (name, before, after)
        elif before is None and after is None:
            assert f"{USAGE}.{name}" not in reported
    _, report = frames_of(dialect, il.unfold(answer))
    assert sorted(loss.path for loss in report.entries) == sorted(reported)


BODIES: dict[str, dict[str, Any]] = {
    "openai-chat": {"total_tokens": 9},
    "openai-responses": {"total_tokens": 9},
    "bedrock": {"totalTokens": 9},
    "gemini": {"cachedContentTokenCount": 4, "totalTokenCount": 9},
}


@pytest.mark.parametrize("source", BODIES)
def test_a_total_without_counts_goes_home_and_is_reported_abroad(source: str) -> None:
    dialect = dialect_of(source)
    wire = dialect.write_response(response(il.Usage(1, 1))).wire
    key = "usageMetadata" if source == "gemini" else "usage"
    body = {**wire, key: BODIES[source]}
    read = dialect.read_response(body)
    home = dialect.write_response(read)
    assert laws.difference(body, home.wire) is None
    assert list(home.report.entries) == []
    report = il.convert(body, source, "cohere", kind="response").report
    assert [loss for loss in report.entries if f".usage.raw.{source}.total" in loss.path]
    usage = read.message.metadata.usage
    assert usage is not None
    edited = usage.replace(input_tokens=2, cached_input_tokens=None, output_tokens=3)
    metadata = read.message.metadata.replace(usage=edited)
    wire = dialect.write_response(
        read.replace(message=read.message.replace(metadata=metadata))
    ).wire
    assert [number for name, number in wire[key].items() if name.startswith("total")] == [5]
