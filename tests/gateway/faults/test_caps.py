"""Numbers that cannot be, clocks that were wrong, and what nobody can limit: no cap is passed by
them, and nobody is locked out by what somebody else was told."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from interlingua.gateway.keys import caps as reservation_batch
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Refusal
from interlingua.model.metadata import Usage
from interlingua.store.cap_rules import MOST, Money, Settle
from interlingua.store.errors import StoreError
from tests.gateway.keys.test_caps import MODEL, Bench, on

ABSURD = 2**64 - 1


def test_an_absurd_count_locks_nobody_out(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchange = await bench.begun()
        await bench.ended(exchange, ABSURD)
        spent, reserved = await bench.spent()
        assert (spent, reserved) == (Decimal("0.010016"), 0), "what was set aside for it"
        another = await asyncio.wait_for(bench.begun(), 5)
        await bench.ended(another, 100)
        assert await bench.spent() == (spent + Decimal("0.001"), 0)

    on(address, work, daily_cap_usd=Decimal(1))


def test_a_settlement_that_cannot_be_written_keeps_no_other_from_it(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchanges = [await bench.begun() for _ in range(5)]
        bench.caps._batch.put(
            Settle(exchanges[0].arrival.id, 10**30, 10**30)
        )  # beyond what a column holds
        await asyncio.gather(*[bench.ended(each, 100) for each in exchanges[1:]])
        spent, _ = await bench.spent()
        assert spent >= Decimal("0.004")
        await asyncio.wait_for(bench.store.spent([], "2026-11-16"), 5)

    on(address, work, daily_cap_usd=Decimal(10**6))


def test_one_that_the_store_refuses_is_taken_out_of_its_batch(address: str) -> None:
    async def work(bench: Bench) -> None:
        real = bench.store.settle_and_reserve
        bad = await bench.begun()
        good = [await bench.begun() for _ in range(3)]

        async def picky(holder: str, reserves: Any, settles: Any) -> Any:
            if any(settle.id == bad.arrival.id for settle in settles):
                raise StoreError("here", "it cannot be stored", "other")
            return await real(holder, reserves, settles)

        bench.store.settle_and_reserve = picky  # type: ignore[method-assign]
        work = [bench.ended(each, 100) for each in (good[0], bad, *good[1:])]
        _, more = await asyncio.wait_for(asyncio.gather(asyncio.gather(*work), bench.begun()), 5)
        spent, reserved = await bench.spent()
        assert spent == Decimal("0.003")
        assert reserved == 2 * Decimal("0.010016"), "of the bad one, and of the one that came after"
        assert more.outcome.reservation is not None

    on(address, work, daily_cap_usd=Decimal(1))


def test_sums_stop_where_a_column_ends() -> None:
    money = Money(MOST - 1, 0, 0)
    money.move(10, 0)
    assert money.spent == MOST


def test_a_clock_that_was_ahead_locks_no_key_once_it_is_right_again(address: str) -> None:
    async def work(bench: Bench) -> None:
        right = bench.now
        bench.now = right + timedelta(hours=1)
        await bench.ended(await bench.begun(), 1)
        assert (await bench.refused()).error.code == "rate_limit_exceeded"
        bench.now = right
        await bench.ended(await bench.begun(), 1)
        assert (await bench.refused()).error.code == "rate_limit_exceeded", "it counts as ever"
        bench.now = right + timedelta(minutes=1)
        await bench.begun()
        bench.now = right  # a machine whose clock is a minute behind counts together with others
        assert (await bench.refused()).error.code == "rate_limit_exceeded"

    on(address, work, requests_per_minute=1)


def test_usage_within_the_limits_of_a_model_is_believed(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchange = await bench.begun()
        exchange.outcome.status = 200
        exchange.outcome.usage = Usage(input_tokens=150_000, output_tokens=10)
        await bench.caps.settle(exchange)
        assert await bench.spent() == (Decimal("0.1501"), 0), f"{MODEL} takes so much"

    on(address, work, daily_cap_usd=Decimal(1))


def test_an_answer_that_says_no_usage_is_paid_for_by_its_length(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchange = await bench.begun(most=20_000)
        exchange.outcome.status, exchange.outcome.heard = 200, 30_000
        await bench.caps.settle(exchange)
        spent, _ = await bench.spent()
        assert spent >= Decimal("0.10001"), "10,000 tokens"

    on(address, work, daily_cap_usd=Decimal(1))


def test_what_nobody_can_limit_is_counted_as_it_was_set_aside(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchange = bench.exchange()
        most = Most(1000, 1000, unbounded=("an answer in the background",))
        with pytest.raises(Refusal, match="has no bound"):
            await bench.reserve(exchange, most)
        bench.who = dataclasses.replace(bench.who, allow_unbounded=True)
        exchange = bench.exchange()
        await bench.reserve(exchange, most)
        _, reserved = await bench.spent()
        exchange.outcome.status = 200
        await bench.caps.settle(exchange)
        assert await bench.spent() == (reserved, 0)

    on(address, work, daily_cap_usd=Decimal(1))


def test_a_store_that_takes_long_keeps_nobody_from_the_end_of_an_answer(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reservation_batch, "LONGEST", 0.05)

    async def work(bench: Bench) -> None:
        exchange = await bench.begun()
        real, free = bench.store.settle_and_reserve, asyncio.Event()

        async def slow(*given: Any) -> Any:
            await free.wait()
            return await real(*given)

        bench.store.settle_and_reserve = slow  # type: ignore[method-assign]
        await asyncio.wait_for(bench.ended(exchange, 100), 10)
        assert await bench.spent() == (0, Decimal("0.010016")), "still set aside"
        free.set()
        await bench.caps.close()
        assert await bench.spent() == (Decimal("0.001"), 0)

    on(address, work, daily_cap_usd=Decimal(1))


def test_a_fault_of_ours_leaves_nobody_waiting(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchange = await bench.begun()
        real = bench.store.settle_and_reserve

        async def broken(*given: Any) -> Any:
            raise TypeError

        bench.store.settle_and_reserve = broken  # type: ignore[method-assign]
        await asyncio.wait_for(bench.ended(exchange, 100), 10)
        bench.store.settle_and_reserve = real  # type: ignore[method-assign]
        working = bench.caps._batch._working
        assert working is not None
        with pytest.raises(TypeError):
            await working
        await bench.begun()

    on(address, work, daily_cap_usd=Decimal(1))
