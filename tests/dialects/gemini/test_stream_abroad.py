"""Streams of others, written as streams of `streamGenerateContent`."""

from __future__ import annotations

from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings

import interlingua as il
from interlingua.dialects.gemini import DIALECT
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
from tests.dialects.gemini.streaming import (
    Json,
    abroad,
    chunk,
    counts,
    fold,
    goes_home,
    late,
    thought,
    write,
)
from tests.dialects.gemini.wires import PNG, losses, text
from tests.effort import examples
from tests.laws import laws, strategies

ABOUT: Json = {"modelVersion": "gpt-5", "responseId": "resp_1"}
ONE = il.ToolUseBlock("call_1", "add", {"a": 1})
TWO = il.ToolUseBlock("call_2", "add", {"b": 2})
IMAGE = il.ImageBlock(il.Source("base64", PNG), "image/png")
SIGNED = il.TextBlock("Hi", "c2ln")


def accepted(wires: list[Json]) -> bool:
    for wire in wires:
        if "error" not in wire:
            types.GenerateContentResponse.model_validate(wire)
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


def parts(wires: list[Json], choice: int = 0) -> list[list[Json]]:
    """The parts of each frame that has some of this answer; the last only ends it."""
    found = [
        candidate["content"]["parts"]
        for wire in wires
        for candidate in wire.get("candidates", ())
        if candidate["index"] == choice
    ]
    assert found[-1] == [{"text": ""}]
    return found[:-1]


def test_a_plain_answer_is_pieces_and_an_end() -> None:
    wires, report = told(
        answer(il.TextBlock("Hello"), usage=il.Usage(4, 2)),
        UsageUpdate(il.Usage(4, 1)),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "Hel"),
        Stop(il.StopReason.END_TURN),
        TextDelta(0, ""),
        TextDelta(0, "lo"),
        BlockEnd(0, il.TextBlock("Hello")),
        UsageUpdate(il.Usage(4, 2)),
        Other(),
    )
    assert wires == [
        {**chunk(text("Hel")), **ABOUT},
        {**chunk(text("lo")), **ABOUT},
        {
            **chunk(text(""), usage=counts(4, 2), finishReason="STOP"),
            "modelVersion": "gpt-5",  # what was said before is not taken back
            "responseId": "resp_1",
        },
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
        ToolUseEnd(1, {"b": 2}),
        ToolUseInputDelta(0, "1}"),
        ToolUseEnd(0, {"a": 1}),
    )
    assert [part["functionCall"]["args"] for (part,) in parts(wires)] == [{"a": 1}, {"b": 2}]
    response = fold(wires)
    assert response.message.content == (ONE, TWO)
    assert response.message.metadata.stop_reason is il.StopReason.TOOL_USE


def test_what_can_be_said_is_not_kept_waiting() -> None:
    writer = DIALECT.stream_writer()
    events: list[Event] = [
        MessageStart(),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "a"),
        ToolUseStart(1, "call_1", "add"),
        ToolUseEnd(1, {}),
        TextDelta(0, "b"),
        BlockEnd(0, il.TextBlock("ab")),
        ToolUseStart(2, "call_2", "add"),
        ToolUseEnd(2, {}),
    ]
    assert [len(writer.feed(event)) for event in events] == [0, 0, 1, 0, 0, 1, 1, 0, 1]


@pytest.mark.parametrize("pieces", [(), ("",), ("{}",), ("{", "}")])
@pytest.mark.requirement("P31")
def test_a_call_without_arguments_is_said(pieces: tuple[str, ...]) -> None:
    empty = il.ToolUseBlock("call_1", "now", {})
    wires, _ = told(
        answer(empty, stop_reason=il.StopReason.TOOL_USE),
        ToolUseStart(0, "call_1", "now"),
        *(ToolUseInputDelta(0, piece) for piece in pieces),
        ToolUseEnd(0, {}),
    )
    assert fold(wires).message.content == (empty,)


@pytest.mark.parametrize(
    "blocks",
    [
        (il.TextBlock("a"), il.TextBlock("b"), il.TextBlock("c")),
        (il.ThinkingBlock("a"), il.ThinkingBlock("b"), il.TextBlock("c")),
        (
            il.ThinkingBlock("a", "MQ=="),
            il.ThinkingBlock("b", "Mg=="),
            il.ThinkingBlock("", "Mw=="),
        ),
        (il.TextBlock("a"), il.TextBlock("", "MQ=="), il.TextBlock("b")),
        (il.TextBlock("a"), il.RedactedThinkingBlock("x"), il.TextBlock("b")),
        (SIGNED, il.TextBlock("b"), ONE, il.TextBlock("c")),
        (ONE.replace(signature="c2ln"), TWO, IMAGE, IMAGE),
    ],
)
@pytest.mark.requirement("P6", "P7")
def test_neighbours_stay_apart_each_with_its_own_signature(blocks: tuple[il.Block, ...]) -> None:
    response = answer(*blocks)
    wires, _ = abroad(il.unfold(response))
    assert accepted(wires)
    goes_home(wires)
    stored = tuple([block for block in blocks if not isinstance(block, il.RedactedThinkingBlock)])
    assert fold(wires).message.content == stored


def test_an_empty_piece_keeps_two_texts_apart() -> None:
    wires, _ = abroad(il.unfold(answer(il.TextBlock("a"), il.TextBlock("b"))))
    assert parts(wires) == [[text("a")], [text(""), text("b")]]


@pytest.mark.parametrize("first", [True, False])
def test_a_signature_follows_its_text_whenever_it_came(first: bool) -> None:
    thinking = il.ThinkingBlock("Hm.", "c2ln")
    pieces = [BlockDelta(0, "signature", "c2ln"), ThinkingDelta(0, "Hm.")]
    wires, _ = told(
        answer(thinking),
        BlockStart(0, il.ThinkingBlock("")),
        *(pieces if first else reversed(pieces)),
        BlockEnd(0, thinking),
    )
    assert parts(wires) == [[thought("Hm.")], [late("c2ln", thought=True)]]


@pytest.mark.parametrize(
    ("first", "events", "last"),
    [
        (il.TextBlock("He"), [TextDelta(0, "y")], il.TextBlock("Hey")),
        (il.TextBlock(""), [], il.TextBlock("Hey")),
        (il.TextBlock(""), [TextDelta(0, "H")], il.TextBlock("Hey")),
        (il.ThinkingBlock("a"), [], il.ThinkingBlock("ab", "c2ln")),
        (il.ThinkingBlock(""), [], il.ThinkingBlock("", "c2ln")),
        (IMAGE, [], IMAGE),
    ],
)
@pytest.mark.requirement("P29")
def test_all_of_a_block_is_written_wherever_it_was_told(
    first: il.Block, events: list[Event], last: il.Block
) -> None:
    wires, _ = told(answer(last), BlockStart(0, first), *events, BlockEnd(0, last))
    assert fold(wires).message.content == (last,)


@pytest.mark.requirement("P29")
def test_what_no_event_told_is_written_at_the_end() -> None:
    other = il.Message.assistant("c", il.MessageMetadata(stop_reason=il.StopReason.MAX_TOKENS))
    blocks = (il.TextBlock("a"), il.TextBlock("b"), ONE)
    response = answer(*blocks, stop_reason=il.StopReason.TOOL_USE).replace(alternatives=(other,))
    wires, report = abroad([MessageComplete(response)])
    assert accepted(wires)
    assert len(wires) == 1
    back = fold(wires)
    assert back.message.content == response.message.content
    assert back.alternatives[0].text == "c"
    assert losses(report) == []


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
def test_a_text_that_says_nothing_is_no_block() -> None:
    nothing = il.TextBlock("")
    wires, report = told(
        answer(nothing, il.TextBlock("a")),
        TextDelta(0, ""),
        BlockStart(0, nothing),
        BlockEnd(0, nothing),
        TextDelta(1, "a"),
    )
    assert parts(wires) == [[text("a")]]
    assert [(loss.path, loss.severity) for loss in report.entries] == [
        ("$.message.content[0]", "info")
    ]


def test_citations_are_written_at_the_end() -> None:
    cited = il.TextBlock("Grün", citations=(il.Citation(None, "https://a", "A", start=0, end=4),))
    later = il.TextBlock("Rot", citations=(il.Citation(None, "https://b", start=1, end=2),))
    response = answer(il.TextBlock(""), cited, ONE, later)
    wires, _ = abroad(il.unfold(response))
    assert accepted(wires)
    grounding = wires[-1]["candidates"][0]["groundingMetadata"]
    assert grounding["groundingSupports"][0]["segment"] == {"endIndex": 5, "text": "Grün"}
    assert fold(wires).message.content == (cited, ONE, later)


def test_a_refusal_is_written_as_text() -> None:
    refusal = il.RefusalBlock("No.")
    wires, report = told(
        answer(refusal, stop_reason=il.StopReason.REFUSAL),
        BlockStart(0, il.RefusalBlock("")),
        BlockDelta(0, "text", "N"),
        BlockDelta(0, "text", "o."),
        BlockEnd(0, refusal),
    )
    assert parts(wires) == [[text("N")], [text("o.")]]
    assert losses(report) == [
        ("downgraded", "$.message.content[0]"),
        ("approximated", "$.message.metadata.stop_reason"),
    ]


def test_what_has_no_place_is_left_out_and_reported_once() -> None:
    search = il.ToolUseBlock("ws_1", "web_search", {"query": "x"}, executor="provider")
    wires, report = told(
        answer(search, il.RedactedThinkingBlock("xyz"), il.TextBlock("a")),
        ToolUseStart(0, "ws_1", "web_search", "provider"),
        ToolUseInputDelta(0, '{"query":"x"}'),
        ToolUseEnd(0, {"query": "x"}),
        BlockStart(1, il.RedactedThinkingBlock("xyz")),
        BlockEnd(1, il.RedactedThinkingBlock("xyz")),
        BlockStart(2, il.TextBlock("")),
        TextDelta(2, "a"),
        BlockEnd(2, il.TextBlock("a")),
    )
    assert parts(wires) == [[text("a")]]
    assert losses(report) == [("dropped", f"$.message.content[{n}]") for n in (0, 1)]


def test_several_answers_are_said_side_by_side() -> None:
    ended = il.MessageMetadata(stop_reason=il.StopReason.MAX_TOKENS)
    other = il.Message.assistant("bd", ended)
    response = answer(il.TextBlock("ac")).replace(alternatives=(other,))
    wires, report = told(
        response,
        TextDelta(0, "a"),
        MessageStart(choice=1),
        TextDelta(0, "b", choice=1),
        TextDelta(0, "c"),
        TextDelta(0, "d", choice=1),
    )
    assert parts(wires) == [[text("a")], [text("c")]]
    assert parts(wires, 1) == [[text("b")], [text("d")]]
    assert not report.entries
    back = fold(wires)
    assert (back.message.text, back.alternatives[0].text) == ("ac", "bd")
    assert back.alternatives[0].metadata.stop_reason is il.StopReason.MAX_TOKENS


def test_an_answer_that_ended_for_no_reason_ends_all_the_same() -> None:
    wires, report = told(answer(il.TextBlock("a"), stop_reason=None), TextDelta(0, "a"))
    assert wires[-1]["candidates"][0]["finishReason"] == "STOP"
    assert losses(report) == [("approximated", "$.message.metadata.stop_reason")]


@pytest.mark.parametrize("feedback", [{"blockReason": "SAFETY"}, {"safetyRatings": []}])
def test_a_blocked_prompt_is_complete(feedback: Json) -> None:
    response = DIALECT.read_response({"promptFeedback": feedback})
    wires, report = abroad(il.unfold(response))
    assert accepted(wires)
    assert not report.entries
    message = fold(wires).message
    assert message.metadata.stop_reason is il.StopReason.CONTENT_FILTER


def test_own_tools_and_rests_come_back_from_a_folded_answer() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED", "output": "2"}}
    noted = text("b", partMetadata={"x": 1})
    wire = chunk(text("a"), noted, noted, code, ran, late("c2ln"), finishReason="CONTINUATION")
    wire["candidates"][0]["tokenCount"] = 3
    response = DIALECT.read_response(wire)
    wires, report = abroad(il.unfold(response))
    assert not report.entries
    back = fold(wires)
    assert back == response
    assert DIALECT.write_response(back).wire == wire


def test_marks_of_other_wires_say_nothing_here() -> None:
    events = il.unfold(answer(il.TextBlock("a"), usage=il.Usage(1, 1)))
    plain, _ = write(events)
    rest = {"anthropic": {"x": 1}}
    marked = [
        event.replace(frame=FrameMark(number, rest if number == 0 else None))
        for number, event in enumerate(events)
    ]
    assert write(marked)[0] == plain


def test_nothing_comes_after_an_error() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down", "rate_limit_error", 429)
    partial = il.Message.assistant(
        [il.TextBlock("Hel"), ONE],
        il.MessageMetadata(stop_reason=il.StopReason.ERROR, status=il.MessageStatus.ERROR),
    )
    wires, report = abroad(
        [
            MessageStart(),
            BlockStart(0, il.TextBlock("")),
            TextDelta(0, "Hel"),
            ToolUseStart(1, "call_1", "add"),
            StreamError(error, partial),
            TextDelta(0, "lo"),
            BlockEnd(0, il.TextBlock("Hello")),
            MessageComplete(answer(il.TextBlock("Hello"))),
        ]
    )
    assert len(wires) == 2
    assert wires[-1]["error"] == {
        "message": "slow down",
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
    }
    assert losses(report) == [("dropped", "$.message.content[1]"), ("approximated", "$.error.code")]
    response = fold(wires)
    assert response.message.text == "Hel"
    assert response.error is not None
    assert response.error.kind is il.ErrorKind.RATE_LIMIT


@given(strategies.responses())
@settings(max_examples=examples(60))
def test_a_stream_keeps_what_a_whole_answer_keeps(response: il.Response) -> None:
    wires, report = abroad(il.unfold(response))
    assert accepted(wires)
    back = fold(wires)
    if response.error is not None:
        assert laws.compare(response, back, list(report.entries)) == []
        return
    goes_home(wires)
    written = DIALECT.write_response(response)
    again = DIALECT.read_response(written.wire)
    assert list(report.entries) == list(written.report.entries)
    assert laws.same_facts(back, again)
    assert back.message.content == again.message.content


@given(strategies.events())
@settings(max_examples=examples(60))
def test_pieces_of_any_size_give_the_same_answer(events: list[Event]) -> None:
    wires, _ = abroad(events)
    assert accepted(wires)
    goes_home(wires)
    complete = events[-1]
    assert isinstance(complete, MessageComplete)
    once, _ = abroad(il.unfold(complete.response))
    assert fold(wires).message.content == fold(once).message.content
