"""The unified client's messages: parts told apart by `kind`, and where each role goes."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import interlingua as il
from interlingua.views import parts
from interlingua.views.parts import (
    ContentKind,
    ContentPart,
    ImageData,
    PartsMessage,
    ThinkingData,
    ToolCallData,
    ToolResultData,
)

requirement = pytest.mark.requirement

PNG = b"\x89PNG\r\n"
INLINE = base64.b64encode(PNG).decode()


def wire(dialect: str, model: str, *messages: il.Message) -> Any:
    result = il.retell(il.Request(messages, model), dialect, model)
    return il.dialect(dialect).write_request(result.value).wire


@requirement("S001-19", "S001-3")
def test_a_message_from_a_string_has_one_text() -> None:
    message = il.Message.user("What is 2 + 2?")
    assert (message.role, message.text) == (il.Role.USER, "What is 2 + 2?")
    assert [block.type for block in message.content] == ["text"]


@requirement("S001-20", "S001-13")
def test_a_message_from_parts() -> None:
    message = il.Message.user(
        [
            ContentPart(kind=ContentKind.TEXT, text="What do you see?"),
            ContentPart(
                kind=ContentKind.IMAGE, image=ImageData(url="https://example.com/photo.jpg")
            ),
        ]
    )
    text, image = message.content
    assert isinstance(text, il.TextBlock)
    assert isinstance(image, il.ImageBlock)
    assert (image.source.kind, image.source.data) == ("url", "https://example.com/photo.jpg")


@requirement("S001-14")
def test_an_inline_image_in_each_providers_spelling() -> None:
    image = ContentPart(kind=ContentKind.IMAGE, image=ImageData(data=PNG, media_type="image/png"))
    message = il.Message.user([image])
    chat = wire("openai-chat", "gpt-5", message)["messages"][0]["content"][0]
    assert chat["image_url"]["url"] == f"data:image/png;base64,{INLINE}"
    claude = wire("anthropic", "claude-sonnet-4-6", message)["messages"][0]["content"][0]
    assert claude["source"] == {"type": "base64", "media_type": "image/png", "data": INLINE}
    gemini = wire("gemini", "gemini-2.5-pro", message)["contents"][0]["parts"][0]
    assert gemini["inlineData"] == {"mimeType": "image/png", "data": INLINE}


def conversation() -> tuple[il.Message, ...]:
    call = ContentPart(
        kind=ContentKind.TOOL_CALL, tool_call=ToolCallData("call_1", "add", {"a": 2})
    )
    thinking = ContentPart(kind=ContentKind.THINKING, thinking=ThinkingData("Sum.", "c2ln"))
    result = ContentPart(
        kind=ContentKind.TOOL_RESULT, tool_result=ToolResultData("call_1", "4", False)
    )
    parts = [
        {"role": "SYSTEM", "content": [{"kind": "TEXT", "text": "Be brief."}]},
        {"role": "DEVELOPER", "content": [{"kind": "TEXT", "text": "Use tools."}]},
        {"role": "USER", "content": [{"kind": "TEXT", "text": "2 + 2?"}]},
        {"role": "ASSISTANT", "content": [thinking.plain(), call.plain()]},
        {"role": "TOOL", "content": [result.plain()], "tool_call_id": "call_1"},
    ]
    canonical = il.convert(parts, "parts", "canonical").json()
    return il.loads(canonical, il.Request).messages


@requirement("S001-4", "S001-6", "S001-5")
def test_where_each_role_goes_at_openai() -> None:
    body = wire("openai-responses", "gpt-5", *conversation())
    assert body["instructions"] == "Be brief."
    kinds = [(item.get("role"), item.get("type", "message")) for item in body["input"]]
    assert kinds == [
        ("developer", "message"),
        ("user", "message"),
        (None, "function_call"),
        (None, "function_call_output"),
    ]
    chat = wire("openai-chat", "gpt-5", *conversation())["messages"]
    assert [m["role"] for m in chat] == ["system", "developer", "user", "assistant", "tool"]


@requirement("S001-7", "S001-9", "S001-18")
def test_where_each_role_goes_at_anthropic() -> None:
    body = wire("anthropic", "claude-sonnet-4-6", *conversation())
    assert [part["text"] for part in body["system"]] == ["Be brief.", "Use tools."]
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    thinking = body["messages"][1]["content"][0]
    assert (thinking["thinking"], thinking["signature"]) == ("Sum.", "c2ln")
    assert body["messages"][2]["content"][0]["type"] == "tool_result"


@requirement("S001-8")
def test_where_each_role_goes_at_gemini() -> None:
    body = wire("gemini", "gemini-2.5-pro", *conversation())
    texts = [part["text"] for part in body["systemInstruction"]["parts"]]
    assert texts == ["Be brief.", "Use tools."]
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert "functionResponse" in body["contents"][2]["parts"][0]
    assert "c2ln" not in str(body)


@requirement("S001-10", "S001-11", "S001-12")
def test_every_kind_goes_there_and_back() -> None:
    parts = [
        {"kind": "TEXT", "text": "a"},
        {"kind": "THINKING", "thinking": {"text": "b", "signature": "s"}},
        {"kind": "REDACTED_THINKING", "thinking": {"text": "sealed"}},
        {"kind": "TOOL_CALL", "tool_call": {"id": "c", "name": "f", "arguments": {"x": 1}}},
    ]
    media = [
        {"kind": "IMAGE", "image": {"url": "https://example.com/a.png"}},
        {"kind": "AUDIO", "audio": {"data": "aGk=", "media_type": "audio/wav"}},
        {"kind": "DOCUMENT", "document": {"url": "https://example.com/a.pdf"}},
    ]
    result = {"tool_call_id": "c", "content": "d", "is_error": True}
    messages = [
        {"role": "USER", "content": media},
        {"role": "ASSISTANT", "content": parts},
        {
            "role": "TOOL",
            "content": [{"kind": "TOOL_RESULT", "tool_result": result}],
            "tool_call_id": "c",
        },
    ]
    canonical = il.convert(messages, "parts", "canonical").wire
    kinds = [block["type"] for message in canonical["messages"] for block in message["content"]]
    assert kinds == [
        *("image", "audio", "document", "text", "thinking", "redacted_thinking", "tool_use"),
        "tool_result",
    ]
    assert il.convert(canonical, "canonical", "parts").wire == messages


@requirement("S001-1", "S001-10", "S001-16")
def test_messages_are_read_back_in_the_words_of_the_document() -> None:
    image = ContentPart(kind=ContentKind.IMAGE, image=ImageData(url="https://example.com/a.jpg"))
    text = ContentPart(kind=ContentKind.TEXT, text="Look.")
    content = PartsMessage.of(il.Message.user([text, image]))
    assert (content.role, content.text) == ("USER", "Look.")
    assert [part.kind for part in content.content] == [ContentKind.TEXT, ContentKind.IMAGE]
    assert content.content[1].image is not None
    assert content.content[1].image.url == "https://example.com/a.jpg"
    result = PartsMessage.of(il.Message.tool_result(tool_call_id="call_1", content="4"))
    assert result.tool_call_id == "call_1"
    assert result.content[0].tool_result == ToolResultData("call_1", "4", False)


def test_kinds_are_constants_or_their_words() -> None:
    text = parts.ContentPart(kind=parts.TEXT, text="What do you see?")
    image = parts.ContentPart(kind="image", image=parts.ImageData(url="https://example.com/a.png"))  # type: ignore[arg-type]
    message = il.Message.user([text, image])
    assert [part.kind for part in parts.PartsMessage.of(message).content] == [
        parts.TEXT,
        parts.IMAGE,
    ]
    with pytest.raises(ValueError, match=r"kind is one of TEXT, IMAGE, .*; found 'txt'"):
        parts.ContentPart(kind="txt")  # type: ignore[arg-type]
