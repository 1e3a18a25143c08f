"""One generation: everything that is sent for it, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.exchange import Options, Reasoning, ResponseFormat, ToolChoice


@pytest.mark.parametrize(
    ("word", "names", "mode"),
    [
        ("required", (), "any"),
        ("REQUIRED", (), "any"),
        ("ANY", (), "any"),
        ("AUTO", (), "auto"),
        ("NONE", (), "none"),
        ("tool", ("f",), "any"),
        ("function", ("f",), "any"),
    ],
)
def test_the_tool_choices_of_vendors_become_ours(word: Any, names: Any, mode: str) -> None:
    choice = il.ToolChoice(word, names)
    assert (choice.mode, choice.names) == (mode, names)
    request = il.Request(
        (il.Message.user("a"),), "m", (il.ToolDefinition("f"),), il.Options(tool_choice=choice)
    )
    written = il.dialect("openai-chat").write_request(request)
    assert "tool_choice" in written.wire


@pytest.mark.parametrize("word", ["tool", "function", "validated", "allowed_tools", ""])
def test_a_tool_choice_that_says_too_little_is_refused(word: Any) -> None:
    with pytest.raises(ValueError, match=r"ToolChoice.mode is one of auto, none, any"):
        il.ToolChoice(word)


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("tool_choice", "required", ToolChoice("any")),
        ("response_format", "json", ResponseFormat("json")),
        ("reasoning", "high", Reasoning("high")),
        ("stop", "END", ("END",)),
        ("modalities", ["text"], ("text",)),
    ],
)
def test_a_word_is_the_value_that_it_names(name: str, word: Any, value: Any) -> None:
    assert getattr(Options(**{name: word}), name) == value


@pytest.mark.parametrize("name", ["tool_choice", "response_format", "reasoning", "stop"])
def test_an_option_of_a_wrong_type_is_refused_when_it_is_made(name: str) -> None:
    wrong: Any = object()
    with pytest.raises(TypeError, match=rf"{name} is |the shape of an answer is"):
        Options(**{name: wrong})


def test_an_unknown_word_is_refused_when_it_is_made() -> None:
    with pytest.raises(ValueError, match=r"is one of auto, none, any; found 'sometimes'"):
        Options(tool_choice="sometimes")  # type: ignore[arg-type]  # that is the test
