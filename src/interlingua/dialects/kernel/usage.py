"""The arithmetic of tokens: counts of a prompt are disjoint and add up to it, reasoning is a part
of the output, and unknown is None, never 0."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Field
from interlingua.model.metadata import Diagnostic

CONTRADICTS = Diagnostic("usage_contradicts")
"""Says that counts contradicted each other and were clamped; their spelling is kept."""


def count(value: Any) -> int | None:
    """A count of tokens: a whole number, however it is spelled; None for anything else."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def counted(key: str, attr: str, filled: bool = False) -> Field:
    """The field of a count. A negative one is none, and keeps its spelling; 0 is `filled` in where
    the wire demands one."""
    return Field(
        key,
        (attr,),
        lambda given: {attr: max(want(given, int), 0)},
        lambda usage, _: getattr(usage, attr),
        fill=(lambda _: 0) if filled else None,
        kind=int,
        fits=lambda number: number >= 0,
    )


def within(count: int | None, whole: int | None) -> int | None:
    """A count that is not negative, and no larger than what it is a part of."""
    if count is None:
        return None
    return max(count if whole is None else min(count, whole), 0)


def fresh_input(total: int | None, cached: int | None, written: int | None) -> int | None:
    """The fresh part of a prompt whose total includes the cached and the written part."""
    return None if total is None else max(total - (cached or 0) - (written or 0), 0)


def clamped(counts: dict[str, int]) -> dict[str, int]:
    """Counts, by their canonical names, that contradict nothing: none is negative, and reasoning is
    no more than the output. The same object where nothing had to be changed."""
    output, thought = counts.get("output_tokens"), counts.get("reasoning_tokens", 0)
    if min(counts.values(), default=0) >= 0 and (output is None or thought <= output):
        return counts
    positive = {name: max(number, 0) for name, number in counts.items()}
    if output is not None and "reasoning_tokens" in positive:
        positive["reasoning_tokens"] = min(positive["reasoning_tokens"], max(output, 0))
    return positive
