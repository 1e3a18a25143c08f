"""What is seen of an answer at a glance is what is seen in it whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

import interlingua as il
from interlingua.gateway.relay.passthrough import peek_usage
from tests.laws import strategies

DIALECTS = ("anthropic", "openai-chat")


def same_as_whole(dialect: str, body: bytes) -> bool:
    """Whether anything was seen; what was has to be right."""
    seen = peek_usage(dialect, body)
    if seen is None:
        return False
    response = il.dialect(dialect).read_response(body)
    metadata = response.message.metadata
    assert response.error is None
    assert seen.usage == metadata.usage
    assert seen.stop_reason == metadata.stop_reason
    return True


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_glance_sees_what_reading_sees(dialect: str) -> None:
    seen = 0

    @given(strategies.responses())
    def look(response: il.Response) -> None:
        nonlocal seen
        body = il.dialect(dialect).write_response(response).json()
        seen += same_as_whole(dialect, body)

    look()
    assert seen


@pytest.mark.parametrize(
    ("dialect", "wire"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
        ("anthropic", {"type": "message", "content": [], "usage": None, "stop_reason": "end_turn"}),
        ("anthropic", {"type": "message", "content": [], "usage": {}, "stop_reason": "new_word"}),
        ("anthropic", {"type": "other", "content": [], "usage": {}, "stop_reason": "end_turn"}),
        ("anthropic", {"content": "x", "type": "message", "usage": {}, "stop_reason": "end_turn"}),
        ("openai-chat", {"choices": [], "usage": {}}),
        ("openai-chat", {"error": {"message": "x"}, "choices": [{"message": {}}], "usage": {}}),
        ("openai-chat", {"choices": [{"message": {}, "finish_reason": None}], "usage": {}}),
        ("openai-chat", {"choices": [{"finish_reason": "stop"}], "usage": {}}),
        ("openai-responses", {"output": [], "usage": {}}),
        ("anthropic", []),
        ("anthropic", "text"),
    ],
)
def test_what_is_not_as_usual_is_left_to_whoever_reads_all(dialect: str, wire: Any) -> None:
    assert peek_usage(dialect, json.dumps(wire).encode()) is None


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"type":"message"}'])
def test_what_is_no_answer_is_not_seen(body: bytes) -> None:
    assert [peek_usage(dialect, body) for dialect in DIALECTS] == [None, None]


@pytest.mark.parametrize("beside", [{"refusal": "no"}, {"tool_calls": [{"id": "a"}]}])
def test_a_stop_beside_something_else_is_left_to_reading(beside: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": None, "refusal": None}
    choice = {"index": 0, "message": {**message, **beside}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    assert (
        peek_usage("openai-chat", json.dumps({"choices": [choice], "usage": usage}).encode())
        is None
    )
    plain = {**choice, "message": {**message, "content": "a"}}
    assert peek_usage("openai-chat", json.dumps({"choices": [plain], "usage": usage}).encode())
