"""`@model` at the start of a message, short names, and the `/model` command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.events import Bus
from interlingua.model.blocks import ImageBlock, Source, TextBlock
from interlingua.model.message import Message
from interlingua.routing import (
    Choice,
    OverrideError,
    UnknownAliasError,
    address,
    parse_command,
    split_override,
)
from tests.routing.names import REGISTRY, SONNET

PICTURE = ImageBlock(Source("url", "https://example.com/cat.png"))


@pytest.mark.parametrize(
    ("text", "said", "model"),
    [
        ("@sonnet explain this", "explain this", SONNET),
        ("@sonnet\n\nexplain\n this", "explain\n this", SONNET),
        ("@s\texplain", "explain", SONNET),
        (f"@{SONNET} hi", "hi", SONNET),
        ("@openrouter:deepseek/deepseek-v3 hi", "hi", "openrouter:deepseek/deepseek-v3"),
        ("@sonnet @s hi", "@s hi", SONNET),
        ("\\@sonnet hi", "@sonnet hi", None),
        ("\\@nobody", "@nobody", None),
        ("\\\\@sonnet hi", "\\\\@sonnet hi", None),
        ("ask @sonnet about it", "ask @sonnet about it", None),
        (" @sonnet hi", " @sonnet hi", None),
        ("@ sonnet", "@ sonnet", None),
        ("@", "@", None),
        ("\\", "\\", None),
        ("", "", None),
    ],
)
def test_what_a_message_says_and_to_whom(text: str, said: str, model: str | None) -> None:
    message = Message.user([TextBlock(text)])
    addressed = address(message, REGISTRY)
    assert addressed.message.text == said
    assert addressed.model == model
    assert message.text == text


@pytest.mark.parametrize("text", ["@sonnet", "@sonnet ", "@sonnet \n\t"])
def test_an_order_with_nothing_after_it_is_an_error(text: str) -> None:
    with pytest.raises(OverrideError, match="@sonnet has no text after it"):
        address(Message.user(text), REGISTRY)


def test_a_name_that_nobody_has_is_an_error_that_helps() -> None:
    with pytest.raises(UnknownAliasError) as error:
        address(Message.user("@sonet hello"), REGISTRY)
    assert error.value.name == "sonet"
    assert "did you mean sonnet" in str(error.value)
    assert "write \\@" in str(error.value)
    with pytest.raises(UnknownAliasError) as long:
        address(Message.user("@" + 5000 * "x" + " hello"), REGISTRY)
    assert len(str(long.value)) < 300


def test_media_before_the_text_does_not_hide_the_order_and_can_be_the_body() -> None:
    addressed = address(Message.user([PICTURE, "@sonnet what is it?"]), REGISTRY)
    assert addressed.message.content == (PICTURE, TextBlock("what is it?"))
    alone = address(Message.user(["@sonnet", PICTURE]), REGISTRY)
    assert (alone.model, alone.message.content) == (SONNET, (PICTURE,))
    assert address(Message.user([PICTURE]), REGISTRY).model is None


def test_only_the_first_text_block_is_looked_at_and_its_other_fields_stay() -> None:
    block = TextBlock("@s hi", signature="sig")
    addressed = address(Message.user([block, "@nobody else"]), REGISTRY)
    assert addressed.message.content == (TextBlock("hi", "sig"), TextBlock("@nobody else"))


@given(st.text())
def test_any_text_can_be_sent_by_putting_a_backslash_before_a_leading_at_sign(text: str) -> None:
    escaped = "\\" + text if text.startswith(("@", "\\@")) else text
    name, content = split_override(escaped)
    assert name is None
    assert content == text


@given(st.text(min_size=1).filter(lambda t: not t[0].isspace()))
def test_a_name_and_a_body_come_apart_as_they_were_put_together(body: str) -> None:
    assert split_override(f"@sonnet {body}") == ("sonnet", body)


# ---------------------------------------------------------------------- short names


# ---------------------------------------------------------------------- /model


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/model openai:gpt-5", ("model", "openai:gpt-5")),
        ("/model -", ("model", "-")),
        ("  /model   show ", ("model", "show")),
        ("/model", ("model", "")),
        ("/rules check", ("rules", "check")),
        ("/models", ("models", "")),
        ("/cost", ("cost", "")),
        ("/modelling is fun", None),
        ("tell me about /model", None),
        ("/model a\nand more", None),
        ("", None),
    ],
)
def test_commands_are_told_from_text(text: str, parsed: tuple[str, str] | None) -> None:
    assert parse_command(text) == parsed


def test_a_choice_during_a_turn_waits_for_its_end_and_the_last_one_wins() -> None:
    choice = Choice()
    assert choice.set("a:1").queued is False
    assert choice.begin_turn() == "a:1"
    first, second = choice.set("a:2"), choice.set("a:3")
    assert first.queued
    assert second.queued
    assert (choice.model, choice.queued) == ("a:1", True)
    choice.end_turn()
    assert (choice.begin_turn(), choice.queued) == ("a:3", False)
    choice.set(None)
    choice.end_turn()
    assert choice.begin_turn() is None


def test_a_choice_is_told_with_what_was_before() -> None:
    choice = Choice("a:1")
    result = choice.set("a:2")
    assert (result.previous_model, result.model, result.via) == ("a:1", "a:2", "command")
    assert Bus(strict=True).emit("route.overridden", result) is not None
