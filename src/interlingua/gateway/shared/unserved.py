"""Paths that official SDKs have and the gateway does not serve: they get an error of their own,
with a list of the served ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from interlingua.dialects.front import Front
from interlingua.gateway.shared.fronts import (
    ANTHROPIC,
    BEDROCK,
    CHAT,
    COHERE,
    GEMINI,
    OLLAMA,
    ROUTER,
)
from interlingua.profiles.almanac import endpoints

SERVED = (
    "/v1/chat/completions, /v1/responses, /v1/conversations, /v1/completions, /v1/embeddings,"
    " /v1/files and /v1/batches, /v1/images, /v1/audio, /v1/moderations, /v1/rerank, /v1/messages,"
    " /v1/messages/count_tokens, /v1/messages/batches, /v1/models,"
    " /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, :embedContent"
    " and :batchEmbedContents (the same with /v1, with /v1alpha and at Vertex's paths for models of"
    " /publishers/google/, there :predict of embeddings too), /v1beta/interactions, /v2/chat,"
    " /v2/embed, /v2/rerank, /api/chat, /api/embed, /api/tags, /api/show, /api/version"
)

MISTRAL = "mistralai"
_FRONTS = {
    "google-genai": GEMINI,
    "ollama": OLLAMA,
    "openai": CHAT,
    MISTRAL: CHAT,
    "cohere": COHERE,
    "openrouter": ROUTER,
    "botocore": BEDROCK,
    "anthropic": ANTHROPIC,
}
"""The front whose errors the packages understand. If several have a path, the first one decides."""
_NAME = re.compile(r"\\\{[^}]*\\\}")
_CLIENTS = (
    ("anthropic", "anthropic-version", ""),
    ("google-genai", "x-goog-api-key", ""),
    ("google-genai", "x-goog-api-client", ""),
    ("cohere", "x-fern-sdk-name", "cohere"),
    (MISTRAL, "user-agent", "mistral-client"),
    ("openrouter", "user-agent", "openrouter"),
)
"""The header that identifies a package, and a word in it. Others count as OpenAI's."""
_OTHER_APIS = {
    "google-genai": re.compile("/v1/(?:files|batches)(?:/.*)?"),
    MISTRAL: re.compile("/v1/conversations(?:/.*)?"),
    "openrouter": re.compile("/v1/keys|/v1/models/(?:count|user|.+/endpoints)"),
}
"""Paths of ours, or of OpenAI's, that mean something else to these packages."""
_SOCKETS = {
    "openai": re.compile("/v1/realtime"),
    MISTRAL: re.compile("/v1/audio/transcriptions/realtime"),
    "google-genai": re.compile(r"/ws/google\.ai\.generativelanguage\..+"),
}
"""Paths of WebSockets, which no list of endpoints has."""
_VERTEX = re.compile(
    r"/v1beta1/(?:projects|publishers)/.+|/v1/(?:projects/[^/]+/locations|publishers)/.+"
)
"""Paths that `google-genai` writes for Vertex, beside those in the list of endpoints."""
_VERSION = re.compile("^(/upload)?/v1(?:alpha|beta1)?/")


@cache
def _paths(package: str) -> dict[str, re.Pattern[str]]:
    """The paths of a package, by method."""
    found: dict[str, list[str]] = {}
    for each in endpoints():
        if each.package == package:
            found.setdefault(each.method, []).append(_NAME.sub("[^/]+", re.escape(each.path)))
    return {method: re.compile("|".join(paths)) for method, paths in found.items()}


def not_served(method: str, path: str, of: str = "") -> str:
    """The message for clients of such a path."""
    return f"this gateway does not serve {method} {path[:200]}{of}; it serves {SERVED}"


def client_of(headers: Mapping[str, str]) -> str | None:
    """The package that sent it; None if its headers do not show it."""
    for package, header, word in _CLIENTS:
        if header in headers and word in headers[header]:
            return package
    return None


def front_of_client(headers: Mapping[str, str]) -> Front | None:
    """The front whose errors and lists the client reads; None if its headers do not show it."""
    package = client_of(headers)
    return None if package is None else _FRONTS[package]


def is_other_api(path: str, headers: Mapping[str, str]) -> bool:
    """Whether a path that is served for others means something else to this client."""
    pattern = _OTHER_APIS.get(client_of(headers) or "")
    return pattern is not None and pattern.fullmatch(path) is not None


def unserved_socket(path: str) -> Front | None:
    """The front whose SDK opens a WebSocket there; None if none does."""
    found = (package for package, pattern in _SOCKETS.items() if pattern.fullmatch(path))
    return next((_FRONTS[package] for package in found), None)


def unserved(path: str, headers: Mapping[str, str], method: str | None = None) -> Front | None:
    """The front whose SDK has this path, with this method or with any; None if none has."""
    if (socket := unserved_socket(path)) is not None:
        return socket
    if _VERTEX.fullmatch(path):
        return GEMINI
    client = client_of(headers)
    for package in _FRONTS if client is None else (client,):
        paths = _paths(package)
        some = paths.values() if method is None else filter(None, (paths.get(method),))
        its = _VERSION.sub(r"\1/v1beta/", path) if package == "google-genai" and client else path
        if any(pattern.fullmatch(its) for pattern in some):
            return _FRONTS[package]
    return None
