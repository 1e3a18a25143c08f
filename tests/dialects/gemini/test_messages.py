"""Contents, to messages and back."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.history.retell import retell
from interlingua.dialects.gemini import DIALECT
from interlingua.dialects.kernel.words import PLACEHOLDER, SYSTEM_MARK
from interlingua.model.blocks import RedactedThinkingBlock, Source, TextBlock, VideoBlock
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from tests.dialects.gemini.wires import body, call, losses, model, read, result, text, user, write


@pytest.mark.requirement("S000-17", "S000-18")
def test_user_and_model_turns_are_user_and_assistant_messages() -> None:
    request = read(body(user(text("Hi")), model(text("Hello"))))
    assert [m.role for m in request.messages] == [Role.USER, Role.ASSISTANT]
    assert [m.text for m in request.messages] == ["Hi", "Hello"]
    assert request.messages[1].metadata.protocol == "gemini"


@pytest.mark.requirement("S001-8", "S000-16")
def test_each_of_the_five_roles_has_its_place() -> None:
    wire, report = write(
        Message.system("Be brief."),
        Message.developer("Be kind."),
        Message.user("Weather?"),
        Message.assistant([TextBlock("Let me see.")]),
        Message.tool_result("c1", "Rain", tool_name="weather"),
    )
    assert wire["systemInstruction"] == {"parts": [text("Be brief."), text("Be kind.")]}
    assert wire["contents"] == [
        user(text("Weather?")),
        model(text("Let me see.")),
        user(result({"output": "Rain"}, id="c1")),
    ]
    assert losses(report) == [("downgraded", "$.messages[1].role")]


@pytest.mark.parametrize(
    "system",
    [
        {"parts": [text("Be brief.")]},
        {"parts": [text("Be"), text("brief.")], "role": "user"},
        {"parts": text("Be brief."), "role": "system"},
        {"parts": [text("Be brief.", thought=False)], "role": None, "extra": 1},
        "Be brief.",
    ],
)
@pytest.mark.requirement("S000-16")
def test_instructions_are_a_leading_system_message(system: Any) -> None:
    first = read(body(systemInstruction=system)).messages[0]
    assert first.role is Role.SYSTEM
    assert first.text.replace(" ", "") == "Bebrief."


@pytest.mark.parametrize("system", ["", {}, {"parts": []}, {"parts": None}, None])
def test_blank_instructions_go_home(system: Any) -> None:
    messages = read(body(systemInstruction=system)).messages
    assert all(not m.content for m in messages[:-1])


@pytest.mark.requirement("P39")
def test_later_instructions_stay_where_they_were() -> None:
    history = (Message.user("Hi"), Message.assistant("Hello"), Message.system("Be brief."))
    outcome = retell(Request(history), DIALECT)
    wire = DIALECT.write_request(outcome.value, outcome.recorder).wire
    assert "systemInstruction" not in wire
    assert wire["contents"][2] == user(text(f"{SYSTEM_MARK}Be brief."))
    direct, report = write(*history)
    assert direct == wire
    assert losses(report) == [("downgraded", "$.messages[2].role")]


@pytest.mark.parametrize("role", ["function", "tool", "narrator", "", None])
def test_other_role_words_are_the_users_side_and_go_home(role: str | None) -> None:
    contents = [user(text("Hi")), model(call()), {"role": role, "parts": [result({"output": "x"})]}]
    assert [m.role for m in read(body(*contents)).messages][2] is Role.TOOL
    del contents[2]["role"]
    assert read(body(*contents)).messages[2].role is Role.TOOL


def test_two_turns_of_one_role_stay_two() -> None:
    request = read(body(user(text("a")), user(text("b")), model(text("c")), model(text("d"))))
    assert [m.text for m in request.messages] == ["a", "b", "c", "d"]


def test_new_neighbours_of_one_role_share_a_content() -> None:
    wire, _ = write(Message.user("a"), Message.user("b"), Message.assistant("c"))
    assert wire["contents"] == [user(text("a"), text("b")), model(text("c"))]


@pytest.mark.parametrize("parts", [[], None])
def test_a_content_without_parts_is_an_empty_message(parts: Any) -> None:
    contents = [{"role": "user", "parts": parts}, user(text("a")), {"role": "model", "x": 1}, {}]
    messages = read(body(*contents)).messages
    assert [len(m.content) for m in messages] == [0, 1, 0, 0]


def test_contents_may_be_one_object_or_missing() -> None:
    assert len(read({"contents": user(text("Hi"))}).messages) == 1
    assert read({}).messages == ()
    assert read({"contents": None, "generationConfig": None}).messages == ()


def test_a_message_of_which_nothing_can_be_said_leaves_a_placeholder() -> None:
    wire, report = write(
        Message.user([VideoBlock(Source("file_ref", "a.mp4"))]),
        Message.assistant([RedactedThinkingBlock("eA==")]),
    )
    assert wire["contents"] == [user(text(PLACEHOLDER)), model(text(PLACEHOLDER))]
    assert ("dropped", "$.messages[0].content[0]") in losses(report)
    assert ("approximated", "$.messages[1].content") in losses(report)


def test_a_name_has_no_place() -> None:
    assert losses(write(Message.user("Hi", name="ada"))[1]) == [("dropped", "$.messages[0].name")]


def test_a_content_without_a_role_is_another_than_one_with_an_empty_role() -> None:
    wire = {"contents": [{"parts": [{"text": "b"}]}, {"role": "", "parts": [{"text": "c"}]}]}
    gemini = il.dialect("gemini")
    assert gemini.write_request(gemini.read_request(wire)).wire == wire
