"""By what gemini-interactions is recognised."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import (
    CALL,
    ERRORS,
    HOSTED_CALLS,
    HOSTED_RESULTS,
    MEDIA,
    MODEL_OUTPUT,
    OBJECT,
    RESULT,
    THOUGHT,
    USER_INPUT,
)
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, Wire, all_have, has_all, has_key, is_word, word

_OWN_STEPS = frozenset({USER_INPUT, MODEL_OUTPUT, THOUGHT, RESULT, *HOSTED_CALLS, *HOSTED_RESULTS})
_STEPS = frozenset({*_OWN_STEPS, CALL})
_CONTENT = frozenset({"text", *MEDIA})
_ANSWERS = ("steps", "outputs")
_BESIDE = ("system_instruction", "generation_config", "previous_interaction_id", "agent")


def _types(listed: Any) -> set[str | None]:
    if not all_have(listed, "type"):
        return set()
    return {word(item["type"]) for item in listed if "type" in item}


def _input_there(data: Wire) -> bool:
    value = data.get("input")
    if "messages" in data or "contents" in data:
        return False
    if isinstance(value, str) or value is None:
        return any(key in data for key in _BESIDE) or _is_googles(data)
    listed = value if isinstance(value, list) else [value]
    types = _types(listed)
    if _has_turns(data):
        return True
    return bool(types & _OWN_STEPS) or (bool(types) and types <= _STEPS | _CONTENT)


def _is_googles(data: Wire) -> bool:
    """An input that is a text is said to Google where the model is one of its own."""
    name = (word(data.get("model")) or "").removeprefix("models/")
    return "input" in data and name.startswith(("gemini-", "gemma-"))


def _has_turns(data: Wire) -> bool:
    """Turns of the older revision: no type, and a model's role that only Google has."""
    value = data.get("input")
    if not isinstance(value, list) or not value or not all_have(value, "role", "content"):
        return False
    is_models = any(each.get("role") == "model" for each in value) or _is_googles(data)
    return is_models and not any("type" in each for each in value)


def _has_steps(data: Wire) -> bool:
    value = data.get("input")
    return bool(_types(value if isinstance(value, list) else [value]) & _OWN_STEPS)


def _has_content(data: Wire) -> bool:
    value = data.get("input")
    return bool(_types(value if isinstance(value, list) else [value]) & _CONTENT)


def _plain_error(data: Wire) -> bool:
    """One of Google's codes and a message, alone: other hosts have codes of their own."""
    error = data.get("error")
    return (
        isinstance(error, dict)
        and len(data) == 1
        and set(error) <= {"code", "message"}
        and word(error.get("code")) in ERRORS.words
        and isinstance(error.get("message"), str)
    )


def _answer_there(data: Wire) -> bool:
    return (
        data.get("object") == OBJECT
        or _plain_error(data)
        or ("status" in data and any(all_have(data.get(key), "type") for key in _ANSWERS))
    )


BODIES: dict[Kind, Holds] = {"request": _input_there, "response": _answer_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 14, "steps as input", _has_steps),
    Sign("request", 14, "turns of a user and a model as input", _has_turns),
    Sign("request", 9, "content as input", _has_content),
    Sign("request", 9, "an input for one of Google's models", _is_googles),
    Sign("request", 7, "keys of Interactions", has_key(*_BESIDE)),
    Sign("response", 9, "object interaction", is_word("object", OBJECT)),
    Sign("response", 7, "steps with a status", has_all("steps", "status")),
    Sign("response", 7, "outputs with a status", has_all("outputs", "status")),
    Sign("response", 6, "an error with a code and a message", _plain_error),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return (word(data.get("event_type")) or "").startswith(("interaction.", "step.", "content."))
