"""Each shortcut gives what the long way gives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.gemini.stream.reader import StreamReader
from interlingua.streams.frames import Frame


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        given = way(*args)
    except il.InterlinguaError as error:
        return str(error)
    except Exception as error:  # which only the reader of the whole makes a ReadError
        return (type(error).__name__, getattr(error, "path", None))
    return msgspec.json.encode(given)


COUNTS = st.integers(-2, 5) | st.none() | st.just(3.0)
USAGES = st.fixed_dictionaries(
    {"promptTokenCount": COUNTS, "totalTokenCount": st.integers(0, 12)},
    optional={
        "candidatesTokenCount": COUNTS,
        "thoughtsTokenCount": COUNTS,
        "cachedContentTokenCount": COUNTS,
        "toolUsePromptTokenCount": COUNTS,
        "prompt_token_count": COUNTS,
        "trafficType": st.just("X"),
    },
)
PARTS = st.fixed_dictionaries(
    {"text": st.sampled_from(["", "a", "ü"])},
    optional={"thought": st.sampled_from([True, False]), "thoughtSignature": st.just("c2ln")},
)
CONTENTS = st.fixed_dictionaries(
    {"parts": st.lists(PARTS, min_size=1, max_size=2), "role": st.sampled_from(["model", "x"])}
)
CANDIDATES = st.fixed_dictionaries(
    {"content": CONTENTS},
    optional={"index": st.sampled_from([0, 1, None]), "finishReason": st.just("STOP")},
)
FRAMES = st.fixed_dictionaries(
    {"candidates": st.lists(CANDIDATES, min_size=1, max_size=2)},
    optional={
        "usageMetadata": USAGES,
        "modelVersion": st.sampled_from(["m", "n"]),
        "responseId": st.sampled_from(["r", "s"]),
        "createTime": st.sampled_from(["then", None]),
        "promptFeedback": st.just({"blockReason": "SAFETY"}),
    },
)
PLAIN = st.builds(
    lambda text: {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}]},
    st.sampled_from(["a", "b"]),
)


@given(st.lists(PLAIN | FRAMES, max_size=6))
def test_frames_that_are_read_at_once(wires: list[Any]) -> None:
    short, long = StreamReader(), StreamReader()
    for wire in wires:
        frame = Frame(None, json.dumps(wire))
        assert outcome(short.feed, frame) == outcome(long._feed, frame)
    assert outcome(short.close) == outcome(long.close)
