"""Tool calls, tool definitions, and the choice among tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT
from interlingua.errors import WriteError
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.exchange import Options, Request, ToolChoice
from interlingua.model.ids import is_synthetic_tool_id
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from tests.dialects.openai_chat.wires import (
    CALL,
    FUNCTION,
    SCHEMA,
    TOOL,
    answer,
    assistant,
    body,
    first,
    losses,
    made,
    read,
    read_answer,
    result,
    user,
    write,
)


def call(arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {**CALL, "function": {"name": "f", "arguments": arguments}, **more}


def called(*calls: Any) -> list[ToolUseBlock]:
    return first(assistant(None, tool_calls=list(calls))).tool_calls


# Calls


def test_arguments_are_an_object_and_their_text_is_kept_where_it_is_spelled_otherwise() -> None:
    compact, spaced = called(call('{"a":1}'), call('{"a": 1}'))
    assert compact.input == spaced.input == {"a": 1}
    assert (compact.raw_arguments, spaced.raw_arguments) == (None, '{"a": 1}')


@pytest.mark.parametrize("text", ['{"a":": x"}', '{"a":"\\": x"}', '{"a:": 1}', "{}", " {} "])
def test_compact_text_is_told_from_any_other(text: str) -> None:
    (block,) = called(call(text))
    compact = json.dumps(json.loads(text), separators=(",", ":"))
    assert block.raw_arguments == (None if compact == text else text)


@pytest.mark.parametrize(
    ("text", "mode", "given"),
    [
        ("", "strict", {}),
        ('{"a": "b', "closed", {"a": "b"}),
        ('{"a": "\\x"}', "repaired", {"a": "\\x"}),
        ("nothing", "invalid", {}),
        ("[1]", "invalid", {}),
    ],
)
def test_bad_arguments_are_recovered_kept_and_reported(text: str, mode: str, given: Any) -> None:
    message = first(assistant(None, tool_calls=[call(text)]))
    (block,) = message.tool_calls
    assert (block.input, block.raw_arguments) == (given, text)
    collected = [each.details for each in message.metadata.diagnostics]
    expected = [] if mode == "strict" else [{"mode": mode, "tool_use_id": "call_1"}]
    assert collected == expected


def test_edited_input_is_written_instead_of_the_text_that_was_read() -> None:
    (block,) = called(call('{"a": 1}'))
    wire, _ = write(made(block.replace(input={"a": True})))
    assert wire["messages"][0]["tool_calls"][0]["function"]["arguments"] == '{"a":true}'


def test_input_that_json_cannot_say_is_an_error() -> None:
    with pytest.raises(WriteError):
        write(made(ToolUseBlock("call_1", "f", {"a": float("nan")})))


@pytest.mark.parametrize(
    "odd",
    [
        call({"a": 1}),
        call(None),
        {"id": "call_1", "function": {"name": "f"}},
        {**call(), "type": None},
        {**call(), "index": 0},
        {**call(), "index": 7},
        {**call(), "type": "mystery"},
        {**call(), "custom": {"name": "", "input": ""}},
        {**call(), "cache_control": {"type": "ephemeral"}},
        {"id": "call_1", "type": "custom", "custom": {"name": "f"}},
    ],
)
def test_calls_of_every_shape_go_home(odd: dict[str, Any]) -> None:
    assert called(odd)[0].name == "f"


def test_a_call_of_an_unknown_kind_goes_home_among_the_calls() -> None:
    odd = {"id": "call_2", "type": "remote", "remote": {"a": 1}}
    content = first(assistant("Hi", tool_calls=[call(), odd, call()])).content
    assert [type(block) for block in content[1:]] == [ToolUseBlock, UnknownBlock, ToolUseBlock]


@pytest.mark.requirement("P19", "P20")
def test_calls_without_an_id_get_distinct_ones_that_are_not_written() -> None:
    nameless = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    ids = [block.id for block in called(nameless, nameless, {**nameless, "id": ""})]
    assert len(set(ids)) == 3
    assert all(is_synthetic_tool_id(id) for id in ids)


def test_custom_calls_take_free_text() -> None:
    custom = {"id": "call_1", "type": "custom", "custom": {"name": "patch", "input": "*** x"}}
    block = ToolUseBlock("call_1", "patch", {"input": "*** x"}, call_type="custom")
    assert called(custom) == [block]
    assert write(made(block))[0]["messages"][0]["tool_calls"] == [custom]


def test_a_call_of_a_kind_that_is_not_here_is_sent_as_a_function() -> None:
    wire, report = write(made(ToolUseBlock("call_1", "f", {"a": 1}, call_type="computer")))
    assert wire["messages"][0]["tool_calls"] == [call('{"a":1}')]
    assert losses(report) == [("downgraded", "$.messages[0].content[0].call_type")]


@pytest.mark.requirement("P40")
def test_calls_that_another_provider_ran_are_dropped_with_their_results() -> None:
    hosted = ToolUseBlock("s1", "web_search", {}, executor="provider")
    wire, report = write(made("Found.", hosted, ToolResultBlock("s1")))
    assert wire["messages"] == [assistant("Found.")]
    assert [kind for kind, _ in losses(report)] == ["dropped", "dropped"]


@pytest.mark.requirement("P7")
def test_googles_signature_is_the_calls() -> None:
    extra = {"google": {"thought_signature": "Ag==", "more": 1}, "other": 2}
    message = first(assistant(None, tool_calls=[call(extra_content=extra)]))
    assert message.tool_calls[0].signature == "Ag=="
    assert message.metadata.protocol == "gemini"
    _, report = write(made(ToolUseBlock("call_1", "f", {}, signature="Ag==")))
    assert losses(report) == [("dropped", "$.messages[0].content[0].signature")]


def test_googles_signature_beside_the_content_is_that_of_its_first_block() -> None:
    extra = {"google": {"thought": True, "thought_signature": "Ag=="}}
    message = first(assistant("Noon.", extra_content=extra, thought_signature="Ag=="))
    assert message.content[0].signature == "Ag=="  # type: ignore[union-attr]
    assert message.metadata.protocol == "gemini"


# The legacy function call


def test_a_function_call_and_its_result_are_a_call_and_its_result() -> None:
    request = read(
        body(
            user(),
            assistant(None, function_call={"name": "f", "arguments": '{"a":1}'}),
            {"role": "function", "name": "f", "content": "ok"},
            functions=[FUNCTION],
            function_call={"name": "get_weather"},
        )
    )
    made_call, answered = (message.content[0] for message in request.messages[1:])
    assert isinstance(made_call, ToolUseBlock)
    assert isinstance(answered, ToolResultBlock)
    assert made_call.id == answered.tool_use_id
    assert answered.tool_name == "f"
    assert request.tools == (ToolDefinition("get_weather", "Tells the weather.", SCHEMA),)
    assert request.options.tool_choice == ToolChoice("any", ("get_weather",))


@pytest.mark.parametrize("choice", ["auto", "none", {"name": "f"}, {"odd": 1}])
def test_every_legacy_choice_goes_home(choice: Any) -> None:
    read(body(functions=[FUNCTION], function_call=choice))


def test_groq_tells_which_tools_it_ran() -> None:
    ran = {"index": 0, "type": "search", "arguments": '{"query": "x"}', "output": "Found."}
    ran["search_results"] = {"results": []}
    message = read_answer(answer(assistant("So.", executed_tools=[ran]))).message
    hosted, found, _ = message.content
    assert isinstance(hosted, ToolUseBlock)
    assert (hosted.name, hosted.executor, hosted.input) == ("search", "provider", {"query": "x"})
    assert isinstance(found, ToolResultBlock)
    assert found.tool_use_id == hosted.id


# Definitions


# Choice


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        ("auto", ToolChoice()),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("any")),
        ("any", ToolChoice("any")),
        ({"type": "function", "function": {"name": "f"}}, ToolChoice("any", ("f",))),
        ({"type": "custom", "custom": {"name": "f"}}, ToolChoice("any", ("f",))),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [
                        {"type": "function", "function": {"name": "f"}},
                        {"type": "custom", "custom": {"name": "g"}},
                    ],
                },
            },
            ToolChoice("auto", ("f", "g")),
        ),
        ("mystery", None),
        ({"type": "mystery"}, None),
        (None, None),
    ],
)
def test_every_form_of_choice(choice: Any, meant: ToolChoice | None) -> None:
    assert read(body(tools=[TOOL], tool_choice=choice)).options.tool_choice == meant


def test_a_choice_is_written_in_its_shortest_form() -> None:
    def written(choice: ToolChoice, *tools: ToolDefinition) -> Any:
        request = Request((Message.user("a"),), tools=tools, options=Options(tool_choice=choice))
        return DIALECT.write_request(request).wire["tool_choice"]

    custom = ToolDefinition("g", kind="custom")
    assert written(ToolChoice("any")) == "required"
    assert written(ToolChoice("any", ("f",)))["type"] == "function"
    assert written(ToolChoice("any", ("g",)), custom)["type"] == "custom"
    assert written(ToolChoice("any", ("f", "g")), custom)["allowed_tools"]["mode"] == "required"


def test_a_choice_of_none_among_some_says_none() -> None:
    wire, report = write(Message.user("a"), options=Options(tool_choice=ToolChoice("none", ("f",))))
    assert wire["tool_choice"] == "none"
    assert losses(report) == [("dropped", "$.options.tool_choice.names")]


def test_parallel_results_pair_by_id_in_any_order() -> None:
    second = {**CALL, "id": "call_2"}
    request = read(
        body(assistant(None, tool_calls=[CALL, second]), result("b", "call_2"), result("a"))
    )
    ids = [getattr(message.content[0], "tool_use_id", None) for message in request.messages[1:]]
    assert ids == ["call_2", "call_1"]
