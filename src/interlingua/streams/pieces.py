"""The pieces of a text or a frame, kept so that their number costs no memory."""

from __future__ import annotations

from typing import Any

MANY = 1024
"""More pieces than this are joined, the last ones first, so that each is joined once as a rule."""


def thin(pieces: list[Any]) -> None:
    """Fewer pieces that say the same; all are text, or all are bytes."""
    last = pieces[-MANY:]
    pieces[-MANY:] = [last[0][:0].join(last)]
