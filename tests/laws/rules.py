"""What services refuse although their SDKs' types take it: first turns, empty and blank texts,
names of tools, budgets, options that need others. From the providers' documentation and their
error messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


def problems(dialect: str, wire: Any) -> list[str]:
    """What the service has against this request."""
    rule = RULES.get(dialect)
    return list(rule(wire)) if rule is not None else []


# -- Gemini ---------------------------------------------------------------------------------------

_GEMINI_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def _gemini(wire: Any) -> Iterator[str]:
    before = None
    for index, content in enumerate(wire.get("contents") or ()):
        role, parts = content.get("role"), content.get("parts") or ()
        if index == 0 and role == "model":
            yield "/contents/0: the first turn is the model's"
        if any("functionCall" in part for part in parts) and before == "model":
            yield f"/contents/{index}: calls come right after a user's turn"
        for number, part in enumerate(parts):
            if part.get("text") == "" and "thoughtSignature" not in part:
                yield f"/contents/{index}/parts/{number}: an empty text"
        before = role
    for tool in wire.get("tools") or ():
        for each in tool.get("functionDeclarations") or ():
            if not _GEMINI_NAME.fullmatch(each["name"]):
                yield f"/tools: a function called {each['name']!r}"


# -- Anthropic, and Bedrock, whose models are mostly Anthropic's ----------------------------------

_ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
LEAST_BUDGET = 1024


def _anthropic(wire: Any) -> Iterator[str]:
    yield from _budget(wire.get("thinking") or {}, wire.get("max_tokens"))
    for index, message in enumerate(wire.get("messages") or ()):
        if index == 0 and message["role"] != "user":
            yield f"/messages/0: the first turn is {message['role']}'s"
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for number, block in enumerate(blocks):
            place = f"/messages/{index}/content/{number}"
            if block["type"] == "text" and not block["text"].strip():
                yield f"{place}: a text of nothing but blanks"
            if block["type"] == "document" and message["role"] == "assistant":
                yield f"{place}: a document of the assistant's"
            if block["type"].endswith("thinking") and "cache_control" in block:
                yield f"{place}: thinking is not cached"
    for index, tool in enumerate(wire.get("tools") or ()):
        if "input_schema" in tool and not _ANTHROPIC_NAME.fullmatch(tool["name"]):
            yield f"/tools/{index}: a tool called {tool['name']!r}"


def _budget(thinking: Any, limit: int | None) -> Iterator[str]:
    budget = thinking.get("budget_tokens")
    if budget is not None and budget < LEAST_BUDGET:
        yield f"/thinking: a budget of {budget}, under {LEAST_BUDGET}"
    if budget is not None and limit is not None and budget >= limit:
        yield f"/thinking: a budget of {budget} within {limit} tokens"


def _bedrock(wire: Any) -> Iterator[str]:
    limit = (wire.get("inferenceConfig") or {}).get("maxTokens")
    more = wire.get("additionalModelRequestFields") or {}
    yield from _budget(more.get("thinking") or {}, limit)
    before = None
    for index, message in enumerate(wire.get("messages") or ()):
        place = f"/messages/{index}"
        if index == 0 and message["role"] != "user":
            yield f"{place}: the first turn is {message['role']}'s"
        if message["role"] == before:
            yield f"{place}: two turns of the {before} in a row"
        before = message["role"]
        for block in message["content"]:
            if "text" in block and not block["text"].strip():
                yield f"{place}: a text of nothing but blanks"
            result = block.get("toolResult") or {}
            if result.get("status") == "error" and not result.get("content"):
                yield f"{place}: an error without a word"


# -- OpenAI ---------------------------------------------------------------------------------------

_CHAT_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _chat(wire: Any) -> Iterator[str]:
    if not wire.get("tools") and not wire.get("functions"):
        for key in ("parallel_tool_calls", "tool_choice"):
            if key in wire:
                yield f"/{key}: there are no tools"
    if wire.get("tools") == []:
        yield "/tools: none in it"
    if "stream_options" in wire and wire.get("stream") is not True:
        yield "/stream_options: it is no stream"
    for index, tool in enumerate(wire.get("tools") or ()):
        name = (tool.get("function") or tool.get("custom") or {}).get("name")
        if name is not None and not _CHAT_NAME.fullmatch(name):
            yield f"/tools/{index}: a tool called {name!r}"


RULES: dict[str, Callable[[Any], Iterator[str]]] = {
    "gemini": _gemini,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "openai-chat": _chat,
}


def ollama_answer(wire: Any) -> list[str]:
    """Ollama's models make no images, and its client takes none."""
    import ollama
    from pydantic import ValidationError

    if wire.get("message", {}).get("images"):
        return ["/message/images: an answer has none"]
    try:
        ollama.ChatResponse.model_validate(wire)
    except ValidationError as error:
        return [str(error.errors()[0]["msg"])]
    return []
