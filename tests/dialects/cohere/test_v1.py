"""Cohere's v1 chat: read, and written again as v1; as v2 where it comes from elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from interlingua.streams.frames import Frame
from tests.dialects.cohere import v1_wires as v1
from tests.laws import laws, streams
from tests.laws.judge import translation

OTHERS = [name for name in il.dialects() if name != "cohere"]
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


ODD = {
    *("outputs of all kinds", "a result without a call", "odd spellings", "tools of all kinds"),
    *("a failure", "a document without a user"),
}
"""Bodies that no provider takes, or of which the judge does not know what we do: marks of failures,
and documents that nobody sends."""


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("name", [name for name in v1.REQUESTS if name not in ODD])
def test_a_request_is_said_abroad_whole(name: str, target: str) -> None:
    wire = v1.REQUESTS[name]
    assert translation.abroad("cohere", target, "request", wire) == []
    assert translation.reading("cohere", "request", wire) == []
    value = DIALECT.read_request(wire)
    assert laws.abroad(value, il.dialect(target), "cohere") == []


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


def test_what_comes_from_elsewhere_is_written_in_v2() -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert "messages" in il.convert(chat, "openai-chat", "cohere").wire
    request = DIALECT.read_request(v1.REQUESTS["history"])
    again = DIALECT.write_request(request.replace(raw=None))
    assert [each["role"] for each in again.wire["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant", "user")
    ]
    assert list(again.report) == []


def test_a_call_that_only_its_result_tells_is_a_message_before_it() -> None:
    request = DIALECT.read_request(v1.REQUESTS["results beside the message"])
    asked, called, first, second = request.messages
    assert asked.text == "Is it cold?"
    assert [each.id for each in called.tool_calls] == [
        first.content[0].tool_use_id,
        second.content[0].tool_use_id,
    ]
    changed = called.content[0].replace(input={"city": "Rome"})
    new = request.replace(
        messages=(asked, called.replace(content=(changed, called.content[1])), first, second)
    )
    results = DIALECT.write_request(new).wire["tool_results"]
    assert [each["call"]["parameters"]["city"] for each in results] == ["Rome", "Oslo"]


def test_a_turn_that_is_added_is_asked_now() -> None:
    request = DIALECT.read_request(v1.REQUESTS["history"])
    more = (il.Message.assistant("Hello!"), il.Message.user("Bye"))
    wire = DIALECT.write_request(request.replace(messages=(*request.messages, *more))).wire
    assert wire["message"] == "Bye"
    assert [turn.get("message") for turn in wire["chat_history"][-2:]] == ["Hello", "Hello!"]


def test_parameters_are_a_schema() -> None:
    [tool] = DIALECT.read_request(v1.body(tools=[v1.TOOL])).tools
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Which one."},
            "days": {"type": "integer"},
            "units": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city"],
    }


def test_a_citation_has_the_words_of_its_first_document() -> None:
    block = DIALECT.read_response(v1.ANSWERS["cited"]).message.content[0]
    assert isinstance(block, il.TextBlock)
    first = block.citations[0]
    assert (first.url, first.title, first.cited_text) == (
        *("https://o.example", "Oslo", "Oslo is cold."),
    )


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ({"message": 5, "chat_history": []}, "message"),
        ({"message": "a", "chat_history": [{"role": "ROBOT"}]}, r"chat_history\[0\].role"),
        ({"message": "a", "chat_history": [5]}, r"chat_history\[0\]"),
        ({"message": "a", "tools": [5]}, r"tools\[0\]"),
        ({"message": "a", "tool_results": [5]}, r"tool_results\[0\]"),
    ],
)
def test_a_wrong_shape_is_named_with_its_place(wire: Any, path: str) -> None:
    with pytest.raises(il.ReadError, match=path):
        DIALECT.read_request(wire)
