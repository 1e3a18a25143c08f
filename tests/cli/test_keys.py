"""Keys, users and teams from the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from interlingua.gateway.keys.keys import hash_of
from interlingua.gateway.shared.principal import DOLLAR
from interlingua.store.base import Store
from interlingua.store.cap_rules import Limit, Reserve, Settle, day_of
from tests.cli.running import ok, run, told


def test_a_key_is_issued_and_its_token_alone_goes_to_standard_output(store: Store) -> None:
    result = run("keys", "issue", "laptop", "--workspace", "/w")
    token = result.stdout.strip()
    assert re.fullmatch(r"gw_[A-Za-z0-9_-]{43}", token)
    assert "cannot be shown again" in result.stderr
    (key,) = store.keys()
    assert key.secret_hash == hash_of(token)
    assert (key.name, key.workspace_path) == ("laptop", "/w")
    assert token not in ok("keys", "list")
    (event,) = store.events("system", types=["gateway.key_issued"])
    assert event.payload["gateway_key_id"] == key.id
    assert token not in str(event)


def test_every_term_can_be_said(store: Store) -> None:
    team = ok("teams", "add", "Engines", "--monthly", "100").strip()
    user = ok("users", "add", "Ada", "--email", "ada@example.org").strip()
    arguments = "--daily 1.50 --monthly 20 --requests-per-minute 60 --tokens-per-minute 1000"
    arguments += " --concurrent 4 --refuse-losses --keep-content --allow-unpriced --allow-unbounded"
    arguments += " --weekly 9 --default-max-tokens 500 --max-max-tokens 4000 --log-content 7"
    arguments += " --read-metrics --fetch-media --expires 90d"
    arguments += " --model openai:gpt-5 --model anthropic:claude-opus-5-5"
    told("keys", "issue", "k", "--user", "Ada", "--team", "Engines", *arguments.split())
    (key,) = store.keys()
    assert (key.user_id, key.team_id) == (user, team)
    assert (key.daily_cap_usd, key.monthly_cap_usd) == (Decimal("1.50"), Decimal(20))
    assert (key.requests_per_minute, key.tokens_per_minute, key.concurrent) == (60, 1000, 4)
    assert key.refuse_losses
    assert key.keep_content
    assert key.allow_unpriced
    assert key.allow_unbounded
    assert key.read_metrics
    assert key.fetch_media is True
    assert key.allowed_models == ("openai:gpt-5", "anthropic:claude-opus-5-5")
    assert key.expires_at is not None
    assert abs(key.expires_at - datetime.now(UTC) - timedelta(days=90)) < timedelta(minutes=5)
    assert key.team_caps == (None, Decimal(100), None)
    assert key.weekly_cap_usd == 9
    assert key.log_content_days == 7
    assert (key.default_max_tokens, key.max_max_tokens) == (500, 4000)


def test_terms_are_changed_and_taken_away(store: Store) -> None:
    ok("keys", "issue", "k", "--daily", "5", "--keep-content", "--expires", "1h")
    (key,) = store.keys()
    assert key.fetch_media is None
    ok("keys", "change", "k", "--daily", "none", "--concurrent", "2", "--no-content", "--no-fetch")
    (key,) = store.keys()
    assert key.fetch_media is False
    assert key.daily_cap_usd is None
    assert key.concurrent == 2
    assert not key.keep_content
    assert key.expires_at is not None
    ok("keys", "change", key.id[:20], "--expires", "none")
    assert store.keys()[0].expires_at is None


def test_a_key_is_rotated_and_revoked(store: Store) -> None:
    first = told("keys", "issue", "k")
    second = told("keys", "rotate", "k", "--grace", "1h")
    assert second["token"] != first["token"]
    old, new = store.keys()
    assert old.status == "revoked"
    assert old.grace_period_until is not None
    assert new.account_id == old.id
    assert "until" in ok("keys", "list").splitlines()[1]
    assert told("keys", "revoke", "k") == {"revoked": [new.id]}  # the name is the new one's
    ok("keys", "revoke", old.id)
    rows = store.keys()
    assert {row.grace_period_until for row in rows} == {None}
    types = [event.type for event in store.events("system")]
    assert types.count("gateway.key_rotated") == 1
    assert types.count("gateway.key_revoked") == 2


def test_no_list_has_the_whole_hash(store: Store) -> None:
    ok("keys", "issue", "k")
    (key,) = store.keys()
    (row,) = told("keys", "list")
    assert row["secret_hash"] == key.secret_hash[:8]
    assert row["id"] == key.id
    assert row["status"] == "active"
    assert (row["day_usd"], row["month_usd"]) == (None, None), "nothing is counted without a cap"
    ok("keys", "change", "k", "--daily", "1")
    (row,) = told("keys", "list")
    assert (row["day_usd"], row["day_unpriced"]) == ("0", 0)


def test_a_cost_that_is_not_known_does_not_look_like_none(store: Store) -> None:
    ok("keys", "issue", "k", "--daily", "5", "--allow-unpriced")
    (key,) = store.keys()
    today = day_of(datetime.now(UTC))
    limits = (Limit("key", key.id, 5 * DOLLAR, None),)
    for number, cost in enumerate((0, DOLLAR)):
        id = f"req_{number}"
        reserve = Reserve(id, key.id, 0, today, limits, DOLLAR)
        store.settle_and_reserve("here", [reserve])
        store.settle_and_reserve("here", (), [Settle(id, cost, 10, limits, unpriced=1)])
        (row,) = told("keys", "list")
        assert (row["day_usd"], row["month_unpriced"]) == ((None, 1), ("1", 2))[number]
        assert ("? of $5.00", "$1.00 + ? of $5.00")[number] in ok("keys", "list")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["keys", "issue", "k", "--daily", "much"], 2, "an amount like 12.50"),
        (["keys", "issue", "k", "--concurrent", "0"], 2, "at least 1"),
        (["keys", "issue", "k", "--expires", "soon"], 2, "30m"),
        (["keys", "issue", "k", "--daily", "-3"], 1, "between 0 and"),
        (["keys", "issue", "k", "--user", "nobody"], 1, "no user 'nobody'"),
        (["keys", "revoke", "gk_x"], 1, "no key 'gk_x'"),
        (["keys", "issue", "k", "--model", "nonsense"], 1, "nonsense"),
    ],
)
def test_a_problem_is_reported_in_one_line(
    arguments: list[str], code: int, words: str, store: Store
) -> None:
    result = run(*arguments)
    assert result.exit_code == code
    assert words in result.stderr
    assert store.keys() == []


def test_without_keys_the_list_says_what_that_means(store: Store) -> None:
    assert "anyone can use the gateway" in run("keys", "list").stderr


def test_a_key_may_be_for_a_route_of_the_gateway(home: Path, store: Store, tmp_path: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "gateway.toml").write_text('[routes.fast]\nmodel = "openai:gpt-5"\n')
    ok("keys", "issue", "a", "--model", "fast", "--model", "sonnet")
    assert store.keys()[0].allowed_models is not None
    assert store.keys()[0].allowed_models[0] == "route:fast"
    other = tmp_path / "other.toml"
    other.write_text('[routes.slow]\nmodel = "openai:gpt-5"\n')
    ok("keys", "change", "a", "--model", "slow", "--config", other)
    assert store.keys()[0].allowed_models == ("route:slow",)
    ok("keys", "change", "a", "--model", "route:later")
    assert store.keys()[0].allowed_models == ("route:later",)


def test_the_folder_of_a_key_is_told_where_nobody_named_it(store: Store) -> None:
    content = run("keys", "issue", "k").stderr
    assert f"belong in {store.keys()[0].workspace_path}" in content
    assert "--workspace" in content
    assert "belong in" not in run("keys", "issue", "l", "--workspace", "/w").stderr
