"""How much the gate tries of what could be tried for hours.

`INTERLINGUA_THOROUGH=1` (`make thorough` sets it) tries everything; the gate takes a part, always
the same one, so that a person can wait for it.
"""

from __future__ import annotations

import os
import zlib

THOROUGH = bool(os.environ.get("INTERLINGUA_THOROUGH"))
PART = 3
FEWEST = 10


def examples(whole: int) -> int:
    """How many examples of a property are tried."""
    return whole if THOROUGH else min(whole, max(FEWEST, whole // PART))


def seeds(whole: int) -> range:
    """Which seeds of chance are tried: the first ones, so that each tries what it always does."""
    return range(whole if THOROUGH else max(1, whole // PART))


def is_tried(name: str, part: int) -> bool:
    """Whether the gate takes this one of many alike: one in `part`, the same ones every time."""
    return THOROUGH or zlib.crc32(name.encode()) % part == 0
