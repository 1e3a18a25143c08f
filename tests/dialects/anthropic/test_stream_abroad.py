"""Streams of others, written as streams of the Messages API."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import RawMessageStreamEvent
from anthropic.types.beta import BetaRawMessageStreamEvent
from hypothesis import given, settings
from pydantic import TypeAdapter

import interlingua as il
from interlingua.dialects.anthropic import DIALECT
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
from tests.dialects.anthropic import streaming
from tests.dialects.anthropic.streaming import Json, abroad, block, called, fold, goes_home, talk
from tests.effort import examples
from tests.laws import laws, strategies

_FRAME: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
_BETA: TypeAdapter[Any] = TypeAdapter(BetaRawMessageStreamEvent)
"""Whose types know compaction."""


def accepted(wires: list[Json]) -> bool:
    for wire in wires:
        if wire["type"] != "error":
            told = {**wire.get("content_block", {}), **wire.get("delta", {})}
            is_beta = str(told.get("type")).startswith("compaction")
            (_BETA if is_beta else _FRAME).validate_python(wire)
    return True


def answer(*content: il.Block, **metadata: Any) -> il.Response:
    fields = {"stop_reason": il.StopReason.END_TURN, **metadata}
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**fields)))


def told(response: il.Response, *events: Event) -> tuple[list[Json], Report]:
    """A stream of these events about the blocks of a response."""
    wires, report = abroad([MessageStart("gpt-5", "resp_1"), *events, MessageComplete(response)])
    assert accepted(wires)
    goes_home(wires)
    return wires, report


def deltas(wires: list[Json]) -> list[Json]:
    return [wire["delta"] for wire in wires if wire["type"] == "content_block_delta"]


def kinds(wires: list[Json]) -> list[str]:
    return [wire["type"] for wire in wires]


ONE = il.ToolUseBlock("call_1", "add", {"a": 1})
TWO = il.ToolUseBlock("call_2", "add", {"b": 2})


def test_a_block_of_which_the_end_alone_tells_the_kind_has_a_start() -> None:
    image = il.ImageBlock(il.Source("url", "https://example.com/a.png"))
    text = il.TextBlock("Hello")
    wires, _ = told(answer(text), BlockStart(0, image), BlockEnd(0, text))
    assert deltas(wires)[0] == {"type": "text_delta", "text": "Hello"}
    assert fold(wires).message.content == (text,)


def test_a_plain_answer_is_written_in_the_order_of_this_wire() -> None:
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
    assert wires == [
        {
            "type": "message_start",
            "message": {
                "id": "resp_1",
                "type": "message",
                "role": "assistant",
                "model": "gpt-5",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        },
        *block(0, {"type": "text", "text": ""}, *streaming.words("Hel", "lo")),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"input_tokens": 4, "output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    assert not report.entries


@pytest.mark.requirement("P28", "P31")
def test_calls_that_are_written_in_turns_are_written_one_after_the_other() -> None:
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
    assert [delta["partial_json"] for delta in deltas(wires)] == ['{"a":', "1}", '{"b":', "2}"]
    assert fold(wires).message.content == (ONE, TWO)


def test_what_can_be_said_is_not_kept_waiting() -> None:
    writer = DIALECT.stream_writer()
    events: list[Event] = [
        MessageStart(),
        ToolUseStart(0, "call_1", "add"),
        ToolUseInputDelta(0, "{"),
        ToolUseStart(1, "call_2", "add"),
        ToolUseInputDelta(1, "{"),
        ToolUseInputDelta(0, "}"),
        ToolUseEnd(0, {}),
        ToolUseInputDelta(1, "}"),
        ToolUseEnd(1, {}),
    ]
    assert [len(writer.feed(event)) for event in events] == [1, 1, 1, 0, 0, 1, 3, 1, 1]


@pytest.mark.parametrize("pieces", [(), ("",), ("{}",), ("{", "}")])
@pytest.mark.requirement("P31")
def test_a_call_without_arguments_closes(pieces: tuple[str, ...]) -> None:
    call = il.ToolUseBlock("call_1", "now", {})
    wires, _ = told(
        answer(call, stop_reason=il.StopReason.TOOL_USE),
        ToolUseStart(0, "call_1", "now"),
        *(ToolUseInputDelta(0, piece) for piece in pieces),
        ToolUseEnd(0, {}),
    )
    assert "".join(delta["partial_json"] for delta in deltas(wires)) == "{}"
    assert fold(wires).message.content == (call,)


def test_a_call_that_comes_whole_is_one_start_one_piece_one_end() -> None:
    wires, _ = told(answer(ONE), ToolUseStart(0, "call_1", "add"), ToolUseEnd(0, {"a": 1}))
    assert wires[1:4] == block(0, called("add", "call_1"), *streaming.given('{"a":1}'))


def test_free_text_for_a_tool_becomes_an_object() -> None:
    call = il.ToolUseBlock("call_1", "patch", {"input": "*** x"}, call_type="custom")
    wires, report = told(
        answer(call),
        ToolUseStart(0, "call_1", "patch", call_type="custom"),
        ToolUseInputDelta(0, "*** "),
        ToolUseInputDelta(0, "x"),
        ToolUseEnd(0, {"input": "*** x"}),
    )
    assert deltas(wires) == streaming.given('{"input":"*** x"}')
    assert [loss.path for loss in report.entries] == ["$.message.content[0].call_type"]


def test_a_signature_comes_last_in_its_block_whenever_it_came() -> None:
    thinking = il.ThinkingBlock("Hm.", "sig")
    wires, _ = told(
        answer(thinking),
        BlockStart(0, il.ThinkingBlock("")),
        BlockDelta(0, "signature", "sig"),
        ThinkingDelta(0, "Hm."),
        BlockEnd(0, thinking),
    )
    assert deltas(wires) == [*streaming.thoughts("Hm."), streaming.signed("sig")]


@pytest.mark.parametrize(
    ("first", "events", "last"),
    [
        (il.TextBlock("He"), [TextDelta(0, "y")], il.TextBlock("Hey")),
        (il.TextBlock(""), [], il.TextBlock("Hey")),
        (il.TextBlock(""), [TextDelta(0, "H")], il.TextBlock("Hey")),
        (il.ThinkingBlock("a"), [], il.ThinkingBlock("ab", "sig")),
        (il.ThinkingBlock(""), [], il.ThinkingBlock("", "sig")),
        (il.RedactedThinkingBlock("xyz"), [], il.RedactedThinkingBlock("xyz")),
    ],
)
@pytest.mark.requirement("P29")
def test_all_of_a_block_is_written_wherever_it_was_told(
    first: il.Block, events: list[Event], last: il.Block
) -> None:
    wires, _ = told(answer(last), BlockStart(0, first), *events, BlockEnd(0, last))
    assert fold(wires).message.content == (last,)


def test_pieces_without_a_start_open_their_block() -> None:
    wires, _ = abroad(
        [
            ThinkingDelta(0, "Hm"),
            BlockEnd(0, il.ThinkingBlock("Hm")),
            TextDelta(1, "Hi"),
            MessageComplete(answer(il.ThinkingBlock("Hm"), il.TextBlock("Hi"))),
        ]
    )
    assert fold(wires).message.content == (il.ThinkingBlock("Hm"), il.TextBlock("Hi"))


@pytest.mark.requirement("P30")
def test_an_empty_piece_opens_no_block() -> None:
    wires, _ = told(answer(), TextDelta(0, ""), ThinkingDelta(1, ""))
    assert kinds(wires) == ["message_start", "message_delta", "message_stop"]
    unopened = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": ""},
    }
    assert il.fold(goes_home(talk([unopened]))).message.content == ()


def test_a_refusal_is_written_as_text() -> None:
    refusal = il.RefusalBlock("No.")
    wires, report = told(
        answer(refusal, stop_reason=il.StopReason.REFUSAL),
        BlockStart(0, il.RefusalBlock("")),
        BlockDelta(0, "text", "N"),
        BlockDelta(0, "text", "o."),
        BlockEnd(0, refusal),
    )
    assert deltas(wires) == streaming.words("N", "o.")
    assert [(loss.kind, loss.path) for loss in report.entries] == [
        ("downgraded", "$.message.content[0]")
    ]


def test_what_has_no_place_is_left_out_and_reported_once() -> None:
    image = il.ImageBlock(il.Source("base64", "AAAA"), "image/tiff")
    search = il.ToolUseBlock("ws_1", "web_search", {"query": "x"}, executor="provider")
    wires, report = told(
        answer(search, image, il.TextBlock("a")),
        ToolUseStart(0, "ws_1", "web_search", "provider"),
        ToolUseInputDelta(0, '{"query":"x"}'),
        ToolUseEnd(0, {"query": "x"}),
        BlockStart(1, image),
        BlockEnd(1, image),
        BlockStart(2, il.TextBlock("")),
        TextDelta(2, "a"),
        BlockEnd(2, il.TextBlock("a")),
    )
    assert wires[1:-2] == block(0, {"type": "text", "text": ""}, *streaming.words("a"))
    assert [loss.path for loss in report.entries] == [
        "$.message.content[0]",
        "$.message.content[1]",
    ]


def test_further_answers_are_left_out_and_reported() -> None:
    response = answer(il.TextBlock("a")).replace(alternatives=(il.Message.assistant("b"),))
    wires, report = abroad(il.unfold(response))
    assert fold(wires).message.text == "a"
    assert [loss.path for loss in report.entries] == ["$.alternatives[0]"]


def test_marks_of_other_wires_say_nothing_here() -> None:
    rest = {"gemini": {"x": 1}}
    events = [
        event.replace(frame=FrameMark(0, rest if number == 0 else None))
        for number, event in enumerate(il.unfold(answer(il.TextBlock("a"), usage=il.Usage(1, 1))))
    ]
    written, _ = streaming.write(events)
    assert kinds(written) == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_nothing_comes_after_an_error() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down", "429", 429)
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
    assert kinds(wires)[-1] == "error"
    assert wires[-1]["error"] == {"type": "rate_limit_error", "message": "slow down"}
    assert [loss.path for loss in report.entries] == ["$.error.code", "$.error.status"]
    response = fold(wires)
    assert response.message.text == "Hel"
    assert response.error is not None
    assert response.error.kind is il.ErrorKind.RATE_LIMIT


def test_what_waited_when_a_stream_broke_off_is_reported() -> None:
    broken = [ONE.replace(input={}), TWO.replace(input={})]
    failed = il.MessageMetadata(stop_reason=il.StopReason.ERROR)
    wires, report = abroad(
        [
            MessageStart(),
            ToolUseStart(0, "call_1", "add"),
            ToolUseStart(1, "call_2", "add"),
            StreamError(
                il.ProviderError(il.ErrorKind.NETWORK, "cut"), il.Message.assistant(broken, failed)
            ),
        ]
    )
    assert kinds(wires) == ["message_start", "content_block_start", "error"]
    paths = [(loss.kind, loss.path) for loss in report.entries]
    assert ("dropped", "$.message.content[1]") in paths
    assert ("dropped", "$.message.content[0]") not in paths


def test_own_hosted_tools_come_back_from_a_folded_answer() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    response = fold(
        talk(
            block(0, search, *streaming.given('{"query":"x"}')),
            block(1, found),
            block(2, {"type": "text", "text": ""}, *streaming.words("a")),
            tokens=9,
        )
    )
    wires, report = abroad(il.unfold(response))
    assert not report.entries
    assert fold(wires) == response


def test_several_messages_are_written_one_after_the_other() -> None:
    one, two = answer(il.TextBlock("one")), answer(il.TextBlock("two"))
    wires, _ = streaming.write([*il.unfold(one), *il.unfold(two)])
    assert kinds(wires).count("message_start") == kinds(wires).count("message_stop") == 2
    assert fold(wires).message.text == "two"


@given(strategies.responses())
@settings(max_examples=examples(60))
def test_a_stream_keeps_what_a_whole_answer_keeps(response: il.Response) -> None:
    wires, report = abroad(il.unfold(response))
    assert accepted(wires)
    back = fold(wires)
    if response.error is not None:
        assert laws.compare(response, back, list(report.entries)) == []
        return
    written = DIALECT.write_response(response)
    again = DIALECT.read_response(written.wire)
    late = {loss.path for loss in report.entries} - {loss.path for loss in written.report.entries}
    assert all(path.endswith(".cache") for path in late)  # marks are for prompts
    assert [loss for loss in report.entries if loss.path not in late] == list(
        written.report.entries
    )
    lost = [path for path, _ in laws.facts(again) if path.endswith((".cache", ".ttl"))]
    assert laws.same_facts(back, again) or lost


@given(strategies.events())
@settings(max_examples=examples(60))
def test_pieces_of_any_size_give_the_same_answer(events: list[Event]) -> None:
    wires, _ = abroad(events)
    assert accepted(wires)
    goes_home(wires)
    complete = events[-1]
    assert isinstance(complete, MessageComplete)
    once, _ = abroad(il.unfold(complete.response))
    assert bare(fold(wires)) == bare(fold(once))


def bare(response: il.Response) -> list[il.Block]:
    return [each.replace(cache=None) for each in response.message.content]
