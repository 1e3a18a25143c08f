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
    parts_of,
    tool_keys,
    with_roles,
    word,
)

_KEYS = ("system", "anthropic_version", "output_config")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")


def _anthropic_messages_there(data: Wire) -> bool:
    """Hosts of Chat have keys of Anthropic's, but not its roles."""
    roles = [message.get("role") for message in messages_of(data)]
    chat = {"tool", "function", "developer"}.intersection(filter(None, map(word, roles)))
    return messages_there(data) and not chat and roles[:1] != ["system"]


def _message_there(data: Wire) -> bool:
    return data.get("type") == "error" or isinstance(data.get("content"), list)


def _thinks(data: Wire) -> bool:
    """Hosts of Chat switch thinking on and off with the same key; they have no budget for it
    (DeepSeek's recorded requests, read 2026-11-18)."""
    thinking, model = data.get("thinking"), word(data.get("model"))
    if not isinstance(thinking, dict) or "max_tokens" not in data:
        return False
    is_switch = thinking.keys() == {"type"} and thinking["type"] in ("enabled", "disabled")
    return not is_switch or model is None or "claude" in model


def _blocks(data: Wire) -> bool:
    """Mistral's thinking is a list of parts."""
    return any(
        word(part.get("type")) in _BLOCKS and not isinstance(part.get("thinking"), list)
        for part in parts_of(data)
    )


BODIES: dict[Kind, Holds] = {"request": _anthropic_messages_there, "response": _message_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign("request", 2, "max_tokens", has_key("max_tokens")),
    Sign("request", 5, "keys of Anthropic", has_key(*_KEYS)),
    Sign("request", 3, "stop_sequences", has_key("stop_sequences")),
    Sign("request", 2, "stop_sequences beside max_tokens", has_all("stop_sequences", "max_tokens")),
    Sign("request", 5, "thinking beside max_tokens", _thinks),
    Sign("request", 5, "tools with input_schema", tool_keys("input_schema")),
    Sign("request", 5, "blocks of Anthropic", _blocks),
    Sign("response", 9, "type message", is_word("type", "message")),
    Sign("response", 9, "type error", both(is_word("type", "error"), of_type("error", dict))),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return (word(data.get("type")) or "").startswith(("message_", "content_block_", "ping"))
