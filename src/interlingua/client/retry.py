"""When to try again, and how long to wait before: rules without a clock of their own."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from interlingua.client.errors import CallError, CallTimeoutError, NetworkError
from interlingua.model.exchange import ErrorKind

RETRYABLE = frozenset({ErrorKind.RATE_LIMIT, ErrorKind.SERVER_ERROR, ErrorKind.NETWORK})
DEPLOYMENT_LIMIT = "deployment_limit"
"""The code of a limit that a gateway's settings have for one of its deployments."""
SPENT = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low", DEPLOYMENT_LIMIT}
)
"""Codes of rate limits that are not waited for."""
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


def requested_delay(body: Any) -> float | None:
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


SHARE = 0.2
RESERVE = 10
SECONDS = 60.0
STEPS = 60
"""Parts of the window; what happened in one of them is forgotten together."""


class Budget:
    """Counts first tries and retries of the last `seconds`, by provider, and lets so many retries
    pass: `share` of the first tries, or `reserve` where that is more. Threads may share one.
    `clock` tells seconds, and never goes back."""

    def __init__(
        self,
        share: float = SHARE,
        reserve: int = RESERVE,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not (share >= 0 and reserve >= 0 and seconds > 0):
            raise ValueError("a budget has a share and a reserve of at least 0, and some seconds")
        self.share = share
        self.reserve = reserve
        self._step = seconds / STEPS
        self._clock = clock
        self._windows: dict[str, _Window] = {}
        self._lock = threading.Lock()

    def first(self, provider: str) -> None:
        """A call asks this provider for the first time."""
        now = int(self._clock() / self._step)
        with self._lock:
            window = self._windows.get(provider)
            if window is None or window.parts[-1][0] < now:
                window = self._window(provider)
            window.firsts += 1
            window.parts[-1][1] += 1

    def retry(self, provider: str) -> bool:
        """Whether a call may ask this provider once more; if so, it is counted."""
        with self._lock:
            window = self._window(provider)
            if window.retries + 1 > max(self.reserve, self.share * window.firsts):
                return False
            window.retries += 1
            window.parts[-1][2] += 1
            return True

    def counts(self, provider: str) -> tuple[int, int]:
        """First tries and retries in the window."""
        with self._lock:
            window = self._window(provider)
            return window.firsts, window.retries

    def clear(self) -> None:
        """As if nothing had been asked."""
        with self._lock:
            self._windows.clear()

    def _window(self, provider: str) -> _Window:
        """The counts as they are now, with a part for this moment at the end. There are as many
        windows as providers that somebody has set up."""
        window = self._windows.get(provider)
        if window is None:
            window = self._windows[provider] = _Window()
        now = int(self._clock() / self._step)
        parts = window.parts
        if not parts or parts[-1][0] < now:
            while parts and parts[0][0] <= now - STEPS:
                _, firsts, retries = parts.popleft()
                window.firsts -= firsts
                window.retries -= retries
            parts.append([now, 0, 0])
        return window


class _Window:
    __slots__ = ("firsts", "parts", "retries")

    def __init__(self) -> None:
        self.firsts = 0
        self.retries = 0
        self.parts: deque[list[int]] = deque()
        """Number of the part, first tries, retries."""


SHARED = Budget()
"""The default of all clients and of the gateway in this process."""
