"""`interlingua reprice`: what changes, what is written, and by which table."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from interlingua import config
from interlingua.costs import bundled, priced
from interlingua.model.codec import dumps
from interlingua.store.base import Store
from tests.cli.running import ok, run, told
from tests.cli.test_cost import DAY, SONNET, STRANGE, add, answer, exact


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


def test_wrong_tables_are_reported(store: Store, tmp_path: Path) -> None:
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
