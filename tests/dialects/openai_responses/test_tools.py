"""Tools, which of them may be called, and what changes them."""

from __future__ import annotations

from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import Request
from interlingua.model.message import Changes, Message, ResponseFormat, Role
from interlingua.model.tools import ToolDefinition
from tests.dialects.openai_responses.wires import CALL, RESULT, TOOL, body, read, user, write


def test_tools_that_come_later_are_tools() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "name": "late"}]}
    request = read(body(user(), later, user(), tools=[TOOL]))
    assert [tool.name for tool in request.tools] == ["add", "late"]
    assert request.messages[1] == Message(Role.SYSTEM, changes=Changes(("late",)))
    alone = request.replace(messages=())
    assert [tool["name"] for tool in DIALECT.write_request(alone).wire["tools"]] == ["add", "late"]


def test_tools_that_come_between_a_call_and_its_result_keep_their_place() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "name": "late"}]}
    wire = body(user(), CALL, later, RESULT, later, user())
    request = read(wire)
    assert [message.role.value for message in request.messages] == [
        *("user", "assistant", "tool", "system", "user")
    ]
    assert request.messages[1].changes == request.messages[3].changes == Changes(("late",))
    assert DIALECT.write_request(request).wire == wire


def test_tools_that_others_add_later_are_brought_by_an_item() -> None:
    tools = (ToolDefinition("add"), ToolDefinition("late"))
    more = Message(Role.SYSTEM, (TextBlock("Now with more."),), changes=Changes(("late",)))
    request = Request((Message.user("Hi"), more), "m", tools)
    wire = DIALECT.write_request(request).wire
    assert [tool["name"] for tool in wire["tools"]] == ["add"]
    assert wire["input"][1] == {"role": "system", "content": "Now with more."}
    assert wire["input"][2]["type"] == "additional_tools"
    assert [tool["name"] for tool in wire["input"][2]["tools"]] == ["late"]


def test_a_change_that_was_taken_back_is_not_written() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "name": "late"}]}
    update = {"type": "configuration_update", "id": "cu_1", "reasoning": {"effort": "low"}}
    request = read(body(user(), later, update))
    plain = tuple([each for each in request.messages if each.changes is None])
    edited = DIALECT.write_request(request.replace(messages=plain)).wire
    assert edited["input"] == [user()]
    assert [tool["name"] for tool in edited["tools"]] == ["late"]
    high = request.messages[2].replace(changes=Changes(effort="high"))
    wire = DIALECT.write_request(request.replace(messages=(*request.messages[:2], high))).wire
    assert wire["input"][2] == {**update, "reasoning": {"effort": "high"}}


def test_settings_in_mid_conversation_are_changes() -> None:
    form = {"type": "json_schema", "name": "out", "schema": {"type": "object"}, "strict": True}
    both = {
        "type": "configuration_update",
        "reasoning": {"effort": "low"},
        "text": {"format": form},
    }
    odd = {"type": "configuration_update", "reasoning": {"effort": "low", "pace": "slow"}}
    wire = body(user(), both, odd, user())
    request = read(wire)
    wanted = ResponseFormat("json_schema", "out", {"type": "object"}, True)
    changes = Changes(effort="low", response_format=wanted)
    assert request.messages[1] == Message(Role.SYSTEM, changes=changes)
    assert request.messages[2] == Message.user("Hi")
    raw = request.messages[1].metadata.provider_raw
    assert raw is not None
    assert "$asides" in raw["openai-responses"], "what has no field is a loss elsewhere"
    assert DIALECT.write_request(request).wire == wire


def test_changes_that_only_others_have_are_reported() -> None:
    changes = Changes(tools_removed=("add",), clear_at="next_user_message")
    message = Message(Role.SYSTEM, (TextBlock("Now"),), changes=changes)
    _, losses = write(Message.user("Hi"), message)
    assert [path for _, path in losses] == [
        "$.messages[1].changes.tools_removed",
        "$.messages[1].changes.clear_at",
    ]
