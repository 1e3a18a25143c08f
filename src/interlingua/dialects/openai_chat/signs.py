"""By what openai-chat is recognised."""

from __future__ import annotations

from interlingua.dialects import signs
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, Wire, has_key

_is_flat_error = signs.both(signs.is_word("object", "error"), signs.of_type("message", str))
"""Mistral's and vLLM's errors."""

BODIES: dict[Kind, Holds] = {
    "request": signs.messages_there,
    "response": lambda data: signs.choices_there(data) or _is_flat_error(data),
}
"""Whether there is something that could be the conversation."""

_KEYS = (
    *("max_completion_tokens", "response_format", "frequency_penalty", "presence_penalty"),
    *("logprobs", "top_logprobs", "n", "stream_options", "reasoning_effort"),
    *("parallel_tool_calls", "logit_bias", "functions"),
)
_PARTS = ("image_url", "input_audio", "file", "refusal")

SIGNS = (
    Sign("request", 2, "messages with roles", signs.with_roles),
    Sign("request", 3, "keys of Chat", has_key(*_KEYS)),
    Sign("request", 3, "parts of Chat", signs.part_types(*_PARTS)),
    Sign("request", 2, "tools in a function key", signs.tool_keys("function")),
    Sign("request", 3, "call arguments as text", signs.call_arguments(str)),
    Sign("request", 2, "tool_call_id", signs.message_keys("tool_call_id")),
    Sign("request", 1, "max_tokens", has_key("max_tokens")),
    Sign("request", 3, "a leading message of role system", signs.leading_system),
    Sign("response", 6, "choices", signs.of_type("choices", list)),
    Sign("response", 2, "object chat.completion", signs.is_word("object", "chat.completion")),
    Sign("response", 5, "an error by its object", _is_flat_error),
    Sign("response", 5, "an error with type and message", signs.error_has("type")),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these; OpenRouter names the provider too."""
    return "choices" in data and not isinstance(data.get("provider"), str)
