"""Streams of others, written as streams of the Responses API."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

import interlingua as il
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.base import difference, same
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
from tests.dialects.openai_responses import streaming
from tests.dialects.openai_responses.streaming import Json, abroad, fold, goes_home
from tests.effort import examples
from tests.laws import laws, strategies

_FRAME: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def accepted(wires: list[Json]) -> bool:
    for wire in wires:
        _FRAME.validate_python(wire)
    return True


def answer(*content: il.Block, **metadata: Any) -> il.Response:
    fields = {
        "stop_reason": il.StopReason.END_TURN,
        "response_id": "msg_9",
        "response_model": "claude-sonnet-5",
        **metadata,
    }
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**fields)))


def told(response: il.Response, *events: Event) -> tuple[list[Json], Report]:
    """A stream of these events about the blocks of a response."""
    start = MessageStart("claude-sonnet-5", "msg_9")
    wires, report = abroad([start, *events, MessageComplete(response)])
    assert accepted(wires)
    goes_home(wires)
    assert items(wires) == wires[-1]["response"]["output"]
    return wires, report


def items(wires: list[Json]) -> list[Json]:
    return [wire["item"] for wire in wires if wire["type"] == "response.output_item.done"]


def kinds(wires: list[Json]) -> list[str]:
    """The types of the frames between the beginning and the end."""
    return [wire["type"].removeprefix("response.") for wire in wires[2:-1]]


def deltas(wires: list[Json]) -> list[str]:
    return [wire["delta"] for wire in wires if wire["type"].endswith(".delta")]


ONE = il.ToolUseBlock("call_1", "add", {"a": 1})

TWO = il.ToolUseBlock("call_2", "add", {"b": 2})


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
    begun = {
        "id": "msg_9",
        "object": "response",
        "created_at": 0,
        "model": "claude-sonnet-5",
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    whole = DIALECT.write_response(response).wire
    item = whole["output"][0]
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    delta = {"type": "response.output_text.delta", **place, "logprobs": []}
    assert (
        difference(
            wires,
            streaming.numbered(
                [
                    {"type": "response.created", "response": begun},
                    {"type": "response.in_progress", "response": begun},
                    streaming.added(0, {**item, "status": "in_progress", "content": []}),
                    {"type": "response.content_part.added", **place, "part": part},
                    {**delta, "delta": "Hel"},
                    {**delta, "delta": "lo"},
                    {"type": "response.output_text.done", **place, "text": "Hello", "logprobs": []},
                    {
                        "type": "response.content_part.done",
                        **place,
                        "part": {**part, "text": "Hello"},
                    },
                    streaming.done(0, item),
                    {"type": "response.completed", "response": whole},
                ]
            ),
        )
        is None
    )
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
    assert deltas(wires) == ['{"a":', "1}", '{"b":', "2}"]
    assert [item["call_id"] for item in items(wires)] == ["call_1", "call_2"]
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
    assert [len(writer.feed(event)) for event in events] == [2, 1, 1, 0, 0, 1, 4, 1, 2]


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
    assert "".join(deltas(wires)) == items(wires)[0]["arguments"] == "{}"
    assert fold(wires).message.content == (call,)


def test_a_call_that_comes_whole_is_one_start_one_piece_one_end() -> None:
    wires, _ = told(answer(ONE), ToolUseStart(0, "call_1", "add"), ToolUseEnd(0, {"a": 1}))
    assert kinds(wires) == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert deltas(wires) == ['{"a":1}']


def test_arguments_are_repeated_as_they_were_said() -> None:
    wires, _ = told(
        answer(ONE),
        ToolUseStart(0, "call_1", "add"),
        ToolUseInputDelta(0, '{"a": '),
        ToolUseInputDelta(0, "1}"),
        ToolUseEnd(0, {"a": 1}),
    )
    assert [wire["arguments"] for wire in wires if "arguments" in wire] == ['{"a": 1}']
    assert items(wires)[0]["arguments"] == '{"a": 1}'


@pytest.mark.parametrize("pieces", [("*** ", "x"), ('{"input":"*** x"}',), ()])
def test_free_text_for_a_tool_is_written_in_one_piece(pieces: tuple[str, ...]) -> None:
    call = il.ToolUseBlock("call_1", "patch", {"input": "*** x"}, call_type="custom")
    wires, report = told(
        answer(call, stop_reason=il.StopReason.TOOL_USE),
        ToolUseStart(0, "call_1", "patch", call_type="custom"),
        *(ToolUseInputDelta(0, piece) for piece in pieces),
        ToolUseEnd(0, {"input": "*** x"}),
    )
    assert deltas(wires) == ["*** x"]
    assert not report.entries
    assert fold(wires).message.content == (call,)


def test_text_joins_the_message_before_it() -> None:
    blocks = (il.TextBlock("a"), il.RefusalBlock("No."), il.TextBlock("b"))
    wires, _ = told(
        answer(*blocks, stop_reason=il.StopReason.REFUSAL),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "a"),
        BlockEnd(0, blocks[0]),
        BlockStart(1, il.RefusalBlock("")),
        BlockDelta(1, "text", "No."),
        BlockEnd(1, blocks[1]),
        BlockStart(2, il.TextBlock("")),
        TextDelta(2, "b"),
        BlockEnd(2, blocks[2]),
    )
    assert kinds(wires).count("output_item.added") == 1
    places = [wire["content_index"] for wire in wires if wire["type"].endswith(".delta")]
    assert places == [0, 1, 2]
    assert fold(wires).message.content == blocks


def test_thinking_that_belongs_together_is_one_item() -> None:
    blocks = (il.ThinkingBlock("Hm.", id="rs_1"), il.ThinkingBlock("So.", "sig", "rs_1"))
    other = il.ThinkingBlock("Else.", "sig", "rs_2")
    wires, _ = told(
        answer(*blocks, other),
        *(event for event in il.unfold(answer(*blocks, other)) if hasattr(event, "index")),
    )
    assert [item["id"] for item in items(wires)] == ["rs_1", "rs_2"]
    numbers = [wire["summary_index"] for wire in wires if wire["type"].endswith(".delta")]
    assert numbers == [0, 1, 0]
    assert fold(wires).message.content == (*blocks, other)


@pytest.mark.parametrize("first", [il.ThinkingBlock(""), il.ThinkingBlock("", "sig")])
def test_a_signature_comes_at_the_end_of_its_item(first: il.ThinkingBlock) -> None:
    for text in ("Hm.", ""):
        thinking = il.ThinkingBlock(text, "sig")
        wires, _ = told(
            answer(thinking),
            BlockStart(0, first),
            BlockDelta(0, "signature", "sig"),
            *([ThinkingDelta(0, text)] if text else []),
            BlockEnd(0, thinking),
        )
        begun = next(wire["item"] for wire in wires if "item" in wire)
        assert "encrypted_content" not in begun
        assert items(wires)[0]["encrypted_content"] == "sig"
        assert deltas(wires) == ([text] if text else [])


def test_thinking_has_the_id_that_its_signature_belongs_to() -> None:
    thinking = il.ThinkingBlock("Hm.", "sig", "rs_9")
    wires, _ = told(
        answer(thinking),
        BlockStart(0, il.ThinkingBlock("")),
        ThinkingDelta(0, "Hm."),
        BlockEnd(0, thinking),
    )
    assert items(wires)[0]["id"] == "rs_9"
    assert fold(wires).message.content == (thinking,)


@pytest.mark.parametrize("streamed", [True, False])
def test_citations_are_written_as_they_come(streamed: bool) -> None:
    cited = il.Citation(url="https://example.com/", title="Example", start=0, end=2)
    block = il.TextBlock("Hi", citations=(cited,))
    wires, _ = told(
        answer(block),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "Hi"),
        *([BlockDelta(0, "citations", cited)] if streamed else []),
        BlockEnd(0, block),
    )
    assert kinds(wires).count("output_text.annotation.added") == 1
    assert fold(wires).message.content == (block,)


@pytest.mark.parametrize(
    ("first", "events", "last"),
    [
        (il.TextBlock("He"), [TextDelta(0, "y")], il.TextBlock("Hey")),
        (il.TextBlock(""), [], il.TextBlock("Hey")),
        (il.TextBlock(""), [TextDelta(0, "H")], il.TextBlock("Hey")),
        (il.TextBlock(""), [], il.TextBlock("")),
        (il.RefusalBlock(""), [], il.RefusalBlock("No.")),
        (il.ThinkingBlock("a", id="rs_1"), [], il.ThinkingBlock("ab", "sig", "rs_1")),
        (il.ThinkingBlock("", id="rs_1"), [], il.ThinkingBlock("", "sig", "rs_1")),
        (
            il.ImageBlock(il.Source("base64", "AAAA"), "image/png"),
            [],
            il.ImageBlock(il.Source("base64", "AAAA"), "image/png"),
        ),
    ],
)
@pytest.mark.requirement("P29")
def test_all_of_a_block_is_written_wherever_it_was_told(
    first: il.Block, events: list[Event], last: il.Block
) -> None:
    reason = il.StopReason.REFUSAL if isinstance(last, il.RefusalBlock) else il.StopReason.END_TURN
    wires, _ = told(
        answer(last, stop_reason=reason), BlockStart(0, first), *events, BlockEnd(0, last)
    )
    assert fold(wires).message.content == (last,)


def test_pieces_without_a_start_or_an_end_are_said() -> None:
    wires, _ = abroad(
        [
            ThinkingDelta(0, "Hm"),
            BlockEnd(0, il.ThinkingBlock("Hm")),
            TextDelta(1, "Hi"),
            MessageComplete(answer(il.ThinkingBlock("Hm"), il.TextBlock("Hi"))),
        ]
    )
    assert accepted(wires)
    assert deltas(wires) == ["Hm", "Hi"]
    assert [item["type"] for item in items(wires)] == ["reasoning", "message"]
    assert len({wire["response"]["id"] for wire in wires if "response" in wire}) == 1


@pytest.mark.requirement("P30")
def test_an_empty_piece_opens_no_block() -> None:
    wires, _ = told(answer(), TextDelta(0, ""), ThinkingDelta(1, ""))
    assert kinds(wires) == []


def test_an_id_that_comes_after_the_start_is_reported() -> None:
    wires, report = abroad([MessageStart(), MessageComplete(answer(il.TextBlock("a")))])
    assert len({wire["response"]["id"] for wire in wires if "response" in wire}) == 1
    assert [loss.path for loss in report.entries] == ["$.message.metadata.response_id"]


def test_what_has_no_place_is_left_out_and_reported_once() -> None:
    search = il.ToolUseBlock("ws_1", "web_search", {"query": "x"}, executor="provider")
    found = il.ToolResultBlock("ws_1", (il.TextBlock("y"),))
    redacted = il.RedactedThinkingBlock("xyz")
    response = answer(search, found, redacted, il.TextBlock("a"))
    wires, report = told(
        response, *(event for event in il.unfold(response) if hasattr(event, "index"))
    )
    assert [item["type"] for item in items(wires)] == ["message"]
    assert [loss.path for loss in report.entries] == [f"$.message.content[{n}]" for n in range(3)]


def test_further_answers_are_left_out_and_reported() -> None:
    response = answer(il.TextBlock("a")).replace(alternatives=(il.Message.assistant("b"),))
    wires, report = abroad(il.unfold(response))
    assert fold(wires).message.text == "a"
    assert [loss.path for loss in report.entries] == ["$.alternatives[0]"]


def test_marks_of_other_wires_say_nothing_here() -> None:
    response = answer(il.TextBlock("a"), usage=il.Usage(1, 1))
    events = [
        event.replace(frame=FrameMark(0, {"gemini": {"x": 1}} if number == 0 else None))
        for number, event in enumerate(il.unfold(response))
    ]
    assert streaming.write(events)[0] == abroad(il.unfold(response))[0]


@pytest.mark.parametrize(
    ("metadata", "last"),
    [
        ({"stop_reason": il.StopReason.MAX_TOKENS}, "response.incomplete"),
        ({"stop_reason": il.StopReason.CONTENT_FILTER}, "response.incomplete"),
        (
            {"stop_reason": il.StopReason.CANCELLED, "status": il.MessageStatus.CANCELLED},
            "response.incomplete",
        ),
        ({"stop_reason": il.StopReason.END_TURN}, "response.completed"),
    ],
)
@pytest.mark.requirement("P32")
def test_the_last_frame_is_the_one_of_the_status(metadata: Json, last: str) -> None:
    response = answer(il.TextBlock("a"), **metadata)
    wires, report = abroad(il.unfold(response))
    assert accepted(wires)
    assert wires[-1]["type"] == last
    assert not report.entries
    assert fold(wires).message.metadata.stop_reason is metadata["stop_reason"]


@pytest.mark.parametrize("status", [["completed"], {}, 5])
def test_a_status_that_is_no_word_is_that_of_a_complete_response(status: Any) -> None:
    wires, _ = abroad(il.unfold(DIALECT.read_response(streaming.response(status=status))))
    assert (wires[-1]["type"], wires[-1]["response"]["status"]) == ("response.completed", status)


def test_nothing_comes_after_an_error() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down", "rate_limit_exceeded")
    partial = il.Message.assistant(
        "Hel", il.MessageMetadata(stop_reason=il.StopReason.ERROR, status=il.MessageStatus.ERROR)
    )
    wires, report = abroad(
        [
            MessageStart("m", "resp_1"),
            BlockStart(0, il.TextBlock("")),
            TextDelta(0, "Hel"),
            StreamError(error, partial),
            TextDelta(0, "lo"),
            BlockEnd(0, il.TextBlock("Hello")),
            MessageComplete(answer(il.TextBlock("Hello"))),
        ]
    )
    assert accepted(wires)
    assert wires[-1]["type"] == "response.failed"
    assert not report.entries
    response = fold(wires)
    assert response.message.text == "Hel"
    assert response.error is not None
    assert response.error.kind is il.ErrorKind.RATE_LIMIT


@pytest.mark.parametrize("kind", il.ErrorKind)
@pytest.mark.parametrize("code", [None, "e_1", "rate_limit_exceeded"])
def test_an_error_before_anything_was_said(kind: il.ErrorKind, code: str | None) -> None:
    error = il.ProviderError(kind, "no", code)
    wires, report = abroad([StreamError(error)])
    assert accepted(wires)
    (wire,) = wires
    assert (wire["type"], wire["code"], wire["message"]) == ("error", code, "no")
    again = fold(wires).error
    assert again is not None
    assert again.kind is kind or [loss.path for loss in report.entries] == ["$.error.kind"]


def test_own_hosted_tools_come_back_from_a_folded_answer() -> None:
    item = {"id": "fs_1", "type": "file_search_call", "queries": ["x"], "status": "completed"}
    found = {**item, "results": [{"file_id": "file_1", "filename": "a", "text": "abc"}]}
    image = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "AA"}
    whole = streaming.response(found, image, streaming.message(2, streaming.words("a"))[-1]["item"])
    response = DIALECT.read_response(whole)
    wires, report = abroad(il.unfold(response))
    assert not report.entries
    assert items(wires) == whole["output"]
    assert fold(wires) == response


def test_several_messages_are_written_one_after_the_other() -> None:
    one, two = answer(il.TextBlock("one")), answer(il.TextBlock("two"))
    wires, _ = streaming.write([*il.unfold(one), *il.unfold(two)])
    types = [wire["type"] for wire in wires]
    assert types.count("response.created") == types.count("response.completed") == 2
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
    assert list(report.entries) == list(written.report.entries)
    assert laws.same_facts(back, DIALECT.read_response(written.wire))
    assert same(items(wires), wires[-1]["response"]["output"])


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
    """The blocks without the spelling of arguments, which is that of the pieces."""
    return [
        block.replace(raw_arguments=None) if isinstance(block, il.ToolUseBlock) else block
        for block in response.message.content
    ]
