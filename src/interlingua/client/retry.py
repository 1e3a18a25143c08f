"""Retries: when to try again, and how long to wait before. A call is one, however many tries it
takes: retries, then the next model, until its deadline or its cancellation."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Container, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from interlingua.client.answer import Attempt, Call
from interlingua.client.errors import CallCancelledError, CallError, CallTimeoutError, NetworkError
from interlingua.errors import InterlinguaError
from interlingua.model.exchange import ErrorKind
from interlingua.providers.provider import MissingSettingError

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
    """Waits double from `first` seconds up to `longest`, with a jitter of `jitter`. A delay that
    the provider requests is honoured up to `patience` seconds; if it is longer, we give up."""

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
    """The seconds that a provider asks to wait: never negative, None if it has no such header.

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
"""Parts of the window; the counts of a part expire together."""


class Budget:
    """Counts first attempts and retries of the last `seconds` by provider, and limits retries to
    `share` of the first attempts, or to `reserve` if that is more. Threads may share one. `clock`
    returns monotonic seconds."""

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
        """Records the first attempt of a call at this provider."""
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
        """Forget all calls."""
        with self._lock:
            self._windows.clear()

    def _window(self, provider: str) -> _Window:
        """The counts at this moment, with a part for it at the end. There are as many windows as
        providers that have been set up."""
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


logger = logging.getLogger(__name__)
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


class Clock:
    """The time that a call has left."""

    def __init__(self, seconds: float | None) -> None:
        self.begun = time.monotonic()
        self.end = None if seconds is None else self.begun + seconds

    def left(self) -> float | None:
        return None if self.end is None else max(self.end - time.monotonic(), 0.0)

    def passed_ms(self) -> int:
        return round((time.monotonic() - self.begun) * 1000)


class InFlight:
    """A call that is under way, and the task that waits for it at the moment."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._task: asyncio.Task[object] | None = None

    def cancel(self) -> bool:
        """Cancel; True the first time. Waiters are woken up."""
        if self.is_cancelled:
            return False
        self.is_cancelled = True
        if self._task is not None:
            self._task.cancel()
        return True

    async def wait(self, work: Awaitable[T]) -> T:
        """The result of `work`; `CallCancelledError` when `cancel` was called meanwhile. A
        cancellation of the task itself passes through."""
        task = self._task = asyncio.current_task()
        try:
            if self.is_cancelled:
                if asyncio.iscoroutine(work):
                    work.close()
                raise CallCancelledError("cancelled")
            return await work
        except asyncio.CancelledError:
            if not self.is_cancelled or task is None or task.uncancel() > 0:
                raise
        finally:
            self._task = None
        raise CallCancelledError("cancelled")


class RetryBudget:
    """The tries of one call so far, and its remaining share of the budget."""

    _provider = _model = ""
    _retries = 0
    _may_reconnect = True
    _unset: MissingSettingError | None = None
    """The first error of a model that has no key or address."""
    failed: CallError | None = None
    waited = 0.0
    """Seconds before the attempt under way."""

    def __init__(
        self,
        call: Call,
        policy: RetryPolicy,
        budget: Budget,
        clock: Clock,
        tried_once: Container[str] = (),
    ) -> None:
        self._call = call
        self._policy = policy
        self._tried_once = tried_once
        self._budget = budget
        self._clock = clock
        self._asked: set[str] = set()
        self.tries: list[Attempt] = []
        self._since = clock.begun
        """When the attempt before it ended."""

    def begin(self, model: str, provider: str) -> bool:
        """Whether this model of the provider may be tried."""
        if self._model:
            logger.debug("fallback", extra={"call": self._call.id, "model": model})
            self._retries, self.waited, self._may_reconnect = 0, 0.0, True
        self._model, self._provider = model, provider
        if provider in self._asked:
            return self._again()
        self._asked.add(provider)
        self._budget.first(provider)
        return True

    def in_time(self) -> bool:
        """Whether there is time for another attempt."""
        if self._clock.left() != 0.0:
            return True
        late = CallTimeoutError("the deadline has passed", model=self._model)
        late.phase, late.sent = "deadline", False
        self.failed = late
        return False

    def wait_after(self, error: CallError) -> float | None:
        """Seconds until the model is tried again; None if it is not."""
        if isinstance(error, CallCancelledError):
            raise error
        self.failed, now = error, time.monotonic()
        took = round(max(now - self._since - self.waited, 0.0), 3)
        self._since = now
        known = (self._model, error.kind, error.status, error.request_id)
        self.tries.append(Attempt(*known, self.waited, took))
        if self._may_reconnect and is_stale(error):
            self._may_reconnect, self.waited = False, 0.0
            return 0.0
        if self._model in self._tried_once:
            return None
        wait, left = self._policy.wait(error, self._retries), self._clock.left()
        if wait is None or (left is not None and wait >= left) or not self._again():
            return None
        extra = {"call": self._call.id, "model": self._model, "seconds": wait}
        logger.debug("retry", extra=extra)
        self._retries, self.waited = self._retries + 1, wait
        return wait

    def pass_over(self, model: str, error: InterlinguaError) -> None:
        """Go on after a model that has no key or address; any other error is raised."""
        if isinstance(error, CallCancelledError):
            raise error
        if self.failed is None:  # else it is no reason to hide why this model was asked for
            if not isinstance(error, MissingSettingError):
                raise error
            if model != self._call.models[-1]:
                extra = {"call": self._call.id, "model": model, "missing": error.what}
                logger.warning("model_skipped", extra=extra)
            self._unset = self._unset or error
        self.tries.append(Attempt(model, ErrorKind.OTHER))

    def error(self) -> InterlinguaError:
        """The error of the call."""
        if self.failed is None:
            assert self._unset is not None, "a call names a model"
            return self._unset
        self.failed.attempts = tuple(self.tries)
        return self.failed

    def _again(self) -> bool:
        """Whether the provider may be tried once more."""
        if self._budget.retry(self._provider):
            return True
        extra = {"call": self._call.id, "provider": self._provider}
        logger.debug("retry_budget_spent", extra=extra)
        return False


async def with_retries(
    call: Call,
    once: Callable[[str, Clock], Awaitable[T]],
    policy: RetryPolicy,
    fallback_on: frozenset[ErrorKind],
    sleep: Sleep,
    budget: Budget,
    provider_of: Callable[[str], str],
    tried_once: Container[str] = (),
) -> tuple[T, tuple[Attempt, ...]]:
    """Tries each model with `once`, as often as the policy and the budget allow; returns the result
    and all attempts. Otherwise raises the last error, which lists them as well. A model without a
    key or an address is skipped if there is another one. Models in `tried_once` are not retried."""
    clock = Clock(call.deadline)
    allowance = RetryBudget(call, policy, budget, clock, tried_once)
    for model in call.models:
        try:
            if not allowance.begin(model, provider_of(model)):
                continue
            while call.deadline is None or allowance.in_time():
                try:
                    done = await once(model, clock)
                except CallError as error:
                    wait = allowance.wait_after(error)
                    if wait is None:
                        break
                    if wait:
                        await sleep(wait)
                else:
                    allowance.tries.append(Attempt(model, waited=allowance.waited))
                    return done, tuple(allowance.tries)
        except InterlinguaError as error:
            allowance.pass_over(model, error)
            continue
        failed = allowance.failed
        if failed is None or failed.kind not in fallback_on or clock.left() == 0.0:
            break
    raise allowance.error()


def is_stale(error: CallError) -> bool:
    """Whether a reused connection was closed before anything was written to it: an immediate second
    try is free."""
    return isinstance(error, NetworkError) and error.phase == "write" and not error.sent
