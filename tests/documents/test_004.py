"""Messages of a daemon and its page: chat-completion shapes, and the events that carry them."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.errors import ReadError
from interlingua.views import openai_ui

requirement = pytest.mark.requirement

CALL = {
    "id": "call_123",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{ "path": "README.md" }'},
}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "Write a unit test for foo()"},
    {"role": "assistant", "content": "Here is a test you can use..."},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Let me inspect the file first."}],
        "tool_calls": [CALL],
    },
    {"role": "tool", "content": "...tool output rendered as text...", "tool_call_id": "call_123"},
]


@requirement("S004-3", "S004-14")
@pytest.mark.parametrize("wire", MESSAGES, ids=lambda wire: wire["role"])
def test_every_message_goes_there_and_back(wire: dict[str, Any]) -> None:
    message = openai_ui.message_from_param(wire)
    assert openai_ui.message_to_param(message).wire == wire
    assert il.loads(il.dumps(message)) == message


@requirement("S004-7", "S004-10", "S004-8")
def test_messages_made_here_are_written_the_same_way() -> None:
    call, _ = openai_ui.tool_call_from_openai(CALL)
    made = [
        openai_ui.system_message("You are a helpful assistant."),
        openai_ui.user_message("Write a unit test for foo()"),
        openai_ui.assistant_message("Here is a test you can use..."),
        openai_ui.assistant_message("Let me inspect the file first.", [call]),
        openai_ui.tool_message("...tool output rendered as text...", "call_123"),
    ]
    assert [openai_ui.message_to_param(each).wire for each in made] == MESSAGES
    empty = {**CALL, "function": {"name": "now", "arguments": None}}
    assert openai_ui.tool_call_from_openai(empty)[0].input == {}


@requirement("S004-2")
def test_a_string_and_a_list_of_parts_say_the_same() -> None:
    listed = [{"type": "text", "text": "hi"}]
    for content in ("hi", listed, [{"text": "hi"}]):
        message = openai_ui.message_from_param({"role": "user", "content": content})
        assert message.text == "hi"


@requirement("S004-15")
def test_calls_and_their_ids_stand_where_they_belong() -> None:
    for wrong in (
        {"role": "user", "content": "x", "tool_calls": [CALL]},
        {"role": "assistant", "content": "x", "tool_call_id": "call_123"},
    ):
        with pytest.raises(ReadError):
            openai_ui.message_from_param(wrong)


@requirement("S004-12", "S004-9")
def test_usage_is_converted_in_both_directions() -> None:
    wire = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    usage = openai_ui.usage_from_openai(wire)
    assert usage is not None
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (6, 4, 2)
    assert openai_ui.usage_to_openai(usage) == wire
    unknown = openai_ui.usage_from_openai({"prompt_tokens": 10, "completion_tokens": 2})
    assert unknown is not None
    assert unknown.cached_input_tokens is None


@requirement("S004-5", "S004-17")
def test_the_events_of_the_page() -> None:
    message = openai_ui.message_from_param(MESSAGES[3])
    added = openai_ui.write_message_added(message).wire
    assert added == {"msg": "MessageAdded", "message": MESSAGES[3]}
    done = openai_ui.write_request_completed(message).wire
    assert done["msg"] == "RequestCompleted"
    assert done["usage"] is None
    assert done["message"]["content"] == "Let me inspect the file first."
    assert done["message"]["tool_calls"] == [CALL]
    counted = message.replace(metadata=message.metadata.replace(usage=il.Usage(1, 2)))
    (usage,) = openai_ui.write_request_completed(counted).wire["usage"]
    assert usage["total_tokens"] == 3
    queue = openai_ui.write_queue([("queued-message-id", message)]).wire
    assert queue == [{"id": "queued-message-id", "message": MESSAGES[3]}]
