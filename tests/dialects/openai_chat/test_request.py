"""Requests: messages, their content, and tool results."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT
from interlingua.errors import ReadError
from interlingua.model.blocks import Cache
from interlingua.model.exchange import Continues, Request
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from interlingua.model.tools import ToolDefinition
from tests.dialects.openai_chat.wires import (
    FUNCTION,
    SCHEMA,
    TOOL,
    assistant,
    body,
    first,
    image,
    losses,
    read,
    result,
    text,
    user,
    write,
)


def test_what_only_a_host_understands_is_kept_and_is_a_loss_elsewhere() -> None:
    message = first(assistant("Once", prefix=True))
    assert message.metadata.provider_raw == {"openai-chat": {"prefix": True}}
    other = message.replace(metadata=MessageMetadata(provider_raw={"gemini": {"a": 1}}))
    assert losses(write(other)[1]) == [("dropped", "$.messages[0].metadata.provider_raw.gemini.a")]


# Assistant messages


# Tool results


# Bodies


def test_history_that_another_provider_keeps_is_a_grave_loss() -> None:
    written = DIALECT.write_request(Request(continues=Continues("resp_1")))
    assert [loss.severity for loss in written.report.entries] == ["error"]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({}, "$.messages"),
        ({"messages": {}}, "$.messages"),
        (body("hi"), "$.messages[0]"),
        (body({"role": "robot"}), "$.messages[0].role"),
        (body({"role": []}), "$.messages[0].role"),
        (body(user(), user(5)), "$.messages[1].content"),
        (body(user([text("a"), 5])), "$.messages[0].content[1]"),
        (body(user([image(5)])), "$.messages[0].content[0].image_url.url"),  # type: ignore[arg-type]
        (body(user(name=5)), "$.messages[0].name"),
        (body(result(id=5)), "$.messages[0].tool_call_id"),  # type: ignore[arg-type]
        (body(assistant(tool_calls={"a": 1})), "$.messages[0].tool_calls"),
        (body(model=5), "$.model"),
        (body(stop=[1]), "$.stop[0]"),
        (body(tools=[{"type": "function"}]), "$.tools[0].function"),
    ],
)
def test_an_error_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path == path
    assert caught.value.what == "openai-chat request"


def test_a_function_tool() -> None:
    tool = ToolDefinition("get_weather", "Tells the weather.", SCHEMA, strict=True)
    strict = {"type": "function", "function": {**FUNCTION, "strict": True}}
    assert read(body(tools=[strict])).tools == (tool,)
    assert write(Message.user("a"), tools=(tool,))[0]["tools"] == [strict]


@pytest.mark.parametrize(
    "tool",
    [
        {"function": FUNCTION},
        {**TOOL, "type": None},
        {"type": "function", "function": {"name": "f", "description": None, "strict": None}},
        {"type": "function", "function": {"name": "f", "parameters": None}, "defer_loading": True},
        {**TOOL, "cache_control": {"type": "ephemeral"}},
        {"type": "custom", "custom": {"name": "f", "format": {"type": "text"}}},
        {"type": "browser_search"},
        {"type": "document_library", "library_ids": ["1"]},
    ],
)
def test_tools_of_every_shape_go_home(tool: dict[str, Any]) -> None:
    (read_tool,) = read(body(tools=[tool])).tools
    hosted = tool.get("type") in ("browser_search", "document_library")
    assert (read_tool.executor == "provider") is hosted


@pytest.mark.parametrize("tools", [[], None])
def test_no_tools_are_no_tools(tools: Any) -> None:
    assert read(body(tools=tools)).tools == ()


def test_tools_that_only_their_own_service_knows_are_dropped() -> None:
    hosted = ToolDefinition("web_search", executor="provider", kind="web_search_20250305")
    wire, report = write(Message.user("a"), tools=(hosted,))
    assert "tools" not in wire
    assert losses(report) == [("dropped", "$.tools[0]")]


def test_what_a_definition_cannot_say_is_reported() -> None:
    tool = ToolDefinition("f", input_schema=SCHEMA, deferred=True, cache=Cache())
    _, report = write(Message.user("a"), tools=(tool,))
    assert sorted(losses(report)) == [
        ("dropped", "$.tools[0].cache"),
        ("dropped", "$.tools[0].deferred"),
    ]
