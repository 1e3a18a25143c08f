"""Usage and the end of an answer that goes through as it is, without reading all of it."""

from __future__ import annotations

import msgspec

from interlingua.dialects.front import Peek
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.gateway.shared.fronts import front_of


def peek_usage(dialect: str, body: bytes) -> Peek | None:
    """Of the usual answer of a dialect; None for all others."""
    peek = front_of(dialect).peek
    if peek is None:
        return None
    try:
        return peek(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ShapeError):
        return None
