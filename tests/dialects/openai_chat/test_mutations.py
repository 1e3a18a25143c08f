"""Damaged wires: an error of ours that names a place, or a value that goes home; never a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.dialects.openai_chat.test_thinking import SIGNED
from tests.dialects.openai_chat.wires import (
    CALL,
    FUNCTION,
    SCHEMA,
    TOOL,
    answer,
    assistant,
    body,
    image,
    result,
    text,
    user,
)
from tests.effort import seeds
from tests.laws.mutate import mutate, survives

DETAILS = [
    {"type": "reasoning.text", "text": "Hm.", "signature": "s", "format": "unknown", "index": 0},
    {"type": "reasoning.summary", "summary": "Hm.", "id": None},
    {"type": "reasoning.encrypted", "data": "Zm9v", "id": "call_1", "index": 2},
    {"type": "reasoning.server_tool_call", "tool_name": "f", "arguments": "{}", "result": "ok"},
]
CITED = {
    "type": "url_citation",
    "url_citation": {"start_index": 0, "end_index": 5, "title": "T", "url": "https://example.com"},
}
REQUESTS = [
    body(
        {
            "role": "system",
            "content": [text("Be.", cache_control={"type": "ephemeral", "ttl": "1h"})],
        },
        user(
            [
                text("Hi", prompt_cache_breakpoint={"mode": "explicit", "ttl": "30m"}),
                image(detail="low"),
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}},
                {
                    "type": "file",
                    "file": {"file_data": "data:text/plain;base64,AA==", "filename": "a"},
                },
                {"type": "document_url", "document_url": "https://example.com/a"},
                {"type": "thinking", "thinking": [text("Hm.")], "signature": "s"},
                {"type": "reference", "reference_ids": [1]},
            ],
            name="ann",
        ),
        assistant("So.", thinking_blocks=[SIGNED], tool_calls=[CALL], annotations=[CITED]),
        result([text("12"), image()], name="f"),
        assistant(None, reasoning_details=DETAILS, reasoning="Hm.Hm.", refusal="No."),
        assistant(None, function_call={"name": "f", "arguments": "{}"}, audio={"id": "audio_1"}),
        {"role": "function", "name": "f", "content": "ok"},
    ),
    body(
        user(cache_control={"type": "ephemeral"}),
        tools=[TOOL, {"type": "custom", "custom": {"name": "g"}}, {"type": "hosted", "a": 1}],
        functions=[FUNCTION],
        tool_choice={
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "auto",
                "tools": [{"type": "function", "function": {"name": "f"}}],
            },
        },
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
        reasoning={"effort": "low", "max_tokens": 9, "exclude": True},
        reasoning_effort="low",
        max_tokens=9,
        max_completion_tokens=9,
        logprobs=True,
        top_logprobs=3,
        logit_bias={"5": -1},
        stop=["a"],
        metadata={"a": "b"},
        modalities=["text"],
        user="u",
        temperature=0.5,
        stream=True,
    ),
]
RESPONSES = [
    answer(
        assistant(
            "Hello",
            annotations=[CITED],
            reasoning_content="Hm.",
            executed_tools=[{"index": 0, "type": "search", "arguments": "{}", "output": "ok"}],
            images=[image()],
            audio={"id": "a", "data": "AA==", "expires_at": 1, "transcript": "Hi"},
            tool_calls=[{**CALL, "index": 0}],
            extra_content={"google": {"thought_signature": "Ag=="}},
        ),
        usage={
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
            "prompt_cache_hit_tokens": 4,
        },
    ),
    {
        **answer(),
        "choices": [
            {
                "index": 0,
                "messages": [assistant("", tool_calls=[CALL]), result(), assistant("So.")],
                "finish_reason": "stop",
            }
        ],
    },
    {"error": {"message": "No.", "type": "server_error", "code": 500, "metadata": {"a": 1}}},
    {"detail": [{"msg": "No."}]},
]


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("name", ["openai-chat", "openrouter"])
def test_damaged_wires_are_refused_with_a_place_or_go_home(name: str, seed: int) -> None:
    rng = random.Random(seed)
    for kind, wires in (("request", REQUESTS), ("response", RESPONSES)):
        for wire in wires:
            assert survives(name, kind, wire) is None
            for _ in range(40):
                damaged = mutate(wire, rng)
                assert survives(name, kind, damaged) is None, damaged


@pytest.mark.parametrize("odd", [{"a": 1}, None, "x", {"empty": {"role": 1}}])
def test_a_wire_that_uses_our_own_word_for_spelling_goes_home(odd: Any) -> None:
    form = {"$form": odd}
    wire = body(
        user([text("a", **form), {"type": "mystery", **form}], **form),
        assistant("a", tool_calls=[{**CALL, **form}, {"type": "mystery", **form}], **form),
        result(**form),
        tools=[{**TOOL, **form}],
        **form,
    )
    assert survives("openai-chat", "request", wire) is None
    reply = answer(assistant("a", annotations=[{"type": "mystery", **form}], **form), **form)
    reply["choices"][0].update(form)
    reply["usage"].update(form)
    assert survives("openai-chat", "response", reply) is None


@pytest.mark.parametrize("said", [{}, {"content": None}, {"content": []}, {"content": ""}])
@pytest.mark.parametrize("name", ["openai-chat", "openrouter"])
def test_an_empty_result_between_the_messages_of_one_answer_goes_home(name: str, said: Any) -> None:
    empty = {"role": "tool", "tool_call_id": "call_1", **said}
    choice = {"index": 0, "messages": [assistant("", tool_calls=[CALL]), empty, assistant("So.")]}
    wire = {**answer(assistant("So.")), "choices": [{**choice, "finish_reason": "stop"}]}
    assert survives(name, "response", wire) is None
