"""By what Cohere's chat is recognised, v2 and v1. Requests of v2 share most of their shape with
Chat's: the signs of that shape weigh the same here, so that what only one of them has decides."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import STOP_REASONS
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    both,
    call_arguments,
    has_key,
    is_word,
    leading_system,
    message_keys,
    messages_of,
    messages_there,
    of_type,
    part_types,
    tool_keys,
    with_roles,
    word,
)

_STARTS = frozenset({"message-start", "content-start", "content-delta", "tool-plan-delta"})
_ENDS = frozenset({"content-end", "tool-call-start", "citation-start", "message-end"})
_V1 = frozenset(
    {"stream-start", "text-generation", "tool-calls-chunk", "tool-calls-generation", "stream-end"}
    | {"search-queries-generation", "search-results", "citation-generation"}
)
_SHARED = ("response_format", "frequency_penalty", "presence_penalty", "logprobs")
_ERROR = frozenset({"id", "message", "error_type", "data"})


def _is_error(data: Wire) -> bool:
    return isinstance(data.get("message"), str) and "id" in data and data.keys() <= _ERROR


def _answer_there(data: Wire) -> bool:
    return isinstance(data.get("message"), dict) or _is_error(data)


def _documents(data: Wire) -> bool:
    listed = data.get("documents")
    return isinstance(listed, list) and "messages" in data


def _thoughts(data: Wire) -> bool:
    return any(_is_thought(part) for message in messages_of(data) for part in _content(message))


def _content(message: Wire) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _is_thought(part: Any) -> bool:
    is_one = isinstance(part, dict) and part.get("type") == "thinking"
    return is_one and isinstance(part.get("thinking"), str) and "signature" not in part


def _billed(data: Wire) -> bool:
    usage = data.get("usage")
    return isinstance(usage, dict) and ("billed_units" in usage or "cached_tokens" in usage)


_OF_CHAT = frozenset(
    {"top_p", "stop", "n", "max_completion_tokens", "top_logprobs", "stream_options", "logit_bias"}
    | {"reasoning_effort", "parallel_tool_calls", "functions", "user", "metadata", "options"}
)
"""Keys that Cohere's compatible endpoints and other hosts of its models take, and v2 does not."""


def _named(data: Wire) -> bool:
    """Whether a model of Cohere is asked by its own name: hosts put theirs before it, and Ollama a
    tag behind it."""
    name = word(data.get("model")) or ""
    is_own = name.startswith(("command", "c4ai-")) and ":" not in name and "/" not in name
    return is_own and _OF_CHAT.isdisjoint(data)


# -- v1 -------------------------------------------------------------------------------------------

_KEYS_OF_V1 = frozenset(
    {"model", "stream", "chat_history", "preamble", "connectors", "documents", "tools", "k", "p"}
    | {"tool_results", "conversation_id", "prompt_truncation", "citation_quality", "temperature"}
    | {"max_tokens", "max_input_tokens", "search_queries_only", "force_single_step", "seed"}
    | {"stop_sequences", "raw_prompting", "response_format", "safety_mode"}
)
_OWN_OF_V1 = (
    *("chat_history", "preamble", "connectors", "tool_results", "prompt_truncation"),
    *("citation_quality", "search_queries_only", "force_single_step", "raw_prompting"),
)


def _is_v1_request(data: Wire) -> bool:
    is_one = isinstance(data.get("message"), str) and "messages" not in data
    return is_one and not _KEYS_OF_V1.isdisjoint(data)


def _is_v1_answer(data: Wire) -> bool:
    is_one = isinstance(data.get("text"), str) and "message" not in data
    return is_one and ("generation_id" in data or "response_id" in data or _versioned(data))


def _versioned(data: Wire) -> bool:
    meta = data.get("meta")
    return isinstance(meta, dict) and "api_version" in meta


BODIES: dict[Kind, Holds] = {
    "request": lambda data: messages_there(data) or _is_v1_request(data),
    "response": lambda data: _answer_there(data) or _is_v1_answer(data),
}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign(
        "request", 6, "keys of Cohere", has_key("safety_mode", "citation_options", "strict_tools")
    ),
    Sign("request", 5, "a model of Cohere", _named),
    Sign("request", 6, "documents beside the messages", _documents),
    Sign("request", 6, "a plan before calls", message_keys("tool_plan")),
    Sign("request", 3, "top k and top p as letters", has_key("k", "p")),
    Sign("request", 6, "choices in capitals", is_word("tool_choice", "REQUIRED", "NONE")),
    Sign("request", 2, "stop_sequences", of_type("stop_sequences", list)),
    Sign("request", 4, "thinking without a signature", _thoughts),
    Sign("request", 3, "documents in results", part_types("document")),
    Sign("request", 3, "keys that Chat has too", has_key(*_SHARED)),
    Sign("request", 3, "images as in Chat", part_types("image_url")),
    Sign("request", 2, "tools in a function key", tool_keys("function")),
    Sign("request", 3, "call arguments as text", call_arguments(str)),
    Sign("request", 2, "tool_call_id", message_keys("tool_call_id")),
    Sign("request", 1, "max_tokens", has_key("max_tokens")),
    Sign("request", 3, "a leading message of role system", leading_system),
    Sign("request", 5, "a message of v1", _is_v1_request),
    Sign("request", 5, "keys of v1", both(_is_v1_request, has_key(*_OWN_OF_V1))),
    Sign(
        "response",
        9,
        "a message beside Cohere's reason to finish",
        lambda data: (
            isinstance(data.get("message"), dict)
            and is_word("finish_reason", *STOP_REASONS.words)(data)
        ),
    ),
    Sign("response", 5, "billed units", _billed),
    Sign("response", 5, "an error with a message and an id", _is_error),
    Sign("response", 9, "a text of v1", _is_v1_answer),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return is_word("type", *_STARTS, *_ENDS)(data) or is_word("event_type", *_V1)(data)
