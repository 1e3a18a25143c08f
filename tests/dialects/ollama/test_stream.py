"""Streams of Ollama's chat, read and written home."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.ollama import DIALECT
from interlingua.errors import ReadError
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
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
from interlingua.model.ids import is_synthetic_tool_id
from interlingua.streams import ndjson
from interlingua.streams.fold import fold_all
from interlingua.streams.frames import Frame
from tests.dialects.ollama.streaming import (
    TIME,
    called,
    calls,
    ended,
    fold,
    frame,
    goes_home,
    line,
    read,
    talk,
    thoughts,
    whole,
    words,
    write,
)
from tests.dialects.streaming import only_unread

HELLO = talk(words("Hel", "lo"))
FAILED = {"error": "model runner has unexpectedly stopped"}
PNG = "iVBORw0KGgo="


# -- what is read ---------------------------------------------------------------------------------


def test_blocks_begin_with_their_first_piece_and_end_where_others_begin() -> None:
    wires = talk(thoughts("H", "m"), words("a"), calls(called(a=1)))
    events = [event.replace(frame=None) for event in read(wires)]
    assert events[:-1] == [
        MessageStart("qwen3:8b"),
        BlockStart(0, il.ThinkingBlock("")),
        ThinkingDelta(0, "H"),
        ThinkingDelta(0, "m"),
        BlockEnd(0, il.ThinkingBlock("Hm")),
        BlockStart(1000, il.TextBlock("")),
        TextDelta(1000, "a"),
        BlockEnd(1000, il.TextBlock("a")),
        ToolUseStart(3000, "call_1", "add"),
        ToolUseInputDelta(3000, '{"a":1}'),
        ToolUseEnd(3000, {"a": 1}),
        Stop(il.StopReason.TOOL_USE, "stop"),
        UsageUpdate(il.Usage(10, 3)),
    ]
    assert isinstance(events[-1], MessageComplete)


def test_every_event_knows_its_frame() -> None:
    numbers = [event.frame.number for event in read(HELLO) if event.frame is not None]
    assert numbers == [0, 0, 0, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("told", "text", "message"),
    [
        (words("Hel", "lo"), "Hello", {}),
        (words("", "a", "", "b"), "ab", {}),
        ([], "", {}),
        (words("", ""), "", {}),
        ([*thoughts("H", "m"), *words("a")], "a", {"thinking": "Hm"}),
        ([*thoughts("", "Hm"), line("a", thinking="")], "a", {"thinking": "Hm"}),
        ([line("a", thinking="Hm")], "a", {"thinking": "Hm"}),
        ([line("a", thinking="")], "a", {"thinking": ""}),
        ([calls(called(a=1))], "", {"tool_calls": [called(a=1)]}),
        ([calls(called())], "", {"tool_calls": [called()]}),
        (
            [calls(called(a=1), called(id="call_2")), calls(called(id="call_3", b=[2]))],
            "",
            {"tool_calls": [called(a=1), called(id="call_2"), called(id="call_3", b=[2])]},
        ),
        (
            [calls(called(id=None, a=1)), calls(called(id=None, a=1))],
            "",
            {"tool_calls": [called(id=None, a=1), called(id=None, a=1)]},
        ),
        (
            [*words("a"), calls({"function": {"name": "f", "arguments": "{'x': 1,}"}})],
            "a",
            {"tool_calls": [{"function": {"name": "f", "arguments": "{'x': 1,}"}}]},
        ),
        ([calls({"hologram": 1})], "", {"tool_calls": [{"hologram": 1}]}),
        ([line("a", tool_calls=[])], "a", {"tool_calls": []}),
        ([line("a", tool_calls=[]), calls(called())], "a", {"tool_calls": [called()]}),
        ([line(images=[PNG]), line(images=[PNG])], "", {"images": [PNG, PNG]}),
        ([line("a", x_more={"b": 1})], "a", {"x_more": {"b": 1}}),
    ],
)
@pytest.mark.requirement("P29", "P31")
def test_a_stream_gives_what_the_whole_answer_gives(told: Any, text: str, message: Any) -> None:
    wires = talk(told)
    for wire in wires:
        wire["created_at"] = TIME.format(5)  # of which ids are made that are missing
    goes_home(wires)
    folded, same = fold(wires), whole(text, message=message)
    assert folded == same
    assert il.dumps(folded) == il.dumps(same)


@pytest.mark.requirement("P28")
def test_parallel_calls_without_ids_get_different_ones() -> None:
    wires = talk(calls(called(id=None, a=1)), calls(called(id=None, a=1), called(id=None, a=2)))
    events = goes_home(wires)
    message = il.fold(events).message
    ids = [call.id for call in message.tool_calls]
    assert len(set(ids)) == 3
    assert all(map(is_synthetic_tool_id, ids))
    assert [e.id for e in events if isinstance(e, ToolUseStart)] == ids
    first, *others = [e.index for e in events if isinstance(e, ToolUseStart)]
    assert others == [first + 1, first + 2]
    again = DIALECT.read_response(DIALECT.write_response(il.fold(events)).wire)
    assert again.message == message  # the time that ids were made of is the answer's


def test_an_answer_has_the_time_of_its_last_line() -> None:
    response = fold(talk(words("a", "b"), created_at=TIME.format(9)))
    assert response.raw is not None
    assert response.raw["ollama"]["created_at"] == TIME.format(9)


def test_all_of_it_may_come_with_the_last_line() -> None:
    only = ended(message={"role": "assistant", "content": "a", "tool_calls": [called(a=1)]})
    response = il.fold(goes_home([only]))
    assert response == DIALECT.read_response(only)
    goes_home([*words("b"), only])


def test_where_text_and_thinking_take_turns_each_run_is_a_block() -> None:
    wires = talk(thoughts("a"), words("b"), calls(called()), thoughts("c"), words("d"))
    message = il.fold(goes_home(wires)).message
    kinds = [type(block).__name__ for block in message.content]
    assert kinds == ["ThinkingBlock", "ThinkingBlock", "TextBlock", "TextBlock", "ToolUseBlock"]
    assert (message.text, message.reasoning) == ("bd", "a\nc")


@pytest.mark.requirement("P30")
def test_an_empty_piece_opens_no_block() -> None:
    wires = talk(words("", ""), line(tool_calls=[]), line(thinking=""), line(images=None))
    events = goes_home(wires)
    assert not any(isinstance(event, BlockStart | ToolUseStart) for event in events)
    assert sum(isinstance(event, Other) for event in events) == 4  # the first begins the message


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", il.StopReason.TOOL_USE),
        ("length", il.StopReason.MAX_TOKENS),
        ("no_more_ideas", il.StopReason.OTHER),
        ("", il.StopReason.OTHER),
        (None, None),
    ],
)
@pytest.mark.requirement("P32")
def test_calls_are_remembered_until_the_reason_comes(word: Any, reason: Any) -> None:
    events = goes_home(talk(calls(called(a=1)), words("", "x"), word=word))
    stops = [event.stop_reason for event in events if isinstance(event, Stop)]
    assert stops == ([] if word is None else [reason])
    assert il.fold(events).message.metadata.stop_reason is reason


def test_the_last_stop_reason_counts() -> None:
    wires = talk(words("a"), {**line("b"), "done_reason": "length"}, word="stop")
    folded = il.fold(goes_home(wires)).message.metadata
    assert folded.stop_reason is il.StopReason.END_TURN


@pytest.mark.parametrize(
    ("first", "last", "usage"),
    [
        ({}, {}, il.Usage(10, 3)),
        ({"eval_count": 1}, {}, il.Usage(10, 3)),
        (
            {"prompt_eval_count": 4, "eval_count": 1},
            {"prompt_eval_count": None},
            il.Usage(4, 3),
        ),
        ({"prompt_eval_count": 7}, {"prompt_eval_count": "-"}, il.Usage(7, 3)),
        ({}, {"prompt_eval_count": "-", "eval_count": "-"}, None),
        ({}, {"eval_count": -5}, il.Usage(10, 0)),
    ],
)
def test_usage_counts_all_so_far(first: Any, last: Any, usage: il.Usage | None) -> None:
    end = {**ended(), **last}
    wires = [{**line("a"), **first}, {k: v for k, v in end.items() if v != "-"}]
    events = goes_home(wires)
    updates = [event.usage for event in events if isinstance(event, UsageUpdate)]
    folded = il.fold(events).message.metadata
    if usage is None:
        assert (updates, folded.usage) == ([], None)
        return
    assert updates[-1].replace(raw=None) == usage
    assert folded.usage == updates[-1]


def test_what_a_whole_answer_has_beside_its_message_outlives_the_stream() -> None:
    one, two = [{"token": "a", "logprob": -1.5}], [{"token": "b", "logprob": -0.5}]
    wires = [
        {**line("a"), "logprobs": one, "remote_model": "m", "remote_host": "h"},
        {**line("b"), "logprobs": two, "remote_model": "m", "remote_host": None},
        ended(),
    ]
    response = il.fold(goes_home(wires))
    stored = response.raw["ollama"] if response.raw is not None else {}
    assert response.message.metadata.logprobs == (*one, *two)
    assert (stored["remote_model"], stored["remote_host"], stored["total_duration"]) == (
        "m",
        "h",
        5,
    )


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "more",
    [
        {"x_extra": {"a": [1]}},
        {"x_null": None, "logprobs": None},
        {"model": "other"},
        {"model": None},
        {"created_at": None},
        {"created_at": 7},
        {"$form": 1},
        {"message": {"role": "model", "content": "z"}},
        {"message": {"content": "z", "x_inner": None}},
        {"message": {"role": "assistant", "content": None, "thinking": None}},
        {"message": {"role": "assistant"}},
        {"message": {}},
        {"message": None},
    ],
)
def test_whatever_else_a_frame_says_goes_home(place: int, more: Any) -> None:
    wires = json.loads(json.dumps(HELLO))
    wires[place] |= more
    goes_home(wires)
    for key in more:
        del wires[place][key]
    goes_home(wires)


def test_unknown_frames_survive_a_round_trip() -> None:
    news: list[Any] = [{"status": "loading"}, {"weather": "sunny"}, 7, "x", [1]]
    wires = [news[0], HELLO[0], *news[1:], *HELLO[1:]]
    events = goes_home(wires)
    assert sum(isinstance(event, Other) for event in events) == len(news)
    assert il.fold(events).message.text == "Hello"


def test_the_names_that_a_host_gives_to_frames_are_kept() -> None:
    frames = [Frame("message", json.dumps(wire)) for wire in [*HELLO[:-1], {"a": 1}, HELLO[-1]]]
    writer = DIALECT.stream_writer()
    events = read(frames)
    written = [out for event in events for out in writer.feed(event)]
    assert [each.event for each in written] == ["message"] * len(frames)
    assert il.fold(events) == fold(HELLO)


def test_several_messages_follow_each_other() -> None:
    wires = [*HELLO, *talk(words("B", "ye"))]
    messages = [each.message.text for each in fold_all(goes_home(wires))]
    assert messages == ["Hello", "Bye"]


@pytest.mark.parametrize("extra", [ended(), FAILED, {"status": "idle"}, "bye"])
def test_nothing_comes_after_the_last_message(extra: Any) -> None:
    assert only_unread(goes_home([*HELLO, extra]), read(HELLO))


# -- streams that fail ----------------------------------------------------------------------------


def test_an_error_ends_the_stream_with_what_had_arrived() -> None:
    wires = [*HELLO[:2], FAILED]
    events = goes_home(wires)
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.SERVER_ERROR
    assert last.partial is not None
    assert last.partial.text == "Hello"
    assert last.partial.metadata.status is il.MessageStatus.ERROR
    assert last.partial.metadata.stop_reason is il.StopReason.ERROR
    assert only_unread(goes_home([*wires, *HELLO[2:]]), events)


@pytest.mark.parametrize(
    "wire",
    [
        FAILED,
        {"error": "too many requests", "status": 429, "signin_url": "https://example.com/"},
        {"error": {"message": "no type", "code": 3}},
    ],
)
def test_an_error_may_be_all_there_is(wire: Any) -> None:
    (event,) = goes_home([wire])
    assert isinstance(event, StreamError)
    assert event.partial is None


RICH = talk(thoughts("H", "m"), words("a", "b", ""), calls(called(a=1)), calls(called(id="call_2")))


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
    assert list(written[-1]) == ["error"]  # whoever listens is told


def test_bytes_that_are_cut_anywhere_give_the_same_or_no_end() -> None:
    wires = talk(words("Grüße, ", "世界"), calls(called(a="é")))
    data = b"".join(ndjson.encode(frame(wire)) for wire in wires)
    for at in range(len(data)):
        decoder, reader = ndjson.Decoder(), DIALECT.stream_reader()
        frames = [*decoder.feed(data[:at]), *decoder.feed(data[at:]), *decoder.close()]
        assert il.fold(read(frames)) == fold(wires)
        decoder = ndjson.Decoder()
        events = [event for each in decoder.feed(data[:at]) for event in reader.feed(each)]
        events += [event for each in decoder.close() for event in reader.feed(each)]
        ending = [*events, *reader.close()][-1]
        assert isinstance(ending, StreamError if at < len(data) - 1 else MessageComplete)


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
        ('{"message":[],"done":false}', "$.message"),
        ('{"message":{"content":3}}', "$.message.content"),
        ('{"message":{"role":3}}', "$.message.role"),
        ('{"message":{"thinking":{}}}', "$.message.thinking"),
        ('{"message":{"tool_calls":{}}}', "$.message.tool_calls"),
        ('{"message":{"tool_calls":[1]}}', "$.message.tool_calls[0]"),
        (
            '{"message":{"tool_calls":[{"function":{"name":"f"}},{"id":1,"function":{"name":"f"}}]}}',
            "$.message.tool_calls[1].id",
        ),
        ('{"done":"yes"}', "$.done"),
        ('{"done":true,"done_reason":{}}', "$.done_reason"),
        ('{"done":true,"eval_count":"3"}', "$.eval_count"),
        ('{"error":3}', "$.error"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_place(data: str, path: str) -> None:
    reader = DIALECT.stream_reader()
    with pytest.raises(ReadError) as caught:
        reader.feed(Frame(None, data))
    assert caught.value.path == path
    assert "ollama stream" in str(caught.value)
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
    events = [
        event.replace(usage=il.Usage(1, 2)) if isinstance(event, UsageUpdate) else event
        for event in events
    ]
    written, _ = write(events)
    assert [wire["message"]["content"] for wire in written] == ["HEL", "LO", ""]
    assert written[2]["done_reason"] == "length"
    assert (written[2]["prompt_eval_count"], written[2]["eval_count"]) == (1, 2)


def test_blocks_that_are_taken_out_are_gone() -> None:
    wires = talk(thoughts("Hm"), words("a"))
    events = [event for event in read(wires) if getattr(event, "index", None) != 0]
    written, _ = write(events)
    assert all("thinking" not in wire["message"] for wire in written)
    assert "".join(wire["message"]["content"] for wire in written) == "a"


def test_lines_go_out_at_once() -> None:
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    counts = [sum(len(writer.feed(e)) for e in reader.feed(frame(wire))) for wire in RICH]
    assert counts == [1] * len(RICH)


def test_many_pieces_take_time_by_their_number() -> None:
    pieces = ["0123456789"] * 20_000
    lines = [{**each, "logprobs": [{"token": "a"}]} for each in words(*pieces)]
    response = fold(talk(lines))
    assert response.message.text == "".join(pieces)
    assert len(response.message.metadata.logprobs) == len(pieces)
