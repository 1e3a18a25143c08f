"""Tools, schemas, names, turns, media and cache marks, as each model takes them."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.blocks import (
    AudioBlock,
    Cache,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import ResponseFormat, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from tests.adapt.fit.asking import SCHEMA, USER, fitted, losses, request, tool, wire

FORMAT = ResponseFormat("json_schema", "answer", SCHEMA)
PICTURE = ImageBlock(Source("base64", "aGk="), "image/png")
AT = "$.options.response_format"


# -- the shape of the answer ----------------------------------------------------------------------


def test_a_schema_for_claude_is_closed_and_its_other_rules_are_told_in_words() -> None:
    done = fitted("anthropic:claude-opus-4-8", request(response_format=FORMAT, max_output_tokens=9))
    told = done.value.options.response_format
    assert told is not None
    assert told.schema == {
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
    told = fitted("anthropic:claude-opus-4-8", asked).value.options.response_format
    assert told is not None
    assert told.schema is not None
    assert told.schema["properties"] == {"minimum": {"type": "string"}}


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


def test_strictness_goes_where_the_schema_does_not_allow_it() -> None:
    strict = FORMAT.replace(strict=True)
    done = fitted("openai:gpt-4o", request(response_format=strict))
    assert done.value.options.response_format == FORMAT
    assert losses(done) == [("dropped", f"{AT}.strict", "openai-strict")]
    closed = strict.replace(schema={**SCHEMA, "additionalProperties": False})
    assert not fitted("openai:gpt-4o", request(response_format=closed)).report


# -- tools ----------------------------------------------------------------------------------------


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
    _, said, result = done.value.messages
    assert said.content[0].name == name  # type: ignore[union-attr]  # a call
    assert result.content[0].tool_name == name  # type: ignore[union-attr]  # a result
    assert done.value.options.tool_choice == ToolChoice("any", (name,))
    assert done.answer_adapter is not None
    assert done.answer_adapter.names == {name: "1st"}
    assert losses(done) == [("approximated", "$.tools[0].name", "gemini-api")]
    again = fitted("gemini:gemini-3.1-pro", request(tools=(tool("1st"),)))
    assert again.value.tools[0].name == name


def test_names_that_would_meet_stay_apart() -> None:
    asked = request(tools=(tool("a b"), tool("a.b"), tool("a_b")))
    names = [each.name for each in fitted("openai:gpt-4o", asked).value.tools]
    assert len(set(names)) == 3
    assert names[2] == "a_b"


# -- turns ----------------------------------------------------------------------------------------

LATER = (USER, Message.assistant("ho"), Message.system("be brief"), Message.user("and now?"))


def test_later_instructions_are_marked_user_text_where_the_model_refuses_them() -> None:
    done = fitted("anthropic:claude-opus-4-7", request(*LATER, max_output_tokens=9))
    assert [each.role for each in done.value.messages] == ["user", "assistant", "user", "user"]
    assert done.value.messages[2].text == "[system] be brief"
    assert losses(done) == [("downgraded", "$.messages[2].role", "claude-mid-system-no")]
    turns = wire(done)["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]


def test_they_follow_the_users_turn_where_the_model_takes_them_there() -> None:
    done = fitted("anthropic:claude-opus-4-8", request(*LATER, max_output_tokens=9))
    assert [each.role for each in done.value.messages] == ["user", "assistant", "user", "system"]
    assert losses(done) == [("moved", "$.messages[2]", "claude-mid-system")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("user", "system"), ("user", "system")),
        (("user", "system", "assistant", "user"), ("user", "system", "assistant", "user")),
        (("user", "system", "user"), ("user", "user", "system")),
        (("user", "assistant", "system"), ("user", "assistant", "user")),
        (
            ("user", "assistant", "system", "assistant"),
            ("user", "assistant", "user", "assistant", "user"),
        ),
        (("system", "user", "system", "system"), ("system", "user", "system", "system")),
    ],
)
def test_instructions_stand_behind_a_user_and_before_the_model(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    said = [Message(Role(role), (TextBlock(str(n)),)) for n, role in enumerate(before)]
    done = fitted("anthropic:claude-opus-4-8", request(*said))
    assert tuple([each.role.value for each in done.value.messages]) == after


def test_a_turn_that_cannot_be_gone_on_with_is_answered_by_a_user() -> None:
    said = (USER, Message.assistant("The answer is"))
    done = fitted("anthropic:claude-opus-4-6", request(*said, max_output_tokens=9))
    assert done.value.messages[-1] == Message.user("Continue.")
    assert losses(done) == [("approximated", "$.messages[1]", "claude-no-prefill")]
    assert len(fitted("anthropic:claude-haiku-4-5", request(*said)).value.messages) == 2


def test_mistral_is_told_that_it_is_to_go_on() -> None:
    said = (USER, Message.assistant("The answer is"))
    assert wire(fitted("mistral:mistral-large-2512", request(*said)))["messages"][-1] == {
        "role": "assistant",
        "content": "The answer is",
        "prefix": True,
    }


# -- media and marks ------------------------------------------------------------------------------


def test_media_that_a_model_does_not_take_leave_a_word_behind() -> None:
    sound = AudioBlock(Source("base64", "aGk="), "audio/wav")
    paper = DocumentBlock(Source("text", "so be it"), "text/plain", title="will")
    said = Message.user([PICTURE, PICTURE, sound, paper])
    done = fitted("deepseek:deepseek-v4-pro", request(said))
    assert [block.text for block in done.value.messages[0].content] == [  # type: ignore[union-attr]  # text
        "[image left out: this model takes no image]",
        "[audio left out: this model takes no audio]",
        "[will]\nso be it",
    ]
    assert [(kind, path[-2]) for kind, path, _ in losses(done)] == [
        ("dropped", "0"),
        ("dropped", "1"),
        ("dropped", "2"),
        ("downgraded", "3"),
    ]


def test_a_picture_that_a_result_cannot_hold_follows_the_results() -> None:
    call = Message.assistant([ToolUseBlock("c1", "look", {})])
    result = Message.tool_result("c1", [PICTURE])
    done = fitted("gemini:gemini-2.5-flash", request(USER, call, result))
    told, behind = done.value.messages[2:]
    assert isinstance(told.content[0], ToolResultBlock)
    assert told.content[0].content == (TextBlock("[image of c1 follows]"),)
    assert behind == Message.user([PICTURE])
    assert [kind for kind, _, _ in losses(done)] == ["moved"]
    assert not fitted("gemini:gemini-3.1-pro", request(USER, call, result)).report


def test_marks_of_blocks_that_are_alike_or_the_same_are_counted_one_by_one() -> None:
    same = TextBlock("x" * 9000, cache=Cache())
    for blocks in ([same] * 6, [same.replace() for _ in range(6)]):
        asked = request(Message.user(blocks), max_output_tokens=9)
        done = fitted("anthropic:claude-opus-4-8", asked)
        content = done.value.messages[0].content
        assert [n for n, block in enumerate(content) if block.cache is not None] == [0, 3, 4, 5]
        assert len(done.report.losses) == 2


def test_no_more_cache_marks_than_are_taken() -> None:
    marked = [Message.user([TextBlock(str(n), cache=Cache())]) for n in range(6)]
    done = fitted("anthropic:claude-opus-4-8", request(*marked, max_output_tokens=9))
    kept = [each.text for each in done.value.messages if each.content[0].cache is not None]
    assert kept == ["0", "3", "4", "5"]
    assert {loss.severity for loss in done.report} == {"info"}
    assert len(done.report) == 2


def test_no_cache_marks_where_none_are_taken() -> None:
    said = Message.user([TextBlock("a", cache=Cache())])
    asked = request(said, tools=(tool(cache=Cache()),), cache=Cache())
    done = fitted("openai:gpt-4o", asked)
    assert "cache" not in str(wire(done))
    assert len(done.report) == 3


def test_what_is_given_is_not_changed() -> None:
    from interlingua.model.codec import dumps

    asked = request(*LATER, tools=(tool("1st"),), response_format=FORMAT, temperature=2)
    before = dumps(asked)
    for model in ("anthropic:claude-sonnet-4-20250514", "gemini:gemini-2.5-pro", "openai:gpt-5.6"):
        one, two = fitted(model, asked), fitted(model, asked)
        assert (one.value, one.report) == (two.value, two.report)
    assert dumps(asked) == before


# -- media by URL ---------------------------------------------------------------------------------

BY_URL = ImageBlock(Source("url", "https://example.com/a.png"), "image/png")
NOT_BY_URL = [
    ("bedrock:amazon.nova-pro-v1:0", "bedrock", "bedrock-converse"),
    ("bedrock:anthropic.claude-opus-4-6-v1", "anthropic", "claude-bedrock-url"),
    ("ollama:llava", "ollama", "ollama-url"),
    ("ollama:llava", "openai-chat", "ollama-url"),
]


@pytest.mark.parametrize(("model", "dialect", "rule"), NOT_BY_URL)
def test_media_by_url_is_told_with_the_rule_and_how_to_have_it_fetched(
    model: str, dialect: str, rule: str
) -> None:
    asked = request(Message(Role.USER, (TextBlock("what?"), BY_URL)), max_output_tokens=9)
    done = fitted(model, asked, dialect)
    (loss,) = [each for each in done.report if each.path == "$.messages[0].content[1]"]
    assert (loss.kind, loss.severity, loss.rule) == ("dropped", "error", rule)
    assert "takes no media by URL" in loss.reason
    assert "fetch_media=True" in loss.reason
    assert done.value.messages[0].content[1] == TextBlock(
        "[image left out: this model takes no media by URL]"
    )


def test_media_by_url_inside_a_result_is_told_too() -> None:
    call = Message(Role.ASSISTANT, (ToolUseBlock("c1", "look", {}),))
    result = Message(Role.TOOL, (ToolResultBlock("c1", (BY_URL,)),))
    done = fitted("bedrock:amazon.nova-pro-v1:0", request(USER, call, result, tools=(tool(),)))
    told = [loss.path for loss in done.report if loss.rule == "bedrock-converse"]
    assert "$.messages[2].content[0].content[0]" in told


@pytest.mark.parametrize(
    "block",
    [PICTURE, ImageBlock(Source("url", "s3://bucket/a.png"), "image/png")],
)
def test_media_with_its_data_and_media_in_s3_stay(block: ImageBlock) -> None:
    done = fitted("bedrock:amazon.nova-pro-v1:0", request(Message(Role.USER, (block,))))
    assert done.value.messages[0].content == (block,)


def test_media_by_url_stays_where_no_rule_speaks_of_it() -> None:
    asked = request(Message(Role.USER, (BY_URL,)), max_output_tokens=9)
    assert fitted("anthropic:claude-opus-4-8", asked).value.messages == asked.messages
