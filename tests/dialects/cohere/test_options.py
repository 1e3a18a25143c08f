"""Options and tools."""

from __future__ import annotations

import interlingua as il
from interlingua.dialects.cohere import DIALECT


def test_one_strict_tool_among_others_is_told_as_lost() -> None:
    tools = (il.ToolDefinition("a", strict=True), il.ToolDefinition("b"))
    written = DIALECT.write_request(il.Request((il.Message.user("x"),), "m", tools))
    assert "strict_tools" not in written.wire
    assert [loss.path for loss in written.report.entries] == ["$.tools[0].strict"]


def test_no_tool_can_be_named() -> None:
    options = il.Options(tool_choice=il.ToolChoice("any", ("weather",)))
    written = DIALECT.write_request(il.Request((il.Message.user("x"),), "m", options=options))
    assert written.wire["tool_choice"] == "REQUIRED"
    assert [loss.path for loss in written.report.entries] == ["$.options.tool_choice.names"]
