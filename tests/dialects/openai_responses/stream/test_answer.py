"""An answer while a stream tells it."""

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
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.streams.frames import Frame
from tests.dialects.openai_responses.streaming import (
    Json,
    added,
    begun,
    called,
    custom,
    done,
    ended,
    fold,
    goes_home,
    message,
    numbered,
    plain,
    progress,
    read,
    refused,
    talk,
    thoughts,
    words,
    write,
)
from tests.dialects.openai_responses.streams import CITED, HELLO, TOLD, interpreter, without
from tests.laws import corpus


def test_summaries_are_told_one_after_the_other() -> None:
    collected = [thoughts(0, ("Hm", "."), ("So",), encrypted_content="s")]
    events = plain(read(talk(*collected)))[1:-3]
    assert events == [
        BlockStart(0, il.ThinkingBlock("", id="rs_1")),
        ThinkingDelta(0, "Hm"),
        ThinkingDelta(0, "."),
        BlockEnd(0, il.ThinkingBlock("Hm.", id="rs_1")),
        BlockStart(1, il.ThinkingBlock("", id="rs_1")),
        ThinkingDelta(1, "So"),
        BlockEnd(1, il.ThinkingBlock("So", "s", "rs_1")),
    ]


@pytest.mark.requirement("P28")
def test_calls_that_are_written_in_turns_are_kept_apart() -> None:
    one, two = called(0, '{"a":', "1}"), called(1, '{"b":', "2}", id="call_2")
    collected = [one[0], two[0], one[1], two[1], one[2], two[2], *one[3:], *two[3:]]
    wires = numbered([*begun(), *collected, ended(one[-1]["item"], two[-1]["item"])])
    events = goes_home(wires)
    pieces = [(e.index, e.text) for e in events if isinstance(e, ToolUseInputDelta)]
    assert pieces == [(0, '{"a":'), (1, '{"b":'), (0, "1}"), (1, "2}")]
    inputs = [b.input for b in il.fold(events).message.content if isinstance(b, il.ToolUseBlock)]
    assert inputs == [{"a": 1}, {"b": 2}]


def test_items_that_overlap_stand_in_their_order() -> None:
    one, two = message(0, words("a"), words("b", number=1)), called(1, "{}")
    half = 6
    collected = [*one[:half], two[0], *one[half:], *two[1:]]
    wires = numbered([*begun(), *collected, ended(one[-1]["item"], two[-1]["item"])])
    events = goes_home(wires)
    by_pieces = il.fold([event for event in events if not isinstance(event, MessageComplete)])
    assert by_pieces.message.content == il.fold(events).message.content
    assert [type(block) for block in by_pieces.message.content] == [
        il.TextBlock,
        il.TextBlock,
        il.ToolUseBlock,
    ]


def test_parts_that_are_counted_over_all_items_are_told_once() -> None:
    collected = (
        thoughts(0, ("Hm",)),
        message(1, words("One.", number=1), words("Two.", number=2)),
        message(2, words("Three.", number=3), id="msg_2"),
    )
    events = goes_home(talk(*collected))
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
    result = b"".join(il.stream_convert(chunks, "openai-responses", "openai-chat")).decode()
    assert result.count('"name":') == 1


@pytest.mark.requirement("P29")
def test_a_call_that_comes_whole_is_written_in_one_piece() -> None:
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


def test_parts_without_numbers_are_told_as_they_come() -> None:
    result = talk(thoughts(0, ("So", "!")), message(1, words("Hel", "lo")))
    bare = without(result, "summary_index", "content_index")
    assert il.fold(goes_home(bare)).message == il.fold(read(result)).message
    late = [wire for wire in bare if "part.added" not in wire["type"]]
    assert il.fold(goes_home(late)).message == il.fold(read(result)).message


def test_two_parts_without_numbers_cannot_be_distinguished() -> None:
    wires = without(talk(message(0, words("a"), words("b", number=1))), "content_index")
    with pytest.raises(ReadError, match="content_index"):
        read(wires)


THOUGHT = thoughts(0, ("Hm",), encrypted_content="one")

GREETING = message(0, words("Hello"))
AFTER = message(1, words("Hello"))


def stream(*told: Json, last: list[Json], **more: Any) -> list[Json]:
    """A stream whose last frame has these items."""
    return numbered([*begun(), *told, ended(*last, **more)])


def parts(events: list[Event]) -> list[tuple[il.Response, il.Response]]:
    """Each message of a stream as its pieces tell it, and as its last event has it."""
    found: list[tuple[il.Response, il.Response]] = []
    before: list[Event] = []
    for event in events:
        if isinstance(event, MessageComplete):
            found.append((il.fold(before), event.response))
            before = []
        else:
            before.append(event)
    return found


def agree(events: list[Event]) -> bool:
    """Whether the last event has the blocks that the ones before it told."""
    return all(
        il.dumps(by_pieces.message.replace(metadata=whole.message.metadata))
        == il.dumps(whole.message)
        for by_pieces, whole in parts(events)
    )


def test_a_signature_that_the_last_frame_makes_anew_is_not_taken() -> None:
    again = {**THOUGHT[-1]["item"], "encrypted_content": "two"}
    events = goes_home(stream(*THOUGHT, *AFTER, last=[again, AFTER[-1]["item"]]))
    assert agree(events)
    assert il.fold(events).message.content[0] == il.ThinkingBlock("Hm", "one", "rs_1")


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": "two"},
        {"id": "prog_2"},
        {"code": "2+2"},
        {"more": {"seal": "two"}},
        {"fingerprint": None},
    ],
)
def test_what_was_told_stands(change: Json) -> None:
    item = {
        "id": "prog_1",
        "type": "program",
        "call_id": "call_1",
        "code": "1+1",
        "fingerprint": "one",
        "more": {"seal": "one"},
    }
    result = progress(0, item)
    whole = result[-1]["item"]
    events = goes_home(stream(*result, last=[{**whole, **change}]))
    assert agree(events)
    assert il.fold(events) == fold(stream(*result, last=[whole]))


@pytest.mark.parametrize("nothing", [{}, {"encrypted_content": None}, {"encrypted_content": ""}])
def test_a_signature_that_only_the_last_frame_has_is_taken(nothing: Json) -> None:
    result = thoughts(0, ("Hm",), **nothing)
    again = {**result[-1]["item"], "encrypted_content": "late"}
    wires = stream(*result, last=[again])
    assert il.fold(goes_home(wires)) == DIALECT.read_response(wires[-1]["response"])


@pytest.mark.parametrize(
    ("told", "last"),
    [
        ({"status": None}, {"status": "completed"}),
        ({}, {"phase": "final_answer"}),
        ({"more": {"a": 1}}, {"more": {"a": 1, "b": 2}}),
        ({"more": {"a": 1, "b": None}}, {"more": {"a": 1, "b": 2}}),
        ({"content": []}, {}),
    ],
)
def test_the_last_frame_fills_gaps(told: Json, last: Json) -> None:
    item = GREETING[-1]["item"]
    *before, end = GREETING if "content" not in told else [added(0, item)] * 2
    end = done(0, {**item, **told})
    wires = stream(*before, end, last=[{**item, **last}])
    events = goes_home(wires)
    folded = il.fold(events)
    assert il.dumps(folded) == il.dumps(DIALECT.read_response(wires[-1]["response"]))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Hello"]


def test_objects_of_different_types_are_not_mixed() -> None:
    search = {"id": "ws_1", "type": "web_search_call", "action": {"type": "search", "query": "x"}}
    result = progress(0, search)
    whole = result[-1]["item"]
    other = {**whole, "action": {"type": "open_page", "url": "https://example.com/"}}
    wires = stream(*result, last=[other])
    assert il.fold(goes_home(wires)) == fold(stream(*result, last=[whole]))


def test_items_are_known_by_their_ids() -> None:
    """One that no frame told stands after those that were told, as its events do."""
    one, two = message(0, words("one"), id="msg_1"), message(2, words("two"), id="msg_2")
    call = called(1, "{}")[-1]["item"]
    wires = stream(*one, *two, last=[one[-1]["item"], call, two[-1]["item"]])
    events = goes_home(wires)
    assert agree(events)
    texts = [getattr(block, "text", None) for block in il.fold(events).message.content]
    assert texts == ["one", "two", None]


def test_items_are_known_by_their_places_where_ids_change() -> None:
    one, two = message(0, words("one"), id="tmp_1"), called(1, "{}")
    last = [{**one[-1]["item"], "id": "tmp_3"}, {**two[-1]["item"], "id": "tmp_4"}]
    events = goes_home(stream(*one, *two, last=last))
    assert agree(events)
    assert len(il.fold(events).message.content) == 2


@pytest.mark.parametrize("whole", [False, True])
def test_items_that_all_have_one_number_are_kept_apart(whole: bool) -> None:
    collected = [THOUGHT, GREETING, called(0, '{"a":1}'), called(0, "{}", id="call_2")]
    frames = [frame for item in collected for frame in (item[-1:] if whole else item)]
    wires = stream(*frames, last=[item[-1]["item"] for item in collected])
    events = goes_home(wires)
    assert agree(events)
    assert il.fold(events) == DIALECT.read_response(wires[-1]["response"])


def test_what_the_last_frame_leaves_out_was_said() -> None:
    events = goes_home(stream(*THOUGHT, *AFTER, last=[AFTER[-1]["item"]]))
    assert agree(events)
    assert len(il.fold(events).message.content) == 2


def test_a_response_keeps_its_first_id_and_names_the_model_that_took_over() -> None:
    wires = stream(*GREETING, last=[GREETING[-1]["item"]], id="resp_2", model="gpt-5-large")
    folded = il.fold(goes_home(wires)).message.metadata
    assert (folded.response_id, folded.response_model) == ("resp_1", "gpt-5-large")
    for key in ("id", "model"):
        wires[-1]["response"].pop(key)
    folded = il.fold(goes_home(wires)).message.metadata
    assert (folded.response_id, folded.response_model) == ("resp_1", "gpt-5")
    wires = [{**wires[0], "response": {"object": "response", "status": "queued"}}, *wires[1:]]
    wires[-1]["response"] |= {"id": "resp_2", "model": "gpt-5-large"}
    folded = il.fold(goes_home(wires)).message.metadata
    assert (folded.response_id, folded.response_model) == ("resp_2", "gpt-5-large")


def test_how_it_ended_is_written_by_the_last_frame() -> None:
    details = {"reason": "max_output_tokens"}
    again = {**THOUGHT[-1]["item"], "encrypted_content": "two"}
    wires = stream(*THOUGHT, last=[again], kind="incomplete", incomplete_details=details)
    events = goes_home(wires)
    assert [e.stop_reason for e in events if isinstance(e, Stop)] == [il.StopReason.MAX_TOKENS]
    assert [e.usage.output_tokens for e in events if isinstance(e, UsageUpdate)] == [4]


def test_a_last_frame_that_is_edited_says_what_was_told() -> None:
    again = {**THOUGHT[-1]["item"], "encrypted_content": "two"}
    wires = stream(*THOUGHT, *AFTER, last=[again, AFTER[-1]["item"]])
    *events, last = read(wires)
    assert isinstance(last, MessageComplete)
    said = last.response.message
    content = (said.content[0], said.content[1].replace(text="Help"))
    edited = last.response.replace(message=said.replace(content=content))
    written, _ = write([*events, last.replace(response=edited)])
    result = json.dumps(wires[-1]).replace("Hello", "Help").replace('"two"', '"one"')
    assert difference([*wires[:-1], json.loads(result)], written) is None


def test_a_failed_response_keeps_what_was_told() -> None:
    error = {"code": "server_error", "message": "Oops"}
    again = {**THOUGHT[-1]["item"], "encrypted_content": "two"}
    events = goes_home(stream(*THOUGHT, last=[again], kind="failed", error=error))
    assert il.fold(events).message.content == (il.ThinkingBlock("Hm", "one", "rs_1"),)


def unsealed(message: il.Message) -> list[Any]:
    """The blocks without what may be made anew in every frame."""
    found: list[Any] = []
    for block in message.content:
        blank: dict[str, Any] = {}
        if isinstance(block, il.ThinkingBlock):
            blank = {"signature": None, "id": None}
        elif isinstance(block, il.ToolUseBlock):
            blank = {"signature": None}
        raw = json.loads(json.dumps(block.raw))
        if raw is not None:
            raw["openai-responses"].pop("fingerprint", None)
        found.append(il.dumps(block.replace(**blank, raw=raw)))
    return found


def test_recorded_streams_tell_what_their_last_frames_have() -> None:
    corpus.corpus_or_skip()
    counts = {"messages": 0, "anew": 0, "without output": 0}
    for record in corpus.records("openai-responses"):
        if record.stream is None:
            continue
        wires = [each.data for each in record.stream]
        events = read(
            Frame(each.event, each.data if isinstance(each.data, str) else json.dumps(each.data))
            for each in record.stream
        )
        assert agree(events), record
        last = [
            wire["response"]
            for wire in wires
            if isinstance(wire, dict)
            and wire.get("type") in ("response.completed", "response.incomplete")
        ]
        for (_, reported), wire in zip(parts(events), last, strict=True):
            counts["messages"] += 1
            whole = DIALECT.read_response(wire)
            if not wire.get("output"):
                counts["without output"] += 1
                continue
            counts["anew"] += reported.message.content != whole.message.content
            assert unsealed(reported.message) == unsealed(whole.message), record
            assert reported.message.metadata.usage == whole.message.metadata.usage, record
            assert reported.message.metadata.stop_reason == whole.message.metadata.stop_reason, (
                record
            )
    assert 0 < counts["anew"] < counts["messages"] // 5
