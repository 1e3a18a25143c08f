"""What people call a format: its name, an alias (`claude`), or a provider (`groq`), whose own rules
of the dialect are then followed."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from interlingua.adapt import formats
from interlingua.adapt.presets import PRESETS
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import ALIASES, dialect, is_dialect
from interlingua.errors import a_type

FormatName: TypeAlias = (
    Literal[
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "gemini-interactions",
        "ollama",
        "bedrock",
        "openrouter",
        "cohere",
        "openai",
        "claude",
        "google",
        "azure",
        "mistral",
        "groq",
        "deepseek",
        "xai",
        "together",
        "fireworks",
        "cerebras",
        "perplexity",
        "canonical",
    ]
    | str
)
"""A format by name; the list is for editors, and has the usual ones."""


class Format(NamedTuple):
    """A format by its own name, and the provider whose rules it has."""

    name: str
    provider: str | None = None


def format_named(name: str) -> Format:
    """The format that a name means; a name that means none is returned as it is."""
    if not isinstance(name, str):
        raise TypeError(f"a format is a name such as 'anthropic'; found {a_type(name)}")
    if is_dialect(name):
        return Format(name)
    return _other(name)


@lru_cache(256)
def _other(name: str) -> Format:
    from interlingua.providers.read import providers

    known = providers()
    if name in ALIASES:
        return Format(ALIASES[name], name if name in known else None)
    if name in known and name not in (*formats.VIEW_NAMES, *PRESETS):
        return Format(known[name].dialect, name)
    plain = name.lower().replace("_", "-")
    if plain != name and name not in (*formats.VIEW_NAMES, *PRESETS):
        return format_named(plain)
    return Format(name)


def dialect_named(name: str) -> Dialect:
    """The dialect that a name means."""
    format = format_named(name)
    if is_dialect(format.name):
        return dialect(format.name)
    raise formats.unknown_format(name)
