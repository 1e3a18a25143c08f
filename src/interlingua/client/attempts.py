"""One call, however many tries it takes: retries, then the next model, within a deadline, until
somebody cancels it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Container
from typing import TypeVar

from interlingua.client.answer import Attempt, Call
from interlingua.client.errors import (
    CallCancelledError,
    CallError,
    CallTimeoutError,
    NetworkError,
)
from interlingua.client.retry import Budget, RetryPolicy
from interlingua.errors import InterlinguaError
from interlingua.model.exchange import ErrorKind
from interlingua.providers.provider import MissingSettingError

logger = logging.getLogger(__name__)
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


class Clock:
    """How much of a call's time is left."""

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


class RetryBudget:
    """What one call has tried so far, and what it may still take of the budget."""

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
        self._provider = self._model = ""
        self._retries = 0
        self._may_reconnect = True
        self._unset: MissingSettingError | None = None
        """The first error of a model that has no key or address."""
        self.tries: list[Attempt] = []
        self.failed: CallError | None = None
        self.waited = 0.0
        """Seconds before the attempt under way."""

    def begin(self, model: str, provider: str) -> bool:
        """Whether this model may be asked, of its provider."""
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
        self.failed = error
        self.tries.append(
            Attempt(self._model, error.kind, error.status, error.request_id, self.waited)
        )
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
                logger.warning("model_passed_over", extra=extra)
            self._unset = self._unset or error
        self.tries.append(Attempt(model, ErrorKind.OTHER))

    def error(self) -> InterlinguaError:
        """What the call failed with."""
        if self.failed is None:
            assert self._unset is not None, "a call names a model"
            return self._unset
        self.failed.attempts = tuple(self.tries)
        return self.failed

    def _again(self) -> bool:
        """Whether the provider may be asked once more."""
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
    """Do `once` with each model in turn, as often as the policy and the budget let; what came of
    it, and every attempt. The error of the last one is raised, and lists them as well. A model
    without a key or an address is passed over as long as there is another one. Models in
    `tried_once` are not retried: others do as well."""
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
