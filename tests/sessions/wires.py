"""Answers as providers send them, written by hand for each dialect: with thinking, signatures,
calls side by side and tools that the provider ran, as far as the dialect has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

import interlingua as il
from interlingua.dialects.framing import encoder

Wire = dict[str, Any]

MODELS = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "openai-chat": "groq:meta-llama/llama-4-scout-17b-16e-instruct",
    "openai-responses": "openai:gpt-5.1",
    "gemini": "gemini:gemini-3-flash-preview",
    "ollama": "ollama:qwen3-vl",
    "openrouter": "openrouter:anthropic/claude-sonnet-4.6",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-6",
    "cohere": "cohere:command-a-plus-05-2026",
}
"""One model for each dialect, each of a provider of its own; all take images and tools."""
PROFILES = [{"models": ["command-a-plus-05-2026"], "media": {"image": True}}]
"""What the package does not declare of these models."""
SPOKEN = {"openai:gpt-5.1": "openai-responses"}
"""Where the dialect is not the provider's usual one."""

CALLS = (("read_file", {"path": "a.txt"}), ("get_weather", {"city": "Zürich"}))
"""What every answer with calls calls, at once."""
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJ"
    "RU5ErkJggg=="
)
SIGNATURE = "c2lnbmVkIGJ5IG5vYm9keSBpbiBwYXJ0aWN1bGFy"
TOOLS = (
    il.ToolDefinition(
        "read_file",
        "Reads a file.",
        {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        side_effects=il.SideEffects.READ,
    ),
    il.ToolDefinition(
        "get_weather",
        "Tells the weather of a city.",
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        side_effects=il.SideEffects.NONE,
    ),
)


def image() -> il.ImageBlock:
    return il.ImageBlock(il.Source("base64", PIXEL), media_type="image/png")


def answer(dialect: str, number: int = 0, calls: bool = False, text: str = "It is so.") -> Wire:
    """The answer with this number, with two calls or with none."""
    return _ANSWERS[dialect](number, calls, text)


def _named(number: int, form: str) -> Iterator[tuple[str, str, Wire]]:
    for index, (name, value) in enumerate(CALLS):
        yield form.format(number * 10 + index), name, value


def _anthropic(number: int, calls: bool, text: str) -> Wire:
    hosted = f"srvtoolu_{number:020d}"
    content: list[Wire] = [
        {"type": "thinking", "thinking": "Let me see.", "signature": f"{SIGNATURE}{number}"},
        {"type": "redacted_thinking", "data": f"cmVkYWN0ZWQ{number}"},
        {"type": "server_tool_use", "id": hosted, "name": "web_search", "input": {"query": "x"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": hosted,
            "content": [
                {
                    "type": "web_search_result",
                    "url": "https://example.com/x",
                    "title": "X",
                    "encrypted_content": "ZW5jcnlwdGVk",
                    "page_age": None,
                }
            ],
        },
        {"type": "text", "text": text},
    ]
    if calls:
        content += [
            {"type": "tool_use", "id": id, "name": name, "input": value}
            for id, name, value in _named(number, "toolu_{:022d}")
        ]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 8, "output_tokens": 42},
    }


def _function_calls(number: int, form: str) -> list[Wire]:
    return [
        {
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": msgspec.json.encode(value).decode()},
        }
        for id, name, value in _named(number, form)
    ]


def _chat(number: int, calls: bool, text: str) -> Wire:
    message: Wire = {"role": "assistant", "content": text, "refusal": None}
    if calls:
        message["tool_calls"] = _function_calls(number, "call_{:020d}")
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": "tool_calls" if calls else "stop",
    }
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1780000000 + number,
        "model": "gpt-4.1-2025-04-14",
        "choices": [choice],
        "usage": {"prompt_tokens": 8, "completion_tokens": 42, "total_tokens": 50},
    }


def _openrouter(number: int, calls: bool, text: str) -> Wire:
    thought = {
        "type": "reasoning.text",
        "text": "Let me see.",
        "signature": f"{SIGNATURE}{number}",
        "format": "anthropic-claude-v1",
        "index": 0,
    }
    message: Wire = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        "reasoning": "Let me see.",
        "reasoning_details": [thought],
    }
    if calls:
        message["tool_calls"] = _function_calls(number, "toolu_or_{:018d}")
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": "tool_calls" if calls else "stop",
        "native_finish_reason": "tool_use" if calls else "end_turn",
    }
    return {
        "id": f"gen-{number}",
        "object": "chat.completion",
        "created": 1780000000 + number,
        "model": "anthropic/claude-sonnet-4.6",
        "provider": "Anthropic",
        "system_fingerprint": None,
        "choices": [choice],
        "usage": {"prompt_tokens": 8, "completion_tokens": 42, "total_tokens": 50},
    }


def _responses(number: int, calls: bool, text: str) -> Wire:
    output: list[Wire] = [
        {
            "id": f"rs_{number:020d}",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Let me see."}],
            "encrypted_content": f"{SIGNATURE}{number}",
        },
        {
            "id": f"ws_{number:020d}",
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        },
        {
            "id": f"msg_{number:020d}",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        },
    ]
    if calls:
        output += [
            {
                "id": f"fc_{id[5:]}",
                "type": "function_call",
                "status": "completed",
                "call_id": id,
                "name": name,
                "arguments": msgspec.json.encode(value).decode(),
            }
            for id, name, value in _named(number, "call_{:020d}")
        ]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1780000000 + number,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5-2025-08-07",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 8,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 42,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 50,
        },
    }


def _gemini(number: int, calls: bool, text: str) -> Wire:
    signature = {"thoughtSignature": f"{SIGNATURE}{number:04d}"}
    parts: list[Wire] = [{"text": "Let me see.", "thought": True}, {"text": text}]
    if calls:
        made: list[Wire] = [
            {"functionCall": {"name": name, "args": value}} for name, value in CALLS
        ]
        made[0].update(signature)
        parts += made
    else:
        parts[1].update(signature)
    return {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 8,
            "candidatesTokenCount": 40,
            "thoughtsTokenCount": 2,
            "totalTokenCount": 50,
        },
        "modelVersion": "gemini-3-flash-preview",
        "responseId": f"gem{number}",
    }


def _ollama(number: int, calls: bool, text: str) -> Wire:
    message: Wire = {"role": "assistant", "content": text, "thinking": "Let me see."}
    if calls:
        message["tool_calls"] = [
            {"function": {"name": name, "arguments": value}} for name, value in CALLS
        ]
    return {
        "model": "qwen3-vl",
        "created_at": f"2026-05-08T10:00:{number % 60:02d}.000000Z",
        "message": message,
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 8,
        "eval_count": 42,
    }


def _bedrock(number: int, calls: bool, text: str) -> Wire:
    thought = {"text": "Let me see.", "signature": f"{SIGNATURE}{number}"}
    content: list[Wire] = [{"reasoningContent": {"reasoningText": thought}}, {"text": text}]
    if calls:
        content += [
            {"toolUse": {"toolUseId": id, "name": name, "input": value}}
            for id, name, value in _named(number, "tooluse_{:022d}")
        ]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": {"inputTokens": 8, "outputTokens": 42, "totalTokens": 50},
        "metrics": {"latencyMs": 820},
    }


def _cohere(number: int, calls: bool, text: str) -> Wire:
    content = [{"type": "thinking", "thinking": "Let me see."}, {"type": "text", "text": text}]
    message: Wire = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {
                "id": id,
                "type": "function",
                "function": {"name": name, "arguments": msgspec.json.encode(value).decode()},
            }
            for id, name, value in _named(number, "call_{:08d}")
        ]
    tokens = {"input_tokens": 8, "output_tokens": 42}
    return {
        "id": f"coh-{number}",
        "finish_reason": "TOOL_CALL" if calls else "COMPLETE",
        "message": message,
        "usage": {"billed_units": tokens, "tokens": tokens, "cached_tokens": 0},
    }


_ANSWERS: dict[str, Callable[[int, bool, str], Wire]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
    "ollama": _ollama,
    "openrouter": _openrouter,
    "bedrock": _bedrock,
    "cohere": _cohere,
}

ERRORS: dict[str, Wire] = {
    "anthropic": {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_1",
    },
    "openai-chat": {
        "error": {
            "message": "slow down",
            "type": "requests",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    },
    "openai-responses": {
        "error": {
            "message": "slow down",
            "type": "requests",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    },
    "gemini": {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}},
    "ollama": {"error": "model 'nobody' not found"},
    "openrouter": {"error": {"code": 429, "message": "slow down"}},
    "bedrock": {"message": "Too many requests", "__type": "ThrottlingException"},
    "cohere": {"id": "coh-1", "message": "model 'nobody' not found"},
}
"""A refusal in each dialect's own words."""


def without_usage(dialect: str, wire: Wire) -> Wire:
    """The same answer from a server that counts nothing."""
    counted = {"usage", "usageMetadata", "prompt_eval_count", "eval_count"}
    return {key: item for key, item in wire.items() if key not in counted}


def stream(dialect: str, wire: Wire) -> list[bytes]:
    """The same answer as a stream, one piece of bytes for each frame."""
    dialect_name = il.dialect(dialect)
    writer, encode = dialect_name.stream_writer(), encoder(dialect)
    frames = [
        frame
        for event in il.unfold(dialect_name.read_response(wire))
        for frame in writer.feed(event)
    ]
    return [encode(frame) for frame in [*frames, *writer.close()]]
