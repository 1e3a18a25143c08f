"""Costs and repricing from the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from interlingua import config
from interlingua.cli.terminal import dollars
from interlingua.cli.times import Moment
from interlingua.model.codec import dumps
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.prices import bundled, priced
from interlingua.store.base import Store
from tests.cli.running import ok, process, run, told

SONNET = "anthropic:claude-sonnet-4-6"
STRANGE = "acme:large"
DAY = datetime(2026, 11, 10, 12, tzinfo=UTC)


def answer(
    model: str = SONNET,
    cost: str | None = None,
    at: datetime = DAY,
    user: str | None = None,
    team: str | None = None,
    tokens: tuple[int | None, int | None] = (8, 42),
) -> Message:
    usage = Usage(*tokens, cost_usd=None if cost is None else Decimal(cost))
    metadata = MessageMetadata(model=model, usage=usage, user_id=user, team_id=team)
    return Message.assistant("a", metadata).replace(created_at=at)


def add(store: Store, *messages: Message) -> str:
    session = store.create_session("/w").id
    store.append(session, [Message.user("q"), *messages])
    return session


# Cost


def test_costs_are_added_up_exactly_for_each_key(store: Store) -> None:
    first = add(
        store,
        answer(cost="0.1", user="ann", team="red"),
        answer(cost="0.2", user="bob", team="red"),
    )
    other = DAY + timedelta(days=1)
    second = add(store, answer(STRANGE, "1E-18", other, user="ann"))
    expected: dict[str, dict[str | None, str]] = {
        "session": {first: "0.3", second: "0.000000000000000001"},
        "model": {SONNET: "0.3", STRANGE: "0.000000000000000001"},
        "day": {"2026-11-10": "0.3", "2026-11-11": "0.000000000000000001"},
        "user": {"bob": "0.2", "ann": "0.100000000000000001"},
        "team": {"red": "0.3", None: "0.000000000000000001"},
    }
    for key, rows in expected.items():
        found = told("cost", "--by", key)
        assert {row[key]: exact(row["cost_usd"]) for row in found["rows"]} == {
            name: Decimal(text) for name, text in rows.items()
        }
        assert exact(found["total"]["cost_usd"]) == Decimal("0.300000000000000001")
        assert found["unknown"] == []


def exact(text: Any) -> Decimal:
    assert isinstance(text, str)
    return Decimal(text)


def test_days_are_in_order_and_the_rest_by_what_was_spent(store: Store) -> None:
    add(store, answer("a:cheap", "1", DAY), answer("b:dear", "5", DAY + timedelta(days=1)))
    assert [row["model"] for row in told("cost")["rows"]] == ["b:dear", "a:cheap"]
    days = [row["day"] for row in told("cost", "--by", "day")["rows"]]
    assert days == ["2026-11-10", "2026-11-11"]


@pytest.mark.requirement("S002-71")
def test_an_unknown_price_is_listed_and_never_zero(store: Store) -> None:
    add(store, answer(cost="0.5"), answer(), answer(STRANGE), answer(STRANGE))
    found = told("cost")
    by_model = {row["model"]: row for row in found["rows"]}
    assert by_model[STRANGE]["cost_usd"] is None
    assert (by_model[SONNET]["cost_usd"], by_model[SONNET]["unpriced"]) == ("0.5", 1)
    assert found["total"]["unpriced"] == 3
    assert found["unknown"] == [
        {"model": STRANGE, "messages": 2},
        {"model": SONNET, "messages": 1},
    ]
    lines = ok("cost").splitlines()
    assert lines[1].split()[-3:] == ["$0.50", "+", "?"]
    assert lines[2].split()[-1] == "?"
    assert "$0.00" not in ok("cost")
    assert "Not in these sums: 3 messages without a known cost" in lines
    assert f"    {STRANGE}: 2" in lines


def test_since_and_until_choose_days_and_times(store: Store) -> None:
    for day in range(1, 6):
        add(store, answer(cost="1", at=datetime(2026, 11, day, 23, 59, tzinfo=UTC)))

    def days(*options: str) -> list[str]:
        return [row["day"][-2:] for row in told("cost", "--by", "day", *options)["rows"]]

    assert days() == ["01", "02", "03", "04", "05"]
    assert days("--since", "2026-11-02", "--until", "2026-11-04") == ["02", "03", "04"]
    assert days("--until", "2026-11-04T23:59") == ["01", "02", "03"]
    assert days("--since", "2026-11-05T01:00+01:00") == ["05"]
    assert days("--since", "2030-01-01") == []
    assert "Nothing was spent" in run("cost", "--since", "2030-01-01").stderr
    for wrong in ("yesterday", "2026-13-01", "9999999d"):
        assert run("cost", "--since", wrong).exit_code == 2


def test_what_a_fork_copied_was_paid_for_once(store: Store) -> None:
    session = add(store, answer(cost="1"), answer(cost="2"))
    fork = store.fork(session).id
    store.append(fork, [answer(cost="4", at=datetime.now(UTC))])
    found = told("cost", "--by", "session")
    assert {row["session"]: row["cost_usd"] for row in found["rows"]} == {session: "3", fork: "4"}
    assert found["total"]["cost_usd"] == "7"
    store.delete_session(session)
    assert told("cost")["total"]["cost_usd"] == "7"
    assert told("reprice", "--dry-run")["total"]["messages"] == 3


@pytest.mark.parametrize(("text", "hours"), [("12h", 12), ("7d", 168), ("2w", 336)])
def test_a_time_may_be_counted_back_from_now(text: str, hours: int) -> None:
    moment = Moment().convert(text, None, None)
    assert abs(datetime.now(UTC) - timedelta(hours=hours) - moment) < timedelta(seconds=5)


@pytest.mark.parametrize(
    ("amount", "text"),
    [("0", "$0.00"), ("5E-7", "$0.0000005"), ("-1.5", "-$1.50"), ("1E+3", "$1000.00")],
)
def test_money_is_written_with_every_digit(amount: str, text: str) -> None:
    assert dollars(Decimal(amount)) == text


# Reprice


@pytest.mark.requirement("S002-74", "S002-73")
def test_a_dry_run_tells_what_would_change_and_writes_nothing(store: Store) -> None:
    session = add(store, answer(), answer(cost="0.001"), answer(STRANGE))
    before = [dumps(message) for message in store.messages(session)]
    found = told("reprice", "--dry-run")
    [change] = found["changed"]
    assert change == {
        "model": SONNET,
        "messages": 2,
        "old_usd": "0.001",
        "new_usd": "0.000654",
        "difference_usd": "-0.000346",
        "first_priced": 1,
        "first_priced_usd": "0.000654",
    }
    [problem] = found["problems"]
    assert problem["messages"] == 1
    assert STRANGE in problem["problem"]
    assert [dumps(message) for message in store.messages(session)] == before


@pytest.mark.requirement("S002-74", "S002-88")
def test_repricing_writes_the_cost_and_the_version(store: Store) -> None:
    session = add(store, answer(), answer(STRANGE, cost="9"))
    result = run("reprice", "--version", "2026-05-08")
    assert result.exit_code == 0
    assert "1 message changed" in result.stderr
    _, cheap, strange = store.messages(session)
    assert cheap.metadata.usage is not None
    assert cheap.metadata.usage.cost_usd == Decimal("0.000654")
    assert cheap.metadata.usage.pricing_version == "2026-05-08"
    assert strange.metadata.usage is not None
    assert strange.metadata.usage.cost_usd == Decimal(9)
    assert told("reprice", "--version", "2026-05-08")["total"]["messages"] == 0


def test_repricing_changes_nothing_but_the_cost(store: Store) -> None:
    session = add(store, answer(user="ann"))
    before, changed = store.messages(session)[1], store.session(session).updated_at
    ok("reprice")
    after = store.messages(session)[1]
    usage = before.metadata.usage
    assert usage is not None
    expected = before.metadata.replace(usage=priced(usage, SONNET, bundled(), DAY))
    assert dumps(after) == dumps(before.replace(metadata=expected))
    assert store.session(session).updated_at == changed


def test_many_messages_are_repriced_in_batches(store: Store) -> None:
    session = add(store, *[answer() for _ in range(1203)])
    add(store, answer())
    assert told("reprice")["total"]["messages"] == 1204
    assert exact(told("cost")["total"]["cost_usd"]) == Decimal("0.000654") * 1204
    assert store.session(session).message_count == 1204


def test_history_is_repriced_by_a_table_that_was_used_before(store: Store, tmp_path: Path) -> None:
    add(store, answer(STRANGE))
    file = tmp_path / "prices.yaml"
    rates = "    input_per_mtok_usd: 1\n    output_per_mtok_usd: 2\n"
    file.write_text(f"pricing_version: mine\nmodels:\n  {STRANGE}:\n{rates}")
    ok("reprice", "--prices", file)
    version = f"{bundled().version}+mine"
    file.unlink()
    assert store.price_versions() == [version]
    assert told("reprice", "--version", version)["pricing_version"] == version
    wrong = run("reprice", "--version", "never")
    assert wrong.exit_code == 2
    assert version in wrong.stderr


def test_prices_of_ones_own(store: Store, tmp_path: Path) -> None:
    add(store, answer(STRANGE))
    data = {
        "pricing_version": "mine",
        "models": {STRANGE: {"input_per_mtok_usd": 1, "output_per_mtok_usd": 2}},
    }
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(data))
    found = told("reprice", "--prices", file, "--dry-run")
    assert found["pricing_version"] == f"{bundled().version}+mine"
    assert found["total"]["first_priced_usd"] == "0.000092"
    path = config.prices_path()
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        'pricing_version = "own"\n[models."acme:large"]\n'
        "input_per_mtok_usd = 2\noutput_per_mtok_usd = 4\n"
    )
    ok("reprice")
    assert told("cost")["total"]["cost_usd"] == "0.000184"
    names = [model["id"] for model in told("models", "--provider", "acme")["models"]]
    assert names == [STRANGE]


def test_wrong_tables_are_told(store: Store, tmp_path: Path) -> None:
    add(store, answer())
    bad = tmp_path / "prices.toml"
    bad.write_text("pricing_version = 3")
    result = run("reprice", "--version", "1999-01-01")
    assert result.exit_code == 2
    assert "2026-05-08" in result.stderr
    assert run("reprice", "--version", "2026-05-08", "--prices", bad).exit_code == 2
    result = run("reprice", "--prices", bad)
    assert result.exit_code == 1
    assert "prices.toml" in result.stderr


def test_the_real_commands_tell_costs(store: Store) -> None:
    add(store, answer())
    assert process("reprice").returncode == 0
    done = process("cost", "--json")
    assert json.loads(done.stdout)["total"]["cost_usd"] == "0.000654"
