"""Messages to turns and back."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.anthropic.tables import ROLES
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.model.blocks import AudioBlock, Source, TextBlock, ToolResultBlock, UnknownBlock
from interlingua.model.message import Message, Role
from tests.dialects.anthropic.wires import (
    CALL,
    assistant,
    body,
    losses,
    read,
    result,
    text,
    user,
    write,
)


def test_a_string_and_a_list_both_go_home_as_they_were() -> None:
    request = read(body({"role": "user", "content": "Hi"}, assistant(text("Hello"))))
    assert [m.role for m in request.messages] == [Role.USER, Role.ASSISTANT]
    assert request.messages[0].text == "Hi"


@pytest.mark.parametrize("blank", ["", [], None])
def test_blank_content_is_no_block_and_goes_home(blank: Any) -> None:
    request = read(body({"role": "user", "content": blank}))
    assert request.messages[0].content == ()
    assert read(body({"role": "system"})).messages[0].content == ()


def test_an_empty_text_part_is_a_block() -> None:
    assert read(body(user(text("")))).messages[0].content == (TextBlock(""),)


@pytest.mark.requirement("P39")
def test_later_instructions_stay_in_their_place() -> None:
    turns = [user(text("Hi")), {"role": "system", "content": [text("Be brief.")]}]
    request = read(body(*turns))
    assert [m.role for m in request.messages] == [Role.USER, Role.SYSTEM]
    assert write(*request.messages)[0]["messages"] == turns


def test_instructions_at_the_start_of_the_messages_are_not_hoisted() -> None:
    first = {"role": "system", "content": "Be brief."}
    request = read(body(first, user(text("Hi")), system="Be kind."))
    assert [m.text for m in request.messages] == ["Be kind.", "Be brief.", "Hi"]


@pytest.mark.requirement("S000-23")
@pytest.mark.parametrize("role", list(Role))
def test_each_role_has_its_turn(role: Role) -> None:
    block = ToolResultBlock("toolu_1") if role is Role.TOOL else TextBlock("Hi")
    wire, _ = write(Message.user("Before"), Message.assistant("x"), Message(role, (block,)))
    assert wire["messages"][-1]["role"] == ROLES[role]


@pytest.mark.requirement("S000-27", "S001-9")
def test_neighbours_of_one_role_share_a_turn() -> None:
    wire, report = write(Message.user("a"), Message.user("b"), Message.assistant("c"))
    assert wire["messages"] == [user(text("a"), text("b")), assistant(text("c"))]
    assert not report.entries


def test_turns_of_one_role_that_stood_apart_stay_apart() -> None:
    request = read(body(user(text("a")), user(text("b")), {"role": "user", "content": "c"}))
    assert [m.text for m in request.messages] == ["a", "b", "c"]


@pytest.mark.requirement("S000-24", "S002-91")
def test_results_are_messages_of_their_own_and_share_the_users_turn() -> None:
    turns = [
        user(text("Weather?")),
        assistant(CALL, {**CALL, "id": "toolu_2"}),
        user(result(), result(tool_use_id="toolu_2"), text("And?")),
    ]
    request = read(body(*turns))
    roles = [Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.USER]
    assert [m.role for m in request.messages] == roles
    assert request.messages[2].metadata.parent_tool_use_id == "toolu_1"


@pytest.mark.requirement("P23")
def test_text_before_results_keeps_its_place_on_the_way_home() -> None:
    request = read(body(user(text("Hi")), assistant(CALL), user(text("Here:"), result())))
    assert [m.role for m in request.messages[2:]] == [Role.USER, Role.TOOL]


def test_what_a_history_wrote_is_repeated_when_it_grows() -> None:
    history = (Message.user("a"), Message.assistant("b"), Message.user("c"))
    short, _ = write(*history)
    longer, _ = write(*history, Message.user("d"))
    assert longer["messages"][:2] == short["messages"][:2]
    assert longer["messages"][2]["content"][:1] == short["messages"][2]["content"]


def test_a_message_of_which_nothing_is_left_says_so() -> None:
    sound = AudioBlock(Source("base64", "UklGRg=="), "audio/wav")
    wire, report = write(Message.user(sound))
    assert wire["messages"] == [user(text(PLACEHOLDER))]
    path = "$.messages[0].content"
    assert losses(report) == [("dropped", f"{path}[0]"), ("downgraded", path)]


def test_an_empty_message_has_no_turn() -> None:
    wire, report = write(Message.user("a"), Message.assistant(()), Message.user("b"))
    assert wire["messages"] == [user(text("a"), text("b"))]
    assert losses(report) == [("dropped", "$.messages[1]")]


def test_a_name_is_a_loss() -> None:
    assert losses(write(Message.user("Hi", name="ada"))[1]) == [("dropped", "$.messages[0].name")]


def test_an_unknown_part_goes_home_and_nowhere_else() -> None:
    request = read(body(user({"type": "hologram", "data": "x"})))
    assert type(request.messages[0].content[0]) is UnknownBlock
    foreign = Message.user(UnknownBlock({"gemini": {"hologram": "x"}}))
    assert losses(write(foreign)[1])[0] == ("dropped", "$.messages[0].content[0]")
