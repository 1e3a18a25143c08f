"""`interlingua users` and `interlingua teams`."""

from __future__ import annotations

from interlingua.store.base import Store
from tests.cli.running import ok, run, told


def test_users_and_teams_are_disabled_and_enabled(store: Store) -> None:
    for what in ("users", "teams"):
        id = ok(what, "add", "Ada").strip()
        ok(what, "disable", "Ada")
        (row,) = told(what, "list")
        assert (row["id"], row["status"]) == (id, "disabled")
        ok(what, "enable", id)
        ok(what, "change", id, "--name", "Bob", "--daily", "3")
        (row,) = told(what, "list")
        assert (row["name"], row["status"], row["daily_cap_usd"]) == ("Bob", "active", "3")
        assert "$0.00 of $3.00" in ok(what, "list")


def test_several_that_fit_are_named(store: Store) -> None:
    ok("keys", "issue", "same")
    ok("keys", "issue", "same")
    result = run("keys", "revoke", "same")
    assert result.exit_code == 1
    rows = store.keys()
    assert all(row.id in result.stderr for row in rows)
