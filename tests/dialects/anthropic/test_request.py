"""Requests: turns, instructions, and what else a body says."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.anthropic import DIALECT
from interlingua.dialects.anthropic.tables import DEFAULT_MAX_TOKENS, ROLES
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.errors import ReadError
from interlingua.model.blocks import AudioBlock, Source, TextBlock, ToolResultBlock, UnknownBlock
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message, Role
from tests.dialects.anthropic.wires import (
    CALL,
    TOOL,
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


@pytest.mark.requirement("S000-22", "S001-7")
def test_one_text_of_instructions_is_the_system_string() -> None:
    wire, report = write(Message.system("Be brief."), Message.user("Hi"))
    assert wire["system"] == "Be brief."
    assert losses(report) == []
    for system in ("Be brief.", [text("Be brief.")]):
        assert write(*read(body(system=system)).messages)[0]["system"] == system


@pytest.mark.requirement("S000-22", "S001-7")
def test_leading_instructions_are_one_system_field() -> None:
    wire, report = write(Message.system("Be brief."), Message.developer("Be kind."))
    assert wire["system"] == [text("Be brief."), text("Be kind.")]
    assert wire["messages"] == []
    assert losses(report) == [("downgraded", "$.messages[1].role")]


@pytest.mark.parametrize("system", ["Be brief.", [text("Be"), text("brief.")]])
def test_the_system_field_is_one_message(system: Any) -> None:
    first = read(body(system=system)).messages[0]
    assert (first.role, first.text.replace(" ", "")) == (Role.SYSTEM, "Bebrief.")


@pytest.mark.parametrize("system", ["", [], None])
def test_a_blank_system_field_is_no_message(system: Any) -> None:
    assert [m.role for m in read(body(system=system)).messages] == [Role.USER]


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
    assert not report


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


def test_keys_we_do_not_know_are_kept_where_they_were() -> None:
    turn = {**user(text("Hi")), "clear_at": "never", "nothing": None}
    request = read(body(turn, container="container_1", context_management={"edits": []}))
    assert request.raw is not None
    assert request.raw["anthropic"]["container"] == "container_1"


def test_other_dialects_raw_is_a_loss_and_their_spelling_is_not() -> None:
    raw = {"openai-chat": {"store": True, "$form": {"n": None}}}
    written = DIALECT.write_request(
        Request((Message.user("Hi"),), "m", options=Options(max_output_tokens=9), raw=raw)
    )
    assert losses(written.report) == [("dropped", "$.raw.openai-chat.store")]


def test_other_hosts_have_the_model_in_the_url() -> None:
    wire = body(anthropic_version="bedrock-2023-05-31")
    del wire["model"]
    request = DIALECT.read_request(wire, model="anthropic.claude", stream=True)
    assert (request.model, request.options.stream) == ("anthropic.claude", True)
    written = DIALECT.write_request(request.replace(model="another"))
    assert (written.wire, written.model, written.stream) == (wire, "another", True)
    read(wire)


def test_a_thread_goes_on_from_a_message() -> None:
    thread = {"type": "continue", "previous_message_id": "msg_0"}
    assert read(body(thread=thread)).continues == Continues(response_id="msg_0")
    assert read(body(thread={"type": "create"})).continues is None
    limited = Options(max_output_tokens=9)
    request = Request(options=limited, continues=Continues(response_id="resp_0"))
    report = DIALECT.write_request(request).report
    assert [(loss.path, loss.severity) for loss in report] == [("$.continues", "error")]


def test_a_limit_is_filled_in_where_none_is_given() -> None:
    assert write(Message.user("Hi"))[0]["max_tokens"] == DEFAULT_MAX_TOKENS
    wire = body()
    del wire["max_tokens"]
    assert read(wire).options.max_output_tokens is None


def test_an_unknown_part_goes_home_and_nowhere_else() -> None:
    request = read(body(user({"type": "hologram", "data": "x"})))
    assert type(request.messages[0].content[0]) is UnknownBlock
    foreign = Message.user(UnknownBlock({"gemini": {"hologram": "x"}}))
    assert losses(write(foreign)[1])[0] == ("dropped", "$.messages[0].content[0]")


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({"messages": {}}, "$.messages"),
        (body({"role": "tool", "content": "x"}), "$.messages[0].role"),
        (body(user(text("a")), user(text("a"), 5)), "$.messages[1].content[1]"),
        (body(user({"type": "text"})), "$.messages[0].content[0].text"),
        (
            body(user(result([text("a"), {"type": "text"}]))),
            "$.messages[0].content[0].content[1].text",
        ),
        (body(assistant({**CALL, "input": "{}"})), "$.messages[0].content[0].input"),
        (body(tools=[TOOL, {"name": 7}]), "$.tools[1].name"),
        (body(max_tokens="many"), "$.max_tokens"),
        (body(model=7), "$.model"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path == path
