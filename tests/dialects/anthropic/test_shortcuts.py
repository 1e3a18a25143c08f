"""Each shortcut gives what the long way gives: the same values and bytes, the same losses."""

from __future__ import annotations

from typing import Any
from unittest import mock

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.anthropic import calls, messages, request, response, text, tools
from interlingua.dialects.anthropic import response as usage
from interlingua.dialects.anthropic import text as thinking
from interlingua.dialects.anthropic.stream import StreamReader
from interlingua.dialects.anthropic.text import ANSWER, ASSISTANT, SYSTEM, USER
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import Cache
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame

NAME = "anthropic"
PLACES = st.sampled_from([ANSWER, ASSISTANT, USER, SYSTEM])
TEXTS = st.sampled_from(["", "a", "b", None, 5])
CACHES = st.none() | st.just(Cache()) | st.just(Cache("1h")) | st.just(Cache("1d"))
CONTROLS = st.sampled_from([{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "9h"}, {}, None])
RAWS = st.sampled_from(
    [
        None,
        {},
        {"openai-chat": {"$form": {"a": 1}}},
        {"openai-chat": {"x": 1}},
        {NAME: {"x": 1}},
        {NAME: {"$form": {"content": "string"}}},
        {NAME: {"$form": {"odd": True}}},
    ]
)
BESIDE: dict[str, Any] = {"cache_control": CONTROLS, "x": st.none() | st.just(1)}


def parts(kind: str, optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"type": st.just(kind)}, optional={**optional, **BESIDE})


def outcome(way: Any, *given: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        return msgspec.json.encode(way(*given))
    except ShapeError as error:
        return error.path, error.expected, error.found


def written(way: Any, *given: Any) -> Any:
    """What a way writes, as bytes with keys in some order, and what it loses."""
    report = Report(NAME)
    wire = way(*given, LossRecorder(NAME, None, report))
    return msgspec.json.encode(wire, order="sorted"), list(report.entries)


# -- parts ----------------------------------------------------------------------------------------


@given(parts("text", {"text": TEXTS, "citations": st.none() | st.just([])}), PLACES)
def test_a_text_that_is_read_at_once(part: Any, place: Any) -> None:
    assert outcome(text.read_text, part, place) == outcome(text._read_text, part, place)


@given(
    st.builds(
        il.TextBlock,
        st.sampled_from(["", "a"]),
        signature=st.none() | st.just("s"),
        citations=st.sampled_from([(), (il.Citation(url="u"),)]),
        cache=CACHES,
        raw=RAWS,
        phase=st.none() | st.just("commentary"),
    ),
    PLACES,
)
def test_a_text_that_is_written_at_once(block: il.TextBlock, place: Any) -> None:
    assert written(text.write_text, block, place) == written(text._write_text, block, place)


@given(parts("thinking", {"thinking": TEXTS, "signature": TEXTS}), PLACES)
def test_thinking_that_is_read_at_once(part: Any, place: Any) -> None:
    short = outcome(thinking.read_thinking, part, place)
    assert short == outcome(thinking._read_thinking, part, place)


@given(
    st.builds(
        il.ThinkingBlock,
        st.sampled_from(["", "a"]),
        signature=st.sampled_from([None, "", "s"]),
        id=st.none() | st.just("i"),
        cache=CACHES,
        raw=RAWS,
    ),
    PLACES,
)
def test_thinking_that_is_written_at_once(block: il.ThinkingBlock, place: Any) -> None:
    short = written(thinking.write_thinking, block, place)
    assert short == written(thinking._write_thinking, block, place)


@given(
    parts(
        "tool_use",
        {
            "id": TEXTS,
            "name": TEXTS,
            "input": st.sampled_from([{}, {"a": 1}, None, "{}"]),
            "caller": st.sampled_from([{"type": "direct"}, {"type": "other"}]),
        },
    )
)
def test_a_call_that_is_read_at_once(part: Any) -> None:
    short = outcome(calls.read_tool_use, part, ANSWER)
    assert short == outcome(calls.CALL.read_value, il.ToolUseBlock, part, NAME)


@given(
    st.builds(
        il.ToolUseBlock,
        st.just("toolu_1"),
        st.just("f"),
        st.sampled_from([{}, {"a": 1}]),
        raw_arguments=st.sampled_from([None, "", '{"a": 1}', "{a"]),
        signature=st.none() | st.just("s"),
        call_type=st.none() | st.just("custom"),
        cache=CACHES,
        raw=RAWS,
    )
)
def test_a_call_that_is_written_at_once(block: il.ToolUseBlock) -> None:
    short = written(calls.write_tool_use, block, ASSISTANT)
    long = written(lambda recorder: calls.CALL.write_value(block, recorder, {"type": "tool_use"}))
    assert short == long


@given(
    st.builds(
        il.ToolResultBlock,
        st.just("toolu_1"),
        st.sampled_from([(), (il.TextBlock("a"),), (il.TextBlock("a"), il.TextBlock("b"))]),
        is_error=st.booleans(),
        tool_name=st.none() | st.just("f"),
        cache=CACHES,
        raw=RAWS,
    )
)
def test_a_result_that_is_written_at_once(block: il.ToolResultBlock) -> None:
    form = calls.spelling_of(NAME, block.raw)
    short = written(calls.write_tool_result, block, USER)
    assert short == written(calls._write_tool_result, block, form)


# -- what is beside messages ----------------------------------------------------------------------


@given(
    st.builds(
        il.Options,
        max_output_tokens=st.none() | st.just(5),
        temperature=st.none() | st.just(0.5),
        stop=st.none() | st.just(("a",)),
        parallel_tool_calls=st.none() | st.booleans(),
        seed=st.none() | st.just(1),
        stream=st.none() | st.booleans(),
        reasoning=st.none() | st.just(il.Reasoning(budget_tokens=9)),
        raw=st.none() | st.just({NAME: {"x": 1}}),
    ),
    st.sampled_from([{}, {"$form": {"absent": ["max_tokens"]}}, {"x": 1}]),
)
def test_options_that_are_written_at_once(given: il.Options, mine: Any) -> None:
    results = []
    for way in (request.write_options, request._write_options):
        out: dict[str, Any] = {}
        report = Report(NAME)
        way(given, out, mine, LossRecorder(NAME, None, report))
        results.append((out, list(report.entries)))
    assert results[0] == results[1]


COUNTS = st.integers(-1, 5) | st.none() | st.just(3.0) | st.just("x")
SPLITS = st.sampled_from([{"a": 1, "b": 2}, {"a": 3}, None, 5])


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "input_tokens": COUNTS,
            "output_tokens": COUNTS,
            "cache_read_input_tokens": COUNTS,
            "cache_creation_input_tokens": COUNTS,
            "cache_creation": SPLITS,
            "output_tokens_details": st.sampled_from([{}, {"thinking_tokens": 2}, None]),
            "service_tier": st.none() | st.just("standard"),
        },
    ),
    st.none() | st.integers(0, 5),
    st.booleans(),
)
def test_counts_that_are_read_and_written_at_once(wire: Any, edit: Any, estimated: bool) -> None:
    assert outcome(usage.read_usage, wire) == outcome(usage._read_usage, wire)
    read = usage._read_usage(wire)[0].replace(estimated=estimated)
    if edit is not None:
        read = read.replace(cache_creation_input_tokens=edit)
    assert written(usage.write_usage, read) == written(usage._write_usage, read)


@given(
    st.fixed_dictionaries(
        {"content": st.just([])},
        optional={
            "id": st.none() | st.just("msg_1"),
            "type": st.sampled_from(["message", "other"]),
            "role": st.sampled_from(["assistant", "model"]),
            "model": st.none() | st.just("m"),
            "stop_reason": st.sampled_from([None, "end_turn", "unheard_of"]),
            "stop_sequence": st.none() | st.just("END"),
            "usage": st.sampled_from([None, {"input_tokens": 1, "output_tokens": 2}]),
            "x": st.none() | st.just(1),
        },
    )
)
def test_an_answer_of_which_nothing_is_kept(wire: Any) -> None:
    assert response.read_response(wire).raw == response._rest(wire)


# -- messages -------------------------------------------------------------------------------------

BLOCKS = st.sampled_from(
    [
        il.TextBlock("a"),
        il.TextBlock(""),
        il.TextBlock("a", cache=Cache()),
        il.TextBlock("a", raw={"openai-chat": {"x": 1}}),
        il.ToolResultBlock("toolu_1", (il.TextBlock("r"),)),
        il.TextBlock("a", signature="s"),
        il.TextBlock("a", phase="final_answer"),
        il.TextBlock("a", raw={"openai-chat": {"$form": {"x": 1}}}),
        il.ThinkingBlock("t", "s"),
        il.ThinkingBlock("t", "s", raw={"openai-chat": {"$form": {"x": 1}}}),
        il.ThinkingBlock("t"),
        il.ThinkingBlock("t", "s", id="i"),
        il.ToolUseBlock("toolu_1", "f", {"a": 1}, '{"a": 1}'),
        il.ToolUseBlock("toolu_1", "f", {}, "{"),
        il.ToolUseBlock("toolu_1", "f", {"a": 1}, signature="s"),
        il.ToolUseBlock("toolu_1", "f", {"a": 1}, cache=Cache()),
        il.ToolUseBlock("toolu_1", "f", {"a": 1}, executor="provider"),
    ]
)
MESSAGES = st.builds(
    il.Message,
    st.sampled_from(list(il.Role)),
    st.lists(BLOCKS, max_size=2).map(tuple),
    name=st.none() | st.just("n"),
)


def _plainly(listed: Any, recorder: LossRecorder) -> Any:
    out: dict[str, Any] = {}
    if not messages.write_question(listed, out):
        messages.write_messages(listed, out, tools.Writing((), recorder))
    return out


def _longly(listed: Any, recorder: LossRecorder) -> Any:
    """Without the shortcuts for messages that are one text."""
    out: dict[str, Any] = {}
    leading = [each.role in (il.Role.SYSTEM, il.Role.DEVELOPER) for each in listed]
    first = leading.index(False) if False in leading else len(listed)
    if first:
        messages._write_system(listed[:first], out, recorder)
    turns = messages._Turns(recorder, messages._PLACEHOLDER, changes=tools.Writing((), recorder))
    for message in listed[first:]:
        turns._add(message)
    return {**out, "messages": turns.turns}


@given(st.lists(MESSAGES, max_size=3).map(tuple))
def test_messages_that_are_written_at_once(listed: Any) -> None:
    assert written(_plainly, listed) == written(_longly, listed)


TURNS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"])},
    optional={
        "content": st.sampled_from(
            [
                [{"type": "text", "text": "a"}],
                [{"type": "tool_result", "tool_use_id": "toolu_1"}, {"type": "text", "text": "b"}],
                [],
                "c",
                None,
            ]
        ),
        "x": st.none() | st.just(1),
    },
)


@given(st.lists(TURNS, max_size=4))
def test_turns_that_are_read_at_once(turns: Any) -> None:
    at_once = outcome(messages.read_turns, turns, [])
    with mock.patch.object(messages, "_is_usual", return_value=False):
        assert at_once == outcome(messages.read_turns, turns, [])


# -- streams --------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        {"type": "text_delta", "text": "a"},
        {"type": "text_delta", "text": '"b\\ é\n'},
        {"type": "text_delta", "text": ""},
        {"type": "text_delta", "text": "a", "x": None},
        {"text": "c", "type": "text_delta"},
        {"type": "thinking_delta", "thinking": "d"},
        {"type": "input_json_delta", "partial_json": '{"text": "a"}'},
        {"type": "text_delta", "text": None},
    ]
)
BEGINNINGS = st.sampled_from(
    [
        {"type": "text", "text": ""},
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "tool_use", "id": "i", "name": "f", "input": {}},
    ]
)
FRAMES = st.lists(
    st.builds(
        lambda index, delta: {"type": "content_block_delta", "index": index, "delta": delta},
        st.integers(0, 1),
        PIECES,
    )
    | st.builds(
        lambda index, part: {"type": "content_block_start", "index": index, "content_block": part},
        st.integers(0, 1),
        BEGINNINGS,
    )
    | st.sampled_from([{"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]),
    max_size=8,
)
NAMES = st.sampled_from(["content_block_delta", None, "other"])


@given(FRAMES, NAMES)
def test_a_piece_that_is_read_at_once(wires: Any, name: Any) -> None:
    short, long = StreamReader(), StreamReader()
    for wire in wires:
        frame = Frame(name, msgspec.json.encode(wire).decode())
        collected: list[Any] = []
        for way in (short.feed, long._feed):
            try:
                collected.append(way(frame))
            except il.ReadError as error:
                collected.append(str(error))
        assert collected[0] == collected[1]
    assert msgspec.json.encode(short.close()) == msgspec.json.encode(long.close())
