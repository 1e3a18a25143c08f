"""By what openai-chat is recognised."""

from __future__ import annotations

from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    call_arguments,
    choices_there,
    error_has,
    has_key,
    is_word,
    message_keys,
    messages_of,
    messages_there,
    of_type,
    part_types,
    tool_keys,
    with_roles,
)


def _leading_system(data: Wire) -> bool:
    messages = messages_of(data)
    return bool(messages) and messages[0].get("role") in ("system", "developer")


BODIES: dict[Kind, Holds] = {
    "request": messages_there,
    "response": choices_there,
}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 2, "messages with roles", with_roles),
    Sign(
        "request",
        3,
        "keys of Chat",
        has_key(
            "max_completion_tokens",
            "response_format",
            "frequency_penalty",
            "presence_penalty",
            "logprobs",
            "top_logprobs",
            "n",
            "stream_options",
            "reasoning_effort",
            "parallel_tool_calls",
            "logit_bias",
            "functions",
        ),
    ),
    Sign("request", 3, "parts of Chat", part_types("image_url", "input_audio", "file", "refusal")),
    Sign("request", 2, "tools in a function key", tool_keys("function")),
    Sign("request", 3, "call arguments as text", call_arguments(str)),
    Sign("request", 2, "tool_call_id", message_keys("tool_call_id")),
    Sign("request", 1, "max_tokens", has_key("max_tokens")),
    Sign("request", 3, "a leading message of role system", _leading_system),
    Sign("response", 6, "choices", of_type("choices", list)),
    Sign("response", 2, "object chat.completion", is_word("object", "chat.completion")),
    Sign("response", 5, "an error with type and message", error_has("type")),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these; OpenRouter names the provider too."""
    return "choices" in data and not isinstance(data.get("provider"), str)
