"""Streams of `streamGenerateContent`, read and written home."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini import DIALECT
from interlingua.errors import ReadError
from interlingua.model.events import (
    BlockDelta,
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
    ToolUseStart,
    UsageUpdate,
)
from interlingua.streams import jsonarray
from interlingua.streams.frames import Frame
from tests.dialects.gemini.streaming import (
    ABOUT,
    chunk,
    counts,
    fold,
    frame,
    goes_home,
    late,
    read,
    talk,
    thought,
    whole,
    write,
)
from tests.dialects.gemini.streams import IMAGE
from tests.dialects.gemini.wires import call, text
from tests.dialects.streaming import bare, only_unread

HELLO = [
    chunk(text("Hel"), usage=counts(4, 1)),
    chunk(text("lo"), usage=counts(4, 2), finishReason="STOP"),
]
CODE = {"executableCode": {"language": "PYTHON", "code": "print(6*7)"}}
RAN = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}}
SEARCH = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}, "id": "t1"}}
FOUND = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"a": 1}, "id": "t1"}}
SOUND = {"inlineData": {"mimeType": "audio/L16;codec=pcm;rate=24000", "data": "AAAA"}}
UNAVAILABLE = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}


# -- what is read ---------------------------------------------------------------------------------


@pytest.mark.requirement("S002-79", "S002-87")
def test_a_frame_is_a_piece_of_each_answer() -> None:
    assert bare(read(HELLO)) == [
        MessageStart("gemini-3-flash", "r1"),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "Hel"),
        UsageUpdate(il.Usage(4, 1)),
        TextDelta(0, "lo"),
        Stop(il.StopReason.END_TURN, "STOP"),
        UsageUpdate(il.Usage(4, 2)),
        BlockEnd(0, il.TextBlock("Hello")),
        MessageComplete(whole(text("Hello"), usage=counts(4, 2))),
    ]


def test_every_event_knows_its_frame() -> None:
    events = read(HELLO)
    numbers = [event.frame.number for event in events if event.frame is not None]
    assert numbers == [0, 0, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("told", "parts"),
    [
        ([text("Hel"), text("lo")], [text("Hello")]),
        ([text("")], []),
        ([text(""), text("a"), text("")], [text("a")]),
        ([thought("Hm"), thought("."), text("a")], [thought("Hm."), text("a")]),
        ([text("a"), thought("Hm"), text("b")], [text("a"), thought("Hm"), text("b")]),
        ([text("a"), text("b"), late("c2ln")], [text("ab", thoughtSignature="c2ln")]),
        (
            [thought("Hm"), late("c2ln", thought=True), text("a")],
            [thought("Hm", thoughtSignature="c2ln"), text("a")],
        ),
        ([thought("Hm"), late("c2ln")], [thought("Hm"), late("c2ln")]),
        ([text("a"), {"thoughtSignature": "c2ln"}], [text("a", thoughtSignature="c2ln")]),
        (
            [text("a"), text("b", thoughtSignature="c2ln"), text("c")],
            [text("a"), text("b", thoughtSignature="c2ln"), text("c")],
        ),
        (
            [text("a"), late("MQ=="), late("Mg==")],
            [text("a", thoughtSignature="MQ=="), late("Mg==")],
        ),
        ([[text("a"), text("b")], text("c")], [text("a"), text("bc")]),
        (
            [text("a"), text("b", partMetadata={"x": 1})],
            [text("a"), text("b", partMetadata={"x": 1})],
        ),
        ([call(), text("")], [call()]),
        ([call(id="c1", thoughtSignature="x")], [call(id="c1", thoughtSignature="x")]),
        ([{**call(), "thoughtSignature": "c2ln"}], [{**call(), "thoughtSignature": "c2ln"}]),
        ([[call(), call("other")]], [call(), call("other")]),
        ([call(), call(), late("c2ln")], [call(), call(), late("c2ln")]),
        ([text("a"), CODE, RAN, text("b")], [text("a"), CODE, RAN, text("b")]),
        ([[SEARCH, text("")], FOUND, text("b")], [SEARCH, FOUND, text("b")]),
        ([text("Look:"), IMAGE], [text("Look:"), IMAGE]),
        ([SOUND, SOUND], [SOUND, SOUND]),
        ([{"hologram": {"z": 1}}], [{"hologram": {"z": 1}}]),
        ([{**call(), "text": "and"}], [{**call(), "text": "and"}]),
    ],
)
@pytest.mark.requirement("P29", "P30")
def test_a_stream_gives_what_the_whole_answer_gives(told: list[Any], parts: list[Any]) -> None:
    wires = talk(*told)
    events = goes_home(wires)
    folded, same = il.fold(events), whole(*parts)
    assert folded == same
    assert il.dumps(folded) == il.dumps(same)
    assert il.fold(events[:-1]).message.content == same.message.content


def test_a_late_signature_is_told_of_its_text() -> None:
    events = bare(read(talk(text("a"), late("c2ln"))))
    assert events[2:] == [
        TextDelta(0, "a"),
        BlockDelta(0, "signature", "c2ln"),
        Stop(il.StopReason.END_TURN, "STOP"),
        BlockEnd(0, il.TextBlock("a", "c2ln")),
        MessageComplete(whole(text("a", thoughtSignature="c2ln"))),
    ]


def test_thoughts_are_no_text() -> None:
    events = bare(read(talk(thought("Hm"), text("a"))))
    assert events[1:5] == [
        BlockStart(0, il.ThinkingBlock("")),
        ThinkingDelta(0, "Hm"),
        BlockEnd(0, il.ThinkingBlock("Hm")),
        BlockStart(1, il.TextBlock("")),
    ]


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([[call()], [text("")]], il.StopReason.TOOL_USE),
        ([[call()], []], il.StopReason.TOOL_USE),
        ([[CODE, RAN], [text("a")]], il.StopReason.END_TURN),
    ],
)
@pytest.mark.requirement("P32")
def test_calls_are_remembered_until_the_reason_to_stop_comes(
    frames: list[Any], reason: il.StopReason
) -> None:
    events = goes_home(talk(*frames))
    (stop,) = [event for event in events if isinstance(event, Stop)]
    assert (stop.stop_reason, stop.raw_stop_reason) == (reason, "STOP")
    assert il.fold(events).message.metadata.stop_reason is reason


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("MAX_TOKENS", il.StopReason.MAX_TOKENS),
        ("SAFETY", il.StopReason.CONTENT_FILTER),
        ("NO_MORE_IDEAS", il.StopReason.OTHER),
        (1, il.StopReason.TOOL_USE),
        (2, il.StopReason.MAX_TOKENS),
    ],
)
@pytest.mark.requirement("P32")
def test_other_reasons_to_stop_stand(word: Any, reason: il.StopReason) -> None:
    metadata = il.fold(goes_home(talk(call(), text(""), word=word))).message.metadata
    assert (metadata.stop_reason, metadata.raw_stop_reason) == (reason, word)


def test_the_last_reason_to_stop_counts() -> None:
    wires = talk(CODE, RAN, text("42"))
    wires[0]["candidates"][0]["finishReason"] = "STOP"
    wires[2]["candidates"][0]["finishReason"] = "MAX_TOKENS"
    wires[2]["candidates"][0]["finishMessage"] = "Too long."
    events = goes_home(wires)
    assert sum(isinstance(event, Stop) for event in events) == 2
    response = il.fold(events)
    assert response.message.metadata.stop_reason is il.StopReason.MAX_TOKENS
    candidate = DIALECT.write_response(response).wire["candidates"][0]
    assert candidate["finishMessage"] == "Too long."


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ([counts(4, 1), counts(4, 2)], il.Usage(4, 2)),
        ([counts(4, None), counts(4, 2)], il.Usage(4, 2)),
        ([counts(4, 2), None], il.Usage(4, 2)),
        ([None, counts(4, 2)], il.Usage(4, 2)),
        ([counts(9, 2), counts(9, 3, cachedContentTokenCount=5)], il.Usage(4, 3, 5)),
        (
            [counts(4, 1), {**counts(4, 2, thoughtsTokenCount=7), "totalTokenCount": 13}],
            il.Usage(4, 9, reasoning_tokens=7),
        ),
        (
            [counts(4, 1), {"promptTokenCount": 4, "thoughtsTokenCount": 7}],
            il.Usage(4, 7, None, None, 7),
        ),
        ([counts(4, 1), {"prompt_token_count": 4}], il.Usage(4)),
        ([counts(4, 1), counts(4, 2, totalTokenCount=99, trafficType="X")], il.Usage(4, 2)),
        ([counts(4, 1), counts(4, None, candidatesTokenCount=None)], il.Usage(4)),
        ([counts(4, 1), {}], il.Usage()),
    ],
)
def test_usage_is_of_all_so_far_in_every_frame(told: list[Any], usage: il.Usage) -> None:
    first, last = told
    wires = [
        chunk(text("a")),
        chunk(text("b"), usage=first),
        chunk(text("c"), usage=last),
        chunk(text("d"), finishReason="STOP"),
    ]
    events = goes_home(wires)
    updates = [event.usage for event in events if isinstance(event, UsageUpdate)]
    assert updates[-1] == usage
    assert il.fold(events).message.metadata.usage == usage
    for wire, update in zip([each for each in told if each is not None], updates, strict=True):
        assert update == whole(usage=wire).message.metadata.usage


def two_answers() -> list[Any]:
    content = {"role": "model", "parts": [text("b")]}
    both = chunk(text("a"))
    both["candidates"].append({"content": content, "index": 1})
    end = chunk(call(), finishReason="STOP")
    alone = {"candidates": [{"content": content, "index": 1, "finishReason": "MAX_TOKENS"}]}
    return [both, {**alone, **ABOUT}, {**end, "usageMetadata": counts()}]


def test_several_answers_are_told_by_their_number() -> None:
    events = goes_home(two_answers())
    assert [event.choice for event in events if isinstance(event, MessageStart)] == [0, 1]
    response = il.fold(events)
    assert (response.message.text, response.message.tool_calls[0].name) == ("a", "weather")
    (other,) = response.alternatives
    assert (other.text, other.metadata.stop_reason) == ("bb", il.StopReason.MAX_TOKENS)
    assert DIALECT.read_response(DIALECT.write_response(response).wire) == response


def test_an_answer_that_nothing_ended_leaves_the_stream_broken_off() -> None:
    wires = two_answers()
    assert isinstance(read(wires[:2])[-1], StreamError)
    assert isinstance(read([wires[0], wires[2]])[-1], StreamError)


@pytest.mark.parametrize(
    "body",
    [
        {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []}},
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": counts(4, None)},
        {"promptFeedback": {"blockReason": "OTHER"}, "candidates": [], **ABOUT},
    ],
)
def test_a_blocked_prompt_ends_the_stream(body: Any) -> None:
    response = il.fold(goes_home([body]))
    assert response == DIALECT.read_response(body)
    metadata = response.message.metadata
    assert metadata.stop_reason is il.StopReason.CONTENT_FILTER
    assert metadata.raw_stop_reason == body["promptFeedback"]["blockReason"]
    goes_home([{"usageMetadata": counts(4, None), **ABOUT}, body])


def test_a_block_in_mid_answer_keeps_what_was_said() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, **ABOUT}
    message = il.fold(goes_home([chunk(text("a")), blocked])).message
    assert message.text == "a"
    assert message.metadata.stop_reason is il.StopReason.CONTENT_FILTER


def test_a_frame_without_candidates_is_no_end() -> None:
    rated = {"promptFeedback": {"safetyRatings": [{"category": "X"}]}, **ABOUT}
    events = goes_home([rated, *HELLO])
    assert il.fold(events).message.text == "Hello"
    assert isinstance(read([rated])[-1], StreamError)


@pytest.mark.parametrize(
    "change",
    [
        lambda wire: wire.pop("modelVersion"),
        lambda wire: wire.pop("responseId"),
        lambda wire: wire.update(modelVersion="other", responseId=None),
        lambda wire: wire.update(createTime="2026-11-15T00:00:00Z"),
        lambda wire: wire.update(x_extra={"a": [1]}),
        lambda wire: wire.update(usageMetadata=None),
        lambda wire: wire["candidates"][0].pop("index"),
        lambda wire: wire["candidates"][0].update(index=None, safetyRatings=[], x=None),
        lambda wire: wire["candidates"][0]["content"].pop("role"),
        lambda wire: wire["candidates"][0]["content"].update(role="assistant", x=1),
        lambda wire: wire["candidates"][0]["content"].update(parts={"text": "one"}),
        lambda wire: wire["candidates"][0]["content"]["parts"][0].update(thought=False),
        lambda wire: wire["candidates"][0]["content"]["parts"][0].update(functionCall=None),
        lambda wire: wire["candidates"][0]["content"]["parts"].insert(0, {"text": None}),
        lambda wire: wire["candidates"][0]["content"]["parts"].append({}),
        lambda wire: wire["candidates"][0]["content"]["parts"].append({"thoughtSignature": ""}),
        lambda wire: wire["candidates"][0].update(content={"role": "model"}),
        lambda wire: wire["candidates"][0].update(content=None),
        lambda wire: wire["candidates"].clear(),
        lambda wire: wire.clear(),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_whatever_a_frame_says_goes_home(change: Any, place: int) -> None:
    wires = [chunk(text("a"), usage=counts()), chunk(text("b")), chunk(text("c")), HELLO[1]]
    change(wires[place])
    events = goes_home(wires)
    response = il.fold(events)
    assert DIALECT.read_response(DIALECT.write_response(response).wire) == response


def test_a_body_in_a_list_and_names_of_frames_go_home() -> None:
    wires: list[Any] = [[HELLO[0]], [HELLO[1]]]
    assert il.fold(goes_home(wires)).message.text == "Hello"
    writer = DIALECT.stream_writer()
    frames = [frame(wire, "chunk") for wire in HELLO]
    written = [out for event in read(frames) for out in writer.feed(event)]
    assert [each.event for each in written] == ["chunk", "chunk"]


def test_what_is_no_answer_says_nothing_and_goes_home() -> None:
    frames = [frame(HELLO[0]), Frame(None, "[DONE]"), frame([1, 2]), frame(HELLO[1])]
    events = read(frames)
    assert sum(isinstance(event, Other) for event in events) == 2
    writer = DIALECT.stream_writer()
    written = [out for event in events for out in writer.feed(event)]
    assert written[1] == frames[1]
    assert [json.loads(each.data) for each in written[2:]] == [[1, 2], HELLO[1]]


def test_ids_of_calls_are_made_of_the_first_id_of_the_stream() -> None:
    wires = talk({"functionCall": {"name": "now", "args": {}}}, text(""))
    del wires[0]["responseId"]
    events = goes_home(wires)
    (start,) = [event for event in events if isinstance(event, ToolUseStart)]
    message = il.fold(events).message
    assert message.tool_calls[0].id == start.id
    assert message.metadata.response_id == "r1"


def test_the_items_of_a_list_are_the_same_frames() -> None:
    encoder, decoder = jsonarray.Encoder(), jsonarray.Decoder()
    data = b"".join(encoder.feed(frame(wire)) for wire in HELLO) + encoder.close()
    frames = [out for at in range(len(data)) for out in decoder.feed(data[at : at + 1])]
    assert il.fold(read([*frames, *decoder.close()])) == fold(HELLO)


# -- streams that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("wire", [UNAVAILABLE, [UNAVAILABLE], {"error": "no shape"}])
def test_an_error_ends_the_stream_with_what_had_arrived(wire: Any) -> None:
    wires = [HELLO[0], wire]
    events = goes_home(wires)
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    assert last.partial.text == "Hel"
    assert last.partial.metadata.status is il.MessageStatus.ERROR
    assert last.partial.metadata.usage == il.Usage(4, 1)
    assert only_unread(goes_home([*wires, *HELLO]), events)


@pytest.mark.parametrize("wire", [UNAVAILABLE, [UNAVAILABLE], {**UNAVAILABLE, "x": 1}])
def test_an_error_may_be_all_there_is(wire: Any) -> None:
    (event,) = goes_home([wire])
    assert isinstance(event, StreamError)
    assert event.partial is None
    assert (event.error.kind, event.error.status) == (il.ErrorKind.SERVER_ERROR, 503)


def test_what_another_candidate_has_sent_is_not_part_of_the_first() -> None:
    events = goes_home([chunk(text("Wh"), index=1), UNAVAILABLE])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    assert last.partial.content == ()
    response = il.fold(events)
    assert response.message.text == ""
    assert [other.text for other in response.alternatives] == ["Wh"]


RICH = talk(thought("H"), thought("m", thoughtSignature="c2ln"), text("a"), text("b"), CODE, call())


@pytest.mark.parametrize("cut", range(len(RICH)))
def test_a_stream_that_is_cut_is_never_complete(cut: int) -> None:
    events = read(RICH[:cut])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.NETWORK
    assert (last.partial is None) == (cut == 0)
    written, _ = write(events)
    assert written[:-1] == RICH[:cut]
    assert "error" in written[-1]  # whoever listens is told


def test_what_arrived_before_a_cut_is_kept() -> None:
    last = read(RICH[:4])[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    blocks = (il.ThinkingBlock("H"), il.ThinkingBlock("m", "c2ln"), il.TextBlock("ab"))
    assert last.partial.content == blocks


def test_an_answer_that_goes_on_after_its_end_has_not_ended() -> None:
    wires = talk(CODE, RAN, text("42"))
    wires[0]["candidates"][0]["finishReason"] = "STOP"
    assert isinstance(read(wires[:1])[-1], MessageComplete)
    assert isinstance(read(wires[:2])[-1], StreamError)
    assert isinstance(read(wires)[-1], MessageComplete)
    counted = {"usageMetadata": counts(), **ABOUT}
    assert isinstance(read([*wires, counted])[-1], MessageComplete)


def test_closing_twice_says_nothing_new() -> None:
    for wires in (HELLO, HELLO[:1]):
        reader = DIALECT.stream_reader()
        for wire in wires:
            reader.feed(frame(wire))
        assert reader.close()
        assert reader.close() == []
        assert reader.feed(frame(HELLO[1])) == []


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("<html>", "$"),
        ('{"candidates":{}}', "$.candidates"),
        ('{"candidates":[3]}', "$.candidates[0]"),
        ('{"candidates":[{"content":"x"}]}', "$.candidates[0].content"),
        ('{"candidates":[{"content":{"parts":[3]}}]}', "$.candidates[0].content.parts[0]"),
        (
            '{"candidates":[{"content":{"parts":[{"text":"a"},{"text":3}]}}]}',
            "$.candidates[0].content.parts[1].text",
        ),
        ('{"candidates":[{"index":"0"}]}', "$.candidates[0].index"),
        ('{"usageMetadata":3}', "$.usageMetadata"),
        ('{"modelVersion":3}', "$.modelVersion"),
        ('{"error":3}', "$.error"),
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
    def change(event: Event) -> Event:
        match event:
            case TextDelta():
                return event.replace(text=event.text.upper())
            case Stop():
                return event.replace(stop_reason=il.StopReason.MAX_TOKENS)
            case UsageUpdate():
                return UsageUpdate(event.usage.replace(output_tokens=9), frame=event.frame)
            case _:
                return event

    written, _ = write([change(event) for event in read(HELLO)])
    pieces = [wire["candidates"][0]["content"]["parts"][0]["text"] for wire in written]
    assert pieces == ["HEL", "LO", ""]
    assert written[2]["candidates"][0]["finishReason"] == "MAX_TOKENS"
    assert written[2]["usageMetadata"]["totalTokenCount"] == 13


@pytest.mark.parametrize("usage", [counts(), None, counts(x=1)])
def test_frames_go_out_at_once(usage: Any) -> None:
    wires = [
        chunk(*parts, usage=usage)
        for parts in ([text("a")], [text("b")], [call(), text("c")], [late("c2ln")], [text("")], [])
    ]
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    out = [sum(len(writer.feed(e)) for e in reader.feed(frame(wire))) for wire in wires]
    assert out == [1] * len(wires)


def test_blocks_that_are_taken_out_are_not_said() -> None:
    events = [event for event in read(talk(thought("Hm"), text("a"))) if _index(event) != 0]
    written, _ = write(events)
    assert il.fold(read(written)).message.content == (il.TextBlock("a"),)


def _index(event: Event) -> Any:
    return getattr(event, "index", None)


def test_a_long_text_takes_time_by_its_length() -> None:
    wires = talk(*[text("0123456789")] * 3000)
    assert fold(wires).message.text == "0123456789" * 3000
