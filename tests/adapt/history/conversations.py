"""Conversations to be retold."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.adapt.history.retell import retell
from interlingua.dialects.record import Dialect, Traits
from interlingua.model.ids import IdGrammar

GRAMMAR = IdGrammar("[a-zA-Z0-9_-]", 1, 64)


def target(name: str = "anthropic", **traits: Any) -> Dialect:
    fields = {"family": "anthropic", "ids": GRAMMAR, **traits}
    return Dialect(name, name, Traits(**fields), folder="nowhere")  # retelling writes nothing


def call(id: str = "call_1", name: str = "look", **fields: Any) -> il.ToolUseBlock:
    return il.ToolUseBlock(id, name, {}, **fields)


def assistant(*blocks: Any, **metadata: Any) -> il.Message:
    return il.Message.assistant(blocks, il.MessageMetadata(**metadata))


def result(id: str = "call_1", *content: Any) -> il.Message:
    return il.Message.tool_result(id, content or "done")


def told(messages: list[il.Message], to: Dialect, **options: Any) -> Any:
    before = [message.digest() for message in messages]
    told = retell(messages, to, **options)
    assert [message.digest() for message in messages] == before  # history is never touched
    return told


def losses(told: Any) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in told.report.entries]


USER = il.Message.user("go on")

SIGNED = il.ThinkingBlock("hm", "c2ln")


def by_host(*blocks: Any, provider: str = "deepseek", model: str = "thinker") -> il.Message:
    """As a session keeps what a host said that signs nothing."""
    made = f"{provider}:{model}"
    return assistant(*blocks, model=made, provider=provider, protocol="openai-chat")
