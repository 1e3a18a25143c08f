"""Names and shapes that the source documents have, as they spell them."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

import interlingua as il
from interlingua.views import openai_shapes, view
from interlingua.views.flat import ClaudeExtra, Extra, GeminiExtra


def _flat(answer: dict[str, Any]) -> list[dict[str, Any]]:
    call = {"name": "f", "arguments": "{}", "id": "c1", "call_id": "k1"}
    return [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "done", **answer},
    ]


@pytest.mark.requirement("S000-13")
@pytest.mark.parametrize(
    "answer", [{"call_id": "c1"}, {"call_id": "k1"}, {"id": "c1"}, {"id": "k1"}]
)
def test_a_flat_result_answers_a_call_by_either_of_its_ids(answer: dict[str, Any]) -> None:
    plain = _flat(answer)
    messages = view("flat").read(plain)
    assert not il.validate(messages)
    assert messages[2].tool_call_id == messages[1].tool_calls[0].id
    assert view("flat").write(messages).wire == plain
    chat = il.convert(plain, "flat", "openai-chat").wire["messages"]
    assert chat[2]["role"] == "tool"
    assert chat[2]["tool_call_id"] == chat[1]["tool_calls"][0]["id"]


def test_an_id_that_two_flat_calls_share_belongs_to_the_one_whose_own_it_is() -> None:
    plain = _flat({"call_id": "c1"})
    plain[1]["tool_calls"].append({"name": "g", "arguments": "{}", "id": "c1"})
    messages = view("flat").read(plain)
    assert messages[2].tool_call_id == "c1"
    assert view("flat").write(messages).wire == plain


@pytest.mark.requirement("S000-28")
def test_the_extra_of_a_flat_message_has_types() -> None:
    assert set(get_type_hints(Extra)) == {"gemini", "claude"}
    assert "thought_signatures" in get_type_hints(GeminiExtra)
    assert "thinking_blocks" in get_type_hints(ClaudeExtra)


@pytest.mark.requirement("S001-1")
def test_a_tool_message_says_which_call_it_answers() -> None:
    message = il.Message.tool_result(tool_call_id="c1", content="4")
    assert message.tool_call_id == "c1"
    assert message == il.Message.tool_result("c1", "4")
    assert il.Message.user("Hi").tool_call_id is None
    with pytest.raises(TypeError, match="id of its call"):
        il.Message.tool_result()


@pytest.mark.requirement("S002-23")
@pytest.mark.parametrize("kind", ["base64", "file_ref"])
def test_media_without_its_type_is_reported_unless_the_address_tells_it(kind: Any) -> None:
    image = il.ImageBlock(il.Source(kind, "aGk="))
    (violation,) = il.validate(il.Message.user([image]))
    assert "media_type" in violation.problem
    assert not il.validate(il.Message.user([image.replace(media_type="image/png")]))
    assert not il.validate(il.Message.user([image.replace(name="a.png")]))
    assert not il.validate(il.Message.user([il.ImageBlock(il.Source("url", "https://a.b/c"))]))


@pytest.mark.requirement("S004-13")
def test_the_types_of_chat_completions_have_openai_s_names() -> None:
    assert openai_shapes.ChatCompletionMessageParam is openai_shapes.MessageParam
    assert openai_shapes.ChatCompletionMessageToolCall is openai_shapes.ToolCall
    fields = set(get_type_hints(openai_shapes.Request))
    assert fields >= {"tool_choice", "response_format", "stop", "seed", "stream_options", "top_p"}


@pytest.mark.requirement("S001-12")
@pytest.mark.parametrize("key", ["data", "text"])
def test_redacted_thinking_is_read_under_either_key_and_written_back(key: str) -> None:
    part = {"kind": "REDACTED_THINKING", "thinking": {key: "sealed"}}
    plain = [{"role": "ASSISTANT", "content": [part]}]
    messages = view("parts").read(plain)
    assert isinstance(messages[0].content[0], il.RedactedThinkingBlock)
    assert messages[0].content[0].data == "sealed"
    assert view("parts").write(messages).wire == plain


def _kind(message: il.Message) -> str:
    match message:
        case il.UserMessage():
            return "user"
        case il.AssistantMessage():
            return "assistant"
        case il.ToolMessage():
            return "tool"
    return "none of the three"


@pytest.mark.requirement("S003-2")
def test_messages_are_of_three_kinds_that_can_be_switched_over() -> None:
    made = [il.UserMessage("Hi"), il.AssistantMessage("Hello"), il.ToolMessage("c1", "4")]
    assert made == [
        il.Message.user("Hi"),
        il.Message.assistant("Hello"),
        il.Message.tool_result("c1", "4"),
    ]
    assert [_kind(message) for message in made] == ["user", "assistant", "tool"]
    assert _kind(il.Message.system("Be short.")) == "none of the three"
    with pytest.raises(TypeError, match="closed set"):
        type("OtherMessage", (il.UserMessage,), {})
