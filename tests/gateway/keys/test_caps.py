"""No interleaving passes a cap, and every dollar is counted once."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from interlingua.client.targets import Target, Targets
from interlingua.costs.table import PriceTable
from interlingua.gateway.keys import caps as caps_module
from interlingua.gateway.keys import key_admin
from interlingua.gateway.keys.caps import BUSY, Caps, seconds_left
from interlingua.gateway.keys.keys import Keys
from interlingua.gateway.keys.tariffs import Tariffs
from interlingua.gateway.memory.memory import Memory
from interlingua.gateway.shared.fronts import error_body, fronts
from interlingua.gateway.shared.principal import DOLLAR, picodollars, principal_of, spending, usd
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Refusal
from interlingua.model.exchange import ErrorKind
from interlingua.model.ids import Ulids
from interlingua.model.metadata import Usage
from interlingua.store.base import AsyncStore, Store
from interlingua.store.cap_rules import Granted, Limit, Over, Reserve, Settle
from interlingua.store.errors import StoreError
from interlingua.store.open import open_async_store, open_store
from interlingua.store.sqlite import SqliteStore
from tests.effort import examples
from tests.gateway.forks import Fork
from tests.gateway.keys.spenders import MOST, PROMPT
from tests.gateway.loops import Client, ScriptedProvider, gateway_of, post
from tests.gateway.loops import ask as talk
from tests.store.places import ask

ROOT = Path(__file__).parents[3]
NOON = datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC)
MODEL = "anthropic:claude-sonnet-4-6"
ULIDS = Ulids()

TABLE = PriceTable.from_dict(
    {
        "pricing_version": "test",
        "models": {
            MODEL: {"input_per_mtok_usd": 1, "output_per_mtok_usd": 10},
            "openai:gpt-5": {"input_per_mtok_usd": 100, "output_per_mtok_usd": 100},
        },
    }
)
"""A thousand tokens of output are a cent."""


class Bench:
    """Caps on a key, with a clock that stands still."""

    def __init__(self, store: AsyncStore, row: Any) -> None:
        self.told: list[tuple[str, Any]] = []
        self.now = NOON
        self.store = store
        self.who = principal_of(row)
        self.caps = self.another()

    def another(self) -> Caps:
        emit = lambda name, payload: self.told.append((name, payload))  # noqa: E731
        return Caps(self.store, table=TABLE, emit=emit, now=lambda: self.now)

    def exchange(self, front: str = "openai-chat", model: str = MODEL) -> Exchange:
        target = Targets(environ={}).find(model)
        return Exchange(Arrival(ULIDS.new(), front, self.who, at=self.now), Decision(target))

    async def reserve(self, exchange: Exchange, most: Most, targets: Sequence[Target] = ()) -> None:
        usual = exchange.decision.target
        assert usual is not None
        reservation = await self.caps.reserve(exchange.arrival, most, targets or (usual,))
        exchange.outcome.reservation = reservation

    async def begun(self, most: int | None = 1000, tokens: int = 0, **more: Any) -> Exchange:
        exchange = self.exchange(**more)
        await self.reserve(exchange, Most(tokens, most))
        return exchange

    async def ended(self, exchange: Exchange, output: int) -> None:
        exchange.outcome.status = 200
        exchange.outcome.usage = Usage(input_tokens=0, output_tokens=output)
        await self.caps.settle(exchange)

    async def refused(self, most: int | None = 1000, tokens: int = 0, **more: Any) -> Refusal:
        with pytest.raises(Refusal) as raised:
            await self.begun(most, tokens, **more)
        return raised.value

    async def spent(self) -> tuple[Any, Any]:
        """Of this day: what was spent, and what is set aside."""
        rows = await self.store.spent([self.who.account_id], self.now.date().isoformat())
        day = [row for row in rows if len(row.period) == 10]
        return (usd(day[0].spent), usd(day[0].reserved)) if day else (Decimal(0), Decimal(0))

    async def unpriced(self) -> int:
        """Requests of this day whose cost lacks a part."""
        day = self.now.date().isoformat()
        rows = await self.store.spent([self.who.account_id], day)
        return sum([row.unpriced for row in rows if row.period == day])


def on(address: str, work: Callable[[Bench], Any], **terms: Any) -> None:
    """Do this with a key of such terms."""
    with open_store(address) as store:
        key = key_admin.issue(store, "k", "/w", key_admin.Terms(**terms)).key

    async def do() -> None:
        async with await open_async_store(address) as store:
            bench = Bench(store, await store.key(key.id))
            try:
                await work(bench)
            finally:
                await bench.caps.close()

    asyncio.run(do())


CENT = Decimal("0.01")


def test_a_request_goes_out_only_while_its_worst_case_is_left(address: str) -> None:
    async def work(bench: Bench) -> None:
        first = await bench.begun()
        odd = await bench.refused()
        assert odd.status == 429
        assert odd.error.code == "quota_exceeded"
        await bench.ended(first, 100)
        assert await bench.spent() == (Decimal("0.001"), 0)
        second = await bench.begun()
        assert (await bench.spent())[1] >= CENT
        await bench.ended(second, 1000)
        assert await bench.spent() == (Decimal("0.011"), 0)

    on(address, work, daily_cap_usd=Decimal("0.0115"))


def test_sixty_four_at_once_do_not_pass_a_cap(address: str) -> None:
    async def work(bench: Bench) -> None:
        async def one() -> Exchange | None:
            try:
                return await bench.begun()
            except Refusal:
                return None

        tried = await asyncio.gather(*[one() for _ in range(64)])
        admitted = [each for each in tried if each is not None]
        assert len(admitted) == 9  # the prompt's margin takes the tenth
        await asyncio.gather(*[bench.ended(each, 1000) for each in admitted])
        assert await bench.spent() == (Decimal("0.09"), 0)

    on(address, work, daily_cap_usd=Decimal("0.10"))


@pytest.mark.parametrize("front", fronts(), ids=lambda front: front.dialect)
def test_a_full_cap_is_reported_in_the_clients_format(front: Any, address: str) -> None:
    async def work(bench: Bench) -> None:
        odd = await bench.refused(front=front.dialect)
        body = msgspec.json.decode(error_body(front, odd.error))
        inner = body.get("error") or body
        inner = inner if isinstance(inner, dict) else body
        facts = inner["details"][0]["metadata"] if front.dialect == "gemini" else inner
        assert facts["scope"] == "key"
        assert facts["limit_usd"] == "0.001"
        assert facts["current_usd"] == "0"
        code = inner["error_type"] if front.dialect == "cohere" else inner.get("code")
        code = inner["details"][0]["reason"] if front.dialect == "gemini" else code
        assert code == "quota_exceeded"
        headers = dict(odd.headers)
        assert headers["retry-after"] == str(11 * 3600 + 59 * 60 + 30 + 1)
        assert headers["x-should-retry"] == "false"
        assert "0.0100" in odd.error.message or "may cost $0.01" in odd.error.message

    on(address, work, daily_cap_usd=Decimal("0.001"))


def test_room_that_others_under_way_have_reserved_may_be_asked_for_again(address: str) -> None:
    async def work(bench: Bench) -> None:
        first = await bench.begun()
        headers = dict((await bench.refused()).headers)
        assert headers["retry-after"] == "2"
        assert "x-should-retry" not in headers
        assert bench.told == []
        await bench.ended(first, 100)
        second = await bench.begun()
        await bench.ended(second, 1000)
        headers = dict((await bench.refused()).headers)
        assert int(headers["retry-after"]) > 3600
        assert headers["x-should-retry"] == "false"
        assert [name for name, _ in bench.told if name != "quota.alert"] == [
            "gateway.quota_exceeded"
        ]

    on(address, work, daily_cap_usd=Decimal("0.0115"))


def test_days_and_months_are_those_of_utc(address: str) -> None:
    async def work(bench: Bench) -> None:
        bench.now = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)
        late = await bench.begun()
        assert dict((await bench.refused()).headers)["retry-after"] in ("1", "2")
        bench.now += timedelta(seconds=1)
        await bench.ended(late, 1000)  # it counts for the day on which it went out
        assert await bench.spent() == (0, 0)
        await bench.ended(await bench.begun(), 1000)
        assert await bench.spent() == (CENT, 0)

    on(address, work, daily_cap_usd=Decimal("0.011"), monthly_cap_usd=Decimal("0.02"))


def test_the_month_counts_all_its_days(address: str) -> None:
    async def work(bench: Bench) -> None:
        for _ in range(2):
            await bench.ended(await bench.begun(), 1000)
            bench.now += timedelta(days=1)
        odd = await bench.refused()
        assert "month" in odd.error.message
        left = int(dict(odd.headers)["retry-after"])
        assert timedelta(days=12) < timedelta(seconds=left) < timedelta(days=13)

    on(address, work, monthly_cap_usd=Decimal("0.025"))


def test_users_and_teams_have_caps_over_all_their_keys(address: str) -> None:
    with open_store(address) as store:
        user = key_admin.add_user(store, daily_cap_usd=Decimal("0.015"))
        team = key_admin.add_team(store, "t", monthly_cap_usd=Decimal(1))
        keys = [
            key_admin.issue(store, "k", "/w", user_id=user.id, team_id=team.id).key
            for _ in range(2)
        ]

    async def do() -> None:
        async with await open_async_store(address) as store:
            one, two = [Bench(store, await store.key(key.id)) for key in keys]
            await one.begun()
            odd = await two.refused()
            assert odd.error.raw is not None
            assert odd.error.raw["openai-chat"]["scope"] == "user"
            rows = await store.spent([team.id], NOON.date().isoformat())
            assert {row.reserved for row in rows} == {picodollars(Decimal("0.010016"))}
            await one.caps.close()
            await two.caps.close()

    asyncio.run(do())


def test_keys_that_replaced_each_other_share_their_caps(address: str) -> None:
    with open_store(address) as store:
        terms = key_admin.Terms(daily_cap_usd=Decimal("0.015"))
        old = key_admin.issue(store, "k", "/w", terms).key
        new = key_admin.rotate(store, old.id).key

    async def do() -> None:
        async with await open_async_store(address) as store:
            one, two = Bench(store, await store.key(old.id)), Bench(store, await store.key(new.id))
            await one.begun()
            assert (await two.refused()).status == 429
            await one.caps.close()

    asyncio.run(do())


# Rates


def test_requests_of_a_minute_are_counted(address: str) -> None:
    async def work(bench: Bench) -> None:
        for _ in range(2):
            await bench.ended(await bench.begun(), 1)
        odd = await bench.refused()
        assert (odd.status, odd.error.code) == (429, "rate_limit_exceeded")
        assert dict(odd.headers)["retry-after"] == "30"
        bench.now += timedelta(seconds=30)
        await bench.begun()

    on(address, work, requests_per_minute=2)


def test_tokens_of_a_minute_are_set_aside_and_then_counted(address: str) -> None:
    async def work(bench: Bench) -> None:
        first = await bench.begun(most=500, tokens=300)
        assert "tokens" in (await bench.refused(most=100, tokens=200)).error.message
        await bench.ended(first, 100)
        await bench.begun(most=600, tokens=200)

    on(address, work, tokens_per_minute=1000)


def test_only_so_many_run_at_a_time(address: str) -> None:
    async def work(bench: Bench) -> None:
        async def one() -> Exchange | None:
            try:
                return await bench.begun()
            except Refusal:
                return None

        tried = await asyncio.gather(*[one() for _ in range(10)])
        running = [each for each in tried if each is not None]
        assert len(running) == 3
        await bench.ended(running[0], 1)
        assert await one() is not None
        assert "at a time" in (await bench.refused()).error.message

    on(address, work, concurrent=3)


# What it cost


def test_a_request_that_never_began_costs_nothing(address: str) -> None:
    async def work(bench: Bench) -> None:
        failed = await bench.begun()
        failed.outcome.fail(502, ErrorKind.NETWORK)
        await bench.caps.settle(failed)
        assert await bench.spent() == (0, 0)

    on(address, work, daily_cap_usd=Decimal(1))


def test_who_leaves_pays_for_the_prompt_and_for_what_can_have_been_made(address: str) -> None:
    async def work(bench: Bench) -> None:
        left = await bench.begun(most=100_000, tokens=1000)
        left.outcome.fail(499, ErrorKind.CANCELLED)
        began = left.arrival.began - 2.0  # two seconds ago
        left.arrival = msgspec.structs.replace(left.arrival, began=began)
        await bench.caps.settle(left)
        spent, reserved = await bench.spent()
        prompt = Decimal("0.001216")
        assert reserved == 0
        assert prompt + Decimal("0.005") <= spent <= prompt + Decimal("0.0065")

    on(address, work, daily_cap_usd=Decimal(10))


def test_a_stream_that_broke_off_pays_at_least_what_it_told(address: str) -> None:
    async def work(bench: Bench) -> None:
        broken = await bench.begun(most=100_000, tokens=1000)
        broken.outcome.fail(200, ErrorKind.NETWORK)
        broken.outcome.usage = Usage(input_tokens=900, output_tokens=5000)
        await bench.caps.settle(broken)
        assert (await bench.spent())[0] == Decimal("0.0509")

    on(address, work, daily_cap_usd=Decimal(10))


def test_settling_twice_counts_once_in_whatever_process(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchange = await bench.begun()
        reservation = exchange.outcome.reservation
        await bench.ended(exchange, 500)
        other = bench.another()
        exchange.outcome.reservation = reservation  # as in a process that was forked meanwhile
        await other.settle(exchange)
        await bench.caps.settle(exchange)
        assert await bench.spent() == (Decimal("0.005"), 0)

    on(address, work, daily_cap_usd=Decimal(1))


def test_who_is_cancelled_while_asking_has_nothing_set_aside(address: str) -> None:
    async def work(bench: Bench) -> None:
        await bench.ended(await bench.begun(), 0)
        asking = [asyncio.ensure_future(bench.begun()) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for each in asking:
            each.cancel()
        for done in await asyncio.gather(*asking, return_exceptions=True):
            if isinstance(done, Exchange):
                await bench.ended(done, 0)
        await bench.caps.close()
        assert await bench.spent() == (0, 0)

    on(address, work, daily_cap_usd=Decimal(1))


@pytest.mark.requirement("S002-37")
def test_alerts_are_told_once_each_and_say_whose(address: str) -> None:
    async def work(bench: Bench) -> None:
        for _ in range(3):
            await bench.ended(await bench.begun(10), 4000)
        collected = [(name, p.percent, p.window) for name, p in bench.told if name == "quota.alert"]
        assert collected == [("quota.alert", 80, "day"), ("quota.alert", 95, "day")]
        first = bench.told[0][1]
        assert first.gateway_key_id == bench.who.key_id
        assert (first.limit_usd, first.current_usd) == (Decimal("0.1"), Decimal("0.08"))

    on(address, work, daily_cap_usd=Decimal("0.1"), monthly_cap_usd=Decimal(100))


def test_a_full_cap_is_an_event_once_however_often_it_is_tried(address: str) -> None:
    async def work(bench: Bench) -> None:
        for _ in range(5):
            await bench.refused()
        assert [name for name, _ in bench.told] == ["gateway.quota_exceeded"]

    on(address, work, daily_cap_usd=Decimal(0))


def test_a_model_without_a_price_is_refused_where_money_is_capped(address: str) -> None:
    async def work(bench: Bench) -> None:
        odd = await bench.refused(model="anthropic:claude-of-tomorrow")
        assert (odd.status, odd.error.code) == (403, "price_unknown")
        assert "claude-of-tomorrow" in odd.error.message
        bench.who = dataclasses.replace(bench.who, allow_unpriced=True)
        exchange = await bench.begun(model="anthropic:claude-of-tomorrow")
        await bench.ended(exchange, 1000)
        assert await bench.spent() == (0, 0)

    on(address, work, daily_cap_usd=Decimal(1))


def test_a_model_without_a_price_does_not_lift_the_cap_of_others_in_its_route(
    address: str,
) -> None:
    async def work(bench: Bench) -> None:
        bench.who = dataclasses.replace(bench.who, allow_unpriced=True)
        find, odd = Targets(environ={}).find, "anthropic:claude-of-tomorrow"
        targets = [find(MODEL), find(odd)]
        exchange = bench.exchange()
        await bench.reserve(exchange, Most(0, 1000), targets)
        spent, reserved = await bench.spent()
        assert (spent, reserved > 0) == (0, True)
        exchange.decision = Decision(find(odd))
        exchange.outcome.status = 200
        exchange.outcome.usage = Usage(input_tokens=5, output_tokens=10)
        await bench.caps.settle(exchange)
        assert await bench.spent() == (0, 0), "it counts as nothing"
        day = NOON.date().isoformat()
        rows = await bench.store.spent([bench.who.account_id], day)
        (row,) = [row for row in rows if row.period == day]
        assert spending(row) == {"day_usd": None, "day_unpriced": 1}, "and does not look like it"

    on(address, work, daily_cap_usd=Decimal(1))


def test_a_route_does_without_its_models_that_have_no_price(address: str) -> None:
    async def work(bench: Bench) -> None:
        find, odd = Targets(environ={}).find, "anthropic:claude-of-tomorrow"
        reserved = await bench.caps.reserve(
            bench.exchange().arrival, Most(0, 1000), [find(odd), find(MODEL)]
        )
        assert reserved is not None
        assert [target.model for target in reserved.targets] == [MODEL]
        with pytest.raises(Refusal, match="the price of anthropic:claude-of-tomorrow is unknown"):
            await bench.caps.reserve(bench.exchange().arrival, Most(0, 1000), [find(odd)])

    on(address, work, daily_cap_usd=Decimal(1))


def test_what_has_no_price_counts_as_what_was_set_aside(address: str) -> None:
    async def ended(bench: Bench, **used: Any) -> None:
        exchange = await bench.begun(1000)
        exchange.outcome.status = 200
        exchange.outcome.usage = Usage(input_tokens=0, output_tokens=10, **used)
        await bench.caps.settle(exchange)

    async def work(bench: Bench) -> None:
        await ended(bench, output_modalities={"text": 10})
        assert await bench.spent() == (Decimal("0.0001"), 0)
        await ended(bench, tool_uses={"code_execution": 1})
        assert await bench.spent() == (Decimal("0.010116"), 0)
        await ended(bench, service_tier="priority")
        assert await bench.spent() == (Decimal("0.020132"), 0)
        bench.who = dataclasses.replace(bench.who, allow_unpriced=True)
        assert await bench.unpriced() == 0
        await ended(bench, tool_uses={"code_execution": 1})
        assert await bench.spent() == (Decimal("0.020232"), 0)
        assert await bench.unpriced() == 1

    on(address, work, daily_cap_usd=Decimal(1))


def test_the_dearest_of_the_models_that_may_be_asked_is_set_aside(address: str) -> None:
    async def work(bench: Bench) -> None:
        exchange = bench.exchange()
        targets = [Targets(environ={}).find(model) for model in (MODEL, "openai:gpt-5")]
        await bench.reserve(exchange, Most(0, 1000), targets)
        assert (await bench.spent())[1] == Decimal("0.1016")

    on(address, work, daily_cap_usd=Decimal(1))


def test_a_store_that_is_away_lets_nothing_out_and_loses_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    terms = key_admin.Terms(daily_cap_usd=Decimal(1))
    with open_store(path) as store:
        key = key_admin.issue(store, "k", "/w", terms).key

    async def work() -> None:
        store = await open_async_store(path)
        bench = Bench(store, await store.key(key.id))
        exchange = await bench.begun()
        real = store.settle_and_reserve

        async def away(*_: Any) -> Any:
            raise StoreError("here", "away", "unreachable")

        store.settle_and_reserve = away  # type: ignore[method-assign, assignment]
        odd = await bench.refused()
        assert (odd.status, odd.error.code) == (503, "store_unavailable")
        await bench.ended(exchange, 100)
        store.settle_and_reserve = real  # type: ignore[method-assign]
        await asyncio.sleep(0.7)
        assert await bench.spent() == (Decimal("0.001"), 0)
        await bench.caps.close()
        await store.close()

    asyncio.run(work())


def test_without_caps_nothing_is_written(address: str) -> None:
    async def work(bench: Bench) -> None:
        assert not bench.who.capped
        exchange = await bench.begun()
        assert exchange.outcome.reservation is None
        await bench.ended(exchange, 1000)

    on(address, work)
    with open_store(address) as store:
        for table in ("ledger", "spend", "rates", "holders"):
            assert ask(store, f"SELECT count(*) FROM {table}") == [(0,)]


def test_waiting_times_end_with_the_window() -> None:
    at = datetime(2026, 12, 31, 23, 0, 0, tzinfo=UTC)
    over = Over("key", "gk", "month", 1, 1)
    assert seconds_left(over, at) == 3601
    assert seconds_left(over._replace(window="day"), at) == 3601
    assert seconds_left(over._replace(window="minute"), at) == 60
    assert seconds_left(over._replace(window="now"), at) == 1
    february = datetime(2028, 2, 1, tzinfo=UTC)
    assert seconds_left(over, february) == 29 * 86400 + 1


def test_amounts_are_exact() -> None:
    assert usd(picodollars(Decimal("0.000000000001"))) == Decimal("0.000000000001")
    assert picodollars(Decimal("0.0000000000001")) == 1  # of a cost never less
    assert str(usd(3 * DOLLAR)) == "3"
    assert str(usd(100 * DOLLAR)) == "100"
    real = Tariffs()
    find = Targets(environ={}).find
    worst = real.worst((find(MODEL),), 0, 1_000_000, NOON)
    assert worst.output_tokens < 1_000_000  # the model has a limit of its own
    assert real.worst((find(MODEL),), 0, None, NOON) == worst  # without one it is that
    assert real.worst((find("openai:gpt-5"),), 0, None, NOON).output_tokens > 4096


# Blocks: for busy keys


async def warm(bench: Bench, output: int = 100) -> None:
    """As many requests as make a key busy, and the first account of its block."""
    await bench.ended(await bench.begun(), output)
    busy = bench.caps._busy
    for limits, (since, count) in list(busy.items()):
        busy[limits] = (since + 60, count)  # on a machine that is slow, too
    exchanges = [bench.exchange() for _ in range(BUSY)]
    await asyncio.gather(*[bench.reserve(each, Most(0, 1000)) for each in exchanges])
    await asyncio.gather(*[bench.ended(each, output) for each in exchanges])
    (block,) = bench.caps._blocks.values()
    async with asyncio.timeout(20):
        while not block.take(0):
            await asyncio.sleep(0.005)


def test_a_busy_key_seldom_asks_the_store(address: str) -> None:
    async def work(bench: Bench) -> None:
        real, calls = bench.store.settle_and_reserve, 0

        async def counted(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            return await real(*given)

        bench.store.settle_and_reserve = counted  # type: ignore[method-assign, assignment]

        async def one() -> None:
            for _ in range(50):
                exchange = await bench.begun()
                await asyncio.sleep(0.002)
                await bench.ended(exchange, 100)

        await asyncio.gather(*[one() for _ in range(20)])
        assert calls < 500
        assert (await bench.spent())[0] >= Decimal(1)
        await bench.caps.close()
        assert await bench.spent() == (Decimal(1), 0)

    on(address, work, daily_cap_usd=Decimal(1000))


def test_a_block_that_nobody_uses_is_given_back(address: str) -> None:
    async def work(bench: Bench) -> None:
        await warm(bench)
        async with asyncio.timeout(20):
            while await bench.spent() != (Decimal("0.001") * (BUSY + 1), 0):
                await asyncio.sleep(0.05)

    on(address, work, daily_cap_usd=Decimal(1000))


def test_a_killed_process_has_charged_at_least_what_it_answered(address: str) -> None:
    async def work(bench: Bench) -> None:
        await warm(bench)
        for number in range(100):
            await bench.ended(await bench.begun(), 100)
            if number % 10 == 0:
                assert (await bench.spent())[0] >= Decimal("0.001") * (number + BUSY + 2)

    on(address, work, daily_cap_usd=Decimal(1000))


@pytest.mark.parametrize("cap", ["0.02", "0.1", "0.5", "2"])
def test_with_blocks_a_cap_is_used_up_and_not_passed(cap: str, address: str) -> None:
    async def work(bench: Bench) -> None:
        async def one() -> Decimal:
            spent = Decimal(0)
            while True:
                try:
                    exchange = await bench.begun()
                except Refusal:
                    return spent
                await asyncio.sleep(0)
                await bench.ended(exchange, 1000)
                spent += CENT
                now, held = await bench.spent()
                assert now + held <= Decimal(cap)

        first = sum(await asyncio.gather(*[one() for _ in range(12)]))
        last = await one()  # what others held while they were refused
        await bench.caps.close()
        assert await bench.spent() == (first + last, 0)
        assert first + last > Decimal(cap) - CENT - Decimal("0.000016")

    on(address, work, daily_cap_usd=Decimal(cap))


def test_a_block_of_a_process_that_slept_has_nothing_left(address: str) -> None:
    async def work(bench: Bench) -> None:
        bench.caps = Caps(bench.store, table=TABLE, patience=0.6, now=lambda: bench.now)
        await warm(bench)
        (block,) = bench.caps._blocks.values()
        assert block.take(1)
        block.settle(1, 0)
        time.sleep(0.7)  # as if it was suspended: nothing of this process runs
        with open_store(address) as store:
            aged(store, bench.who.account_id)
            assert store.renew_quotas("another", 3600) == 1
        assert not block.take(1)
        await bench.ended(await bench.begun(), 100)
        await bench.caps.close()
        assert await bench.spent() == (Decimal("0.001") * (BUSY + 2), 0)

    on(address, work, daily_cap_usd=Decimal(1000))


def test_a_block_counts_requests_that_lack_a_price(address: str) -> None:
    async def work(bench: Bench) -> None:
        bench.who = dataclasses.replace(bench.who, allow_unpriced=True)
        await warm(bench)
        for _ in range(2):
            exchange = await bench.begun()
            assert exchange.outcome.reservation.block is not None
            exchange.outcome.status = 200
            exchange.outcome.usage = Usage(0, 100, tool_uses={"code_execution": 1})
            await bench.caps.settle(exchange)
        await bench.caps.close()
        assert await bench.unpriced() == 2

    on(address, work, daily_cap_usd=Decimal(1000))


def test_a_block_loses_nothing_while_the_store_is_away(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caps_module, "LONGEST", 0.05)

    async def work(bench: Bench) -> None:
        await warm(bench)
        running = [await bench.begun() for _ in range(4)]
        real = bench.store.settle_and_reserve

        async def away(*_: Any) -> Any:
            raise StoreError("here", "away", "unreachable")

        bench.store.settle_and_reserve = away  # type: ignore[method-assign, assignment]
        async with asyncio.timeout(20):
            for each in running:
                await bench.ended(each, 1000)
        bench.store.settle_and_reserve = real  # type: ignore[method-assign]
        await bench.caps.close()
        assert await bench.spent() == (Decimal("0.001") * (BUSY + 1) + 4 * CENT, 0)

    on(address, work, daily_cap_usd=Decimal(1000))


# Laws


NOW = time.time_ns() // 1000


class Law(RuleBasedStateMachine):
    """Any history of requests, ends, repetitions and deaths: what is spent and set aside never
    passes the cap, and the sums are those of the ledger."""

    store: Store
    open = Bundle("open")

    def __init__(self) -> None:
        super().__init__()
        self.key, self.user = f"gk_{ULIDS.new()}", f"usr_{ULIDS.new()}"
        self.limits = (Limit("key", self.key, 100, 150), Limit("user", self.user, None, 130))
        self.holder = ULIDS.new()
        self.day = 1
        self.asked: list[str] = []
        self.dead: set[str] = set()
        self.store.renew_quotas(self.holder, 3600)

    @property
    def date(self) -> str:
        return f"2026-11-{self.day:02}"

    @rule(target=open, amounts=st.lists(st.integers(0, 60), min_size=1, max_size=8))
    def begin(self, amounts: list[int]) -> Any:
        asked = [
            Reserve(ULIDS.new(), self.key, NOW, self.date, self.limits, amount)
            for amount in amounts
        ]
        overs, _ = self.store.settle_and_reserve(self.holder, asked)
        admitted = [each for each, over in zip(asked, overs, strict=True) if over is None]
        self.asked += [each.id for each in admitted]
        return tuple(admitted)

    @rule(target=open, most=st.integers(0, 60))
    def begin_block(self, most: int) -> Any:
        asked = Reserve(ULIDS.new(), self.key, NOW, self.date, self.limits, block=most)
        granted = self.store.settle_and_reserve(self.holder, [asked])[0][0]
        assert isinstance(granted, Granted)
        assert 0 <= granted.amount <= most
        self.asked.append(asked.id)
        return (replace(asked, amount=granted.amount, block=None),)

    @rule(target=open, some=consumes(open), share=st.floats(0, 1), most=st.integers(0, 60))
    def account(self, some: tuple[Reserve, ...], share: float, most: int) -> Any:
        """A part of a block is spent, a part is kept, and more is wished."""
        if len(some) != 1 or some[0].id in self.dead or some[0].day != self.date:
            return some
        spent = int(some[0].amount * share)
        settles = [Settle(some[0].id, spent, 0, self.limits)]
        asked = replace(some[0], id=ULIDS.new(), amount=some[0].amount - spent, block=most)
        first = self.store.settle_and_reserve(self.holder, [asked], settles)[0][0]
        again = self.store.settle_and_reserve(self.holder, [asked], settles)[0][0]
        assert isinstance(first, Granted)
        assert again == first
        self.asked.append(asked.id)
        return (replace(asked, amount=first.amount, block=None),)

    @rule(some=consumes(open), share=st.floats(0, 1), times=st.integers(1, 2))
    def end(self, some: tuple[Reserve, ...], share: float, times: int) -> None:
        ended = [
            Settle(each.id, int(each.amount * share), 0, self.limits)
            for each in some
            if each.id not in self.dead
        ]
        for _ in range(times):
            self.store.settle_and_reserve(self.holder, (), ended * times)

    @rule(some=open)
    def ask_again(self, some: tuple[Reserve, ...]) -> None:
        """An answer that was lost: the same is asked again, and nothing changes."""
        before = self.rows()
        self.store.settle_and_reserve(self.holder, some)
        assert self.rows() == before

    @rule()
    def die(self) -> None:
        """A new process takes over; what the old one held is given back."""
        self.holder = ULIDS.new()
        self.dead.update(self.asked)
        aged(self.store, self.key)
        self.store.renew_quotas(self.holder, 3600)

    @rule()
    def next_day(self) -> None:
        self.day = min(self.day + 1, 28)

    def rows(self) -> list[Any]:
        return sorted(self.store.spent([self.key, self.user], self.date))

    @invariant()
    def the_caps_hold(self) -> None:
        for owner, period, spent, reserved, unpriced, *_ in self.rows():
            assert spent >= 0
            assert unpriced <= len(self.asked)
            assert reserved >= 0
            cap = 130 if owner == self.user else 100 if len(period) == 10 else 150
            if not (owner == self.user and len(period) == 10):
                assert spent + reserved <= cap

    @invariant()
    def the_sums_are_those_of_the_ledger(self) -> None:
        sql = "SELECT day, status, reserved, cost FROM ledger WHERE account_id = ?"
        entries = ask(self.store, sql, (self.key,))
        assert len(entries) == len(self.asked)
        for _, period, spent, reserved, *_ in self.rows():
            own = [entry for entry in entries if entry[0].startswith(period)]
            assert spent == sum(cost for _, _, _, cost in own)
            assert reserved == sum(each[2] for each in own if each[1] == "open")


def aged(store: Store, account: str) -> None:
    """All processes that hold something of this key were last heard of long ago."""
    theirs = "SELECT holder FROM ledger WHERE account_id = ?"
    ask(store, f"UPDATE holders SET seen_at = 0 WHERE id IN ({theirs})", (account,))


def test_no_history_of_requests_passes_a_cap(address: str, engine: str) -> None:
    with open_store(address) as store:
        machine = type("OnStore", (Law,), {"store": store})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples(60 if engine == "sqlite" else 15),
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_a_process_that_was_only_asleep_still_settles(address: str) -> None:
    """What it held was given back meanwhile; what it spent counts all the same, and once."""

    async def work(bench: Bench) -> None:
        exchange = await bench.begun()
        with open_store(address) as store:
            aged(store, bench.who.account_id)
            assert store.renew_quotas("another", 3600) == 1
        assert await bench.spent() == (0, 0)
        await bench.ended(exchange, 700)
        assert await bench.spent() == (Decimal("0.007"), 0)

    on(address, work, daily_cap_usd=Decimal(1), concurrent=1)


def told_costs(told: str | None) -> dict[str, Decimal]:
    """What a process that spends has reported of each request that was over."""
    lines = [line.split() for line in (told or "").splitlines()]
    return {line[1]: Decimal(line[2]) for line in lines if line[0] == "cost" and len(line) == 3}


def spender(address: str, token: str, tasks: int, requests: int, seed: int) -> Fork:
    numbers = [str(number) for number in (tasks, requests, seed)]
    return Fork(["tests.gateway.keys.spenders", address, token, *numbers], cwd=ROOT)


def test_processes_that_share_a_store_do_not_pass_a_cap_and_every_dollar_is_counted(
    address: str,
) -> None:
    """Four processes of sixteen at a time each, and a fifth that is killed in the middle."""
    cap = Decimal("0.6")
    with open_store(address) as store:
        issued = key_admin.issue(store, "k", "/w", key_admin.Terms(daily_cap_usd=cap))
        account = issued.key.id
        doomed = spender(address, issued.token, 16, 100_000, 99)
        assert doomed.stdout is not None
        for _ in range(5):
            doomed.stdout.readline()
        doomed.kill()
        rest = doomed.communicate()[0]
        today = datetime.now(UTC).date().isoformat()
        before = sum(usd(row.spent) for row in store.spent([account], today) if row.period == today)
        assert before >= sum(told_costs(rest).values())
        children = [spender(address, issued.token, 16, 6, seed) for seed in range(4)]
        while any(child.poll() is None for child in children):
            for row in store.spent([account], today):
                assert row.spent + row.reserved <= picodollars(cap)
            time.sleep(0.05)
        lines = [line.split() for child in children for line in child.communicate()[0].splitlines()]
        assert [child.returncode for child in children] == [0] * 4
        costs = {line[1]: Decimal(line[2]) for line in lines if line[0] == "cost"}
        assert len(costs) == sum(line[0] == "began" for line in lines) > 0
        time.sleep(0.6)
        store.renew_quotas("another", 0.5)
        entries = ask(store, "SELECT id, status, cost FROM ledger")
        settled = {id: usd(cost) for id, status, cost in entries if status == "settled"}
        assert {id: costs[id] for id in settled if id in costs}.items() <= settled.items()
        assert not [id for id, status, _ in entries if status == "open"]
        (day,) = [row for row in store.spent([account], today) if row.period == today]
        assert usd(day.spent) == sum(settled.values()) == before + sum(costs.values())
        assert day.reserved == 0
        assert usd(day.spent) <= cap
        worst = Decimal(PROMPT * 2 * 3 + MOST * 15) / 1_000_000
        assert usd(day.spent) > cap - 64 * worst  # and it was used


def test_whatever_dies_when_the_sums_are_those_of_the_ledger(address: str) -> None:
    """A process that spends is killed, again and again, at moments of its own."""
    chance, acknowledged = random.Random(7), Decimal(0)
    with open_store(address) as store:
        issued = key_admin.issue(store, "k", "/w", key_admin.Terms(daily_cap_usd=Decimal(100)))
        today = datetime.now(UTC).date().isoformat()
        for seed in range(4):
            child = spender(address, issued.token, 16, 100_000, seed)
            assert child.stdout is not None
            for _ in range(chance.randrange(1, 200)):
                child.stdout.readline()
            time.sleep(chance.random() / 50)
            child.kill()
            result = told_costs(child.communicate()[0])
            acknowledged += sum(result.values())
            entries = {
                id: (status, reserved, cost)
                for id, status, reserved, cost in ask(
                    store, "SELECT id, status, reserved, cost FROM ledger"
                )
            }
            for row in store.spent([issued.key.id], today):
                assert row.spent == sum(cost for _, _, cost in entries.values())
                open_ones = [held for state, held, _ in entries.values() if state == "open"]
                assert row.reserved == sum(open_ones)
                assert usd(row.spent) >= acknowledged
            for id, cost in result.items():
                if id in entries:  # the others are in the entry of a block
                    assert entries[id][0] == "settled"
                    assert usd(entries[id][2]) == cost
        time.sleep(0.1)
        store.renew_quotas("another", 0.05)
        assert {row.reserved for row in store.spent([issued.key.id], today)} == {0}


def test_after_caps_the_next_commit_waits_for_the_disk_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path / "s.db") as store:
        assert isinstance(store, SqliteStore)
        writer = store._file._writer
        execute = writer.execute
        levels: list[int] = []

        def watched(sql: str, values: Sequence[Any] = ()) -> list[Any]:
            if sql == "COMMIT":
                levels.append(execute("PRAGMA synchronous")[0][0])
            return execute(sql, values)

        monkeypatch.setattr(writer, "execute", watched)
        store.create_session("/w")
        store.settle_and_reserve("h", [Reserve("r", "gk", 1, "2026-11-16")])
        store.create_session("/w")
        with pytest.raises(StoreError):
            store.settle_and_reserve("h", [Reserve("s", None, 1, "2026-11-16")])  # type: ignore[arg-type]  # on purpose
        store.create_session("/w")
        store.settle_and_reserve("h", (), [Settle("r", 1, 1)])
        store.settle_and_reserve("h", (), [Settle("r", 1, 1)])
    assert levels == [2, 1, 2, 2, 1, 1]


def test_a_key_is_capped_as_its_row_says(address: str) -> None:
    """The way of a request: key, principal, caps."""
    with open_store(address) as store:
        issued = key_admin.issue(store, "k", "/w", key_admin.Terms(concurrent=1))

    async def work() -> None:
        async with await open_async_store(address) as store:
            who = await Keys(store).find(issued.token)
            assert who.capped
            caps = Caps(store)
            target = Targets(environ={}).find(MODEL)
            await caps.reserve(Arrival("a", "anthropic", who), Most(1, 1), [target])
            with pytest.raises(Refusal):
                await caps.reserve(Arrival("b", "anthropic", who), Most(1, 1), [target])
            await caps.close()

    asyncio.run(work())


class Brief(Client):
    """Says how long an answer may be."""

    def body(self, stream: bool) -> dict[str, Any]:
        return {**super().body(stream), "max_tokens": 4096}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_requests_through_the_gateway_are_counted_and_then_refused(
    stream: bool, address: str
) -> None:
    """Each answer of the script has 8 tokens of prompt and 42 of output."""
    terms = key_admin.Terms(daily_cap_usd=Decimal("0.043"))
    with open_store(address) as store:
        issued = key_admin.issue(store, "k", "/w", terms)

    async def work() -> None:
        async with await open_async_store(address) as store:
            provider = ScriptedProvider("anthropic")
            provider.stream = stream
            caps = Caps(store, table=TABLE)
            app = gateway_of(provider, Memory(store), Keys(store), caps)
            client = Brief("openai-chat", MODEL, "How is it?")
            answer = await talk(app, client, stream, issued.token)
            today = datetime.now(UTC).date().isoformat()
            for _ in range(500):  # it is settled after the last byte
                (day,) = [r for r in await store.spent([issued.key.id], today) if r.period == today]
                if not day.reserved:
                    break
                await asyncio.sleep(0.01)
            assert (usd(day.spent), day.reserved) == (Decimal("0.000428"), 0)
            client.hear(answer)
            wire = client.body(stream)
            first = await post(app, client.path, wire, issued.token)
            assert first[0] == 200
            status, body = await post(app, client.path, {**wire, "max_tokens": 4300}, issued.token)
            assert status == 429
            error = msgspec.json.decode(body)["error"]
            assert error["code"] == "quota_exceeded"
            assert error["limit_usd"] == "0.043"
            assert Decimal(error["current_usd"]) == Decimal("0.000856")
            await caps.close()

    asyncio.run(work())
