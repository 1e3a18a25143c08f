"""What a wire says, read a second time by code that shares nothing with the package.

One module per wire format, each with `request`, `response` and `stream`, and all of them fill the
same rooms (`shape.Facts`). They were written from the providers' documentation and their SDKs'
types, and import neither readers, writers nor tables of `interlingua`: what a reader and a writer
have wrong together would not be seen by reading back.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tests.laws.facts import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    gemini_interactions,
    ollama,
    openai_chat,
    openai_responses,
    openrouter,
)
from tests.laws.facts.shape import Facts

READINGS: dict[str, ModuleType] = {
    "anthropic": anthropic,
    "bedrock": bedrock,
    "cohere": cohere,
    "gemini": gemini,
    "gemini-interactions": gemini_interactions,
    "ollama": ollama,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "openrouter": openrouter,
}


def of(dialect: str, kind: str, wire: Any) -> list[Facts]:
    """The facts of a body; of a stream, given as (event, data) pairs, those of each message."""
    reading = READINGS[dialect]
    if kind == "stream":
        return list(reading.stream(wire))
    return [reading.request(wire) if kind == "request" else reading.response(wire)]


Frames = Sequence[tuple[str | None, Any]]
