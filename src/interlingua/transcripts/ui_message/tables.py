"""Words of UI messages (seen in npm `ai` 7.0.169, 2026-11-17)."""

from __future__ import annotations

from interlingua.model.metadata import StopReason

NAME = "ui-message"

PROVIDERS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai-responses"),
    "azure": ("azure", "openai-responses"),
    "google": ("gemini", "gemini"),
    "vertex": ("vertex", "gemini"),
    "googleVertex": ("vertex", "gemini"),
    "bedrock": ("bedrock", "bedrock"),
    "amazonBedrock": ("bedrock", "bedrock"),
    "openrouter": ("openrouter", "openrouter"),
}
"""Keys of `providerMetadata`: whose words they are, as provider and dialect."""

SEALS = {
    "anthropic": "signature",
    "bedrock": "signature",
    "amazonBedrock": "signature",
    "openai": "reasoningEncryptedContent",
    "azure": "reasoningEncryptedContent",
    "google": "thoughtSignature",
    "vertex": "thoughtSignature",
    "googleVertex": "thoughtSignature",
}
"""By what word each of them calls a signature."""

ISSUERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai",
    "azure": "azure",
    "gemini": "google",
    "google": "google",
    "vertex": "google",
    "bedrock": "bedrock",
    "openrouter": "openrouter",
}
"""The key for a provider or, where that is none of these, for a dialect."""

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "content-filter": StopReason.CONTENT_FILTER,
    "tool-calls": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "interrupted": StopReason.CANCELLED,
    "other": StopReason.OTHER,
}
STOP_WORDS = {
    **{reason: word for word, reason in STOPS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.REFUSAL: "content-filter",
}
