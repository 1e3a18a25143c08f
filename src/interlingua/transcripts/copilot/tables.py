"""Words of Copilot's events (seen in 1.0.102 and 1.0.70, and in the schema of the events that the
program carries, 2026-11-17)."""

from __future__ import annotations

from interlingua.model.metadata import StopReason

VERSION = "1.0.102"
"""Which Copilot the events are made for."""

ENDPOINTS = {
    "/v1/messages": "anthropic",
    "/responses": "openai-responses",
    "ws:/responses": "openai-responses",
    "/chat/completions": "openai-chat",
}
"""The dialect that an answer was told in; the first endpoint of a dialect is written."""

REASONERS = {"anthropic-messages": "anthropic", "openai-responses": "openai-responses"}
"""Whose blocks of reasoning are kept as they came."""

STOPS = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
}
STOP_WORDS = {reason: word for word, reason in STOPS.items()}
