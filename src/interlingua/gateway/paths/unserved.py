"""Paths that official SDKs have and the gateway does not serve: they are told apart from paths that
nobody has, with a list of what is served."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from interlingua.dialects.front import Front
from interlingua.gateway.shared.fronts import ANTHROPIC, BEDROCK, CHAT, COHERE, GEMINI, OLLAMA
from interlingua.profiles.almanac import endpoints

SERVED = (
    "/v1/chat/completions, /v1/responses, /v1/conversations, /v1/completions, /v1/embeddings,"
    " /v1/files and /v1/batches, /v1/images, /v1/audio, /v1/moderations, /v1/rerank, /v1/messages,"
    " /v1/messages/count_tokens, /v1/messages/batches, /v1/models,"
    " /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, :embedContent"
    " and :batchEmbedContents, /v1beta/interactions, /v2/chat, /v2/embed, /v2/rerank, /api/chat,"
    " /api/embed, /api/tags, /api/show, /api/version"
)

_FRONTS = {
    "google-genai": GEMINI,
    "ollama": OLLAMA,
    "openai": CHAT,
    "mistralai": CHAT,
    "cohere": COHERE,
    "openrouter": CHAT,
    "botocore": BEDROCK,
    "anthropic": ANTHROPIC,
}
"""Whose errors the packages understand. Where several have a path, the first one decides."""
_NAME = re.compile(r"\\\{[^}]*\\\}")


@cache
def _paths(package: str) -> dict[str, re.Pattern[str]]:
    """The paths of a package, by method."""
    found: dict[str, list[str]] = {}
    for each in endpoints():
        if each.package == package:
            found.setdefault(each.method, []).append(_NAME.sub("[^/]+", re.escape(each.path)))
    return {method: re.compile("|".join(paths)) for method, paths in found.items()}


def unserved(path: str, headers: Mapping[str, str], method: str | None = None) -> Front | None:
    """Whose SDK has this path, with this method or with any; None where none has."""
    packages = ("anthropic",) if "anthropic-version" in headers else tuple(_FRONTS)
    for package in packages:
        paths = _paths(package)
        some = paths.values() if method is None else filter(None, (paths.get(method),))
        if any(pattern.fullmatch(path) for pattern in some):
            return _FRONTS[package]
    return None
