"""Arguments coerced to canonical values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import interlingua as il
from interlingua import coerce
from interlingua.coerce import as_conversation, as_definitions, as_message, as_options

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
def test_a_conversation_is_written_in_many_ways(value: Any) -> None:
    assert as_conversation(value) == (HI,)


def test_messages_and_dicts_may_be_mixed() -> None:
    content = as_conversation(
        [{"role": "system", "content": "Be brief."}, HI, {"role": "assistant", "content": "ho"}]
    )
    assert content == (il.Message.system("Be brief."), HI, il.Message.assistant("ho"))


def test_messages_of_openai_keep_their_calls_results_and_pictures() -> None:
    function = {"name": "look", "arguments": '{"at": "it"}'}
    content = as_conversation(
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
    assert isinstance(content, tuple)
    picture = content[0].content[1]
    assert isinstance(picture, il.ImageBlock)
    assert picture.media_type == "image/png"
    (call,) = content[1].tool_calls
    assert (call.id, call.name, call.input) == ("c1", "look", {"at": "it"})
    assert content[2] == il.Message.tool_result("c1", "a cat")


def test_messages_of_anthropic_are_known_by_their_blocks() -> None:
    content = as_conversation(
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
    assert isinstance(content, tuple)
    assert content[2] == il.Message.tool_result(
        "t1", "a cat", tool_name=content[2].content[0].tool_name
    )  # type: ignore[union-attr]


def test_what_dumps_wrote_is_read_again() -> None:
    message = il.Message.user([il.ImageBlock(il.Source("url", "https://example.com/a.png"))])
    assert as_conversation([il.loads(il.dumps(message), dict)]) == (message,)  # type: ignore[type-var]


def test_a_whole_request_of_a_provider_is_one() -> None:
    content = as_conversation(
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    )
    assert isinstance(content, il.Request)
    assert (content.messages, content.options.max_output_tokens) == ((HI,), 9)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "messages are text, il.Message, a dict .*; found an int"),
        (None, "found None"),
        (b"hi", "found a bytes"),
        (["hi"], "found a str in the list"),
        ([{"content": "hi"}], "a dict with role and content; found one with content"),
        ([{"role": "usr", "content": "hi"}], "role is one of system.*found 'usr'"),
        ([{"role": "user", "content": 3}], "cannot be read"),
    ],
)
def test_what_is_no_conversation_is_a_type_error(value: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        as_conversation(value)


def test_one_message_is_text_blocks_or_a_dict() -> None:
    assert as_message("hi") == as_message({"role": "user", "content": "hi"}) == HI
    assert as_message({"type": "text", "text": "hi"}) == as_message(["hi"]) == HI


@dataclass
class City:
    name: str


def test_options_are_a_dict_or_words() -> None:
    wanted = il.Options(max_output_tokens=9, temperature=0.0, stop=("end",))
    assert as_options({"max_tokens": 9, "temperature": 0, "stop": "end"}) == wanted
    assert as_options({"temperature": 0}, {"stop": ["end"], "max_completion_tokens": 9}) == wanted
    assert as_options(il.Options(max_output_tokens=9, temperature=1), {"temperature": 0}) == (
        il.Options(max_output_tokens=9, temperature=0.0)
    )
    assert as_options(None) is None
    assert as_options(wanted) is wanted


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
    assert as_options(None, words) == options


def test_a_type_is_the_form_of_an_answer() -> None:
    made = as_options(None, {"response_format": City})
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
        as_options(None, words)
    with pytest.raises(TypeError, match=text):
        as_options(words)


def test_options_of_another_kind_are_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"options are il\.Options, or a dict of its fields"):
        as_options(["temperature"])


def test_keywords_for_type_checkers_are_all_that_are_taken() -> None:
    words = set(coerce.OptionWords.__annotations__)
    assert words == {*il.Options.__struct_fields__, *coerce._OTHER_WORDS} - {"raw", "stream"}


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
    assert as_definitions([plain]) == (plain,)
    assert as_definitions([OPENAI]) == as_definitions([ANTHROPIC]) == (plain,)
    (made,) = as_definitions([look])
    assert (made.name, made.description) == ("look", "Look at something.")


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        (look, "tools is a list of .*, found a function"),
        ("look", "tools is a list of .*, found a str"),
        ([3], r"a tool is il\.ToolDefinition or a Python function, found an int"),
        ([City], "found the class City"),
        ([{"title": "look"}], "a tool as a dict has name"),
        ([lambda at: at], "a tool needs a name"),
    ],
)
def test_what_is_no_tool_is_a_type_error(tools: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        as_definitions(tools)


@pytest.mark.parametrize("word", ["ANY", "REQUIRED", "required"])
def test_a_tool_choice_in_a_vendor_s_word_is_no_name_of_a_tool(word: str) -> None:
    options = as_options({"tool_choice": word})
    assert options is not None
    assert options.tool_choice == il.ToolChoice("any")


# Messages in the shapes of views

FLAT = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"name": "f", "arguments": "{}", "id": "c1"}],
    },
    {"role": "tool", "call_id": "c1", "content": "sunny"},
]
CAMEL = {
    "systemPrompt": "Be short.",
    "messages": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "c1", "name": "f", "arguments": {}}],
        },
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "f",
            "content": [{"type": "text", "text": "sunny"}],
            "isError": False,
        },
    ],
    "tools": [{"name": "f", "description": "d", "parameters": {"type": "object"}}],
}


def _blocks(value: Any) -> list[tuple[str, list[str]]]:
    taken = as_conversation(value)
    messages = taken.messages if isinstance(taken, il.Request) else taken
    assert all(not violation for violation in il.validate(messages))
    return [(each.role.value, [block.type for block in each.content]) for each in messages]


@pytest.mark.parametrize("value", [FLAT, {"messages": FLAT}, iter(FLAT)])
def test_flat_messages_are_read_with_their_calls_and_results(value: Any) -> None:
    expected = [("user", ["text"]), ("assistant", ["tool_use"]), ("tool", ["tool_result"])]
    assert _blocks(value) == expected


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "image", "data": "aGk=", "format": "png"},
        {"type": "file", "file_id": "f1"},
    ],
)
def test_flat_media_is_read(part: Any) -> None:
    (message,) = as_conversation([{"role": "user", "content": [part]}])
    assert message.content[0].type in ("image", "document")


def test_a_flat_result_that_answers_by_its_id_is_read() -> None:
    (message,) = as_conversation([{"role": "tool", "id": "c1", "content": "4"}])
    assert message.content[0].tool_use_id == "c1"


def test_flat_messages_stand_beside_tools_and_options() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    request = as_conversation({"messages": FLAT, "temperature": 0.5, "tools": [tool]})
    assert isinstance(request, il.Request)
    assert request.options.temperature == 0.5
    assert [each.name for each in request.tools] == ["f"]


def test_messages_made_of_parts_with_kinds_are_read() -> None:
    value = [{"role": "USER", "content": [{"kind": "TEXT", "text": "Hi"}]}]
    assert _blocks(value) == [("user", ["text"])]


def test_a_camel_context_is_read_with_its_tools() -> None:
    request = as_conversation(CAMEL)
    assert isinstance(request, il.Request)
    roles = ["system", "user", "assistant", "tool"]
    assert [message.role.value for message in request.messages] == roles
    assert [each.name for each in request.tools] == ["f"]


def test_reasoning_beside_chat_messages_does_not_make_them_flat() -> None:
    value = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning": "c"},
    ]
    (_, answer) = as_conversation(value)
    assert "openai-chat" in (answer.metadata.provider_raw or {}) or answer.reasoning == "c"


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "assistant", "content": "", "tool_calls": [{"name": "f", "id": "c1"}]}],
        [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"name": "f", "args": {}, "id": "c"}],
            }
        ],
        [{"role": "USER", "content": [{"kind": "NONSENSE"}]}],
    ],
)
def test_messages_that_are_half_made_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="messages are text"):
        as_conversation(value)


def test_plan_takes_what_a_client_takes() -> None:
    assert not il.plan(FLAT, "openai-chat", "gpt-5").losses
    assert not il.plan(CAMEL, "openai-chat", "gpt-5").losses


@pytest.mark.parametrize("value", ["Hi", b"[]"])
def test_validate_says_what_it_takes(value: Any) -> None:
    with pytest.raises(TypeError, match=r"validate takes il\.Message"):
        il.validate(value)


def test_parts_that_nobody_has_are_refused() -> None:
    for part in ({"kind": "text", "text": "hi"}, {"txt": "hi"}, {}):
        with pytest.raises(TypeError, match="a part of content is a dict with a type; found"):
            as_conversation([{"role": "user", "content": [part]}])
    (message,) = as_conversation([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])  # type: ignore[misc]
    assert message.text == "hi"


@pytest.mark.parametrize("message", [{"role": "user", "text": "q"}, {"role": "user"}])
def test_a_message_without_content_is_refused_and_not_sent_empty(message: dict[str, str]) -> None:
    with pytest.raises(
        TypeError, match="a message is a dict with role and content; found one with role"
    ):
        il.validate([message])
