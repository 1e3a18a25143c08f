"""What other tools keep or say nearly, row by row: nothing of it is dropped here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Targets

Said = Callable[[dict[str, Any]], Any]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
}
LOOK = il.ToolDefinition("look", "Looks.", {"type": "object", "properties": {}})
DOTTED = il.ToolDefinition("look.up now", "Looks.", {"type": "object", "properties": {}})
FORM = il.ResponseFormat("json_schema", "answer", SCHEMA)
MARKED = [il.TextBlock("x" * 9000, cache=il.Cache()) for _ in range(6)]
LATER = (
    il.Message.user("hi"),
    il.Message.assistant("ho"),
    il.Message.user("and?"),
    il.Message.system("Be brief."),
)


def marks(wire: Any) -> int:
    return str(wire).count("cache_control")


ROWS: dict[str, tuple[str, str, dict[str, Any], Said, Any]] = {
    "sampling where it is taken": (
        "anthropic",
        "anthropic:claude-opus-4-6",
        {"options": il.Options(temperature=0.5, max_output_tokens=99)},
        lambda wire: wire["temperature"],
        0.5,
    ),
    "an effort for a model that thinks on a budget": (
        "anthropic",
        "anthropic:claude-sonnet-4-5",
        {"options": il.Options(reasoning=il.Reasoning("high"))},
        lambda wire: wire["thinking"],
        {"type": "enabled", "budget_tokens": 16384},
    ),
    "no thinking where that cannot be": (
        "anthropic",
        "anthropic:claude-sonnet-5-5",
        {"options": il.Options(reasoning=il.Reasoning(mode="off"))},
        lambda wire: wire["thinking"]["type"],
        "between_tools",
    ),
    "an effort that the model does not have": (
        "openai-responses",
        "openai:gpt-5",
        {"options": il.Options(reasoning=il.Reasoning("max"))},
        lambda wire: wire["reasoning"]["effort"],
        "high",
    ),
    "a budget for a model that knows efforts": (
        "openai-responses",
        "openai:gpt-5",
        {"options": il.Options(reasoning=il.Reasoning(budget_tokens=8192))},
        lambda wire: wire["reasoning"]["effort"],
        "medium",
    ),
    "an effort for Gemini 2.5": (
        "gemini",
        "gemini:gemini-2.5-pro",
        {"options": il.Options(reasoning=il.Reasoning("low"))},
        lambda wire: wire["generationConfig"]["thinkingConfig"]["thinkingBudget"],
        2048,
    ),
    "an effort for Gemini 3": (
        "gemini",
        "gemini:gemini-3.8-flash",
        {"options": il.Options(reasoning=il.Reasoning("xhigh"))},
        lambda wire: wire["generationConfig"]["thinkingConfig"]["thinkingLevel"],
        "HIGH",
    ),
    "a forced tool that is refused": (
        "anthropic",
        "anthropic:claude-opus-5-5",
        {"tools": (LOOK,), "options": il.Options(tool_choice=il.ToolChoice("any"))},
        lambda wire: wire["tool_choice"]["type"],
        "auto",
    ),
    "instructions in mid-conversation": (
        "anthropic",
        "anthropic:claude-opus-4-6",
        {"messages": LATER},
        lambda wire: wire["messages"][-1]["content"][-1]["text"],
        "[system] Be brief.",
    ),
    "a schema, where there is none for answers": (
        "anthropic",
        "anthropic:claude-sonnet-4-20250514",
        {"options": il.Options(response_format=FORM)},
        lambda wire: wire["tool_choice"],
        {"type": "tool", "name": "answer"},
    ),
    "constraints of a schema that are not taken": (
        "anthropic",
        "anthropic:claude-opus-4-8",
        {"options": il.Options(response_format=FORM)},
        lambda wire: wire["output_config"]["format"]["schema"]["properties"]["n"]["description"],
        "minimum: 1",
    ),
    "no limit, where one has to be": (
        "anthropic",
        "anthropic:claude-sonnet-4-5",
        {},
        lambda wire: wire["max_tokens"],
        21_333,
    ),
    "a limit that is too high": (
        "openai-chat",
        "openai:gpt-4o",
        {"options": il.Options(max_output_tokens=100_000)},
        lambda wire: wire["max_completion_tokens"],
        16_384,
    ),
    "more cache marks than are taken": (
        "anthropic",
        "anthropic:claude-opus-4-8",
        {"messages": (il.Message.user(MARKED),)},
        marks,
        4,
    ),
    "the name of a tool": (
        "openai-chat",
        "openai:gpt-4o",
        {"tools": (DOTTED,)},
        lambda wire: " " in wire["tools"][0]["function"]["name"],
        False,
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_it_is_kept_or_said_nearly(row: str) -> None:
    target, model, asked, content, expected = ROWS[row]
    request = il.Request(**{"messages": (il.Message.user("hi"),), **asked})
    written = il.convert(il.dumps(request), "canonical", target, model=model)
    assert content(written.wire) == expected


@pytest.mark.parametrize("name", ["gpt-5.4", "gpt-5.6-terra", "gpt-6-sol", "gpt-6.1-sol"])
def test_functions_of_newer_models_of_openai_go_to_responses(name: str) -> None:
    targets = Targets(environ={}, keys={"openai": "k"})
    request = il.Request((il.Message.user("hi"),), tools=(LOOK,))
    assert targets.for_request(targets.find(f"openai:{name}"), request).dialect.name == (
        "openai-responses"
    )
