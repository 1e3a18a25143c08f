"""Tools: what they are, which may be called, and ids of calls."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.adapt.history.retell import retell
from interlingua.dialects.bedrock import DIALECT
from interlingua.dialects.kernel.calls import DEFAULT_SCHEMA
from interlingua.model.blocks import Cache, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Options, Request, ToolChoice
from interlingua.model.message import Message
from interlingua.model.tools import SideEffects, ToolDefinition
from tests.dialects.bedrock.wires import (
    CALL,
    MODEL,
    POINT,
    SCHEMA,
    SPEC,
    assistant,
    body,
    losses,
    read,
    result,
    user,
    write,
)

TOOL = ToolDefinition("get_weather", "Tells it.", SCHEMA)
USE = ToolUseBlock("tooluse_1", "get_weather", {"city": "Oslo"})


def test_tools_and_choice_are_fields() -> None:
    config = {"tools": [{"toolSpec": {**SPEC, "strict": True}}, POINT], "toolChoice": {"any": {}}}
    request = read(body(toolConfig=config))
    assert request.tools == (TOOL.replace(strict=True, cache=Cache()),)
    assert request.options.tool_choice == ToolChoice("any")


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        (ToolChoice("auto"), {"auto": {}}),
        (ToolChoice("any"), {"any": {}}),
        (ToolChoice("any", ("get_weather",)), {"tool": {"name": "get_weather"}}),
    ],
)
def test_each_choice_has_its_word(choice: ToolChoice, wire: Any) -> None:
    content, report = write(Message.user("Hi"), tools=(TOOL,), options=Options(tool_choice=choice))
    assert content["toolConfig"]["toolChoice"] == wire
    assert not report.entries
    assert read(content).options.tool_choice == choice


def test_no_tool_and_some_tools_cannot_be_chosen() -> None:
    none = Options(tool_choice=ToolChoice("none"))
    assert losses(write(tools=(TOOL,), options=none)[1]) == [("dropped", "$.options.tool_choice")]
    some = Options(tool_choice=ToolChoice("any", ("a", "b")))
    wire, report = write(tools=(TOOL,), options=some)
    assert wire["toolConfig"]["toolChoice"] == {"any": {}}
    assert losses(report) == [("dropped", "$.options.tool_choice.names")]


def test_a_tool_of_the_service_is_run_by_the_provider() -> None:
    tools = {"tools": [{"systemTool": {"name": "nova_grounding"}}, {"futureTool": {"name": "f"}}]}
    first, second = read(body(toolConfig=tools)).tools
    assert (first.name, first.executor, first.kind) == ("nova_grounding", "provider", "systemTool")
    assert second.kind == "futureTool"


def test_a_tool_without_a_schema_gets_one_and_free_text_becomes_an_object() -> None:
    custom = ToolDefinition("patch", kind="custom", side_effects=SideEffects.WRITE)
    wire, report = write(Message.user("Hi"), tools=(ToolDefinition("now"), custom))
    first, second = wire["toolConfig"]["tools"]
    assert first["toolSpec"]["inputSchema"]["json"] == DEFAULT_SCHEMA
    assert second["toolSpec"]["inputSchema"]["json"]["required"] == ["input"]
    assert losses(report) == [
        ("downgraded", "$.tools[1].kind"),
        ("dropped", "$.tools[1].side_effects"),
    ]


def test_history_with_calls_always_has_tools() -> None:
    wire, report = write(Message.assistant([USE]), Message.tool_result("tooluse_1", "12"))
    assert wire["toolConfig"]["tools"] == [
        {"toolSpec": {"name": "get_weather", "inputSchema": {"json": DEFAULT_SCHEMA}}}
    ]
    assert losses(report) == [("approximated", "$.tools")]
    lone = Message.of_result(ToolResultBlock("tooluse_1", (TextBlock("12"),)))
    assert write(lone)[0]["toolConfig"]["tools"][0]["toolSpec"]["name"] == "tool"


def test_a_wire_that_had_calls_and_no_tools_goes_home_without() -> None:
    assert read(body(assistant(CALL), user(result()))).tools == ()
    read(body(assistant(CALL), user(result()), toolConfig={"tools": []}))
    read(body(toolConfig={"toolChoice": {"auto": {}}}))


@pytest.mark.requirement("P13", "P15")
def test_foreign_ids_are_made_legal_for_call_and_result_alike() -> None:
    long = "x" * 80
    history = (
        Message.assistant([ToolUseBlock("functions.get:0|", "get_weather", {})]),
        Message.tool_result("functions.get:0|", "12"),
        Message.assistant([ToolUseBlock(long, "get_weather", {})]),
        Message.tool_result(long, "13"),
    )
    outcome = retell(Request(history, MODEL, (TOOL,)), DIALECT)
    turns = DIALECT.write_request(outcome.value, outcome.recorder).wire["messages"]
    ids = [next(iter(turn["content"][0].values()))["toolUseId"] for turn in turns]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert all(DIALECT.traits.ids.legal(id) for id in ids)
