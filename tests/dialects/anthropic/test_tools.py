"""Options and tools."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.anthropic import DIALECT
from interlingua.model.blocks import Cache
from interlingua.model.exchange import Request
from interlingua.model.tools import SideEffects, ToolDefinition
from tests.dialects.anthropic.wires import HELLO, SCHEMA, TOOL, body, losses, read, write


def test_a_tool_is_read_and_written() -> None:
    (tool,) = read(body(tools=[TOOL])).tools
    assert tool == ToolDefinition("get_weather", "Tells the weather.", SCHEMA)
    more = {"type": "custom", "strict": True, "defer_loading": False, "input_examples": [{}]}
    (tool,) = read(body(tools=[{**TOOL, **more, "cache_control": {"type": "ephemeral"}}])).tools
    assert (tool.kind, tool.strict, tool.deferred, tool.cache) == ("function", True, False, Cache())


@pytest.mark.parametrize(
    ("wire", "name", "executor"),
    [
        ({"type": "bash_20250124", "name": "bash"}, "bash", "client"),
        ({"type": "computer_20251124", "name": "computer", "display_width_px": 9}, None, "client"),
        ({"type": "browser_toolset_20260801"}, "browser_toolset_20260801", "client"),
        ({"type": "web_search_20260318", "name": "web_search", "max_uses": None}, None, "provider"),
        ({"type": "mcp_toolset", "mcp_server_name": "wiki"}, "wiki", "provider"),
        ({"type": "later_20300101", "name": "later"}, "later", "provider"),
    ],
)
def test_tools_that_anthropic_defines(
    wire: dict[str, Any], name: str | None, executor: str
) -> None:
    (tool,) = read(body(tools=[wire])).tools
    assert (tool.name, tool.kind, tool.executor) == (name or wire["name"], wire["type"], executor)


def test_a_free_text_tool_takes_an_object_that_holds_the_text() -> None:
    wire, report = write(HELLO, tools=(ToolDefinition("note", kind="custom"),))
    assert wire["tools"][0]["input_schema"]["properties"] == {"input": {"type": "string"}}
    assert losses(report) == [("downgraded", "$.tools[0].kind")]


def test_tools_of_other_services_are_losses() -> None:
    tool = ToolDefinition("web_search", executor="provider", kind="web_search")
    wire, report = write(HELLO, tools=(tool,))
    assert "tools" not in wire
    assert losses(report) == [("dropped", "$.tools[0]")]


def test_a_tool_without_a_schema_gets_an_empty_one() -> None:
    wire, report = write(HELLO, tools=(ToolDefinition("now", side_effects=SideEffects.READ),))
    assert wire["tools"] == [{"name": "now", "input_schema": {"type": "object", "properties": {}}}]
    assert losses(report) == [("dropped", "$.tools[0].side_effects")]
    read(body(tools=[{"name": "now", "input_schema": True}]))
    assert DIALECT.write_request(Request((HELLO,), "m")).wire.get("tools") is None
