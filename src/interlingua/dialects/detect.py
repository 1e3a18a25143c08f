"""Which dialect some JSON is in, by its shape: the signs are each dialect's own."""

from __future__ import annotations

import warnings
from typing import Any

from interlingua.dialects.registry import Detected, Kind, dialect, dialects, is_ours


def candidates(data: Any) -> list[Detected]:
    """All dialects that fit, the best first, each with its evidence."""
    if isinstance(data, list) and len(data) == 1:
        data = data[0]  # Gemini's streaming endpoint wraps an error in a list
    if not isinstance(data, dict):
        return []
    found = (_tried(name, kind, data) for name in dialects() for kind in KINDS)
    return sorted([each for each in found if each is not None], key=lambda each: -each.score)


KINDS: tuple[Kind, ...] = ("request", "response")


def _tried(name: str, kind: Kind, data: dict[str, Any]) -> Detected | None:
    """Signs of other packages may fail, which says nothing of all other dialects."""
    if is_ours(name):
        return _fit(name, kind, data)
    try:
        return _fit(name, kind, data)
    except Exception as error:
        warnings.warn(f"dialect {name!r} cannot tell a body: {error}", stacklevel=2)
        return None


def _fit(name: str, kind: Kind, data: dict[str, Any]) -> Detected | None:
    """How well a dialect fits; None if not at all."""
    signs = dialect(name).signs
    if signs is None or kind not in signs.BODIES or not signs.BODIES[kind](data):
        return None
    found = [sign for sign in signs.SIGNS if sign.kind == kind and sign.holds(data)]
    if not found:
        return None
    score = sum(sign.weight for sign in found)
    return Detected(name, kind, tuple(sign.says for sign in found), score)


def key_of(messages: list[dict[str, Any]]) -> str:
    """Where a request has messages that came alone: by what Gemini and Responses alone have."""
    if any("parts" in each for each in messages):
        return "contents"
    return "input" if any("type" in each for each in messages) else "messages"


def usual_dialect(model: str, family: str) -> str | None:
    """The dialect in which a model of this name is usually asked; None where that is not known.
    Only hosts of Chat have names with a slash."""
    return "openai-chat" if "/" in model else FAMILIES.get(family)


FAMILIES = {"claude": "anthropic"} | dict.fromkeys(
    (
        *("gpt", "gpt-oss", "o", "codex", "mistral", "ministral", "magistral", "codestral"),
        *("pixtral", "devstral", "deepseek", "llama", "qwen", "qwq", "grok", "gemini", "gemma"),
        *("glm", "kimi", "moonshot", "phi", "smollm", "sonar", "yi", "mixtral", "minimax"),
        *("command", "nemotron", "hermes", "granite"),
    ),
    "openai-chat",
)
"""Families of models that are asked in one dialect more than in any other, wherever they are
served."""
SAME_ERRORS = ("openai-chat", "openai-responses")
"""OpenAI's errors are the same in both of its APIs; the first is taken."""
