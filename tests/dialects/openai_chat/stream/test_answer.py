"""An answer while a stream tells it."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.openai_chat import DIALECT
from interlingua.model.base import same
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from tests.dialects.openai_chat.streaming import (
    BEGUN,
    COUNTS,
    DONE,
    body,
    call,
    called,
    chunk,
    fold,
    goes_home,
    kinds,
    talk,
    whole,
    words,
)
from tests.dialects.openai_chat.streams import CALL, HELLO, OSLO

LOGPROB = {"token": "Hel", "bytes": [72, 101, 108], "logprob": -0.1, "top_logprobs": []}


@pytest.mark.requirement("S002-79", "S002-87")
def test_pieces_of_text_are_one_block_from_its_first_real_content_on() -> None:
    events = goes_home(HELLO)
    assert kinds(events) == [
        "MessageStart",
        "BlockStart",
        "TextDelta",
        "TextDelta",
        "BlockEnd",
        "Stop",
        "UsageUpdate",
        "MessageComplete",
    ]
    start, _, _, _, end, stop, usage, complete = events
    assert isinstance(start, MessageStart)
    assert (start.model, start.response_id) == ("gpt-5", "chatcmpl-1")
    assert isinstance(end, BlockEnd)
    assert end.block == il.TextBlock("Hello")
    assert isinstance(stop, Stop)
    assert (stop.stop_reason, stop.raw_stop_reason) == (il.StopReason.END_TURN, "stop")
    assert isinstance(usage, UsageUpdate)
    assert usage.usage == il.Usage(10, 3)
    assert isinstance(complete, MessageComplete)
    assert complete.response == whole({"content": "Hello"})


def test_thinking_that_lists_and_strings_tell_is_told_once() -> None:
    def thought(text: str, signature: str | None) -> dict[str, Any]:
        return {"type": "thinking", "thinking": text, "signature": signature}

    collected = [
        {"reasoning_content": "H", "thinking_blocks": [thought("H", None)]},
        {"reasoning_content": "m", "thinking_blocks": [thought("m", None)]},
        {"reasoning_content": "", "thinking_blocks": [thought("", "sig")]},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz"}]},
        *words("a"),
    ]
    events = goes_home(talk(*collected))
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["H", "m"]
    items = [thought("Hm", "sig"), {"type": "redacted_thinking", "data": "xyz"}]
    message = {"reasoning_content": "Hm", "thinking_blocks": items, "content": "a"}
    assert il.fold(events) == whole(message)


def test_a_list_that_repeats_what_strings_told_signs_it() -> None:
    item = {"type": "thinking", "thinking": "Hm", "signature": "sig", "index": 0}
    collected = [
        {"reasoning_content": "H"},
        {"reasoning_content": "m"},
        {"thinking_blocks": [item]},
    ]
    events = goes_home(talk(*collected, *words("a")))
    assert kinds(events)[1:6] == [
        "BlockStart",
        "ThinkingDelta",
        "ThinkingDelta",
        "BlockDelta",
        "BlockEnd",
    ]
    assert il.fold(events).message.content == (il.ThinkingBlock("Hm", "sig"), il.TextBlock("a"))


def test_thinking_that_comes_late_stands_first() -> None:
    detail = {"type": "reasoning.encrypted", "data": "xyz", "index": 0}
    events = goes_home(talk(*words("a"), {"reasoning_details": [detail]}))
    starts = [event for event in events if isinstance(event, BlockStart)]
    assert [type(start.block) for start in starts] == [il.TextBlock, il.RedactedThinkingBlock]
    assert starts[1].index < starts[0].index
    folded = il.fold(events)
    first, second = folded.message.content
    assert (first, second) == (il.RedactedThinkingBlock("xyz"), il.TextBlock("a"))
    assert folded == whole({"content": "a", "reasoning_details": [detail]})


def test_chunks_of_content_that_mistral_sends_are_joined() -> None:
    def thinking(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}

    collected = [
        {"content": [thinking("H")]},
        {"content": [thinking("m", closed=True), {"type": "text", "text": "1"}]},
        {"content": "2"},
        {"content": [{"type": "reference", "reference_ids": [1]}]},
    ]
    message = {
        "content": [
            thinking("Hm", closed=True),
            {"type": "text", "text": "12"},
            {"type": "reference", "reference_ids": [1]},
        ]
    }
    assert fold(talk(*collected)) == whole(message)


def test_google_signs_a_call_beside_its_arguments() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    first = {**CALL, "index": 0, "extra_content": extra}
    folded = fold(talk({"tool_calls": [first]}))
    assert folded == whole({"tool_calls": [{**CALL, "extra_content": extra}]})
    assert folded.message.tool_calls[0].signature == "sig"


@pytest.mark.requirement("P28", "P29")
def test_calls_whose_pieces_come_in_turns_stay_apart() -> None:
    collected = [
        called("call_1"),
        called("call_2", index=1),
        call('{"a"', 0),
        call('{"b"', 1),
        call(":1}", 0),
        call(":2}", 1),
    ]
    events = goes_home(talk(*collected, word="tool_calls"))
    assert [call.input for call in il.fold(events).message.tool_calls] == [{"a": 1}, {"b": 2}]
    pieces = [e for e in events if isinstance(e, ToolUseInputDelta)]
    first = pieces[0].index
    assert [(piece.index - first, piece.text) for piece in pieces] == [
        (0, '{"a"'),
        (1, '{"b"'),
        (0, ":1}"),
        (1, ":2}"),
    ]


def test_a_call_ends_when_it_is_whole_and_another_block_begins() -> None:
    collected = [called("call_1"), call(OSLO), called("call_2", index=1), call(OSLO, 1)]
    events = goes_home(talk(*collected, word="tool_calls"))
    assert kinds(events)[1:7] == [
        "ToolUseStart",
        "ToolUseInputDelta",
        "ToolUseEnd",
        "ToolUseStart",
        "ToolUseInputDelta",
        "ToolUseEnd",
    ]


@pytest.mark.requirement("P28")
@pytest.mark.parametrize(
    "told",
    [
        [called("call_1", arguments=OSLO), called("call_2", arguments=OSLO)],  # all number 0
        [  # without numbers
            {"tool_calls": [{**CALL, "id": "call_1"}]},
            {"tool_calls": [{**CALL, "id": "call_2"}]},
        ],
        [{"tool_calls": [{**CALL, "id": "call_1"}, {**CALL, "id": "call_2"}]}],
        [  # every piece repeats id and name
            called("call_1"),
            called("call_1", arguments='{"city":'),
            called("call_1", arguments='"Oslo"}'),
            called("call_2", index=1, arguments=OSLO),
        ],
        [  # nulls in later pieces
            called("call_1"),
            {
                "tool_calls": [
                    {"index": 0, "id": None, "function": {"name": None, "arguments": OSLO}}
                ]
            },
            called("call_2", index=1, arguments=OSLO),
        ],
    ],
)
def test_calls_are_distinguished_whatever_a_host_repeats_or_leaves_out(told: list[Any]) -> None:
    folded = fold(talk(*told, word="tool_calls"))
    assert [call.id for call in folded.message.tool_calls] == ["call_1", "call_2"]
    assert [call.input for call in folded.message.tool_calls] == [{"city": "Oslo"}] * 2


def test_whole_calls_without_ids_get_one_each() -> None:
    collected = [call(OSLO, 0, name="f"), call("{}", 0, name="f")]
    calls = fold(talk(*collected, word="tool_calls")).message.tool_calls
    assert [each.input for each in calls] == [{"city": "Oslo"}, {}]
    assert len({each.id for each in calls}) == 2
    assert fold(talk(*collected)).message.tool_calls == calls  # the same each time


def test_calls_without_ids_whose_pieces_repeat_the_name_stay_apart() -> None:
    pieces = ["{", '"city":', '"Oslo"}', OSLO]
    folded = fold(talk(*[call(piece, 0, name="f") for piece in pieces], word="tool_calls"))
    assert [each.input for each in folded.message.tool_calls] == [{"city": "Oslo"}] * 2


def test_a_name_that_comes_after_the_arguments_is_waited_for() -> None:
    collected = [call('{"city":', 0), call('"Oslo"}', 0, "call_1", "get_weather")]
    events = goes_home(talk(*collected, word="tool_calls"))
    assert [e.text for e in events if isinstance(e, ToolUseInputDelta)] == ['{"city":', '"Oslo"}']
    assert il.fold(events) == whole({"tool_calls": [CALL]}, "tool_calls")


@pytest.mark.requirement("P31")
@pytest.mark.parametrize("pieces", [(), ("",), ("{}",), ("{", "}")])
def test_a_call_without_arguments_closes(pieces: tuple[str, ...]) -> None:
    events = goes_home(talk(called("call_1"), *map(call, pieces), word="tool_calls"))
    ends = [event for event in events if isinstance(event, ToolUseEnd)]
    assert [end.input for end in ends] == [{}]


def test_arguments_that_come_as_an_object_are_written_in_one_piece() -> None:
    function = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    events = goes_home(talk({"tool_calls": [{"id": "call_1", "function": function}]}))
    assert [e.text for e in events if isinstance(e, ToolUseInputDelta)] == [OSLO]
    assert il.fold(events).message.tool_calls[0].input == {"city": "Oslo"}


def test_a_call_whose_text_is_no_json_is_kept_and_marked() -> None:
    folded = fold(talk(called("call_1"), call('{"city": "Os'), word="length"))
    assert folded.message.tool_calls[0].raw_arguments == '{"city": "Os'
    (found,) = folded.message.metadata.diagnostics
    assert found.type == "tool_arguments_recovered"


@pytest.mark.requirement("P30")
def test_what_holds_nothing_opens_no_block() -> None:
    collected = [
        {"content": ""},
        {"tool_calls": []},
        {"tool_calls": None, "refusal": None, "reasoning_content": ""},
        {"function_call": {"name": "", "arguments": ""}},
        {"reasoning_details": []},
    ]
    events = goes_home(talk(*collected))
    assert not any(isinstance(event, BlockStart | ToolUseStart) for event in events)
    assert sum(isinstance(event, Other) for event in events) == len(collected)


@pytest.mark.requirement("P32")
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", il.StopReason.TOOL_USE),
        ("tool_calls", il.StopReason.TOOL_USE),
        ("length", il.StopReason.MAX_TOKENS),
        ("content_filter", il.StopReason.CONTENT_FILTER),
    ],
)
def test_calls_decide_the_ending_but_not_over_limits_and_filters(
    word: str, reason: il.StopReason
) -> None:
    events = goes_home(talk(called("call_1", arguments="{}"), word=word))
    stops = [event.stop_reason for event in events if isinstance(event, Stop)]
    assert stops == [reason]
    assert il.fold(events).message.metadata.stop_reason is reason


def test_text_among_calls_is_told_where_it_came_and_joined_in_the_end() -> None:
    collected = [*words("a"), called("call_1", arguments=OSLO), *words("b")]
    events = goes_home(talk(*collected, word="tool_calls"))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["a", "b"]
    assert il.fold(events) == whole({"content": "ab", "tool_calls": [CALL]}, "tool_calls")


def test_several_choices_are_several_answers() -> None:
    wires = [
        BEGUN,
        chunk({"role": "assistant", "content": ""}, index=1),
        chunk({"content": "a"}),
        chunk({"content": "x"}, index=1),
        chunk({"content": "b"}),
        chunk({"content": "y"}, index=1),
        chunk({"content": "c"}),
        chunk({"content": "z"}, index=1),
        chunk({}, "length", index=1),
        chunk({}, "stop"),
        chunk(None, usage=COUNTS),
        DONE,
    ]
    folded = fold(wires)
    assert folded.message.text == "abc"
    (other,) = folded.alternatives
    assert (other.text, other.metadata.stop_reason) == ("xyz", il.StopReason.MAX_TOKENS)
    both = [
        {"index": 0, "message": {"role": "assistant", "content": "abc"}, "finish_reason": "stop"},
        {"index": 1, "message": {"role": "assistant", "content": "xyz"}, "finish_reason": "length"},
    ]
    assert folded == whole({}, choices=both)


def test_choices_may_share_a_chunk() -> None:
    two = chunk({"content": "a"})
    two["choices"].append({"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"})
    folded = fold([two, DONE])
    assert (folded.message.text, folded.alternatives[0].text) == ("a", "b")


def test_log_probabilities_are_joined() -> None:
    wires = [BEGUN]
    for piece in ("Hel", "lo"):
        wire = chunk({"content": piece})
        wire["choices"][0]["logprobs"] = {"content": [{**LOGPROB, "token": piece}], "refusal": None}
        wires.append(wire)
    folded = fold([*wires, chunk({}, "stop", usage=COUNTS), DONE])
    expected = body({"content": "Hello"})
    expected["choices"][0]["logprobs"] = {
        "content": [{**LOGPROB, "token": "Hel"}, {**LOGPROB, "token": "lo"}],
        "refusal": None,
    }
    assert same(DIALECT.write_response(folded).wire, expected)


def test_log_probabilities_of_chunks_that_are_all_alike_are_all_there() -> None:
    wire = chunk({"content": "a"})
    wire["choices"][0]["logprobs"] = {"content": [{**LOGPROB, "token": "a"}], "refusal": None}
    folded = fold([BEGUN, *[wire] * 5, chunk({}, "stop"), DONE])
    assert len(folded.message.metadata.logprobs) == 5
