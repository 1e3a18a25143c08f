"""Requests with tools that vendors define, for tests."""

from __future__ import annotations

from typing import Any

import interlingua as il

SPOKEN = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "xai": "openai-responses",
    "gemini": "gemini",
    "vertex": "gemini",
    "openrouter": "openrouter",
    "bedrock": "bedrock",
}

CLAUDE, GPT, GROK = "anthropic:claude-opus-4-8", "openai:gpt-5.6", "xai:grok-4"

GEMINI, OLDER, ROUTER = (
    "gemini:gemini-3-pro-preview",
    "gemini:gemini-2.5-flash",
    "openrouter:openai/gpt-5",
)


def body(source: str, tools: list[Any], **more: Any) -> dict[str, Any]:
    if source == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": tools, **more}
    if source == "openai-responses":
        return {"model": "m", "input": "hi", "tools": tools, **more}
    fields = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools}
    return {**fields, "max_tokens": 99, **more}


def told(source: str, model: str, *tools: Any, **more: Any) -> il.Written:
    target = SPOKEN[model.partition(":")[0]]
    return il.convert(body(source, list(tools), **more), source, target, model=model)


def lost(written: il.Written) -> set[tuple[str, str, str]]:
    """What is told of the tools."""
    all = [(each.kind, each.severity, each.path) for each in written.report.entries]
    return {each for each in all if each[2].startswith(("$.tools", "$.options.tool", "$.raw"))}


CROSSED = ("approximated", "warning", "$.tools[0]")


def dropped(*names: str, dialect: str = "anthropic") -> set[tuple[str, str, str]]:
    return {("dropped", "warning", f"$.tools[0].raw.{dialect}.{name}") for name in names}
