"""Answers in every dialect, said by our own writers and served by the replay server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import interlingua as il
from interlingua.client import AsyncClient, RetryPolicy
from interlingua.dialects.kernel.wire import encode
from tests.replay.exchanges import Exchange
from tests.replay.routes import path_of
from tests.replay.server import ReplayServer

MODELS = {
    "anthropic": "anthropic:claude-sonnet-4-5",
    "openai-chat": "openai:gpt-4.1",
    "openai-responses": "xai:grok-4",
    "gemini": "gemini:gemini-2.5-flash",
    "gemini-interactions": "gemini:gemini-2.5-flash",
    "ollama": "ollama:llama3.2",
    "openrouter": "openrouter:meta/llama",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-6",
    "cohere": "cohere:command-a-plus-05-2026",
}
"""A model of a provider that speaks the dialect; `xai` speaks Responses when it is asked to."""
BASES = {"openai": "/v1", "xai": "/v1", "gemini": "/v1beta", "openrouter": "/api/v1"}
KEYS = {name: f"test-key-{name}-0123456789" for name in ("anthropic", "openai", "xai", "gemini")}
KEYS |= {
    name: f"test-key-{name}-0123456789" for name in ("openrouter", "bedrock", "groq", "cohere")
}
ENVIRON = {"AWS_REGION": "eu-central-1"}
QUICK = RetryPolicy(first=0.01, longest=0.05)
TEXT = "Grüße, 世界! Two plus two is four."


def response(text: str = TEXT, call: bool = False, **metadata: Any) -> il.Response:
    """An answer that every dialect can say."""
    content: list[il.Block] = [il.TextBlock(text)]
    if call:
        content.append(il.ToolUseBlock("call_1", "add", {"a": 2, "b": 2}))
    usage = il.Usage(input_tokens=12, output_tokens=9, cached_input_tokens=0)
    reason = il.StopReason.TOOL_USE if call else il.StopReason.END_TURN
    known: dict[str, Any] = {
        "response_model": "a-model",
        "response_id": "resp_1",
        "usage": usage,
        "stop_reason": reason,
        **metadata,
    }
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**known)))


def whole(dialect: str, answer: il.Response | None = None, id: str | None = None) -> Exchange:
    """An exchange that answers in one piece."""
    wire = il.dialect(dialect).write_response(answer or response()).wire
    return Exchange(
        id or f"whole-{dialect}", dialect, path_of(dialect, None, False), body=encode(wire)
    )


def streamed(dialect: str, answer: il.Response | None = None, id: str | None = None) -> Exchange:
    """An exchange that answers with a stream, its text word by word."""
    writer = il.dialect(dialect).stream_writer()
    frames: list[il.Frame] = []
    for event in in_words(il.unfold(answer or response())):
        frames += writer.feed(event)
    frames += writer.close()
    return Exchange(
        id or f"stream-{dialect}", dialect, path_of(dialect, None, True), frames=tuple(frames)
    )


def in_words(events: list[Any]) -> Iterator[Any]:
    from interlingua.model.events import TextDelta

    for event in events:
        if isinstance(event, TextDelta):
            for word in event.text.split(" "):
                end = "" if event.text.endswith(word) else " "
                yield TextDelta(event.index, word + end)
        else:
            yield event


def failure(dialect: str, status: int, error: il.ProviderError, id: str = "error") -> Exchange:
    """An exchange that answers with an error in the dialect's own shape."""
    message = il.Message.assistant((), il.MessageMetadata(status=il.MessageStatus.ERROR))
    wire = il.dialect(dialect).write_response(il.Response(message, error=error)).wire
    path = path_of(dialect, None, False)
    return Exchange(id, dialect, path, status=status, body=encode(wire))


@contextmanager
def serving(*exchanges: Exchange, **how: Any) -> Iterator[ReplayServer]:
    with ReplayServer(exchanges, **how) as server:
        yield server


def client_of(server: ReplayServer | str, id: str, **how: Any) -> AsyncClient:
    """A client all of whose providers are the server, answering with one exchange."""
    usual = {"keys": KEYS, "environ": ENVIRON, "retry": QUICK, "base_urls": bases(server, id)}
    return AsyncClient(**{**usual, **how})


def bases(server: ReplayServer | str, id: str) -> dict[str, str]:
    url = server if isinstance(server, str) else f"{server.url}/@{id}"
    providers = {model.partition(":")[0] for model in MODELS.values()} | {"groq", "local"}
    return {name: url + BASES.get(name, "") for name in providers}


def dialect_arg(dialect: str) -> str | None:
    """Where a provider is usually asked in another one."""
    return dialect if dialect in ("openai-responses", "gemini-interactions") else None
