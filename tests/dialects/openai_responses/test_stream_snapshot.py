"""What the last frame of a stream says again, beside what the frames before it told."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.base import difference
from interlingua.model.events import Event, MessageComplete, Stop, TextDelta, UsageUpdate
from interlingua.streams.frames import Frame
from tests.dialects.openai_responses.streaming import (
    Json,
    added,
    begun,
    called,
    done,
    ended,
    fold,
    goes_home,
    message,
    numbered,
    progress,
    read,
    thoughts,
    words,
    write,
)
from tests.laws import corpus

THOUGHT = thoughts(0, ("Hm",), encrypted_content="one")
HELLO = message(0, words("Hello"))
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
    told = progress(0, item)
    whole = told[-1]["item"]
    events = goes_home(stream(*told, last=[{**whole, **change}]))
    assert agree(events)
    assert il.fold(events) == fold(stream(*told, last=[whole]))


@pytest.mark.parametrize("nothing", [{}, {"encrypted_content": None}, {"encrypted_content": ""}])
def test_a_signature_that_only_the_last_frame_has_is_taken(nothing: Json) -> None:
    told = thoughts(0, ("Hm",), **nothing)
    again = {**told[-1]["item"], "encrypted_content": "late"}
    wires = stream(*told, last=[again])
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
    item = HELLO[-1]["item"]
    *before, end = HELLO if "content" not in told else [added(0, item)] * 2
    end = done(0, {**item, **told})
    wires = stream(*before, end, last=[{**item, **last}])
    events = goes_home(wires)
    folded = il.fold(events)
    assert il.dumps(folded) == il.dumps(DIALECT.read_response(wires[-1]["response"]))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Hello"]


def test_objects_of_different_types_are_not_mixed() -> None:
    search = {"id": "ws_1", "type": "web_search_call", "action": {"type": "search", "query": "x"}}
    told = progress(0, search)
    whole = told[-1]["item"]
    other = {**whole, "action": {"type": "open_page", "url": "https://example.com/"}}
    wires = stream(*told, last=[other])
    assert il.fold(goes_home(wires)) == fold(stream(*told, last=[whole]))


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
    told = [THOUGHT, HELLO, called(0, '{"a":1}'), called(0, "{}", id="call_2")]
    frames = [frame for item in told for frame in (item[-1:] if whole else item)]
    wires = stream(*frames, last=[item[-1]["item"] for item in told])
    events = goes_home(wires)
    assert agree(events)
    assert il.fold(events) == DIALECT.read_response(wires[-1]["response"])


def test_what_the_last_frame_leaves_out_was_said() -> None:
    events = goes_home(stream(*THOUGHT, *AFTER, last=[AFTER[-1]["item"]]))
    assert agree(events)
    assert len(il.fold(events).message.content) == 2


def test_a_response_keeps_its_first_id_and_names_the_model_that_took_over() -> None:
    wires = stream(*HELLO, last=[HELLO[-1]["item"]], id="resp_2", model="gpt-5-large")
    told = il.fold(goes_home(wires)).message.metadata
    assert (told.response_id, told.response_model) == ("resp_1", "gpt-5-large")
    for key in ("id", "model"):
        wires[-1]["response"].pop(key)
    told = il.fold(goes_home(wires)).message.metadata
    assert (told.response_id, told.response_model) == ("resp_1", "gpt-5")
    wires = [{**wires[0], "response": {"object": "response", "status": "queued"}}, *wires[1:]]
    wires[-1]["response"] |= {"id": "resp_2", "model": "gpt-5-large"}
    told = il.fold(goes_home(wires)).message.metadata
    assert (told.response_id, told.response_model) == ("resp_2", "gpt-5-large")


def test_how_it_ended_is_said_by_the_last_frame() -> None:
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
    told = json.dumps(wires[-1]).replace("Hello", "Help").replace('"two"', '"one"')
    assert difference([*wires[:-1], json.loads(told)], written) is None


def test_a_failed_response_keeps_what_was_told() -> None:
    error = {"code": "server_error", "message": "Oops"}
    again = {**THOUGHT[-1]["item"], "encrypted_content": "two"}
    events = goes_home(stream(*THOUGHT, last=[again], kind="failed", error=error))
    assert il.fold(events).message.content == (il.ThinkingBlock("Hm", "one", "rs_1"),)


# -- recorded streams -----------------------------------------------------------------------------


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
        for (_, told), wire in zip(parts(events), last, strict=True):
            counts["messages"] += 1
            whole = DIALECT.read_response(wire)
            if not wire.get("output"):
                counts["without output"] += 1
                continue
            counts["anew"] += told.message.content != whole.message.content
            assert unsealed(told.message) == unsealed(whole.message), record
            assert told.message.metadata.usage == whole.message.metadata.usage, record
            assert told.message.metadata.stop_reason == whole.message.metadata.stop_reason, record
    assert 0 < counts["anew"] < counts["messages"] // 5
