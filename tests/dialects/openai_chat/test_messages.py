"""Messages, two ways."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.kernel.words import ERROR_MARK, PLACEHOLDER
from interlingua.dialects.openai_chat import DIALECT
from interlingua.model.blocks import (
    Cache,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.message import Message, Role
from tests.dialects.openai_chat.wires import (
    CALL,
    assistant,
    body,
    first,
    image,
    losses,
    made,
    read,
    result,
    text,
    user,
    write,
)


@pytest.mark.requirement("S000-14")
def test_all_five_roles_keep_their_names() -> None:
    wire = body(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        user(),
        assistant(None, tool_calls=[CALL]),
        result(),
    )
    assert [message.role for message in read(wire).messages] == list(Role)


@pytest.mark.parametrize("content", ["Hi", [text("Hi")], [text("Hi"), text("you")], ["Hi"]])
def test_a_string_and_a_list_both_go_home_as_they_were(content: Any) -> None:
    assert first(user(content)).text.startswith("Hi")


@pytest.mark.parametrize("message", [user, assistant, result])
@pytest.mark.parametrize("blank", ["", [], None])
def test_blank_content_is_no_block_and_goes_home(message: Any, blank: Any) -> None:
    content = read(body(message(blank))).messages[0].content
    assert content in ((), (ToolResultBlock("call_1"),))


def test_missing_content_goes_home_missing() -> None:
    assert first({"role": "assistant", "tool_calls": [CALL]}).tool_calls[0].id == "call_1"
    assert first({"role": "user"}).content == ()


def test_an_empty_text_part_is_a_block() -> None:
    assert first(user([text("")])).content == (TextBlock(""),)
    wire, report = write(Message(Role.USER, (TextBlock(""),)))
    assert wire["messages"] == [user([text("")])]
    assert not report.entries


def test_one_text_is_written_as_a_string_and_several_as_parts() -> None:
    wire, _ = write(Message.user("a"), Message.user(["a", "b"]), Message.system("c"))
    assert [m["content"] for m in wire["messages"]] == ["a", [text("a"), text("b")], "c"]


@pytest.mark.requirement("P39")
def test_instructions_stay_where_they_stand() -> None:
    messages = (Message.user("a"), Message.system("Now be brief."), Message.developer("Be kind."))
    wire, report = write(*messages)
    assert [m["role"] for m in wire["messages"]] == ["user", "system", "developer"]
    assert not report.entries


def test_names_are_kept_on_every_role_but_tool() -> None:
    request = read(body(user(name="ann"), assistant(name="bot"), user(name=None)))
    assert [message.name for message in request.messages] == ["ann", "bot", None]
    _, report = write(Message.tool_result("call_1", "ok").replace(name="ann"))
    assert losses(report) == [("dropped", "$.messages[0].name")]


def test_an_unknown_part_goes_home_and_a_foreign_one_is_dropped() -> None:
    part = {"type": "hologram", "rays": [1]}
    assert first(user([text("a"), part])).content[1] == UnknownBlock({"openai-chat": part})
    wire, report = write(Message.user(["a", UnknownBlock({"gemini": {}})]))
    assert wire["messages"] == [user("a")] or wire["messages"] == [user([text("a")])]
    assert losses(report) == [("dropped", "$.messages[0].content[1]")]


def test_an_edit_of_the_text_is_written_where_the_text_was() -> None:
    request = read(body(user([text("Hi", prompt_cache_breakpoint={"mode": "explicit"})])))
    block = request.messages[0].content[0].replace(text="Bye")
    edited = request.replace(messages=(request.messages[0].replace(content=(block,)),))
    assert DIALECT.write_request(edited).wire["messages"] == [
        user([text("Bye", prompt_cache_breakpoint={"mode": "explicit"})])
    ]


def test_thinking_text_and_calls_have_an_order_of_their_own() -> None:
    call = ToolUseBlock("call_1", "f", {})
    wire, report = write(made(call, TextBlock("after")))
    assert wire["messages"][0]["content"] == "after"
    assert wire["messages"][0]["tool_calls"][0]["id"] == "call_1"
    assert losses(report) == [("moved", "$.messages[0].content[1]")]


def test_a_message_of_which_nothing_can_be_said_keeps_its_place() -> None:
    wire, report = write(made(VideoBlock(Source("url", "https://example.com/a.mp4"))))
    assert wire["messages"] == [assistant(PLACEHOLDER)]
    assert losses(report) == [
        ("dropped", "$.messages[0].content[0]"),
        ("downgraded", "$.messages[0].content"),
    ]


def test_an_assistant_message_with_nothing_in_it_has_empty_content() -> None:
    assert write(made())[0]["messages"] == [assistant("")]


def test_a_refusal_is_a_field_or_a_part() -> None:
    assert first(assistant(None, refusal="No.")).content == (RefusalBlock("No."),)
    part = {"type": "refusal", "refusal": "No."}
    assert first(assistant([part])).content == (RefusalBlock("No."),)
    assert write(made(RefusalBlock("No.")))[0]["messages"] == [assistant("", refusal="No.")]


def test_several_refusals_are_parts() -> None:
    wire, report = write(made(RefusalBlock("No."), RefusalBlock("Never.")))
    assert [part["refusal"] for part in wire["messages"][0]["content"]] == ["No.", "Never."]
    assert not report.entries


@pytest.mark.requirement("S002-91")
def test_each_result_is_a_tool_message_that_names_its_call() -> None:
    wire, report = write(
        made(ToolUseBlock("call_1", "f", {}), ToolUseBlock("call_2", "g", {"a": 1})),
        Message.tool_result("call_2", "two"),
        Message.tool_result("call_1", "one"),
    )
    assert [m.get("tool_call_id") for m in wire["messages"]] == [None, "call_2", "call_1"]
    calls = wire["messages"][0]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ["{}", '{"a":1}']
    assert not report.entries


@pytest.mark.requirement("P33")
@pytest.mark.parametrize("content", ["", "boom", ("boom", "twice")])
def test_a_failed_result_is_marked_and_the_mark_is_read_again(content: Any) -> None:
    failed = Message.tool_result("call_1", content, is_error=True)
    wire, report = write(failed)
    assert ERROR_MARK in str(wire)
    assert losses(report) == [("downgraded", "$.messages[0].content[0].is_error")]
    assert read(wire).messages[0].content == failed.content


@pytest.mark.parametrize("said", [ERROR_MARK, [text(ERROR_MARK)], [text(ERROR_MARK), text("")]])
def test_a_bare_mark_goes_home(said: Any) -> None:
    block = read(body(result(said))).messages[0].content[0]
    assert isinstance(block, ToolResultBlock)
    assert block.is_error


@pytest.mark.requirement("P34")
def test_pictures_in_results_have_no_place_but_go_home() -> None:
    picture = ImageBlock(Source("base64", "aGk="), "image/png")
    wire, report = write(Message.tool_result("call_1", ["seen", picture]))
    assert wire["messages"] == [result([text("seen")])]
    assert losses(report) == [("dropped", "$.messages[0].content[0].content[1]")]
    block = first(result([text("seen"), image()])).content[0]
    assert isinstance(block, ToolResultBlock)
    assert isinstance(block.content[1], ImageBlock)


def test_the_name_of_a_tool_message_is_the_tools() -> None:
    block = first(result(name="get_weather")).content[0]
    assert isinstance(block, ToolResultBlock)
    assert block.tool_name == "get_weather"
    _, report = write(Message.tool_result("call_1", "ok", tool_name="get_weather"))
    assert losses(report) == [("dropped", "$.messages[0].content[0].tool_name")]


@pytest.mark.requirement("P27")
@pytest.mark.parametrize("id", ["", None])
def test_a_result_without_an_id_answers_the_open_call_of_its_name(id: Any) -> None:
    calls = [CALL, {**CALL, "id": "call_2", "function": {"name": "other", "arguments": "{}"}}]
    lost = {"role": "tool", "tool_call_id": id, "name": "other", "content": "ok"}
    request = read(body(assistant(None, tool_calls=calls), lost, result()))
    answers = [message.content[0] for message in request.messages[1:]]
    assert [getattr(block, "tool_use_id", None) for block in answers] == ["call_2", "call_1"]


def test_a_cache_mark_after_a_result_moves_to_its_last_part() -> None:
    block = ToolResultBlock("call_1", (TextBlock("ok"),), cache=Cache())
    wire, report = write(Message.of_result(block))
    assert wire["messages"] == [result([text("ok", prompt_cache_breakpoint={"mode": "explicit"})])]
    assert losses(report) == [("moved", "$.messages[0].content[0].cache")]


def test_a_misplaced_block_in_a_tool_message_is_dropped() -> None:
    _, report = write(Message(Role.TOOL, (TextBlock("ok"),)))
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]
