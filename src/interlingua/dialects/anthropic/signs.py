"""By what anthropic is recognised."""

from __future__ import annotations

from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    both,
    has_all,
    has_key,
    is_word,
    messages_of,
    messages_there,
    of_type,
    part_types,
    tool_keys,
    with_roles,
    word,
)

_KEYS = ("system", "stop_sequences", "anthropic_version", "output_config")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")


def _anthropic_messages_there(data: Wire) -> bool:
    """Hosts of Chat have keys of Anthropic's, but not its roles."""
    roles = [message.get("role") for message in messages_of(data)]
    chat = {"tool", "function", "developer"}.intersection(filter(None, map(word, roles)))
    return messages_there(data) and not chat and roles[:1] != ["system"]


def _message_there(data: Wire) -> bool:
    return data.get("type") == "error" or isinstance(data.get("content"), list)


BODIES: dict[Kind, Holds] = {"request": _anthropic_messages_there, "response": _message_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign("request", 2, "max_tokens", has_key("max_tokens")),
    Sign("request", 5, "keys of Anthropic", has_key(*_KEYS)),
    Sign("request", 5, "thinking beside max_tokens", has_all("thinking", "max_tokens")),
    Sign("request", 5, "tools with input_schema", tool_keys("input_schema")),
    Sign("request", 5, "blocks of Anthropic", part_types(*_BLOCKS)),
    Sign("response", 9, "type message", is_word("type", "message")),
    Sign("response", 9, "type error", both(is_word("type", "error"), of_type("error", dict))),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return (word(data.get("type")) or "").startswith(("message_", "content_block_", "ping"))
