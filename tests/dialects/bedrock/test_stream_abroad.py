"""Streams of others, written as streams of Converse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

import interlingua as il
from interlingua.dialects.bedrock import DIALECT
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
from tests.dialects.bedrock import streaming
from tests.dialects.bedrock.streaming import (
    BEGUN,
    Named,
    abroad,
    called,
    fold,
    goes_home,
    redacted,
    talk,
    thoughts,
    words,
)
from tests.effort import examples
from tests.laws import laws, strategies


def answer(*content: il.Block, **metadata: Any) -> il.Response:
    fields = {"stop_reason": il.StopReason.END_TURN, **metadata}
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**fields)))


def told(response: il.Response, *events: Event) -> tuple[list[Named], Report]:
    """A stream of these events about the blocks of a response."""
    wires, report = abroad([MessageStart("gpt-5", "resp_1"), *events, MessageComplete(response)])
    goes_home(wires)
    return wires, report


def unfolded(*content: il.Block) -> tuple[list[Named], Report]:
    return told(answer(*content), *il.unfold(answer(*content))[1:-1])


def inside(wires: list[Named]) -> list[Named]:
    """The frames of the blocks."""
    return wires[1:-2]


def losses(report: Report) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in report.entries]


ONE = il.ToolUseBlock("tooluse_1", "add", {"a": 1})
TWO = il.ToolUseBlock("tooluse_2", "add", {"b": 2})


def test_a_plain_answer_is_written_in_the_order_of_this_wire() -> None:
    wires, report = told(
        answer(il.TextBlock("Hello"), usage=il.Usage(4, 2)),
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
        BEGUN,
        *words(0, "Hel", "lo"),
        {"messageStop": {"stopReason": "end_turn"}},
        {
            "metadata": {
                "usage": {"inputTokens": 4, "outputTokens": 2, "totalTokens": 6},
                "metrics": {"latencyMs": 0},
            }
        },
    ]
    assert not report.entries


@pytest.mark.requirement("P28", "P31")
def test_calls_that_are_written_in_turns_are_written_one_after_the_other() -> None:
    wires, _ = told(
        answer(ONE, TWO, stop_reason=il.StopReason.TOOL_USE),
        ToolUseStart(0, "tooluse_1", "add"),
        ToolUseStart(1, "tooluse_2", "add"),
        ToolUseInputDelta(1, '{"b":'),
        ToolUseInputDelta(0, '{"a":'),
        ToolUseInputDelta(1, "2}"),
        ToolUseInputDelta(0, "1}"),
        ToolUseEnd(1, {"b": 2}),
        ToolUseEnd(0, {"a": 1}),
    )
    one, two = called(0, '{"a":', "1}"), called(1, '{"b":', "2}", id="tooluse_2")
    assert inside(wires) == [*one, *two]
    assert fold(wires).message.content == (ONE, TWO)


def test_what_can_be_said_is_not_kept_waiting() -> None:
    writer = DIALECT.stream_writer()
    events: list[Event] = [
        MessageStart(),
        ToolUseStart(0, "tooluse_1", "add"),
        ToolUseInputDelta(0, '{"a":'),
        BlockStart(1, il.TextBlock("")),
        TextDelta(1, "b"),
        ToolUseInputDelta(0, "1}"),
        ToolUseEnd(0, {"a": 1}),
        TextDelta(1, "c"),
        BlockEnd(1, il.TextBlock("bc")),
    ]
    assert [len(writer.feed(event)) for event in events] == [1, 1, 1, 0, 0, 1, 2, 1, 1]


@pytest.mark.parametrize("pieces", [(), ("",), ("{}",), ("{", "}")])
@pytest.mark.requirement("P31")
def test_a_call_without_arguments_closes(pieces: tuple[str, ...]) -> None:
    wires, _ = told(
        answer(ONE.replace(input={})),
        ToolUseStart(0, "tooluse_1", "add"),
        *[ToolUseInputDelta(0, piece) for piece in pieces],
        ToolUseEnd(0, {}),
    )
    items = [piece for piece in pieces if piece] or ["{}"]
    assert inside(wires) == called(0, *items)


def test_a_call_that_comes_whole_is_one_start_one_piece_one_end() -> None:
    wires, _ = told(answer(ONE), ToolUseStart(0, "tooluse_1", "add"), ToolUseEnd(0, {"a": 1}))
    assert inside(wires) == called(0, '{"a":1}')


def test_free_text_for_a_tool_becomes_an_object() -> None:
    call = il.ToolUseBlock("tooluse_1", "add", {"input": "1 + 1"}, call_type="custom")
    wires, report = told(
        answer(call),
        ToolUseStart(0, "tooluse_1", "add", call_type="custom"),
        ToolUseInputDelta(0, "1 + 1"),
        ToolUseEnd(0, {"input": "1 + 1"}),
    )
    assert inside(wires) == called(0, '{"input":"1 + 1"}')
    assert losses(report) == [("downgraded", "$.message.content[0].call_type")]


@pytest.mark.parametrize("signature", ["sig", "", None])
def test_a_signature_comes_last_in_its_block_whenever_it_came(signature: str | None) -> None:
    thinking = il.ThinkingBlock("Hm", signature)
    wires, report = told(
        answer(thinking),
        BlockStart(0, il.ThinkingBlock("")),
        BlockDelta(0, "signature", signature),
        ThinkingDelta(0, "H"),
        ThinkingDelta(0, "m"),
        BlockEnd(0, thinking),
    )
    assert inside(wires) == thoughts(0, "H", "m", signature=signature)
    assert not report.entries


def test_thinking_that_is_hidden_keeps_its_signature() -> None:
    wires, report = unfolded(il.ThinkingBlock("", "sig"), il.RedactedThinkingBlock("xyz"))
    assert inside(wires) == [*thoughts(0, signature="sig"), *redacted(1, "xyz")]
    assert not report.entries


def test_a_block_may_end_as_another_kind_than_it_began() -> None:
    hidden, shown = il.RedactedThinkingBlock("xyz"), il.ThinkingBlock("Hm", "sig")
    wires, _ = told(
        answer(shown, hidden),
        BlockStart(0, hidden),
        BlockEnd(0, shown),
        BlockStart(1, il.ThinkingBlock("")),
        BlockEnd(1, hidden),
    )
    assert inside(wires) == [*thoughts(0, "Hm", signature="sig"), *redacted(1, "xyz")]


@pytest.mark.parametrize(
    "events",
    [
        [BlockStart(0, il.TextBlock("")), BlockEnd(0, il.TextBlock("Hello"))],
        [BlockStart(0, il.TextBlock("Hel")), BlockEnd(0, il.TextBlock("Hello"))],
        [BlockStart(0, il.TextBlock("Hel")), TextDelta(0, "lo")],
        [TextDelta(0, "Hel"), TextDelta(0, "lo")],
        [TextDelta(0, ""), TextDelta(0, "Hello"), BlockEnd(0, il.TextBlock("Hello"))],
        [BlockStart(0, il.TextBlock("")), BlockDelta(0, "text", "Hello")],
    ],
)
@pytest.mark.requirement("P29", "P30")
def test_all_of_a_block_is_written_wherever_it_was_told(events: list[Event]) -> None:
    wires, _ = told(answer(il.TextBlock("Hello")), *events)
    assert fold(wires).message.content == (il.TextBlock("Hello"),)


def test_pieces_of_thinking_without_a_start_open_their_block() -> None:
    blocks = (il.ThinkingBlock("Hm", "sig"), il.TextBlock("a"))
    wires, _ = told(
        answer(*blocks), ThinkingDelta(0, "Hm"), BlockEnd(0, blocks[0]), TextDelta(1, "a")
    )
    assert fold(wires).message.content == blocks


@pytest.mark.requirement("P30")
def test_blocks_that_say_nothing_leave_no_gap_and_are_reported() -> None:
    wires, report = unfolded(il.TextBlock(""), il.ThinkingBlock(""), il.TextBlock("a"))
    assert inside(wires) == words(0, "a")
    assert losses(report) == [
        ("dropped", "$.message.content[0]"),
        ("dropped", "$.message.content[1]"),
    ]


def test_citations_stand_in_the_block_of_their_text() -> None:
    cited = il.Citation("It is warm.", "https://example.com/", "Weather")
    late = il.Citation(url="https://example.com/2")
    text = il.TextBlock("Warm.", citations=(cited, late))
    wires, report = told(
        answer(text),
        BlockStart(0, il.TextBlock("")),
        BlockDelta(0, "citations", cited),
        TextDelta(0, "Warm."),
        BlockEnd(0, text),
    )
    assert [list(each["contentBlockDelta"]["delta"]) for each in inside(wires)[:-1]] == [
        ["citation"],
        ["text"],
        ["citation"],
    ]
    (back,) = fold(wires).message.content
    assert isinstance(back, il.TextBlock)
    assert (back.text, back.citations) == ("Warm.", (cited, late))
    assert not report.entries


def test_a_refusal_is_written_as_text() -> None:
    refusal = il.RefusalBlock("No.")
    wires, report = told(
        answer(refusal, stop_reason=il.StopReason.REFUSAL),
        BlockStart(0, il.RefusalBlock("")),
        BlockDelta(0, "text", "N"),
        BlockDelta(0, "text", "o."),
        BlockEnd(0, refusal),
    )
    assert inside(wires) == words(0, "N", "o.")
    assert wires[-2] == {"messageStop": {"stopReason": "content_filtered"}}
    assert ("downgraded", "$.message.content[0]") in losses(report)


def test_hosted_tools_and_images_have_a_start() -> None:
    blocks: list[il.Block] = [
        il.ToolUseBlock("srv_1", "web_search", {"query": "x"}, executor="provider"),
        il.ToolResultBlock("srv_1", (il.TextBlock("found"),), is_error=True),
        il.ToolResultBlock("srv_2", ()),
        il.ImageBlock(il.Source("base64", "iVBORw0KGgo="), "image/png"),
    ]
    wires, report = unfolded(*blocks)
    assert [next(iter(each)) for each in inside(wires)] == [
        *("contentBlockStart", "contentBlockDelta", "contentBlockStop"),
        *("contentBlockStart", "contentBlockDelta", "contentBlockStop"),
        *("contentBlockStart", "contentBlockStop"),
        *("contentBlockStart", "contentBlockDelta", "contentBlockStop"),
    ]
    assert fold(wires).message.content == tuple(blocks)
    assert not report.entries


def test_what_has_no_place_is_left_out_and_reported_once() -> None:
    image = il.ImageBlock(il.Source("base64", "iVBORw0KGgo="), "image/png")
    blocks: list[il.Block] = [
        il.TextBlock("a", cache=il.Cache()),
        il.DocumentBlock(il.Source("text", "b"), "text/plain", name="c"),
        il.ToolResultBlock("srv_1", (il.TextBlock("d"), image)),
        il.UnknownBlock({"gemini": {"x": 1}}),
    ]
    wires, report = unfolded(*blocks)
    assert fold(wires).message.content == (
        il.TextBlock("a"),
        il.ToolResultBlock("srv_1", (il.TextBlock("d"),)),
    )
    assert sorted(losses(report)) == [
        ("dropped", "$.message.content[0].cache"),
        ("dropped", "$.message.content[1]"),
        ("dropped", "$.message.content[2].content[1]"),
        ("dropped", "$.message.content[3]"),
    ]


def test_further_answers_are_left_out_and_reported() -> None:
    response = answer(il.TextBlock("a")).replace(alternatives=(il.Message.assistant("b"),))
    wires, report = abroad(il.unfold(response))
    assert inside(wires) == words(0, "a")
    assert [loss.path for loss in report.entries] == ["$.alternatives[0]"]


def test_marks_of_other_wires_say_nothing_here() -> None:
    mark = FrameMark(0, {"anthropic": {"x": 1}})
    events = [event.replace(frame=mark) for event in il.unfold(answer(il.TextBlock("a")))]
    assert streaming.write(events) == streaming.write(il.unfold(answer(il.TextBlock("a"))))


@pytest.mark.parametrize(
    ("kind", "code", "name", "paths"),
    [
        (il.ErrorKind.RATE_LIMIT, None, "throttlingException", []),
        (il.ErrorKind.RATE_LIMIT, "429", "throttlingException", ["$.error.code"]),
        (il.ErrorKind.SERVER_ERROR, "InternalServerException", "internalServerException", []),
        (il.ErrorKind.INVALID_REQUEST, None, "validationException", []),
        (il.ErrorKind.AUTH, None, "validationException", ["$.error.kind"]),
        (il.ErrorKind.NETWORK, None, "serviceUnavailableException", ["$.error.kind"]),
        (il.ErrorKind.OTHER, "X", "internalServerException", ["$.error.kind", "$.error.code"]),
    ],
)
def test_nothing_comes_after_an_error(
    kind: il.ErrorKind, code: str | None, name: str, paths: list[str]
) -> None:
    error = il.ProviderError(kind, "slow down", code)
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
    assert wires == [BEGUN, words(0, "Hel")[0], {name: {"message": "slow down"}}]
    assert [loss.path for loss in report.entries] == paths
    response = fold(wires)
    assert response.message.text == "Hel"
    assert response.error is not None
    assert (response.error.kind is kind) == ("$.error.kind" not in paths)


def test_what_waited_when_a_stream_broke_off_is_reported() -> None:
    broken = [ONE.replace(input={}), TWO.replace(input={})]
    failed = il.MessageMetadata(stop_reason=il.StopReason.ERROR)
    wires, report = abroad(
        [
            MessageStart(),
            ToolUseStart(0, "tooluse_1", "add"),
            ToolUseStart(1, "tooluse_2", "add"),
            StreamError(
                il.ProviderError(il.ErrorKind.RATE_LIMIT, "cut"),
                il.Message.assistant(broken, failed),
            ),
        ]
    )
    assert [next(iter(each)) for each in wires] == [
        "messageStart",
        "contentBlockStart",
        "throttlingException",
    ]
    assert losses(report) == [("dropped", "$.message.content[1]")]


def test_what_is_private_to_this_wire_comes_back_from_a_folded_answer() -> None:
    fields = {"delta": {"stop_sequence": None}}
    response = fold(
        talk(
            [
                streaming.start(0, toolUse={"toolUseId": "a", "name": "b", "x_more": 1}),
                streaming.stop(0),
                streaming.start(1, toolResult={"toolUseId": "a", "type": "c", "status": "success"}),
                streaming.delta(1, toolResult=[{"json": {"d": 1}}]),
                streaming.stop(1),
            ],
            additionalModelResponseFields=fields,
        )
    )
    wires, report = streaming.write(il.unfold(response))
    assert not report.entries
    assert fold(wires) == response


def test_what_stands_around_a_whole_message_is_reported() -> None:
    message = {"role": "assistant", "content": [{"text": "a", "x_inner": 1}], "x_more": 1}
    response = DIALECT.read_response(
        {"output": {"message": message, "x_beside": 1}, "stopReason": "end_turn"}
    )
    _, report = streaming.write(il.unfold(response))
    assert [loss.path for loss in report.entries] == [
        "$.message.content[0].raw.bedrock.$beside",
        "$.raw.bedrock.output",
        "$.message.metadata.provider_raw.bedrock.x_more",
    ]


def test_several_messages_are_written_one_after_the_other() -> None:
    one, two = answer(il.TextBlock("one")), answer(il.TextBlock("two"))
    wires, _ = streaming.write([*il.unfold(one), *il.unfold(two)])
    assert [next(iter(each)) for each in wires].count("metadata") == 2
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
    # Streams have no place for documents, other media, cache points and empty blocks.
    more = [loss for loss in report.entries if loss not in list(written.report.entries)]
    assert {loss.kind for loss in more} <= {"dropped"}
    assert [loss for loss in report.entries if loss not in more] == list(written.report.entries)
    assert more or laws.same_facts(back, DIALECT.read_response(written.wire))


@given(strategies.events())
@settings(max_examples=examples(60))
def test_pieces_of_any_size_give_the_same_answer(events: list[Event]) -> None:
    wires, _ = abroad(events)
    goes_home(wires)
    complete = events[-1]
    assert isinstance(complete, MessageComplete)
    once, _ = abroad(il.unfold(complete.response))
    assert fold(wires).message.content == fold(once).message.content
