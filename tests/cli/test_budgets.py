"""`interlingua budgets`."""

from __future__ import annotations

import json
from decimal import Decimal

from interlingua.store.base import Store
from tests.cli.running import ok, run


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


def test_a_budget_says_what_it_is_for_and_how_much(store: Store) -> None:
    assert "--model, --tag or --end-user" in run("budgets", "add", "--daily", "1").stderr
    assert "needs a cap" in run("budgets", "add", "--tag", "a=b").stderr
    both = run("budgets", "add", "--tag", "a=b", "--model", "gpt-5", "--daily", "1")
    assert both.exit_code == 2
