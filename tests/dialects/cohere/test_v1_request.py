"""Requests of Cohere's first chat API."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from tests.dialects.cohere import v1_wires as v1
from tests.dialects.cohere.wires_v1 import OTHERS
from tests.laws import laws
from tests.laws.judge import translation

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


def test_what_comes_from_elsewhere_is_written_in_v2() -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert "messages" in il.convert(chat, "openai-chat", "cohere").wire
    request = DIALECT.read_request(v1.REQUESTS["history"])
    again = DIALECT.write_request(request.replace(raw=None))
    assert [each["role"] for each in again.wire["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant", "user")
    ]
    assert list(again.report.entries) == []


def test_a_turn_that_is_added_is_asked_now() -> None:
    request = DIALECT.read_request(v1.REQUESTS["history"])
    more = (il.Message.assistant("Hello!"), il.Message.user("Bye"))
    wire = DIALECT.write_request(request.replace(messages=(*request.messages, *more))).wire
    assert wire["message"] == "Bye"
    assert [turn.get("message") for turn in wire["chat_history"][-2:]] == ["Hello", "Hello!"]


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
