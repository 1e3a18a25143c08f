"""The dialects by name. A dialect's code is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Literal

import msgspec

from interlingua.dialects.record import Dialect, Traits
from interlingua.errors import DetectError

_FOLDERS: dict[str, str] = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock": "bedrock",
    "openrouter": "openrouter",
}
_LOADED: dict[str, Dialect] = {}
_USUAL = Traits()

Kind = Literal["request", "response"]


def dialects() -> list[str]:
    """The names of all dialects."""
    return list(_FOLDERS)


def is_dialect(name: str) -> bool:
    """Whether a dialect is called so."""
    return name in _FOLDERS


def traits_of(name: str) -> Traits:
    """The traits of a dialect; of what is none, the usual ones."""
    return dialect(name).traits if name in _FOLDERS else _USUAL


def folder(name: str) -> str:
    """The folder that a dialect's code is in."""
    return _FOLDERS[name]


def dialect(name: str) -> Dialect:
    """The dialect of this name."""
    try:
        return _LOADED[name]
    except KeyError:
        pass
    if name not in _FOLDERS:
        raise DetectError(f"no dialect is called {name!r}", dialects())
    module = import_module(f"interlingua.dialects.{_FOLDERS[name]}")
    _LOADED[name] = module.DIALECT
    return _LOADED[name]


class Detected(msgspec.Struct, frozen=True):
    """Which dialect and kind some JSON is, and the evidence; `others` fit nearly as well."""

    dialect: str
    kind: Kind
    evidence: tuple[str, ...]
    score: int
    others: tuple[Detected, ...] = ()

    def __str__(self) -> str:
        return f"{self.dialect} {self.kind} ({', '.join(self.evidence)})"
