"""Thinking in a dialect that has no place for it, and in those of its hosts that have one."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT
from interlingua.model.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.metadata import StopReason
from tests.dialects.openai_chat.wires import (
    CALL,
    answer,
    assistant,
    first,
    losses,
    made,
    read_answer,
    write,
    write_answer,
)

SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}


@pytest.mark.requirement("P4", "P43")
def test_thinking_from_elsewhere_is_left_out_and_never_becomes_text() -> None:
    wire, report = write(made(ThinkingBlock("Hm.", "EqQB"), TextBlock("Hi"), protocol="anthropic"))
    assert wire["messages"] == [assistant("Hi")]
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_a_string_of_thinking_is_a_block(key: str) -> None:
    message = first(assistant("Hi", **{key: "Hm."}))
    assert message.content == (ThinkingBlock("Hm."), TextBlock("Hi"))
    assert message.metadata.protocol == "openai-chat"


@pytest.mark.parametrize("empty", ["", None])
def test_empty_thinking_is_no_block(empty: Any) -> None:
    assert first(assistant("Hi", reasoning_content=empty)).content == (TextBlock("Hi"),)


@pytest.mark.parametrize(
    "keys",
    [
        {"reasoning": "Hm.", "reasoning_content": "Hm."},
        {"reasoning_content": "Hm.", "thinking_blocks": [SIGNED]},
        {"reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]},
        {"reasoning": "Other.", "reasoning_content": "Hm."},
        {"reasoning": "Other.", "thinking_blocks": [SIGNED]},
    ],
)
def test_thinking_that_is_said_twice_is_one_block(keys: dict[str, Any]) -> None:
    (block,) = [b for b in first(assistant("Hi", **keys)).content if isinstance(b, ThinkingBlock)]
    assert block.text == "Hm."


def test_an_edit_changes_thinking_wherever_it_is_repeated() -> None:
    request = DIALECT.read_request(
        {"messages": [assistant("Hi", reasoning_content="Hm.", thinking_blocks=[SIGNED])]}
    )
    (message,) = request.messages
    block = message.content[0].replace(text="Ah.")
    changed = message.replace(content=(block, *message.content[1:]))
    wire = DIALECT.write_request(request.replace(messages=(changed,))).wire["messages"][0]
    assert wire["reasoning_content"] == "Ah."
    assert wire["thinking_blocks"] == [{**SIGNED, "thinking": "Ah."}]


@pytest.mark.requirement("P1", "P2", "P6")
def test_signed_blocks_keep_their_number_order_and_emptiness() -> None:
    blocks = [SIGNED, {**SIGNED, "thinking": ""}, {"type": "redacted_thinking", "data": "Zm9v"}]
    message = first(assistant("Hi", thinking_blocks=blocks, tool_calls=[CALL]))
    assert message.content[:3] == (
        ThinkingBlock("Hm.", "EqQB"),
        ThinkingBlock("", "EqQB"),
        RedactedThinkingBlock("Zm9v"),
    )
    assert message.metadata.protocol == "anthropic"


@pytest.mark.parametrize(
    "item",
    [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "thinking", "thinking": "Hm.", "signature": None},
        {**SIGNED, "cache_control": {"type": "ephemeral"}},
        {"type": "redacted_thinking", "data": "Zm9v", "more": 1},
        {"type": "mystery"},
    ],
)
def test_blocks_of_every_shape_go_home(item: dict[str, Any]) -> None:
    block = first(assistant("Hi", thinking_blocks=[item])).content[0]
    assert isinstance(block, UnknownBlock) is (item["type"] == "mystery")


@pytest.mark.parametrize(
    ("format", "protocol"),
    [
        ("anthropic-claude-v1", "anthropic"),
        ("google-gemini-v1", "gemini"),
        ("openai-responses-v1", "openai-responses"),
        ("unknown", "openai-chat"),
    ],
)
def test_the_format_of_reasoning_details_names_the_issuer(format: str, protocol: str) -> None:
    item = {"type": "reasoning.text", "text": "Hm.", "signature": "s", "format": format, "index": 0}
    message = first(assistant("Hi", reasoning_details=[item]))
    assert message.content[0] == ThinkingBlock("Hm.", "s")
    assert message.metadata.protocol == protocol


def test_a_chunk_of_a_foreign_block_among_the_text() -> None:
    message = first(assistant([SIGNED, {"type": "redacted_thinking", "data": "Zm9v"}]))
    assert message.content == (ThinkingBlock("Hm.", "EqQB"), RedactedThinkingBlock("Zm9v"))


# Responses


def test_a_response_says_unsigned_thinking_as_a_string() -> None:
    wire, report = write_answer(
        made(ThinkingBlock("Hm."), TextBlock("Hi"), stop_reason=StopReason.END_TURN)
    )
    assert wire["choices"][0]["message"] == assistant("Hi", reasoning_content="Hm.")
    assert not report.entries


def test_a_response_says_signed_thinking_as_blocks_and_as_a_string() -> None:
    message = made(
        ThinkingBlock("Hm.", "EqQB"),
        RedactedThinkingBlock("Zm9v"),
        TextBlock("Hi"),
        ToolUseBlock("toolu_1", "f", {}),
        stop_reason=StopReason.TOOL_USE,
        protocol="anthropic",
    )
    wire, report = write_answer(message)
    content = wire["choices"][0]["message"]
    assert content["reasoning_content"] == "Hm."
    assert content["thinking_blocks"] == [SIGNED, {"type": "redacted_thinking", "data": "Zm9v"}]
    assert not report.entries
    assert DIALECT.read_response(wire).message.content == message.content


def test_a_response_signs_geminis_calls_as_google_does() -> None:
    call = ToolUseBlock("call_1", "f", {}, signature="Ag==")
    message = made(call, stop_reason=StopReason.TOOL_USE, protocol="gemini")
    wire, report = write_answer(message)
    (content,) = wire["choices"][0]["message"]["tool_calls"]
    assert content["extra_content"] == {"google": {"thought_signature": "Ag=="}}
    assert not report.entries


def test_mistral_thinks_in_chunks() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True}
    content = [thinking, {"type": "text", "text": "144"}]
    message = read_answer(answer(assistant(content, tool_calls=None))).message
    assert message.content == (ThinkingBlock("Hm."), TextBlock("144"))
