"""Which dialect and kind some JSON is, told by its shape."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

WIRES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("openai-chat", "request"): [
        {"model": "m", "messages": [{"role": "developer", "content": "a"}], "n": 1},
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
            ],
        },
    ],
    ("openai-chat", "response"): [
        {"object": "chat.completion", "choices": [{"message": {"role": "assistant"}}]}
    ],
    ("openrouter", "request"): [
        {"messages": [{"role": "user", "content": "a"}], "provider": {"order": ["x"]}}
    ],
    ("openrouter", "response"): [
        {"provider": "X", "choices": [{"native_finish_reason": "stop", "message": {}}]}
    ],
    ("openai-responses", "request"): [{"model": "m", "input": "a"}, {"prompt": {"id": "p"}}],
    ("openai-responses", "response"): [{"object": "response", "output": []}],
    ("anthropic", "request"): [
        {
            "model": "m",
            "max_tokens": 1,
            "system": "s",
            "messages": [{"role": "user", "content": "a"}],
        }
    ],
    ("anthropic", "response"): [
        {"type": "message", "content": []},
        {"type": "error", "error": {"type": "overloaded_error", "message": "a"}},
    ],
    ("gemini", "request"): [{"contents": [{"parts": [{"text": "a"}]}]}],
    ("gemini", "response"): [
        {"candidates": []},
        {"error": {"code": 400, "message": "a", "status": "INVALID_ARGUMENT"}},
    ],
    ("gemini-interactions", "request"): [
        {"model": "m", "input": [{"type": "user_input", "content": []}]},
        {"model": "gemini-2.5-flash", "input": "a"},
        {"model": "m", "input": [{"type": "text", "text": "a"}]},
        {"agent": "deep-research", "input": "a"},
        {"model": "m", "input": "a", "system_instruction": "b"},
    ],
    ("gemini-interactions", "response"): [
        {"object": "interaction", "status": "completed"},
        {"status": "completed", "steps": [{"type": "model_output"}]},
        {"error": {"code": "invalid_request", "message": "a"}},
    ],
    ("ollama", "request"): [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "a"}],
            "options": {},
            "stream": True,
        }
    ],
    ("ollama", "response"): [{"model": "m", "message": {"role": "assistant"}, "done": True}],
    ("bedrock", "request"): [{"messages": [{"role": "user", "content": [{"text": "a"}]}]}],
    ("bedrock", "response"): [{"output": {"message": {}}, "stopReason": "end_turn"}],
    ("cohere", "request"): [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "a"}],
            "documents": [{"data": {"text": "b"}}],
        },
        {"model": "m", "messages": [{"role": "user", "content": "a"}], "tool_choice": "REQUIRED"},
    ],
    ("cohere", "response"): [
        {"id": "a", "message": {"role": "assistant"}, "finish_reason": "COMPLETE"},
        {"id": "a", "message": "model 'm' not found"},
    ],
}
CASES = [(name, kind, wire) for (name, kind), wires in WIRES.items() for wire in wires]


@pytest.mark.parametrize(("name", "kind", "wire"), CASES)
def test_the_shape_tells_the_dialect_and_says_why(name: str, kind: str, wire: Any) -> None:
    found = il.detect(wire)
    assert (found.dialect, found.kind) == (name, kind)
    assert found.evidence
    assert name in str(found)


def test_every_dialect_has_a_case() -> None:
    assert {name for name, _ in WIRES} == set(il.dialects())


def test_what_fits_several_dialects_lists_them() -> None:
    wire = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}]}
    with pytest.raises(il.DetectError) as caught:
        il.detect(wire)
    assert len(caught.value.candidates) >= 2
    assert any("anthropic" in each for each in caught.value.candidates)


PI = {"type": "message", "id": "a1b2c3d4", "parentId": None, "timestamp": "2026-11-01T00:00:00Z"}
NO_CONVERSATIONS: list[Any] = [
    {**PI, "message": {"role": "user", "content": "Hello"}},  # a line of a session of pi
    {"type": "session", "version": 3, "id": "s", "cwd": "/home"},
    {"n": 3, "messages": 12},
    {"functions": ["a"], "max_tokens": 5},
    {"messages": ["a", "b"], "n": 1, "provider": "x"},
    {"candidates": ["Ada", "Grace"], "votes": 12},
    {"contents": ["introduction", "end"]},
    {"input": [1, 2, 3], "output": [2, 4, 6]},
    {"input": "a.txt", "output": "b.txt"},
    {"choices": ["yes", "no"], "provider": "post"},
    {"system": "metric", "options": {"a": 1}},
    {"models": ["a"], "route": "north"},
    {"message": "The security token is expired"},  # an error of whoever
    {"text": "a", "finish_reason": "stop"},
    {"error": {"code": "DeploymentNotFound", "message": "a"}},  # of Azure, whichever API it was
]


_ASKED = [{"role": "user", "content": "Hello"}]
_CALL = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_LOOP = [
    *_ASKED,
    {"role": "assistant", "tool_plan": "I look.", "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "f_1", "content": "60"},
]
_TOOLS = [{"type": "function", "function": {"name": "f"}}]
_DOUBTFUL: list[tuple[str, Any]] = [
    ("cohere", {"messages": _LOOP, "tools": _TOOLS}),
    ("cohere", {"model": "command-a-03-2025", "messages": _ASKED}),
    ("cohere", {"model": "command-r", "messages": _ASKED, "stop_sequences": ["is"]}),
    (
        "cohere",
        {"model": "command-r", "messages": _ASKED, "max_tokens": 9, "stop_sequences": ["."]},
    ),
    ("openai-chat", {"model": "command-r", "messages": _ASKED, "stop": ["is"]}),
    ("openai-chat", {"model": "cohere/command-r", "messages": _ASKED, "n": 2}),
    ("anthropic", {"model": "m", "messages": _ASKED, "stop_sequences": ["is"]}),
    ("cohere", {"message": "a", "chat_history": [{"role": "USER", "message": "b"}]}),
    ("cohere", {"message": "a", "stream": False}),
    ("openai-chat", {"object": "error", "message": "Invalid model", "type": "a", "code": "1500"}),
    ("cohere", {"text": "a", "generation_id": "b", "finish_reason": "COMPLETE", "meta": {}}),
    (
        "openai-chat",
        {
            "model": "deepseek-v4-flash",
            "messages": _ASKED,
            "max_tokens": 9,
            "thinking": {"type": "disabled"},
        },
    ),
    (
        "anthropic",
        {
            "model": "claude-sonnet-4-5",
            "messages": _ASKED,
            "max_tokens": 9,
            "thinking": {"type": "disabled"},
        },
    ),
    (
        "openai-chat",
        {
            "model": "mistral-small-latest",
            "messages": [
                *_ASKED,
                {"role": "assistant", "content": [{"type": "thinking", "thinking": []}]},
            ],
        },
    ),
]


@pytest.mark.parametrize(("dialect", "wire"), _DOUBTFUL)
def test_what_only_one_of_two_alike_has_decides(dialect: str, wire: Any) -> None:
    assert il.detect(wire).dialect == dialect


@pytest.mark.parametrize("wire", [{}, [], 12, {"hello": "world"}, *NO_CONVERSATIONS])
def test_what_fits_none_is_an_error(wire: Any) -> None:
    with pytest.raises(il.DetectError, match="no format matches"):
        il.detect(wire)


def test_the_name_of_a_model_decides_only_where_the_shape_does_not() -> None:
    wire = {"model": "claude-sonnet-4-5", "messages": [{"role": "system", "content": "a"}], "n": 2}
    assert il.detect(wire).dialect == "openai-chat"
    plainest = {"max_tokens": 5, "messages": [{"role": "user", "content": "a"}]}
    assert il.detect({"model": "claude-sonnet-4-5", **plainest}).dialect == "anthropic"
    assert il.detect({"model": "gpt-5", **plainest}).dialect == "openai-chat"


def test_hosts_of_chat_that_borrow_keys_of_anthropic_are_still_chat() -> None:
    fields = {"role": "user", "content": "a"}
    thinking = {"thinking": {"type": "enabled"}}
    assert il.detect({"model": "m", "messages": [fields], **thinking}).dialect == "openai-chat"
    led = {"role": "system", "content": "a"}
    wire = {"model": "m", "messages": [led, fields], "max_tokens": 5, **thinking}
    assert il.detect(wire).dialect == "openai-chat"


def test_an_error_of_openai_is_the_same_in_both_of_its_apis() -> None:
    wire = {"error": {"message": "a", "type": "invalid_request_error"}}
    assert il.detect(wire).dialect == "openai-chat"


def test_a_kind_narrows_it_down() -> None:
    with pytest.raises(il.DetectError):
        il.detect({"type": "message", "content": []}, kind="request")


def test_bytes_are_read_first() -> None:
    assert il.detect(b'{"contents": []}').dialect == "gemini"
    with pytest.raises(il.ReadError):
        il.detect(b"{")
