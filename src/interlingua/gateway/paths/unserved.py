"""Paths that official SDKs have and the gateway does not serve: they are told apart from paths that
nobody has, with a list of what is served."""

from __future__ import annotations

import re
from collections.abc import Mapping

from interlingua.dialects.front import Front
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, COHERE, GEMINI, OLLAMA

SERVED = (
    "/v1/chat/completions, /v1/responses, /v1/conversations, /v1/completions, /v1/embeddings,"
    " /v1/files and /v1/batches, /v1/images, /v1/audio, /v1/moderations, /v1/rerank, /v1/messages,"
    " /v1/messages/count_tokens, /v1/messages/batches, /v1/models,"
    " /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, :embedContent"
    " and :batchEmbedContents, /v1beta/interactions, /v2/chat, /v2/embed, /v2/rerank, /api/chat,"
    " /api/embed, /api/tags, /api/show, /api/version"
)

_OPENAI = (
    *("assistants", "audio", "chat/completions", "chatkit", "containers", "evals"),
    *("fine_tuning", "graders", "images", "organization", "realtime", "skills"),
    *("threads", "uploads", "vector_stores", "videos"),
    *("agents", "classifications", "fim", "libraries", "ocr", "observability"),
)
"""The last line is Mistral's."""
_ANTHROPIC = (
    *("agents", "complete", "deployments", "environments", "files", "memory_stores"),
    *("organizations", "skills", "user_profiles", "vaults"),
)
_GEMINI = (
    *("batches", "cachedContents", "corpora", "dynamic", "fileSearchStores", "files"),
    *("agents", "auth_tokens", "operations", "tunedModels"),
)
_COHERE = (
    *("classify", "connectors", "datasets", "detokenize", "embed", "embed-jobs"),
    *("finetuning", "generate", "summarize", "tokenize", "check-api-key"),
)
_OLLAMA = (
    *("blobs", "copy", "create", "delete", "generate", "ps", "pull", "push", "web_fetch"),
    "web_search",
)


def _below(start: str, names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"{start}/(?:{'|'.join(names)})(?:[/:]\w[\w.:-]*)*")


_PATHS: tuple[tuple[re.Pattern[str], Front], ...] = (
    (_below("/v1beta", _GEMINI), GEMINI),
    (re.compile(r"/v1(?:beta)?/models/[\w.:-]+:\w+"), GEMINI),
    (_below("/upload/v1beta", ("files", "fileSearchStores")), GEMINI),
    (_below("/api", _OLLAMA), OLLAMA),
    (_below("/v2", ("audio", "batches")), COHERE),
    (_below("/v1", _OPENAI), CHAT),
    (_below("/v1", _COHERE), COHERE),
)
_OF_ANTHROPIC = _below("/v1", _ANTHROPIC)


def unserved(path: str, headers: Mapping[str, str]) -> Front | None:
    """Whose SDK has this path; None where none has."""
    if "anthropic-version" in headers:
        return ANTHROPIC if _OF_ANTHROPIC.fullmatch(path) else None
    return next((front for pattern, front in _PATHS if pattern.fullmatch(path)), None)
