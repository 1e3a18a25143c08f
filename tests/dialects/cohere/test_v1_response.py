"""Responses and streams of v1."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from interlingua.streams.frames import Frame
from tests.dialects.cohere import v1_wires as v1
from tests.dialects.cohere.wires_v1 import OTHERS
from tests.laws import laws, streams
from tests.laws.judge import translation

BODIES = [
    *[pytest.param("request", wire, id=f"request: {name}") for name, wire in v1.REQUESTS.items()],
    *[pytest.param("response", wire, id=f"answer: {name}") for name, wire in v1.ANSWERS.items()],
]


def frames(name: str) -> list[Frame]:
    return [Frame(None, json.dumps(each)) for each in v1.STREAMS[name]]


@pytest.mark.parametrize(("kind", "wire"), BODIES)
def test_a_body_goes_home_as_it_came(kind: str, wire: Any) -> None:
    assert laws.home(DIALECT, kind, wire) == []
    assert laws.pure(DIALECT, kind, wire) == []


@pytest.mark.parametrize(("kind", "wire"), BODIES)
def test_every_edit_is_written_or_reported(kind: str, wire: Any) -> None:
    value = laws.read(DIALECT, kind, wire)
    for _, path, changed in laws.edits(value):
        assert laws.edited(DIALECT, value, path, changed) == []


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("name", [name for name in v1.ANSWERS if name != "TIMEOUT"])
def test_an_answer_is_said_abroad_whole(name: str, target: str) -> None:
    wire = v1.ANSWERS[name]
    assert translation.abroad("cohere", target, "response", wire) == []
    assert translation.reading("cohere", "response", wire) == []


@pytest.mark.parametrize("name", v1.STREAMS)
def test_a_stream_goes_home_and_folds_to_the_whole_answer(name: str) -> None:
    assert streams.home(DIALECT, frames(name)) == []
    assert streams.folds(DIALECT, frames(name)) == []
    assert translation.folding("cohere", frames(name)) == []


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("name", v1.STREAMS)
def test_a_stream_is_said_abroad_whole(name: str, target: str) -> None:
    assert translation.streamed("cohere", target, frames(name)) == []
    assert streams.square("cohere", target, frames(name)) == []


@pytest.mark.parametrize("name", ["text", "cited", "calls in pieces"])
def test_a_stream_and_the_answer_at_its_end_are_the_same_message(name: str) -> None:
    folded = il.fold(streams.read(DIALECT, frames(name)))
    whole = DIALECT.read_response(v1.STREAMS[name][-1]["response"])
    assert folded.message == whole.message


@pytest.mark.parametrize("name", v1.STREAMS)
def test_a_stream_that_was_changed_goes_home_in_frames_of_v2(name: str) -> None:
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    events = [event for frame in frames(name) for event in reader.feed(frame)] + reader.close()
    whole = il.fold(events)
    bare = [event.replace(frame=None) for event in events]
    written = [frame for event in bare for frame in writer.feed(event)] + writer.close()
    again = DIALECT.stream_reader()
    folded = il.fold([event for frame in written for event in again.feed(frame)] + again.close())
    assert folded.message.text == whole.message.text
    assert [call.input for call in folded.message.tool_calls] == [
        call.input for call in whole.message.tool_calls
    ]


def test_streams_are_lines_or_events() -> None:
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in v1.STREAMS["text"])
    events = b"".join(b"data: " + line + b"\n\n" for line in lines.splitlines())
    for data in (lines, events):
        text = b"".join(il.stream_convert([data], "cohere", "anthropic")).decode()
        assert '"text":"Co"' in text
        assert "message_stop" in text


def test_a_stream_that_breaks_off_is_an_error_with_what_was_told() -> None:
    *_, last = streams.read(DIALECT, frames("calls in pieces")[:5])
    assert last.type == "error"
    assert last.partial is not None
    assert last.partial.text == "I look."


def test_a_citation_has_the_words_of_its_first_document() -> None:
    block = DIALECT.read_response(v1.ANSWERS["cited"]).message.content[0]
    assert isinstance(block, il.TextBlock)
    first = block.citations[0]
    assert (first.url, first.title, first.cited_text) == (
        *("https://o.example", "Oslo", "Oslo is cold."),
    )
