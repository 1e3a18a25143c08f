"""What only one service has, in words: for reports, whose readers need not know its keys."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "allowed_callers": "whose code may call the tool",
    "caller": "whose code made the call",
    "container": "the container that code and skills run in",
    "context_management": "how the service is to cut or sum up the history",
    "diagnostics": "why the prompt was not found in the cache",
    "fallback_credit": "what the use of another model was paid for with",
    "fallbacks": "the models to go on with where this one fails",
    "inference_geo": "where in the world the model runs",
    "iterations": "the counts of each round that the answer took",
    "mcp_servers": "the MCP servers that the service talks to",
    "models": "the models to go on with where this one fails",
    "speed": "how fast the answer is made",
    "stop_details": "why the model refused, and the category of that",
}
"""By key, the same for every service that has it."""


def reason_of(dialect: str, key: str) -> str:
    """Why a key of a `raw` does not leave its dialect."""
    words = WORDS.get(key)
    return f"private to {dialect}" if words is None else f"private to {dialect}: {words}"
