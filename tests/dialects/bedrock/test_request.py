"""Requests: turns, instructions, tools, and the body around them."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.bedrock import DIALECT
from interlingua.dialects.bedrock.tables import ROLES
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.errors import ReadError
from interlingua.model.blocks import (
    AudioBlock,
    Cache,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Continues
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from tests.dialects.bedrock.wires import (
    MODEL,
    POINT,
    SCHEMA,
    SPEC,
    TOOLS,
    assistant,
    body,
    losses,
    parts_of,
    read,
    result,
    text,
    user,
    write,
)

TOOL = ToolDefinition("get_weather", "Tells it.", SCHEMA)
USE = ToolUseBlock("tooluse_1", "get_weather", {"city": "Oslo"})


def test_roles_of_turns_are_roles_of_messages() -> None:
    request = read(body(user(text("Hi")), assistant(text("Hello")), user(text("And?"))))
    assert [m.role for m in request.messages] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert [m.text for m in request.messages] == ["Hi", "Hello", "And?"]
    assert request.messages[1].metadata.protocol == "bedrock"


@pytest.mark.parametrize("role", list(Role))
def test_the_table_of_roles_is_what_is_written(role: Role) -> None:
    block = ToolResultBlock("t", (TextBlock("a"),)) if role is Role.TOOL else TextBlock("a")
    wire, _ = write(Message.user("Hi"), Message.assistant("Hello"), Message(role, (block,)))
    assert wire["messages"][-1]["role"] == ROLES[role]


def test_model_and_stream_come_from_the_url() -> None:
    request = DIALECT.read_request(body(), MODEL, True)
    assert (request.model, request.options.stream) == (MODEL, True)
    written = DIALECT.write_request(request)
    assert (written.wire, written.model, written.stream) == (body(), MODEL, True)


def test_a_model_in_the_body_goes_home_and_can_be_changed() -> None:
    request = read(body(modelId="amazon.nova-lite-v1:0"))
    assert request.model == "amazon.nova-lite-v1:0"
    wire = DIALECT.write_request(request.replace(model=MODEL)).wire
    assert wire == body(modelId=MODEL)


# -- instructions ---------------------------------------------------------------------------------


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


# -- turns ----------------------------------------------------------------------------------------


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
    assert not report


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


# -- cache points ---------------------------------------------------------------------------------


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


def test_a_longer_time_than_there_is_becomes_the_longest() -> None:
    wire, report = write(Message.user([TextBlock("Hi", cache=Cache("12h"))]))
    assert wire["messages"][0]["content"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert losses(report) == [("approximated", "$.messages[0].content[0].cache")]


# -- errors ---------------------------------------------------------------------------------------


def test_history_that_a_provider_keeps_is_reported() -> None:
    _, report = write(Message.user("Hi"), continues=Continues(response_id="resp_1"))
    assert [(loss.path, loss.severity) for loss in report] == [("$.continues", "error")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({"messages": 5}, "$.messages"),
        (body({"role": "tool", "content": []}), "$.messages[0].role"),
        (body({"role": "user", "content": "Hi"}), "$.messages[0].content"),
        (body(user(text("a"), {"toolUse": {"name": 5}})), "$.messages[0].content[1].toolUse"),
        (body(user({"image": {"source": {"bytes": 5}}})), "$.messages[0].content[0].image.source"),
        (body(system=[{"text": 5}]), "$.system[0].text"),
        (body(toolConfig={"tools": [{"toolSpec": {"name": 1}}]}), "$.toolConfig.tools[0].toolSpec"),
        (body(inferenceConfig={"maxTokens": "many"}), "$.inferenceConfig.maxTokens"),
        (body(requestMetadata=[1]), "$.requestMetadata"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path.startswith(path)
    assert caught.value.what == "bedrock request"
