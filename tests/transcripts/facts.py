"""Facts about a transcript, counted as the index of the samples counts them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlingua.model.blocks import (
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.transcripts import Transcript
from interlingua.transcripts.transcript import is_summary, usage_of
from interlingua.transcripts.ui_message.write import turns

ROLES = (Role.USER, Role.ASSISTANT, Role.TOOL)


def facts_of(transcript: Transcript) -> dict[str, Any]:
    messages = transcript.messages
    blocks = [block for message in messages for block in message.content]
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    thoughts = [each for each in blocks if isinstance(each, ThinkingBlock | RedactedThinkingBlock)]
    inside = [each for result in results for each in result.content]
    return {
        "messages": {str(role): sum(m.role is role for m in messages) for role in ROLES},
        "tool_calls": sum(isinstance(block, ToolUseBlock) for block in blocks),
        "tool_results": len(results),
        "failed_results": sum(result.is_error for result in results),
        "thinking": len(thoughts),
        "signatures": sum(bool(getattr(block, "signature", None)) for block in blocks),
        "images": sum(isinstance(block, ImageBlock) for block in [*blocks, *inside]),
        "usage": _counts(usage_of(messages)),
        "usage_all": _counts(transcript.usage),
        "models": list(transcript.models),
        "branches": len(transcript.branches),
        "compactions": len(transcript.compactions),
        "subagents": len(transcript.subagents),
        "live": _live(transcript.live),
    }


def as_indexed(found: dict[str, Any], transcript: Transcript) -> dict[str, Any]:
    """The facts as the index counts them for formats in which it counts something else.

    Of UI messages it counts a whole tool loop as one message of the assistant, and the signatures
    of thinking alone; of AG-UI events each text as the assistant's, whoever says it."""
    if transcript.format == "ui-message":
        items = [transcript.messages[turn[0]].role for turn in turns(transcript.messages)]
        messages = {**found["messages"], "assistant": items.count(Role.ASSISTANT)}
        return {**found, "messages": messages, "signatures": _signed_thinking(transcript)}
    if transcript.format == "ag-ui":
        others = sum(message.role is Role.SYSTEM for message in transcript.messages)
        messages = {**found["messages"], "assistant": found["messages"]["assistant"] + others}
        live = {**found["live"], "texts": found["live"]["texts"] + others}
        return {**found, "messages": messages, "live": live}
    return found


def _signed_thinking(transcript: Transcript) -> int:
    blocks = (block for message in transcript.messages for block in message.content)
    return sum(isinstance(block, ThinkingBlock) and bool(block.signature) for block in blocks)


def _counts(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input_tokens or 0,
        "cached": usage.cached_input_tokens or 0,
        "written": usage.cache_creation_input_tokens or 0,
        "output": usage.output_tokens or 0,
        "reasoning": usage.reasoning_tokens or 0,
    }


def _live(messages: Iterable[Message]) -> dict[str, int]:
    shown = [message for message in messages if not is_summary(message)]
    blocks = [(message.role, block) for message in shown for block in message.content]
    return {
        "prompts": sum(message.role is Role.USER for message in shown),
        "texts": sum(r is Role.ASSISTANT and isinstance(b, TextBlock) for r, b in blocks),
        "calls": sum(isinstance(block, ToolUseBlock) for _, block in blocks),
        "results": sum(isinstance(block, ToolResultBlock) for _, block in blocks),
    }


def differences(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """What differs, as (found, expected); an expected None is a word that the format has not."""
    odd = {key: (found[key], value) for key, value in expected.items() if found.get(key) != value}
    return {key: pair for key, pair in odd.items() if pair[1] is not None}
