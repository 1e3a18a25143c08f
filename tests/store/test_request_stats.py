"""Counts of requests: as they are written, as they are priced again, and from what was there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from interlingua.model.ids import Ulids
from interlingua.model.message import micros
from interlingua.model.metadata import Usage
from interlingua.store import migrations
from interlingua.store.base import Store
from interlingua.store.request_stats import (
    BOUNDS,
    COUNTS,
    DAY,
    TOTAL,
    StatsRow,
    dollars,
    percentile,
    typical,
)
from interlingua.store.requests import RequestRow
from interlingua.store.sessions import Before
from tests.store.places import ask

NOW = datetime(2026, 11, 18, 15, 30, tzinfo=UTC)
IDS = Ulids()


def row(hours: float = 0, **fields: object) -> RequestRow:
    usage = Usage(100, 20, 300, cost_usd=Decimal("0.0012"))
    known = {"model": "openai:gpt-5", "asked": "fast", "usage": usage, **fields}
    return RequestRow(
        f"req_{IDS.new()}", NOW - timedelta(hours=hours), "anthropic", 200, 900, **known
    )  # type: ignore[arg-type]  # fields of many types


def total(store: Store, name: str, kind: str = TOTAL, tenant: str | None = None) -> int:
    rows = store.request_stats(tenant, micros(NOW))
    counted = [each for each in rows if each.kind == kind and each.window]
    return sum(each.counts[COUNTS.index(name)] for each in counted)


def test_each_request_counts_once_under_all_that_it_is_of(store: Store) -> None:
    own = row(tenant="usr_1", key_id="key_1", team_id="team_1", losses=2)
    failed = row(25, error="server_error", attempts=2, tenant="usr_2", usage=None)
    unknown = row(24 * 40, model=None, asked="never heard of it", error="not_found", usage=None)
    store.append_requests([own, failed, unknown])
    store.append_requests([own, failed])  # again: they are there already
    assert total(store, "requests") == 2
    assert (total(store, "failed"), total(store, "fallbacks")) == (1, 1)
    assert (total(store, "losses"), total(store, "lossy")) == (2, 1)
    assert dollars(total(store, "cost")) == Decimal("0.0012")
    for kind in ("model", "route", "key", "team"):
        assert total(store, "requests", kind, "usr_1") == 1, kind
    assert total(store, "requests", TOTAL, "usr_2") == 1
    assert total(store, "requests", "key") == 1
    windows = {each.window for each in store.request_stats(None, micros(NOW)) if each.kind == TOTAL}
    assert windows == {0, 1, 7}


def test_periods_are_hours_of_today_or_days(store: Store) -> None:
    store.append_requests([row(), row(0.4), row(1), row(30)])

    def periods(days: int) -> list[int]:
        rows: list[StatsRow] = store.request_stats(None, micros(NOW), days)
        return sorted(each.counts[0] for each in rows if not each.window and each.kind == TOTAL)

    assert periods(1) == [1, 2]
    assert periods(7) == [1, 3]


def test_names_have_their_days(store: Store) -> None:
    store.append_requests([row(), row(), row(48), row(720)])
    rows = store.request_stats(None, micros(NOW), 7)
    days = {each.period: each for each in rows if each.kind == "model" and not each.window}
    today = micros(NOW) - micros(NOW) % DAY
    assert {period: each.counts[0] for period, each in days.items()} == {
        today: 2,
        today - 2 * DAY: 1,
    }
    found = typical(days[today].bucket, 2)
    assert found is not None
    assert abs(found - row().duration_ms) <= row().duration_ms * 0.5
    assert typical(0, 0) is None


def test_other_prices_change_what_was_spent(store: Store) -> None:
    there, unpriced = row(), row(usage=Usage(5, 5))
    store.append_requests([there, unpriced])
    assert (total(store, "unpriced"), dollars(total(store, "cost"))) == (1, Decimal("0.0012"))
    new = Usage(5, 5, cost_usd=Decimal("0.5"))
    store.save_costs([(there.id, new), (unpriced.id, new)])
    assert (total(store, "unpriced"), dollars(total(store, "cost", "model"))) == (0, Decimal(1))


def test_what_was_written_before_is_counted_the_same(store: Store) -> None:
    names = {"tenant": "usr_1", "key_id": "key_1", "team_id": "team_1"}
    long = [row(n, attempts=n, losses=n, **names if n % 2 else {}, usage=None) for n in range(3)]
    times = [
        RequestRow(f"req_{IDS.new()}", NOW, "x", 200, bound + off, model=None, asked="x")
        for bound in BOUNDS
        for off in (-1, 0)
    ]
    store.append_requests([row(), row(error="x", usage=Usage(1)), *long, *times])
    counted = "SELECT * FROM request_stats ORDER BY tenant, kind, period, name, bucket"
    before = [tuple(each) for each in ask(store, counted)]
    ask(store, "DELETE FROM request_stats RETURNING 1")
    engine = "postgres" if store.where.startswith("postgresql") else "sqlite"
    for statement in migrations.MIGRATIONS[engine, 15][1:]:
        ask(store, f"{statement} RETURNING 1")
    assert [tuple(each) for each in ask(store, counted)] == before
    assert len(before) >= 50


def test_what_is_swept_is_not_counted_for_ever(store: Store) -> None:
    store.append_requests([row(24 * 40), row(24 * 39), row()])
    store.sweep(Before(requests=NOW - timedelta(days=10)), "shared")
    ((oldest,),) = ask(store, "SELECT min(period) FROM request_stats")
    assert oldest >= micros(NOW) - 11 * DAY


@pytest.mark.parametrize(
    ("times", "share", "expected"),
    [({}, 0.5, None), ({0: 4}, 0.5, 1), ({10: 1, 20: 99}, 0.5, 1745), ({38: 2}, 1.0, 1482910)],
)
def test_a_percentile_is_found_within_its_bucket(
    times: dict[int, int], share: float, expected: int | None
) -> None:
    assert percentile(times, share) == expected
