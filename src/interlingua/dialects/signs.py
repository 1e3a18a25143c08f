"""Detects the dialect of JSON by its shape, from the dialects' own signs.

Each dialect's tables have `SIGNS`, `BODIES` and, for its streams, `is_frame` or `STARTS` for frames
and first bytes. A sign of weight 5 or more is proof enough by itself; signs of lesser weight add
up. No sign counts for JSON that has no conversation at the dialect's own place: `BODIES` names that
place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from interlingua.dialects.registry import Detected, Kind, dialect, dialects, is_ours

Wire = dict[str, Any]
Holds = Callable[[Wire], bool]


class Sign(NamedTuple):
    kind: Kind
    weight: int
    says: str
    """The evidence in words."""
    holds: Holds


def has_key(*keys: str) -> Holds:
    return lambda data: any(key in data for key in keys)


def has_all(*keys: str) -> Holds:
    return lambda data: all(key in data for key in keys)


def both(*signs: Holds) -> Holds:
    """Several signs, all of which have to hold."""
    return lambda data: all(sign(data) for sign in signs)


def is_word(key: str, *values: Any) -> Holds:
    return lambda data: isinstance(data.get(key), (str, bool)) and data[key] in values


def of_type(key: str, kind: type) -> Holds:
    return lambda data: isinstance(data.get(key), kind)


def messages_of(data: Wire) -> list[Wire]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        return []
    return [message for message in messages if isinstance(message, dict)]


def parts_of(data: Wire) -> Iterator[Wire]:
    for message in messages_of(data):
        content = message.get("content")
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict):
                yield part


def with_roles(data: Wire) -> bool:
    messages = messages_of(data)
    return bool(messages) and all("role" in message for message in messages)


def leading_system(data: Wire) -> bool:
    messages = messages_of(data)
    return bool(messages) and word(messages[0].get("role")) in ("system", "developer")


def part_types(*types: str) -> Holds:
    return lambda data: any(
        isinstance(part.get("type"), str) and part["type"] in types for part in parts_of(data)
    )


def message_keys(*keys: str) -> Holds:
    return lambda data: any(key in message for message in messages_of(data) for key in keys)


def tool_keys(*keys: str) -> Holds:
    def holds(data: Wire) -> bool:
        tools = data.get("tools")
        return isinstance(tools, list) and any(
            isinstance(tool, dict) and key in tool for tool in tools for key in keys
        )

    return holds


def call_arguments(kind: type) -> Holds:
    def holds(data: Wire) -> bool:
        messages = [*messages_of(data), data.get("message")]
        for message in messages:
            calls = message.get("tool_calls") if isinstance(message, dict) else None
            for call in calls if isinstance(calls, list) else []:
                function = call.get("function") if isinstance(call, dict) else None
                if isinstance(function, dict) and isinstance(function.get("arguments"), kind):
                    return True
        return False

    return holds


def error_has(*keys: str) -> Holds:
    return lambda data: (
        isinstance(data.get("error"), dict)
        and data.get("type") != "error"
        and all(key in data["error"] for key in keys)
    )


def all_have(items: Any, *keys: str) -> bool:
    """A list of objects each of which has one of these keys."""
    return isinstance(items, list) and all(
        isinstance(item, dict) and any(key in item for key in keys) for item in items
    )


ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model"})


def messages_there(data: Wire) -> bool:
    """Messages with roles, at least one of which is a role of a conversation."""
    messages = data.get("messages")
    return all_have(messages, "role") and (
        not messages or any(word(each["role"]) in ROLES for each in messages_of(data))
    )


def word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def choices_there(data: Wire) -> bool:
    choices = ("message", "messages", "delta", "finish_reason", "text")
    return "error" in data or all_have(data.get("choices"), *choices)


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
    """Signs of other packages may fail, which does not affect other dialects."""
    if is_ours(name):
        return _fit(name, kind, data)
    try:
        return _fit(name, kind, data)
    except Exception as error:
        warnings.warn(f"dialect {name!r} failed to detect a body: {error}", stacklevel=2)
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
    """The key under which a bare list of messages belongs: by members that only Gemini and
    Responses have."""
    if any("parts" in each for each in messages):
        return "contents"
    if any("type" in each for each in messages):
        return "input"
    return "input" if part_types(*_OF_ITEMS)({"messages": messages}) else "messages"


_OF_ITEMS = ("input_text", "input_image", "input_file", "output_text")
"""Types of parts that only items of Responses have."""


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
"""Families of models that are usually called in one dialect, wherever they are served."""
SAME_ERRORS = ("openai-chat", "openai-responses")
"""OpenAI's errors are the same in both of its APIs; the first is taken."""
