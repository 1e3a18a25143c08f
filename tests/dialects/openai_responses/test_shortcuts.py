"""Each shortcut gives what the long way gives: the same values, the same bytes, the same losses."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.openai_responses import (
    calls,
    messages,
    text,
    thinking,
)
from interlingua.model.blocks import Cache, Citation, TextBlock, ThinkingBlock, ToolResultBlock
from interlingua.model.losses import Report

NAME = "openai-responses"
TEXTS = st.sampled_from(["", "a", "b", None, 5, []])
RAWS = st.sampled_from(
    [
        None,
        {"anthropic": {"x": 1}},
        {"anthropic": {"$form": {"odd": True}}},
        {NAME: {"$form": {"spelled": {"logprobs": []}}}},
        {NAME: {"$form": {"spelled": {"annotations": None}, "item": {"id": "m", "text": "t"}}}},
        {NAME: {"$form": {"absent": ["annotations"], "item": {"id": "m"}}}},
        {NAME: {"$form": {"item": {"id": "m", "status": "completed"}}}},
        {NAME: {"$form": {"string": True, "item": {}}, "$item": {"more": 1}}},
        {NAME: {"logprobs": [{"token": "a"}], "$form": {"type": "input_text"}}},
        {NAME: {"text": "kept", "annotations": 5}},
        {NAME: {"more": 1, "$form": {"list": "content"}}, "gemini": {"y": 2}},
    ]
)


GONE: Any = object()


def mostly(usual: dict[str, Any], **odd: list[Any]) -> Any:
    """The usual wire with at most two of its keys otherwise, or others beside them."""
    changes = [(key, value) for key, values in odd.items() for value in values]

    def changed(chosen: list[tuple[str, Any]]) -> dict[str, Any]:
        wire = {**usual, **dict(chosen)}
        return {key: value for key, value in wire.items() if value is not GONE}

    return st.lists(st.sampled_from(changes), max_size=2).map(changed)


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        return msgspec.json.encode(way(*copy.deepcopy(args)))
    except il.InterlinguaError as error:
        return str(error)
    except Exception as error:  # a ShapeError, which only the whole reader makes a ReadError
        return (type(error).__name__, getattr(error, "path", None))


def said(way: Any, *args: Any, after: tuple[Any, ...] = ()) -> tuple[Any, list[Any]]:
    """What a way writes, and what it reports."""
    report = Report(NAME)
    return way(*args, LossRecorder(NAME, None, report), *after), list(report.entries)


# -- text -----------------------------------------------------------------------------------------

PARTS = mostly(
    {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
    type=["input_text"],
    text=["", None, 5, GONE],
    annotations=[None, [{"type": "url_citation"}], "x", GONE],
    logprobs=[None, [{"token": "a"}], GONE],
    more=[None, [], 1],
) | mostly({"type": "input_text", "text": "a"}, type=["output_text"], text=["", 5], more=[None, 1])
BLOCKS = st.builds(
    TextBlock,
    text=st.sampled_from(["", "a"]),
    signature=st.none() | st.just("s"),
    citations=st.sampled_from([(), (Citation(url="u"),)]),
    cache=st.none() | st.just(Cache("5m")),
    raw=RAWS,
    phase=st.none() | st.just("commentary"),
)


@given(PARTS, st.booleans())
def test_a_text_that_is_read_at_once(part: Any, made: bool) -> None:
    assert outcome(text.read_text, part, made) == outcome(text._read_text, part, made)


@given(BLOCKS, st.booleans())
def test_a_text_that_is_written_at_once(block: TextBlock, made: bool) -> None:
    short, long = (said(way, block, after=(made,)) for way in (text.write_text, text._write_text))
    assert short == long


# -- thinking -------------------------------------------------------------------------------------

THOUGHTS = mostly(
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    id=["rs_2", None, GONE],
    summary=[
        *(None, [{"type": "summary_text", "text": "a"}], [{"type": "summary_text", "text": ""}]),
        *([{"text": "a", "type": "other"}], 5, GONE),
    ],
    encrypted_content=[None, GONE],
    status=["completed", None],
)
BEFORE = st.sampled_from([None, ThinkingBlock("", None, "rs_1"), ThinkingBlock("", "s", "rs_1")])


@given(THOUGHTS, BEFORE)
def test_a_thought_that_is_read_at_once(item: Any, before: Any) -> None:
    short = outcome(thinking.read_reasoning, item, before)
    assert short == outcome(thinking._read_reasoning, item, before)


@given(
    st.sampled_from(["summary", "content"]),
    mostly({"type": "summary_text", "text": "a"}, type=["other", GONE], text=["", 5], more=[1]),
)
def test_a_part_of_a_thought_that_is_read_at_once(key: str, part: Any) -> None:
    short = outcome(thinking._read_part, part, key, "rs_1")
    assert short == outcome(thinking._read_any_part, part, key, "rs_1")


@given(
    st.builds(
        ThinkingBlock,
        text=st.sampled_from(["", "a"]),
        cache=st.none() | st.just(Cache()),
        raw=RAWS,
    )
)
def test_a_part_of_a_thought_that_is_written_at_once(part: ThinkingBlock) -> None:
    assert said(thinking._write_part, part) == said(thinking._write_any_part, part)


# -- calls and results ----------------------------------------------------------------------------

RESULTS = mostly(
    {"type": "function_call_output", "call_id": "c", "output": "x"},
    type=["custom_tool_call_output"],
    call_id=[GONE],
    output=["", "[tool error] b", None, 5, [], GONE],
    name=["f"],
    status=["completed"],
)


@given(
    st.builds(
        il.ToolUseBlock,
        id=st.sampled_from(["c", "il_0123456789abcdef"]),
        name=st.just("f"),
        input=st.sampled_from([{}, {"a": 1}]),
        raw_arguments=st.none() | st.just('{"a": 1}'),
        signature=st.none() | st.just("s"),
        cache=st.none() | st.just(Cache()),
        raw=st.none() | st.just({NAME: {"$form": {"key": None}}}),
    )
)
def test_a_call_that_is_written_at_once(call: il.ToolUseBlock) -> None:
    report = Report(NAME)
    long = calls._write_call(call, "function_call", LossRecorder(NAME, None, report))
    assert said(calls.write_call, call) == (long, list(report.entries))


@given(RESULTS, st.sampled_from([{}, {"key": None}, {"by": "item"}]))
def test_a_result_that_is_read_at_once(item: Any, spelling: Any) -> None:
    short = outcome(calls.read_result, item, "c", spelling)
    assert short == outcome(calls._read_result, item, "c", spelling)


@given(
    st.builds(
        ToolResultBlock,
        tool_use_id=st.just("c"),
        content=st.lists(BLOCKS, max_size=2).map(tuple)
        | st.just((TextBlock("[tool error] x"),))
        | st.just((TextBlock("x"),)),
        is_error=st.booleans(),
        tool_name=st.sampled_from([None, "f", "g"]),
        cache=st.none() | st.just(Cache()),
        raw=st.none() | st.just({NAME: {"$form": {"list": True}}}),
    ),
    st.sampled_from(["function_call_output", "custom_tool_call_output"]),
    st.sampled_from([None, "f"]),
)
def test_a_result_that_is_written_at_once(block: ToolResultBlock, word: str, name: Any) -> None:
    short = said(calls.write_result, block, word, "c", name)
    assert short == said(calls._write_result, block, word, "c", name)


# -- messages -------------------------------------------------------------------------------------

ITEMS = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system"]), "content": TEXTS}
    )
    | st.just({"type": "reasoning", "id": "rs_1", "summary": []})
    | st.just(
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "a", "annotations": []}],
        }
    ),
    max_size=4,
)


def read_items(items: Any, is_output: bool, long: bool) -> Any:
    reader = messages.ItemReader(is_output)
    if long:
        reader.plain = lambda item: False  # type: ignore[method-assign]  # no shortcut
    reader.read(items, "")
    reader.flush()
    return reader.messages


@given(ITEMS, st.booleans())
def test_messages_that_are_read_at_once(items: Any, is_output: bool) -> None:
    short = outcome(read_items, items, is_output, False)
    assert short == outcome(read_items, items, is_output, True)


@given(
    st.builds(
        il.Message,
        role=st.sampled_from([il.Role.USER, il.Role.ASSISTANT, il.Role.SYSTEM]),
        content=st.lists(BLOCKS, max_size=2).map(tuple) | st.just((TextBlock("a"),)),
        name=st.none() | st.just("n"),
    )
)
def test_a_message_that_is_written_at_once(message: il.Message) -> None:
    def long(message: il.Message, recorder: LossRecorder) -> Any:
        writer = messages.ItemWriter(recorder)
        if message.name is not None:
            recorder.lost(message, "name")
        writer.plain_message(message)
        return writer.items

    def short(message: il.Message, recorder: LossRecorder) -> Any:
        writer = messages.ItemWriter(recorder)
        writer.add(message)
        return writer.items

    assert said(short, message) == said(long, message)
