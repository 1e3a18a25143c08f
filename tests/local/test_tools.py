"""Calls that have to be made, and answers that have to fit a schema, from the real model."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.local.front import as_call, as_question, call_schema, choices, decided
from tests.effort import THOROUGH
from tests.local.conftest import DIALECTS, Answer, Ask

COLOUR = {"enum": ["red", "green", "blue"]}

PAINT = il.ToolDefinition(
    "paint",
    "Paint a wall",
    {
        "type": "object",
        "properties": {"colour": COLOUR, "walls": {"enum": [1, 2, 3]}},
        "required": ["colour", "walls"],
        "additionalProperties": False,
    },
)

DRINK = il.ToolDefinition(
    "drink",
    "Drink something",
    {
        "type": "object",
        "properties": {"what": {"$ref": "#/$defs/what"}},
        "required": ["what"],
        "additionalProperties": False,
        "$defs": {"what": {"enum": ["tea", "milk"]}},
    },
)

QUESTION = il.Message.user("Paint two walls red.")


def painted(answer: Answer) -> il.ToolUseBlock:
    """The one call of an answer, after a look at all of it."""
    assert answer.status == 200, answer.body
    message = answer.response().message
    [call] = message.tool_calls
    assert call.name == "paint"
    assert call.id
    assert set(call.input) == {"colour", "walls"}
    assert call.input["colour"] in COLOUR["enum"]
    assert call.input["walls"] in (1, 2, 3)
    assert message.metadata.stop_reason == "tool_use"
    assert message.text == ""
    return call


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_named_tool_is_called_and_its_result_is_taken_up(ask: Ask, dialect: str) -> None:
    named = il.ToolChoice("any", ("paint",))
    answer = ask(dialect, QUESTION, tools=(DRINK, PAINT), tool_choice=named, max_output_tokens=80)
    call = painted(answer)
    result = il.Message.tool_result(call.id, "The walls are red now.")
    content = answer.response().message
    after = ask(dialect, QUESTION, content, result, max_output_tokens=4)
    assert after.status == 200, after.body
    assert after.response().message.text
    assert _given(after) > 70, "the question has 36 tokens; call and result are in the prompt"


@pytest.mark.parametrize("dialect", DIALECTS if THOROUGH else DIALECTS[1:2])
def test_some_tool_is_called_in_a_stream(ask: Ask, dialect: str) -> None:
    some = il.ToolChoice("any")
    painted(
        ask(dialect, QUESTION, tools=(PAINT,), tool_choice=some, max_output_tokens=80, stream=True)
    )


def test_of_several_tools_one_is_called_and_references_are_followed(ask: Ask) -> None:
    thirsty = il.Message.user("Drink tea.")
    milk = DRINK.replace(name="drink_again")
    some = il.ToolChoice("any")
    answer = ask("anthropic", thirsty, tools=(DRINK, milk), tool_choice=some, max_output_tokens=60)
    [call] = answer.response().message.tool_calls
    assert call.name in ("drink", "drink_again")
    assert call.input["what"] in ("tea", "milk")


def _given(answer: Answer) -> int:
    usage = answer.response().message.metadata.usage
    assert usage is not None
    return (usage.input_tokens or 0) + (usage.cached_input_tokens or 0)


@pytest.mark.parametrize(
    ("dialect", "stream"),
    [
        ("openai-chat", False),
        ("openai-responses", True),
        ("anthropic", False),
        *([("openai-responses", False), ("anthropic", True)] if THOROUGH else []),
    ],
)
def test_an_answer_fits_the_schema_it_was_given(ask: Ask, dialect: str, stream: bool) -> None:
    answer = ask(
        dialect,
        QUESTION,
        response_format=il.ResponseFormat("json_schema", "paint", PAINT.input_schema, True),
        max_output_tokens=80,
        stream=stream,
    )
    assert answer.status == 200, answer.body
    message = answer.response().message
    found = json.loads(message.text)
    assert set(found) == {"colour", "walls"}
    assert found["colour"] in COLOUR["enum"]
    assert message.metadata.stop_reason == "end_turn"


def test_a_call_that_is_cut_off_is_no_call(ask: Ask) -> None:
    some = il.ToolChoice("any")
    answer = ask("anthropic", QUESTION, tools=(PAINT,), tool_choice=some, max_output_tokens=4)
    message = answer.response().message
    assert message.tool_calls == []
    assert message.metadata.stop_reason == "max_tokens"


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, []),
        (il.ToolChoice("auto"), []),
        (il.ToolChoice("none"), []),
        (il.ToolChoice("any"), ["paint", "drink"]),
        (il.ToolChoice("any", ("drink",)), ["drink"]),
        (il.ToolChoice("any", ("fly",)), []),
    ],
)
def test_only_a_choice_without_a_way_out_forces_a_call(
    choice: il.ToolChoice | None, names: list[str]
) -> None:
    request = il.Request(
        (QUESTION,), "m", tools=(PAINT, DRINK), options=il.Options(tool_choice=choice)
    )
    assert [tool.name for tool in choices(request)] == names


WEATHER = il.ToolDefinition("get_weather", "The weather in a city.", {"type": "object"})


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("What is the weather in Paris?", "get_weather"),
        ("Paint two walls red.", "paint"),
        ("I am painting my room.", "paint"),
        ("What could we drink?", "drink"),
        ("Which city has good weather to drink tea in?", "get_weather"),
        ("Hello, how are you?", None),
        ("Tell me about the capital of France.", None),
    ],
)
def test_a_choice_that_is_left_open_is_made_by_the_users_words(
    words: str, name: str | None
) -> None:
    tools = (WEATHER, PAINT, DRINK)
    asked = il.Request((il.Message.user(words),), "m", tools=tools)
    assert [tool.name for tool in choices(decided(asked))] == ([name] if name else [])


def test_nothing_is_chosen_behind_results_or_of_very_many_tools_or_against_a_word() -> None:
    call = il.ToolUseBlock("c", "paint", {})
    after = (QUESTION, il.Message.assistant([call]), il.Message.tool_result("c", "Done."))
    assert decided(il.Request(after, "m", tools=(PAINT,))).options.tool_choice is None
    many = tuple(PAINT.replace(name=f"paint_{number}") for number in range(9))
    assert decided(il.Request((QUESTION,), "m", tools=many)).options.tool_choice is None
    none = il.Options(tool_choice=il.ToolChoice("none"))
    assert not choices(decided(il.Request((QUESTION,), "m", tools=(PAINT,), options=none)))


def test_a_tool_that_the_users_words_name_is_called_and_its_result_told(ask: Ask) -> None:
    answer = ask("openai-chat", QUESTION, tools=(DRINK, PAINT), max_output_tokens=80)
    call = painted(answer)
    content = answer.response().message
    result = il.Message.tool_result(call.id, "The walls are red now.")
    after = ask("openai-chat", QUESTION, content, result, tools=(DRINK, PAINT), max_output_tokens=8)
    assert after.response().message.text
    assert not after.response().message.tool_calls


def test_references_inside_a_schema_follow_it_to_its_new_place() -> None:
    for tools in ((DRINK,), (PAINT, DRINK)):
        schema = call_schema(tools)
        [reference] = _references(schema)
        found: Any = schema
        for step in reference.removeprefix("#/").split("/"):
            found = found[int(step)] if isinstance(found, list) else found[step]
        assert found == {"enum": ["tea", "milk"]}


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [each for item in schema for each in _references(item)]
    if isinstance(schema, dict):
        own = [schema["$ref"]] if "$ref" in schema else []
        return own + [each for item in schema.values() for each in _references(item)]
    return []


def test_the_question_keeps_what_was_said_and_changes_nothing_given() -> None:
    request = il.Request(
        (il.Message.system("Be kind."), QUESTION),
        "m",
        tools=(PAINT,),
        options=il.Options(tool_choice=il.ToolChoice("any"), temperature=0.5),
    )
    before = il.dumps(request)
    asked = as_question(request)
    assert il.dumps(request) == before
    assert asked.tools == ()
    assert asked.messages[0].text.startswith("Be kind.")
    assert "Paint a wall" in asked.messages[0].text
    assert asked.messages[1:] == request.messages[1:]
    assert asked.options.temperature == 0.5


def test_a_call_is_told_from_the_answer_s_text() -> None:
    wire = {
        "id": "chatcmpl-abc",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": '{"name":"f","arguments":{"a":1}}'},
                "finish_reason": "stop",
            }
        ],
    }
    [call] = as_call(il.dialect("openai-chat").read_response(wire)).message.tool_calls
    assert (call.id, call.name, call.input) == ("call_abc", "f", {"a": 1})
    assert msgspec.json.encode(call.input) == b'{"a":1}'
