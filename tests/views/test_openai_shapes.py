"""The types of the chat-completion shapes."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from interlingua.model.blocks import (
    TextBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.views import openai_shapes, openai_ui
from tests.views.test_openai_ui import CALL, out


@pytest.mark.requirement("S004-13")
def test_the_types_of_the_shapes_are_a_layer_of_their_own() -> None:
    def keys(shape: Any) -> set[str]:
        return set(typing.get_type_hints(shape))

    whole = out(Message(Role.ASSISTANT, (TextBlock("a"), CALL), name="n"))
    assert whole.keys() <= keys(openai_shapes.MessageParam)
    assert whole["tool_calls"][0].keys() == keys(openai_shapes.ToolCall)
    assert whole["tool_calls"][0]["function"].keys() == keys(openai_shapes.Function)
    assert openai_ui.usage_to_openai(Usage(1, 2, 3)).keys() == keys(openai_shapes.UsageParam)
    done = openai_ui.write_request_completed(Message.assistant("a")).wire
    assert done.keys() == keys(openai_shapes.RequestCompleted)
    assert done["message"].keys() == keys(openai_shapes.Answer)


@pytest.mark.requirement("S004-13")
def test_the_wire_has_types_of_its_own_which_only_the_edge_uses() -> None:
    names = (
        "MessageParam",
        "ChatCompletionMessage",
        "Request",
        "ChatCompletion",
        "CompletionUsage",
    )
    assert all(hasattr(openai_shapes, name) for name in names)
    completion: openai_shapes.ChatCompletion = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    }
    message = openai_ui.message_from_response(completion)
    assert message.metadata.usage is not None
    assert openai_ui.usage_to_openai(message.metadata.usage) == completion["usage"]
    assert not any(type(value) is dict for value in (message, *message.content))
