"""Tools that may not be called are not offered where the target cannot forbid the calls."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.model.exchange import Options, Request, ToolChoice
from interlingua.model.tools import ToolDefinition

TOOLS = tuple(ToolDefinition(name, "looks", {"type": "object", "properties": {}}) for name in "fgh")
NONE = ToolChoice("none")


def retold(target: str, choice: ToolChoice, *messages: il.Message) -> il.Adapted:
    options = Options(tool_choice=choice)
    return il.retell(Request(messages or (il.Message.user("hi"),), "m", TOOLS, options), target)


@pytest.mark.parametrize(
    ("target", "choice", "names", "left"),
    [
        ("ollama", NONE, "", None),
        ("bedrock", NONE, "", None),
        ("anthropic", NONE, "fgh", NONE),
        ("openai-chat", NONE, "fgh", NONE),
        ("ollama", ToolChoice("any", ("f",)), "f", ToolChoice("any")),
        ("cohere", ToolChoice("any", ("f",)), "f", ToolChoice("any")),
        ("bedrock", ToolChoice("any", ("f",)), "fgh", ToolChoice("any", ("f",))),
        ("bedrock", ToolChoice("any", ("f", "h")), "fh", ToolChoice("any")),
        ("anthropic", ToolChoice("auto", ("f", "h")), "fh", ToolChoice("auto")),
        ("openrouter", ToolChoice("auto", ("f",)), "f", ToolChoice("auto")),
        ("gemini", ToolChoice("any", ("f", "h")), "fgh", ToolChoice("any", ("f", "h"))),
        ("ollama", ToolChoice("auto"), "fgh", ToolChoice("auto")),
        ("ollama", ToolChoice("any", ("unknown",)), "fgh", ToolChoice("any", ("unknown",))),
    ],
)
def test_forbidden_tools_are_left_out(
    target: str, choice: ToolChoice, names: str, left: ToolChoice | None
) -> None:
    done = retold(target, choice)
    assert "".join([tool.name for tool in done.value.tools]) == names
    assert done.value.options.tool_choice == left
    lost = [loss.path for loss in done.report if loss.kind == "dropped"]
    assert lost == [f"$.tools[{at}]" for at, name in enumerate("fgh") if name not in names]
    moved = [loss.path.removesuffix(".names") for loss in done.report if loss.kind == "moved"]
    assert moved == (["$.options.tool_choice"] if lost else [])


def test_bedrock_has_the_tools_that_its_history_needs() -> None:
    call = il.Message.assistant([il.ToolUseBlock("call_1", "f", {})])
    history = (il.Message.user("hi"), call, il.Message.tool_result("call_1", "done"))
    assert retold("bedrock", NONE, *history).value.tools == TOOLS
    assert retold("ollama", NONE, *history).value.tools == ()
