"""How long a reply is waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from interlingua.client.transport_errors import Limits


class ReplyTimer:
    """One timer watches over a reply, however many pieces it has: a timer for each piece would cost
    as much as reading it. When a wait has become too long, `late` says which one, and `give_up` is
    called."""

    __slots__ = (
        "_first",
        "_give_up",
        "_idle",
        "_loop",
        "_since",
        "_ticker",
        "_timer",
        "_until",
        "began",
        "late",
    )

    def __init__(
        self,
        limits: Limits,
        begun: float,
        give_up: Callable[[], None],
        loop: asyncio.AbstractEventLoop | None = None,
        ticker: Ticker | None = None,
    ) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._ticker = ticker
        self.began = False
        """Whether a first piece was there."""
        self.late: str | None = None
        self._give_up = give_up
        self._since = 0.0
        """When the wait for the next piece began; 0 while nobody waits."""
        self._until = begun + limits.total if limits.total is not None else None
        self._first = begun + limits.first_byte if limits.first_byte is not None else None
        self._idle = limits.idle
        self._timer: asyncio.TimerHandle | Ticker | None = None

    def begin(self) -> None:
        """Somebody waits for the next piece."""
        self._since = now()
        if self._timer is None:
            self.watch()

    def rest(self) -> None:
        """Nobody waits for the moment."""
        self._since = 0.0

    def came(self) -> None:
        """The piece is here."""
        self._since = 0.0
        if not self.began:
            self.began = True
            self.stop()

    def stop(self) -> None:
        timer = self._timer
        if timer is None:
            return
        self._timer = None
        if timer is self._ticker:
            self._ticker.waits.discard(self)
        else:
            timer.cancel()  # type: ignore[union-attr]  # it is no ticker

    def watch(self) -> None:
        """Look again when the wait that is going on may have become too long. While nobody waits,
        as a reader who takes its time, there is nothing to look for."""
        self._timer = None
        if not self._since:
            return
        soonest, late = self._until, "total"
        if not self.began:
            if self._first is not None and (soonest is None or self._first <= soonest):
                soonest, late = self._first, "first_byte"
        elif self._idle is not None:
            quiet = self._since + self._idle
            if soonest is None or quiet <= soonest:
                soonest, late = quiet, "idle"
        if soonest is None:
            return
        left = soonest - now()
        if left <= 0:
            self.late = late
            self._give_up()
        elif left > LONG and self._ticker is not None:
            self._timer = self._ticker
            self._ticker.add(self)
        else:
            self._timer = self._loop.call_later(left + 0.001, self.watch)


class Ticker:
    """Looks after many waits that have long to go, all of them once in a while: starting a timer
    for each, only to stop it when the reply is here, costs more than this."""

    def __init__(self) -> None:
        self.waits: set[ReplyTimer] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, wait: ReplyTimer) -> None:
        self.waits.add(wait)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LONG / 2, self._look)

    def _look(self) -> None:
        self._timer = None
        waits, self.waits = self.waits, set()
        for wait in waits:
            wait.watch()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def least(*values: float | None) -> float | None:
    return min([value for value in values if value is not None], default=None)


LONG = 1.0
"""Seconds; a wait that has more than this to go is left to the ticker, where there is one."""
now = time.monotonic
