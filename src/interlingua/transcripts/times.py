"""Times as files spell them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def from_iso(text: Any) -> datetime | None:
    """A time with or without a zone (UTC); None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def from_millis(count: Any) -> datetime | None:
    """Milliseconds since 1970; None for anything else."""
    if isinstance(count, bool) or not isinstance(count, int | float):
        return None
    try:
        return datetime.fromtimestamp(count / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def to_iso(time: datetime) -> str:
    """With milliseconds and a Z, as JavaScript spells it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_millis(time: datetime) -> int:
    return round(time.timestamp() * 1000)
