"""Requests of OpenRouter, where they differ from those of Chat Completions."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT as CHAT
from interlingua.dialects.openrouter import DIALECT
from interlingua.model.blocks import (
    AudioBlock,
    Cache,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.message import Changes, Message, Role
from tests.dialects.openai_chat.wires import (
    CALL,
    PDF,
    PNG,
    SCHEMA,
    assistant,
    body,
    image,
    losses,
    made,
    result,
    text,
    user,
)
from tests.dialects.openrouter.wires import FORMAT, TEXT, read, write

MARK = {"type": "ephemeral"}


# Thinking


@pytest.mark.requirement("P8")
def test_reasoning_details_return_with_their_call() -> None:
    details = [
        TEXT,
        {
            "type": "reasoning.summary",
            "summary": "So.",
            "format": "openai-responses-v1",
            "index": 1,
        },
        {
            "type": "reasoning.encrypted",
            "data": "Zm9v",
            "id": "call_1",
            "format": "google-gemini-v1",
        },
    ]
    (message,) = read(body(assistant(None, reasoning_details=details, tool_calls=[CALL]))).messages
    assert message.content[:3] == (
        ThinkingBlock("Hm.", "EqQB"),
        ThinkingBlock("So."),
        RedactedThinkingBlock("Zm9v"),
    )
    assert message.content[2].raw["openrouter"]["id"] == "call_1"  # type: ignore[index]
    assert message.metadata.protocol == "openrouter"


def test_the_format_is_kept_with_each_block() -> None:
    (message,) = read(body(assistant("Hi", reasoning_details=[TEXT]))).messages
    assert message.content[0].raw["openrouter"]["format"] == FORMAT  # type: ignore[index]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning.text"},
        {"type": "reasoning.text", "text": None, "signature": "s", "id": None, "format": None},
        {"type": "reasoning.text", "text": "Hm.", "index": 4},
        {"type": "reasoning.encrypted", "data": "Zm9v"},
        {"type": "reasoning.mystery", "a": 1},
    ],
)
def test_details_of_every_shape_go_home(item: dict[str, Any]) -> None:
    (message,) = read(body(assistant("Hi", reasoning_details=[item]))).messages
    assert isinstance(message.content[0], UnknownBlock) is (item["type"] == "reasoning.mystery")


@pytest.mark.parametrize(
    "keys", [{"reasoning": "Hm."}, {"reasoning": "Hm.", "reasoning_details": [TEXT]}]
)
def test_a_string_that_repeats_the_details_is_no_second_block(keys: dict[str, Any]) -> None:
    (message,) = read(body(assistant("Hi", **keys))).messages
    assert message.reasoning == "Hm."


@pytest.mark.parametrize(
    ("protocol", "format"),
    [
        ("anthropic", "anthropic-claude-v1"),
        ("bedrock", "anthropic-claude-v1"),
        ("gemini", "google-gemini-v1"),
        ("openai-responses", "openai-responses-v1"),
        ("ollama", "unknown"),
    ],
)
@pytest.mark.requirement("P5", "P43")
def test_thinking_from_elsewhere_carries_the_format_of_its_issuer(
    protocol: str, format: str
) -> None:
    message = made(ThinkingBlock("Hm.", "s"), RedactedThinkingBlock("Zm9v"), protocol=protocol)
    wire, report = write(message)
    assert wire["messages"][0]["reasoning_details"] == [
        {"type": "reasoning.text", "text": "Hm.", "signature": "s", "format": format, "index": 0},
        {"type": "reasoning.encrypted", "data": "Zm9v", "format": format, "index": 1},
    ]
    assert not report.entries


@pytest.mark.requirement("P40")
def test_a_tool_that_openrouter_ran_is_a_call_and_its_result() -> None:
    ran = {
        "type": "reasoning.server_tool_call",
        "tool_name": "openrouter:web_search",
        "arguments": '{"query":"x"}',
        "result": "Found.",
        "tool_call_id": "srv_1",
        "index": 1,
    }
    (message,) = read(body(assistant("So.", reasoning_details=[TEXT, ran]))).messages
    _, call, found, _ = message.content
    assert isinstance(call, ToolUseBlock)
    assert (call.id, call.executor, call.input) == ("srv_1", "provider", {"query": "x"})
    assert found == ToolResultBlock("srv_1", (TextBlock("Found."),))


# Media


@pytest.mark.requirement("P34")
def test_results_may_hold_media() -> None:
    blocks = (
        TextBlock("seen"),
        ImageBlock(Source("base64", PNG), "image/png"),
        AudioBlock(Source("base64", "AA=="), "audio/flac"),
        VideoBlock(Source("url", "https://example.com/a.mp4")),
        DocumentBlock(Source("base64", PDF), "application/pdf", name="a.pdf"),
    )
    wire, report = write(Message.of_result(ToolResultBlock("call_1", blocks)))
    kinds = [part["type"] for part in wire["messages"][0]["content"]]
    assert kinds == ["text", "image_url", "input_audio", "video_url", "file"]
    assert not report.entries
    (again,) = read(wire).messages[0].content
    assert again == ToolResultBlock("call_1", blocks)


def test_video_and_files_by_url() -> None:
    parts = [
        {
            "type": "video_url",
            "video_url": {"url": "https://example.com/a", "processing": "static"},
        },
        {"type": "input_video", "video_url": {"url": "data:video/mp4;base64,AA=="}},
        {"type": "file", "file": {"file_data": "https://example.com/a.pdf", "filename": "a.pdf"}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "aiff"}},
    ]
    kinds = [type(block) for block in read(body(user(parts))).messages[0].content]
    assert kinds == [VideoBlock, VideoBlock, DocumentBlock, AudioBlock]


def test_pictures_that_a_model_made() -> None:
    (message,) = read(body(assistant("Here.", images=[image()]))).messages
    picture = ImageBlock(Source("base64", PNG), "image/png")
    assert message.content == (TextBlock("Here."), picture)
    wire, report = write(made("Here.", picture))
    assert wire["messages"] == [assistant("Here.", images=[image()])]
    assert not report.entries


@pytest.mark.parametrize("more", [{}, {"index": 3}])
def test_an_image_as_the_sdk_sends_it_has_no_type(more: Any) -> None:
    untyped = {**{key: item for key, item in image().items() if key != "type"}, **more}
    wire = body(assistant("Here.", images=[untyped]))
    (message,) = read(wire).messages
    (typed,) = read(body(assistant("Here.", images=[image()]))).messages
    assert message.content == typed.content
    assert DIALECT.write_request(read(wire)).wire == wire
    for odd in ({"image_url": 3}, {"image_url": None}, {}):
        wire = body(assistant("Here.", images=[odd]))
        assert isinstance(read(wire).messages[0].content[-1], UnknownBlock)
        assert DIALECT.write_request(read(wire)).wire == wire


# Cache marks


@pytest.mark.requirement("P38")
def test_marks_on_parts_tools_and_the_body() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
    wire = body(
        {"role": "system", "content": [text("Be brief.", cache_control={**MARK, "ttl": "1h"})]},
        user([image() | {"cache_control": MARK}]),
        tools=[{**tool, "cache_control": MARK}],
        cache_control=MARK,
    )
    request = read(wire)
    assert request.messages[0].content == (TextBlock("Be brief.", cache=Cache("1h")),)
    assert (request.tools[0].cache, request.options.cache) == (Cache(), Cache())
    bare = request.replace(raw=None, tools=(request.tools[0].replace(raw=None),))
    written, report = write(*bare.messages, tools=bare.tools, options=bare.options)
    assert written == {**wire, "model": "openai/gpt-5"}
    assert not report.entries


def test_marks_in_openais_spelling_go_home() -> None:
    read(body(user([text("a", prompt_cache_breakpoint={"mode": "explicit"})])))


# Options and tools


def test_a_neighbours_spelling_is_not_taken_for_ones_own() -> None:
    request = CHAT.read_request(body(user(), max_tokens=9, store=True))
    wire, report = write(*request.messages, options=request.options)
    assert wire["max_tokens"] == 9
    assert not report.entries
    assert Role.USER in [message.role for message in read(wire).messages]


def test_a_failed_result_is_marked() -> None:
    wire, report = write(Message.tool_result("call_1", "boom", is_error=True))
    assert wire["messages"] == [result("[tool error] boom")]
    assert losses(report) == [("downgraded", "$.messages[0].content[0].is_error")]


def test_the_effort_from_a_message_on_is_a_change() -> None:
    update = {"configuration_update": {"reasoning": {"effort": "low"}}}
    odd = {"configuration_update": {"reasoning": {"effort": "low"}, "pace": 1}}
    turns = [user(), {"role": "system", "content": "", **update}, user()]
    request = read(body(*turns))
    assert request.messages[1] == Message(Role.SYSTEM, changes=Changes(effort="low"))
    assert read(body(user(), {"role": "system", "content": "a", **odd})).messages[1].changes is None
    both = request.messages[1].replace(changes=Changes(("f",), effort="high"))
    written = DIALECT.write_request(request.replace(messages=(both,)))
    high = {"configuration_update": {"reasoning": {"effort": "high"}}}
    assert written.wire["messages"] == [{"role": "system", "content": "", **high}]
    assert [loss.path for loss in written.report.entries] == ["$.messages[0].changes.tools_added"]
