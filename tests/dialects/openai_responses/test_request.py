"""Requests: instructions, roles, messages, and what continues."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.dialects.openai_responses import DIALECT
from interlingua.errors import ReadError
from interlingua.model.blocks import AudioBlock, Source, TextBlock
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message, Role
from tests.dialects.openai_responses.wires import (
    CALL,
    RESULT,
    answer,
    body,
    read,
    said,
    text,
    user,
    write,
)


def test_a_string_is_a_message_of_the_user() -> None:
    request = read({"model": "gpt-5", "input": "Hi"})
    assert request.messages == (Message.user("Hi"),)


def test_a_string_becomes_a_list_when_more_is_said() -> None:
    request = read({"model": "gpt-5", "input": "Hi"})
    longer = request.replace(messages=(*request.messages, Message.assistant("Hello")))
    wire = DIALECT.write_request(longer).wire
    assert wire["input"] == [user(), {"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize("given", ["", [], None])
def test_input_that_says_nothing_is_no_message(given: Any) -> None:
    assert read({"model": "gpt-5", "input": given}).messages == ()


@pytest.mark.parametrize("item", [user(), user([text("Hi")]), {**user(), "type": "message"}])
def test_a_message_goes_home_in_its_own_spelling(item: Any) -> None:
    assert read(body(item)).messages == (Message.user("Hi"),)


@pytest.mark.parametrize("content", ["", [], None])
def test_content_that_says_nothing_is_no_block(content: Any) -> None:
    assert read(body(user(content))).messages[0].content == ()
    read(body({"role": "user"}))


def test_an_empty_text_part_is_a_block() -> None:
    assert read(body(user([text("")]))).messages[0].content == (TextBlock(""),)


def test_ids_and_statuses_of_messages_go_home() -> None:
    read(body({"type": "message", "id": "msg_0", "status": "completed", **user([text("Hi")])}))
    read(body({"role": "assistant", "content": "Hi", "phase": "commentary"}, user()))
    read(body({"role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}))


@pytest.mark.requirement("S001-6")
def test_system_text_becomes_instructions() -> None:
    wire, losses = write(Message.system("Be brief."), Message.user("Hi"))
    assert wire == {"instructions": "Be brief.", "input": [user()]}
    assert losses == []
    assert read(wire).messages[0] == Message.system("Be brief.")


@pytest.mark.requirement("S000-14")
def test_every_role_has_its_place() -> None:
    """Only a first system text is `instructions`. Joining several into that one string would lose
    where each begins, and the wire has a role for the others."""
    messages = (
        Message.developer("a"),
        Message.system("b"),
        Message.user("c"),
        Message.assistant("d"),
    )
    wire, losses = write(*messages)
    roles = [(item["role"], item["content"]) for item in wire["input"]]
    assert roles == [("developer", "a"), ("system", "b"), ("user", "c"), ("assistant", "d")]
    assert losses == []


def test_system_text_in_the_list_stays_there() -> None:
    request = read(body({"role": "system", "content": "Be brief."}, user()))
    assert request.messages[0] == Message.system("Be brief.")


def test_instructions_and_system_text_are_two_messages() -> None:
    request = read(body({"role": "system", "content": "b"}, user(), instructions="a"))
    assert request.messages[:2] == (Message.system("a"), Message.system("b"))


@pytest.mark.requirement("P39")
def test_instructions_in_mid_conversation_stay_where_they_are() -> None:
    wire, losses = write(Message.user("Hi"), Message.system("Be brief."), Message.user("So?"))
    assert [item["role"] for item in wire["input"]] == ["user", "system", "user"]
    assert losses == []


def test_instructions_of_several_blocks_keep_them_apart() -> None:
    wire, losses = write(Message.system(["a", "b"]), Message.user("Hi"))
    assert wire["input"][0] == {"role": "system", "content": [text("a"), text("b")]}
    assert losses == []


@pytest.mark.parametrize("instructions", ["", None])
def test_instructions_that_say_nothing_are_no_message(instructions: Any) -> None:
    assert len(read(body(user(), instructions=instructions)).messages) == 1


@pytest.mark.requirement("S002-91")
def test_a_tool_round_is_said_item_by_item() -> None:
    from interlingua.model.blocks import ToolUseBlock

    wire, losses = write(
        Message.user("1 + 1?"),
        Message.assistant([TextBlock("I add."), ToolUseBlock("call_1", "add", {"a": 1})]),
        Message.tool_result("call_1", "2"),
        Message.assistant("It is 2."),
    )
    assert wire["input"] == [
        user("1 + 1?"),
        {"role": "assistant", "content": "I add."},
        CALL,
        RESULT,
        {"role": "assistant", "content": "It is 2."},
    ]
    assert losses == []


def test_text_of_another_model_is_a_plain_message_for_each_block() -> None:
    wire, _ = write(Message.assistant(["a", "b"]))
    assert wire["input"] == [{"role": "assistant", "content": word} for word in "ab"]


def test_the_models_own_message_is_written_in_its_own_form() -> None:
    request = read(body(answer(said("a"))))
    first = request.messages[0]
    edited = first.replace(content=(first.content[0].replace(text="b"),))
    wire = DIALECT.write_request(request.replace(messages=(edited,))).wire
    assert wire["input"] == [answer(said("b"))]


def test_names_of_participants_have_no_place() -> None:
    _, losses = write(Message.user("Hi", name="Ada"))
    assert losses == [("dropped", "$.messages[0].name")]


@pytest.mark.requirement("P26")
def test_a_message_of_which_nothing_is_left_is_a_placeholder() -> None:
    sound = AudioBlock(Source("base64", "AAAA"), "audio/wav")
    wire, losses = write(Message.user([sound]), Message.assistant([TextBlock("")]))
    assert [item["content"] for item in wire["input"]] == [PLACEHOLDER, PLACEHOLDER]
    assert ("dropped", "$.messages[0].content[0]") in losses
    assert ("dropped", "$.messages[1].content[0]") in losses


def test_history_that_the_provider_keeps_goes_home() -> None:
    request = read({"model": "m", "previous_response_id": "resp_1", "input": [RESULT]})
    assert request.continues == Continues(response_id="resp_1")
    assert read(body(user(), conversation="conv_1")).continues == Continues(
        conversation_id="conv_1"
    )
    assert read(body(user(), conversation={"id": "conv_1"})).continues is not None
    assert read({"prompt": {"id": "pmpt_1", "variables": {"a": "b"}}}).messages == ()


def test_a_token_of_another_provider_has_no_place() -> None:
    _, losses = write(Message.user("Hi"), continues=Continues(token="t"))
    assert losses == [("dropped", "$.continues.token")]


def test_what_only_this_dialect_understands_goes_home() -> None:
    read(
        body(
            user(), store=False, truncation="auto", prompt_cache_key="k", moderation={"model": "o"}
        )
    )
    read(body(user(), metadata={"n": 1}, background=None, context_management=[]))


def test_a_request_that_says_nothing_is_a_request() -> None:
    assert read({}) == Request()
    assert write() == ({}, [])


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({"input": 1}, "$.input"),
        ({"input": [1]}, "$.input[0]"),
        (body(user(1)), "$.input[0].content"),
        (body(user(["Hi"])), "$.input[0].content[0]"),
        (body(user([{"type": "input_text"}])), "$.input[0].content[0].text"),
        (body({"type": "function_call", "call_id": "c"}), "$.input[0].name"),
        (body(user(), tools={"a": 1}), "$.tools"),
        (body(user(), tools=[{"type": "function"}]), "$.tools[0].name"),
        (body(user(), instructions=[user()]), "$.instructions"),
        (body(user(), temperature="hot"), "$.temperature"),
        (body(user(), conversation={}), "$.conversation"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path == path
    assert caught.value.what == "openai-responses request"


def test_the_argument_is_never_changed() -> None:
    wire = body(user([text("Hi")]), CALL, RESULT, temperature=1)
    before = repr(wire)
    DIALECT.write_request(DIALECT.read_request(wire).replace(options=Options(temperature=0.5)))
    assert repr(wire) == before


def test_the_role_of_a_tool_message_is_told_by_its_item() -> None:
    assert [message.role for message in read(body(CALL, RESULT)).messages][-1] is Role.TOOL
