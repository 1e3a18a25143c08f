"""Streams of the Messages API, read and written home."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.anthropic import DIALECT
from interlingua.errors import ReadError
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.streams.fold import fold_all
from interlingua.streams.frames import Frame
from tests.dialects.anthropic.streaming import (
    TEXT,
    THINKING,
    begun,
    block,
    called,
    ended,
    fold,
    frame,
    given,
    goes_home,
    read,
    signed,
    talk,
    thoughts,
    whole,
    words,
    write,
)
from tests.dialects.streaming import frames_of, only_unread
from tests.laws import laws

HELLO = talk(block(0, TEXT, *words("Hel", "lo")))
CITATION = {
    "type": "char_location",
    "cited_text": "It is warm.",
    "document_index": 0,
    "document_title": "Weather",
    "start_char_index": 0,
    "end_char_index": 11,
    "file_id": None,
}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://example.com/",
            "title": "Example",
            "encrypted_content": "abc",
            "page_age": None,
        }
    ],
}
OVERLOADED = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": "Overloaded"},
    "request_id": "req_1",
}


# -- what is read ---------------------------------------------------------------------------------


@pytest.mark.requirement("S002-79", "S002-87")
def test_a_frame_is_an_event() -> None:
    events = [event.replace(frame=None) for event in read(HELLO)]
    assert events == [
        MessageStart("claude-sonnet-5", "msg_1"),
        UsageUpdate(il.Usage(10, 1)),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "Hel"),
        TextDelta(0, "lo"),
        BlockEnd(0, il.TextBlock("Hello")),
        Stop(il.StopReason.END_TURN, "end_turn"),
        UsageUpdate(il.Usage(10, 3)),
        MessageComplete(whole({"type": "text", "text": "Hello"})),
    ]


def test_every_event_knows_its_frame() -> None:
    numbers = [event.frame.number for event in read(HELLO) if event.frame is not None]
    assert numbers == [0, 0, 1, 2, 3, 4, 5, 5, 6]


@pytest.mark.parametrize(
    ("told", "parts"),
    [
        ([block(0, TEXT)], [TEXT]),
        ([block(0, TEXT, *words("", "a", ""))], [{"type": "text", "text": "a"}]),
        (
            [block(0, {"type": "text", "text": "He"}, *words("y"))],
            [{"type": "text", "text": "Hey"}],
        ),
        (
            [block(0, THINKING, *thoughts("Hm", "."), signed("sig")), block(1, TEXT, *words("a"))],
            [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "text", "text": "a"},
            ],
        ),
        ([block(0, THINKING, signed("sig"))], [{**THINKING, "signature": "sig"}]),
        ([block(0, THINKING, *thoughts("Hm"))], [{**THINKING, "thinking": "Hm"}]),
        (
            [block(0, {"type": "thinking", "thinking": ""}, *thoughts("a"))],
            [{"type": "thinking", "thinking": "a"}],
        ),
        (
            [block(0, {"type": "redacted_thinking", "data": "xyz"})],
            [{"type": "redacted_thinking", "data": "xyz"}],
        ),
        ([block(0, called(), *given('{"city": ', '"Oslo"}'))], [called(input={"city": "Oslo"})]),
        ([block(0, called())], [called()]),
        ([block(0, called(), *given("", ""))], [called()]),
        ([block(0, called(input={"city": "Oslo"}))], [called(input={"city": "Oslo"})]),
        (
            [block(0, called(), *given("{}")), block(1, called(id="toolu_2"), *given('{"a":1}'))],
            [called(), called(id="toolu_2", input={"a": 1})],
        ),
        (
            [block(0, SEARCH, *given("", '{"query":"x"}')), block(1, FOUND)],
            [{**SEARCH, "input": {"query": "x"}}, FOUND],
        ),
        (
            [
                block(
                    0,
                    {**TEXT, "citations": []},
                    {"type": "citations_delta", "citation": CITATION},
                    *words("Warm."),
                    {"type": "citations_delta", "citation": {**CITATION, "document_index": 1}},
                )
            ],
            [
                {
                    "type": "text",
                    "text": "Warm.",
                    "citations": [CITATION, {**CITATION, "document_index": 1}],
                }
            ],
        ),
        (
            [
                block(
                    0,
                    {"type": "compaction", "content": None},
                    {"type": "compaction_delta", "content": "So far.", "encrypted_content": "e"},
                )
            ],
            [{"type": "compaction", "content": "So far.", "encrypted_content": "e"}],
        ),
        ([block(0, {"type": "hologram", "data": "z"})], [{"type": "hologram", "data": "z"}]),
    ],
)
@pytest.mark.requirement("P31", "P41")
def test_a_stream_gives_what_the_whole_answer_gives(told: list[Any], parts: list[Any]) -> None:
    wires = talk(*told)
    goes_home(wires)
    folded, same = fold(wires), whole(*parts)
    assert folded == same
    assert il.dumps(folded) == il.dumps(same)


def test_the_end_of_a_block_has_its_last_state() -> None:
    events = read(talk(block(0, THINKING, *thoughts("Hm"), signed("s1"), signed("s2"))))
    ends = [event.block for event in events if isinstance(event, BlockEnd)]
    assert ends == [il.ThinkingBlock("Hm", "s2")]  # assigned, not appended
    deltas = [event for event in events if isinstance(event, BlockDelta)]
    assert [(each.field, each.value) for each in deltas] == [
        ("signature", "s1"),
        ("signature", "s2"),
    ]


@pytest.mark.requirement("P29")
def test_a_call_that_comes_whole_is_written_in_one_piece() -> None:
    events = read(talk(block(0, called(input={"city": "Oslo"}))))
    emitted = [e.replace(frame=None) for e in events if type(e).__name__.startswith("ToolUse")]
    assert emitted == [
        ToolUseStart(0, "toolu_1", "get_weather"),
        ToolUseInputDelta(0, '{"city":"Oslo"}'),
        ToolUseEnd(0, {"city": "Oslo"}),
    ]


@pytest.mark.parametrize("start", [TEXT, THINKING, called()])
def test_a_delta_that_does_not_say_its_kind_says_nothing_and_goes_home(start: Any) -> None:
    events = goes_home(talk(block(0, start, {"text": "Hello"})))
    assert Other in [type(event) for event in events]


def test_a_call_whose_text_is_no_json_is_kept_and_marked() -> None:
    wires = talk(block(0, called(), *given('{"city": "Os')), word="max_tokens")
    goes_home(wires)
    message = fold(wires).message
    (call,) = message.tool_calls
    assert (call.input, call.raw_arguments) == ({"city": "Os"}, '{"city": "Os')
    (found,) = message.metadata.diagnostics
    assert found.type == "tool_arguments_recovered"
    assert found.details == {"mode": "closed", "tool_use_id": "toolu_1"}


@pytest.mark.parametrize(
    ("first", "last", "usage"),
    [
        ({"input_tokens": 10, "output_tokens": 1}, {"output_tokens": 7}, il.Usage(10, 7)),
        (
            {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1},
            {"input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 7},
            il.Usage(10, 7, 4),
        ),
        (
            {"input_tokens": 10, "output_tokens": 1},
            {"input_tokens": 12, "cache_creation_input_tokens": 3, "output_tokens": 7},
            il.Usage(12, 7, None, 3),
        ),
        (
            {"input_tokens": 10, "output_tokens": 1, "service_tier": "standard"},
            {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}},
            il.Usage(10, 7, reasoning_tokens=5, service_tier="default"),
        ),
        (None, {"output_tokens": 7}, il.Usage(None, 7)),
        ({"input_tokens": 10, "output_tokens": 1}, {}, il.Usage(10, 1)),
    ],
)
def test_usage_counts_all_so_far_and_nulls_keep_what_was_there(
    first: Any, last: Any, usage: il.Usage
) -> None:
    wires = [begun(usage=first), *ended()]
    wires[1]["usage"] = last
    events = goes_home(wires)
    updates = [event.usage for event in events if isinstance(event, UsageUpdate)]
    assert updates[-1] == usage
    assert il.fold(events).message.metadata.usage == usage


@pytest.mark.parametrize("delta", [{}, {"stop_reason": "end_turn"}, {"stop_sequence": None}])
def test_a_change_of_the_message_may_say_little(delta: Any) -> None:
    change = {"type": "message_delta", "delta": delta}
    goes_home([begun(), change, {**change, "usage": None}, {"type": "message_stop"}])
    goes_home([begun(), {**change, "usage": {"output_tokens": 2}}, {"type": "message_stop"}])
    usage = {"output_tokens": 2}
    goes_home([begun(), {"type": "message_delta", "usage": usage}, {"type": "message_stop"}])


def test_the_last_stop_reason_counts_and_details_outlive_the_stream() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": None}
    wires = [begun(), *ended("end_turn")[:1], *ended("refusal")]
    wires[2]["delta"] |= {"stop_details": details, "container": {"id": "container_1"}}
    wires[2]["context_management"] = {"applied_edits": []}
    response = il.fold(goes_home(wires))
    assert response.message.metadata.stop_reason is il.StopReason.REFUSAL
    written = DIALECT.write_response(response).wire
    assert written["stop_details"] == details
    assert written["container"] == {"id": "container_1"}
    assert written["context_management"] == {"applied_edits": []}


def test_a_stop_sequence_goes_home_and_is_kept() -> None:
    wires = [begun(), *ended("stop_sequence")]
    wires[1]["delta"]["stop_sequence"] = "END"
    response = il.fold(goes_home(wires))
    assert DIALECT.write_response(response).wire["stop_sequence"] == "END"


@pytest.mark.parametrize("word", ["no_more_ideas", None, 7])
def test_unknown_stop_reasons_survive_a_round_trip(word: Any) -> None:
    goes_home([begun(), *ended(word)])


def test_the_model_that_took_over_is_the_one_that_answered() -> None:
    marker = {"type": "fallback", "from": {"model": "claude-a"}, "to": {"model": "claude-b"}}
    wires = talk(block(0, marker), block(1, TEXT, *words("a")))
    assert il.fold(goes_home(wires)).message.metadata.response_model == "claude-b"


def test_pings_and_unknown_frames_survive_a_round_trip() -> None:
    news = {"type": "weather_report", "message": "sunny"}
    late = {"type": "content_block_delta", "index": 0, "delta": {"type": "smell_delta", "x": 1}}
    wires = [HELLO[0], {"type": "ping"}, *HELLO[1:3], news, late, *HELLO[3:]]
    events = goes_home(wires)
    assert sum(isinstance(event, Other) for event in events) == 3
    assert il.fold(events).message.text == "Hello"


@pytest.mark.parametrize("place", [0, 1, 2, 4, 5, 6])
def test_whatever_else_a_frame_says_goes_home(place: int) -> None:
    wires = json.loads(json.dumps(HELLO))
    wires[place]["x_extra"] = {"a": [1]}
    for inner in ("message", "content_block", "delta"):
        if inner in wires[place]:
            wires[place][inner]["x_inner"] = None
    goes_home(wires)


def test_the_names_that_a_host_gives_to_frames_are_kept() -> None:
    metrics = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 10}}
    wires = [*HELLO[:-1], {**HELLO[-1], **metrics}]
    frames = [Frame("chunk", json.dumps(wire)) for wire in wires]
    writer = DIALECT.stream_writer()
    written = [out for event in read(frames) for out in writer.feed(event)]
    assert [each.event for each in written] == ["chunk"] * len(wires)
    assert laws.difference(wires, [json.loads(each.data) for each in written]) is None
    unnamed = [Frame(None, json.dumps(wire)) for wire in wires]
    assert il.fold(read(unnamed)) == fold(wires)


@pytest.mark.requirement("P28")
def test_blocks_that_share_an_index_stay_apart() -> None:
    one = block(0, called(id="toolu_1"), *given('{"a":1}'))
    two = block(0, called(id="toolu_2"), *given('{"b":2}'))
    events = goes_home(talk(one, two))
    assert [call.input for call in il.fold(events).message.tool_calls] == [{"a": 1}, {"b": 2}]
    assert [e.index for e in events if isinstance(e, ToolUseStart)] == [0, 1]


def test_blocks_that_overlap_or_leave_gaps_are_read_all_the_same() -> None:
    one = block(1, called(id="toolu_1"), *given('{"a":', "1}"))
    two = block(4, called(id="toolu_2"), *given('{"b":', "2}"))
    mixed = [one[0], two[0], one[1], two[1], two[2], one[2], one[3], two[3]]
    events = goes_home(talk(mixed))
    assert [call.input for call in il.fold(events).message.tool_calls] == [{"a": 1}, {"b": 2}]


@pytest.mark.requirement("P29")
def test_nothing_is_lost_where_starts_and_ends_are_missing() -> None:
    first, second = block(0, TEXT, *words("a", "b")), block(1, THINKING, *thoughts("c"))
    unopened = [*first[1:], *second[1:]]
    assert fold(talk(unopened)).message.text == "ab"
    unclosed = [*first[:-1], *second[:-1]]
    for wires in (talk(unopened), talk(unclosed), talk(unopened)[1:]):
        message = il.fold(goes_home(wires)).message
        assert (message.text, message.reasoning) == ("ab", "c")


def test_a_message_may_come_whole_with_its_start() -> None:
    call = called(input={"city": "Oslo"}, caller={"type": "code_execution", "tool_id": "x"})
    start = begun(content=[call, {"type": "text", "text": "a"}], stop_reason="tool_use")
    wires = [start, *block(2, TEXT, *words("b")), {"type": "message_stop"}]
    message = il.fold(goes_home(wires)).message
    assert message.text == "ab"
    assert message.tool_calls[0].input == {"city": "Oslo"}
    assert message.metadata.stop_reason is il.StopReason.TOOL_USE


def test_several_messages_follow_each_other() -> None:
    wires = [*HELLO, {"type": "ping"}, *talk(block(0, TEXT, *words("Bye")))]
    messages = [each.message.text for each in fold_all(goes_home(wires))]
    assert messages == ["Hello", "Bye"]


def test_nothing_comes_after_the_last_message() -> None:
    after: list[Any] = [{"type": "ping"}, Frame(None, "[DONE]"), OVERLOADED, *ended()]
    for extra in (*([each] for each in after), after):
        assert only_unread(read([*HELLO, *extra]), read(HELLO))


@pytest.mark.parametrize("marks", [True, False])
def test_frames_that_a_host_sends_after_the_last_message_go_home(marks: bool) -> None:
    collected = [begun(id="gen-1"), *HELLO[1:]]
    frames = [*map(frame, collected), Frame("ping", '{"type":"ping"}'), Frame("data", "[DONE]")]
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    reader.marks = marks
    events = [event for each in frames for event in reader.feed(each)]
    assert isinstance(events[-1], MessageComplete) is not marks  # for others it does not wait
    events += reader.close()
    assert isinstance(events[-1], MessageComplete)
    written = [each for event in events for each in writer.feed(event)] + writer.close()
    assert [each.event for each in written] == [each.event for each in frames][: len(written)]
    assert (written[-1] == frames[-1]) is marks


@pytest.mark.parametrize("value", [{}, {"input": None}])
def test_a_block_may_start_without_what_its_pieces_tell(value: dict[str, Any]) -> None:
    start = {"type": "tool_use", "id": "toolu_1", "name": "now", **value}
    pieces = [{"type": "input_json_delta", "partial_json": '{"zone": "UTC"}'}]
    parts = (block(0, {"type": "text"}, *words("Hi")), block(1, start, *pieces), block(2, start))
    content = il.fold(goes_home(talk(*parts))).message.content
    assert content == (
        il.TextBlock("Hi"),
        il.ToolUseBlock("toolu_1", "now", {"zone": "UTC"}),
        il.ToolUseBlock("toolu_1", "now", {}),
    )


def test_the_kind_of_a_frame_may_be_its_name_only() -> None:
    bare = [{key: item for key, item in wire.items() if key != "type"} for wire in HELLO]
    frames = [Frame(wire["type"], json.dumps(less)) for wire, less in zip(HELLO, bare, strict=True)]
    assert il.fold(read(frames)) == fold(HELLO)
    assert frames_of(DIALECT, read(frames))[0] == frames


# -- streams that fail ----------------------------------------------------------------------------


def test_an_error_ends_the_stream_with_what_had_arrived() -> None:
    wires = [*HELLO[:3], OVERLOADED]
    events = goes_home(wires)
    last = events[-1]
    assert isinstance(last, StreamError)
    assert (last.error.kind, last.error.code) == (il.ErrorKind.RATE_LIMIT, "overloaded_error")
    assert last.partial is not None
    assert last.partial.text == "Hel"
    assert last.partial.metadata.status is il.MessageStatus.ERROR
    assert last.partial.metadata.usage == il.Usage(10, 1)
    assert only_unread(goes_home([*wires, *HELLO[3:]]), events)


@pytest.mark.parametrize(
    "wire",
    [
        OVERLOADED,
        {"type": "error", "error": {"type": "api_error", "message": "x", "details": {"a": 1}}},
        {"error": {"message": "no type"}},
    ],
)
def test_an_error_may_be_all_there_is(wire: Any) -> None:
    (event,) = goes_home([wire])
    assert isinstance(event, StreamError)
    assert event.partial is None


def test_an_exception_of_the_host_is_an_error() -> None:
    (event,) = read([Frame("throttlingException", '{"message": "Too many requests"}')])
    assert isinstance(event, StreamError)
    assert event.error.message == "Too many requests"
    writer = DIALECT.stream_writer()
    (again,) = writer.feed(event)
    assert again.event == "throttlingException"
    assert json.loads(again.data) == {"message": "Too many requests"}


RICH = talk(
    block(0, THINKING, *thoughts("H", "m"), signed("sig")),
    block(1, {**TEXT, "citations": []}, *words("a", "b"), {"type": "ping"}),
    block(2, called(), *given('{"city": "O', 'slo"}')),
    block(3, called(id="toolu_2")),
)


@pytest.mark.parametrize("cut", range(len(RICH)))
def test_a_stream_that_is_cut_is_never_complete(cut: int) -> None:
    events = read(RICH[:cut])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.NETWORK
    assert not any(isinstance(event, MessageComplete) for event in events)
    assert (last.partial is None) == (cut == 0)
    written, _ = write(events)
    assert written[:-1] == RICH[:cut]
    assert written[-1]["type"] == "error"  # whoever listens is told


def test_what_arrived_before_a_cut_is_kept() -> None:
    last = read(RICH[:13])[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    thinking, text, call = last.partial.content
    assert (thinking, text) == (il.ThinkingBlock("Hm", "sig"), il.TextBlock("ab"))
    assert isinstance(call, il.ToolUseBlock)
    assert (call.input, call.raw_arguments) == ({"city": "O"}, '{"city": "O')


def test_closing_twice_says_nothing_new() -> None:
    reader = DIALECT.stream_reader()
    reader.feed(frame(HELLO[0]))
    assert len(reader.close()) == 1
    assert reader.close() == []
    assert reader.feed(frame(HELLO[1])) == []


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("<html>", "$"),
        ('{"type":"message_start"}', "$.message"),
        ('{"type":"message_start","message":{"content":"x"}}', "$.message.content"),
        ('{"type":"content_block_start","index":"0"}', "$.index"),
        (
            '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":1}}',
            "$.content_block.text",
        ),
        ('{"type":"content_block_delta","index":0,"delta":[]}', "$.delta"),
        (
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":1}}',
            "$.delta.text",
        ),
        ('{"type":"message_delta","delta":{"stop_reason":{}}}', "$.delta.stop_reason"),
        ('{"type":"message_delta","delta":{},"usage":3}', "$.usage"),
        ('{"type":"error","error":3}', "$.error"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_place(data: str, path: str) -> None:
    reader = DIALECT.stream_reader()
    with pytest.raises(ReadError) as caught:
        reader.feed(Frame(None, data))
    assert caught.value.path == path
    assert isinstance(reader.close()[-1], StreamError)


# -- going home -----------------------------------------------------------------------------------


def test_what_is_changed_on_the_way_home_is_said() -> None:
    events = [
        event.replace(text=event.text.upper()) if isinstance(event, TextDelta) else event
        for event in read(HELLO)
    ]
    events = [
        event.replace(stop_reason=il.StopReason.MAX_TOKENS) if isinstance(event, Stop) else event
        for event in events
    ]
    written, _ = write(events)
    assert [wire["delta"]["text"] for wire in written[2:4]] == ["HEL", "LO"]
    assert written[5]["delta"]["stop_reason"] == "max_tokens"


def test_blocks_that_are_taken_out_leave_no_gap() -> None:
    wires = talk(block(0, THINKING, *thoughts("Hm")), block(1, TEXT, *words("a")))
    events = [event for event in read(wires) if getattr(event, "index", None) != 0]
    written, _ = write(events)
    assert [wire["index"] for wire in written if "index" in wire] == [0, 0, 0]


def test_frames_go_out_at_once() -> None:
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    counts = [sum(len(writer.feed(e)) for e in reader.feed(frame(wire))) for wire in HELLO]
    assert counts == [1] * len(HELLO)


def test_one_long_call_takes_time_by_its_length() -> None:
    pieces = [json.dumps("x" * 8)[:9]] * 2000
    text = '{"a":' + json.dumps("".join(pieces)) + "}"
    cuts = [text[at : at + 10] for at in range(0, len(text), 10)]
    wires = talk(block(0, called(), *given(*cuts)))
    assert fold(wires).message.tool_calls[0].input == {"a": "".join(pieces)}
