"""Counting tokens: by the provider where it can, by ourselves where not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import interlingua as il
from interlingua.client import AsyncClient, CallError, TokenCount
from interlingua.profiles.estimate import estimate_input_tokens
from tests.client.scripted import scripted
from tests.client.served import ENVIRON, KEYS, MODELS

COUNTS = {
    "anthropic": ({"input_tokens": 42}, "/v1/messages/count_tokens"),
    "gemini": ({"totalTokens": 42}, "/models/gemini-2.5-flash:countTokens"),
    "bedrock": ({"inputTokens": 42}, "/model/us.anthropic.claude-sonnet-4-6/count-tokens"),
}
TOOL = il.ToolDefinition("add", "Adds.", {"type": "object", "properties": {}})


def count(served: str, answer: Any, model: str, **how: Any) -> tuple[TokenCount, Any, list[str]]:
    async def main() -> tuple[TokenCount, Any, list[str]]:
        async with scripted(served, answer) as server:
            places = {model.partition(":")[0]: server.url}
            async with AsyncClient(base_urls=places, keys=KEYS, environ=ENVIRON) as client:
                options = il.Options(max_output_tokens=5, temperature=0.5)
                counted = await client.count_tokens(model, "Hello", [TOOL], options, **how)
            return counted, server.asked, server.paths

    return asyncio.run(main())


@pytest.mark.parametrize("dialect", list(COUNTS))
def test_a_provider_that_counts_is_asked_in_its_own_words(dialect: str) -> None:
    answer, path = COUNTS[dialect]
    counted, asked, paths = count(dialect, answer, MODELS[dialect])
    assert counted == TokenCount(42, "provider", MODELS[dialect])
    assert paths == [path]
    wire = asked[0]
    if dialect == "anthropic":
        assert set(wire) == {"model", "messages", "tools"}
    elif dialect == "gemini":
        assert wire["generateContentRequest"]["model"] == "models/gemini-2.5-flash"
    else:
        assert set(wire["input"]["converse"]) == {"messages", "toolConfig"}


def test_openai_counts_in_responses_and_not_in_chat() -> None:
    model = MODELS["openai-chat"]
    collected = {"object": "response.input_tokens", "input_tokens": 42}
    counted, _, paths = count("openai-responses", collected, model, dialect="openai-responses")
    assert counted == TokenCount(42, "provider", model)
    assert paths == ["/responses/input_tokens"]
    counted, asked, _ = count("openai-chat", collected, model)
    assert asked == []
    assert counted.source == "estimate"
    options = il.Options(max_output_tokens=5, temperature=0.5)
    expected = estimate_input_tokens([il.Message.user("Hello")], [TOOL], model, options)
    assert counted.tokens == expected


@pytest.mark.parametrize("answer", [{}, {"input_tokens": -1}, {"input_tokens": "many"}])
def test_an_answer_without_a_count_is_an_error(answer: Any) -> None:
    with pytest.raises(CallError, match="token count"):
        count("anthropic", answer, MODELS["anthropic"])
