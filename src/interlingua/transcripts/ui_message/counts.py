"""Tokens as the package counts them: the input includes what was read from a cache or written to
one, the output includes reasoning."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.kept import form_of, keep
from interlingua.model.metadata import Usage
from interlingua.transcripts.ui_message.tables import NAME


def read_usage(wire: Any) -> Usage | None:
    """Both forms: with details (since version 6), and flat. None for what counts nothing."""
    if not isinstance(wire, dict):
        return None
    given, made = _inside(wire, "inputTokenDetails"), _inside(wire, "outputTokenDetails")
    prompt, output = _count(wire.get("inputTokens")), _count(wire.get("outputTokens"))
    if prompt is None and output is None:
        return None
    cached = _first(given.get("cacheReadTokens"), wire.get("cachedInputTokens"))
    written = _count(given.get("cacheWriteTokens"))
    fresh = _count(given.get("noCacheTokens"))
    if fresh is None and prompt is not None:
        fresh = max(prompt - (cached or 0) - (written or 0), 0)
    usage = Usage(
        input_tokens=fresh,
        output_tokens=output,
        cached_input_tokens=cached,
        cache_creation_input_tokens=written,
        reasoning_tokens=_first(made.get("reasoningTokens"), wire.get("reasoningTokens")),
    )
    return usage if _plain(usage) == wire else usage.replace(raw=keep(NAME, None, {"usage": wire}))


def write_usage(usage: Usage) -> dict[str, Any]:
    """As it was told, where that still is what it says."""
    told: dict[str, Any] | None = form_of(NAME, usage.raw).get("usage")
    if told is not None and read_usage(told) == usage:
        return told
    return _plain(usage)


def _plain(usage: Usage) -> dict[str, Any]:
    given = {
        "noCacheTokens": usage.input_tokens,
        "cacheReadTokens": usage.cached_input_tokens,
        "cacheWriteTokens": usage.cache_creation_input_tokens,
    }
    wire = {
        "inputTokens": usage.prompt_tokens,
        "inputTokenDetails": _known(given),
        "outputTokens": usage.output_tokens,
        "outputTokenDetails": _known({"reasoningTokens": usage.reasoning_tokens}),
        "totalTokens": usage.total_tokens,
    }
    return _known(wire)


def _known(counts: dict[str, Any]) -> dict[str, Any]:
    return {name: count for name, count in counts.items() if count is not None}


def _inside(wire: dict[str, Any], key: str) -> dict[str, Any]:
    inside = wire.get(key)
    return inside if isinstance(inside, dict) else {}


def _first(*values: Any) -> int | None:
    return next((each for value in values if (each := _count(value)) is not None), None)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
