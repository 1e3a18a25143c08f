"""Values that are read and written at once."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.losses import Report

NAME = "gemini-interactions"

WORDS = st.sampled_from(["", "a", "Grüße \u2028", None, 5])


def outcome(way: Any, *args: Any) -> Any:
    """What a way gives: a value, to the last byte, or the error with its place."""
    try:
        value = way(*args)
    except Exception as error:  # a ShapeError, which only the whole reader makes a ReadError
        return (type(error).__name__, getattr(error, "path", None), str(error))
    return msgspec.json.encode(value)


def both(block: Any, short: Any, long: Any) -> None:
    reports = [Report(NAME), Report(NAME)]
    reported = [
        way(block, LossRecorder(NAME, None, report))
        for way, report in zip((short, long), reports, strict=True)
    ]
    assert reported[0] == reported[1]
    assert reports[0] == reports[1]
