"""Each shortcut gives what the long way gives."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.gemini_interactions import text
from interlingua.dialects.gemini_interactions.stream import StreamReader
from interlingua.streams.frames import Frame
from tests.dialects.gemini_interactions.plain import NAME, WORDS, both, outcome

MORE = {"x": st.just(1), "annotations": st.sampled_from([[], None])}
TEXTS = st.fixed_dictionaries({"type": st.just("text")}, optional={"text": WORDS, **MORE})


@given(TEXTS)
def test_a_text_that_is_read_at_once(part: Any) -> None:
    assert outcome(text.read_text, part) == outcome(text._read_text, part)


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
    collected = []
    for way in ("feed", "_feed"):
        reader = StreamReader()
        for each in STARTS:
            reader.feed(Frame(each["event_type"], json.dumps(each)))
        collected.append(outcome(getattr(reader, way), Frame(event, json.dumps(wire))))
    assert collected[0] == collected[1]
