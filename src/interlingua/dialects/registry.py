"""The dialects by name. A dialect's code is loaded on first use."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import msgspec

from interlingua.dialects.record import Dialect, Traits
from interlingua.errors import DetectError
from interlingua.plugins import contained, entry_points_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_FOLDERS: dict[str, str] = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "gemini-interactions": "gemini_interactions",
    "ollama": "ollama",
    "bedrock": "bedrock",
    "openrouter": "openrouter",
    "cohere": "cohere",
}
ALIASES = {
    "openai": "openai-chat",
    "chat": "openai-chat",
    "responses": "openai-responses",
    "claude": "anthropic",
    "google": "gemini",
    "interactions": "gemini-interactions",
    "converse": "bedrock",
    "anthropic-messages": "anthropic",
    "bedrock-converse": "bedrock",
    "chat-completions": "openai-chat",
    "openai-chat-completions": "openai-chat",
    "openai-completions": "openai-chat",
    "ollama-chat": "ollama",
}
"""Other names of our dialects."""
_LOADED: dict[str, Dialect] = {}
_USUAL = Traits()
_NONE: dict[str, Dialect] = {}
GROUP = "interlingua.dialects"
"""The entry points by which other packages bring dialects of their own."""

Kind = Literal["request", "response"]


def dialects() -> list[str]:
    """The names of all dialects: ours, and those that other packages plugged in."""
    return [*_FOLDERS, *_others()]


def is_dialect(name: str) -> bool:
    """Whether a dialect is called so."""
    return name in _FOLDERS or name in _others()


def is_ours(name: str) -> bool:
    """Whether this package itself has the dialect."""
    return name in _FOLDERS


def traits_of(name: str) -> Traits:
    """The traits of a dialect; the default ones for an unknown name."""
    return dialect(name).traits if is_dialect(name) else _USUAL


def dialect(name: str) -> Dialect:
    """The dialect of this name, or of an alias such as `openai` or `claude`."""
    try:
        return _LOADED[name]
    except KeyError:
        pass
    if name in _FOLDERS:
        module = import_module(f"interlingua.dialects.{_FOLDERS[name]}")
        _LOADED[name] = module.DIALECT
        return _LOADED[name]
    found = _others().get(name)
    if found is not None:
        return found
    if name in ALIASES:
        return dialect(ALIASES[name])
    raise unknown_name("dialect", name, dialects(), ALIASES)


def unknown_name(
    what: str, name: object, known: Iterable[str], others: Iterable[str] = ()
) -> DetectError:
    """An error that suggests the nearest name before it lists all; `others` are suggested only."""
    known = list(known)
    near = get_close_matches(str(name), [*known, *others], 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return DetectError(f"unknown {what} {name!r}{hint}", known, near[0] if near else None)


def _others() -> dict[str, Dialect]:
    points = entry_points_of(GROUP)
    return _load(points) if points else _NONE


@lru_cache(maxsize=4)
def _load(points: tuple[EntryPoint, ...]) -> dict[str, Dialect]:
    """Those of other packages; one that cannot be loaded is named in a warning and left out."""
    found: dict[str, Dialect] = {}
    for point in points:
        try:
            with contained():
                found[point.name] = _checked(point)
        except Exception as error:
            warnings.warn(f"dialect {point.name!r} cannot be loaded: {error}", stacklevel=2)
    return found


def _checked(point: EntryPoint) -> Dialect:
    plugged = point.load()
    if not isinstance(plugged, Dialect) or plugged.name != point.name:
        raise TypeError(f"{point.value} is not a dialect named {point.name!r}")
    if plugged.name in _FOLDERS:
        raise ValueError("another dialect already has this name")
    plugged.load("request")
    plugged.load("response")
    _ = plugged.signs, plugged.front, plugged.decoder  # what cannot be loaded is known now
    return plugged


class Detected(msgspec.Struct, frozen=True):
    """Which dialect and kind some JSON is, and the evidence; `others` fit nearly as well."""

    dialect: str
    kind: Kind
    evidence: tuple[str, ...]
    score: int
    others: tuple[Detected, ...] = ()

    def __str__(self) -> str:
        return f"{self.dialect} {self.kind} ({', '.join(self.evidence)})"
