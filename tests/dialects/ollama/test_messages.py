"""Messages: one text with thinking, images and calls beside it."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.kernel.words import ERROR_MARK
from interlingua.dialects.ollama import DIALECT
from interlingua.model.blocks import ImageBlock, Source, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.ids import is_synthetic_tool_id
from interlingua.model.message import Message
from tests.dialects.ollama.wires import (
    CALL,
    PNG,
    assistant,
    body,
    losses,
    read,
    result,
    said,
    write,
)

USE = ToolUseBlock("call_1", "get_weather", {"city": "Oslo"})


def calls_of(message: Message) -> list[ToolUseBlock]:
    return [block for block in message.content if isinstance(block, ToolUseBlock)]


def result_of(message: Message) -> ToolResultBlock:
    block = message.content[0]
    assert isinstance(block, ToolResultBlock)
    return block


def test_a_call_has_an_object_for_its_arguments() -> None:
    request = read(body(assistant(tool_calls=[CALL]), result(tool_call_id="call_abcdefgh")))
    call = calls_of(request.messages[0])[0]
    assert call == ToolUseBlock("call_abcdefgh", "get_weather", {"city": "Oslo"})
    assert result_of(request.messages[1]).tool_use_id == "call_abcdefgh"


@pytest.mark.parametrize(
    "function",
    [
        {"name": "f", "arguments": {}, "index": 2, "more": 1},
        {"name": "f", "arguments": None},
        {"name": "f"},
        {"name": "f", "arguments": '{"a": 1'},
    ],
)
def test_calls_of_every_spelling_go_home(function: dict[str, Any]) -> None:
    read(body(assistant(tool_calls=[{"type": "function", "function": function}])))


def test_arguments_in_broken_json_are_recovered_and_reported() -> None:
    broken = {"id": "c", "function": {"name": "f", "arguments": '{"a": 1'}}
    message = read(body(assistant(tool_calls=[broken]))).messages[0]
    assert calls_of(message)[0].input == {"a": 1}
    assert [each.type for each in message.metadata.diagnostics] == ["tool_arguments_recovered"]


@pytest.mark.requirement("P19", "P20", "P27")
def test_calls_without_ids_get_distinct_ones_that_are_never_written() -> None:
    bare = {"function": {"name": "f", "arguments": {}}}
    wire = body(
        assistant(tool_calls=[bare, bare, {**bare, "id": ""}]),
        *(result(str(n), tool_name="f") for n in range(3)),
    )
    messages = read(wire).messages
    ids = [call.id for call in calls_of(messages[0])]
    assert len(set(ids)) == 3
    assert all(map(is_synthetic_tool_id, ids))
    assert [result_of(each).tool_use_id for each in messages[1:]] == ids


@pytest.mark.requirement("P21")
def test_a_result_without_an_id_answers_the_first_open_call_of_its_name() -> None:
    other = {"id": "call_2", "function": {"name": "get_time", "arguments": {}}}
    wire = body(
        assistant(tool_calls=[CALL, other]),
        result("noon", tool_name="get_time"),
        result("12 degrees"),
        result("lost", tool_name="get_time"),
    )
    ids = [result_of(each).tool_use_id for each in read(wire).messages[1:]]
    assert ids[:2] == ["call_2", "call_abcdefgh"]
    assert is_synthetic_tool_id(ids[2])


def test_a_result_says_both_the_name_and_the_id_of_its_call() -> None:
    listed = said(Message.assistant([USE]), Message.tool_result("call_1", "12 degrees"))
    assert listed[1] == result(tool_name="get_weather", tool_call_id="call_1")


def test_an_id_that_is_changed_is_written() -> None:
    request = read(body(assistant(tool_calls=[CALL]), result(tool_name="get_weather")))
    block = result_of(request.messages[1]).replace(tool_use_id="call_x")
    changed = (request.messages[0], Message.of_result(block))
    wire = DIALECT.write_request(request.replace(messages=changed)).wire
    assert wire["messages"][1]["tool_call_id"] == "call_x"


@pytest.mark.requirement("P33")
def test_a_failed_result_is_marked_and_known_again() -> None:
    wire, report = write(
        Message.assistant([USE]), Message.tool_result("call_1", "No such city.", is_error=True)
    )
    assert wire["messages"][1]["content"] == f"{ERROR_MARK}No such city."
    assert losses(report) == [("downgraded", "$.messages[1].content[0].is_error")]
    again = result_of(read(wire).messages[1])
    assert (again.is_error, again.content) == (True, (TextBlock("No such city."),))


@pytest.mark.requirement("P34")
def test_a_result_holds_images_beside_its_text() -> None:
    image = ImageBlock(Source("base64", PNG), "image/png")
    shown = Message.of_result(ToolResultBlock("call_1", (TextBlock("Here."), image)))
    listed = said(Message.assistant([USE]), shown)
    assert listed[1]["images"] == [PNG]
    assert result_of(read(body(*listed)).messages[1]).content == (TextBlock("Here."), image)


@pytest.mark.requirement("P40")
def test_what_a_provider_ran_has_no_place() -> None:
    search = ToolUseBlock("srv_1", "web_search", {}, executor="provider")
    found = ToolResultBlock("srv_1", (TextBlock("A"),))
    wire, report = write(Message.assistant([search, found, TextBlock("So.")]))
    assert wire["messages"] == [assistant("So.")]
    assert ("dropped", "$.messages[0].content[0]") in losses(report)
    assert ("dropped", "$.messages[0].content[1]") in losses(report)
