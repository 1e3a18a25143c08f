"""By what openrouter is recognised."""

from __future__ import annotations

from interlingua.dialects.openai_chat.tables import BODIES as BODIES
from interlingua.dialects.signs import Holds, Sign, Wire, has_key, message_keys, of_type


def _choice_keys(*keys: str) -> Holds:
    def holds(data: Wire) -> bool:
        choices = data.get("choices")
        listed = choices if isinstance(choices, list) else []
        objects = [each for each in listed if isinstance(each, dict)]
        messages = [each["message"] for each in objects if isinstance(each.get("message"), dict)]
        return any(key in each for each in (*objects, *messages) for key in keys)

    return holds


def _openrouter_error(data: Wire) -> bool:
    error = data.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return False
    return "status" not in error and "type" not in error


def _asks_for_thinking(data: Wire) -> bool:
    return isinstance(data.get("reasoning"), dict) and "messages" in data


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return "choices" in data and isinstance(data.get("provider"), str)


_KEYS = ("plugins", "models", "transforms", "route", "provider")
_ANSWERED = ("native_finish_reason", "reasoning_details")

SIGNS = (
    Sign("request", 9, "keys of OpenRouter", has_key(*_KEYS)),
    Sign("request", 9, "reasoning_details", message_keys("reasoning_details")),
    Sign("request", 6, "a reasoning object beside messages", _asks_for_thinking),
    Sign("response", 5, "choices", of_type("choices", list)),
    Sign("response", 5, "keys of OpenRouter", _choice_keys(*_ANSWERED)),
    Sign("response", 5, "a provider beside choices", is_frame),
    Sign("response", 6, "an error with a number as code", _openrouter_error),
)
