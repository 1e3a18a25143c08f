"""When to try again, and how long to wait before: rules without a clock of their own."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from interlingua.client.errors import CallError, CallTimeoutError, NetworkError
from interlingua.model.exchange import ErrorKind

RETRYABLE = frozenset({ErrorKind.RATE_LIMIT, ErrorKind.SERVER_ERROR, ErrorKind.NETWORK})
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low"})
"""Codes of rate limits that no waiting lifts."""
_LONG = 4096
"""Characters of a header that are looked at."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """Waits double from `first` seconds, jittered by a part `jitter`, up to `longest`. What a
    provider asks for is honoured up to `patience` seconds; for more than that we give up."""

    max_retries: int = 2
    first: float = 1.0
    longest: float = 30.0
    jitter: float = 0.25
    patience: float = 60.0

    def wait(self, error: CallError, retries: int, chance: float | None = None) -> float | None:
        """Seconds before the next try after so many retries, or None for giving up. `chance` is
        a number from 0 to 1 in place of a random one."""
        if retries >= self.max_retries or not is_retryable(error):
            return None
        chance = random.random() if chance is None else chance
        if error.retry_after is not None:
            if error.retry_after > self.patience:
                return None
            # Never earlier than asked for, and not all at the same moment.
            return min(error.retry_after * (1 + self.jitter * chance), self.patience)
        base = self.first * 2.0 ** min(retries, 60)
        return min(base * (1 + self.jitter * (2 * chance - 1)), self.longest)


def is_retryable(error: CallError) -> bool:
    """Whether the same request may be sent again. One that timed out after it was sent may still
    be at work there, and would be paid for twice."""
    if error.kind not in RETRYABLE or error.code in SPENT or error.partial is not None:
        return False
    if isinstance(error, CallTimeoutError):
        return not error.sent and error.phase != "deadline"
    if isinstance(error, NetworkError):
        return not error.begun and error.phase != "tls"
    return True


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds that a provider asks to wait: never negative, None where it does not say.

    `retry-after-ms` is OpenAI's and Azure's; `retry-after` is a number or a date."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _number(text)
    return seconds if seconds is not None else _until(text, now or datetime.now(UTC))


def asked_delay(body: Any) -> float | None:
    """The wait that Google writes into the error itself: `{"retryDelay": "34s"}` in its details."""
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1])
    return None


def _number(text: str | None) -> float | None:
    """A plain, finite number that is not negative."""
    if text is None or len(text) > _LONG:
        return None
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(text: str, now: datetime) -> float | None:
    from email.utils import parsedate_to_datetime  # slow to import

    try:
        then = parsedate_to_datetime(text[:_LONG])
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
