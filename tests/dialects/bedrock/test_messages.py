"""Messages: turns and instructions are lists of parts."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.bedrock import DIALECT
from interlingua.dialects.bedrock.tables import EMPTY_ERROR
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.model.blocks import (
    AudioBlock,
    Cache,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Changes, Message, Role
from interlingua.model.tools import ToolDefinition
from tests.dialects.bedrock.wires import (
    CALL,
    POINT,
    SCHEMA,
    SPEC,
    TOOLS,
    assistant,
    block_of,
    body,
    losses,
    parts_of,
    read,
    result,
    text,
    user,
    write,
)


def test_changes_of_the_tools_are_changes() -> None:
    added = {"toolAddition": {"tool": {"type": "toolSpec", "name": "get_weather"}}}
    removed = {"toolRemoval": {"tool": {"name": "add"}}}
    turn = {"role": "system", "content": [added, text("Now"), removed]}
    add = {"toolSpec": {"name": "add", "inputSchema": {"json": {"type": "object"}}}}
    wire = body(user(text("Hi")), turn, toolConfig={"tools": [*TOOLS["tools"], add]})
    request = read(wire)
    changes = Changes(("get_weather",), ("add",))
    assert request.messages[1] == Message(Role.SYSTEM, (TextBlock("Now"),), changes=changes)
    assert DIALECT.write_request(request).wire == wire
    fewer = request.messages[1].replace(changes=Changes(tools_removed=("add", "get_weather", "f")))
    written = DIALECT.write_request(request.replace(messages=(request.messages[0], fewer)))
    removal = {"toolRemoval": {"tool": {"name": "get_weather"}}}
    assert written.wire["messages"][1]["content"] == [text("Now"), removed, removal]
    assert losses(written.report) == [("dropped", "$.messages[1].changes.tools_removed")]


def test_unknown_parts_go_home_and_those_of_others_do_not_come() -> None:
    part = {"futureContent": {"a": 1}}
    assert block_of(part) == UnknownBlock({"bedrock": part})
    other = UnknownBlock({"gemini": {"future": 1}})
    _, report = write(Message(Role.USER, (TextBlock("Hi"), other)))
    assert losses(report) == [("dropped", "$.messages[0].content[1]")]


TOOL = ToolDefinition("get_weather", "Tells it.", SCHEMA)

USE = ToolUseBlock("tooluse_1", "get_weather", {"city": "Oslo"})


def test_roles_of_turns_are_roles_of_messages() -> None:
    request = read(body(user(text("Hi")), assistant(text("Hello")), user(text("And?"))))
    assert [m.role for m in request.messages] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert [m.text for m in request.messages] == ["Hi", "Hello", "And?"]
    assert request.messages[1].metadata.protocol == "bedrock"


@pytest.mark.requirement("S000-22", "S001-7")
def test_leading_instructions_are_the_system_field() -> None:
    wire, report = write(Message.system("Be brief."), Message.developer("Be kind."))
    assert wire == {"system": [text("Be brief."), text("Be kind.")], "messages": []}
    assert losses(report) == [("downgraded", "$.messages[1].role")]


def test_the_system_field_is_one_message() -> None:
    first = read(body(system=[text("Be brief."), text("Be kind."), POINT])).messages[0]
    assert first.role is Role.SYSTEM
    assert first.content == (TextBlock("Be brief."), TextBlock("Be kind.", cache=Cache()))


@pytest.mark.requirement("P39")
def test_instructions_in_mid_conversation_stay_in_their_place() -> None:
    later = {"role": "system", "content": [text("Be brief.")]}
    request = read(body(user(text("Hi")), assistant(text("Hello")), later, user(text("And?"))))
    assert [m.role.value for m in request.messages] == ["user", "assistant", "system", "user"]
    wire, _ = write(Message.user("Hi"), Message.assistant("Hello"), Message.system("Be brief."))
    assert wire["messages"][-1] == later


def test_a_system_turn_at_the_start_of_the_list_stays_in_the_list() -> None:
    first = {"role": "system", "content": [text("Be brief.")]}
    assert read(body(first, user(text("Hi")))).messages[0].role is Role.SYSTEM
    assert len(read(body(first, first, user(text("Hi")), system=[text("A")])).messages) == 4


def test_instructions_hold_plain_text_alone() -> None:
    image = AudioBlock(Source("base64", "AAAA"), "audio/wav")
    wire, report = write(Message(Role.SYSTEM, (image,)), Message.user("Hi"))
    assert "system" not in wire
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


@pytest.mark.requirement("S000-24", "S000-27", "S001-9")
def test_neighbours_of_one_role_become_one_turn() -> None:
    wire, report = write(
        Message.user("Hi"),
        Message.user("Are you there?"),
        Message.assistant([USE]),
        Message.tool_result("tooluse_1", "12 degrees"),
        Message.user("And?"),
        tools=(TOOL,),
    )
    assert [turn["role"] for turn in wire["messages"]] == ["user", "assistant", "user"]
    assert wire["messages"][0]["content"] == [text("Hi"), text("Are you there?")]
    assert wire["messages"][2]["content"] == [result(), text("And?")]
    assert not report.entries


def test_two_turns_of_one_role_stay_two() -> None:
    request = read(body(user(text("Hi")), user(text("Are you there?"))))
    assert [m.text for m in request.messages] == ["Hi", "Are you there?"]


@pytest.mark.requirement("P23")
def test_results_are_messages_of_their_own_in_the_order_of_the_turn() -> None:
    turn = user(text("Wait."), result(), result(id="tooluse_2"), text("And?"))
    messages = read(body(turn, toolConfig=TOOLS)).messages
    roles = [Role.USER, Role.TOOL, Role.TOOL, Role.USER]
    assert [m.role for m in messages] == roles
    assert messages[1].metadata.parent_tool_use_id == "tooluse_1"


def test_an_empty_turn_goes_home_and_an_empty_message_is_not_said() -> None:
    assert read(body(user(), assistant(text("Hello")))).messages[0].content == ()
    assert write(Message.user("Hi"), Message.assistant(()))[0] == body(user(text("Hi")))


@pytest.mark.requirement("P26")
def test_empty_text_is_not_sent_but_goes_home() -> None:
    wire, report = write(Message.user([TextBlock(""), TextBlock("Hi")]))
    assert wire == body(user(text("Hi")))
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]
    assert read(body(user(text(""), text("Hi")))).messages[0].content[0] == TextBlock("")


def test_a_message_of_which_nothing_can_be_said_leaves_a_placeholder() -> None:
    wire, report = write(Message.user([TextBlock("")]))
    assert wire == body(user(text(PLACEHOLDER)))
    assert losses(report)[-1] == ("downgraded", "$.messages[0].content")


def test_what_stands_beside_parts_goes_home() -> None:
    turn = {"role": "user", "content": [{"type": "text", "text": "Hi"}], "note": {"a": 1}}
    message = read(body(turn)).messages[0]
    assert message.content == (TextBlock("Hi"),)
    assert message.metadata.provider_raw == {"bedrock": {"note": {"a": 1}}}


@pytest.mark.requirement("P38")
def test_a_cache_point_belongs_to_the_part_before_it() -> None:
    hour = {"cachePoint": {"type": "default", "ttl": "1h"}}
    message = read(body(user(text("Long."), hour, text("Short.")))).messages[0]
    assert message.content == (TextBlock("Long.", cache=Cache("1h")), TextBlock("Short."))
    assert parts_of(Message.user([TextBlock("Long.", cache=Cache())])) == [text("Long."), POINT]


@pytest.mark.parametrize(
    "parts",
    [
        [POINT],
        [POINT, POINT, {"text": "Hi"}],
        [{"text": "Hi"}, POINT, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        [{"text": "Hi"}, {"cachePoint": {"type": "default", "ttl": "9h", "more": 1}}],
    ],
)
def test_cache_points_that_stand_oddly_go_home(parts: list[Any]) -> None:
    read(body(user(*parts), system=parts, toolConfig={"tools": [POINT, {"toolSpec": SPEC}, POINT]}))


def test_input_that_is_no_object_goes_home() -> None:
    for value in ('{"city": "Oslo"}', [1], None, 5):
        part = {"toolUse": {"toolUseId": "t", "name": "f", "input": value, "type": "tool_use"}}
        block = block_of(part, "assistant")
        assert isinstance(block, ToolUseBlock)
        assert block.input == ({"city": "Oslo"} if isinstance(value, str) else {})


@pytest.mark.requirement("P40")
def test_calls_that_the_service_ran_stay_in_their_turn_with_their_results() -> None:
    use = {**CALL["toolUse"], "type": "server_tool_use"}
    ran = {"toolUseId": "tooluse_1", "content": [text("4")], "type": "nova_code_result"}
    message = read(body(assistant({"toolUse": use}, {"toolResult": ran}, text("Four.")))).messages
    call, answer, words = message[0].content
    assert isinstance(call, ToolUseBlock)
    assert call.executor == "provider"
    assert isinstance(answer, ToolResultBlock)
    assert answer.raw == {"bedrock": {"type": "nova_code_result"}}
    assert words == TextBlock("Four.")


@pytest.mark.requirement("P33")
def test_the_error_flag_is_the_status_both_ways() -> None:
    failed = block_of(result(status="error"))
    assert isinstance(failed, ToolResultBlock)
    assert failed.is_error
    good = block_of(result(status="success"))
    assert isinstance(good, ToolResultBlock)
    assert not good.is_error
    content = parts_of(Message.tool_result("tooluse_1", "12 degrees", is_error=True))
    assert content == [result(status="error")]


def test_a_failed_result_is_never_empty() -> None:
    content = parts_of(Message.tool_result("tooluse_1", is_error=True))
    assert content == [result(text(EMPTY_ERROR), status="error")]
    empty = {"toolResult": {"toolUseId": "tooluse_1", "content": [], "status": "error"}}
    assert block_of(empty) == ToolResultBlock("tooluse_1", is_error=True)


def test_a_json_result_is_text_and_json_again() -> None:
    request = read(body(user(result({"json": {"a": [1, 2.5, None]}})), toolConfig=TOOLS))
    block = request.messages[0].content[0]
    assert isinstance(block, ToolResultBlock)
    inner = block.content[0]
    assert inner == TextBlock('{"a":[1,2.5,null]}')
    changed = block.replace(content=(inner.replace(text="none"),))
    message = request.messages[0].replace(content=(changed,))
    wire = DIALECT.write_request(request.replace(messages=(message,))).wire
    assert wire["messages"][0]["content"] == [result(text("none"))]
