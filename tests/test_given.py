"""What people hand over, as canonical values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import interlingua as il
from interlingua import given
from interlingua.given import conversation_of, definitions_of, message_of, options_of

HI = il.Message.user("hi")
IMAGE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    "value",
    [
        "hi",
        HI,
        [HI],
        (HI,),
        {"role": "user", "content": "hi"},
        [{"role": "user", "content": "hi"}],
        iter([{"role": "user", "content": "hi"}]),
        [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        [{"role": "user", "parts": [{"text": "hi"}]}],
        [{"role": "user", "content": [{"type": "text", "text": "hi"}], "schema_version": 1}],
    ],
)
def test_a_conversation_is_said_in_many_ways(value: Any) -> None:
    assert conversation_of(value) == (HI,)


def test_messages_and_dicts_may_be_mixed() -> None:
    said = conversation_of(
        [{"role": "system", "content": "Be brief."}, HI, {"role": "assistant", "content": "ho"}]
    )
    assert said == (il.Message.system("Be brief."), HI, il.Message.assistant("ho"))


def test_messages_of_openai_keep_their_calls_results_and_pictures() -> None:
    function = {"name": "look", "arguments": '{"at": "it"}'}
    said = conversation_of(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {"type": "image_url", "image_url": {"url": IMAGE}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
        ]
    )
    assert isinstance(said, tuple)
    picture = said[0].content[1]
    assert isinstance(picture, il.ImageBlock)
    assert picture.media_type == "image/png"
    (call,) = said[1].tool_calls
    assert (call.id, call.name, call.input) == ("c1", "look", {"at": "it"})
    assert said[2] == il.Message.tool_result("c1", "a cat")


def test_messages_of_anthropic_are_known_by_their_blocks() -> None:
    said = conversation_of(
        [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a cat"}],
            },
        ]
    )
    assert isinstance(said, tuple)
    assert said[2] == il.Message.tool_result("t1", "a cat", tool_name=said[2].content[0].tool_name)  # type: ignore[union-attr]


def test_what_dumps_wrote_is_read_again() -> None:
    message = il.Message.user([il.ImageBlock(il.Source("url", "https://example.com/a.png"))])
    assert conversation_of([il.loads(il.dumps(message), dict)]) == (message,)  # type: ignore[type-var]


def test_a_whole_request_of_a_provider_is_one() -> None:
    said = conversation_of(
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    )
    assert isinstance(said, il.Request)
    assert (said.messages, said.options.max_output_tokens) == ((HI,), 9)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "messages are text, il.Message, a dict .*; found a int"),
        (None, "found a NoneType"),
        (b"hi", "found a bytes"),
        (["hi"], "found a str in the list"),
        ([{"content": "hi"}], "a dict with role and content; found one with content"),
        ([{"role": "usr", "content": "hi"}], "role is one of system.*found 'usr'"),
        ([{"role": "user", "content": 3}], "cannot be read"),
    ],
)
def test_what_is_no_conversation_is_a_type_error(value: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        conversation_of(value)


def test_one_message_is_text_blocks_or_a_dict() -> None:
    assert message_of("hi") == message_of({"role": "user", "content": "hi"}) == HI
    assert message_of({"type": "text", "text": "hi"}) == message_of(["hi"]) == HI


@dataclass
class City:
    name: str


def test_options_are_a_dict_or_words() -> None:
    wanted = il.Options(max_output_tokens=9, temperature=0.0, stop=("end",))
    assert options_of({"max_tokens": 9, "temperature": 0, "stop": "end"}) == wanted
    assert options_of({"temperature": 0}, {"stop": ["end"], "max_completion_tokens": 9}) == wanted
    assert options_of(il.Options(max_output_tokens=9, temperature=1), {"temperature": 0}) == (
        il.Options(max_output_tokens=9, temperature=0.0)
    )
    assert options_of(None) is None
    assert options_of(wanted) is wanted


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ({"reasoning": "high"}, il.Options(reasoning=il.Reasoning("high"))),
        ({"reasoning_effort": "low"}, il.Options(reasoning=il.Reasoning("low"))),
        ({"reasoning": False}, il.Options(reasoning=il.Reasoning(mode="off"))),
        ({"reasoning": 2048}, il.Options(reasoning=il.Reasoning(budget_tokens=2048))),
        ({"tool_choice": "required"}, il.Options(tool_choice=il.ToolChoice("any"))),
        ({"tool_choice": "look"}, il.Options(tool_choice=il.ToolChoice("any", ("look",)))),
        ({"response_format": "json"}, il.Options(response_format=il.ResponseFormat("json"))),
        (
            {"response_format": {"type": "json_object"}},
            il.Options(response_format=il.ResponseFormat("json")),
        ),
        ({"stop": None}, il.Options()),
    ],
)
def test_options_may_be_said_more_simply_than_they_are_kept(
    words: dict[str, Any], options: il.Options
) -> None:
    assert options_of(None, words) == options


def test_a_type_is_the_form_of_an_answer() -> None:
    made = options_of(None, {"response_format": City})
    assert made is not None
    assert made.response_format is not None
    assert made.response_format.kind == "json_schema"
    assert made.response_format.name == "City"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"temprature": 1}, "no option is called 'temprature'; did you mean 'temperature'?"),
        ({"xyzzy": 1}, "no option is called 'xyzzy'; there are max_output_tokens"),
        ({"temperature": "hot"}, "option temperature: .*float"),
        ({"max_tokens": "9"}, "option max_tokens: .*int"),
        ({"tool_choice": 3}, "option tool_choice is il.ToolChoice, 'auto'"),
        ({"reasoning": "a lot"}, "option reasoning is il.Reasoning, True, False"),
        ({"response_format": 3}, "the shape of an answer is a JSON Schema"),
    ],
)
def test_a_wrong_option_is_a_type_error_that_says_what_is_taken(
    words: dict[str, Any], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        options_of(None, words)
    with pytest.raises(TypeError, match=text):
        options_of(words)


def test_options_of_another_kind_are_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"options are il\.Options, or a dict of its fields"):
        options_of(["temperature"])


def test_keywords_for_type_checkers_are_all_that_are_taken() -> None:
    words = set(given.OptionWords.__annotations__)
    assert words == {*il.Options.__struct_fields__, *given._OTHER_WORDS} - {"raw", "stream"}


def look(at: str) -> str:
    """Look at something."""
    return at


OPENAI = {
    "type": "function",
    "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}},
}
ANTHROPIC = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}


def test_tools_are_definitions_functions_or_dicts() -> None:
    plain = il.ToolDefinition("look", "Look.", {"type": "object"})
    assert definitions_of([plain]) == (plain,)
    assert definitions_of([OPENAI]) == definitions_of([ANTHROPIC]) == (plain,)
    (made,) = definitions_of([look])
    assert (made.name, made.description) == ("look", "Look at something.")


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        (look, "tools is a list of .*, found a function"),
        ("look", "tools is a list of .*, found a str"),
        ([3], r"a tool is il\.ToolDefinition or a Python function, found a int"),
        ([City], "found the class City"),
        ([{"title": "look"}], "a tool as a dict has name"),
        ([lambda at: at], "a tool needs a name"),
    ],
)
def test_what_is_no_tool_is_a_type_error(tools: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        definitions_of(tools)
