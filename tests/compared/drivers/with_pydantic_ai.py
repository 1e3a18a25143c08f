"""pydantic-ai: it reads no requests of clients, so that an answer of one provider is taken as the
history of a question to another; what is judged is the history that the other one is sent."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from runner import Job, NotOfferedError, Upstream, main

UPSTREAM = Upstream()
LOOP = asyncio.new_event_loop()
URL = UPSTREAM.url
MODELS: dict[str, Any] = {
    "openai-chat": OpenAIChatModel(
        "gpt-4.1", provider=OpenAIProvider(base_url=f"{URL}/v1", api_key="x")
    ),
    "openai-responses": OpenAIResponsesModel(
        "gpt-4.1", provider=OpenAIProvider(base_url=f"{URL}/v1", api_key="x")
    ),
    "anthropic": AnthropicModel(
        "claude-sonnet-4-5", provider=AnthropicProvider(base_url=URL, api_key="x")
    ),
    "gemini": GoogleModel("gemini-2.5-pro", provider=GoogleProvider(base_url=URL, api_key="x")),
}
HELLO = ModelRequest(parts=[UserPromptPart("Hello")])
SETTINGS: Any = {"max_tokens": 1000}
NOTHING = ModelRequestParameters()


def convert(job: Job) -> tuple[Any, str]:
    if job["kind"] != "response":
        raise NotOfferedError
    UPSTREAM.prepare(job)
    answer = LOOP.run_until_complete(MODELS[job["source"]].request([HELLO], SETTINGS, NOTHING))
    UPSTREAM.prepare({**job, "kind": "request", "body": {}})
    asked = [HELLO, answer, HELLO]
    LOOP.run_until_complete(MODELS[job["target"]].request(asked, SETTINGS, NOTHING))
    return UPSTREAM.asked, ""


main(convert, None)
