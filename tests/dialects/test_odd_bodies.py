"""Bodies that nobody should send, and that can be read: they go home as they came."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

TURN = {"role": "user", "content": "a"}
MADE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a turn without content": (
        "openai-responses",
        {"input": [{"type": "message", "role": "user"}]},
    ),
    "a turn that says something else": (
        "openai-responses",
        {"input": [{"role": "user", "x": "a"}]},
    ),
    "a phase that is no word": ("openai-responses", {"input": [{**MADE, "phase": ["final"]}]}),
    "a user who is nobody": ("openai-responses", {"input": "a", "user": ""}),
    "a switch whose type is a list": (
        "openai-chat",
        {"messages": [TURN], "thinking": {"type": ["enabled"]}},
    ),
    "a flag in place of a switch": ("openai-chat", {"messages": [TURN], "thinking": True}),
    "a switch in place of a flag": (
        "openai-chat",
        {"messages": [TURN], "enable_thinking": {"type": "enabled"}},
    ),
    "a change without a type": (
        "anthropic",
        {
            "max_tokens": 5,
            "messages": [TURN, {"role": "system", "content": [{"tool": {"type": "tool"}}]}],
        },
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_an_odd_request_goes_home(name: str) -> None:
    dialect, body = REQUESTS[name]
    wire = {"model": "m", **body}
    request = il.dialect(dialect).read_request(wire)
    assert il.dialect(dialect).write_request(request).wire == wire
