"""The types of the chat-completion shapes, for programs that build or read them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, Required, TypedDict


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


ChatCompletionMessageToolCall = ToolCall


class MessageParam(TypedDict):
    role: Literal["system", "user", "assistant", "tool"]
    content: NotRequired[str | list[TextPart]]
    name: NotRequired[str]
    tool_calls: NotRequired[list[ToolCall]]
    tool_call_id: NotRequired[str]


ChatCompletionMessageParam = MessageParam


class CachedTokens(TypedDict):
    cached_tokens: int | None


class UsageParam(TypedDict, total=False):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


CompletionUsage = UsageParam


class MessageAdded(TypedDict):
    msg: Literal["MessageAdded"]
    message: MessageParam


class Answer(TypedDict):
    """A finished answer: one string, and a list of calls, which may be empty."""

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


class ChatCompletionMessage(TypedDict, total=False):
    """The message of an answer."""

    role: Required[Literal["assistant"]]
    content: Required[str | None]
    refusal: str | None
    tool_calls: list[ToolCall]


class Choice(TypedDict):
    index: int
    message: ChatCompletionMessage
    finish_reason: str | None


class ChatCompletion(TypedDict, total=False):
    """A whole answer."""

    id: Required[str]
    object: Required[Literal["chat.completion"]]
    created: Required[int]
    model: Required[str]
    choices: Required[list[Choice]]
    usage: CompletionUsage


class FunctionDefinition(TypedDict, total=False):
    name: Required[str]
    description: str
    parameters: dict[str, Any]
    strict: bool


class Tool(TypedDict):
    type: Literal["function"]
    function: FunctionDefinition


class StreamOptions(TypedDict, total=False):
    include_usage: bool


class Request(TypedDict, total=False):
    """The request for one answer."""

    model: Required[str]
    messages: Required[list[MessageParam]]
    tools: list[Tool]
    tool_choice: Literal["auto", "none", "required"] | dict[str, Any]
    parallel_tool_calls: bool
    stream: bool
    stream_options: StreamOptions
    temperature: float
    top_p: float
    max_tokens: int
    max_completion_tokens: int
    stop: str | list[str]
    n: int
    seed: int
    frequency_penalty: float
    presence_penalty: float
    logit_bias: dict[str, float]
    logprobs: bool
    top_logprobs: int
    response_format: dict[str, Any]
    reasoning_effort: str
    verbosity: str
    modalities: list[str]
    service_tier: str
    store: bool
    metadata: dict[str, str]
    user: str
