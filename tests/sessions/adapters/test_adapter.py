"""The contract of adapters, the same for every dialect."""

from __future__ import annotations

from decimal import Decimal

import pytest

import interlingua as il
from interlingua.costs.table import PriceTable
from interlingua.profiles.capabilities import capabilities
from interlingua.profiles.estimate.estimator import estimate_input_tokens
from interlingua.sessions.adapters import Adapter
from tests.laws.acceptable import problems
from tests.sessions.adapters.answers import CONTEXT, DIALECTS, adapter, history
from tests.sessions.wires import (
    MODELS,
    TOOLS,
    answer,
)


@pytest.mark.requirement("S002-77")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_is_one_that_the_provider_takes(dialect: str) -> None:
    dialect_name = adapter(dialect)
    written = dialect_name.to_wire(
        history(dialect, dialect_name), TOOLS, il.Options(max_output_tokens=99)
    )
    assert problems(dialect, "request", written.wire) == []
    assert list(written.report.entries) == []
    content = il.dialect(dialect).read_request(written.wire, written.model, written.stream)
    assert [tool.name for tool in content.tools] == [tool.name for tool in TOOLS]
    assert content.options.max_output_tokens == 99
    name = MODELS[dialect].partition(":")[2]
    assert name in (written.model, content.model)


@pytest.mark.requirement("S002-80")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_estimate_counts_messages_and_tools_before_anything_is_sent(dialect: str) -> None:
    dialect_name = adapter(dialect)
    short = [il.Message.user("Hello")]
    long = [il.Message.user("Hello there, how are you today? " * 200)]
    bare, collected = (
        dialect_name.estimate_input_tokens(short),
        dialect_name.estimate_input_tokens(long),
    )
    assert type(bare) is int
    assert 0 < bare < 60
    assert 1000 < collected < 3000
    assert dialect_name.estimate_input_tokens(short, TOOLS) > bare
    assert collected == estimate_input_tokens(long, (), MODELS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_adapter_says_what_its_model_can_do_in_this_dialect(dialect: str) -> None:
    dialect_name = adapter(dialect)
    if dialect not in ("openai-responses", "cohere"):  # their models are ones nobody described
        assert dialect_name.capabilities == capabilities(MODELS[dialect], dialect)
    assert dialect_name.capabilities.supports_images
    assert not Adapter("openai:gpt-4").capabilities.supports_images


def test_a_model_that_nobody_described_can_do_what_its_provider_can() -> None:
    dialect = Adapter("anthropic:claude-of-next-year")
    assert dialect.capabilities.supports_tools
    wire = answer("anthropic", 1)
    message = dialect.from_wire_response({**wire, "model": "claude-of-next-year"}, CONTEXT)
    assert message.metadata.usage is not None
    assert message.metadata.usage.cost_usd is None, "an unknown price is never a zero"
    assert "no_price" in {found.type for found in message.metadata.diagnostics}
    chosen = dialect.from_wire_response(wire, CONTEXT).metadata
    assert chosen.response_model == "claude-sonnet-4-6"
    assert chosen.usage is not None
    assert chosen.usage.cost_usd == Decimal("0.000654"), "what the model that answered costs"


@pytest.mark.requirement("S002-73", "S002-71")
def test_cost_is_exact_and_names_the_table() -> None:
    prices = PriceTable.from_dict(
        {
            "pricing_version": "2026-05-08",
            "models": {
                "anthropic:claude-sonnet-4-6": {
                    "input_per_mtok_usd": "3",
                    "output_per_mtok_usd": "15",
                }
            },
        }
    )
    usage = (
        adapter("anthropic", prices=prices)
        .from_wire_response(answer("anthropic", 1), CONTEXT)
        .metadata.usage
    )
    assert usage is not None
    assert usage.cost_usd == Decimal("0.000654")
    assert usage.pricing_version == "2026-05-08"
