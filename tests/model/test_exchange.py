"""One generation: everything that is sent for it, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il


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
