"""Streams of Converse, read and written home."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.bedrock import DIALECT
from interlingua.dialects.kernel.stream_home import mark_content
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
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.streams import aws
from interlingua.streams.fold import fold_all
from interlingua.streams.frames import Frame
from tests.dialects.bedrock.streaming import (
    BEGUN,
    METADATA,
    Named,
    blob,
    called,
    delta,
    ended,
    fold,
    frame,
    goes_home,
    read,
    redacted,
    start,
    stop,
    talk,
    thoughts,
    whole,
    words,
    write,
)
from tests.dialects.streaming import frames_of, only_unread

HELLO = talk(words(0, "Hel", "lo"))
PNG = "iVBORw0KGgo="
CITATION = {
    "title": "Weather",
    "sourceContent": [{"text": "It is warm."}],
    "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 11}},
}
WEB = {"location": {"web": {"url": "https://example.com/", "domain": "example.com"}}}
SEARCH = {"toolUseId": "tooluse_9", "name": "nova_grounding", "type": "server_tool_use"}
FOUND = {"toolUseId": "tooluse_9", "type": "nova_grounding_result", "status": "success"}


def call(id: str = "tooluse_1", **given: Any) -> Any:
    return {"toolUse": {"toolUseId": id, "name": "add", "input": given}}


def thought(text: str, **more: str) -> Any:
    return {"reasoningContent": {"reasoningText": {"text": text, **more}}}


def hidden(text: str) -> Any:
    return {"reasoningContent": {"redactedContent": blob(text)}}


# -- what is read ---------------------------------------------------------------------------------


def test_blocks_without_a_start_begin_with_their_first_piece() -> None:
    wires = talk(thoughts(0, "H", "m", signature="sig"), called(1, '{"a":', "1}"), word="tool_use")
    events = [event.replace(frame=None) for event in read(wires)]
    assert events[:-1] == [
        MessageStart(),
        BlockStart(0, il.ThinkingBlock("")),
        ThinkingDelta(0, "H"),
        ThinkingDelta(0, "m"),
        BlockDelta(0, "signature", "sig"),
        BlockEnd(0, il.ThinkingBlock("Hm", "sig")),
        ToolUseStart(1, "tooluse_1", "add"),
        ToolUseInputDelta(1, '{"a":'),
        ToolUseInputDelta(1, "1}"),
        ToolUseEnd(1, {"a": 1}),
        Stop(il.StopReason.TOOL_USE, "tool_use"),
        UsageUpdate(il.Usage(10, 3)),
    ]
    assert isinstance(events[-1], MessageComplete)


def test_every_event_knows_its_frame() -> None:
    numbers = [event.frame.number for event in read(HELLO) if event.frame is not None]
    assert numbers == [0, 1, 1, 2, 3, 4, 5, 5]


@pytest.mark.parametrize(
    ("told", "parts"),
    [
        ([words(0, "Hel", "lo")], [{"text": "Hello"}]),
        ([words(0, "", "a", "", "b")], [{"text": "ab"}]),
        ([], []),
        ([words(0, "a"), words(1, "b")], [{"text": "a"}, {"text": "b"}]),
        (
            [thoughts(0, "H", "m", signature="sig"), words(1, "a")],
            [thought("Hm", signature="sig"), {"text": "a"}],
        ),
        ([thoughts(0, "Hm")], [thought("Hm")]),
        ([thoughts(0, signature="sig")], [thought("", signature="sig")]),
        ([thoughts(0, "Hm", signature="")], [thought("Hm", signature="")]),
        ([redacted(0, "abc"), redacted(1, "def")], [hidden("abc"), hidden("def")]),
        ([redacted(0, "abc", "de")], [hidden("abcde")]),
        ([called(0, '{"a": ', "1}")], [call(a=1)]),
        ([called(0)], [call()]),
        ([called(0, "", "")], [call()]),
        (
            [called(0, "{}"), called(1, '{"b":2}', id="tooluse_2")],
            [call(), call("tooluse_2", b=2)],
        ),
        (
            [
                [
                    start(0, toolUse=SEARCH),
                    delta(0, toolUse={"input": '{"query":"x"}'}),
                    stop(0),
                    start(1, toolResult=FOUND),
                    delta(1, toolResult=[{"text": "[HIDDEN]"}]),
                    delta(1, toolResult=[{"json": {"a": 1}}]),
                    stop(1),
                ]
            ],
            [
                {"toolUse": {**SEARCH, "input": {"query": "x"}}},
                {"toolResult": {**FOUND, "content": [{"text": "[HIDDEN]"}, {"json": {"a": 1}}]}},
            ],
        ),
        (
            [[delta(0, citation=CITATION), *words(0, "War", "m.")[:2], delta(0, citation=WEB)]],
            [{"citationsContent": {"content": [{"text": "Warm."}], "citations": [CITATION, WEB]}}],
        ),
        ([[delta(0, citation=WEB), stop(0)]], [{"citationsContent": {"citations": [WEB]}}]),
        (
            [[start(0, image={"format": "png"}), delta(0, image={"source": {"bytes": PNG}})]],
            [{"image": {"format": "png", "source": {"bytes": PNG}}}],
        ),
        (
            [
                [
                    start(0, image={"format": "png"}),
                    delta(0, image={"source": {"bytes": PNG[:8]}}),
                    delta(0, image={"source": {"bytes": PNG[8:]}}),
                ]
            ],
            [{"image": {"format": "png", "source": {"bytes": PNG}}}],
        ),
        (
            [
                [
                    start(0, image={"format": "png"}),
                    delta(0, image={"source": {"s3Location": {"uri": "s3://b/k"}}}),
                ]
            ],
            [{"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}}],
        ),
        ([[start(0, hologram={"data": "z"}), stop(0)]], [{"hologram": {"data": "z"}}]),
    ],
)
@pytest.mark.requirement("P29", "P31")
def test_a_stream_gives_what_the_whole_answer_gives(told: list[Any], parts: list[Any]) -> None:
    wires = talk(*told)
    goes_home(wires)
    folded, same = fold(wires), whole(*parts)
    assert folded == same
    assert il.dumps(folded) == il.dumps(same)


def test_an_image_that_could_not_be_made_stays_what_it_is() -> None:
    failed = {"error": {"message": "no"}}
    wires = talk([start(0, image={"format": "png"}), delta(0, image=failed), stop(0)])
    (block,) = il.fold(goes_home(wires)).message.content
    assert block == il.UnknownBlock({"bedrock": {"image": {"format": "png", **failed}}})


def test_a_signature_may_come_in_pieces() -> None:
    wires = talk(
        [
            *thoughts(0, "Hm", signature="si")[:-1],
            delta(0, reasoningContent={"signature": "g"}),
            stop(0),
        ]
    )
    events = goes_home(wires)
    assert [e.value for e in events if isinstance(e, BlockDelta)] == ["si", "sig"]
    assert il.fold(events).message.content == (il.ThinkingBlock("Hm", "sig"),)


def test_text_and_signature_may_come_together() -> None:
    wires = talk([delta(0, reasoningContent={"text": "Hm", "signature": "sig"}), stop(0)])
    assert il.fold(goes_home(wires)).message.content == (il.ThinkingBlock("Hm", "sig"),)


def test_a_call_that_comes_whole_is_written_in_one_piece() -> None:
    events = goes_home(talk(called(0, input={"a": 1})))
    (piece,) = [event for event in events if isinstance(event, ToolUseInputDelta)]
    (end,) = [event for event in events if isinstance(event, ToolUseEnd)]
    assert (piece.text, end.input) == ('{"a":1}', {"a": 1})


def test_a_call_whose_text_is_no_json_is_kept_and_marked() -> None:
    message = il.fold(goes_home(talk(called(0, '{"city": "Os'), word="max_tokens"))).message
    (block,) = message.tool_calls
    assert (block.input, block.raw_arguments) == ({"city": "Os"}, '{"city": "Os')
    (found,) = message.metadata.diagnostics
    assert found.type == "tool_arguments_recovered"
    assert found.details == {"mode": "closed", "tool_use_id": "tooluse_1"}


@pytest.mark.requirement("P30")
def test_an_empty_piece_opens_no_block() -> None:
    empty = [
        *words(0, ""),
        *thoughts(1, "", signature=""),
        start(2),
        {"contentBlockStart": {"contentBlockIndex": 3, "start": {}}},
        *words(3, "a"),
    ]
    events = goes_home(talk(empty))
    assert il.fold(events).message.content == (il.TextBlock("a"),)
    assert [e.index for e in events if isinstance(e, BlockStart)] == [0]
    assert sum(isinstance(event, Other) for event in events) == 7


@pytest.mark.requirement("P28")
def test_calls_that_overlap_or_share_an_index_stay_apart() -> None:
    one, two = called(1, '{"a":', "1}"), called(4, '{"b":', "2}", id="tooluse_2")
    mixed = [one[0], two[0], one[1], two[1], two[2], one[2], one[3], two[3]]
    again = [*called(0, '{"a":1}')[:-1], *called(0, '{"b":2}', id="tooluse_2")]
    for reported in (mixed, again):
        events = goes_home(talk(reported))
        assert [each.input for each in il.fold(events).message.tool_calls] == [{"a": 1}, {"b": 2}]
        assert [e.index for e in events if isinstance(e, ToolUseStart)] == [0, 1]


@pytest.mark.requirement("P29")
def test_nothing_is_lost_where_starts_and_ends_are_missing() -> None:
    collected = [*words(0, "a", "b")[:-1], *thoughts(0, "c")[:-1], *redacted(0, "d")[:-1]]
    for wires in (talk(collected), talk(collected)[1:]):
        content = il.fold(goes_home(wires)).message.content
        assert content == (
            il.TextBlock("ab"),
            il.ThinkingBlock("c", raw={"bedrock": {"$form": {"odd": True}}}),
            il.RedactedThinkingBlock("d"),
        )


def test_pieces_of_a_call_that_never_began_say_nothing() -> None:
    events = goes_home(talk([delta(0, toolUse={"input": "{}"}), stop(0)]))
    assert il.fold(events).message.content == ()


@pytest.mark.parametrize(
    ("usage", "read_as"),
    [
        ({"inputTokens": 10, "outputTokens": 3, "totalTokens": 13}, il.Usage(10, 3)),
        (
            {
                "inputTokens": 6,
                "outputTokens": 3,
                "totalTokens": 30,
                "cacheReadInputTokens": 14,
                "cacheWriteInputTokens": 7,
            },
            il.Usage(6, 3, 14, 7),
        ),
        ({"inputTokens": -1, "outputTokens": 3, "totalTokens": 2}, il.Usage(0, 3)),
        (None, None),
    ],
)
def test_usage_comes_after_the_stop(usage: Any, read_as: il.Usage | None) -> None:
    wires = [*HELLO[:-1], {"metadata": {"usage": usage, "metrics": {"latencyMs": 5}}}]
    events = goes_home(wires)
    updates = [event.usage for event in events if isinstance(event, UsageUpdate)]
    folded = il.fold(events).message.metadata.usage
    if read_as is None:
        assert (updates, folded) == ([], None)
    else:
        assert updates == [folded]
        assert updates[0].replace(raw=None) == read_as


def test_usage_that_comes_before_the_stop_ends_nothing() -> None:
    wires = [*HELLO[:-2], METADATA, HELLO[-2]]
    events = goes_home(wires)
    assert isinstance(events[-1], MessageComplete)
    assert mark_content(events[-1].frame, "bedrock")["frames"] == []  # at the end of the stream
    assert il.fold(events).message.metadata.usage == il.Usage(10, 3)


def test_a_stream_may_end_after_its_stop() -> None:
    events = goes_home(HELLO[:-1])
    assert isinstance(events[-1], MessageComplete)
    folded = il.fold(events).message.metadata
    assert (folded.status, folded.usage) == (il.MessageStatus.COMPLETE, None)
    assert folded.stop_reason is il.StopReason.END_TURN


def test_blocks_that_come_after_the_stop_are_closed() -> None:
    for end in ([METADATA], []):
        wires = [*HELLO[:-1], *words(1, "a", "b")[:2], *end]
        assert il.fold(goes_home(wires)).message.text == "Helloab"


def test_keys_that_look_like_our_own_go_home() -> None:
    odd = {"$form": 1, "$event": "x", "$kind": None, "$wrapped": True}
    for place in range(len(HELLO)):
        wires = json.loads(json.dumps(HELLO))
        for data in wires[place].values():
            data |= odd
        goes_home(wires)
    goes_home([*HELLO[:1], {"weatherReport": odd}, *HELLO[1:]])


def test_a_message_without_metadata_is_over_when_another_begins() -> None:
    wires = [*HELLO[:-1], *talk(words(0, "Bye"))]
    assert [each.message.text for each in fold_all(goes_home(wires))] == ["Hello", "Bye"]


def test_what_a_whole_answer_has_beside_its_message_outlives_the_stream() -> None:
    fields = {"delta": {"stop_sequence": "END"}}
    wires = talk(words(0, "a"), word="stop_sequence", additionalModelResponseFields=fields)
    wires[-1] = {
        "metadata": {
            **METADATA["metadata"],
            "trace": {"promptRouter": {"invokedModelId": "m"}},
            "serviceTier": {"type": "flex"},
            "p": "abc",
        }
    }
    written = DIALECT.write_response(il.fold(goes_home(wires))).wire
    assert written["stopReason"] == "stop_sequence"
    assert written["additionalModelResponseFields"] == fields
    assert written["metrics"] == {"latencyMs": 512}
    assert written["trace"] == {"promptRouter": {"invokedModelId": "m"}}
    assert written["serviceTier"] == {"type": "flex"}
    assert "p" not in written  # padding is of the frame


@pytest.mark.parametrize("word", ["no_more_ideas", 7, "malformed_tool_use"])
def test_unknown_stop_reasons_survive_a_round_trip(word: Any) -> None:
    response = il.fold(goes_home(talk(words(0, "a"), word=word)))
    assert response.message.metadata.stop_reason is il.StopReason.OTHER


def test_a_stop_without_a_reason_is_a_stop() -> None:
    for end in ({}, {"stopReason": None}, {"p": "ab"}):
        wires = [*HELLO[:-2], {"messageStop": end}, METADATA]
        assert isinstance(goes_home(wires)[-1], MessageComplete)


@pytest.mark.parametrize("place", range(len(HELLO)))
@pytest.mark.parametrize("more", [{"p": "abcdef"}, {"x_extra": {"a": [1]}}, {"x_null": None}])
def test_whatever_else_a_frame_says_goes_home(place: int, more: Any) -> None:
    wires = json.loads(json.dumps(HELLO))
    ((name, data),) = wires[place].items()
    data |= more
    goes_home(wires)
    if name == "contentBlockDelta":
        data["delta"]["x_inner"] = 1
        goes_home(wires)


def test_whatever_else_a_block_says_goes_home() -> None:
    collected = [
        *called(0, '{"a":1}', x_more=1),
        *thoughts(1, "Hm", signature="sig"),
        *redacted(2, "abc"),
        delta(3, citation={**WEB, "x_more": None}),
        start(4, toolUse={"toolUseId": "tooluse_2", "name": "add", "input": {"b": 2}}),
        start(5, image={"format": "bmp", "x_more": 1}),
        delta(5, image={"source": {"bytes": PNG}, "x_more": 1}),
    ]
    goes_home(talk(collected))
    for named in collected:
        for data in named.values():
            data |= {"p": "ab"}
            for key in ("toolUse", "reasoningContent"):
                if key in data.get("delta", ()):
                    data["delta"][key]["x_inner"] = [1]
    goes_home(talk(collected))


@pytest.mark.parametrize("role", ["model", None, "-"])
def test_a_message_may_begin_otherwise(role: Any) -> None:
    begun = {} if role == "-" else {"role": role}
    goes_home([{"messageStart": begun}, *HELLO[1:]])


def test_unknown_frames_survive_a_round_trip() -> None:
    news: list[Named] = [
        {"weatherReport": {"sky": "blue"}},
        delta(0, smell={"x": 1}),
        stop(7),
        BEGUN,
        {"metadata": {"x": 1}},
    ]
    wires = [news[0], *HELLO[:2], *news[1:], *HELLO[2:]]
    events = goes_home(wires)
    assert sum(isinstance(event, Other) for event in events) == len(news)
    assert il.fold(events).message.text == "Hello"


def test_frames_may_have_no_names_or_names_around_their_data() -> None:
    wires = talk(thoughts(0, "Hm", signature="sig"), words(1, "a"), called(2, "{}"))
    bare = [Frame(None, json.dumps(data)) for wire in wires for data in wire.values()]
    assert il.fold(read(bare)) == fold(wires)
    assert frames_of(DIALECT, read(bare))[0] == bare
    for name in (None, "chunk"):
        around = [Frame(name, json.dumps(wire)) for wire in [*wires[:3], stop(7), *wires[3:]]]
        writer = DIALECT.stream_writer()
        events = read(around)
        written = [out for event in events for out in writer.feed(event)]
        assert [each.event for each in written] == [name] * len(around)
        assert [json.loads(each.data) for each in written] == [json.loads(f.data) for f in around]
        assert il.fold(events) == fold(wires)


def test_several_messages_follow_each_other() -> None:
    wires = [*HELLO, *talk(words(0, "Bye"))]
    assert [each.message.text for each in fold_all(goes_home(wires))] == ["Hello", "Bye"]


def test_nothing_comes_after_the_last_message() -> None:
    after: list[Any] = [METADATA, *ended(), *words(0, "x"), {"throttlingException": {}}, stop(0)]
    for extra in (*([each] for each in after), after):
        assert only_unread(goes_home([*HELLO, *extra]), read(HELLO))


# -- streams that fail ----------------------------------------------------------------------------

THROTTLED: Named = {"throttlingException": {"message": "Too many tokens, slow down"}}


def test_an_exception_ends_the_stream_with_what_had_arrived() -> None:
    wires = [*HELLO[:2], THROTTLED]
    events = goes_home(wires)
    last = events[-1]
    assert isinstance(last, StreamError)
    assert (last.error.kind, last.error.code) == (il.ErrorKind.RATE_LIMIT, "ThrottlingException")
    assert last.error.message == "Too many tokens, slow down"
    assert last.partial is not None
    assert last.partial.text == "Hel"
    assert last.partial.metadata.status is il.MessageStatus.ERROR
    assert only_unread(goes_home([*wires, *HELLO[2:]]), events)


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        (THROTTLED, il.ErrorKind.RATE_LIMIT),
        ({"throttlingException": {}}, il.ErrorKind.RATE_LIMIT),
        ({"validationException": {"message": "Input is too long"}}, il.ErrorKind.CONTEXT_OVERFLOW),
        ({"internalServerException": {"Message": "x", "p": "ab"}}, il.ErrorKind.SERVER_ERROR),
        (
            {
                "modelStreamErrorException": {
                    "message": "x",
                    "originalStatusCode": 500,
                    "originalMessage": "y",
                }
            },
            il.ErrorKind.SERVER_ERROR,
        ),
        ({"ServiceUnavailableException": {"message": "x"}}, il.ErrorKind.SERVER_ERROR),
        ({"holographicException": {"message": "x"}}, il.ErrorKind.OTHER),
        (
            {"validationException": {"__type": "aws#ThrottlingException", "message": "x"}},
            il.ErrorKind.RATE_LIMIT,
        ),
    ],
)
def test_an_exception_may_be_all_there_is(wire: Named, kind: il.ErrorKind) -> None:
    (event,) = goes_home([wire])
    assert isinstance(event, StreamError)
    assert event.partial is None
    assert event.error.kind is kind


def test_an_error_may_come_without_a_name() -> None:
    for name in (None, "error"):
        result = Frame(name, '{"message": "Too many requests"}')
        (event,) = read([result])
        assert isinstance(event, StreamError)
        assert event.error.kind is il.ErrorKind.RATE_LIMIT
        assert DIALECT.stream_writer().feed(event) == [result]


RICH = talk(
    thoughts(0, "H", "m", signature="sig"),
    redacted(1, "abc"),
    [delta(2, citation=CITATION), *words(2, "a", "b")],
    called(3, '{"city": "O', 'slo"}'),
    called(4, id="tooluse_2"),
)


@pytest.mark.parametrize("cut", range(len(RICH) - 1))
def test_a_stream_that_is_cut_is_never_complete(cut: int) -> None:
    events = read(RICH[:cut])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.NETWORK
    assert not any(isinstance(event, MessageComplete) for event in events)
    assert (last.partial is None) == (cut == 0)
    written, _ = write(events)
    assert written[:-1] == (RICH[:cut])
    assert list(written[-1]) == ["serviceUnavailableException"]  # whoever listens is told


def test_what_arrived_before_a_cut_is_kept() -> None:
    last = read(RICH[: RICH.index(delta(3, toolUse={"input": 'slo"}'}))])[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    thinking, hidden, text, block = last.partial.content
    assert thinking == il.ThinkingBlock("Hm", "sig")
    assert hidden == il.RedactedThinkingBlock("abc")
    assert isinstance(text, il.TextBlock)
    assert (text.text, len(text.citations)) == ("ab", 1)
    assert isinstance(block, il.ToolUseBlock)
    assert (block.input, block.raw_arguments) == ({"city": "O"}, '{"city": "O')


def test_bytes_that_are_cut_anywhere_give_the_same_or_no_end() -> None:
    wires = talk(words(0, "Grüße, ", "世界"))
    data = b"".join(aws.encode(frame(wire)) for wire in wires)
    stopped = len(data) - len(aws.encode(frame(METADATA)))
    for at in range(len(data)):
        decoder, reader = aws.Decoder(), DIALECT.stream_reader()
        first = decoder.feed(data[:at])
        assert il.fold(read([*first, *decoder.feed(data[at:])])) == fold(wires)
        events = [event for each in first for event in reader.feed(each)]
        ending = [*events, *reader.close()][-1]
        assert isinstance(ending, StreamError if at < stopped else MessageComplete)


def test_closing_twice_says_nothing_new() -> None:
    for wires in (HELLO[:1], HELLO[:-1]):
        reader = DIALECT.stream_reader()
        for wire in wires:
            reader.feed(frame(wire))
        assert len(reader.close()) == 1
        assert reader.close() == []
        assert reader.feed(frame(HELLO[1])) == []


@pytest.mark.parametrize(
    ("name", "data", "path"),
    [
        (None, "<html>", "$"),
        ("messageStart", '{"role": 3}', "$.role"),
        ("contentBlockStart", '{"contentBlockIndex": "0"}', "$.contentBlockIndex"),
        ("contentBlockStart", '{"contentBlockIndex": 0, "start": []}', "$.start"),
        (
            "contentBlockStart",
            '{"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "a"}}}',
            "$.start.toolUse.name",
        ),
        ("contentBlockDelta", '{"contentBlockIndex": 0}', "$.delta"),
        ("contentBlockDelta", '{"contentBlockIndex": 0, "delta": {"text": 1}}', "$.delta.text"),
        (
            "contentBlockDelta",
            '{"contentBlockIndex": 0, "delta": {"toolUse": {"input": {}}}}',
            "$.delta.toolUse.input",
        ),
        (
            "contentBlockDelta",
            '{"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": []}}}',
            "$.delta.reasoningContent.text",
        ),
        (
            "contentBlockDelta",
            '{"contentBlockIndex": 0, "delta": {"citation": {"title": 1}}}',
            "$.delta.citation.title",
        ),
        ("contentBlockStop", "{}", "$.contentBlockIndex"),
        ("messageStop", '{"stopReason": {}}', "$.stopReason"),
        ("metadata", '{"usage": 3}', "$.usage"),
        ("metadata", '{"usage": {"inputTokens": "3"}}', "$.usage.inputTokens"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_place(name: Any, data: str, path: str) -> None:
    reader = DIALECT.stream_reader()
    with pytest.raises(ReadError) as caught:
        reader.feed(Frame(name, data))
    assert caught.value.path == path
    assert "bedrock stream" in str(caught.value)
    assert isinstance(reader.close()[-1], StreamError)


# -- going home -----------------------------------------------------------------------------------


def test_what_is_changed_on_the_way_home_is_said() -> None:
    changes: dict[type, Any] = {
        TextDelta: {"text": "Bye"},
        Stop: {"stop_reason": il.StopReason.MAX_TOKENS},
        UsageUpdate: {"usage": il.Usage(1, 2)},
    }
    events = [event.replace(**changes.get(type(event), {})) for event in read(HELLO)]
    written, _ = write(events)
    assert written == [
        BEGUN,
        *words(0, "Bye", "Bye"),
        {"messageStop": {"stopReason": "max_tokens"}},
        {
            "metadata": {
                "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
                "metrics": {"latencyMs": 512},
            }
        },
    ]


def test_blocks_that_are_taken_out_leave_no_gap() -> None:
    wires = talk(thoughts(0, "Hm"), words(1, "a"))
    events = [event for event in read(wires) if getattr(event, "index", None) != 0]
    assert write(events)[0] == talk(words(0, "a"))


def test_frames_go_out_at_once() -> None:
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    counts = [sum(len(writer.feed(e)) for e in reader.feed(frame(wire))) for wire in RICH]
    assert counts == [1] * len(RICH)


def test_one_long_call_takes_time_by_its_length() -> None:
    text = json.dumps({"a": "x" * 200_000})
    cuts = [text[at : at + 10] for at in range(0, len(text), 10)]
    (block,) = fold(talk(called(0, *cuts))).message.tool_calls
    assert block.input == {"a": "x" * 200_000}
