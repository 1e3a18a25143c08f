"""Streams of the Responses API, read and written home."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.openai_responses import DIALECT
from interlingua.errors import ReadError
from interlingua.model.base import difference
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
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.streams.fold import fold_all
from interlingua.streams.frames import Frame
from tests.dialects.openai_responses.streaming import (
    added,
    begun,
    called,
    custom,
    done,
    ended,
    fold,
    frame,
    goes_home,
    items,
    message,
    numbered,
    plain,
    progress,
    read,
    refused,
    response,
    talk,
    thoughts,
    unnamed,
    words,
    write,
)
from tests.dialects.streaming import only_unread

HELLO = talk(message(0, words("Hel", "lo")))
SEARCH = {"id": "ws_1", "type": "web_search_call", "action": {"type": "search", "query": "x"}}
CITED = {
    "type": "url_citation",
    "url": "https://example.com/",
    "title": "Example",
    "start_index": 0,
    "end_index": 2,
}
FOUND = {
    "id": "fs_1",
    "type": "file_search_call",
    "queries": ["x"],
    "results": [{"file_id": "file_1", "filename": "a.md", "score": 0.5, "text": "abc"}],
}
RAN = {
    "id": "ci_1",
    "type": "code_interpreter_call",
    "code": "1+1",
    "container_id": "cntr_1",
    "outputs": [{"type": "logs", "logs": "2"}],
}
ASKED = {
    "id": "mcp_1",
    "type": "mcp_call",
    "name": "ask",
    "server_label": "wiki",
    "arguments": '{"q":"x"}',
    "output": "an answer",
    "error": None,
}
PAINTED = {
    "id": "ig_1",
    "type": "image_generation_call",
    "output_format": "png",
    "result": "AAAA",
}


def interpreter() -> list[Any]:
    place = {"output_index": 0, "item_id": "ci_1"}
    name = "response.code_interpreter_call"
    start, end = progress(0, RAN, first={"code": "", "outputs": None})
    return [
        start,
        {"type": f"{name}.in_progress", **place},
        *({"type": f"{name}_code.delta", **place, "delta": piece} for piece in ("1+", "1")),
        {"type": f"{name}_code.done", **place, "code": "1+1"},
        {"type": f"{name}.completed", **place},
        end,
    ]


def asked() -> list[Any]:
    place = {"output_index": 0, "item_id": "mcp_1"}
    start, end = progress(0, ASKED, first={"arguments": "", "output": None})
    return [
        start,
        {"type": "response.mcp_call.in_progress", **place},
        {"type": "response.mcp_call_arguments.delta", **place, "delta": '{"q":"x"}'},
        {"type": "response.mcp_call_arguments.done", **place, "arguments": '{"q":"x"}'},
        {"type": "response.mcp_call.completed", **place},
        end,
    ]


def painted() -> list[Any]:
    partial = {"partial_image_index": 0, "partial_image_b64": "AA", "output_format": "png"}
    frames = progress(0, PAINTED, "in_progress", "generating", "partial_image", "completed")
    frames[0] = added(0, {"id": "ig_1", "type": "image_generation_call", "status": "in_progress"})
    frames[3] |= partial
    return frames


def reasoned() -> list[Any]:
    """Reasoning as text, as open models have it."""
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "content": []}
    place = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    part = {"type": "reasoning_text", "text": ""}
    whole = {**part, "text": "Hm."}
    name = "response.reasoning_text"
    return [
        added(0, {**item, "status": "in_progress"}),
        {"type": "response.content_part.added", **place, "part": part},
        {"type": f"{name}.delta", **place, "delta": "Hm"},
        {"type": f"{name}.delta", **place, "delta": "."},
        {"type": f"{name}.done", **place, "text": "Hm."},
        {"type": "response.content_part.done", **place, "part": whole},
        done(0, {**item, "status": "completed", "content": [whole]}),
    ]


TOLD: dict[str, list[list[Any]]] = {
    "text": [message(0, words("Hel", "lo"))],
    "empty text": [message(0, words(""))],
    "no content": [message(0)],
    "two parts": [message(0, words("a"), words("b", number=1))],
    "phases": [
        message(0, words("Well"), id="msg_1", phase="commentary"),
        message(1, words("a"), id="msg_2", phase="final_answer"),
    ],
    "citations": [message(0, words("Hi", notes=[CITED, {**CITED, "end_index": 1}]))],
    "refusal": [message(0, refused("N", "o."))],
    "summaries": [thoughts(0, ("Hm", "."), ("So",), encrypted_content="s"), message(1, words("a"))],
    "bare reasoning": [thoughts(0, encrypted_content="s"), message(1, words("a"))],
    "unsigned": [thoughts(0, ("Hm",))],
    "reasoning text": [reasoned()],
    "call": [called(0, '{"a":', " 1}")],
    "no arguments": [called(0)],
    "empty arguments": [called(0, "{}")],
    "bad arguments": [called(0, '{"a": 1')],
    "parallel calls": [called(0, '{"a":1}'), called(1, "{}", id="call_2")],
    "custom": [custom(0, "*** ", "x")],
    "web search": [
        progress(0, SEARCH, "in_progress", "searching", "completed", first={"action": None}),
        message(1, words("a")),
    ],
    "file search": [progress(0, FOUND, "in_progress", first={"queries": [], "results": None})],
    "code interpreter": [interpreter()],
    "mcp": [asked()],
    "image": [painted()],
    "computer": [
        progress(
            0,
            {
                "id": "cu_1",
                "type": "computer_call",
                "call_id": "call_1",
                "action": {"type": "screenshot"},
                "pending_safety_checks": [],
            },
        )
    ],
    "shell": [
        progress(
            0,
            {
                "id": "sh_1",
                "type": "shell_call",
                "call_id": "call_1",
                "action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
            },
        )
    ],
    "compaction": [progress(0, {"id": "cmp_1", "type": "compaction", "encrypted_content": "e"})],
    "unknown item": [progress(0, {"id": "h_1", "type": "hologram", "data": "z"})],
}


# -- what is read ---------------------------------------------------------------------------------


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


def test_summaries_are_told_one_after_the_other() -> None:
    told = [thoughts(0, ("Hm", "."), ("So",), encrypted_content="s")]
    events = plain(read(talk(*told)))[1:-3]
    assert events == [
        BlockStart(0, il.ThinkingBlock("", id="rs_1")),
        ThinkingDelta(0, "Hm"),
        ThinkingDelta(0, "."),
        BlockEnd(0, il.ThinkingBlock("Hm.", id="rs_1")),
        BlockStart(1, il.ThinkingBlock("", id="rs_1")),
        ThinkingDelta(1, "So"),
        BlockEnd(1, il.ThinkingBlock("So", "s", "rs_1")),
    ]


def test_the_signature_of_a_beginning_is_not_relied_on() -> None:
    told = thoughts(0, encrypted_content="all of it")
    told[0]["item"]["encrypted_content"] = "a part"
    wires = talk(told)
    goes_home(wires)
    assert fold(wires).message.content == (il.ThinkingBlock("", "all of it", "rs_1"),)
    partial = fold(wires[:3]).message.content
    assert partial == (il.ThinkingBlock("", None, "rs_1"),)


@pytest.mark.requirement("P28")
def test_calls_that_are_told_in_turns_are_kept_apart() -> None:
    one, two = called(0, '{"a":', "1}"), called(1, '{"b":', "2}", id="call_2")
    told = [one[0], two[0], one[1], two[1], one[2], two[2], *one[3:], *two[3:]]
    wires = numbered([*begun(), *told, ended(one[-1]["item"], two[-1]["item"])])
    events = goes_home(wires)
    pieces = [(e.index, e.text) for e in events if isinstance(e, ToolUseInputDelta)]
    assert pieces == [(0, '{"a":'), (1, '{"b":'), (0, "1}"), (1, "2}")]
    inputs = [b.input for b in il.fold(events).message.content if isinstance(b, il.ToolUseBlock)]
    assert inputs == [{"a": 1}, {"b": 2}]


def test_items_that_overlap_stand_in_their_order() -> None:
    one, two = message(0, words("a"), words("b", number=1)), called(1, "{}")
    half = 6
    told = [*one[:half], two[0], *one[half:], *two[1:]]
    wires = numbered([*begun(), *told, ended(one[-1]["item"], two[-1]["item"])])
    events = goes_home(wires)
    by_pieces = il.fold([event for event in events if not isinstance(event, MessageComplete)])
    assert by_pieces.message.content == il.fold(events).message.content
    assert [type(block) for block in by_pieces.message.content] == [
        il.TextBlock,
        il.TextBlock,
        il.ToolUseBlock,
    ]


def test_parts_that_are_counted_over_all_items_are_told_once() -> None:
    told = (
        thoughts(0, ("Hm",)),
        message(1, words("One.", number=1), words("Two.", number=2)),
        message(2, words("Three.", number=3), id="msg_2"),
    )
    events = goes_home(talk(*told))
    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        "One.",
        "Two.",
        "Three.",
    ]
    by_pieces = il.fold([event for event in events if not isinstance(event, MessageComplete)])
    assert by_pieces.message.content == il.fold(events).message.content


def test_a_call_that_ends_where_a_text_was_told_is_another_block() -> None:
    piece = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0}
    call = called(0, "{}")[-1]
    delta = {**piece, "content_index": 0, "delta": "hi"}
    events = goes_home(numbered([*begun(), delta, call, ended(call["item"])]))
    kinds = [type(block) for block in il.fold(events[:-1]).message.content]
    assert kinds == [il.TextBlock, il.ToolUseBlock]


@pytest.mark.parametrize(
    ("start", "id"),
    [
        # What comes whole is told when it has ended; of what is told in pieces the start stands.
        ({"type": "tool_search_call", "execution": "client", "arguments": {"goal": "x"}}, "b"),
        ({"type": "function_call", "name": "add", "arguments": "{}"}, "a"),
    ],
)
def test_a_call_whose_id_changes_is_one_call(start: dict[str, Any], id: str) -> None:
    item = {"id": "item_1", **start}
    last = {**item, "call_id": "b", "status": "completed"}
    first = {**item, "call_id": "a", "status": "in_progress"}
    wires = numbered([*begun(), added(0, first), done(0, last), ended(last)])
    events = goes_home(wires)
    assert [event.id for event in events if isinstance(event, ToolUseStart)] == [id]
    assert [call.id for call in il.fold(events).message.tool_calls] == [id]
    chunks = [f"data: {json.dumps(wire)}\n\n".encode() for wire in wires]
    said = b"".join(il.stream_convert(chunks, "openai-responses", "openai-chat")).decode()
    assert said.count('"name":') == 1


@pytest.mark.requirement("P29")
def test_a_call_that_comes_whole_is_told_in_one_piece() -> None:
    start, *_, end = called(0, '{"a":1}')
    events = plain(goes_home(talk([start, end])))
    assert events[1:4] == [
        ToolUseStart(0, "call_1", "add"),
        ToolUseInputDelta(0, '{"a":1}'),
        ToolUseEnd(0, {"a": 1}),
    ]


@pytest.mark.parametrize("told", [[], [added(0, {"type": "message", "id": "msg_1"})]])
@pytest.mark.requirement("P29")
def test_what_only_the_last_frame_says_is_told(told: list[Any]) -> None:
    item = message(0, words("Hello"))[-1]["item"]
    wires = numbered([*begun(), *told, ended(item, called(1, "{}")[-1]["item"])])
    events = goes_home(wires)
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Hello"]
    assert il.fold(events) == DIALECT.read_response(wires[-1]["response"])


def test_text_without_a_start_opens_its_block() -> None:
    start, _, *rest = message(0, words("Hel", "lo"))
    wires = talk([start, *rest])
    goes_home(wires)
    assert fold(wires) == fold(HELLO)


@pytest.mark.requirement("P30")
def test_an_empty_piece_opens_no_block() -> None:
    start, _, *_, end = message(0, words(""))
    end = done(0, {**end["item"], "content": []})
    piece = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0}
    wires = talk([start, {**piece, "content_index": 0, "delta": "", "logprobs": []}, end])
    assert il.fold(goes_home(wires)).message.content == ()


def test_a_last_frame_without_output_does_not_undo_what_was_told() -> None:
    told = [thoughts(0, ("Hm",)), message(1, words("Hi"))]
    wires = numbered([*begun(), *told[0], *told[1], ended()])
    events = goes_home(wires)
    assert il.fold(events) == DIALECT.read_response(response(*items(told)))


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


def test_a_refusal_comes_in_pieces_of_its_text() -> None:
    events = read(talk(message(0, refused("N", "o."))))
    deltas = [(e.field, e.value) for e in events if isinstance(e, BlockDelta)]
    assert deltas == [("text", "N"), ("text", "o.")]


def test_code_comes_in_pieces() -> None:
    events = read(talk(interpreter()))
    deltas = [(e.field, e.value) for e in events if isinstance(e, BlockDelta)]
    assert deltas == [("code", "1+"), ("code", "1")]
    call, result = il.fold(events).message.content
    assert isinstance(call, il.ToolUseBlock)
    assert (call.executor, call.input) == ("provider", {"code": "1+1"})
    assert isinstance(result, il.ToolResultBlock)


def test_citations_are_told_as_they_come() -> None:
    events = read(talk(message(0, words("Hi", notes=[CITED]))))
    (delta,) = [event for event in events if isinstance(event, BlockDelta)]
    assert delta.value == il.Citation(url="https://example.com/", title="Example", start=0, end=2)


@pytest.mark.parametrize(
    ("told", "pieces", "end"),
    [
        (message(0, words("Hel", "lo")), "Hello", "Help!"),
        (message(0, words("Hel", "lo")), "Hello", "Hel"),
        (thoughts(0, ("Hm", ".")), "Hm.", "So."),
        (message(0, refused("N", "o.")), "No.", "Never."),
        (called(0, '{"x":', "1}"), '{\\"x\\":1}', '{\\"x\\":2}'),
        (custom(0, "*** ", "x"), "*** x", "*** y"),
    ],
)
def test_where_the_end_of_a_part_differs_from_its_pieces_it_is_believed(
    told: list[Any], pieces: str, end: str
) -> None:
    wires = [
        wire if "delta" in wire else json.loads(json.dumps(wire).replace(pieces, end))
        for wire in talk(told)
    ]
    message = il.fold(goes_home(wires)).message
    whole = DIALECT.read_response(wires[-1]["response"]).message
    assert message.content == whole.content
    (found,) = message.metadata.diagnostics
    assert (found.type, found.details) == ("stream_pieces_differ", {"blocks": [0]})


@pytest.mark.parametrize("told", [[*TOLD["no arguments"]], [*TOLD["empty arguments"]]])
def test_pieces_that_the_end_repeats_are_nothing_to_tell_of(told: list[Any]) -> None:
    assert fold(talk(*told)).message.metadata.diagnostics == ()


# -- home -----------------------------------------------------------------------------------------


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


def without(wires: list[Any], *keys: str) -> list[Any]:
    return [{name: item for name, item in wire.items() if name not in keys} for wire in wires]


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


def test_parts_without_numbers_are_told_as_they_come() -> None:
    told = talk(thoughts(0, ("So", "!")), message(1, words("Hel", "lo")))
    bare = without(told, "summary_index", "content_index")
    assert il.fold(goes_home(bare)).message == il.fold(read(told)).message
    late = [wire for wire in bare if "part.added" not in wire["type"]]
    assert il.fold(goes_home(late)).message == il.fold(read(told)).message


def test_two_parts_without_numbers_cannot_be_told_apart() -> None:
    wires = without(talk(message(0, words("a"), words("b", number=1))), "content_index")
    with pytest.raises(ReadError, match="content_index"):
        read(wires)


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
    told = [reader.feed(frame(wire)) for wire in HELLO]
    assert isinstance(told[-1][-1], MessageComplete)
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
            assert list(report) == []
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


# -- the end --------------------------------------------------------------------------------------


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
    said = il.Response(il.Message.assistant((il.TextBlock("one two"), call), metadata))
    writer = il.dialect("openai-responses").stream_writer()
    frames = [f for event in il.unfold(said) for f in writer.feed(event)] + writer.close()
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
    said = il.Response(il.Message.assistant((il.TextBlock("a"),), metadata))
    writer = il.dialect("openai-responses").stream_writer()
    frames = [f for event in il.unfold(said) for f in writer.feed(event)] + writer.close()
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
