"""Values of files that anybody may have changed: what they are read as where they are odd."""

from __future__ import annotations

from typing import Any


def listed(value: Any) -> list[Any]:
    """The elements of a list; of anything else none."""
    return value if isinstance(value, list) else []


def members(value: Any) -> dict[str, Any]:
    """The members of an object; of anything else none."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """A text with something in it, or None."""
    return value if isinstance(value, str) and value else None
