"""Thinking that is bound to the conversation that it was made in.

From Claude 5.1 on Anthropic checks that nothing before a thinking block has changed since, and
refuses the request where it has: a repaired or shortened history would end the conversation. It can
be asked to leave such blocks out instead, and then tells which (`preserved thinking`, Claude
Platform documentation and anthropic 2.8.0, read 2026-11)."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.wire import Wire
from interlingua.models.families import name_parts

DIALECT = PROVIDER = "anthropic"
FAMILY, SINCE = "claude", (5, 1)
LENIENT = {"prefix_mismatch_behavior": "drop_block"}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def lenient(wire: Wire, provider: str, dialect: str, model: str) -> Wire:
    """The body, asking to leave out what no longer fits, if there may be such."""
    if dialect != DIALECT or provider != PROVIDER or not _is_bound(model) or not _thinks(wire):
        return wire
    thinking = wire.get("thinking") or {"type": "adaptive"}
    if thinking.get("type") == "disabled" or "block_binding" in thinking:
        return wire
    return {**wire, "thinking": {**thinking, "block_binding": LENIENT}}


def _is_bound(model: str) -> bool:
    name = name_parts(model)
    return name.family == FAMILY and name.version is not None and name.version >= SINCE


def _thinks(wire: Wire) -> bool:
    return any(part.get("type") in _THOUGHTS for turn in wire["messages"] for part in _parts(turn))


def _parts(turn: Any) -> list[Any]:
    content = turn.get("content")
    return content if isinstance(content, list) else []
