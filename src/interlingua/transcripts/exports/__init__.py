"""Exports of a session for people: one HTML page, Markdown or JSON lines."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from interlingua.model.metadata import MessageStatus


def dollars(amount: Decimal | None) -> str:
    """The exact amount, with two digits after the point at least."""
    if amount is None:
        return "?"
    text = f"{abs(amount):f}"
    whole, _, rest = text.partition(".")
    return f"{'-' if amount < 0 else ''}${whole}.{rest:0<2}"


def minute(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def status_text(status: MessageStatus) -> str:
    """How a message ended, where that is not as it should be. Who stopped it made no error."""
    if status is MessageStatus.COMPLETE:
        return ""
    return "stopped" if status is MessageStatus.CANCELLED else status.value


def plural(count: int, word: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
