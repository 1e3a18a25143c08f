"""Streams of others, written as streams of Ollama's chat."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

import interlingua as il
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.dialects.ollama import DIALECT
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    FrameMark,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.losses import Report
from tests.dialects.ollama import streaming
from tests.dialects.ollama.streaming import Json, abroad, fold, goes_home, talk
from tests.effort import examples
from tests.laws import laws, strategies


def answer(*content: il.Block, **metadata: Any) -> il.Response:
    said = {"stop_reason": il.StopReason.END_TURN, **metadata}
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**said)))


def told(response: il.Response, *events: Event) -> tuple[list[Json], Report]:
    """A stream of these events about the blocks of a response."""
    wires, report = abroad([MessageStart("gpt-5", "resp_1"), *events, MessageComplete(response)])
    goes_home(wires)
    return wires, report


def said(wires: list[Json]) -> list[Json]:
    """What the lines say beside their role."""
    return [{k: v for k, v in wire["message"].items() if k != "role" and v} for wire in wires]


def wired(call: il.ToolUseBlock) -> Json:
    return {"tool_calls": [{"id": call.id, "function": {"name": "add", "arguments": call.input}}]}


ONE = il.ToolUseBlock("call_1", "add", {"a": 1})
TWO = il.ToolUseBlock("call_2", "add", {"b": 2})


def test_a_plain_answer_is_written_in_lines() -> None:
    response = answer(il.TextBlock("Hello"), usage=il.Usage(4, 2))
    wires, report = told(
        response,
        UsageUpdate(il.Usage(4, 1)),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "Hel"),
        Stop(il.StopReason.END_TURN),
        TextDelta(0, "lo"),
        BlockEnd(0, il.TextBlock("Hello")),
        UsageUpdate(il.Usage(4, 2)),
        Other(),
    )
    start = {"model": "gpt-5", "created_at": "1970-01-01T00:00:00Z"}
    line = {"role": "assistant", "content": ""}
    last = {"done": True, "done_reason": "stop", "prompt_eval_count": 4, "eval_count": 2}
    assert wires == [
        {**start, "message": {**line, "content": "Hel"}, "done": False},
        {**start, "message": {**line, "content": "lo"}, "done": False},
        {**start, "message": line, **last},
    ]
    assert not report.entries


@pytest.mark.requirement("P28", "P31")
def test_calls_that_are_written_in_turns_are_written_whole_one_after_the_other() -> None:
    wires, _ = told(
        answer(ONE, TWO, stop_reason=il.StopReason.TOOL_USE),
        ToolUseStart(0, "call_1", "add"),
        ToolUseStart(1, "call_2", "add"),
        ToolUseInputDelta(1, '{"b":'),
        ToolUseInputDelta(0, '{"a":'),
        ToolUseInputDelta(1, "2}"),
        ToolUseInputDelta(0, "1}"),
        ToolUseEnd(1, {"b": 2}),
        ToolUseEnd(0, {"a": 1}),
    )
    assert said(wires) == [wired(ONE), wired(TWO), {}]
    assert fold(wires).message.content == (ONE, TWO)
    assert fold(wires).message.metadata.stop_reason is il.StopReason.TOOL_USE


def test_what_can_be_said_is_not_kept_waiting() -> None:
    writer = DIALECT.stream_writer()
    events: list[Event] = [
        MessageStart(),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "a"),
        TextDelta(0, ""),
        ToolUseStart(1, "call_1", "add"),
        TextDelta(0, "b"),
        ToolUseEnd(1, {"a": 1}),
        BlockEnd(0, il.TextBlock("ab")),
    ]
    assert [len(writer.feed(event)) for event in events] == [0, 0, 1, 0, 0, 1, 0, 1]


@pytest.mark.parametrize("pieces", [(), ("",), ("{}",), ("{", "}")])
@pytest.mark.requirement("P31")
def test_a_call_without_arguments_is_said(pieces: tuple[str, ...]) -> None:
    call = ONE.replace(input={})
    wires, _ = told(
        answer(call),
        ToolUseStart(0, "call_1", "add"),
        *[ToolUseInputDelta(0, piece) for piece in pieces],
        ToolUseEnd(0, {}),
    )
    assert said(wires) == [wired(call), {}]


def test_thoughts_that_follow_each_other_are_one() -> None:
    blocks = (il.ThinkingBlock("a", "sig"), il.ThinkingBlock(""), il.ThinkingBlock("b"))
    wires, report = told(answer(*blocks), *il.unfold(answer(*blocks))[1:-1])
    assert said(wires) == [{"thinking": "a"}, {"thinking": "\nb"}, {}]
    assert [loss.path for loss in report.entries if loss.kind == "dropped"] == [
        "$.message.content[0].signature",
        "$.message.content[1]",
    ]


def test_a_block_may_end_as_another_kind_than_it_began() -> None:
    thoughts = il.ThinkingBlock("a"), il.ThinkingBlock("b")
    wires, _ = told(
        answer(*thoughts),
        BlockStart(0, il.RedactedThinkingBlock("xyz")),
        BlockEnd(0, thoughts[0]),
        BlockStart(1, il.TextBlock("")),
        BlockEnd(1, thoughts[1]),
    )
    assert said(wires) == [{"thinking": "a"}, {"thinking": "\nb"}, {}]


@pytest.mark.parametrize(
    "events",
    [
        [BlockStart(0, il.TextBlock("")), BlockEnd(0, il.TextBlock("Hello"))],
        [BlockStart(0, il.TextBlock("Hel")), BlockEnd(0, il.TextBlock("Hello"))],
        [BlockStart(0, il.TextBlock("Hel")), TextDelta(0, "lo")],
        [TextDelta(0, "Hel"), TextDelta(0, "lo")],
        [TextDelta(0, ""), TextDelta(0, "Hello"), BlockEnd(0, il.TextBlock("Hello"))],
        [BlockStart(0, il.TextBlock("")), BlockDelta(0, "text", "Hello")],
        [],
    ],
)
@pytest.mark.requirement("P29", "P30")
def test_all_of_a_block_is_written_wherever_it_was_told(events: list[Event]) -> None:
    wires, _ = told(answer(il.TextBlock("Hello")), *events)
    assert fold(wires).message.content == (il.TextBlock("Hello"),)


def test_pieces_of_thinking_without_a_start_open_their_block() -> None:
    blocks = (il.ThinkingBlock("Hm"), il.TextBlock("a"))
    wires, _ = told(answer(*blocks), ThinkingDelta(0, "Hm"), TextDelta(1, "a"))
    assert fold(wires).message.content == blocks


def test_a_refusal_is_written_as_text() -> None:
    refusal = il.RefusalBlock("No.")
    wires, report = told(
        answer(refusal, stop_reason=il.StopReason.REFUSAL),
        BlockStart(0, il.RefusalBlock("")),
        BlockDelta(0, "text", "N"),
        BlockDelta(0, "text", "o."),
        BlockEnd(0, refusal),
    )
    assert said(wires) == [{"content": "N"}, {"content": "o."}, {}]
    assert ("downgraded", "$.message.content[0]") in [
        (loss.kind, loss.path) for loss in report.entries
    ]


def test_what_has_no_place_is_left_out_and_reported_once() -> None:
    blocks: list[il.Block] = [
        il.RedactedThinkingBlock("xyz"),
        il.ToolUseBlock("srv_1", "web_search", {"query": "x"}, executor="provider"),
        il.TextBlock("a", citations=(il.Citation("b"),)),
        il.ImageBlock(il.Source("base64", "iVBORw0KGgo="), "image/png"),
    ]
    response = answer(*blocks)
    wires, report = told(response, *il.unfold(response)[1:-1])
    assert said(wires) == [{"content": "a"}, {}]
    assert list(report.entries) == DIALECT.write_response(response).report.entries
    assert [loss.path for loss in report.entries if loss.kind == "dropped"] == [
        "$.message.content[0]",
        "$.message.content[1]",
        "$.message.content[2].citations",
        "$.message.content[3]",
    ]


def test_an_answer_of_which_nothing_can_be_said_says_so() -> None:
    response = answer(il.RedactedThinkingBlock("xyz"))
    wires, _ = told(response, *il.unfold(response)[1:-1])
    assert said(wires) == [{"content": PLACEHOLDER}]


def test_further_answers_are_left_out_and_reported() -> None:
    response = answer(il.TextBlock("a")).replace(alternatives=(il.Message.assistant("b"),))
    wires, report = abroad(il.unfold(response))
    assert said(wires) == [{"content": "a"}, {}]
    assert [loss.path for loss in report.entries] == ["$.alternatives[0]"]


def test_marks_of_other_wires_say_nothing_here() -> None:
    mark = FrameMark(0, {"anthropic": {"x": 1}})
    events = [event.replace(frame=mark) for event in il.unfold(answer(il.TextBlock("a")))]
    assert streaming.write(events) == streaming.write(il.unfold(answer(il.TextBlock("a"))))


def test_nothing_comes_after_an_error() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "too many requests", "429", 429)
    partial = il.Message.assistant(
        "Hel", il.MessageMetadata(stop_reason=il.StopReason.ERROR, status=il.MessageStatus.ERROR)
    )
    wires, report = abroad(
        [
            MessageStart(),
            BlockStart(0, il.TextBlock("")),
            TextDelta(0, "Hel"),
            StreamError(error, partial),
            TextDelta(0, "lo"),
            BlockEnd(0, il.TextBlock("Hello")),
            MessageComplete(answer(il.TextBlock("Hello"))),
        ]
    )
    assert wires[-1] == {"error": "too many requests"}
    assert [loss.path for loss in report.entries] == ["$.error.code", "$.error.status"]
    response = fold(wires)
    assert response.message.text == "Hel"
    assert response.error is not None
    assert response.error.kind is il.ErrorKind.RATE_LIMIT


def test_a_call_that_was_not_whole_when_a_stream_broke_off_is_reported() -> None:
    text, failed = il.TextBlock("a"), il.MessageMetadata(stop_reason=il.StopReason.ERROR)
    broken = [text, ONE, TWO.replace(input={}), ONE.replace(input={})]
    wires, report = abroad(
        [
            MessageStart(),
            BlockStart(0, il.TextBlock("")),
            TextDelta(0, "a"),
            BlockEnd(0, text),
            ToolUseStart(1, "call_1", "add"),
            ToolUseEnd(1, {"a": 1}),
            ToolUseStart(2, "call_2", "add"),
            ToolUseStart(3, "call_1", "add"),
            StreamError(
                il.ProviderError(il.ErrorKind.SERVER_ERROR, "timed out"),
                il.Message.assistant(broken, failed),
            ),
        ]
    )
    assert said(wires[:-1]) == [{"content": "a"}, wired(ONE)]
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("dropped", "$.message.content[2]"),
        ("dropped", "$.message.content[3]"),
    ]


def test_what_is_private_to_this_wire_comes_back_from_a_folded_answer() -> None:
    response = fold(talk(streaming.words("a", "b"), remote_model="m"))
    wires, report = streaming.write(il.unfold(response))
    assert not report.entries
    assert fold(wires) == response


def test_several_messages_are_written_one_after_the_other() -> None:
    one, two = answer(il.TextBlock("one")), answer(il.TextBlock("two"))
    wires, _ = streaming.write([*il.unfold(one), *il.unfold(two)])
    assert [wire["done"] for wire in wires] == [False, True, False, True]
    assert fold(wires).message.text == "two"


@given(strategies.responses())
@settings(max_examples=examples(60))
def test_a_stream_keeps_what_a_whole_answer_keeps(response: il.Response) -> None:
    wires, report = abroad(il.unfold(response))
    back = fold(wires)
    assert laws.compare(response, back, list(report.entries)) == []
    if response.error is not None:
        return
    written = DIALECT.write_response(response)
    assert list(report.entries) == list(written.report.entries)
    # A stream keeps the order of texts, thoughts and calls; as a whole they say the same.
    again = DIALECT.read_response(DIALECT.write_response(back).wire)
    assert laws.same_facts(again, DIALECT.read_response(written.wire))


@given(strategies.events())
@settings(max_examples=examples(60))
def test_pieces_of_any_size_give_the_same_answer(events: list[Event]) -> None:
    wires, _ = abroad(events)
    goes_home(wires)
    complete = events[-1]
    assert isinstance(complete, MessageComplete)
    once, _ = abroad(il.unfold(complete.response))
    assert fold(wires).message.content == fold(once).message.content
