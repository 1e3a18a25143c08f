"""Pieces that are read by the pattern of those before them give what reading whole chunks gives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interlingua.dialects.openai_chat import stream as chat
from interlingua.dialects.openrouter import codec as openrouter
from interlingua.errors import ReadError
from interlingua.model.events import Event
from interlingua.streams.frames import Frame
from tests.dialects.openai_chat.streaming import called
from tests.effort import examples

Json = dict[str, Any]

TEXTS = st.sampled_from(["", "a", "b", 'q"\\', "\u2028é", "{", "}", '{"a":1}', "\\"])
LOGPROBS = {"content": [{"token": "a", "logprob": 0.0, "bytes": [97], "top_logprobs": []}]}
CITATION = {"type": "url_citation", "url_citation": {"url": "https://example.com/", "title": "E"}}


def _function(text: str, **more: Any) -> Json:
    return {"tool_calls": [{"function": {"arguments": text}, **more}]}


def _named(text: str) -> Json:
    return {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": text}}]}


def _detail(text: str, **more: Any) -> Json:
    return {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text, **more}]}


def _item(text: str, **more: Any) -> Json:
    return {"thinking_blocks": [{"type": "thinking", "thinking": text, **more}]}


def _part(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


def _thinking_part(text: str) -> Json:
    return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}


SAID = [
    lambda text: {"content": text},
    lambda text: {"role": "assistant", "content": text, "token_id": 3},
    lambda text: {"content": text, "annotations": [CITATION]},
    lambda text: {"content": text, **_function(text, index=0)},
    lambda text: {"content": {"text": text}},
    lambda text: {"refusal": text},
    lambda text: {"reasoning": text},
    lambda text: {"reasoning": text, "reasoning_content": text},
    lambda text: {"reasoning": text, **_detail(text)},
    lambda text: {"reasoning": "b", **_detail(text)},
    lambda text: _detail(text, format="unknown"),
    lambda text: {"reasoning_content": text, **_item(text)},
    lambda text: _item(text),
    lambda text: _item(text, signature="s"),
    lambda text: _part(text),
    lambda text: _thinking_part(text),
    lambda text: {"audio": {"id": "a", "transcript": text}},
    lambda text: {"function_call": {"name": "f", "arguments": text}},
    lambda text: {"function_call": {"arguments": text}},
    lambda text: _function(text),
    lambda text: _function(text, index=0),
    lambda text: _function(text, index=1),
    lambda text: _function(text, index=0, id="call_1"),
    lambda text: {"tool_calls": _function(text, index=0)["tool_calls"] * 2},
    lambda text: _named(text),
    lambda text: {"tool_calls": [{"index": 0, "type": "custom", "custom": {"input": text}}]},
    lambda text: called("call_1"),
    lambda text: called("call_2", index=1),
    lambda text: called("call_3"),
    lambda text: {},
]
"""What a delta may say of a text."""
AROUND: list[Json] = [
    *({}, {}, {}),
    {"obfuscation": "xy"},
    {"obfuscation": ""},
    {"p": "abc", "created": 2},
    {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    {"x": {"content": "a"}},
]
BESIDE: list[Json] = [
    *({}, {}, {}),
    {"index": 1},
    {"logprobs": LOGPROBS},
    {"logprobs": None, "finish_reason": None},
    {"finish_reason": "stop"},
    {"message": {"content": "a"}},
]


@st.composite
def streams(draw: st.DrawFn) -> list[str]:
    """Frames of few shapes, so that many are alike."""
    shapes = draw(
        st.lists(
            st.tuples(st.sampled_from(SAID), st.sampled_from(AROUND), st.sampled_from(BESIDE)),
            min_size=1,
            max_size=4,
        )
    )
    spaced = draw(st.booleans())
    frames = []
    for number, text in draw(
        st.lists(st.tuples(st.integers(0, len(shapes) - 1), TEXTS), min_size=2, max_size=12)
    ):
        content, around, beside = shapes[number]
        choice = {"index": 0, "delta": content(text), **beside}
        wire = {"id": "c", "created": 1, "model": "m", "choices": [choice], **around}
        frames.append(json.dumps(wire, separators=None if spaced else (",", ":")))
    return [*frames, draw(st.sampled_from(["[DONE]", "{}"]))]


def _stream(*deltas: Json) -> list[str]:
    return [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]


ONE_AFTER_THE_OTHER = [_named("{"), _named('"a":1}'), _named('{"b":2}')]
"""Calls without ids, which only their being whole tells apart."""
BESIDE_ONE_THAT_ENDED = [
    {"tool_calls": [{"index": at, "function": {"arguments": text}} for at, text in pieces]}
    for pieces in ([(1, "{"), (0, " ")], [(1, '"a":'), (0, " ")], [(1, "1}"), (0, " ")])
]


def _told(read: Any, *given: Any) -> Any:
    try:
        events: list[Event] = read(*given)
    except ReadError as error:
        return str(error)
    return msgspec.json.encode(events)


@pytest.mark.parametrize("reader", [chat.StreamReader, openrouter.StreamReader])
@given(streams())
@example(_stream(*ONE_AFTER_THE_OTHER))
@example(
    _stream(called("call_1", arguments="{}"), called("call_2", index=1), *BESIDE_ONE_THAT_ENDED)
)
@settings(max_examples=examples(100))
def test_a_piece_that_is_read_by_its_pattern(reader: Any, frames: list[str]) -> None:
    short, long = reader(), reader()
    for data in frames:
        frame = Frame(None, data)
        assert _told(short.feed, frame) == _told(long._feed, frame)
    assert _told(short.close) == _told(long.close)


@pytest.mark.parametrize("said", SAID[:1] + SAID[5:8] + SAID[10:11] + SAID[14:16])
@pytest.mark.parametrize("around", AROUND[:5])
def test_usual_pieces_are_read_by_their_pattern(said: Any, around: Json) -> None:
    reader = openrouter.StreamReader()
    begun = {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant"}}]}
    reader.feed(Frame(None, json.dumps(begun)))
    for text in ("a", "b"):
        wire = {"id": "c", "choices": [{"index": 0, "delta": said(text)}], **around}
        reader.feed(Frame(None, json.dumps(wire)))
    assert len(reader._live) == 1
