"""Pieces that are spelled alike: a frame that fits the pattern of another is the same JSON with
another text in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.dialects.kernel.stream_reader import pattern_of

TEXTS = st.text(st.sampled_from('a"\\{}:, \n\u2028é')) | st.sampled_from(["a", '","text":"', "\\"])
BESIDE = st.fixed_dictionaries(
    {},
    optional={
        "before": st.sampled_from([1, None, {"text": "a"}, '"text":"a"', {"deep": {"text": "b"}}]),
        "index": st.integers(0, 1),
    },
)


def _frame(text: str, beside: dict[str, Any], also: bool, pad: str | None, spaced: bool) -> str:
    inner = {"text": text, "again": text} if also else {"text": text}
    wire = {**beside, "delta": inner, "tail": True}
    if pad is not None:
        wire["pad"] = pad
    return json.dumps(wire, separators=None if spaced else (",", ":"), ensure_ascii=spaced)


FRAMES = st.builds(_frame, TEXTS, BESIDE, st.booleans(), st.none() | TEXTS, st.booleans())


@given(FRAMES, st.lists(FRAMES, max_size=5), TEXTS)
def test_a_frame_that_fits_is_the_same_json_with_another_text(
    first: str, others: list[str], text: str
) -> None:
    wire = json.loads(first)
    spots = [(wire["delta"], key) for key in wire["delta"]]
    pad = "pad" if "pad" in wire else None
    pattern = pattern_of(first, wire, spots, pad)
    assert wire == json.loads(first)  # which was only looked at
    if pattern is None:
        return
    assert pattern.find(first) == wire["delta"]["text"]
    for data in others:
        found = pattern.find(data)
        if found is not None:
            parsed = json.loads(data)
            assert set(parsed["delta"].values()) == {found}
            same = {**wire, "delta": dict.fromkeys(wire["delta"], found)}
            assert parsed == (same if pad is None else {**same, "pad": parsed["pad"]})


@pytest.mark.parametrize("pad", [None, "xyz"])
@pytest.mark.parametrize("also", [False, True])
@pytest.mark.parametrize("spaced", [False, True])
def test_pieces_with_the_same_things_around_them_fit(
    pad: str | None, also: bool, spaced: bool
) -> None:
    first = _frame("a", {"index": 0}, also, pad, spaced)
    wire = json.loads(first)
    spots = [(wire["delta"], key) for key in wire["delta"]]
    pattern = pattern_of(first, wire, spots, None if pad is None else "pad")
    assert pattern is not None
    for text in ("b", 'c"\\', "\u2028é", ""):
        other = _frame(text, {"index": 0}, also, None if pad is None else text, spaced)
        assert pattern.find(other) == text
    assert pattern.find(_frame("b", {"index": 1}, also, pad, spaced)) is None
    assert pattern.find(first[:-1]) is None


def test_a_text_that_stands_elsewhere_first_has_no_pattern() -> None:
    data = '{"message":{"text":"a"},"delta":{"text":"a"}}'
    wire = json.loads(data)
    assert pattern_of(data, wire, [(wire["delta"], "text")]) is None
