"""The older revision of Interactions: turns with roles, `outputs`, and streams of content."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from interlingua.dialects.gemini_interactions.front import FRONT
from interlingua.model.events import StreamError, TextDelta, ToolUseEnd
from interlingua.streams.frames import Frame
from tests.dialects import streaming
from tests.dialects.gemini_interactions import older, wires
from tests.dialects.gemini_interactions.older import REQUESTS, RESPONSES, STREAMS, outputs
from tests.dialects.gemini_interactions.wires import NAME, read, read_answer, text
from tests.effort import examples
from tests.laws import run
from tests.laws.mutate import mutate, survives
from tests.laws.run import LAWS, Case

CASES = [
    *[Case(name, NAME, "request", wire, None) for name, wire in REQUESTS.items()],
    *[Case(name, NAME, "response", wire, None) for name, wire in RESPONSES.items()],
    *[Case(name, NAME, "stream", frames, None) for name, frames in STREAMS.items()],
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.record}")
def test_every_law_holds(case: Case) -> None:
    """Among them what an independent reader finds in the wire before and after a translation."""
    assert run.examine(case, LAWS).problems == {}


def test_turns_give_the_messages_that_steps_give() -> None:
    old = read(REQUESTS["a talk"])
    steps: list[Any] = []
    for turn in older.TALK:
        parts = turn["content"] if isinstance(turn["content"], list) else [text(turn["content"])]
        if turn["role"] == "user":
            steps.append(wires.user(*parts))
        else:
            steps += [wires.output(p) if p["type"] == "text" else p for p in parts]
    new = read(wires.body(*steps))
    assert old.messages[1:] == new.messages


def test_outputs_give_the_message_that_steps_give() -> None:
    parts = RESPONSES["a text"]["outputs"]
    old = read_answer(RESPONSES["a text"])
    new = read_answer(wires.answer(parts[0], wires.output(parts[1]), usage=wires.USAGE))
    assert old == new
    assert old.message.text == "Your name is Alice."


def test_a_conversation_in_turns_grows_in_turns() -> None:
    request = read(REQUESTS["a talk"])
    more = (
        il.Message.assistant("Welcome."),
        il.Message.user("Bye."),
        il.Message.tool_result("fc_9", "9"),
    )
    grown = request.replace(messages=(*request.messages, *more))
    turns = DIALECT.write_request(grown).wire["input"]
    assert turns[:-3] == older.TALK
    assert [turn["role"] for turn in turns[-3:]] == ["model", "user", "user"]
    assert turns[-3]["content"] == [text("Welcome.")]


def test_an_edit_shows_where_it_was_made() -> None:
    request = read(older.asked(older.user("Hi"), older.model(text("Yes"))))
    first = request.messages[0].replace(content=(il.TextBlock("Ho"),))
    wire = DIALECT.write_request(request.replace(messages=(first, *request.messages[1:]))).wire
    assert wire["input"] == [older.user("Ho"), older.model(text("Yes"))]


@pytest.mark.parametrize("target", [name for name in il.dialects() if name != NAME])
def test_an_answer_in_outputs_is_heard_everywhere(target: str) -> None:
    done = il.convert(RESPONSES["a text"], NAME, target, "response")
    assert "Your name is Alice." in json.dumps(done.wire)
    assert not [
        loss for loss in done.report.entries if "role" in loss.path or "outputs" in loss.path
    ]


def test_a_translation_into_interactions_has_the_newer_revision() -> None:
    wire = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    assert il.convert(wire, "anthropic", NAME).wire["input"] == [wires.user(text("Hi"))]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_goes_home_byte_for_byte(name: str) -> None:
    events = streaming.events_of(DIALECT, STREAMS[name], lambda each: each)
    frames, report = streaming.frames_of(DIALECT, events)
    assert frames == STREAMS[name]
    assert list(report.entries) == []
    assert streaming.disorder(events) == []


def test_a_stream_folds_to_the_whole_answer() -> None:
    folded = il.fold(streaming.events_of(DIALECT, STREAMS["all kinds"], lambda each: each))
    cited = older.CITED
    signed = wires.thought(text("Hm. So."), signature="c2ln")
    whole = outputs(
        *(signed, cited, wires.CALL, *wires.SEARCH, wires.IMAGE),
        status="requires_action",
        usage=wires.USAGE,
    )
    assert folded == read_answer(whole)
    assert DIALECT.write_response(folded).wire["outputs"] == whole["outputs"]


def test_a_stream_that_is_cut_is_an_error_with_what_came() -> None:
    for name, frames in STREAMS.items():
        for count in range(1, len(frames) - 2):
            events = streaming.events_of(DIALECT, frames[:count], lambda each: each)
            assert isinstance(events[-1], StreamError), (name, count)


def _edited(name: str, kind: type, **changes: Any) -> list[Frame]:
    events = streaming.events_of(DIALECT, STREAMS[name], lambda each: each)
    at = next(i for i, event in enumerate(events) if isinstance(event, kind))
    events[at] = events[at].replace(**changes)  # type: ignore[attr-defined]  # a struct
    return streaming.frames_of(DIALECT, events)[0]


@pytest.mark.parametrize(
    ("name", "kind", "changes"),
    [
        ("a text", TextDelta, {"text": "Ho "}),
        ("all kinds", TextDelta, {"text": "Gruß!"}),
        ("all kinds", ToolUseEnd, {"input": {"a": 2}}),
    ],
)
def test_an_edited_stream_goes_on_in_its_revision(name: str, kind: type, changes: Any) -> None:
    frames = _edited(name, kind, **changes)
    kinds = {frame.event for frame in frames}
    assert not {each for each in kinds if each and each.startswith("step.")}
    assert "interaction.complete" in kinds
    again = il.fold(streaming.events_of(DIALECT, frames, lambda each: each))
    before = il.fold(streaming.events_of(DIALECT, STREAMS[name], lambda each: each))
    assert len(again.message.content) == len(before.message.content)
    assert again.message.text.startswith(changes.get("text", before.message.text))


@pytest.mark.parametrize(
    ("kind", "wires"),
    [("request", [*REQUESTS.values()]), ("response", [*RESPONSES.values()])],
)
def test_a_damaged_wire_is_refused_with_a_place_or_goes_home(kind: str, wires: list[Any]) -> None:
    rng = random.Random(11)
    for _ in range(examples(3000)):
        wire = mutate(rng.choice(wires), rng)
        assert survives(NAME, kind, wire) is None, wire


@pytest.mark.parametrize("wire", [*REQUESTS.values()][:1] + [*RESPONSES.values()][:1])
def test_the_revision_is_detected(wire: Any) -> None:
    assert il.detect(wire).dialect == NAME


def test_turns_of_other_roles_stay_those_of_responses() -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]
    assert il.detect({"model": "gpt-5", "input": turns}).dialect == "openai-responses"


def test_a_gateway_knows_the_end_of_such_a_stream() -> None:
    end = FRONT.ending()
    for frame in STREAMS["a text"][:-2]:
        end.look(frame.data)
    assert not end.is_reached
    last = STREAMS["a text"][-2]
    assert any(mark in last.data.encode() for mark in end.marks)
    end.look(last.data)
    assert end.is_reached
