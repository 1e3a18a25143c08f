"""How many requests each key has open in this process: no key may hold all connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from interlingua.gateway.shared.refusals import CodedRefusal
from interlingua.gateway.shared.state import Principal
from interlingua.model.exchange import ErrorKind

SPARE = 32
"""Descriptors for files, the store and health checks."""
EACH = 2
"""Descriptors of a request: the client's connection and the provider's."""
SHARE = 4
"""A key may use one in so many of the rest."""


def descriptors() -> int | None:
    """How many files and connections this process may have open; None where that is unlimited."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def most_connections(configured: int) -> int:
    """Connections of clients at a time, so that some descriptors stay free."""
    limit = descriptors()
    return configured if limit is None else max(4, min(configured, (limit - SPARE) // EACH))


def most_of_key(configured: int) -> int:
    """Requests of one key at a time."""
    limit = descriptors()
    return (
        configured if limit is None else max(2, min(configured, (limit - SPARE) // EACH // SHARE))
    )


class OpenRequests:
    """Counts the open requests of each key. `most` is asked anew each time: settings can change."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def take(self, principal: Principal, dialect: str) -> None:
        """`Refusal` with 429 where the key has too many open; else `release` has to follow."""
        key = principal.key_id
        if key is None:
            return
        most = self._most()
        if self._open[key] >= most:
            text = f"this key has {most} requests open at a time, which is its limit; wait for one"
            raise CodedRefusal(
                dialect,
                429,
                ErrorKind.RATE_LIMIT,
                text,
                "too_many_open_requests",
                {"limit": str(most)},
                (("retry-after", "1"),),
            )
        self._open[key] += 1

    def release(self, principal: Principal) -> None:
        key = principal.key_id
        if key is None:
            return
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]
