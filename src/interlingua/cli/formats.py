"""The formats of the commands, and their bytes."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.wire import encode
from interlingua.formats import CANONICAL, VIEW_NAMES, detect, names, read, write

__all__ = ["CANONICAL", "VIEW_NAMES", "guessed", "names", "read", "to_bytes", "write"]


def guessed(data: bytes, kind: str | None) -> tuple[str, str]:
    """The format and kind of some JSON; an error lists what it may be."""
    found = detect(data, kind)  # type: ignore[arg-type]  # one of the two words, by the option
    return found.dialect, found.kind


def to_bytes(wire: Any, pretty: bool) -> bytes:
    data = encode(wire)
    if not pretty:
        return data
    import msgspec

    return msgspec.json.format(data, indent=2)
