"""Words of OpenCode's sessions (seen in 1.18.33 and 1.17.20, 2026-11-17)."""

from __future__ import annotations

from interlingua.model.metadata import StopReason

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "tool-calls": StopReason.TOOL_USE,
    "content-filter": StopReason.CONTENT_FILTER,
    "error": StopReason.ERROR,
    "other": StopReason.OTHER,
    "unknown": StopReason.OTHER,
}
STOP_WORDS = {
    StopReason.END_TURN: "stop",
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.MAX_TOKENS: "length",
    StopReason.TOOL_USE: "tool-calls",
    StopReason.CONTENT_FILTER: "content-filter",
    StopReason.ERROR: "error",
}

PROTOCOLS = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "google": "gemini",
    "google-vertex": "gemini",
    "amazon-bedrock": "bedrock",
    "openrouter": "openrouter",
}
"""The dialect that a provider is spoken to in; all others speak openai-chat."""

PROVIDERS = {"gemini": "google", "vertex": "google-vertex", "bedrock": "amazon-bedrock"}
"""Providers that OpenCode knows by another name than we do."""

BOOKKEEPING = frozenset(
    {"step-start", "step-finish", "patch", "snapshot", "agent", "retry", "subtask", "compaction"}
)
"""Parts that say nothing to the model."""
