"""Tools and schemas as a model takes them."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.fit.fit import fit
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.exchange import ResponseFormat, ToolChoice
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from tests.adapt.fit.amounts import ruled
from tests.adapt.fit.asking import SCHEMA, USER, fitted, losses, request, tool
from tests.adapt.fit.shapes import AT, FORMAT


def test_a_schema_for_claude_is_closed_and_its_other_rules_are_written_in_words() -> None:
    done = fitted("anthropic:claude-opus-4-8", request(response_format=FORMAT, max_output_tokens=9))
    result = done.value.options.response_format
    assert result is not None
    assert result.schema == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "minimum: 1"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    assert losses(done) == [
        ("approximated", f"{AT}.schema.properties.n.minimum", "claude-schema-keywords"),
        ("approximated", f"{AT}.schema", "claude-schema-keywords"),
    ]


def test_a_property_that_is_called_like_a_keyword_is_a_property() -> None:
    schema = {"type": "object", "properties": {"minimum": {"type": "string"}}, "required": []}
    asked = request(response_format=ResponseFormat("json_schema", schema=schema))
    result = fitted("anthropic:claude-opus-4-8", asked).value.options.response_format
    assert result is not None
    assert result.schema is not None
    assert result.schema["properties"] == {"minimum": {"type": "string"}}


def test_strictness_goes_where_the_schema_does_not_allow_it() -> None:
    strict = FORMAT.replace(strict=True)
    done = fitted("openai:gpt-4o", request(response_format=strict))
    assert done.value.options.response_format == FORMAT
    assert losses(done) == [("dropped", f"{AT}.strict", "openai-strict")]
    closed = strict.replace(schema={**SCHEMA, "additionalProperties": False})
    assert not fitted("openai:gpt-4o", request(response_format=closed)).report


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({}, {"type": "object"}),
        ({"properties": {}}, {"type": "object", "properties": {}}),
        (
            {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"properties": {"b": {}}}]},
            {"type": "object", "properties": {"a": {}, "b": {}}},
        ),
        (
            {"type": "string"},
            {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
        ),
    ],
)
def test_a_tool_takes_an_object(schema: dict[str, Any], told: dict[str, Any]) -> None:
    asked = request(tools=(ToolDefinition("f", input_schema=schema),), max_output_tokens=9)
    done = fitted("anthropic:claude-opus-4-8", asked)
    assert done.value.tools[0].input_schema == told
    assert [(kind, path) for kind, path, _ in losses(done)] == [
        ("approximated", "$.tools[0].input_schema")
    ]


def test_no_more_tools_are_strict_than_the_model_takes() -> None:
    tools = tuple([tool(f"t{number}", strict=True) for number in range(22)])
    done = fitted("anthropic:claude-opus-4-8", request(tools=tools, max_output_tokens=9))
    assert [each.strict for each in done.value.tools] == [True] * 20 + [None] * 2
    assert [path for _, path, _ in losses(done)] == ["$.tools[20].strict", "$.tools[21].strict"]


def test_a_name_that_is_not_taken_is_another_one_everywhere_and_always() -> None:
    call = ToolUseBlock("c1", "1st", {})
    history = (USER, Message.assistant(call), Message.tool_result("c1", "ok", tool_name="1st"))
    asked = request(*history, tools=(tool("1st"),), tool_choice=ToolChoice("any", ("1st",)))
    done = fitted("gemini:gemini-2.5-flash", asked)
    (name,) = {each.name for each in done.value.tools}
    assert name.startswith("_1st_")
    assert name != "1st"
    _, content, result = done.value.messages
    assert content.content[0].name == name  # type: ignore[union-attr]  # a call
    assert result.content[0].tool_name == name  # type: ignore[union-attr]  # a result
    assert done.value.options.tool_choice == ToolChoice("any", (name,))
    assert done.answer_adapter is not None
    assert done.answer_adapter.names == {name: "1st"}
    assert losses(done) == [("approximated", "$.tools[0].name", "gemini-api")]
    again = fitted("gemini:gemini-3.1-pro", request(tools=(tool("1st"),)))
    assert again.value.tools[0].name == name


def test_a_rule_of_an_api_is_about_the_api_and_a_rule_of_a_model_about_the_model() -> None:
    body = {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "get.weather"}}],
    }
    report = il.convert(body, "openai-chat", "anthropic").report
    [changed] = [note for note in report.notes if note.code == "tool_name_changed"]
    assert "Anthropic does not accept the name" in changed.reason
    report = il.convert({**body, "logit_bias": {"1": 1}}, "openai-chat", "openai-responses").report
    [dropped] = [loss for loss in report.losses if loss.path == "$.options.logit_bias"]
    assert "gpt-5 does not accept it" in dropped.reason


def test_names_that_would_meet_stay_apart() -> None:
    asked = request(tools=(tool("a b"), tool("a.b"), tool("a_b")))
    names = [each.name for each in fitted("openai:gpt-4o", asked).value.tools]
    assert len(set(names)) == 3
    assert names[2] == "a_b"


def test_keywords_of_input_schemas_that_are_refused_are_written_in_words() -> None:
    rules = ruled(tools={"schema_without": ["minimum"]})
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    value = il.ToolDefinition("look", "Looks.", schema)
    done = fit(request(tools=(value,)), rules, dialect="openai-chat")
    assert done.value.tools[0].input_schema == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "minimum: 1"}},
    }
    assert losses(done) == [
        ("approximated", "$.tools[0].input_schema.properties.n.minimum", "profile of the call")
    ]
