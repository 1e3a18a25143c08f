"""Rewriting of instructions, labels, images and tools for the target."""

from __future__ import annotations

from typing import Any

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
    lost = [loss.path for loss in done.report.entries if loss.kind == "dropped"]
    assert lost == [f"$.tools[{at}]" for at, name in enumerate("fgh") if name not in names]
    moved = [
        loss.path.removesuffix(".names") for loss in done.report.entries if loss.kind == "moved"
    ]
    assert moved == (["$.options.tool_choice"] if lost else [])


def test_bedrock_has_the_tools_that_its_history_needs() -> None:
    call = il.Message.assistant([il.ToolUseBlock("call_1", "f", {})])
    history = (il.Message.user("hi"), call, il.Message.tool_result("call_1", "done"))
    assert retold("bedrock", NONE, *history).value.tools == TOOLS
    assert retold("ollama", NONE, *history).value.tools == ()


SCHEMA: dict[str, Any] = {
    "type": "OBJECT",
    "properties": {"propertyOrdering": {"type": "STRING"}},
    "propertyOrdering": ["propertyOrdering"],
}

WIRE: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}],
    "generationConfig": {"responseMimeType": "application/json", "responseSchema": SCHEMA},
}


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "openai-responses"])
def test_it_is_left_out_elsewhere_with_a_note(target: str) -> None:
    done = il.convert(WIRE, "gemini", target, model="m")
    request = il.dialect(target).read_request(done.wire)
    plain = {"type": "object", "properties": {"propertyOrdering": {"type": "string"}}}
    assert request.tools[0].input_schema == plain
    assert request.options.response_format is not None
    assert request.options.response_format.schema == plain
    lost = [loss for loss in done.report.entries if "propertyOrdering" in loss.reason]
    assert [loss.severity for loss in lost] == ["info", "info"]


def test_it_goes_home() -> None:
    gemini = il.dialect("gemini")
    assert gemini.write_request(gemini.read_request(WIRE)).wire == WIRE


def converted(**body: Any) -> il.Converted:
    wire = {"model": "gpt-4o", "input": "hi", "metadata": {"team": "x"}, **body}
    return il.convert(wire, "openai-responses", "openai-chat")


def test_chat_has_metadata_of_answers_that_are_stored() -> None:
    done = converted(store=True)
    assert done.wire["metadata"] == {"team": "x"}
    assert done.wire["store"] is True
    assert not list(done.report.entries)


@pytest.mark.parametrize("body", [{}, {"store": False}])
def test_metadata_of_other_answers_is_reported_and_not_sent_to_chat(body: dict[str, bool]) -> None:
    done = converted(**body)
    assert "metadata" not in done.wire
    assert done.wire.get("store") is not True
    assert "$.options.metadata" in [loss.path for loss in done.report.entries]


def test_metadata_goes_home_to_chat_as_it_came() -> None:
    chat = il.dialect("openai-chat")
    wire = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "metadata": {"a": "b"}}
    assert chat.write_request(chat.read_request(wire)).wire == wire


@pytest.mark.parametrize(
    ("target", "budget", "most", "sent", "code"),
    [
        ("openai-chat", il.TaskBudget(5000), None, 5000, "budget_as_limit"),
        ("gemini", il.TaskBudget(5000, 100), None, 100, "budget_as_limit"),
        ("bedrock", il.TaskBudget(5000, 100), 50, 50, None),
        ("openai-responses", il.TaskBudget(5000, 0), None, None, None),
        ("anthropic", il.TaskBudget(5000), None, None, None),
    ],
)
def test_the_budget_of_a_task_limits_an_answer_that_nothing_else_limits(
    target: str, budget: il.TaskBudget, most: int | None, sent: int | None, code: str | None
) -> None:
    options = Options(task_budget=budget, max_output_tokens=most)
    done = il.retell(Request((il.Message.user("hi"),), "m", options=options), target)
    assert done.value.options.max_output_tokens == sent
    assert [loss.code for loss in done.report.losses] == ([] if code is None else [code])
    assert done.value.options.task_budget == (None if code else budget)
