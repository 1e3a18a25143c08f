"""The types of the chat-completion shapes, for those who build or take them apart themselves."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class TextPart(TypedDict):
    type: Literal["text"]
    text: str


class Function(TypedDict):
    name: str
    arguments: str
    """JSON; null is read as no arguments, and written as an empty string."""


class ToolCall(TypedDict):
    id: str
    type: Literal["function"]
    function: Function


class MessageParam(TypedDict):
    role: Literal["system", "user", "assistant", "tool"]
    content: NotRequired[str | list[TextPart]]
    name: NotRequired[str]
    tool_calls: NotRequired[list[ToolCall]]
    tool_call_id: NotRequired[str]


class CachedTokens(TypedDict):
    cached_tokens: int | None


class UsageParam(TypedDict, total=False):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class MessageAdded(TypedDict):
    msg: Literal["MessageAdded"]
    message: MessageParam


class Answer(TypedDict):
    """A finished answer: one string, and its calls even if there are none."""

    role: Literal["assistant"]
    content: str
    tool_calls: list[ToolCall]


class RequestCompleted(TypedDict):
    msg: Literal["RequestCompleted"]
    usage: list[UsageParam] | None
    """Null, or a list of one."""
    message: Answer


class QueuedMessage(TypedDict):
    id: str
    message: MessageParam
