"""Instructions in mid-conversation, and a last turn of the model's own."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.adapt.fit.fit import fit
from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message, Role
from tests.adapt.fit.amounts import ruled
from tests.adapt.fit.asking import USER, fitted, losses, request, wire
from tests.adapt.fit.shapes import LATER
from tests.laws.fits import refusals


def test_later_instructions_are_marked_user_text_where_the_model_refuses_them() -> None:
    done = fitted("anthropic:claude-opus-4-7", request(*LATER, max_output_tokens=9))
    assert [each.role for each in done.value.messages] == ["user", "assistant", "user", "user"]
    assert done.value.messages[2].text == "[system] be brief"
    assert losses(done) == [("downgraded", "$.messages[2].role", "claude-mid-system-no")]
    turns = wire(done)["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]


def test_they_follow_the_users_turn_where_the_model_takes_them_there() -> None:
    done = fitted("anthropic:claude-opus-4-8", request(*LATER, max_output_tokens=9))
    assert [each.role for each in done.value.messages] == ["user", "assistant", "user", "system"]
    assert losses(done) == [("moved", "$.messages[2]", "claude-mid-system")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("user", "system"), ("user", "system")),
        (("user", "system", "assistant", "user"), ("user", "system", "assistant", "user")),
        (("user", "system", "user"), ("user", "user", "system")),
        (("user", "assistant", "system"), ("user", "assistant", "user")),
        (
            ("user", "assistant", "system", "assistant"),
            ("user", "assistant", "user", "assistant", "user"),
        ),
        (("system", "user", "system", "system"), ("system", "user", "system", "system")),
    ],
)
def test_instructions_stand_behind_a_user_and_before_the_model(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    items = [Message(Role(role), (TextBlock(str(n)),)) for n, role in enumerate(before)]
    done = fitted("anthropic:claude-opus-4-8", request(*items))
    assert tuple([each.role.value for each in done.value.messages]) == after


def test_a_turn_that_cannot_be_gone_on_with_is_answered_by_a_user() -> None:
    items = (USER, Message.assistant("The answer is"))
    done = fitted("anthropic:claude-opus-4-6", request(*items, max_output_tokens=9))
    assert done.value.messages[-1] == Message.user("Continue.")
    assert losses(done) == [("approximated", "$.messages[1]", "claude-no-prefill")]
    assert len(fitted("anthropic:claude-haiku-4-5", request(*items)).value.messages) == 2


def test_mistral_is_told_that_it_is_to_go_on() -> None:
    items = (USER, Message.assistant("The answer is"))
    assert wire(fitted("mistral:mistral-large-2512", request(*items)))["messages"][-1] == {
        "role": "assistant",
        "content": "The answer is",
        "prefix": True,
    }


def test_instructions_at_the_end_are_the_users_words_where_that_is_all_that_may_end() -> None:
    asked = request(il.Message.user("hi"), il.Message.system("Be brief."))
    done = fitted("mistral:mistral-large-latest", asked)
    assert [m.role.value for m in done.value.messages] == ["user", "user"]
    assert losses(done) == [("downgraded", "$.messages[1].role", "mistral")]
    assert refusals("mistral", "openai-chat", "mistral-large-latest", wire(done)) == []
    alone = fitted("mistral:mistral-large-latest", request(il.Message.system("Say hi.")))
    assert [m.role.value for m in alone.value.messages] == ["user"]


def test_a_model_without_instructions_is_told_them_as_the_users_words() -> None:
    asked = request(il.Message.system("Be brief."), il.Message.user("hi"))
    done = fitted("gemini:gemma-3-27b-it", asked)
    assert wire(done)["contents"][0]["parts"][0]["text"].endswith("Be brief.")
    assert losses(done) == [("downgraded", "$.messages[0].role", "gemma-3")]
    assert refusals("gemini", "gemini", "gemma-3-27b-it", wire(done)) == []


def test_instructions_use_the_one_role_that_a_host_knows() -> None:
    rules = ruled(instructions={"role": "system"})
    asked = request(il.Message.developer("Be brief."), il.Message.user("hi"))
    done = fit(asked, rules, dialect="openai-chat")
    assert wire(done)["messages"][0]["role"] == "system"
    assert losses(done) == [("downgraded", "$.messages[0].role", "profile of the call")]


def test_neighbours_are_joined_for_a_host_that_wants_turns_to_alternate() -> None:
    rules = ruled(turns={"alternate": True})
    asked = request(*map(il.Message.user, "ab"), il.Message.assistant("c"), il.Message.user("d"))
    done = fit(asked, rules, dialect="openai-chat")
    assert [m["role"] for m in wire(done)["messages"]] == ["user", "assistant", "user"]
    assert losses(done) == [("moved", "$.messages[1]", "profile of the call")]
