"""Streams of others, written as streams of Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from openai.types.chat import ChatCompletionChunk

import interlingua as il
from interlingua.dialects.anthropic import DIALECT as ANTHROPIC
from interlingua.dialects.openai_chat import DIALECT
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
from interlingua.streams.frames import Frame
from tests.dialects.openai_chat.streaming import (
    DONE,
    abroad,
    chunk,
    deltas,
    fold,
    goes_home,
    read,
    write,
)
from tests.effort import examples
from tests.laws import laws, strategies

Json = dict[str, Any]


def accepted(wires: list[Any]) -> bool:
    for wire in wires:
        if wire != DONE and "error" not in wire:
            ChatCompletionChunk.model_validate(wire)
    return True


def answer(*content: il.Block, **metadata: Any) -> il.Response:
    fields = {"stop_reason": il.StopReason.END_TURN, **metadata}
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**fields)))


def told(response: il.Response, *events: Event) -> tuple[list[Any], Report]:
    """A stream of these events about the blocks of a response."""
    start = MessageStart("claude-sonnet-5", "msg_1")
    wires, report = abroad([start, *events, MessageComplete(response)])
    assert accepted(wires)
    goes_home(wires)
    return wires, report


def unfolded(*content: il.Block, **metadata: Any) -> tuple[list[Any], Report]:
    response = answer(*content, **metadata)
    wires, report = abroad(il.unfold(response))
    assert accepted(wires)
    goes_home(wires)
    return wires, report


def block(index: int, *pieces: str) -> list[Event]:
    """A text block from its start to its end."""
    items = [TextDelta(index, piece) for piece in pieces]
    end = BlockEnd(index, il.TextBlock("".join(pieces)))
    return [BlockStart(index, il.TextBlock("")), *items, end]


HEAD = {"id": "msg_1", "object": "chat.completion.chunk", "created": 0, "model": "claude-sonnet-5"}


def chunk_of(delta: Json | None, word: Any = None, **more: Any) -> Json:
    return {**chunk(delta, word), **HEAD, **more}


def test_a_plain_answer_is_written_in_the_order_of_this_wire() -> None:
    usage = il.Usage(10, 3)
    response = answer(il.TextBlock("Hello"), usage=usage)
    stop = Stop(il.StopReason.END_TURN, "end_turn")
    wires, report = told(response, UsageUpdate(usage), stop, *block(0, "Hel", "lo"))
    counts = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    full = {**HEAD, "id": "chatcmpl-none", "model": ""}
    assert wires[:4] == [
        chunk_of({"role": "assistant", "content": ""}),
        chunk_of({"content": "Hel"}),
        chunk_of({"content": "lo"}),
        {**chunk_of({}, "stop"), **full},
    ]
    assert wires[4:] == [{**chunk_of(None, usage=counts), **full}, DONE]
    assert list(report.entries) == []


@pytest.mark.requirement("P28", "P31")
def test_calls_keep_their_own_number_and_may_be_told_in_turns() -> None:
    one = il.ToolUseBlock("toolu_1", "f", {"a": 1})
    two = il.ToolUseBlock("toolu_2", "g", {})
    wires, _ = told(
        answer(one, two, stop_reason=il.StopReason.TOOL_USE),
        ToolUseStart(3, "toolu_1", "f"),
        ToolUseInputDelta(3, '{"a"'),
        ToolUseStart(5, "toolu_2", "g"),
        ToolUseInputDelta(3, ":1}"),
        ToolUseEnd(5, {}),
        ToolUseEnd(3, {"a": 1}),
    )
    pieces = [delta["tool_calls"][0] for delta in deltas(wires)]
    assert [(piece["index"], piece["function"].get("arguments")) for piece in pieces] == [
        (0, ""),
        (0, '{"a"'),
        (1, ""),
        (0, ":1}"),
        (1, "{}"),
    ]
    assert [piece.get("id") for piece in pieces] == ["toolu_1", None, "toolu_2", None, None]
    assert fold(wires).message.content == (one, two)


@pytest.mark.requirement("P29")
def test_texts_that_overlap_are_written_one_after_the_other() -> None:
    events = [
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "a"),
        BlockStart(1, il.TextBlock("")),
        TextDelta(1, "x"),
        TextDelta(0, "b"),
        BlockEnd(0, il.TextBlock("ab")),
        TextDelta(1, "y"),
        BlockEnd(1, il.TextBlock("xy")),
    ]
    wires, report = told(answer(il.TextBlock("ab"), il.TextBlock("xy")), *events)
    assert [delta["content"] for delta in deltas(wires)] == ["a", "b", "x", "y"]
    assert [loss.path for loss in report.entries] == ["$.message.content[1]"]  # where one text ends


def test_what_can_be_said_is_not_kept_waiting() -> None:
    writer = DIALECT.stream_writer()
    counts = [
        len(writer.feed(event))
        for event in [
            MessageStart("m", "r"),
            BlockStart(0, il.ThinkingBlock("")),
            ThinkingDelta(0, "Hm"),
            BlockStart(1, il.TextBlock("")),
            TextDelta(1, "a"),
            ThinkingDelta(0, "!"),
            ToolUseStart(2, "toolu_1", "f"),
            ToolUseInputDelta(2, "{}"),
        ]
    ]
    assert counts == [1, 0, 1, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([il.ThinkingBlock("Hm")], [{"reasoning_content": "Hm"}]),
        (
            [il.ThinkingBlock("Hm", "sig")],
            [
                {"reasoning_content": "Hm"},
                {
                    "thinking_blocks": [
                        {"type": "thinking", "thinking": "Hm", "signature": "sig", "index": 0}
                    ]
                },
            ],
        ),
        (
            [il.ThinkingBlock("a"), il.RedactedThinkingBlock("xyz"), il.ThinkingBlock("", "sig")],
            [
                {"reasoning_content": "a"},
                {"thinking_blocks": [{"type": "thinking", "thinking": "a", "index": 0}]},
                {"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz", "index": 1}]},
                {
                    "thinking_blocks": [
                        {"type": "thinking", "thinking": "", "signature": "sig", "index": 2}
                    ]
                },
            ],
        ),
    ],
)
def test_thinking_is_a_string_and_a_list_where_more_is_to_be_said(
    content: list[il.Block], said: list[Json]
) -> None:
    wires, report = unfolded(*content, il.TextBlock("ok"))
    assert deltas(wires) == [*said, {"content": "ok"}]
    assert fold(wires).message.content == (*content, il.TextBlock("ok"))
    assert list(report.entries) == []


def test_two_thoughts_without_signatures_stay_two() -> None:
    content = (il.ThinkingBlock("a"), il.ThinkingBlock("b"), il.TextBlock("c"))
    wires, report = unfolded(*content)
    assert fold(wires).message.content == content
    assert list(report.entries) == []


def test_a_signature_that_comes_early_is_written_with_its_thought() -> None:
    wires, _ = told(
        answer(il.ThinkingBlock("Hm", "sig")),
        BlockStart(0, il.ThinkingBlock("")),
        BlockDelta(0, "signature", "sig"),
        ThinkingDelta(0, "Hm"),
        BlockEnd(0, il.ThinkingBlock("Hm", "sig")),
    )
    assert fold(wires).message.content == (il.ThinkingBlock("Hm", "sig"),)


def test_a_refusal_is_written_in_pieces() -> None:
    wires, report = told(
        answer(il.RefusalBlock("I cannot"), stop_reason=il.StopReason.REFUSAL),
        BlockStart(0, il.RefusalBlock("")),
        BlockDelta(0, "text", "I "),
        BlockDelta(0, "text", "cannot"),
        BlockEnd(0, il.RefusalBlock("I cannot")),
    )
    assert deltas(wires) == [{"refusal": "I "}, {"refusal": "cannot"}]
    assert fold(wires).message.metadata.stop_reason is il.StopReason.REFUSAL
    assert list(report.entries) == []


def test_speech_is_written_whole_and_citations_at_the_end() -> None:
    citation = il.Citation(url="https://example.com/", title="Example", start=0, end=5)
    speech = il.AudioBlock(il.Source("base64", "AAAA"), transcript="Hey")
    content = (il.TextBlock("Hello", citations=(citation,)), speech)
    wires, report = unfolded(*content)
    assert [set(delta) for delta in deltas(wires)[-2:]] == [{"audio"}, {"annotations"}]
    assert fold(wires).message.content == content
    assert list(report.entries) == []


def test_free_text_for_a_tool_is_written_whole_and_without_a_type() -> None:
    call = il.ToolUseBlock("call_1", "patch", {"input": "a b"}, call_type="custom")
    wires, report = told(
        answer(call, stop_reason=il.StopReason.TOOL_USE),
        ToolUseStart(0, "call_1", "patch", call_type="custom"),
        ToolUseInputDelta(0, "a b"),
        ToolUseEnd(0, {"input": "a b"}),
    )
    (delta,) = deltas(wires)
    custom = {"name": "patch", "input": "a b"}
    assert delta["tool_calls"] == [{"index": 0, "id": "call_1", "custom": custom}]
    assert fold(wires).message.content == (call,)
    assert list(report.entries) == []


def test_calls_wait_for_free_text_before_them() -> None:
    patch = il.ToolUseBlock("call_1", "patch", {"input": "a b"}, call_type="custom")
    call = il.ToolUseBlock("call_2", "f", {"a": 1})
    events = [
        ToolUseStart(0, "call_1", "patch", call_type="custom"),
        ToolUseStart(1, "call_2", "f"),
        ToolUseInputDelta(1, '{"a":1}'),
        ToolUseEnd(1, {"a": 1}),
    ]
    whole = answer(patch, call, stop_reason=il.StopReason.TOOL_USE)
    for ending in ([], [ToolUseEnd(0, {"input": "a b"})]):  # also where nobody has ended it
        wires, report = told(whole, *events, *ending)
        pieces = [piece for delta in deltas(wires) for piece in delta.get("tool_calls", ())]
        assert [(piece["index"], piece["id"]) for piece in pieces] == [(0, "call_1"), (1, "call_2")]
        assert fold(wires).message.content == (patch, call)
        assert list(report.entries) == []


def test_a_call_that_google_signed_is_signed_at_the_end() -> None:
    call = il.ToolUseBlock("call_1", "f", {}, signature="sig")
    wires, report = unfolded(call, protocol="gemini", stop_reason=il.StopReason.TOOL_USE)
    assert fold(wires).message.content == (call,)
    assert list(report.entries) == []


def test_a_document_of_text_is_written_as_text() -> None:
    document = il.DocumentBlock(il.Source("text", "page"))
    wires, report = unfolded(il.TextBlock("a"), document)
    assert "".join([delta["content"] for delta in deltas(wires)]) == "apage"
    assert [loss.path for loss in report.entries] == ["$.message.content[1]"]


@pytest.mark.parametrize(
    "events",
    [
        [BlockStart(0, il.TextBlock("ab")), BlockEnd(0, il.TextBlock("ab"))],
        [BlockStart(0, il.TextBlock("a")), TextDelta(0, "b"), BlockEnd(0, il.TextBlock("ab"))],
        [BlockStart(0, il.TextBlock("")), BlockEnd(0, il.TextBlock("ab"))],
        [BlockEnd(0, il.TextBlock("ab"))],
        [TextDelta(0, "a"), TextDelta(0, "b")],
    ],
)
def test_all_of_a_block_is_written_wherever_it_was_told(events: list[Event]) -> None:
    wires, _ = told(answer(il.TextBlock("ab")), *events)
    assert fold(wires).message.text == "ab"


@pytest.mark.requirement("P30")
def test_an_empty_piece_is_not_said() -> None:
    events = [BlockStart(0, il.TextBlock("")), TextDelta(0, ""), *block(1, "a")]
    wires, _ = told(answer(il.TextBlock("a")), *events)
    assert deltas(wires) == [{"content": "a"}]


def test_what_has_no_place_is_left_out_and_reported_once() -> None:
    call = il.ToolUseBlock("srv_1", "web_search", {"query": "x"}, executor="provider")
    result = il.ToolResultBlock("srv_1", (il.TextBlock("found"),))
    wires, report = unfolded(call, result, il.TextBlock("a"))
    assert deltas(wires) == [{"content": "a"}]
    assert [loss.path for loss in report.entries] == [
        "$.message.content[0]",
        "$.message.content[1]",
    ]


@pytest.mark.parametrize("before", [(), (il.ThinkingBlock("Hm"),), (il.ThinkingBlock("", "s"),)])
def test_thinking_without_text_is_said_all_the_same(before: tuple[il.Block, ...]) -> None:
    content = (*before, il.ThinkingBlock(""), il.TextBlock("a"))
    wires, report = unfolded(*content)
    assert fold(wires).message.content == content
    assert list(report.entries) == []


def test_several_answers_are_several_choices() -> None:
    other = il.Message.assistant(
        [il.TextBlock("b")], il.MessageMetadata(stop_reason=il.StopReason.MAX_TOKENS)
    )
    response = answer(il.TextBlock("a")).replace(alternatives=(other,))
    wires, report = abroad(il.unfold(response))
    assert accepted(wires)
    folded = fold(wires)
    assert (folded.message.text, folded.alternatives[0].text) == ("a", "b")
    assert folded.alternatives[0].metadata.stop_reason is il.StopReason.MAX_TOKENS
    assert list(report.entries) == []


def test_answers_that_only_the_end_tells_are_said() -> None:
    wires, _ = abroad([MessageComplete(answer(il.TextBlock("a")))])
    assert accepted(wires)
    assert wires[-1] == DONE
    events = il.unfold(answer(il.TextBlock("a")))[1:]
    wires, _ = abroad(events)  # without a start
    assert fold(wires).message.text == "a"


def test_marks_of_other_wires_say_nothing_here() -> None:
    mark = FrameMark(0, {"anthropic": {"type": "ping"}})
    wires, _ = write([Other(frame=mark), *il.unfold(answer(il.TextBlock("a")))])
    assert fold(wires).message.text == "a"


def test_an_error_is_the_last_that_is_said() -> None:
    error = il.ProviderError(il.ErrorKind.SERVER_ERROR, "Overloaded", status=529)
    partial = answer(il.TextBlock("a"), stop_reason=il.StopReason.ERROR).message
    events = [
        MessageStart("m", "r"),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "a"),
        StreamError(error, partial),
        TextDelta(0, "b"),
        MessageComplete(answer(il.TextBlock("ab"))),
    ]
    wires, report = abroad(events)
    assert wires[-1]["error"]["message"] == "Overloaded"
    assert DONE not in wires
    assert [loss.path for loss in report.entries] == ["$.error.status"]
    last = read(wires)[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.SERVER_ERROR
    assert last.partial is not None
    assert last.partial.text == "a"


def test_an_error_may_be_all_there_is() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "Slow")
    wires, _ = abroad([StreamError(error)])
    assert [list(wire) for wire in wires] == [["error"]]


def test_what_waited_when_a_stream_broke_off_is_said() -> None:
    citation = il.Citation(url="https://example.com/", title="E", start=0, end=1)
    content = (il.TextBlock("a", citations=(citation,)), il.TextBlock("x"))
    partial = answer(*content, stop_reason=il.StopReason.ERROR).message
    events = [
        MessageStart("m", "r"),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "a"),
        BlockStart(1, il.TextBlock("")),
        TextDelta(1, "x"),
        StreamError(il.ProviderError(il.ErrorKind.NETWORK, "cut"), partial),
    ]
    wires, _ = abroad(events)
    last = read(wires)[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    assert last.partial.text == "ax"
    assert last.partial.content[0].citations == (citation,)  # type: ignore[union-attr]  # a text


def test_a_second_message_has_no_place() -> None:
    one, two = answer(il.TextBlock("one")), answer(il.TextBlock("two"))
    wires, report = abroad([*il.unfold(one), *il.unfold(two)])
    assert wires.count(DONE) == 1
    assert fold(wires).message.text == "one"
    assert [loss.path for loss in report.entries] == ["$"]


def test_a_stream_there_and_back_tells_the_same() -> None:
    content = (
        il.ThinkingBlock("Hm, well", "sig"),
        il.TextBlock("Grüße, 世界"),
        il.ToolUseBlock("toolu_1", "f", {"a": "é"}),
        il.ToolUseBlock("toolu_2", "g", {}),
    )
    response = answer(*content, stop_reason=il.StopReason.TOOL_USE, usage=il.Usage(1, 2))
    events: list[Event] = il.unfold(response)
    for source in (ANTHROPIC, DIALECT, ANTHROPIC):
        writer, reader = source.stream_writer(), source.stream_reader()
        frames = [Frame(f.event, f.data) for event in events for f in writer.feed(event)]
        events = [event for each in frames for event in reader.feed(each)]
    assert il.fold(events).message.content == content


@given(strategies.responses())
@settings(max_examples=examples(60))
def test_a_stream_keeps_what_a_whole_answer_keeps(response: il.Response) -> None:
    wires, report = abroad(il.unfold(response))
    assert accepted(wires)
    back = il.fold(read(wires))
    if response.error is not None:
        assert laws.compare(response, back, list(report.entries)) == []
        return
    written = DIALECT.write_response(response)
    again = DIALECT.read_response(written.wire)
    assert list(report.entries) == list(written.report.entries)
    assert laws.same_facts(back, again)


@given(strategies.events())
@settings(max_examples=examples(60))
def test_pieces_of_any_size_give_the_same_answer(events: list[Event]) -> None:
    wires, _ = abroad(events)
    assert accepted(wires)
    goes_home(wires)
    complete = events[-1]
    assert isinstance(complete, MessageComplete)
    once, _ = abroad(il.unfold(complete.response))
    assert bare(il.fold(read(wires))) == bare(il.fold(read(once)))


def bare(response: il.Response) -> list[il.Block]:
    """The blocks without the spelling of arguments."""
    return [
        block.replace(raw_arguments=None) if isinstance(block, il.ToolUseBlock) else block
        for block in response.message.content
    ]


def test_a_frame_is_one_line() -> None:
    writer = DIALECT.stream_writer()
    frames = [f for e in il.unfold(answer(il.TextBlock("a\r\nb\n"))) for f in writer.feed(e)]
    assert not any("\n" in each.data for each in frames)
    assert [json.loads(f.data) for f in frames[:-1]]
