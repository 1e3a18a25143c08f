"""What only one service has is reported in words."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.losses import Loss
from interlingua.model.reasons import PRIVATE as WORDS

ASKED: dict[str, Any] = {
    "container": {"skills": [{"type": "anthropic", "skill_id": "pdf"}]},
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    "fallbacks": ["claude-haiku-5"],
    "mcp_servers": [{"type": "url", "name": "a", "url": "https://example.com"}],
    "speed": "fast",
}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [CALL],
    "stop_reason": "refusal",
    "stop_sequence": None,
    "stop_details": {"type": "refusal", "category": "bio"},
    "diagnostics": {"cache_miss_reason": "tools_changed"},
    "usage": {"input_tokens": 1, "output_tokens": 1, "iterations": [{"type": "message"}]},
}


def named(report: Any) -> dict[str, Loss]:
    """The losses of things that have words, by the last key of their path."""
    found = {loss.path.rpartition(".")[2]: loss for loss in report.entries}
    return {key: loss for key, loss in found.items() if key in WORDS}


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini", "ollama"])
def test_what_was_asked_for_and_is_lost_is_named_and_a_warning(target: str) -> None:
    wire = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **ASKED}
    lost = named(il.convert(wire, "anthropic", target).report)
    assert lost.keys() == ASKED.keys()
    for key, loss in lost.items():
        assert loss.reason == f"{key} dropped: only Anthropic has it ({WORDS[key]})"
        assert loss.severity == "warning"


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini", "ollama"])
def test_what_an_answer_says_beyond_others_is_named(target: str) -> None:
    lost = named(il.convert(ANSWER, "anthropic", target, "response").report)
    assert lost.keys() == {"stop_details", "diagnostics", "iterations"}
    for key, loss in lost.items():
        assert loss.reason == f"{key} dropped: only Anthropic has it ({WORDS[key]})"
        assert loss.severity == "info"
