"""From tokens to money: exact, by category, never a guess."""

from __future__ import annotations

import difflib
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.costs import (
    PriceTable,
    UnknownCostError,
    UnknownModelError,
    bundled,
    price,
    priced,
)
from interlingua.costs.cost import Costs, cost_of

SONNET = "anthropic:claude-sonnet-4-6"
counts = st.integers(0, 10**9)
rates = st.decimals(0, 1000, places=6)


def table(**entry: object) -> PriceTable:
    base = {"input_per_mtok_usd": 1, "output_per_mtok_usd": 10}
    return PriceTable.from_dict({"pricing_version": "t", "models": {"a:b": base | entry}})


@pytest.mark.requirement("S002-88", "S002-71", "S002-73")
def test_the_worked_example_costs_what_it_says_to_the_last_digit() -> None:
    usage = priced(il.Usage(8, 42, latency_ms=820), SONNET, bundled("2026-05-08"))
    assert usage.cost_usd == Decimal("0.000654")
    assert str(usage.cost_usd) == "0.000654"
    assert usage.pricing_version == "2026-05-08"
    assert usage.latency_ms == 820


@pytest.mark.requirement("S002-88")
def test_the_worked_example_costs_the_same_by_every_table_in_the_package() -> None:
    from interlingua.costs import versions

    totals = {bundled(v).cost(SONNET, input_tokens=8, output_tokens=42).total for v in versions()}
    assert totals == {Decimal("0.000654")}


@pytest.mark.requirement("S003-18")
def test_each_category_has_its_own_price() -> None:
    cost = bundled().cost(
        SONNET,
        input_tokens=1_000_000,
        output_tokens=2_000_000,
        cached_input_tokens=10_000_000,
        cache_creation_input_tokens=4_000_000,
    )
    assert (cost.input, cost.output, cost.cached_input, cost.cache_creation) == (3, 30, 3, 15)
    assert cost.total == 51
    assert (cost.model, cost.pricing_version) == (SONNET, bundled().version)


@pytest.mark.requirement("P36")
def test_writing_to_the_cache_is_billed_once_and_for_an_hour_at_its_own_price() -> None:
    usage = il.Usage(0, 0, cache_creation_input_tokens=1_000_000)
    assert price(usage, SONNET).cache_creation == Decimal("3.75")
    assert price(usage, SONNET, cache_write_1h_tokens=1_000_000).cache_creation == 6
    half = price(usage, SONNET, cache_write_1h_tokens=500_000)
    assert half == il.CostBreakdown(cache_creation=Decimal("4.875"))
    with pytest.raises(ValueError, match="only 1000000 written"):
        price(usage, SONNET, cache_write_1h_tokens=1_000_001)


@pytest.mark.requirement("P37")
def test_thinking_is_a_part_of_output_and_not_billed_again() -> None:
    with_thinking = il.Usage(10, 500, reasoning_tokens=400)
    assert price(with_thinking, SONNET) == price(il.Usage(10, 500), SONNET)


def test_cached_tokens_without_a_price_of_their_own_cost_as_much_as_fresh_ones() -> None:
    usage = il.Usage(0, 0, cached_input_tokens=1_000_000, cache_creation_input_tokens=2_000_000)
    assert price(usage, "a:b", table()).total == 3


@given(counts, counts, counts, counts, rates, rates, rates, rates)
def test_costs_are_exact_whatever_the_numbers_and_the_decimal_context(
    fresh: int, cached: int, written: int, out: int, a: Decimal, b: Decimal, c: Decimal, d: Decimal
) -> None:
    prices = table(
        input_per_mtok_usd=a,
        output_per_mtok_usd=b,
        cached_read_per_mtok_usd=c,
        cache_write_per_mtok_usd=d,
    )
    with localcontext(prec=3):
        usage = priced(il.Usage(fresh, out, cached, written), "a:b", prices)
    assert usage.cost_usd is not None
    assert usage.cost_breakdown is not None
    exact = fresh * Fraction(a) + out * Fraction(b) + cached * Fraction(c) + written * Fraction(d)
    assert Fraction(usage.cost_usd) == exact / 1_000_000
    parts = usage.cost_breakdown
    assert sum(map(Fraction, (parts.input, parts.output, parts.cached_input))) + Fraction(
        parts.cache_creation
    ) == Fraction(usage.cost_usd)


@given(counts)
def test_equal_amounts_are_spelled_alike(count: int) -> None:
    spelled = {
        str(table(input_per_mtok_usd=rate).cost("a:b", input_tokens=count, output_tokens=0).total)
        for rate in ("2", "2.0", "2.000", 2.0)
    }
    assert len(spelled) == 1
    assert "E" not in spelled.pop()


@pytest.mark.requirement("S002-71")
def test_what_a_provider_says_it_cost_is_not_taken_over() -> None:
    result = il.Usage(8, 42, raw={"openrouter": {"cost": 123}})
    assert priced(result, SONNET).cost_usd == Decimal("0.000654")


def test_an_unknown_model_is_an_error_that_names_near_ones_and_never_free() -> None:
    with pytest.raises(UnknownModelError, match="near: anthropic:claude-sonnet-4-6") as failed:
        priced(il.Usage(8, 42), "anthropic:claude-sonet-4-6")
    assert failed.value.near[0] == SONNET
    assert isinstance(failed.value, il.InterlinguaError)


def test_what_looks_like_an_unknown_model_is_looked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every answer of a model without a price asks for it."""
    search = Mock(wraps=difflib.get_close_matches)
    monkeypatch.setattr(difflib, "get_close_matches", search)
    for _ in range(3):
        with pytest.raises(UnknownModelError, match="near: anthropic:claude-sonnet-4-6"):
            priced(il.Usage(8, 42), "anthropic:claude-sonnett-4-6")
    assert search.call_count == 1


@pytest.mark.parametrize("usage", [il.Usage(None, 42), il.Usage(8, None), il.Usage()])
def test_without_a_count_that_costs_something_there_is_no_cost(usage: il.Usage) -> None:
    with pytest.raises(UnknownCostError, match="is unknown"):
        price(usage, SONNET)
    unpriced = priced(usage, SONNET)
    assert unpriced.cost_usd is unpriced.pricing_version is None


def test_missing_cache_counts_add_nothing_and_what_is_free_needs_no_count() -> None:
    assert price(il.Usage(8, 42), SONNET) == price(il.Usage(8, 42, 0, 0), SONNET)
    assert price(il.Usage(), "local:smollm2-135m-instruct").total == 0


@pytest.mark.requirement("S002-72")
def test_models_on_your_own_machine_have_a_price_of_zero() -> None:
    for model in ("local:smollm2-135m-instruct", "ollama:llama3.2", "ollama:qwen3:8b"):
        assert bundled().cost(model, input_tokens=10**6, output_tokens=10**6).total == 0
    with pytest.raises(UnknownModelError):
        bundled().find("ollama:gpt-oss:120b-cloud")


def test_a_large_prompt_is_billed_at_the_larger_tier_as_a_whole() -> None:
    prices = table(
        tiers=[
            {"above_prompt_tokens": 200, "input_per_mtok_usd": 2, "output_per_mtok_usd": 20},
            {"above_prompt_tokens": 400, "input_per_mtok_usd": 4, "output_per_mtok_usd": 40},
        ]
    )

    def total(fresh: int, cached: int = 0) -> Decimal:
        return price(il.Usage(fresh, 10, cached), "a:b", prices).total * 1_000_000

    assert total(200) == 200 * 1 + 10 * 10
    assert total(201) == 201 * 2 + 10 * 20
    assert total(100, cached=150) == 250 * 2 + 10 * 20
    assert total(401) == 401 * 4 + 10 * 40


def test_prices_by_the_hour_need_the_time_of_the_call() -> None:
    night = {"from_utc": "22:00:00", "until_utc": "04:00:00"}
    prices = table(hours=[{**night, "input_per_mtok_usd": 5, "output_per_mtok_usd": 5}])
    usage = il.Usage(1_000_000, 0)
    for hour, expected in ((21, 1), (22, 5), (0, 5), (3, 5), (4, 1)):
        at = datetime(2026, 5, 8, hour, tzinfo=UTC)
        assert price(usage, "a:b", prices, at).total == expected
    for at in (None, date(2026, 5, 8)):
        with pytest.raises(UnknownCostError, match="depends on the time of day"):
            price(usage, "a:b", prices, at)


def test_the_day_of_the_call_chooses_the_price() -> None:
    prices = table(
        valid_from="2026-01-01",
        valid_until="2027-01-01",
        other_periods=[
            {
                "valid_from": "2025-06-01",
                "valid_until": "2026-01-01",
                "input_per_mtok_usd": 7,
                "output_per_mtok_usd": 7,
            }
        ],
    )
    usage = il.Usage(1_000_000, 0)
    assert price(usage, "a:b", prices).total == 1
    assert price(usage, "a:b", prices, date(2025, 12, 31)).total == 7
    assert price(usage, "a:b", prices, datetime(2026, 1, 1, tzinfo=UTC)).total == 1
    for day in (date(2025, 5, 31), date(2027, 1, 1)):
        with pytest.raises(UnknownCostError, match="has no price for"):
            price(usage, "a:b", prices, day)


def test_counts_that_are_no_counts_are_refused() -> None:
    for wrong in (-1, 10**18):
        with pytest.raises(ValueError, match="not a valid token count"):
            price(il.Usage(wrong, 1), SONNET)
    with pytest.raises(ValueError, match="time zone"):
        price(il.Usage(1, 1), SONNET, at=datetime(2026, 5, 8))


ROUND = {
    "input_tokens": 1_000_000,
    "output_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}


def with_rounds(*rounds: object) -> il.Usage:
    return il.Usage(1_000_000, 0, raw={"anthropic": {"iterations": list(rounds)}})


def test_rounds_that_the_counts_leave_out_are_paid_for_at_the_rates_of_their_model() -> None:
    rates = {"a:b": {"input_per_mtok_usd": 1, "output_per_mtok_usd": 1}}
    rates["a:wise"] = {"input_per_mtok_usd": 5, "output_per_mtok_usd": 5}
    prices = PriceTable.from_dict({"pricing_version": "t", "models": rates})
    advice = {**ROUND, "type": "advisor_message", "model": "wise"}
    usage = with_rounds({**ROUND, "type": "message"}, {**ROUND, "type": "compaction"}, advice)
    cost = cost_of(usage, "a:b", prices)
    assert (cost.total, cost.unpriced) == (Decimal(7), ())
    many = Costs(prices)
    many.add(usage, "a:b")
    assert many.total == 7
    unknown = cost_of(with_rounds({**advice, "model": "who"}), "a:b", prices)
    assert (unknown.total, unknown.unpriced) == (Decimal(1), ("the advisor who",))


@pytest.mark.parametrize(
    "wrong", [None, "many", {**ROUND, "type": "compaction", "input_tokens": -1}]
)
def test_rounds_that_are_no_counts_cost_nothing(wrong: object) -> None:
    assert cost_of(with_rounds(wrong), "a:b", table()).total == 1
