"""Requests of Cohere's v2 chat."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from tests.dialects.cohere.wires import CALL, TOOL, WHOLE, body, home, user
from tests.laws import cohere_types

ODD: list[dict[str, Any]] = [
    WHOLE,
    body(user([{"type": "text", "text": "a"}])),
    body(user([{"type": "text", "text": ""}])),
    body(user(""), {"role": "assistant", "content": None, "tool_calls": [CALL]}),
    body({"role": "assistant", "content": [], "tool_plan": None, "citations": []}),
    body({"role": "assistant", "tool_plan": "Only a plan."}),
    body({"role": "tool", "tool_call_id": "x", "content": [{"type": "text", "text": "a"}]}),
    body({"role": "tool", "content": "without an id"}),
    body({"role": "tool", "tool_call_id": "x", "content": "[tool error] no"}),
    body(user(), documents=[]),
    body(user(), documents=[{"data": {"snippet": "s"}}, {"data": {"n": 1}}, {"data": "text"}]),
    body({"role": "system", "content": "a"}, documents=["nobody asks"]),
    *[
        body(
            user(),
            {"role": "assistant", "tool_calls": [CALL]},
            {
                "role": "tool",
                "tool_call_id": "weather_1",
                "content": [{"type": "document", **item}],
            },
        )
        for item in (
            {"document": {"id": "1", "data": {"text": "cold", "page": 3}}},
            {"document": {"data": {"text": "cold", "title": None}}},
            {"document": {"data": "[tool error] is what the tool said"}},
            {"document": "cold"},
            {"document": {"data": 5}},
            {"document": {"data": {"text": 5}}},
        )
    ],
    body(user(), tools=[TOOL], strict_tools=False, stream=None, mood="good"),
    body(user(), strict_tools=True, tools=[]),
    body(user(), thinking={"type": "sometimes"}, response_format={"type": "text"}, k=2.5),
]


@pytest.mark.parametrize("wire", ODD)
def test_a_request_goes_home_as_it_came(wire: dict[str, Any]) -> None:
    assert home(wire) == wire


def test_everything_has_its_field() -> None:
    request = DIALECT.read_request(WHOLE)
    options = request.options
    assert (options.top_k, options.top_p, options.stop, options.logprobs) == (5, 0.5, ("END",), 0)
    assert options.tool_choice == il.ToolChoice("any")
    assert options.reasoning is not None
    assert options.reasoning.budget_tokens == 100
    assert [tool.strict for tool in request.tools] == [True]
    plan, call = request.messages[2].content
    assert plan == il.TextBlock("I look.", phase="commentary")
    assert isinstance(call, il.ToolUseBlock)
    assert call.input == {"city": "Oslo"}


@pytest.mark.parametrize("source", [name for name in il.dialects() if name != "cohere"])
def test_what_is_written_is_taken_by_the_types_of_cohere(source: str) -> None:
    if not cohere_types.are_there():
        pytest.skip("the package `cohere` is not installed")
    there = il.convert(WHOLE, "cohere", source, "request", model="m").wire
    back = il.convert(there, source, "cohere", "request", model="m").wire
    assert cohere_types.request_problems(back) == []
    assert cohere_types.request_problems(WHOLE) == []
