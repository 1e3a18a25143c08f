"""Price files of people, and tables that costs can be computed again with."""

from __future__ import annotations

import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import interlingua as il
from interlingua.costs import PriceTable, bundled, reprice
from interlingua.costs.table import table_of
from interlingua.errors import MissingExtraError, ReadError
from interlingua.store.base import Store
from interlingua.store.open import open_store

requirement = pytest.mark.requirement

FILE = """\
# What we pay.
pricing_version: "2026-05-08"
models:
  anthropic:claude-sonnet-4-6:
    input_per_mtok_usd: 3.00
    output_per_mtok_usd: 15.00   # list price
    cached_read_per_mtok_usd: 0.30
    cache_write_per_mtok_usd: 3.75

  openai:gpt-5:
    input_per_mtok_usd: 2.50
    output_per_mtok_usd: 10.00
  ollama:llama-3.3-70b:
    input_per_mtok_usd: 0.0
    output_per_mtok_usd: 0.0
    also: [llama3.3, 'llama-3.3']
"""
WORDS = "What is it?"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "s.db")


def file(folder: Path, text: str, name: str = "prices.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@requirement("S002-72", "S002-88")
@pytest.mark.parametrize("name", ["prices.yaml", "prices.yml"])
def test_a_price_file_may_be_yaml(tmp_path: Path, name: str) -> None:
    table = PriceTable.load(file(tmp_path, FILE, name))
    assert table.version == "2026-05-08"
    cost = table.cost("anthropic:claude-sonnet-4-6", input_tokens=8, output_tokens=42)
    assert cost.total == Decimal("0.000654")
    assert table["openai:gpt-5"].input == Decimal("2.50")
    assert table.cost("ollama:llama3.3", input_tokens=10**9, output_tokens=10**9).total == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n\tb: 2", 2),
        ("a: 1\n  b: 2", 2),
        ("a:\n    b: 1\n  c: 2", 3),
        ("a: 1\na: 2", 2),
        ("a: &anchor 1\nb: *anchor", 2),
        ("a: *anchor", 1),
        ("[a]: 1", 1),
        ('a: "open', 1),
        ("a: b: c", 1),
        ("a: 1\n---\nb\n", 2),
        ("a: @", 1),
    ],
)
def test_yaml_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int
) -> None:
    with pytest.raises(ReadError, match=f"line {line}:"):
        PriceTable.load(file(tmp_path, text))


@pytest.mark.parametrize("text", ["just text", "- 1", "", "a: " + "[" * 5000])
def test_yaml_that_is_no_price_table_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReadError, match=r"price table prices\.yaml"):
        PriceTable.load(file(tmp_path, text))


def test_values_are_read_as_they_are_written(tmp_path: Path) -> None:
    text = """\
pricing_version: 2026-05-08
sources: {"d e": "x # y", f: 'it''s', on: 1:30}
models:
  ? acme:m
  : input_per_mtok_usd: 3.00
    output_per_mtok_usd: 1.5e1
    cached_read_per_mtok_usd: ~
    cache_write_per_mtok_usd:
    valid_from: 2026-05-08
    also: []
    source: !!str on
    tiers:
      - above_prompt_tokens: 200000
        input_per_mtok_usd: 6.00
        output_per_mtok_usd: 22.5
"""
    table = PriceTable.load(file(tmp_path, text))
    assert table.version == "2026-05-08"
    assert table.sources == {"d e": "x # y", "f": "it's", "on": "1:30"}
    price = table["acme:m"]
    assert str(price.input) == "3.00"
    assert price.output == 15
    assert (price.cached_read, price.cache_write, price.also) == (None, None, ())
    assert price.valid_from == date(2026, 5, 8)
    assert price.source == "on"
    assert [(tier.above_prompt_tokens, str(tier.input)) for tier in price.tiers] == [
        (200_000, "6.00")
    ]


def test_yaml_without_its_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"interlingua\[yaml\]"):
        PriceTable.load(file(tmp_path, FILE))
    toml = 'pricing_version = "1"\n[models]\n'
    assert PriceTable.load(file(tmp_path, toml, "prices.toml")).version == "1"


def test_a_wrong_price_file_names_the_file_and_the_line(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"price table prices\.yaml.*line 2"):
        PriceTable.load(file(tmp_path, "models:\n\tx: 1"))


@requirement("S002-69", "S002-72")
@pytest.mark.parametrize("version", ["2026-05-08", None])
def test_every_model_that_is_named_as_an_example_has_a_price(version: str | None) -> None:
    table = bundled(version)
    for model in (
        "anthropic:claude-sonnet-4-6",
        "anthropic:claude-opus-4-7",
        "anthropic:claude-haiku-4-5",
        "openai:gpt-5",
        "openai:gpt-5-mini",
        "openrouter:deepseek/deepseek-v3",
    ):
        assert table[model].input > 0, model
    assert (table["ollama:llama-3.3-70b"].input, table["ollama:llama-3.3-70b"].output) == (0, 0)


def test_a_table_comes_back_from_plain_values_digit_for_digit() -> None:
    for version in ("2026-05-08", None):
        table = bundled(version)
        again = PriceTable.from_dict(table.to_dict())
        assert (again.version, again.models, again.sources) == (
            table.version,
            table.models,
            table.sources,
        )


def answered(store: Store, table: PriceTable) -> il.Session:
    """A session with one answer of 1,000 tokens each way."""
    session = il.Session.create(store, "/w", model="anthropic:claude-sonnet-4-6", prices=table)
    wire = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": "A test."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 1000},
    }
    session.begin(WORDS).call().complete(wire)
    return session


def mine(dollars: str, version: str = "mine") -> PriceTable:
    rates = {"input_per_mtok_usd": dollars, "output_per_mtok_usd": dollars}
    data = {"pricing_version": version, "models": {"anthropic:claude-sonnet-4-6": rates}}
    return bundled().overlay(PriceTable.from_dict(data))


@requirement("S002-42", "S002-73", "S002-74")
def test_the_version_of_every_cost_leads_to_the_prices_it_was_made_with(store: Store) -> None:
    session = answered(store, mine("100"))
    usage = session.messages()[-1].metadata.usage
    assert usage is not None
    assert usage.pricing_version == f"{bundled().version}+mine"
    assert usage.cost_usd == Decimal("0.2")
    table = table_of(usage.pricing_version, store)
    (again,) = reprice(session.messages(), table)
    assert (again.new, again.changed) == (usage.cost_usd, False)


def test_other_prices_under_the_same_version_get_one_of_their_own(store: Store) -> None:
    first, second = answered(store, mine("100")), answered(store, mine("200"))
    third = answered(store, mine("200"))
    versions = [s.messages()[-1].metadata.usage.pricing_version for s in (first, second, third)]  # type: ignore[union-attr]
    assert versions[0] == f"{bundled().version}+mine"
    assert versions[1] == versions[2] != versions[0]
    assert str(versions[1]).startswith(f"{versions[0]}.")
    assert store.price_versions() == versions[:2]
    for session, cost in ((first, "0.2"), (second, "0.4")):
        (again,) = reprice(
            session.messages(),
            table_of(str(session.messages()[-1].metadata.usage.pricing_version), store),  # type: ignore[union-attr]
        )
        assert again.new == Decimal(cost)


def test_tables_of_the_package_need_not_be_kept(store: Store) -> None:
    answered(store, bundled())
    answered(store, bundled("2026-05-08"))
    assert store.price_versions() == []


def test_a_session_that_is_opened_again_keeps_its_table_too(store: Store) -> None:
    session = answered(store, bundled())
    il.Session.open(store, session.id, prices=mine("7"))
    assert store.price_versions() == [f"{bundled().version}+mine"]
