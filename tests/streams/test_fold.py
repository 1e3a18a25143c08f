"""Folding and unfolding: what a stream tells is what the whole response says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

import interlingua as il
from interlingua.model.events import (
    BlockDelta,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.streams.fold import Folder
from tests.effort import examples
from tests.laws import strategies


@given(strategies.responses())
@settings(max_examples=examples(100))
@pytest.mark.requirement("S002-87")
def test_unfolding_and_folding_gives_the_response_again(response: il.Response) -> None:
    events = il.unfold(response)
    assert il.fold(events) == response or response.error is not None
    assert isinstance(events[-1], MessageComplete | StreamError)
    assert sum(isinstance(each, MessageComplete | StreamError) for each in events) == 1


@given(strategies.responses(errors=False))
@settings(max_examples=examples(100))
def test_the_pieces_alone_tell_the_same_content(response: il.Response) -> None:
    pieces = [each for each in il.unfold(response) if not isinstance(each, MessageComplete)]
    folded = il.fold(pieces)
    items = [
        block.replace(cache=None) for block in response.message.content
    ]  # marks are for prompts
    assert [block.replace(cache=None) for block in folded.message.content] == items
    assert folded.message.metadata.status is il.MessageStatus.PARTIAL


def test_pieces_that_belong_to_no_such_block_are_survived() -> None:
    text = [MessageStart(), TextDelta(0, "hi")]
    ended = il.fold([*text, ToolUseEnd(0, {"a": 1})])
    assert ended.message.content == (il.ToolUseBlock("", "", {"a": 1}),)
    odd: list[Event] = [
        ToolUseInputDelta(0, "{}"),
        BlockDelta(0, "transcript", "la"),
        BlockDelta(0, "hologram", 1),
    ]
    assert il.fold([*text, *odd]).message.content == (il.TextBlock("hi"),)
    call = [ToolUseStart(0, "c", "f"), BlockDelta(0, "citations", il.Citation())]
    assert il.fold(call).message.content == (il.ToolUseBlock("c", "f", {}),)


@given(strategies.events())
@settings(max_examples=examples(100))
def test_a_generated_stream_folds_to_its_last_word(events: list[Event]) -> None:
    last = events[-1]
    if isinstance(last, MessageComplete):
        assert il.fold(events) == last.response


def folder(*events: Any) -> Folder:
    made = Folder()
    for event in events:
        made.feed(event)
    return made


def test_the_message_so_far_can_be_asked_for_at_any_time() -> None:
    made = folder(MessageStart("m", "r"), ThinkingDelta(0, "a"))
    assert made.message().content == (il.ThinkingBlock("a"),)
    for event in (ThinkingDelta(0, "b"), BlockDelta(0, "signature", "s"), TextDelta(1, "c")):
        made.feed(event)
    assert made.message().content == (il.ThinkingBlock("ab", "s"), il.TextBlock("c"))
    assert made.message().metadata.status is il.MessageStatus.PARTIAL


def test_calls_that_are_written_in_turns_stay_apart() -> None:
    made = folder(
        ToolUseStart(1, "b", "two"),
        ToolUseStart(0, "a", "one"),
        ToolUseInputDelta(1, '{"x":'),
        ToolUseInputDelta(0, '{"y":1}'),
        ToolUseInputDelta(1, "2}"),
    )
    assert [(block.id, block.input) for block in made.message().tool_calls] == [
        ("a", {"y": 1}),
        ("b", {"x": 2}),
    ]


def test_a_call_that_is_cut_off_is_kept_with_its_text() -> None:
    (call,) = (
        folder(ToolUseStart(0, "a", "one"), ToolUseInputDelta(0, '{"y": "h')).message().content
    )
    assert isinstance(call, il.ToolUseBlock)
    assert (call.input, call.raw_arguments) == ({"y": "h"}, '{"y": "h')


def test_a_failed_stream_keeps_what_arrived_and_is_no_success() -> None:
    error = il.ProviderError(il.ErrorKind.NETWORK, "cut")
    response = il.fold([MessageStart(), TextDelta(0, "hal"), StreamError(error)])
    assert response.message.text == "hal"
    assert response.message.metadata.status is il.MessageStatus.ERROR
    assert response.message.metadata.stop_reason is il.StopReason.ERROR
    assert response.error == error


def test_the_last_stop_reason_wins() -> None:
    stops = [Stop(il.StopReason.END_TURN), Stop(il.StopReason.TOOL_USE)]
    assert il.fold(stops).message.metadata.stop_reason is il.StopReason.TOOL_USE


def test_several_answers_and_several_messages_are_distinguished() -> None:
    both = il.fold([TextDelta(0, "a"), TextDelta(0, "b", choice=1)])
    assert (both.message.text, both.alternatives[0].text) == ("a", "b")
    one = il.unfold(il.Response(il.Message.assistant("one")))
    two = il.unfold(il.Response(il.Message.assistant("two")))
    assert [each.message.text for each in il.fold_all([*one, *two])] == ["one", "two"]


def test_blocks_may_start_with_more_than_text() -> None:
    start = BlockStart(0, il.RefusalBlock("N"))
    assert folder(start, BlockDelta(0, "text", "o")).message().content == (il.RefusalBlock("No"),)
