"""One call, however many tries it takes: retries, then the next model, within a deadline, until
somebody cancels it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from interlingua.client.answer import Attempt
from interlingua.client.budget import Budget
from interlingua.client.errors import (
    CallCancelledError,
    CallError,
    CallTimeoutError,
    NetworkError,
)
from interlingua.client.middleware import Call
from interlingua.client.retry import RetryPolicy
from interlingua.errors import InterlinguaError
from interlingua.model.exchange import ErrorKind
from interlingua.providers.errors import MissingSettingError

logger = logging.getLogger(__name__)
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


class Clock:
    """How much of a call's time is left."""

    def __init__(self, seconds: float | None) -> None:
        self.begun = time.monotonic()
        self._end = None if seconds is None else self.begun + seconds

    def left(self) -> float | None:
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    def passed_ms(self) -> int:
        return round((time.monotonic() - self.begun) * 1000)


class InFlight:
    """A call that is under way, and the task that waits for it at the moment."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._task: asyncio.Task[object] | None = None

    def cancel(self) -> bool:
        """True the first time. Whoever waits is woken up."""
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


class Purse:
    """What one call may still take of the budget, of the provider that it is at."""

    def __init__(self, budget: Budget, call: str) -> None:
        self._budget = budget
        self._call = call
        self._asked: set[str] = set()
        self._provider = ""

    def begin(self, provider: str) -> bool:
        """Whether this provider may be asked for the next model."""
        self._provider = provider
        if provider in self._asked:
            return self.again()
        self._asked.add(provider)
        self._budget.first(provider)
        return True

    def again(self) -> bool:
        """Whether the provider may be asked once more."""
        if self._budget.retry(self._provider):
            return True
        logger.debug("retry_budget_spent", extra={"call": self._call, "provider": self._provider})
        return False


async def with_retries(
    call: Call,
    once: Callable[[str, Clock], Awaitable[T]],
    policy: RetryPolicy,
    fallback_on: frozenset[ErrorKind],
    sleep: Sleep,
    budget: Budget,
    provider_of: Callable[[str], str],
) -> tuple[T, tuple[Attempt, ...]]:
    """Do `once` with each model in turn, as often as the policy and the budget let; what came of
    it, and every attempt. The error of the last one is raised, and lists them as well. A model
    without a key or an address is passed over as long as there is another one."""
    clock = Clock(call.deadline)
    tries: list[Attempt] = []
    failed: CallError | None = None
    unset: MissingSettingError | None = None
    purse = Purse(budget, call.id)
    for number, model in enumerate(call.models):
        if number:
            logger.debug("fallback", extra={"call": call.id, "model": model})
        try:
            if not purse.begin(provider_of(model)):
                continue
            done, last = await _with_one(call, model, once, policy, sleep, clock, tries, purse)
        except InterlinguaError as error:
            if failed is None:  # else it is no reason to hide why this model was asked for
                unset = _first_unset(unset, error, call, model)
            tries.append(Attempt(model, ErrorKind.OTHER))
            continue
        if last is None:
            return done, tuple(tries)  # type: ignore[return-value]  # it is there without an error
        failed = last
        if failed.kind not in fallback_on or clock.left() == 0.0:
            break
    if failed is None:
        assert unset is not None, "a call names a model"
        raise unset
    failed.attempts = tuple(tries)
    raise failed


def _first_unset(
    before: MissingSettingError | None, error: InterlinguaError, call: Call, model: str
) -> MissingSettingError:
    """The first error that says that a model has no key or address; any other is raised."""
    if not isinstance(error, MissingSettingError):
        raise error
    if model != call.models[-1]:
        extra = {"call": call.id, "model": model, "missing": error.what}
        logger.warning("model_passed_over", extra=extra)
    return before or error


async def _with_one(
    call: Call,
    model: str,
    once: Callable[[str, Clock], Awaitable[T]],
    policy: RetryPolicy,
    sleep: Sleep,
    clock: Clock,
    tries: list[Attempt],
    purse: Purse,
) -> tuple[T | None, CallError | None]:
    retries, waited, spare = 0, 0.0, 1
    while True:
        if clock.left() == 0.0:
            late = CallTimeoutError("the deadline has passed", model=model)
            late.phase, late.sent = "deadline", False
            return None, late
        try:
            done = await once(model, clock)
        except CallCancelledError:
            raise
        except CallError as error:
            failed = error
        else:
            tries.append(Attempt(model, waited=waited))
            return done, None
        tries.append(Attempt(model, failed.kind, failed.status, failed.request_id, waited))
        if spare and is_stale(failed):
            spare, waited = 0, 0.0
            continue
        wait = policy.wait(failed, retries)
        left = clock.left()
        if wait is None or (left is not None and wait >= left):
            return None, failed
        if not purse.again():
            return None, failed
        logger.debug("retry", extra={"call": call.id, "model": model, "seconds": wait})
        await sleep(wait)
        retries, waited = retries + 1, wait


def is_stale(error: CallError) -> bool:
    """Whether a connection that had been kept open was closed before anything was written to it.
    Trying that again at once, once, costs nobody anything."""
    return isinstance(error, NetworkError) and error.phase == "write" and not error.sent
