"""`interlingua budgets`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

from interlingua.gateway.shared.principal import DOLLAR, budget_limit
from interlingua.store.base import Store
from interlingua.store.cap_rules import Reserve, Settle, day_of
from tests.cli.running import ok, run, told


def test_budgets_are_added_listed_and_removed(store: Store) -> None:
    ok("teams", "add", "Engines")
    one = ok("budgets", "add", "--model", "gpt-5", "--weekly", "30", "--team", "Engines").strip()
    other = ok("budgets", "add", "--end-user", "*", "--daily", "1").strip()
    rows = {row.id: row for row in store.budgets()}
    (team,) = store.teams()
    assert rows[one].value == "openai:gpt-5"
    assert rows[one].owner_id == team.id
    assert rows[other].daily_cap_usd == Decimal(1)
    listed = json.loads(ok("budgets", "list", "--json"))
    assert [row["id"] for row in listed] == [one, other]
    shown = ok("budgets", "list")
    assert "Engines" in shown
    assert "each end user *" in shown
    ok("budgets", "remove", one)
    assert [row.id for row in store.budgets()] == [other]


def test_a_budget_for_each_value_shows_the_highest_and_all_together(store: Store) -> None:
    ok("budgets", "add", "--end-user", "*", "--daily", "1")
    (row,) = store.budgets()
    assert "$0.00 of $1.00" in ok("budgets", "list")
    today = day_of(datetime.now(UTC))
    for user, cost in {"ann": DOLLAR // 2, "bob": DOLLAR // 4}.items():
        limit = budget_limit(row, user)
        assert limit is not None
        store.settle_and_reserve("here", [Reserve(user, "gk", 0, today, (limit,), DOLLAR)])
        store.settle_and_reserve("here", (), [Settle(user, cost, 10, (limit,))])
    shown = ok("budgets", "list")
    assert "each end user * (2)" in shown
    assert "up to $0.50 of $1.00" in shown
    (listed,) = told("budgets", "list")
    assert (listed["day_usd"], listed["day_highest_usd"]) == ("0.75", "0.5")
    assert listed["day_values"] == 2


def test_a_budget_says_what_it_is_for_and_how_much(store: Store) -> None:
    assert "--model, --tag or --end-user" in run("budgets", "add", "--daily", "1").stderr
    assert "needs a cap" in run("budgets", "add", "--tag", "a=b").stderr
    both = run("budgets", "add", "--tag", "a=b", "--model", "gpt-5", "--daily", "1")
    assert both.exit_code == 2
