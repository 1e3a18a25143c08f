"""Reading a stream: frames in, events out."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.openai_responses import DIALECT
from interlingua.errors import ReadError
from interlingua.model.base import difference
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    UsageUpdate,
)
from interlingua.streams.fold import fold_all
from interlingua.streams.frames import Frame
from tests.dialects.openai_responses.streaming import (
    begun,
    called,
    ended,
    fold,
    frame,
    goes_home,
    items,
    message,
    numbered,
    plain,
    read,
    refused,
    response,
    talk,
    thoughts,
    unnamed,
    words,
    write,
)
from tests.dialects.openai_responses.streams import HELLO, TOLD, without
from tests.dialects.streaming import only_unread


@pytest.mark.requirement("S002-79", "S002-87")
def test_what_the_frames_tell() -> None:
    home = {"type": "message", "id": "msg_1", "status": "completed"}
    spelled = {"openai-responses": {"$form": {"spelled": {"logprobs": []}, "item": home}}}
    events = plain(read(HELLO))
    assert events == [
        MessageStart("gpt-5", "resp_1"),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "Hel"),
        TextDelta(0, "lo"),
        BlockEnd(0, il.TextBlock("Hello")),
        Stop(il.StopReason.END_TURN, "completed"),
        UsageUpdate(il.Usage(9, 4, 0, 0, 0)),
        MessageComplete(DIALECT.read_response(HELLO[-1]["response"])),
    ]
    end = events[4]
    assert isinstance(end, BlockEnd)
    assert end.block.raw == spelled


def test_every_event_knows_its_frame() -> None:
    numbers = [event.frame.number for event in read(HELLO) if event.frame is not None]
    assert numbers == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
@pytest.mark.requirement("P31", "P41")
def test_a_stream_gives_what_the_whole_answer_gives(told: list[Any]) -> None:
    wires = talk(*told)
    events = goes_home(wires)
    folded, same_ = il.fold(events), DIALECT.read_response(response(*items(told)))
    assert folded == same_
    assert il.dumps(folded) == il.dumps(same_)
    by_pieces = il.fold([event for event in events if not isinstance(event, MessageComplete)])
    assert by_pieces.message.content == folded.message.content


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_the_end_of_a_block_has_its_last_state(told: list[Any]) -> None:
    events = read(talk(*told))
    complete = events[-1]
    assert isinstance(complete, MessageComplete)
    content = complete.response.message.content
    ends = {event.index: event for event in events if isinstance(event, BlockEnd | ToolUseEnd)}
    assert len(ends) == len(content)
    for index, block in enumerate(content):
        end = ends[index]
        if isinstance(end, BlockEnd):
            assert il.dumps(end.block) == il.dumps(block)
        else:
            assert isinstance(block, il.ToolUseBlock)
            assert (end.input, end.raw_arguments, end.raw) == (
                block.input,
                block.raw_arguments,
                block.raw,
            )


def test_the_signature_of_a_beginning_is_not_relied_on() -> None:
    result = thoughts(0, encrypted_content="all of it")
    result[0]["item"]["encrypted_content"] = "a part"
    wires = talk(result)
    goes_home(wires)
    assert fold(wires).message.content == (il.ThinkingBlock("", "all of it", "rs_1"),)
    partial = fold(wires[:3]).message.content
    assert partial == (il.ThinkingBlock("", None, "rs_1"),)


def test_a_last_frame_without_output_does_not_undo_what_was_told() -> None:
    collected = [thoughts(0, ("Hm",)), message(1, words("Hi"))]
    wires = numbered([*begun(), *collected[0], *collected[1], ended()])
    events = goes_home(wires)
    assert il.fold(events) == DIALECT.read_response(response(*items(collected)))


@pytest.mark.parametrize(
    ("kind", "more", "reason"),
    [
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "max_tokens"),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ("completed", {}, "end_turn"),
    ],
)
@pytest.mark.requirement("P32")
def test_the_last_frame_has_the_stop_reason(kind: str, more: Any, reason: str) -> None:
    events = goes_home(talk(message(0, words("a")), kind=kind, **more))
    stops = [event.stop_reason for event in events if isinstance(event, Stop)]
    assert stops == [il.StopReason(reason)]
    assert il.fold(events).message.metadata.stop_reason == il.StopReason(reason)


@pytest.mark.parametrize(
    ("told", "reason"),
    [(called(0, "{}"), "tool_use"), (message(0, refused("No.")), "refusal")],
)
def test_calls_and_refusals_make_another_ending(told: list[Any], reason: str) -> None:
    assert fold(talk(told)).message.metadata.stop_reason == il.StopReason(reason)


@pytest.mark.parametrize(
    "change",
    [
        {"obfuscation": "aX"},
        {"logprobs": [{"token": "Hel", "logprob": -0.1, "bytes": [72], "top_logprobs": []}]},
        {"sequence_number": 99},
        {"sequence_number": None},
        {"output_index": 0.0},
        {"item_id": "msg_other"},
        {"stream_id": "s"},
        {"delta": 'a\u2028\\"é🙂'},
    ],
)
def test_a_piece_that_is_not_plain_goes_home(change: Any) -> None:
    wires = [dict(wire) for wire in HELLO]
    wires[4] |= change
    assert il.fold(goes_home(wires)).message.text == "Hello"


@pytest.mark.parametrize(
    "keys",
    [
        ("sequence_number",),
        ("logprobs",),
        ("item_id",),
        ("output_index",),
        ("content_index",),
        ("content_index", "output_index", "item_id"),
    ],
)
def test_a_stream_that_leaves_keys_out_goes_home(keys: tuple[str, ...]) -> None:
    events = goes_home(without(HELLO, *keys))
    assert il.fold(events).message.text == "Hello"
    assert [event.text for event in events if type(event) is TextDelta] == ["Hel", "lo"]


def test_frames_that_say_nothing_go_home() -> None:
    wires = [*HELLO[:3], {"type": "keepalive", "n": 1}, {"x": 1}, {}, *HELLO[3:]]
    events = goes_home(numbered(wires))
    assert sum(isinstance(event, Other) for event in events) == 7
    assert il.fold(events) == fold(HELLO)


def test_a_name_of_its_own_goes_home() -> None:
    frames = [frame(wire) for wire in HELLO]
    frames[4] = Frame("other", frames[4].data)
    writer = DIALECT.stream_writer()
    written = [out for event in read(frames) for out in writer.feed(event)]
    assert [each.event for each in written] == [each.event for each in frames]


def test_done_is_kept_where_frames_have_no_names() -> None:
    events = goes_home([*HELLO, "[DONE]"], named=False)
    assert isinstance(events[-1], MessageComplete)
    assert il.fold(events) == fold(HELLO)


def test_the_last_event_of_a_named_stream_does_not_wait() -> None:
    reader = DIALECT.stream_reader()
    emitted = [reader.feed(frame(wire)) for wire in HELLO]
    assert isinstance(emitted[-1][-1], MessageComplete)
    assert reader.close() == []
    assert only_unread(goes_home([*HELLO, "[DONE]"]), read(HELLO))


def test_several_responses_in_one_stream() -> None:
    other = talk(message(0, words("again"), id="msg_2"))
    for named in (True, False):
        events = goes_home([*HELLO, *other], named)
        assert [each.message.text for each in fold_all(events)] == ["Hello", "again"]


def test_edits_of_pieces_are_in_every_frame_that_repeats_them() -> None:
    events: list[Event] = []
    for event in read(HELLO):
        match event:
            case TextDelta(text="lo"):
                events.append(event.replace(text="p"))
            case BlockEnd():
                events.append(event.replace(block=event.block.replace(text="Help")))
            case MessageComplete(response=whole):
                content = (whole.message.content[0].replace(text="Help"),)
                edited = whole.replace(message=whole.message.replace(content=content))
                events.append(event.replace(response=edited))
            case _:
                events.append(event)
    wires, _ = write(events)
    expected = json.loads(json.dumps(HELLO).replace("Hello", "Help").replace('"lo"', '"p"'))
    assert difference(expected, wires) is None


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_a_stream_that_is_edited_goes_on_where_it_was(told: list[Any]) -> None:
    wires = talk(*told)
    events = read(wires)
    for place, event in enumerate(events):
        if isinstance(event, TextDelta | ThinkingDelta):
            edited = event.replace(text=event.text + "!")
            out, report = write([*events[:place], edited, *events[place + 1 :]])
            assert list(report.entries) == []
            assert event.frame is not None
            number = event.frame.number
            assert difference(wires[:number], out[:number]) is None
            assert [wire["sequence_number"] for wire in out] == list(range(len(wires)))
            assert [wire["type"] for wire in out] == [wire["type"] for wire in wires]
            again = [each.text for each in read(out) if isinstance(each, type(event))]
            pieces = [each.text for each in events if isinstance(each, type(event))]
            assert "".join(again) != "".join(pieces)
            assert "".join(again).replace("!", "", 1) == "".join(pieces)


def test_a_stream_that_is_edited_is_numbered_upwards() -> None:
    """A reader takes a number that goes back for a frame that came twice."""
    waiting = [{"type": "keepalive"}] * 9
    wires = numbered([*HELLO[:5], *waiting, *HELLO[5:]])
    events = [
        event.replace(text="p") if event == TextDelta(0, "lo", frame=event.frame) else event
        for event in read(wires)
    ]
    out, _ = write(events)
    numbers = [wire["sequence_number"] for wire in out]
    assert numbers == sorted({*numbers})
    assert [event.text for event in read(out) if isinstance(event, TextDelta)] == ["Hel", "p"]


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
@pytest.mark.parametrize("named", [True, False])
def test_a_cut_stream_is_never_complete(told: list[Any], named: bool) -> None:
    wires = talk(*told)
    frames = [frame(wire) for wire in wires] if named else unnamed(wires)
    for length in range(len(frames)):
        *_, last = read(frames[:length])
        assert isinstance(last, StreamError)
        assert last.error.kind is il.ErrorKind.NETWORK
        if length:
            assert last.partial is not None
            assert last.partial.metadata.status is il.MessageStatus.ERROR


def test_what_had_arrived_is_kept_when_a_stream_breaks_off() -> None:
    partial = fold(HELLO[:5]).message
    assert partial.text == "Hel"
    assert partial.metadata.response_id == "resp_1"
    call = fold(talk(called(0, '{"a": 1, "b', '": 2}'))[:4]).message
    (block,) = call.content
    assert isinstance(block, il.ToolUseBlock)
    assert block.input == {"a": 1}
    assert [each.type for each in call.metadata.diagnostics] == ["tool_arguments_recovered"]


FLAT = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": None}

NESTED = {
    "type": "error",
    "error": {
        "type": "insufficient_quota",
        "code": "insufficient_quota",
        "message": "Too much",
        "param": None,
    },
}

FAILED = ended(kind="failed", error={"code": "server_error", "message": "Oops"}, usage=None)


@pytest.mark.parametrize(
    ("last", "kind", "said"),
    [
        ([FLAT], il.ErrorKind.RATE_LIMIT, "Slow down"),
        ([NESTED], il.ErrorKind.RATE_LIMIT, "Too much"),
        ([{"error": {"message": "Bad", "code": 400}}], il.ErrorKind.INVALID_REQUEST, "Bad"),
        ([FAILED], il.ErrorKind.SERVER_ERROR, "Oops"),
        ([NESTED, FAILED], il.ErrorKind.SERVER_ERROR, "Oops"),
    ],
)
def test_errors_end_a_stream(last: list[Any], kind: il.ErrorKind, said: str) -> None:
    wires = numbered([*HELLO[:5], *last])
    reader = DIALECT.stream_reader()
    events = [event for wire in wires for event in reader.feed(frame(wire))] + reader.close()
    *_, end = events
    assert isinstance(end, StreamError)
    assert (end.error.kind, end.error.message) == (kind, said)
    assert end.partial is not None
    assert end.partial.text == "Hel"
    assert end.partial.metadata.error_message == said
    written, _ = write(events)
    assert difference(wires, written) is None


def test_an_error_without_a_number_goes_home_before_the_failed_response() -> None:
    wires = [*HELLO[:5], NESTED, {**FAILED, "sequence_number": 5}]
    assert isinstance(goes_home(wires)[-1], StreamError)


def test_an_error_may_be_all_there_is() -> None:
    (end,) = goes_home([{**FLAT, "sequence_number": 0}])
    assert isinstance(end, StreamError)
    assert end.partial is None


def test_a_stream_that_broke_off_ends_in_an_error_at_home() -> None:
    wires, _ = write(read(HELLO[:5]))
    assert difference(HELLO[:5], wires[:5]) is None
    assert [wire["type"] for wire in wires[5:]] == ["error"]
    assert fold(wires).error == fold(HELLO[:5]).error


@pytest.mark.parametrize(
    ("place", "wire", "path"),
    [
        (0, {"response": []}, "$.response"),
        (2, {"item": None}, "$.item"),
        (2, {"output_index": "0"}, "$.output_index"),
        (3, {"part": 1}, "$.part"),
        (3, {"content_index": "0"}, "$.content_index"),
        (4, {"delta": 1}, "$.delta"),
        (8, {"item": {"type": "message", "role": "assistant", "content": 5}}, "$.item.content"),
        (9, {"response": {**response(), "output": [5]}}, "$.response.output[0]"),
    ],
)
def test_what_has_the_wrong_shape_is_refused(place: int, wire: Any, path: str) -> None:
    wires = [dict(each) for each in HELLO]
    wires[place] |= wire
    with pytest.raises(ReadError) as error:
        read(wires)
    assert (error.value.what, error.value.path) == ("openai-responses stream", path)


def test_frames_that_are_no_json_are_refused() -> None:
    with pytest.raises(ReadError):
        read([Frame(None, "{")])


@pytest.mark.parametrize("count", [1, 3, 6])
def test_frames_that_are_delivered_twice_say_nothing_twice(count: int) -> None:
    metadata = il.MessageMetadata(response_id="r", stop_reason=il.StopReason.END_TURN)
    call = il.ToolUseBlock("call_1", "f", {"a": 1})
    content = il.Response(il.Message.assistant((il.TextBlock("one two"), call), metadata))
    writer = il.dialect("openai-responses").stream_writer()
    frames = [f for event in il.unfold(content) for f in writer.feed(event)] + writer.close()
    for at in range(1, len(frames)):
        twice = [*frames[:at], *frames[max(at - count, 0) : at], *frames[at:]]
        reader = il.dialect("openai-responses").stream_reader()
        events = [event for frame in twice for event in reader.feed(frame)] + reader.close()
        message = il.fold(events).message
        assert (message.text, [each.id for each in message.tool_calls]) == ("one two", ["call_1"])
        home = il.dialect("openai-responses").stream_writer()
        back = [f for event in events for f in home.feed(event)] + home.close()
        assert [json.loads(f.data) for f in back] == [json.loads(f.data) for f in twice]


def test_frames_whose_numbers_tell_nothing_are_all_told() -> None:
    metadata = il.MessageMetadata(response_id="r", stop_reason=il.StopReason.END_TURN)
    content = il.Response(il.Message.assistant((il.TextBlock("a"),), metadata))
    writer = il.dialect("openai-responses").stream_writer()
    frames = [f for event in il.unfold(content) for f in writer.feed(event)] + writer.close()
    for number in (0, None):
        reader = il.dialect("openai-responses").stream_reader()
        events: list[il.Event] = []
        for each in frames:
            wire = {**json.loads(each.data), "sequence_number": number}
            pieces = 3 if wire["type"].endswith(".delta") else 1
            for _ in range(pieces):
                events += reader.feed(il.Frame(each.event, json.dumps(wire)))
        kinds = [event.type for event in events]
        assert kinds.count("text_delta") == 3, number


@pytest.mark.parametrize("last", [[], ["BBB"], ["CCC"]])
def test_encrypted_reasoning_is_that_of_the_item_s_end(last: list[str]) -> None:
    def item(signature: str) -> dict[str, Any]:
        shape = {"id": "rs_1", "type": "reasoning", "summary": []}
        return {**shape, "encrypted_content": signature}

    about = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": []}
    output = [item(each) for each in last]
    wires = [
        {"type": "response.created", "response": {**about, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item("AAA")},
        {"type": "response.output_item.done", "output_index": 0, "item": item("BBB")},
        {
            "type": "response.completed",
            "response": {**about, "status": "completed", "output": output},
        },
    ]
    (block,) = il.fold(read(wires)).message.content
    assert isinstance(block, il.ThinkingBlock)
    assert block.signature == "BBB"
