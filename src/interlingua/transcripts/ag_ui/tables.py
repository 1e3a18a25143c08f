"""Words of AG-UI (seen in ag-ui-protocol 1.0.0, 2026-11-17)."""

from __future__ import annotations

from interlingua.model.message import Role

NAME = "ag-ui"

ROLES = {
    "user": Role.USER,
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
}

EVENTS = frozenset(
    {
        "RUN_STARTED",
        "RUN_FINISHED",
        "RUN_ERROR",
        "STEP_STARTED",
        "STEP_FINISHED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TEXT_MESSAGE_CHUNK",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_CHUNK",
        "TOOL_CALL_RESULT",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_MESSAGE_CHUNK",
        "REASONING_END",
        "REASONING_ENCRYPTED_VALUE",
        "THINKING_START",
        "THINKING_CONTENT",
        "THINKING_END",
        "THINKING_TEXT_MESSAGE_START",
        "THINKING_TEXT_MESSAGE_CONTENT",
        "THINKING_TEXT_MESSAGE_END",
        "MESSAGES_SNAPSHOT",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "ACTIVITY_SNAPSHOT",
        "ACTIVITY_DELTA",
        "SUBAGENT_STARTED",
        "SUBAGENT_FINISHED",
        "SUBAGENT_ERROR",
        "RAW",
        "CUSTOM",
    }
)

PROVIDERS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai-responses"),
    "google": ("gemini", "gemini"),
    "google-gla": ("gemini", "gemini"),
    "google-vertex": ("vertex", "gemini"),
    "bedrock": ("bedrock", "bedrock"),
    "openrouter": ("openrouter", "openrouter"),
    "mistral": ("mistral", "openai-chat"),
    "groq": ("groq", "openai-chat"),
}
"""Providers as agents name them beside what is sealed (pydantic-ai 2.66.0, 2026-11-16)."""

NAMES = {
    "gemini": "google",
    "vertex": "google-vertex",
}
"""The other way round, where a provider has another name there than here."""

FAILED = frozenset({"failed", "denied", "retried"})
"""Outcomes of a tool that pydantic-ai tells beside its result (2.66.0, 2026-11-16)."""
