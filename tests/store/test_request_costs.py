"""What requests cost: the same as adding them up one by one, whatever happened to them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from interlingua.cli.stores import answers
from interlingua.costs.cost import total
from interlingua.costs.history import Key, cost_by
from interlingua.model.ids import Ulids
from interlingua.model.metadata import Usage, reported_cost
from interlingua.store import backup, migrations
from interlingua.store.base import Store
from interlingua.store.open import open_store
from interlingua.store.request_costs import BILLED, COST_KINDS, REPORTED, CostRow
from interlingua.store.requests import RequestFilter, RequestRow
from interlingua.store.sessions import Before
from tests.store.places import ask

NOW = datetime(2026, 11, 18, 15, 30, tzinfo=UTC)
IDS = Ulids()
KEYS: tuple[Key, ...] = ("model", "day", "user", "team", "key")
COSTS = ("0", "1", "12", "0.0012", "0.000000000000000001", "1234.000000000001000000000001", "0.1")
REPORTS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"openrouter": {"cost": 0.0025}},
    {"perplexity": {"cost": {"total_cost": 1e-05, "input": 1}}},
    {"xai": {"cost_in_usd_ticks": 123456}},
    {"openrouter": {"cost": "0.5"}},
    {"openrouter": {"cost": None, "other": "\x00"}},
    {"odd": {"cost": {"parts": [1]}}},
    {"odd": {}},
)


def rows_of(
    count: int, seed: int = 1, reports: tuple[dict[str, Any] | None, ...] = REPORTS
) -> list[RequestRow]:
    chance = random.Random(seed)

    def usage() -> Usage | None:
        if chance.random() < 0.1:
            return None
        cost = None if chance.random() < 0.2 else Decimal(chance.choice(COSTS))
        tokens = [chance.choice((None, 0, 7, 1000)) for _ in range(5)]
        lacks = ("code_execution",) if cost is not None and chance.random() < 0.3 else None
        return Usage(*tokens, cost, unpriced=lacks, raw=chance.choice(reports))

    return [
        RequestRow(
            f"req_{IDS.new()}",
            NOW - timedelta(hours=chance.randrange(24 * 20), microseconds=chance.randrange(9)),
            chance.choice(("anthropic", "openai-chat", "sessions")),
            200,
            9,
            key_id=chance.choice((None, "gk_1", "gk_2")),
            user_id=chance.choice((None, "usr_1")),
            team_id=chance.choice((None, "team_1")),
            model=chance.choice((None, "openai:gpt-5", "anthropic:claude-sonnet-4-6")),
            usage=usage(),
        )
        for _ in range(count)
    ]


def by_hand(store: Store, since: datetime | None, until: datetime | None) -> set[CostRow]:
    found, bills = set(), dict[tuple[str, str | None], list[Any]]()
    messages = list(answers(store, RequestFilter(since=since, until=until)))
    for key in KEYS:
        for name, spent in cost_by(messages, key).items():
            counts = (spent.messages, spent.unpriced, spent.prompt_tokens, spent.output_tokens)
            found.add(CostRow(key, name, *counts, spent.cost_usd))
    for message in messages:
        usage = message.metadata.usage
        assert usage is not None
        theirs = reported_cost(usage)
        if theirs is not None and usage.cost_usd is not None:
            for kind, cost in ((BILLED, usage.cost_usd), (REPORTED, theirs)):
                sums = bills.setdefault((kind, message.metadata.model), [0, 0, 0, 0, Decimal(0)])
                tokens = usage.prompt_tokens or 0, usage.output_tokens or 0
                more = [1, 0, *tokens]
                sums[:4] = map(int.__add__, sums[:4], more)
                sums[4] = total(sums[4], cost)
    return found | {CostRow(*place, *sums) for place, sums in bills.items()}


def assert_right(store: Store) -> None:
    whole = set(store.request_costs(COST_KINDS))
    assert whole == by_hand(store, None, None)
    day = datetime(2026, 11, 10, tzinfo=UTC)
    for since, until in (
        (day, None),
        (None, day),
        (day, day + timedelta(days=3)),
        (day + timedelta(hours=5), None),
        (day + timedelta(hours=5), day + timedelta(hours=9)),
        (day + timedelta(hours=5), day + timedelta(days=4, minutes=1)),
        (day, day + timedelta(hours=7)),
        (day + timedelta(hours=7), day + timedelta(days=1)),
    ):
        found = store.request_costs(COST_KINDS, since, until)
        assert set(found) == by_hand(store, since, until), (since, until)


def test_costs_are_those_of_the_rows(store: Store) -> None:
    rows = rows_of(300)
    store.append_requests(rows[:200])
    store.append_requests(rows[100:])  # some are there already
    assert_right(store)


def test_rows_without_costs_of_their_provider_are_summed_before_they_are_written(
    store: Store,
) -> None:
    rows = rows_of(300, 5, (None, {"odd": {"tier": "fast"}}))
    store.append_requests(rows[:200])
    store.append_requests([*rows[100:], *rows[250:]])
    assert_right(store)
    long = Decimal("0.1234567890123456789012345678")  # more digits than are stored
    dear, last = rows_of(2, 6)
    store.append_requests([msgspec.structs.replace(dear, usage=Usage(1, 2, cost_usd=long))])
    store.append_requests([msgspec.structs.replace(last, usage=None)])  # one row always stays
    while store.sweep(Before(requests=NOW + timedelta(days=1)), "shared").requests:
        pass
    assert store.request_costs(COST_KINDS) == []


def test_other_prices_change_what_was_spent(store: Store) -> None:
    rows = [row for row in rows_of(120) if row.usage is not None]
    store.append_requests(rows)
    chance = random.Random(2)
    new = [Decimal(chance.choice(COSTS)) for _ in rows]
    costs = [
        (row.id, row.usage.replace(cost_usd=n, unpriced=chance.choice((None, ("flex",)))))  # type: ignore[union-attr]  # chosen so
        for row, n in zip(rows, new, strict=True)
    ]
    store.save_costs(costs[::2])
    assert_right(store)


def test_what_is_swept_is_not_counted_any_more(store: Store) -> None:
    store.append_requests(rows_of(250))
    before = NOW - timedelta(days=8, hours=3)
    while store.sweep(Before(requests=before), "shared", 40).requests:
        assert_right(store)
    left = ask(store, "SELECT min(day) FROM request_costs")[0][0]
    assert left >= (before.timestamp() - 86_400) * 1_000_000
    assert len(list(store.all_requests())) > 50


def test_rows_of_an_older_version_are_counted_the_same(
    engine: str, new_address: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = new_address(engine)
    with open_store(address) as store:
        store.append_requests(rows_of(300))
        ask(store, "DELETE FROM request_costs RETURNING 1")
        fill = migrations.MIGRATIONS[engine, 21][1]
        ask(store, f"{fill} RETURNING 1")
        assert_right(store)


def test_a_copy_has_the_same_costs(engine: str, new_address: Callable[[str], str]) -> None:
    other = {"sqlite": "postgres", "postgres": "sqlite"}[engine]
    with open_store(new_address(engine)) as store, open_store(new_address(other)) as copy:
        store.append_requests(rows_of(100))
        backup.copy(store, copy)
        assert_right(copy)
        copy.append_requests(rows_of(50, seed=3))
        assert_right(copy)
