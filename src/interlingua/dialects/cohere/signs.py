"""By what Cohere's v2 chat is recognised."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import STOP_REASONS
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    has_key,
    is_word,
    message_keys,
    messages_of,
    messages_there,
    of_type,
    with_roles,
)

_STARTS = frozenset({"message-start", "content-start", "content-delta", "tool-plan-delta"})
_ENDS = frozenset({"content-end", "tool-call-start", "citation-start", "message-end"})
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


BODIES: dict[Kind, Holds] = {"request": messages_there, "response": _answer_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign(
        "request", 6, "keys of Cohere", has_key("safety_mode", "citation_options", "strict_tools")
    ),
    Sign("request", 6, "documents beside the messages", _documents),
    Sign("request", 6, "a plan before calls", message_keys("tool_plan")),
    Sign("request", 3, "top k and top p as letters", has_key("k", "p")),
    Sign("request", 6, "choices in capitals", is_word("tool_choice", "REQUIRED", "NONE")),
    Sign("request", 2, "stop_sequences", of_type("stop_sequences", list)),
    Sign("request", 4, "thinking without a signature", _thoughts),
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
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return is_word("type", *_STARTS, *_ENDS)(data)
