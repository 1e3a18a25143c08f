"""By what openrouter is recognised."""

from __future__ import annotations

from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    choices_there,
    has_key,
    message_keys,
    messages_there,
    of_type,
)


def _choice_keys(*keys: str) -> Holds:
    def holds(data: Wire) -> bool:
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict):
                message = choice.get("message")
                inner = message if isinstance(message, dict) else {}
                if any(key in choice or key in inner for key in keys):
                    return True
        return False

    return holds


def _openrouter_error(data: Wire) -> bool:
    error = data.get("error")
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and "status" not in error
        and "type" not in error
    )


BODIES: dict[Kind, Holds] = {
    "request": messages_there,
    "response": choices_there,
}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign(
        "request",
        9,
        "keys of OpenRouter",
        has_key("plugins", "models", "transforms", "route", "provider"),
    ),
    Sign("request", 9, "reasoning_details", message_keys("reasoning_details")),
    Sign(
        "request",
        6,
        "a reasoning object beside messages",
        lambda data: isinstance(data.get("reasoning"), dict) and "messages" in data,
    ),
    Sign("response", 5, "choices", of_type("choices", list)),
    Sign(
        "response",
        5,
        "keys of OpenRouter",
        _choice_keys("native_finish_reason", "reasoning_details"),
    ),
    Sign(
        "response",
        5,
        "a provider beside choices",
        lambda data: "choices" in data and isinstance(data.get("provider"), str),
    ),
    Sign("response", 6, "an error with a number as code", _openrouter_error),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return "choices" in data and isinstance(data.get("provider"), str)
