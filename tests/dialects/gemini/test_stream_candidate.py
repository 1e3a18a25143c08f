"""A candidate while a stream tells it."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini import DIALECT
from interlingua.model.events import BlockEnd, ToolUseEnd, ToolUseInputDelta, ToolUseStart
from tests.dialects.gemini.streaming import goes_home, late, read, talk, thought, whole
from tests.dialects.gemini.streams import IMAGE
from tests.dialects.gemini.wires import call, text
from tests.dialects.streaming import bare


@pytest.mark.requirement("P28", "P29", "P31")
def test_calls_come_whole_each_with_an_index_of_its_own() -> None:
    wires = talk([call(args={"a": 1}, id="c1"), {"functionCall": {"name": "now"}}])
    events = bare(goes_home(wires))
    emitted = [event for event in events if type(event).__name__.startswith("ToolUse")]
    second = emitted[3]
    assert isinstance(second, ToolUseStart)
    assert second.id.startswith("il_")
    assert emitted == [
        ToolUseStart(0, "c1", "weather"),
        ToolUseInputDelta(0, '{"a":1}'),
        ToolUseEnd(0, {"a": 1}),
        ToolUseStart(1, second.id, "now"),
        ToolUseInputDelta(1, "{}"),
        ToolUseEnd(1, {}),
    ]
    assert bare(read(wires)) == events  # ids are made of their places


def test_citations_stand_at_the_end_of_the_text_that_they_are_about() -> None:
    grounding = {
        "webSearchQueries": ["x"],
        "groundingChunks": [{"web": {"uri": "https://example.com/", "title": "Example"}}],
        "groundingSupports": [
            {"segment": {"endIndex": 4, "text": "Grün"}, "groundingChunkIndices": [0]},
            {"segment": {"startIndex": 5, "endIndex": 8}, "groundingChunkIndices": [0]},
        ],
    }
    wires = talk(thought("Hm"), text("Gr"), text("ün, ja"), late("c2ln"))
    for wire in wires[:-1]:
        wire["candidates"][0]["groundingMetadata"] = {}
    wires[-1]["candidates"][0]["groundingMetadata"] = grounding
    events = goes_home(wires)
    result = text("Grün, ja", thoughtSignature="c2ln")
    same = whole(thought("Hm"), result, groundingMetadata=grounding)
    assert il.fold(events) == same
    assert len(same.message.content[1].citations) == 2  # type: ignore[union-attr]
    ends = [event.block for event in events if isinstance(event, BlockEnd)]
    assert ends == list(same.message.content)


def test_sources_that_come_one_after_the_other_are_all_kept() -> None:
    one, two = ({"uri": f"https://example.com/{n}", "endIndex": n} for n in (1, 2))
    wires = talk(text("a"), text("b"), text("c"), IMAGE)
    wires[0]["candidates"][0]["citationMetadata"] = {"citationSources": [one]}
    wires[2]["candidates"][0]["citationMetadata"] = {"citationSources": [two]}
    response = il.fold(goes_home(wires))
    sources = {"citationSources": [one, two]}
    assert response == whole(text("abc"), IMAGE, citationMetadata=sources)
    wires[2]["candidates"][0]["citationMetadata"] = sources  # said again from the start
    assert il.fold(goes_home(wires)) == response


def test_what_frames_say_of_a_candidate_is_put_together() -> None:
    wires = talk(text("a"), text("b"))
    one, two = (wire["candidates"][0] for wire in wires)
    one |= {"logprobsResult": {"chosenCandidates": [{"token": "a"}]}, "safetyRatings": [1]}
    one["urlContextMetadata"] = {"urlMetadata": [{"retrievedUrl": "https://example.com/"}]}
    two |= {"logprobsResult": {"chosenCandidates": [{"token": "b"}]}, "safetyRatings": [2]}
    two["avgLogprobs"] = -0.5
    written = DIALECT.write_response(il.fold(goes_home(wires))).wire["candidates"][0]
    assert written["logprobsResult"] == {"chosenCandidates": [{"token": "a"}, {"token": "b"}]}
    assert (written["safetyRatings"], written["avgLogprobs"]) == ([2], -0.5)
    assert written["urlContextMetadata"] == one["urlContextMetadata"]


def piece(**call: Any) -> Any:
    return {"functionCall": call}


def arg(path: str, **value: Any) -> Any:
    return {"jsonPath": path, **value}


@pytest.mark.requirement("P28", "P29")
def test_arguments_that_come_piece_by_piece_are_one_call() -> None:
    wires = talk(
        text("a"),
        {**piece(name="weather", id="c1", willContinue=True), "thoughtSignature": "c2ln"},
        piece(
            partialArgs=[arg("$.city", stringValue="New ", willContinue=True)], willContinue=True
        ),
        piece(partialArgs=[arg("$.city", stringValue="Delhi")], willContinue=True),
        piece(
            partialArgs=[
                arg("$.days[0].n", numberValue=3),
                arg("$.days[1]['at.night']", boolValue=False),
                arg("$.none", nullValue="NULL_VALUE"),
                arg("$.void", stringValue=""),
            ],
            willContinue=True,
        ),
        piece(),
        text("b"),
    )
    events = goes_home(wires)
    response = il.fold(events)
    args = {"city": "New Delhi", "days": [{"n": 3}, {"at.night": False}], "none": None, "void": ""}
    signed = {**call("weather", args, id="c1"), "thoughtSignature": "c2ln"}
    assert response == whole(text("a"), signed, text("b"))
    emitted = [event for event in bare(events) if type(event).__name__.startswith("ToolUse")]
    assert [type(event) for event in emitted] == [ToolUseStart, ToolUseInputDelta, ToolUseEnd]


def test_calls_in_pieces_end_where_the_next_begins_or_the_stream_does() -> None:
    one = piece(name="one", partialArgs=[arg("$.a", numberValue=1)], willContinue=True)
    two = piece(name="two", partialArgs=[arg("$.b", numberValue=2)], willContinue=True)
    response = il.fold(goes_home(talk(one, two)))
    assert [each.input for each in response.message.tool_calls] == [{"a": 1}, {"b": 2}]
    response = il.fold(goes_home(talk(one, call("two", {"b": 2}))))
    assert [each.input for each in response.message.tool_calls] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("path", ["", "$", "$.a.b", "$.a[0]", "$[0]", "$.c[999999]", "a"])
def test_a_path_that_leads_nowhere_says_nothing(path: str) -> None:
    pieces = [arg("$.a", stringValue="x"), arg(path, numberValue=1), {"jsonPath": 3}, 7]
    wires = talk(piece(name="f", partialArgs=pieces, willContinue=True), piece())
    (found,) = il.fold(goes_home(wires)).message.tool_calls
    assert found.input.get("a") in ("x", {"b": 1}, [1])
