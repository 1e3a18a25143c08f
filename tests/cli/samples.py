"""Conversations, streams and files that tests of commands convert, and how they run one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from interlingua.cli.main import commands

PLAIN = {"model": "gpt-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}

SEEDED = {**PLAIN, "seed": 7}

ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
}


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-5",
        "choices": [choice],
    }


CHUNKS = [chunk({"role": "assistant", "content": "Hi"}), chunk({}, "stop")]

SSE = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in CHUNKS)

STREAM = SSE + b"data: [DONE]\n\n"

CUT = SSE[: SSE.index(b"\n\n") + 2]


def run(*arguments: str | Path, stdin: bytes = b"") -> Result:
    result = CliRunner().invoke(commands(), list(map(str, arguments)), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def lines_of(*values: Any) -> bytes:
    return b"".join(as_bytes(value) + b"\n" for value in values)


BARE = {
    "openai-chat": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c"}}]}
    ],
    "anthropic": [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        }
    ],
    "gemini": [{"role": "user", "parts": [{"text": "hi"}]}],
    "bedrock": [{"role": "user", "content": [{"text": "hi"}]}],
    "openai-responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    ],
    "flat": [{"role": "user", "content": "hi"}],
}

BATCHES: dict[str, list[Any]] = {
    "openai-chat request": [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": PLAIN}
    ],
    "openai-responses request": [
        {
            "custom_id": "a",
            "method": "POST",
            "url": "/v1/responses",
            "body": {"model": "gpt-5", "input": "hi"},
        }
    ],
    "openai-chat response": [
        {"id": "b", "custom_id": "a", "response": {"status_code": 200, "body": ANSWER}}
    ],
    "openai-chat error": [
        {"custom_id": "a", "response": None, "error": {"code": "expired", "message": "late"}}
    ],
    "anthropic request": [{"custom_id": "a", "params": {**PLAIN, "model": "claude-sonnet-4-6"}}],
    "anthropic response": [
        {
            "custom_id": "a",
            "result": {
                "type": "succeeded",
                "message": {"type": "message", "role": "assistant", "content": []},
            },
        }
    ],
    "anthropic error": [
        {
            "custom_id": "a",
            "result": {
                "type": "errored",
                "error": {"type": "error", "error": {"type": "api_error", "message": "No"}},
            },
        }
    ],
}

SHAREGPT = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}

CODEX = lines_of(
    {
        "timestamp": "2026-11-01T10:00:00.000Z",
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/home/me", "cli_version": "0.166.0"},
    },
    {
        "timestamp": "2026-11-01T10:00:01.000Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "hi"}],
        },
    },
)
