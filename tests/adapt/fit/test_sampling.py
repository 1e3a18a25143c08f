"""Sampling, limits, the shape of the answer and tool choice."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.exchange import Reasoning, ResponseFormat, ToolChoice
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from tests.adapt.fit.asking import SCHEMA, USER, fitted, losses, options, request, tool, wire
from tests.adapt.fit.options import HIGH
from tests.adapt.fit.shapes import AT, FORMAT


def test_where_no_schema_is_taken_a_tool_is_called_and_read_as_the_answer() -> None:
    done = fitted("anthropic:claude-sonnet-4-20250514", request(response_format=FORMAT))
    assert done.value.options.response_format is None
    assert done.value.options.tool_choice == ToolChoice("any", ("answer",))
    assert [each.name for each in done.value.tools] == ["answer"]
    assert done.value.tools[0].input_schema == SCHEMA
    assert done.answer_adapter is not None
    assert done.answer_adapter.json_tool == "answer"


def test_beside_other_tools_a_call_of_any_of_them_is_wanted() -> None:
    asked = request(tools=(tool("answer"),), response_format=FORMAT)
    done = fitted("anthropic:claude-sonnet-4-20250514", asked)
    assert [each.name for each in done.value.tools] == ["answer", "answer_"]
    assert done.value.options.tool_choice == ToolChoice("any")
    assert done.answer_adapter is not None
    assert done.answer_adapter.json_tool == "answer_"


@pytest.mark.parametrize(
    ("model", "tools", "wanted", "left"),
    [
        ("deepseek:deepseek-v4-pro", (), FORMAT, ResponseFormat("json")),
        ("gemini:gemini-2.5-flash", (tool(),), FORMAT, None),
        ("anthropic:claude-opus-4-8", (), ResponseFormat("json"), None),
    ],
)
def test_otherwise_the_instructions_say_what_is_wanted(
    model: str,
    tools: tuple[ToolDefinition, ...],
    wanted: ResponseFormat,
    left: ResponseFormat | None,
) -> None:
    asked = request(Message.system("be brief"), USER, tools=tools, response_format=wanted)
    done = fitted(model, asked)
    assert done.value.options.response_format == left
    first, second, third = done.value.messages
    assert (first.text, third.text) == ("be brief", "hi")
    assert "JSON" in second.text
    assert ('"minimum":1' in second.text) is (wanted.schema is not None)
    assert ("downgraded", AT) in [(kind, path) for kind, path, _ in losses(done)]


def test_json_beside_tools_stays_where_the_model_takes_both() -> None:
    asked = request(tools=(tool(),), response_format=FORMAT)
    assert fitted("gemini:gemini-3.1-pro", asked).value.options.response_format == FORMAT
    forced = asked.replace(options=asked.options.replace(tool_choice=ToolChoice("any")))
    assert fitted("gemini:gemini-3.1-pro", forced).value.options.response_format is None


OFF = Reasoning(mode="off")


@pytest.mark.parametrize(
    ("model", "given", "left"),
    [
        ("anthropic:claude-sonnet-4-6", {"temperature": 0.3}, {"temperature": 0.3}),
        ("anthropic:claude-sonnet-4-6", {"temperature": 1.5}, {"temperature": 1}),
        ("anthropic:claude-sonnet-4-6", {"temperature": 0.3, "reasoning": HIGH}, {}),
        ("anthropic:claude-sonnet-4-6", {"top_p": 0.97, "reasoning": HIGH}, {"top_p": 0.97}),
        ("anthropic:claude-sonnet-4-6", {"temperature": 0.3, "top_p": 0.5}, {"temperature": 0.3}),
        ("anthropic:claude-opus-4-7", {"temperature": 0.3, "top_p": 0.5, "top_k": 4}, {}),
        ("anthropic:claude-opus-4-7", {"temperature": 1}, {"temperature": 1}),
        ("openai:gpt-4o", {"temperature": 0.3, "logprobs": 2}, {"temperature": 0.3, "logprobs": 2}),
        ("openai:gpt-5", {"temperature": 0.3, "presence_penalty": 1}, {}),
        ("openai:gpt-5", {"temperature": 1}, {"temperature": 1}),
        ("openai:gpt-5.4", {"temperature": 0.3}, {"temperature": 0.3}),
        ("openai:gpt-5.4", {"temperature": 0.3, "reasoning": HIGH}, {}),
        ("openai:gpt-5.5", {"temperature": 0.3}, {}),
        ("openai:gpt-5.5", {"temperature": 0.3, "reasoning": OFF}, {"temperature": 0.3}),
        ("openai:gpt-6.1-sol", {"temperature": 0.3, "reasoning": OFF}, {}),
        ("gemini:gemini-2.5-flash", {"frequency_penalty": 0.5}, {}),
        ("xai:grok-4.6", {"presence_penalty": 0.5, "stop": ("a",)}, {}),
        ("groq:llama-3.3-70b", {"n": 3}, {}),
        ("openai:gpt-4o", {"stop": ("a", "b", "c", "d", "e")}, {"stop": ("a", "b", "c", "d")}),
        ("openai:gpt-5", {"stop": ("a",)}, {}),
        ("openai:gpt-4o", {"verbosity": "low"}, {}),
        ("openai:gpt-5", {"verbosity": "low"}, {"verbosity": "low"}),
        ("nobody:at-all", {"temperature": 1.7, "top_k": 3}, {"temperature": 1.7, "top_k": 3}),
    ],
)
def test_an_option_stands_only_where_the_model_takes_it(
    model: str, given: dict[str, Any], left: dict[str, Any]
) -> None:
    done = fitted(model, request(max_output_tokens=99, **given))
    names = [name for name in given if name != "reasoning"]
    collected = {name: getattr(done.value.options, name) for name in names}
    assert {name: value for name, value in collected.items() if value is not None} == left
    lost = {loss.path.removeprefix("$.options.") for loss in done.report.entries if loss.rule}
    assert {name for name in names if collected[name] != given[name]} == lost - {"reasoning.mode"}


def test_temperature_reaches_the_claude_models_that_take_it() -> None:
    done = fitted("anthropic:claude-sonnet-4-6", request(temperature=0.3, max_output_tokens=9))
    assert wire(done)["temperature"] == 0.3
    assert not done.report.entries


@pytest.mark.parametrize(
    ("model", "choice", "thinking", "told"),
    [
        ("anthropic:claude-opus-4-8", ToolChoice("any"), HIGH, ToolChoice("any")),
        ("anthropic:claude-sonnet-4-5", ToolChoice("any"), HIGH, ToolChoice("auto")),
        ("anthropic:claude-sonnet-4-5", ToolChoice("any"), None, ToolChoice("any")),
        ("anthropic:claude-opus-5-5", ToolChoice("any", ("look",)), None, ToolChoice("auto")),
        ("deepseek:deepseek-v4-pro", ToolChoice("any"), None, ToolChoice("auto")),
        ("deepseek:deepseek-v4-pro", ToolChoice("any"), OFF, ToolChoice("any")),
        ("bedrock:meta.llama3-3-70b-instruct-v1:0", ToolChoice("any"), None, ToolChoice("auto")),
        ("openai:gpt-4o", ToolChoice("any"), None, ToolChoice("any")),
    ],
)
def test_a_call_is_forced_only_where_it_can_be(
    model: str, choice: ToolChoice, thinking: Reasoning | None, told: ToolChoice
) -> None:
    asked = request(tools=(tool(),), tool_choice=choice, reasoning=thinking, max_output_tokens=9000)
    done = fitted(model, asked)
    assert done.value.options.tool_choice == told
    lost = [loss for loss in done.report.entries if loss.path == "$.options.tool_choice"]
    assert [loss.severity for loss in lost] == ([] if told == choice else ["error"])


@pytest.mark.parametrize("model", ["openai:gpt-4o", "openai:unknown", "anthropic:claude-opus-4-8"])
def test_nothing_is_said_about_calls_where_there_is_nothing_to_call(model: str) -> None:
    result = options(model, parallel_tool_calls=True, tool_choice=ToolChoice("auto"))
    assert result.parallel_tool_calls is None
    assert result.tool_choice is None


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("anthropic:claude-sonnet-4-5", None, 21_333),
        ("anthropic:claude-opus-4-8", None, 21_333),
        ("anthropic:claude-3-5-haiku-20241022", None, 8192),
        ("anthropic:claude-3-5-haiku-20241022", 64000, 8192),
        ("openai:gpt-5", None, None),
        ("openai:gpt-5", 200_000, 128_000),
    ],
)
def test_an_answer_may_be_as_long_as_the_model_lets_it(
    model: str, given: int | None, said: int | None
) -> None:
    done = fitted(model, request(max_output_tokens=given))
    assert done.value.options.max_output_tokens == said
    collected = [(kind, path) for kind, path, _ in losses(done)]
    at = ("approximated", "$.options.max_output_tokens")
    assert collected == ([] if said == given else [at])


def test_the_maximum_is_filled_in_for_streams_alone() -> None:
    streamed = fitted("anthropic:claude-opus-4-8", request(stream=True))
    assert streamed.value.options.max_output_tokens == 128_000
    assert [note.code for note in streamed.report.notes] == ["max_tokens_filled"]
    assert not streamed.report
    whole = fitted("anthropic:claude-opus-4-8", request())
    assert [loss.code for loss in whole.report.losses] == ["max_tokens_capped"]


def test_an_unknown_model_gets_a_usual_limit_which_is_reported() -> None:
    done = fitted("anthropic:somebody-elses", request())
    assert wire(done)["max_tokens"] == 4096
    (loss,) = done.report
    assert (loss.kind, loss.path) == ("approximated", "$.options.max_output_tokens")
