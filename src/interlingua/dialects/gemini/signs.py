"""By what gemini is recognised."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, all_have, has_key


def _gemini_error(data: Wire) -> bool:
    error = data.get("error")
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and isinstance(error.get("status"), str)
    )


def _contents_there(data: Wire) -> bool:
    """Turns of parts; parts with a type are those of some page."""
    contents = data.get("contents")
    turns: list[Any] = contents if isinstance(contents, list) else [contents]
    return all_have(turns, "parts", "role") and not any(
        isinstance(part, dict) and "type" in part
        for turn in turns
        if isinstance(turn.get("parts"), list)
        for part in turn["parts"]
    )


def _candidates_there(data: Wire) -> bool:
    found = ("content", "finishReason", "finish_reason", "index")
    return "candidates" not in data or all_have(data["candidates"], *found)


BODIES: dict[Kind, Holds] = {"request": _contents_there, "response": _candidates_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 9, "contents", has_key("contents")),
    Sign(
        "request",
        5,
        "keys of Gemini",
        has_key("generationConfig", "systemInstruction", "system_instruction", "safetySettings"),
    ),
    Sign("response", 9, "candidates", has_key("candidates", "promptFeedback")),
    Sign("response", 5, "usageMetadata", has_key("usageMetadata", "modelVersion")),
    Sign("response", 7, "an error with a status word", _gemini_error),
)


STARTS = (b"[",)
"""How a stream may begin that needs no further look: as an array of answers."""


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return "candidates" in data or "promptFeedback" in data or "usageMetadata" in data
