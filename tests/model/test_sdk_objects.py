"""Objects of SDKs as the JSON that they were on the wire."""

from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from interlingua.model.interop import dumped, is_sdk_object

ANSWER: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hey."}}
    ],
}


def test_an_object_is_dumped_without_fields_that_the_wire_had_not() -> None:
    assert dumped(ChatCompletion.model_validate(ANSWER)) == ANSWER


def test_objects_inside_of_lists_and_dicts_are_dumped() -> None:
    message = ChatCompletion.model_validate(ANSWER).choices[0].message
    assert dumped({"messages": [message]}) == {"messages": [ANSWER["choices"][0]["message"]]}


def test_plain_json_is_returned_as_it_is() -> None:
    assert dumped(ANSWER) is ANSWER
    assert not is_sdk_object(ChatCompletion)


def test_objects_that_fill_in_their_role_have_it() -> None:
    models = pytest.importorskip("mistralai.client.models")
    call = models.ToolCall(id="c", function=models.FunctionCall(name="f", arguments="{}"))
    found = dumped(
        [
            models.UserMessage(content=[models.TextChunk(text="a")]),
            models.AssistantMessage(tool_calls=[call]),
            models.ToolMessage(content="x", tool_call_id="c"),
        ]
    )
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    assert found == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "x", "tool_call_id": "c"},
    ]


def test_bytes_are_base64_in_the_alphabet_of_json() -> None:
    types = pytest.importorskip("google.genai.types")
    data = b"\xff\xfe\xfb"
    part = types.Part.from_bytes(data=data, mime_type="image/png")
    (found,) = dumped(types.Content(role="user", parts=[part]))["parts"]
    assert found["inlineData"] == {"data": "//77", "mimeType": "image/png"}
    assert dumped({"bytes": data}) == {"bytes": "//77"}
    assert dumped(data) is data, "a whole body as it arrived"
