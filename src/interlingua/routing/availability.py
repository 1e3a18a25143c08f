"""Which models and providers are passed over for a while, because their calls keep failing.

One call counts once, however often it was retried inside. What is the caller's own fault (a bad
request, a prompt too long, a cancellation) does not count.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from interlingua.events.payloads import ProviderRecovered, ProviderUnavailable
from interlingua.model.exchange import ErrorKind
from interlingua.routing.registry import provider_of

MODEL_FAILURES, MODEL_WINDOW = 5, 120.0
"""So many failures of one model in a row, within so many seconds, mark the model."""
PROVIDER_MODELS, PROVIDER_WINDOW = 3, 120.0
"""So many models of a provider marked within this time mark the provider."""
NETWORK_FAILURES, NETWORK_WINDOW = 2, 30.0
"""So many network errors of a provider within this time mark the provider."""
QUIET = 300.0
"""Seconds without a try after which an unavailable model is tried again."""
MOST_MODELS = 10_000
"""The most models that are tracked; beyond it, the one tried longest ago is dropped."""

_NOT_THE_PROVIDERS_FAULT = frozenset(
    {ErrorKind.INVALID_REQUEST, ErrorKind.CONTEXT_OVERFLOW, ErrorKind.CANCELLED}
)

Change = ProviderUnavailable | ProviderRecovered
"""The change of a mark, in the form of its event."""

EVENT_TYPES: dict[type[Change], str] = {
    ProviderUnavailable: "routing.provider_unavailable",
    ProviderRecovered: "routing.provider_recovered",
}


class Mark(NamedTuple):
    """`until` is a time on the clock of the account; None: until it is quiet or works again."""

    since: float
    reason: str
    until: float | None = None


@dataclass
class _Account:
    """The record of one model or provider."""

    failures: deque[float] = field(default_factory=deque)
    tried: float = 0.0
    mark: Mark | None = None


class Availability:
    """The failure counts of all models. Times come from `clock`, in monotonic seconds; methods
    return the changes they made, for the caller to emit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._accounts: OrderedDict[str, _Account] = OrderedDict()
        self._lock = threading.RLock()

    def why_not(self, model: str) -> str | None:
        """Why a model is skipped right now; None if it is not. Changes nothing, so it may be called
        during a decision."""
        now = self._clock()
        with self._lock:
            for name in (provider_of(model), model):
                mark = self._mark(name, now)
                if mark is not None:
                    return f"{name} is marked unavailable: {mark.reason}"
        return None

    def failed(self, model: str, kind: ErrorKind, status: int | None = None) -> list[Change]:
        """A call failed, with all its retries. `status` is the HTTP status, where there was one."""
        now, provider = self._clock(), provider_of(model)
        with self._lock:
            changes = self._expire(now)
            account, whole = self._account(model, now), self._account(provider, now)
            if kind is ErrorKind.AUTH or status in (401, 403):
                return changes + self._set(provider, now, "it rejects the API key")
            if kind in _NOT_THE_PROVIDERS_FAULT:
                return changes
            if kind is ErrorKind.NETWORK:
                recent = _add(whole.failures, now, NETWORK_FAILURES, NETWORK_WINDOW)
                if recent:
                    changes += self._set(provider, now, "it cannot be reached")
            if _add(account.failures, now, MODEL_FAILURES, MODEL_WINDOW):
                changes += self._set(model, now, f"{MODEL_FAILURES} calls failed in a row")
                if self._marked_models(provider, now) >= PROVIDER_MODELS:
                    changes += self._set(provider, now, f"{PROVIDER_MODELS} of its models fail")
            return changes

    def succeeded(self, model: str) -> list[Change]:
        """A call worked, so the model and its provider do."""
        now, provider = self._clock(), provider_of(model)
        with self._lock:
            changes = self._expire(now)
            for name in (model, provider):
                account = self._account(name, now)
                account.failures.clear()
                changes += self._clear(name, "a call succeeded")
            return changes

    def mark(self, name: str, reason: str, seconds: float | None = None) -> list[Change]:
        """Marks a model or a provider as unavailable for so many seconds, for instance as long as
        its answer requested. Without a time, until it works again or was not used for a while."""
        now = self._clock()
        with self._lock:
            changes = self._expire(now)
            self._account(name, now)
            until = None if seconds is None else now + seconds
            return changes + self._set(name, now, reason, until)

    def expire(self) -> list[Change]:
        """Take off the marks whose time has come; to be called when a turn starts."""
        with self._lock:
            return self._expire(self._clock())

    def _account(self, name: str, now: float) -> _Account:
        account = self._accounts.setdefault(name, _Account())
        account.tried = now
        self._accounts.move_to_end(name)
        while len(self._accounts) > MOST_MODELS:
            self._accounts.popitem(last=False)
        return account

    def _mark(self, name: str, now: float) -> Mark | None:
        account = self._accounts.get(name)
        if account is None or account.mark is None:
            return None
        end = account.mark.until
        if end is None:
            end = account.tried + QUIET
        return account.mark if now < end else None

    def _set(self, name: str, now: float, reason: str, until: float | None = None) -> list[Change]:
        account = self._accounts[name]
        before, account.mark = account.mark, Mark(now, reason, until)
        if before is not None and (before.reason, before.until) == (reason, until):
            return []
        provider, model = _parts(name)
        span = None if until is None else until - now
        return [
            ProviderUnavailable(provider=provider, model=model, reason=reason, for_seconds=span)
        ]

    def _clear(self, name: str, reason: str) -> list[Change]:
        account = self._accounts[name]
        if account.mark is None:
            return []
        account.mark = None
        account.failures.clear()
        provider, model = _parts(name)
        return [ProviderRecovered(provider=provider, model=model, reason=reason)]

    def _expire(self, now: float) -> list[Change]:
        over = [n for n, a in self._accounts.items() if a.mark and self._mark(n, now) is None]
        return [change for name in over for change in self._clear(name, "the mark has expired")]

    def _marked_models(self, provider: str, now: float) -> int:
        prefix = f"{provider}:"
        marks = [a.mark for n, a in self._accounts.items() if n.startswith(prefix) and a.mark]
        return sum(mark.since > now - PROVIDER_WINDOW for mark in marks)


def _add(failures: deque[float], now: float, most: int, window: float) -> bool:
    """Note a failure; whether there are now enough of them inside the window."""
    failures.append(now)
    while len(failures) > most:
        failures.popleft()
    return len(failures) == most and failures[0] >= now - window


def _parts(name: str) -> tuple[str, str | None]:
    """The provider, and the model unless this is a whole provider."""
    return provider_of(name), name if ":" in name else None
