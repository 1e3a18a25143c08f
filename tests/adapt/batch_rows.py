"""Rows of batch files, for tests."""

from __future__ import annotations

from typing import Any

import interlingua as il

TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":2}'}}

CHAT: dict[str, Any] = {
    "model": "gpt-4.1",
    "max_tokens": 64,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "I add.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "4"},
        {"role": "assistant", "content": "It is 4."},
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [TOOL],
}


def to(name: str) -> Any:
    return il.convert(CHAT, "openai-chat", name)
