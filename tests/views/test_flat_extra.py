"""The `extra` of the flat view."""

from __future__ import annotations

import pytest

from interlingua.model.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.views import flat, view
from tests.views.test_flat import comes_home, one, signed, written


@pytest.mark.requirement("S000-10")
def test_extra_of_any_provider_comes_home() -> None:
    extra = {"openai": {"fingerprint": "fp_1"}, "someone": [1, None]}
    wire = {"role": "assistant", "content": "x", "extra": extra}
    assert comes_home([wire])
    wire_elsewhere = view("parts").write(flat.read([wire]))
    assert [loss.path for loss in wire_elsewhere.report.entries] == [
        "$[0].metadata.provider_raw.flat.extra"
    ]


@pytest.mark.requirement("S000-20", "S000-28")
def test_gemini_signatures_are_a_list_and_find_their_blocks_again() -> None:
    message = signed(
        ThinkingBlock("hm", "s1"),
        TextBlock("hi"),
        ToolUseBlock("c1", "f", {}, signature="s2"),
        ToolUseBlock("c2", "g", {}),
        protocol="gemini",
    )
    [wire] = written(message)
    assert wire["extra"]["gemini"]["thought_signatures"] == ["s1", "s2"]
    assert one(wire).content == message.content
    assert comes_home([wire])


@pytest.mark.requirement("S000-20", "S000-28")
def test_gemini_signatures_from_elsewhere_go_where_they_are_usual() -> None:
    extra = {"gemini": {"thought_signatures": ["s"]}}
    call = {"id": "c", "name": "f", "arguments": "{}"}
    wire = {"role": "assistant", "content": "hi", "tool_calls": [call], "extra": extra}
    text, used = one(wire).content
    assert text == TextBlock("hi")
    assert used == ToolUseBlock("c", "f", {}, signature="s")
    assert comes_home([wire])
    assert one({"role": "assistant", "content": "hi", "extra": extra}).content == (
        TextBlock("hi", "s"),
    )


@pytest.mark.requirement("S000-20")
def test_signatures_without_a_block_are_kept() -> None:
    extra = {"gemini": {"thought_signatures": ["s1", "s2", "s3"]}}
    wire = {"role": "assistant", "content": "hi", "extra": extra}
    assert one(wire).content == (TextBlock("hi"),)
    assert comes_home([wire])


@pytest.mark.requirement("S000-26", "S000-28")
def test_claude_thinking_survives_redacted_blocks_included() -> None:
    message = signed(
        ThinkingBlock("first", "s1"),
        RedactedThinkingBlock("opaque"),
        ThinkingBlock("", "s2"),
        TextBlock("hi"),
        protocol="anthropic",
    )
    wire, report = flat.write([message])
    assert wire[0]["reasoning"] == "first\n"
    assert wire[0]["extra"]["claude"]["thinking_blocks"] == [
        {"type": "thinking", "thinking": "first", "signature": "s1"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "", "signature": "s2"},
    ]
    assert one(wire[0]).content == message.content
    assert [loss.path for loss in report.entries] == ["$[0].metadata.protocol"]


@pytest.mark.requirement("S000-26")
def test_thinking_that_contradicts_reasoning_is_kept_but_not_believed() -> None:
    blocks = [{"type": "thinking", "thinking": "old", "signature": "s"}]
    wire = {
        "role": "assistant",
        "content": "hi",
        "reasoning": "edited since",
        "extra": {"claude": {"thinking_blocks": blocks}},
    }
    assert one(wire).content[0] == ThinkingBlock("edited since")
    assert comes_home([wire])
