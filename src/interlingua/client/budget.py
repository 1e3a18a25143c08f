"""How much trying again there may be, all calls together.

One call that tries again helps itself. When a provider is in trouble and all of them do, they keep
it there: each failure brings more requests, and those fail too. So retries have a budget, for each
provider: within any minute at most a fifth of what was asked for the first time, or ten where that
is more, so that who asks seldom can try again at all. When it is spent, the error goes to the
caller at once, and with it what the provider said about coming back.

A model that is asked in place of one that failed is no retry where another provider serves it: that
one has not been asked yet, and counts it as a first try. At a provider that this call has asked
already it is more of the same load, and is paid for like a retry.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

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
"""Of this process: all clients and the gateway, unless they are given another."""
