"""Tokens. The sums are those of both of Google's APIs (`dialects/google.py`)."""

from __future__ import annotations

from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.google import Counts
from interlingua.dialects.kernel.fields import Table
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.usage import count
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.metadata import Diagnostic, Usage

PROMPT, CACHED = "promptTokenCount", "cachedContentTokenCount"
SAID, THOUGHT = "candidatesTokenCount", "thoughtsTokenCount"
TOTAL, TOOLS = "totalTokenCount", "toolUsePromptTokenCount"
COUNTS = Counts(PROMPT, CACHED, SAID, THOUGHT, TOTAL, TOOLS)
_OURS = frozenset(COUNTS[:5])
_SNAKES = frozenset(snake_case(name) for name in _OURS)
USAGE = Table(None, beside=_OURS, also_named=snake_case)
write_usage = COUNTS.write


def quick_usage(wire: Wire) -> Usage | None:
    """Counts in the plain spelling that nearly all have; None for any other."""
    prompt, total, spoken = wire.get(PROMPT), wire.get(TOTAL), wire.get(SAID)
    cached, thoughts, rest = wire.get(CACHED), wire.get(THOUGHT), {}
    if type(prompt) is not int or type(total) is not int or prompt < 0:
        return None
    for key, item in wire.items():
        if key in _OURS:
            if type(item) is not int or item < 0:
                return None
        elif item is None or key in _SNAKES:
            return None
        else:
            rest[key] = item
    if (thoughts is not None and spoken is None) or (cached or 0) > prompt:
        return None
    output = None if spoken is None else spoken + (thoughts or 0)
    if total != prompt + (output or 0) + (count(rest.get(TOOLS)) or 0):
        return None
    raw = {NAME: rest} if rest else None
    return Usage(prompt - (cached or 0), output, cached, None, thoughts, raw=raw)


def read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    usage = quick_usage(wire)
    return _read_usage(wire) if usage is None else (usage, ())


def _read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    kept = Kept()
    return COUNTS.read(USAGE.usual(wire, kept), NAME, kept)
