"""Losses of many conversions, for people: each kind of loss once, with how often it occurred."""

from __future__ import annotations

import re
from collections.abc import Iterable

from interlingua.model.losses import Loss

SHOWN = 12
MOST = 1000
"""The most kinds of losses that are counted separately, so that unique texts do not fill the
memory."""
OTHERS = "others"
_NUMBER = re.compile(r"\[\d+\]")

Tally = dict[str, int]


def add(tally: Tally, losses: Iterable[Loss]) -> None:
    """Counts losses; those that differ only in the number of a message are one kind."""
    for loss in losses:
        count(tally, pattern(str(loss)))


def pattern(text: str) -> str:
    """A text with `[*]` for each index in it."""
    return _NUMBER.sub("[*]", text)


def count(tally: Tally, kind: str, times: int = 1) -> None:
    if kind not in tally and len(tally) >= MOST:
        kind = OTHERS
    tally[kind] = tally.get(kind, 0) + times


def lines(tally: Tally) -> list[str]:
    """The most frequent first."""
    frequent = sorted(tally.items(), key=lambda each: -each[1])
    rows = [f"  {times:,} x {kind}" for kind, times in frequent[:SHOWN]]
    left = len(frequent) - SHOWN
    return [*rows, f"  and {left:,} other kinds; --report has each"] if left > 0 else rows
