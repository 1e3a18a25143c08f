"""Token counts. The sums are those of both of Google's APIs (`dialects/google.py`)."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import NAME
from interlingua.dialects.google import Counts
from interlingua.dialects.kernel.errors import want
from interlingua.model.metadata import Diagnostic, Usage

PROMPT, CACHED = "total_input_tokens", "total_cached_tokens"
SAID, THOUGHT = "total_output_tokens", "total_thought_tokens"
TOTAL, TOOLS = "total_tokens", "total_tool_use_tokens"
COUNTS = Counts(PROMPT, CACHED, SAID, THOUGHT, TOTAL, TOOLS)
write_usage = COUNTS.write


def read_usage(wire: Any, found: list[Diagnostic]) -> Usage | None:
    if wire is None:
        return None
    usage, diagnostics = COUNTS.read(want(wire, dict, ".usage"), NAME)
    found += diagnostics
    return usage
