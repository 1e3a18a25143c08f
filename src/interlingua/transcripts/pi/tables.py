"""Words of pi's files (seen in 0.87.1 and in version 1 of the files, 2026-11-17)."""

from __future__ import annotations

from interlingua.model.metadata import StopReason

VERSION = 3
"""Which version of the files is written."""

APIS = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai-responses",
    "openai-codex-responses": "openai-responses",
    "azure-openai-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "mistral-conversations": "openai-chat",
    "google-generative-ai": "gemini",
    "google-gemini-cli": "gemini",
    "google-vertex": "gemini",
    "bedrock-converse-stream": "bedrock",
}
"""The dialect that an answer was told in, by the name of the API; the first name is written."""

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "toolUse": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "aborted": StopReason.CANCELLED,
}
STOP_WORDS = {
    **{reason: word for word, reason in STOPS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.PAUSE: "stop",
    StopReason.OTHER: "stop",
    StopReason.REFUSAL: "stop",
    StopReason.CONTENT_FILTER: "stop",
}
