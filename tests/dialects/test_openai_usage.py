"""Counts of Chat Completions and of the Responses API: what is read and written at once is what the
long way gives, and what is read goes home."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.dialects import openai_usage as usage
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.openai_chat import tables as chat
from interlingua.dialects.openai_responses import tables as responses
from interlingua.dialects.openai_usage import Counts
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage

NAME = "openai-chat"
COUNTS = st.sampled_from([0, 1, 3, 5, -1, None, True, 5.0, "x"])
FEW = st.integers(0, 4) | COUNTS
API = st.sampled_from([chat.COUNTS, responses.COUNTS])


@st.composite
def asked(draw: Any) -> tuple[Counts, Any]:
    """Counts with the words of one API: mostly those that add up, some without sense."""
    words = draw(API)
    prompt, output = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    wire = dict(zip(words.sums, (prompt, output, prompt + output), strict=True))
    if draw(st.booleans()):
        wire = {key: draw(COUNTS | st.just(10)) for key in (*wire, "cost") if draw(st.booleans())}
    for key, names in words.details.items():
        inner = st.dictionaries(st.sampled_from([*names, "x"]), FEW, max_size=3)
        if draw(st.booleans()):
            wire[key] = draw(inner | inner | st.none())
    if draw(st.booleans()) and draw(st.booleans()):
        wire["cached_tokens"] = draw(COUNTS)
    return words, wire


def written(value: Usage, words: Counts) -> tuple[Any, Report]:
    report = Report(NAME)
    return usage.write_usage(value, NAME, words, LossRecorder(NAME, None, report)), report


@given(asked())
def test_usage_that_is_read_at_once(given: Any) -> None:
    words, wire = given
    plain = usage._read_plainly(wire, NAME, words)
    if plain is not None:
        long, odd = usage._read_slowly(wire, NAME, words)
        assert msgspec.json.encode(plain) == msgspec.json.encode(long)
        assert odd is None


@given(asked(), st.sampled_from([None, "latency_ms", "output_tokens"]), st.booleans())
def test_usage_that_is_written_at_once(given: Any, edited: str | None, foreign: bool) -> None:
    words, wire = given
    value = usage.read_usage(wire, NAME, words)[0]
    if edited is not None:
        value = value.replace(**{edited: 5})
    if foreign:
        value = value.replace(raw={**(value.raw or {}), "anthropic": {"y": 1}})
    own = (value.raw or {}).get(NAME, {})
    if "wire" in own.get("$form", {}):
        return  # goes home whole
    content, losses = written(value, words)
    report = Report(NAME)
    LossRecorder(NAME, None, report).unwritten(value, usage._COUNT_FIELDS)
    long = usage._write_slowly(value, own, own.get("$form", {}), words)
    assert msgspec.json.encode(content) == msgspec.json.encode(long)
    assert losses.entries == report.entries


@given(asked())
def test_usage_goes_home_as_it_came(given: Any) -> None:
    words, wire = given
    content, losses = written(usage.read_usage(wire, NAME, words)[0], words)
    assert content == wire or (content is None and not wire)
    assert not losses.losses


def test_a_total_that_was_stored_beside_its_sum_goes_home() -> None:
    value = Usage(1, 2, raw={NAME: {"$form": {"total": [3, 7]}}})
    assert written(value, responses.COUNTS)[0]["total_tokens"] == 7


@pytest.mark.parametrize("words", [chat.COUNTS, responses.COUNTS])
def test_more_reasoning_than_output_is_reported(words: Counts) -> None:
    _, losses = written(Usage(1, 2, reasoning_tokens=3), words)
    assert [loss.path for loss in losses] == ["$.reasoning_tokens"]


@pytest.mark.parametrize(
    ("prompt", "output", "total", "wanted"),
    [
        (None, 4, 10, (6, 4)),
        (4, None, 10, (4, 6)),
        (4, None, 4, (4, None)),
        (None, 4, None, (None, 4)),
        (None, None, 10, (None, None)),
    ],
)
def test_a_missing_count_is_what_the_total_leaves(
    prompt: int | None, output: int | None, total: int | None, wanted: tuple[int | None, ...]
) -> None:
    words = chat.COUNTS
    named = zip(words.sums, (prompt, output, total), strict=True)
    wire = {key: number for key, number in named if number is not None}
    read, _ = usage.read_usage(wire, "openai-chat", words)
    assert (read.input_tokens, read.output_tokens) == wanted
    recorder = LossRecorder("openai-chat", read, Report("openai-chat"))
    assert usage.write_usage(read, "openai-chat", words, recorder) == wire


@pytest.mark.parametrize("odd", [[15], {"x": 1}, 1.5, "15"])
def test_a_count_of_another_type_is_not_missing(odd: Any) -> None:
    wire = {"prompt_tokens": odd, "completion_tokens": 4, "total_tokens": 10}
    read, _ = usage.read_usage(wire, "openai-chat", chat.COUNTS)
    assert read.input_tokens is None
    recorder = LossRecorder("openai-chat", read, Report("openai-chat"))
    assert usage.write_usage(read, "openai-chat", chat.COUNTS, recorder) == wire


def test_a_total_that_is_the_reasoning_alone_goes_home() -> None:
    wire = {"total_tokens": 16, "completion_tokens_details": {"reasoning_tokens": 16}}
    read, _ = usage.read_usage(wire, NAME, chat.COUNTS)
    recorder = LossRecorder(NAME, read, Report(NAME))
    assert usage.write_usage(read, NAME, chat.COUNTS, recorder) == wire
