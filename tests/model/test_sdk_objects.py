"""Objects of SDKs as the JSON that they were on the wire."""

from typing import Any

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
