"""Costs and repricing from the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from interlingua.cli.terminal import dollars, spent
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
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


def test_what_a_cost_lacks_is_named_with_the_sum(store: Store) -> None:
    made = answer(cost="0.5")
    usage = (made.metadata.usage or Usage()).replace(tool_uses={"code_execution": 1})
    add(store, made.replace(metadata=made.metadata.replace(usage=usage)))
    found = told("cost")
    assert (found["total"]["cost_usd"], found["total"]["unpriced"]) == ("0.5", 1)
    assert found["unknown"] == [{"model": f"{SONNET}, code_execution", "messages": 1}]
    assert ok("cost").splitlines()[1].split()[-3:] == ["$0.50", "+", "?"]


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


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "$0.00"),
        ("5E-7", "<$0.000001"),
        ("-1.5", "-$1.50"),
        ("1E+3", "$1,000.00"),
        ("0.2257062000000000031", "$0.225706"),
        ("0.0006", "$0.0006"),
    ],
)
def test_money_is_written_as_people_do(amount: str, text: str) -> None:
    assert dollars(Decimal(amount)) == text


def test_a_sum_that_lacks_a_cost_says_so() -> None:
    assert spent(Decimal("0.5"), lacks=0) == "$0.50"
    assert spent(Decimal("0.5"), ("code_execution",)) == "$0.50 + ?"
    assert spent(None, lacks=True) == spent(None, lacks=False) == "?"


# Reprice


def test_the_real_commands_tell_costs(store: Store) -> None:
    add(store, answer())
    assert process("reprice").returncode == 0
    done = process("cost", "--json")
    assert json.loads(done.stdout)["total"]["cost_usd"] == "0.000654"


def test_a_cost_that_the_provider_reports_is_shown_if_it_differs(store: Store) -> None:
    def reported(cost: float) -> Message:
        made = answer(cost="1")
        usage = (made.metadata.usage or Usage()).replace(raw={"openrouter": {"cost": cost}})
        return made.replace(metadata=made.metadata.replace(usage=usage))

    add(store, reported(1.01))
    assert told("cost")["reported"] == []
    add(store, reported(1.2))
    assert told("cost")["reported"] == [{"model": SONNET, "cost_usd": "2", "reported_usd": "2.21"}]
    assert f"{SONNET}: the provider reports $2.21, the price table says $2.00" in ok("cost")
