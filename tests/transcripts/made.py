"""A made-up session, for tests that need no files of other programs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from interlingua.model.blocks import (
    Block,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.transcripts import Branch, Transcript

SESSION = "7a4d2f10-5b7e-4c1d-9a3f-0c9e5d1b2a60"
_START = datetime(2026, 3, 1, 12, tzinfo=UTC)
_PICTURE = "bm90IHJlYWxseSBhIHBpY3R1cmU="


def session() -> Transcript:
    """Two prompts, two calls at once (the results in another order), thinking, a failed result."""
    messages = tuple(
        message.replace(created_at=_START + timedelta(seconds=at))
        for at, message in enumerate(_messages())
    )
    return Transcript(
        format="made-up",
        messages=messages,
        id=SESSION,
        title="Bread",
        folder="/home/user/bakery",
        created_at=_START,
        updated_at=_START + timedelta(minutes=1),
        branches=(Branch(None, messages, True),),
    )


def _messages() -> list[Message]:
    return [
        Message.system("Answer in one line."),
        Message.user(
            ["Is the dough ready?\u2028Look.", ImageBlock(Source("base64", _PICTURE), "image/png")]
        ),
        answer(
            ThinkingBlock("Two files.", "c2lnbmVk"),
            TextBlock("I look."),
            ToolUseBlock("toolu_a", "read", {"path": "dough.txt", "n": 1.5}),
            ToolUseBlock("toolu_b", "read", {"path": "oven.txt"}),
        ),
        Message.of_result(ToolResultBlock("toolu_b", (TextBlock("no such file"),), True, "read")),
        Message.of_result(ToolResultBlock("toolu_a", (TextBlock("risen"),), False, "read")),
        answer(TextBlock("It has risen.")),
        Message.user("Thanks."),
        answer(TextBlock("Gladly. 🥖")),
    ]


def answer(*blocks: Block) -> Message:
    """An answer of the model, with what it used."""
    called = any(isinstance(block, ToolUseBlock) for block in blocks)
    metadata = MessageMetadata(
        model="anthropic:claude-sonnet-4-6",
        provider="anthropic",
        protocol="anthropic",
        response_model="claude-sonnet-4-6",
        usage=Usage(input_tokens=10, output_tokens=5, cached_input_tokens=100),
        stop_reason=StopReason.TOOL_USE if called else StopReason.END_TURN,
    )
    return Message(Role.ASSISTANT, blocks, metadata=metadata)
