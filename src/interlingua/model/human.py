"""Amounts of money, times and counts as people write them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

PLACES = 6
"""Decimals at most."""
_SMALLEST = Decimal(1).scaleb(-PLACES)


def dollars(amount: Decimal | None, places: int = 2) -> str:
    """An amount with at least `places` decimals, as many as it needs and six at most."""
    if amount is None:
        return "?"
    sign = "-" if amount < 0 else ""
    if 0 < abs(amount) < _SMALLEST:
        return f"<{sign}${_SMALLEST:f}"
    rounded = abs(amount).quantize(_SMALLEST, ROUND_HALF_EVEN)
    whole, _, rest = f"{rounded:f}".partition(".")
    return f"{sign}${int(whole):,}.{rest.rstrip('0'):0<{places}}"


def spent(amount: Decimal | None, lacks: object) -> str:
    """A cost; `+ ?` follows where a part of it, or of several, is not known."""
    return f"{dollars(amount)} + ?" if lacks and amount is not None else dollars(amount)


def places_of(amounts: list[Decimal]) -> int:
    """Decimals with which all of these amounts can be written in one column."""
    return max((len(dollars(each).partition(".")[2]) for each in amounts), default=2)


def minute(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def plural(count: int, word: str) -> str:
    """`1 message`, `2 messages`, `3 losses`."""
    end = "es" if word.endswith("s") else "s"
    return f"{count:,} {word}{'' if count == 1 else end}"
