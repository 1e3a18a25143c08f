"""By what openai-responses is recognised."""

from __future__ import annotations

from typing import Any

from interlingua.dialects import signs
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, Wire, all_have


def _input_items(data: Wire) -> bool:
    return "input" in data and isinstance(data["input"], (str, list)) and "messages" not in data


def _input_there(data: Wire) -> bool:
    input = data.get("input")
    if any(key in data for key in _OTHER_INPUT) or _makes_no_answers(data.get("model")):
        return False
    if isinstance(input, list):
        return all_have(input, "type", "role", "content", "id") and not any(
            item.get("type") == "user_input" for item in input
        )
    return input is None or (isinstance(input, str) and any(key in data for key in _BESIDE_INPUT))


_OTHER_INPUT = (
    *("encoding_format", "dimensions", "voice", "system_instruction", "agent", "messages"),
    *("contents",),
)
"""Beside an input, what only embeddings, speech and Gemini's interactions have; and what would be
the conversation if it were one. Interactions also have an input of type `user_input`."""


def _makes_no_answers(model: Any) -> bool:
    """Models that are asked with `model` and `input` too, and say nothing."""
    return isinstance(model, str) and any(
        word in model for word in ("embed", "moderation", "tts-", "-tts")
    )


_BESIDE_INPUT = (
    *("model", "prompt", "instructions", "previous_response_id", "conversation", "tools"),
    *("stream", "max_output_tokens", "reasoning", "text"),
)


def _output_there(data: Wire) -> bool:
    return (
        data.get("object") == "response" or "error" in data or all_have(data.get("output"), "type")
    )


def _own_keys(data: Wire) -> bool:
    there = any(key in data for key in ("instructions", "previous_response_id", "conversation"))
    return there and "messages" not in data and "contents" not in data


def _stored_prompt(data: Wire) -> bool:
    return isinstance(data.get("prompt"), dict) and "id" in data["prompt"]


BODIES: dict[Kind, Holds] = {"request": _input_there, "response": _output_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 6, "input", _input_items),
    Sign("request", 5, "keys of Responses", _own_keys),
    Sign("request", 5, "a stored prompt", _stored_prompt),
    Sign("response", 9, "object response", signs.is_word("object", "response")),
    Sign("response", 5, "an output list", signs.of_type("output", list)),
    Sign("response", 5, "an error with type and message", signs.error_has("type")),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return (signs.word(data.get("type")) or "").startswith("response.")
