"""Each shortcut gives what the long way gives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.gemini_interactions import calls, text
from interlingua.dialects.gemini_interactions import calls as thinking
from interlingua.dialects.gemini_interactions.stream import StreamReader
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame

NAME = "gemini-interactions"
WORDS = st.sampled_from(["", "a", "Grüße \u2028", None, 5])
MORE = {"x": st.just(1), "annotations": st.sampled_from([[], None])}
TEXTS = st.fixed_dictionaries({"type": st.just("text")}, optional={"text": WORDS, **MORE})
CALLS = st.fixed_dictionaries(
    {"type": st.just("function_call"), "id": WORDS, "name": WORDS},
    optional={"arguments": st.sampled_from([{}, {"a": 1}, None, "x"]), "signature": WORDS},
)
THOUGHTS = st.fixed_dictionaries(
    {"type": st.just("thought")}, optional={"signature": WORDS, "x": st.just(1)}
)


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        given = way(*args)
    except Exception as error:  # a ShapeError, which only the whole reader makes a ReadError
        return (type(error).__name__, getattr(error, "path", None), str(error))
    return msgspec.json.encode(given)


@given(TEXTS)
def test_a_text_that_is_read_at_once(part: Any) -> None:
    assert outcome(text.read_text, part) == outcome(text._read_text, part)


@given(CALLS)
def test_a_call_that_is_read_at_once(step: Any) -> None:
    assert outcome(calls.read_call, step) == outcome(calls._read_call, step)


@given(THOUGHTS)
def test_a_thought_that_is_read_at_once(step: Any) -> None:
    assert outcome(thinking.read_thought, step) == outcome(thinking._read_thought, step)


def both(block: Any, short: Any, long: Any) -> None:
    reports = [Report(NAME), Report(NAME)]
    told = [
        way(block, LossRecorder(NAME, None, report))
        for way, report in zip((short, long), reports, strict=True)
    ]
    assert told[0] == told[1]
    assert reports[0] == reports[1]


@given(
    st.builds(
        il.TextBlock,
        text=st.sampled_from(["", "a"]),
        signature=st.none() | st.just("s"),
        cache=st.none() | st.just(il.Cache()),
        phase=st.none() | st.just("commentary"),
        citations=st.sampled_from([(), (il.Citation(url="u"),), (il.Citation(file_id="f"),)]),
        raw=st.sampled_from([None, {NAME: {"x": 1}}, {"gemini": {"y": 2}}]),
    )
)
def test_a_text_that_is_written_at_once(block: il.TextBlock) -> None:
    both(block, text.write_text, text._write_text)


@given(
    st.builds(
        il.ToolUseBlock,
        id=st.just("a"),
        name=st.just("f"),
        input=st.sampled_from([{}, {"a": 1}]),
        raw_arguments=st.none() | st.sampled_from(['{"a": 1}', "{a"]),
        signature=st.none() | st.just("s"),
        call_type=st.none() | st.just("custom"),
        cache=st.none() | st.just(il.Cache()),
        raw=st.sampled_from([None, {NAME: {"x": 1}}, {"gemini": {"y": 2}}]),
    )
)
def test_a_call_that_is_written_at_once(block: il.ToolUseBlock) -> None:
    both(block, calls.write_call, calls._write_call)


DELTAS = st.fixed_dictionaries(
    {"event_type": st.sampled_from(["step.delta", "step.other"]), "index": st.sampled_from([0, 1])},
    optional={
        "delta": st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "smell"])}, optional={"text": WORDS, "x": st.just(1)}
        ),
        "event_id": st.just("e"),
    },
)
STARTS = [
    {"event_type": "interaction.created", "interaction": {"id": "a", "status": "in_progress"}},
    {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
]


@given(DELTAS, st.sampled_from(["step.delta", None, "odd"]))
def test_a_piece_that_is_read_at_once(wire: Any, event: str | None) -> None:
    told = []
    for way in ("feed", "_feed"):
        reader = StreamReader()
        for each in STARTS:
            reader.feed(Frame(each["event_type"], json.dumps(each)))
        told.append(outcome(getattr(reader, way), Frame(event, json.dumps(wire))))
    assert told[0] == told[1]
