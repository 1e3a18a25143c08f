"""The dialects by name, and which one some JSON is in. A dialect's code is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

import msgspec

from interlingua.dialects.base import Dialect, parse
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

Kind = Literal["request", "response"]


def dialects() -> list[str]:
    """The names of all dialects."""
    return list(_FOLDERS)


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


def detect(data: Any, kind: Kind | None = None) -> Detected:
    """Which dialect this JSON is in, told by its shape and never by a model's name.

    Raises `DetectError` with the candidates when several fit equally well, or none does."""
    from interlingua.dialects.detect import candidates

    found = [each for each in candidates(parse(data, "JSON")) if kind in (None, each.kind)]
    if not found:
        raise DetectError("no dialect fits this JSON", [])
    best = [each for each in found if each.score == found[0].score]
    if len(best) > 1:
        raise DetectError("several dialects fit equally well", [str(each) for each in best])
    first = found[0]
    return Detected(first.dialect, first.kind, first.evidence, first.score, tuple(found[1:]))
