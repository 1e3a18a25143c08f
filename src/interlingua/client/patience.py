"""How long a reply is waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from interlingua.client.broken import Limits


class Patience:
    """One timer watches over a reply, however many pieces it has: a timer for each piece would cost
    as much as reading it. When a wait has become too long, `late` says which one, and `give_up` is
    called."""

    __slots__ = (
        "_first",
        "_give_up",
        "_idle",
        "_loop",
        "_since",
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
    ) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self.began = False
        """Whether a first piece was there."""
        self.late: str | None = None
        self._give_up = give_up
        self._since = 0.0
        """When the wait for the next piece began; 0 while nobody waits."""
        self._until = begun + limits.total if limits.total is not None else None
        self._first = begun + limits.first_byte if limits.first_byte is not None else None
        self._idle = limits.idle
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Somebody waits for the next piece."""
        self._since = now()
        if self._timer is None:
            self._watch()

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
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self) -> None:
        """Look again when the wait that is going on may have become too long. While nobody waits,
        as a reader who takes its time, there is nothing to look for."""
        self._timer = None
        if not self._since:
            return
        quiet = self._since + self._idle if self._idle is not None and self.began else None
        first = None if self.began else self._first
        soonest = least(self._until, quiet, first)
        if soonest is None:
            return
        at = now()
        if soonest <= at:
            self.late = {first: "first_byte", quiet: "idle"}.get(soonest, "total")
            self._give_up()
            return
        self._timer = self._loop.call_later(soonest - at + 0.001, self._watch)


def least(*values: float | None) -> float | None:
    return min([value for value in values if value is not None], default=None)


now = time.monotonic
