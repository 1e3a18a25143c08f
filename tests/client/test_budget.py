"""The budget for trying again: laws over any history, and storms with and without it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import threading
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.client import AsyncClient, RetryPolicy, ServerError
from interlingua.client.answer import Call
from interlingua.client.errors import CallError, NetworkError, RateLimitError
from interlingua.client.retry import RETRYABLE, SHARED, STEPS, Budget, Clock, with_retries
from interlingua.gateway.gateway import Gateway
from interlingua.model.exchange import Request
from tests.effort import examples

SHARE, RESERVE, SECONDS = 0.2, 10, 60.0


class Time:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Told(NamedTuple):
    at: float
    is_first: bool
    passed: bool


steps = st.lists(
    st.tuples(st.sampled_from(["first", "firsts", "retry", "retries"]), st.floats(0, 30)),
    max_size=120,
)


def played(script: list[tuple[str, float]], budget: Budget, time: Time) -> list[Told]:
    collected: list[Told] = []
    for word, wait in script:
        time.now += wait
        for _ in range(40 if word.endswith("s") else 1):
            if word.startswith("first"):
                budget.first("p")
                collected.append(Told(time.now, is_first=True, passed=True))
            else:
                collected.append(Told(time.now, is_first=False, passed=budget.retry("p")))
    return collected


@given(steps)
@settings(max_examples=examples(300))
def test_at_no_moment_are_more_retries_in_the_window_than_the_share_or_the_reserve(
    script: list[tuple[str, float]],
) -> None:
    time = Time()
    budget = Budget(clock=time)
    result = played(script, budget, time)
    part = SECONDS / STEPS
    for place, each in enumerate(result):
        if each.is_first or not each.passed:
            continue
        began = (int(each.at / part) - STEPS + 1) * part  # of the oldest part that still counts
        window = [other for other in result[: place + 1] if other.at >= began]
        firsts = sum(other.is_first for other in window)
        retries = sum(other.passed and not other.is_first for other in window)
        assert retries <= max(RESERVE, SHARE * firsts)


@given(steps)
@settings(max_examples=examples(200))
def test_a_retry_is_refused_only_when_the_budget_is_spent(
    script: list[tuple[str, float]],
) -> None:
    time = Time()
    budget = Budget(clock=time)
    for word, wait in script:
        time.now += wait
        firsts, retries = budget.counts("p")
        if word.startswith("first"):
            budget.first("p")
            assert budget.counts("p") == (firsts + 1, retries)
        else:
            assert budget.retry("p") is (retries + 1 <= max(RESERVE, SHARE * firsts))


def test_who_asks_seldom_has_the_reserve_and_gets_it_back_after_a_minute() -> None:
    time = Time()
    budget = Budget(clock=time)
    budget.first("p")
    assert [budget.retry("p") for _ in range(11)] == [True] * 10 + [False]
    time.now += SECONDS / 2
    assert not budget.retry("p")
    time.now += SECONDS / 2
    assert budget.counts("p") == (0, 0)
    assert budget.retry("p")


def test_providers_do_not_pay_for_each_other() -> None:
    budget = Budget(clock=Time())
    while budget.retry("down"):
        pass
    assert budget.retry("up")
    assert budget.counts("down") == (0, 10)


def test_a_budget_of_nothing_lets_nothing_pass_and_odd_ones_are_refused() -> None:
    none = Budget(share=0, reserve=0, clock=Time())
    none.first("p")
    assert not none.retry("p")
    for odd in ({"share": -0.1}, {"reserve": -1}, {"seconds": 0}, {"share": float("nan")}):
        with pytest.raises(ValueError, match="a budget has"):
            Budget(**odd)


def test_the_window_keeps_no_more_parts_than_it_has() -> None:
    time = Time()
    budget = Budget(clock=time)
    for _ in range(5000):
        time.now += 0.37
        budget.first("p")
    assert len(budget._windows["p"].parts) <= STEPS
    assert budget.counts("p")[0] == pytest.approx(SECONDS / 0.37, rel=0.03)


def test_threads_that_share_a_budget_do_not_pass_it_together() -> None:
    budget = Budget(clock=Time())
    passed: list[bool] = []

    def work() -> None:
        for _ in range(500):
            budget.first("p")
            passed.extend([budget.retry("p"), budget.retry("p")])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.counts("p") == (4000, sum(passed))
    assert sum(passed) <= 800


def test_clients_and_gateways_of_a_process_share_one() -> None:
    assert AsyncClient().budget is SHARED
    assert Gateway().budget is SHARED
    own = Budget()
    assert AsyncClient(budget=own).budget is own
    assert Gateway(budget=own).budget is own


# Calls


def provider_of(model: str) -> str:
    return model.partition(":")[0]


class Provider:
    """Counts what it is asked, and fails as it is told."""

    def __init__(self, fails: Callable[[], CallError | None]) -> None:
        self.asked: list[str] = []
        self._fails = fails

    async def once(self, model: str, clock: Clock) -> str:
        self.asked.append(model)
        error = self._fails()
        if error is not None:
            raise error
        return "answer"


async def call(
    provider: Provider,
    budget: Budget,
    models: tuple[str, ...] = ("p:m",),
    sleep: Callable[[float], Awaitable[None]] | None = None,
    policy: RetryPolicy | None = None,
) -> CallError | None:
    """How one call ended."""

    async def no_sleep(seconds: float) -> None:
        return None

    policy = policy or RetryPolicy()
    made = Call("c", models, Request())
    try:
        await with_retries(
            made, provider.once, policy, RETRYABLE, sleep or no_sleep, budget, provider_of
        )
    except CallError as error:
        return error
    return None


def test_when_it_is_spent_the_error_goes_out_at_once_with_what_the_provider_asked_for() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def main() -> None:
        budget = Budget(reserve=2, clock=Time())
        provider = Provider(lambda: RateLimitError("slow down", status=429, retry_after=7))
        first = await call(provider, budget, sleep=sleep)
        assert first is not None
        assert len(first.attempts) == 3
        assert len(slept) == 2
        second = await call(provider, budget, sleep=sleep)
        assert second is not None
        assert (second.retry_after, len(second.attempts)) == (7, 1)
        assert len(slept) == 2
        assert len(provider.asked) == 4

    asyncio.run(main())


def test_a_failed_attempt_says_how_long_it_took_without_the_wait_before_it() -> None:
    async def main() -> None:
        async def slowly(model: str, clock: Clock) -> None:
            await asyncio.sleep(0.03)
            raise ServerError("down")

        made = Call("c", ("p:m",), Request())
        policy = RetryPolicy(max_retries=1, first=0.2)
        with pytest.raises(ServerError) as failed:
            await with_retries(
                made, slowly, policy, RETRYABLE, asyncio.sleep, Budget(), provider_of
            )
        first, second = failed.value.attempts
        assert (first.waited, second.waited) == (0, pytest.approx(0.2, rel=0.3))
        assert min(first.took, second.took) >= 0.03
        assert second.took < 5

    asyncio.run(main())


def test_another_provider_is_asked_even_when_the_budget_of_the_first_is_spent() -> None:
    async def main() -> None:
        budget = Budget(reserve=0, clock=Time())
        provider = Provider(lambda: ServerError("down"))
        await call(provider, budget, ("a:1", "b:1", "a:2", "c:1"))
        assert provider.asked == ["a:1", "b:1", "c:1"], "a:2 would be more load for a"
        assert budget.counts("a") == budget.counts("b") == budget.counts("c") == (1, 0)

    asyncio.run(main())


def test_another_model_of_the_same_provider_is_paid_for_like_a_retry() -> None:
    async def main() -> None:
        budget = Budget(reserve=3, clock=Time())
        provider = Provider(lambda: ServerError("down"))
        once = RetryPolicy(max_retries=0)
        for _ in range(5):
            await call(provider, budget, ("a:1", "a:2"), policy=once)
        assert provider.asked.count("a:1") == 5
        assert provider.asked.count("a:2") == 3
        assert budget.counts("a") == (5, 3)

    asyncio.run(main())


def test_a_connection_that_was_closed_before_anything_was_written_costs_nothing() -> None:
    def stale() -> CallError:
        error = NetworkError("closed")
        error.phase, error.sent = "write", False
        return error

    async def main() -> None:
        errors: list[CallError | None] = [stale(), None]
        budget = Budget(reserve=0, clock=Time())
        provider = Provider(lambda: errors.pop(0))
        assert await call(provider, budget) is None
        assert budget.counts("p") == (1, 0)

    asyncio.run(main())


# Storms, with time of their own


class Storm:
    """Calls that arrive at a steady pace at a provider that can take `capacity` a second: what
    comes on top fails, and so does a part `errors` of the rest. Nothing really waits: time passes
    when all calls sleep."""

    def __init__(self, budget: Callable[[Callable[[], float]], Budget], seed: int) -> None:
        self.time = Time()
        self.budget = budget(self.time)
        self.random = random.Random(seed)
        self.sent = 0
        self.calls = 0
        self.failed = 0
        self.waits: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._second: tuple[int, int] = (0, 0)

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self.waits, (self.time.now + seconds, next(self._numbers), future))
        await future

    def fails(self, errors: float, capacity: float) -> CallError | None:
        self.sent += 1
        second, count = self._second
        now = int(self.time.now)
        self._second = (now, count + 1) if now == second else (now, 1)
        if self._second[1] > capacity or self.random.random() < errors:
            return ServerError("overloaded", status=529)
        return None

    async def run(self, pace: int, seconds: int, errors: float, capacity: float) -> float:
        """The amplification: what was sent for each call."""
        provider = Provider(lambda: self.fails(errors, capacity))
        under_way: set[asyncio.Task[None]] = set()

        async def one() -> None:
            error = await call(provider, self.budget, sleep=self.sleep)
            self.failed += error is not None

        for tick in range(pace * seconds):
            self.time.now = 1000.0 + tick / pace
            await self._wake()
            task = asyncio.ensure_future(one())
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            self.calls += 1
            await asyncio.sleep(0)
        while self.waits:
            self.time.now = self.waits[0][0]
            await self._wake()
        await asyncio.gather(*under_way)
        return self.sent / self.calls

    async def _wake(self) -> None:
        while self.waits and self.waits[0][0] <= self.time.now:
            heapq.heappop(self.waits)[2].set_result(None)
            await asyncio.sleep(0)
            await asyncio.sleep(0)


def unlimited(clock: Callable[[], float]) -> Budget:
    return Budget(reserve=10**9, clock=clock)


def limited(clock: Callable[[], float]) -> Budget:
    return Budget(clock=clock)


@pytest.mark.parametrize(
    ("errors", "capacity"),
    [(0.1, 50.0), (0.1, 1000.0), (0.5, 50.0), (1.0, 50.0), (0.0, 25.0)],
    ids=["10%-at-capacity", "10%", "half", "all", "twice-its-capacity"],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_c8_a_storm_is_amplified_by_no_more_than_a_fifth(
    errors: float, capacity: float, seed: int
) -> None:
    storm = Storm(limited, seed)
    amplification = asyncio.run(storm.run(50, 200, errors, capacity))
    assert storm.calls == 10_000
    assert 1.0 <= amplification <= 1.2


def test_c8_without_a_budget_the_same_storm_is_amplified_threefold() -> None:
    free = Storm(unlimited, 1)
    assert asyncio.run(free.run(50, 60, 1.0, 50.0)) == 3.0
    at_capacity = Storm(unlimited, 1)
    bound = Storm(limited, 1)
    worse = asyncio.run(at_capacity.run(50, 200, 0.1, 50.0))
    better = asyncio.run(bound.run(50, 200, 0.1, 50.0))
    assert worse > better


def test_c8_ten_percent_of_errors_below_capacity_are_all_tried_again() -> None:
    storm = Storm(limited, 3)
    amplification = asyncio.run(storm.run(50, 200, 0.1, 1000.0))
    assert 1.1 <= amplification <= 1.13
    assert storm.failed <= 25, "three tries fail in one call of a thousand"
