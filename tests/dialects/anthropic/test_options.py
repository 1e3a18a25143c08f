"""Options and tools."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.anthropic import DIALECT
from interlingua.dialects.anthropic.request import betas_of
from interlingua.dialects.anthropic.tables import DEFAULT_MAX_TOKENS
from interlingua.model.blocks import Cache
from interlingua.model.exchange import (
    Options,
    Reasoning,
    ResponseFormat,
    TaskBudget,
    ToolChoice,
)
from tests.dialects.anthropic.wires import HELLO, SCHEMA, body, losses, read, write


def options(**wire: Any) -> Options:
    return read(body(**wire)).options.replace(max_output_tokens=None)


def written(**fields: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What options come to on the wire, beside model, messages and limit; and what was lost."""
    wire, report = write(HELLO, options=Options(max_output_tokens=1, **fields))
    known = ("model", "messages", "max_tokens")
    return {k: v for k, v in wire.items() if k not in known}, losses(report)


FORMAT = {"type": "json_schema", "schema": SCHEMA}

BOTH_WAYS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"stream": True}, {"stream": True}),
    ({"stop_sequences": ["a"]}, {"stop": ("a",)}),
    ({"stop_sequences": []}, {"stop": ()}),
    ({"metadata": {"user_id": "u"}}, {"user": "u"}),
    ({"service_tier": "auto"}, {"service_tier": "auto"}),
    ({"service_tier": "standard_only"}, {"service_tier": "default"}),
    ({"cache_control": {"type": "ephemeral", "ttl": "1h"}}, {"cache": Cache("1h")}),
    ({"tool_choice": {"type": "any"}}, {"tool_choice": ToolChoice("any")}),
    ({"tool_choice": {"type": "none"}}, {"tool_choice": ToolChoice("none")}),
    ({"tool_choice": {"type": "tool", "name": "f"}}, {"tool_choice": ToolChoice("any", ("f",))}),
    (
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        {"tool_choice": ToolChoice(), "parallel_tool_calls": False},
    ),
    ({"output_config": {"effort": "high"}}, {"reasoning": Reasoning("high")}),
    ({"thinking": {"type": "disabled"}}, {"reasoning": Reasoning(mode="off")}),
    (
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}},
        {"reasoning": Reasoning("high", mode="off")},
    ),
    ({"thinking": {"type": "adaptive"}}, {"reasoning": Reasoning(mode="adaptive")}),
    ({"thinking": {"type": "between_tools"}}, {"reasoning": Reasoning(mode="between_tools")}),
    (
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"reasoning": Reasoning("low", mode="adaptive")},
    ),
    (
        {"thinking": {"type": "adaptive", "display": "omitted"}},
        {"reasoning": Reasoning(visible=False, mode="adaptive")},
    ),
    (
        {"thinking": {"type": "enabled", "budget_tokens": 2000, "display": "summarized"}},
        {"reasoning": Reasoning(budget_tokens=2000, visible=True)},
    ),
    (
        {"output_config": {"format": FORMAT}},
        {"response_format": ResponseFormat("json_schema", schema=SCHEMA)},
    ),
]


@pytest.mark.parametrize(("wire", "fields"), BOTH_WAYS)
def test_options_are_read_and_written(wire: dict[str, Any], fields: dict[str, Any]) -> None:
    assert options(**wire) == Options(**fields)
    assert written(**fields) == (wire, [])


@pytest.mark.parametrize(
    "wire",
    [
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}},
        {"thinking": {"type": "between_tools", "display": "updates"}},
        {"thinking": {"type": "enabled", "budget_tokens": None}},
        {"thinking": None, "output_config": {"format": None}},
        {"output_config": {"effort": "extreme", "task_budget": {"type": "tokens", "total": 9}}},
        {"output_config": {}},
        {"output_format": {"type": "json_schema", "name": "n"}},
        {"output_format": FORMAT, "output_config": {"effort": "low"}},
        {"metadata": {"user_id": None}},
        {"metadata": {"user_id": "u", "more": 1}},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": None}},
        {"tool_choice": {"type": "none", "disable_parallel_tool_use": True}},
        {"tool_choice": {"type": "later", "name": "f"}},
        {"service_tier": "later"},
        {"tools": [], "stop_sequences": None, "temperature": None},
        {"cache_control": {"type": "later", "scope": "all"}},
    ],
)
def test_options_in_other_spellings_go_home(wire: dict[str, Any]) -> None:
    read(body(**wire))


def test_sampling_is_written_only_where_the_wire_had_it() -> None:
    sampling = {"temperature": 0.5, "top_p": 1, "top_k": 40}
    request = read(body(**sampling))
    assert request.options.temperature == 0.5
    edited = request.replace(options=request.options.replace(temperature=0.7))
    assert DIALECT.write_request(edited).wire["temperature"] == 0.7
    assert written(temperature=0.5, top_k=40.0) == (
        {},
        [("dropped", "$.options.temperature"), ("dropped", "$.options.top_k")],
    )


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"seed": 1}, ("dropped", "seed")),
        ({"n": 2}, ("dropped", "n")),
        ({"metadata": {"a": "b"}}, ("dropped", "metadata")),
        ({"service_tier": "flex"}, ("dropped", "service_tier")),
        ({"response_format": ResponseFormat("json")}, ("dropped", "response_format")),
        ({"parallel_tool_calls": False}, ("dropped", "parallel_tool_calls")),
        ({"reasoning": Reasoning("minimal")}, ("approximated", "reasoning.effort")),
        ({"tool_choice": ToolChoice("any", ("a", "b"))}, ("dropped", "tool_choice.names")),
        ({"cache": Cache("12h")}, ("approximated", "cache")),
    ],
)
def test_options_that_cannot_be_said_are_losses(
    fields: dict[str, Any], lost: tuple[str, str]
) -> None:
    assert written(**fields)[1] == [(lost[0], f"$.options.{lost[1]}")]


def test_the_default_limit_leaves_room_for_thinking() -> None:
    reasoning = Options(reasoning=Reasoning(budget_tokens=8000))
    wire, _ = write(HELLO, options=reasoning)
    assert wire["max_tokens"] == DEFAULT_MAX_TOKENS + 8000


def test_edited_reasoning_wins_over_remembered_spelling() -> None:
    request = read(body(thinking={"type": "adaptive"}, output_config={"effort": "low"}))
    off = request.replace(options=request.options.replace(reasoning=Reasoning("none")))
    wire = DIALECT.write_request(off).wire
    assert wire["thinking"] == {"type": "disabled"}
    assert "output_config" not in wire


# Tools


@pytest.mark.parametrize("left", [{}, {"remaining": 100}])
def test_a_budget_for_the_whole_task_is_an_option_that_needs_a_beta(left: dict[str, int]) -> None:
    budget = {"type": "tokens", "total": 5000, **left}
    wire = body(output_config={"task_budget": budget})
    request = read(wire)
    assert request.options.task_budget == TaskBudget(5000, left.get("remaining"))
    assert DIALECT.write_request(request).wire == wire
    assert betas_of(wire) == ["task-budgets-2026-03-13"]
    report = il.convert(wire, "anthropic", "openai-responses").report
    assert [each.code for each in report.losses] == ["task_budget_unsupported"]


def test_a_budget_that_says_more_than_we_know_goes_home() -> None:
    wire = body(output_config={"task_budget": {"type": "tokens", "total": 5000, "per": "day"}})
    assert read(wire).options.task_budget is None
    assert DIALECT.write_request(read(wire)).wire == wire
