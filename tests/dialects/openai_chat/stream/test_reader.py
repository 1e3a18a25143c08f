"""Reading a stream: frames in, events out."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.openai_chat import DIALECT
from interlingua.errors import ReadError
from interlingua.model.base import same
from interlingua.model.events import (
    BlockDelta,
    MessageComplete,
    Other,
    Stop,
    StreamError,
    TextDelta,
    UsageUpdate,
)
from interlingua.streams import sse
from interlingua.streams.frames import Frame
from tests.dialects.openai_chat.streaming import (
    BEGUN,
    COUNTS,
    DONE,
    body,
    call,
    called,
    chunk,
    fold,
    frame,
    goes_home,
    kinds,
    read,
    talk,
    whole,
    words,
    write,
)
from tests.dialects.openai_chat.streams import CALL, HELLO, OSLO
from tests.dialects.stop_words import word_streamed

CITATION = {
    "type": "url_citation",
    "url_citation": {
        "start_index": 0,
        "end_index": 5,
        "title": "Example",
        "url": "https://example.com/",
    },
}


def test_usage_is_read_wherever_a_host_says_it() -> None:
    groq = [BEGUN, chunk({"content": "Hi"}, x_groq={"id": "req_1"})]
    groq += [chunk({}, "stop", x_groq={"id": "req_1", "usage": COUNTS}), DONE]
    last = chunk({}, "stop")
    last["choices"][0]["usage"] = COUNTS
    for wires in (groq, [BEGUN, *map(chunk, words("Hi")), last, DONE]):
        events = goes_home(wires)
        usage = [event.usage for event in events if isinstance(event, UsageUpdate)]
        assert [(each.input_tokens, each.output_tokens) for each in usage] == [(10, 3)]
        response = il.fold(events)
        assert response.message.metadata.usage == usage[0]
        assert "usage" not in json.dumps([response.raw, response.message.metadata.provider_raw])


def test_usage_of_a_host_can_be_edited() -> None:
    wires = [BEGUN, chunk({}, "stop", x_groq={"usage": COUNTS}), DONE]
    events = [
        event.replace(usage=event.usage.replace(output_tokens=4))
        if isinstance(event, UsageUpdate)
        else event
        for event in read(wires)
    ]
    written, _ = write(events)
    assert written[0] == BEGUN
    assert il.fold(read(written)).message.metadata.usage == il.Usage(10, 4)


def test_a_piece_that_is_an_object_is_read_as_its_json() -> None:
    events = goes_home(talk({"content": {"city": "Oslo"}}))
    assert il.fold(events).message.text == '{"city":"Oslo"}'


def test_every_event_knows_its_frame() -> None:
    numbers = [event.frame.number for event in read(HELLO) if event.frame is not None]
    assert numbers == [0, 1, 1, 2, 3, 3, 4, 5]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (words("Hel", "lo"), {"content": "Hello"}),
        ([{"content": ""}, {"content": None}, {"content": "a"}, {"content": ""}], {"content": "a"}),
        (
            [{"reasoning_content": "H"}, {"reasoning_content": "m"}, {"content": "a"}],
            {"reasoning_content": "Hm", "content": "a"},
        ),
        ([{"reasoning": "H"}, {"reasoning": "m"}], {"reasoning": "Hm"}),
        (
            [{"reasoning_content": "Hm", "content": None}, {"reasoning_content": None, **CALL}],
            {"reasoning_content": "Hm", **CALL},
        ),
        ([{"refusal": "I "}, {"refusal": "cannot"}], {"refusal": "I cannot"}),
        (
            [called("call_1"), call('{"city"'), call(':"Oslo"}')],
            {"tool_calls": [CALL]},
        ),
        ([called("call_1", arguments=OSLO)], {"tool_calls": [CALL]}),
        (
            [
                {"function_call": {"name": "f", "arguments": ""}},
                {"function_call": {"arguments": OSLO}},
            ],
            {"function_call": {"name": "f", "arguments": OSLO}},
        ),
        (
            [*words("Hello"), {"annotations": [CITATION]}],
            {"content": "Hello", "annotations": [CITATION]},
        ),
        (
            [
                {"audio": {"id": "audio_1", "transcript": "He"}},
                {"audio": {"data": "AAAA", "transcript": "y"}},
                {"audio": {"data": "BBBB", "expires_at": 5}},
            ],
            {"audio": {"id": "audio_1", "data": "AAAABBBB", "transcript": "Hey", "expires_at": 5}},
        ),
        (
            [
                {
                    "images": [
                        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
                    ]
                }
            ],
            {"images": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        ),
        (
            [{"executed_tools": [{"type": "search", "arguments": "{}", "output": "x"}]}],
            {"executed_tools": [{"type": "search", "arguments": "{}", "output": "x"}]},
        ),
        (
            [
                {
                    "tool_calls": [
                        {"index": 0, "id": "c", "type": "custom", "custom": {"name": "patch"}}
                    ]
                },
                {"tool_calls": [{"index": 0, "custom": {"input": "a b"}}]},
            ],
            {
                "tool_calls": [
                    {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "a b"}}
                ]
            },
        ),
    ],
)
def test_a_stream_gives_what_the_whole_answer_gives(told: list[Any], message: Any) -> None:
    folded = fold(talk(*told))
    assert folded == whole(message)
    assert same(DIALECT.write_response(folded).wire, body(message))


@pytest.mark.parametrize(
    "wires",
    [
        [BEGUN, chunk({"content": "a"}), chunk({}, "stop", usage=COUNTS), DONE],
        [BEGUN, chunk({"content": "a"}, "stop", usage=COUNTS), DONE],
        [BEGUN, chunk({"content": "a"}), chunk({}, "stop"), chunk(None, usage=COUNTS), DONE],
        [  # counts with every chunk
            chunk({"role": "assistant", "content": "a"}, usage={**COUNTS, "completion_tokens": 1}),
            chunk({}, "stop", usage=COUNTS),
            DONE,
        ],
        [  # nulls before them, and the reason twice
            chunk({"role": "assistant", "content": "a"}, usage=None),
            chunk({"content": ""}, "stop", usage=None),
            chunk({"content": ""}, "stop", usage=COUNTS),
            DONE,
        ],
        [  # a chunk without choices
            BEGUN,
            chunk({"content": "a"}, "stop"),
            {"id": "chatcmpl-1", "created": 1700000000, "model": "gpt-5", "usage": COUNTS},
            DONE,
        ],
        [BEGUN, chunk({"content": "a"}, "stop", usage=COUNTS), "[DONE] "],
    ],
)
def test_usage_and_the_reason_are_found_wherever_they_stand(wires: list[Any]) -> None:
    folded = fold(wires)
    assert folded.message.content == (il.TextBlock("a"),)
    assert folded.message.metadata.usage == il.Usage(10, 3)
    assert folded.message.metadata.stop_reason is il.StopReason.END_TURN


def test_an_end_without_a_reason_is_no_reason_to_believe_that_all_was_said() -> None:
    events = goes_home([BEGUN, chunk({"content": "a"}), DONE])
    assert [event for event in events if isinstance(event, Stop)] == [
        Stop(il.StopReason.OTHER, frame=events[-1].frame)
    ]
    folded = il.fold(events)
    assert folded.error is None
    assert folded.message.content == (il.TextBlock("a"),)
    assert folded.message.metadata.stop_reason is il.StopReason.OTHER
    assert folded.message.metadata.raw_stop_reason is None
    assert [each.type for each in folded.message.metadata.diagnostics] == ["stop_reason_missing"]


def test_each_choice_ends_for_a_reason_of_its_own_or_none() -> None:
    folded = fold([chunk({"content": "a"}, "stop"), chunk({"content": "b"}, index=1), DONE])
    assert folded.message.metadata.stop_reason is il.StopReason.END_TURN
    assert folded.message.metadata.diagnostics == ()
    (other,) = folded.alternatives
    assert other.metadata.stop_reason is il.StopReason.OTHER
    assert [each.type for each in other.metadata.diagnostics] == ["stop_reason_missing"]


@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("openrouter", "length"),
        ("openai-responses", "incomplete"),
        ("anthropic", "max_tokens"),
        ("bedrock", "max_tokens"),
        ("gemini", "OTHER"),
        ("ollama", "length"),
    ],
)
def test_an_end_without_a_reason_is_nowhere_an_end_of_the_turn(target: str, word: str) -> None:
    data = [f"data: {json.dumps(each)}\n\n".encode() for each in (BEGUN, chunk({"content": "a"}))]
    done = il.stream_convert([*data, b"data: [DONE]\n\n"], "openai-chat", target)
    assert word_streamed(target, b"".join(done)) == word
    losses = [loss for loss in done.report.entries if loss.path.endswith("metadata.stop_reason")]
    assert [loss.kind for loss in losses] == (
        [] if target == "openai-responses" else ["approximated"]
    )


@pytest.mark.parametrize(
    "wires",
    [
        [DONE],
        [BEGUN, DONE],
        [chunk({}), DONE],
        [chunk(None, usage=COUNTS), DONE],
        [BEGUN, chunk({"content": ""}), chunk(None, usage=COUNTS), DONE],
    ],
)
def test_an_end_before_anything_was_said_is_an_error(wires: list[Any]) -> None:
    last = goes_home(wires)[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.SERVER_ERROR
    assert last.partial is None or last.partial.metadata.status is il.MessageStatus.ERROR


def test_an_empty_answer_that_says_why_it_ended_is_an_answer() -> None:
    assert fold([BEGUN, chunk({}, "stop"), DONE]).error is None


@pytest.mark.parametrize("usage", [[], [chunk(None, usage=COUNTS)]])
def test_a_last_word_that_is_missing_behind_the_reason_is_noted(usage: list[Any]) -> None:
    wires = [BEGUN, chunk({"content": "a"}), chunk({}, "stop"), *usage]
    folded, whole = il.fold(goes_home(wires)), fold([*wires, DONE])
    assert folded.error is None
    assert folded.message.metadata.status is il.MessageStatus.COMPLETE
    assert [each.type for each in folded.message.metadata.diagnostics] == ["stream_end_missing"]
    assert folded.message.metadata.replace(diagnostics=()) == whole.message.metadata
    assert folded.message.content == whole.message.content


def test_a_choice_that_has_not_ended_breaks_the_stream_off() -> None:
    last = read([chunk({"content": "a"}, "stop"), chunk({"content": "b"}, index=1)])[-1]
    assert isinstance(last, StreamError)


def test_a_later_reason_counts() -> None:
    wires = [BEGUN, chunk({"content": "a"}, "stop"), chunk({"content": "b"}, "length"), DONE]
    folded = fold(wires)
    assert folded.message.text == "ab"
    assert folded.message.metadata.stop_reason is il.StopReason.MAX_TOKENS


def test_usage_that_contradicts_itself_goes_home() -> None:
    odd = {**COUNTS, "prompt_tokens_details": {"cached_tokens": 99}}
    folded = fold([BEGUN, chunk({}, "stop", usage=odd), DONE])
    (found,) = folded.message.metadata.diagnostics
    assert found.type == "usage_contradicts"


def test_a_chunk_before_the_message_says_nothing_and_goes_home() -> None:
    filtered = {
        "id": "",
        "object": "",
        "created": 0,
        "model": "",
        "choices": [],
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
    }
    events = goes_home([filtered, *HELLO])
    assert kinds(events)[:2] == ["Other", "MessageStart"]
    folded = il.fold(events)
    assert folded.message.metadata.response_id == "chatcmpl-1"
    wire = DIALECT.write_response(folded).wire
    assert wire["prompt_filter_results"] == filtered["prompt_filter_results"]


@pytest.mark.parametrize("pad", ["obfuscation", "p"])
def test_padding_goes_home_and_is_forgotten(pad: str) -> None:
    pieces = ["a", "b", "c", "d"]
    wires = [chunk({"content": piece}, **{pad: "x" * at}) for at, piece in enumerate(pieces)]
    events = goes_home([BEGUN, *wires, chunk({}, "stop", usage=COUNTS), DONE])
    assert il.fold(events) == whole({"content": "abcd"})
    assert pad not in DIALECT.write_response(il.fold(events)).wire


@pytest.mark.parametrize(
    "change",
    [
        {"created": 1700000001},
        {"id": "chatcmpl-2"},
        {"service_tier": "default", "system_fingerprint": None},
        {"usage": None},
        {"x_host": {"region": "north"}},
        {"model": True},
    ],
)
@pytest.mark.parametrize("place", range(1, 6))
def test_whatever_else_a_chunk_says_goes_home(change: Any, place: int) -> None:
    wires = talk(*words("a", "b", "c", "d"))
    wires[place] = {**wires[place], **change}
    goes_home(wires)
    del wires[place]["object"]
    goes_home(wires)


def test_a_piece_that_only_looks_like_the_others_is_read_as_it_is() -> None:
    wires = talk(*words("a", "b", "c"))
    wires[3]["choices"][0]["delta"] = {"content": "c", "role": "assistant"}
    wires.insert(4, chunk({"content": 'd","role":"user'}))
    wires.insert(5, chunk({"content": "e", "content_filter": True}))
    wires.insert(6, chunk({"content": "\u2028\U0001f600"}))
    assert fold(wires).message.text == 'abcd","role":"usere\u2028\U0001f600'


def test_frames_with_names_keep_them() -> None:
    frames = [Frame("message", json.dumps(wire)) for wire in HELLO[:-1]]
    writer = DIALECT.stream_writer()
    written = [out for event in read([*frames, DONE]) for out in writer.feed(event)]
    assert [each.event for each in written] == ["message"] * len(frames) + [None]


def test_a_host_that_repeats_the_message_needs_no_other_end() -> None:
    wires: list[Any] = []
    for at, piece in enumerate(("a", "b", "c"), 1):
        wire = chunk({"role": "assistant", "content": piece}, "stop" if at == 3 else None)
        wire["choices"][0]["message"] = {"role": "assistant", "content": "abc"[:at]}
        wires.append(wire)
    assert fold(wires).message.text == "abc"
    assert isinstance(read(wires[:2])[-1], StreamError)


def test_a_whole_answer_in_one_frame_is_read() -> None:
    wire = body({"content": "Hello", "tool_calls": [CALL]}, "tool_calls")
    assert fold([wire, DONE]) == DIALECT.read_response(wire)


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ({"error": {"message": "Slow", "type": "rate_limit_error", "code": None}}, "rate_limit"),
        ({"error": {"message": "Oh", "type": "server_error"}, "request_id": "r"}, "server_error"),
        ({"error": "out of memory"}, "other"),
        ({"object": "error", "message": "No such model", "code": 404}, "invalid_request"),
        ({"detail": "Not authenticated"}, "other"),
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_an_error_ends_the_stream_with_what_had_arrived(wire: Any, kind: str, before: int) -> None:
    events = goes_home([*HELLO[:before], wire])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error == DIALECT.read_response(wire).error
    assert last.error.kind == kind
    assert (last.partial is None) == (before == 0)
    if last.partial is not None:
        assert last.partial.text == "Hello"
        assert last.partial.metadata.status is il.MessageStatus.ERROR
        assert last.partial.metadata.stop_reason is il.StopReason.ERROR


def test_what_another_choice_has_sent_is_not_part_of_the_first() -> None:
    failed = {"error": {"message": "overloaded", "code": 503}}
    events = goes_home([chunk({"content": "Wh"}, index=1), failed])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    assert last.partial.content == ()
    response = il.fold(events)
    assert response.message.text == ""
    assert [other.text for other in response.alternatives] == ["Wh"]


def test_an_end_without_a_reason_is_that_of_the_whole_answer_once_usage_has_come() -> None:
    folded = il.fold(goes_home([*HELLO[:3], chunk(None, usage=COUNTS), DONE]))
    assert folded.message.metadata.stop_reason is None
    assert folded.message.metadata.diagnostics == ()
    assert folded == DIALECT.read_response(DIALECT.write_response(folded).wire)


def test_nothing_comes_after_an_error_or_the_end() -> None:
    for last in ({"error": {"message": "Oh"}}, DONE):
        wires = [*HELLO[:3], last]
        events = goes_home([*wires, *HELLO[1:], DONE])
        assert [type(event) for event in events if type(event) is not Other] == [
            type(event) for event in read(wires)
        ]


RICH = [
    BEGUN,
    chunk({"reasoning_content": "H"}),
    chunk({"reasoning_content": "m"}),
    *(chunk(each) for each in words("a", "b", "c")),
    chunk(called("call_1")),
    chunk(call('{"city":')),
    chunk(called("call_2", index=1, arguments="{}")),
    chunk(call('"Oslo"}')),
    chunk({}, "tool_calls"),
    chunk(None, usage=COUNTS),
    DONE,
]


@pytest.mark.parametrize("cut", range(len(RICH)))
def test_a_stream_that_is_cut_before_its_reason_is_never_complete(cut: int) -> None:
    events = read(RICH[:cut])
    last = events[-1]
    written, _ = write(events)
    if any(each.get("finish_reason") for wire in RICH[:cut] for each in wire["choices"]):
        assert isinstance(last, MessageComplete)
        assert written == RICH[:cut]  # only the last word is missing, and none is put in its place
        return
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.NETWORK
    assert (last.partial is None) == (cut == 0)
    assert written[:-1] == RICH[:cut]
    assert "error" in written[-1]  # whoever listens is told


def test_what_arrived_before_a_cut_is_kept() -> None:
    last = read(RICH[:9])[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    thinking, text, first, second = last.partial.content
    assert (thinking, text) == (il.ThinkingBlock("Hm"), il.TextBlock("abc"))
    assert isinstance(first, il.ToolUseBlock)
    assert (first.raw_arguments, first.input) == ('{"city":', {})
    assert isinstance(second, il.ToolUseBlock)
    assert second.input == {}


def test_bytes_may_be_cut_anywhere() -> None:
    data = b"".join(sse.encode(frame(wire)) for wire in RICH)
    for cut in range(0, len(data), 7):
        decoder = sse.Decoder()
        frames = [*decoder.feed(data[:cut]), *decoder.feed(data[cut:]), *decoder.close()]
        assert il.fold(read(frames)) == il.fold(read(RICH))
        broken = sse.Decoder()
        arrived = [*broken.feed(data[:cut]), *broken.close()]
        has_reason = any('"finish_reason": "tool_calls"' in each.data for each in arrived)
        assert isinstance(read(arrived)[-1], MessageComplete if has_reason else StreamError)


def test_closing_twice_says_nothing_new() -> None:
    reader = DIALECT.stream_reader()
    for wire in HELLO[:3]:
        reader.feed(frame(wire))
    assert len(reader.close()) == 1
    assert reader.close() == []
    assert reader.feed(frame(HELLO[2])) == []


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("<html>", "$"),
        ('{"choices":{}}', "$.choices"),
        ('{"choices":[3]}', "$.choices[0]"),
        ('{"choices":[{"delta":[]}]}', "$.choices[0].delta"),
        ('{"choices":[{"delta":{"content":3}}]}', "$.choices[0].delta.content"),
        ('{"choices":[{"delta":{"content":[3]}}]}', "$.choices[0].delta.content[0]"),
        ('{"choices":[{"delta":{"refusal":3}}]}', "$.choices[0].delta.refusal"),
        ('{"choices":[{"delta":{"audio":3}}]}', "$.choices[0].delta.audio"),
        ('{"choices":[{"delta":{"reasoning":3}}]}', "$.choices[0].delta.reasoning"),
        ('{"choices":[{"delta":{"tool_calls":{"a":1}}}]}', "$.choices[0].delta.tool_calls"),
        (
            '{"choices":[{"delta":{"tool_calls":[{"function":{"name":3}}]}}]}',
            "$.choices[0].delta.tool_calls[0].function.name",
        ),
        (
            '{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"arguments":3}}]}}]}',
            "$.choices[0].delta.tool_calls[0].function.arguments",
        ),
        ('{"choices":[{"delta":{"function_call":3}}]}', "$.choices[0].delta.function_call"),
        ('{"choices":[],"usage":3}', "$.usage"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_place(data: str, path: str) -> None:
    reader = DIALECT.stream_reader()
    with pytest.raises(ReadError) as caught:
        reader.feed(Frame(None, data))
    assert caught.value.path == path
    assert isinstance(reader.close()[-1], StreamError)


@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_chunks_that_are_nested_deep_are_read_or_refused(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    data = json.dumps(chunk({"content": "a", "deep": 0})).replace('"deep": 0', f'"deep": {deep}')
    try:
        events = read([frame(data), frame(data), frame(data), DONE])
    except ReadError:
        return
    writer = DIALECT.stream_writer()
    written = [out.data for event in events for out in writer.feed(event)]
    assert [out.count("[") for out in written[:-1]] == [data.count("[")] * 3


def test_what_had_arrived_is_kept_beside_what_cannot_be_read() -> None:
    reader = DIALECT.stream_reader()
    for wire in (*HELLO[:3], chunk({"name": 3})):
        reader.feed(frame(wire))
    with pytest.raises(ReadError):
        reader.feed(frame(DONE))
    (last,) = reader.close()
    assert isinstance(last, StreamError)
    assert last.partial is not None
    assert last.partial.text == "Hello"


def test_what_is_no_chunk_goes_home() -> None:
    events = goes_home([*HELLO[:2], [], None, *HELLO[2:]])
    assert sum(isinstance(event, Other) for event in events) == 2


def test_what_is_changed_on_the_way_home_is_said() -> None:
    events = [
        event.replace(text=event.text.upper()) if isinstance(event, TextDelta) else event
        for event in read(talk(*words("a", "b", "c")))
    ]
    events = [
        event.replace(stop_reason=il.StopReason.MAX_TOKENS) if isinstance(event, Stop) else event
        for event in events
    ]
    events = [
        event.replace(usage=il.Usage(1, 2)) if isinstance(event, UsageUpdate) else event
        for event in events
    ]
    events[0] = events[0].replace(model="other", response_id="chatcmpl-2")
    written, _ = write(events)
    assert [wire["choices"][0]["delta"] for wire in written[1:4]] == words("A", "B", "C")
    assert written[4]["choices"][0]["finish_reason"] == "length"
    assert written[5]["usage"]["total_tokens"] == 3
    assert {(wire["model"], wire["id"]) for wire in written[:-1]} == {("other", "chatcmpl-2")}


def _tokens(text: str) -> Any:
    wire = chunk({"content": text})
    token = {"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": []}
    wire["choices"][0]["logprobs"] = {"content": [token], "refusal": None}
    return wire


_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}

_FREE = {"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "run", "input": "l"}}

SAID_ONCE: dict[str, list[Any]] = {
    "annotations": talk(*words("Hello"), {"annotations": [CITATION]}),
    "log probabilities": [BEGUN, _tokens("Hel"), _tokens("lo"), *HELLO[3:]],
    "images": talk({"images": [_PICTURE]}),
    "executed tools": talk({"executed_tools": [{"index": 0, "type": "search", "output": "x"}]}),
    "a legacy call": talk(
        {"function_call": {"name": "run", "arguments": "{"}}, {"function_call": {"arguments": "}"}}
    ),
    "a call with free text": talk(
        {"tool_calls": [_FREE]}, {"tool_calls": [{"index": 0, "custom": {"input": "s"}}]}
    ),
    "parts": talk({"content": [{"type": "reference", "reference_ids": [1]}]}),
    "speech": talk({"audio": {"id": "a", "data": "AAAA"}}, {"audio": {"transcript": "Hi"}}),
}


@pytest.mark.parametrize("name", SAID_ONCE)
def test_what_went_home_is_not_said_again_when_a_later_event_is_changed(name: str) -> None:
    events = [
        event.replace(stop_reason=il.StopReason.MAX_TOKENS) if isinstance(event, Stop) else event
        for event in read(SAID_ONCE[name])
    ]
    written, _ = write(events)
    folded, again = il.fold(events).message, il.fold(read(written)).message
    assert again.metadata.stop_reason is il.StopReason.MAX_TOKENS
    assert again.content == folded.content
    assert again.metadata.logprobs == folded.metadata.logprobs


def test_of_a_call_with_free_text_the_rest_is_said_behind_a_change() -> None:
    events = read(SAID_ONCE["a call with free text"])
    place = next(i for i, event in enumerate(events) if getattr(event, "text", "") == "s")
    events[place] = events[place].replace(text="sof")
    (call,) = il.fold(read(write(events)[0])).message.tool_calls
    assert call.input == {"input": "lsof"}


def test_pieces_go_out_at_once() -> None:
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    counts = [sum(len(writer.feed(e)) for e in reader.feed(frame(wire))) for wire in RICH]
    assert counts == [1] * len(RICH)


def test_a_signature_and_an_annotation_are_told_as_they_come() -> None:
    collected = [*words("Hello"), {"annotations": [CITATION]}]
    fields = [e.field for e in read(talk(*collected)) if isinstance(e, BlockDelta)]
    assert fields == ["citations"]


def test_one_long_call_takes_time_by_its_length() -> None:
    text = json.dumps({"a": "x" * 200_000}, separators=(",", ":"))
    pieces = [call(text[at : at + 10]) for at in range(0, len(text), 10)]
    wires = talk(called("call_1"), *pieces, word="tool_calls")
    assert il.fold(read(wires)).message.tool_calls[0].input == {"a": "x" * 200_000}


@pytest.mark.parametrize("later", ["", None])
def test_a_blank_name_does_not_undo_a_participant_s_name(later: str | None) -> None:
    events = goes_home(
        [
            chunk({"role": "assistant", "name": "Bob"}),
            chunk({"content": "Hi", "name": later}),
            chunk({}, "stop"),
            DONE,
        ]
    )
    assert il.fold(events).message.name == "Bob"


def test_a_reason_before_another_call_is_no_end() -> None:
    """Some hosts give the reason after each of several calls."""

    def chunk(delta: object, reason: str | None = None) -> Frame:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return Frame(None, json.dumps({"id": "x", "model": "m", "choices": [choice]}))

    def call(number: int, arguments: str) -> dict[str, object]:
        function = {"name": "f", "arguments": arguments}
        return {"tool_calls": [{"index": number, "id": f"c{number}", "function": function}]}

    frames = [chunk(call(0, "{}")), chunk({}, "tool_calls"), chunk(call(1, '{"a":'))]
    for end, last in ((2, MessageComplete), (3, StreamError)):
        reader = il.dialect("openai-chat").stream_reader()
        events = [event for frame in frames[:end] for event in reader.feed(frame)]
        assert isinstance([*events, *reader.close()][-1], last), end
