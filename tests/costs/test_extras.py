"""What is paid beside plain tokens: tools, lifetimes, tiers, sound and images, providers' costs."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import interlingua as il
from interlingua.costs import PriceTable, bundled, cost_of, priced, reprice
from interlingua.costs.cost import Costs, cost_notes, differs, unpriced_parts, with_runs
from interlingua.costs.history import cost_by
from interlingua.errors import ReadError
from interlingua.gateway.keys.tariffs import Pricer
from interlingua.gateway.telemetry.records import _usage
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage, reported_cost
from interlingua.transcripts.prices import Prices
from interlingua.transcripts.transcript import Answer

SONNET = "anthropic:claude-sonnet-4-6"
SOL = "openai:gpt-6.1-sol"
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
WORKED = Usage(
    1000,
    100,
    4000,
    2000,
    cache_writes={"5m": 500, "1h": 1500},
    tool_uses={"web_search": 3, "web_fetch": 2},
)


def test_the_worked_examples() -> None:
    assert priced(Usage(8, 42), SONNET).cost_usd == Decimal("0.000654")
    cost = cost_of(WORKED, SONNET)
    assert cost.total == Decimal("0.046575")
    assert cost.tools == Decimal("0.03")
    assert cost.cache_creation == Decimal("0.010875")
    assert cost.breakdown.total == cost.total
    assert cost.unpriced == ()


def test_everybody_computes_the_same() -> None:
    usages = [
        WORKED,
        WORKED.replace(service_tier="batch"),
        Usage(10, 5, service_tier="default"),
        Usage(7, 3, 0, 100, cache_writes={"1h": 100}),
    ]
    sums, pricer = Costs(bundled()), Pricer(bundled())
    for usage in usages:
        sums.add(usage, SONNET, NOW)
        assert pricer.cost(usage, SONNET, NOW) == cost_of(usage, SONNET, at=NOW).total
    assert sums.total == sum((cost_of(usage, SONNET, at=NOW).total for usage in usages), Decimal(0))


def test_tiers_multiply_tokens_and_not_tools() -> None:
    plain, batch = (cost_of(WORKED.replace(service_tier=tier), SONNET) for tier in (None, "batch"))
    assert batch.total - batch.tools == (plain.total - plain.tools) / 2
    assert batch.tools == plain.tools
    usage = Usage(1000, 1000)
    costs = {
        tier: cost_of(usage.replace(service_tier=tier), SOL).total
        for tier in ("default", "flex", "priority", "ultrafast")
    }
    assert costs["flex"] * 2 == costs["default"]
    assert costs["priority"] == 2 * costs["default"]
    assert costs["ultrafast"] == 6 * costs["default"]


def test_writes_are_priced_by_lifetime() -> None:
    rates = bundled()[SOL]
    assert (rates.cache_write, rates.cache_write_12h) == (Decimal("2.5"), Decimal(5))
    usage = Usage(0, 0, 0, 3_000_000, cache_writes={"30m": 1_000_000, "12h": 1_000_000})
    # A third of them has no lifetime, and 3 million tokens are above 272,000: twice the rates.
    assert cost_of(usage, SOL).cache_creation == Decimal(5 + 5 + 10)
    untold = Usage(0, 0, 0, 100, cache_writes={"1h": 900})
    assert cost_of(untold, SONNET).cache_creation == Decimal("0.0006")


def test_sound_has_its_own_price() -> None:
    flash = "gemini:gemini-3-flash-preview"
    usage = Usage(1_000, 0, input_modalities={"text": 400, "audio": 600})
    assert cost_of(usage, flash).total == Decimal("0.0008")  # 400 at $0.50, 600 at $1
    table = PriceTable.from_dict(
        {
            "pricing_version": "1",
            "models": {
                "acme:painter": {
                    "input_per_mtok_usd": 1,
                    "output_per_mtok_usd": 2,
                    "image_output_per_mtok_usd": 30,
                }
            },
        }
    )
    drawn = Usage(0, 1000, output_modalities={"text": 100, "image": 900})
    assert cost_of(drawn, "acme:painter", table).total == Decimal("0.0272")


def test_what_has_no_price_is_named_and_the_rest_is_priced() -> None:
    usage = Usage(8, 42, tool_uses={"time_travel": 2, "web_search": 0}, service_tier="flex")
    cost = cost_of(usage, SONNET)
    assert cost.total == Decimal("0.000654")
    assert cost.unpriced == ("service tier flex", "time_travel")
    before = cost_of(WORKED, SONNET, bundled("2026-11-16"))
    assert before.total == Decimal("0.016575")  # that table knows of no searches
    assert set(before.unpriced) == {"web_search", "web_fetch"}


def test_history_is_repriced_with_all_of_it() -> None:
    usage = priced(WORKED, SONNET, bundled("2026-11-16"))
    message = Message.assistant("a", MessageMetadata(model=SONNET, usage=usage))
    (found,) = reprice([message], bundled())
    assert (found.old, found.new) == (Decimal("0.016575"), Decimal("0.046575"))
    assert found.usage.cost_breakdown is not None
    assert found.usage.cost_breakdown.tools == Decimal("0.03")


def test_tables_survive_being_stored_with_their_extras() -> None:
    table = bundled()
    again = PriceTable.from_dict(table.to_dict())
    assert (again.models, again.providers) == (table.models, table.providers)
    assert again.providers["anthropic"].source
    own = PriceTable.from_dict(
        {
            "pricing_version": "own",
            "models": {},
            "providers": {"anthropic": {"uses_per_thousand_usd": {"web_search": 8}}},
        }
    )
    plain = "anthropic:claude-opus-4"
    assert table.overlay(own).use(plain, "web_search") == 8
    for wrong in ({"uses_per_thousand_usd": {"x": -1}}, {"modes": {"x": "NaN"}}, {"other": 1}):
        with pytest.raises(ReadError):
            PriceTable.from_dict(
                {"pricing_version": "1", "models": {}, "providers": {"anthropic": wrong}}
            )


@pytest.mark.parametrize(
    ("raw", "cost"),
    [
        ({"openrouter": {"cost": 0.0012}}, "0.0012"),
        ({"openai-chat": {"cost": {"total_cost": 0.5}}}, "0.5"),
        ({"openai-responses": {"cost_in_usd_ticks": 37_756_000}}, "0.0037756"),
        ({"provider": {"cost": "0.25"}}, "0.25"),
        ({"openrouter": {"cost": -1}}, None),
        ({"openrouter": {"cost": "much"}}, None),
        ({"openrouter": {"cost": True}}, None),
        ({}, None),
    ],
)
def test_what_providers_say_that_it_cost(
    raw: dict[str, dict[str, object]], cost: str | None
) -> None:
    found = reported_cost(Usage(1, 1, raw=raw))
    assert found == (None if cost is None else Decimal(cost))


def test_two_hundredths_are_no_difference() -> None:
    one = Decimal(1)
    assert not differs(one, Decimal("1.02"))
    assert differs(one, Decimal("1.03"))
    assert differs(Decimal(0), one)
    assert not differs(None, one)
    assert not differs(Decimal(0), Decimal(0))


def test_plain_usage_is_tokens_alone() -> None:
    assert Usage(1, 2, 3, 4, service_tier="default").is_plain
    assert not WORKED.is_plain
    assert not Usage(1, 2, service_tier="priority").is_plain


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("gpt-audio", "0.08125"),
        ("gpt-audio-2025-08-28", "0.08125"),
        ("gpt-audio-1.5", "0.08125"),
        ("gpt-audio-mini-2025-12-15", "0.0253"),
        ("gpt-4o-audio-preview-2025-06-03", "0.10125"),
        ("gpt-4o-audio-preview-2024-10-01", "0.25125"),
        ("gpt-4o-mini-audio-preview", "0.025075"),
    ],
)
def test_models_of_sound_have_prices_for_text_and_sound(model: str, cost: str) -> None:
    usage = Usage(1000, 1000, input_modalities={"audio": 500}, output_modalities={"audio": 1000})
    assert cost_of(usage, f"openai:{model}").total == Decimal(cost)


CODE = {"code_execution": 2, "web_search": 1}


def test_what_has_no_price_is_named_beside_the_cost() -> None:
    usage = priced(Usage(1000, 10, tool_uses=CODE), SOL)
    assert unpriced_parts(usage, SOL) == ("code_execution",)
    assert cost_notes(usage, SOL) == ["without code_execution, whose price is not known"]
    assert cost_notes(Usage(1000, 10, cost_usd=Decimal(1)), SOL) == []


def test_a_cost_without_all_its_parts_is_marked_in_sums() -> None:
    usage = priced(Usage(1000, 10, tool_uses=CODE), SOL)
    message = Message.assistant("Hi.", metadata=MessageMetadata(model=SOL, usage=usage))
    group = cost_by([message], "model")[SOL]
    assert (group.cost_usd, group.unpriced) == (usage.cost_usd, 1)
    answers = [Answer(SOL, value, NOW, "a") for value in (usage, usage.replace(cost_usd=None))]
    for answer in answers:
        assert Prices()([answer]) == (usage.cost_usd, 1)


def test_the_providers_cost_is_beside_ours() -> None:
    usage = Usage(1, 1, cost_usd=Decimal(1), raw={"openrouter": {"cost": "1.01"}})
    assert cost_notes(usage, SONNET) == ["the provider reports $1.01"]
    apart = usage.replace(raw={"xai": {"cost_in_usd_ticks": 12_000_000_000}})
    assert cost_notes(apart, SONNET) == ["the provider reports $1.2, which is more than 2 % apart"]


def answer(dialect: str, usage: dict[str, Any], **more: Any) -> Message:
    """An answer of "Hi" with this usage, as its provider sends it."""
    message = {"role": "assistant", "content": "Hi", **more.pop("message", {})}
    parts = more.pop("parts", [{"text": "Hi"}])
    grounded = {"groundingMetadata": more.pop("grounded")} if "grounded" in more else {}
    body: dict[str, dict[str, Any]] = {
        "anthropic": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-6",
            "content": [*more.pop("blocks", []), {"type": "text", "text": "Hi"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10, **usage},
        },
        "openai-chat": {
            "id": "chat_1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, **usage},
        },
        "gemini": {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", **grounded}
            ],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, **usage},
            **more,
        },
    }
    return il.dialect(dialect).read_response(body[dialect]).message


QUERIES = {"webSearchQueries": ["rye", "", "wheat", "rye"]}
RUN = [
    {"executableCode": {"language": "PYTHON", "code": "1"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    {"text": "Hi"},
]
SHELL = [
    {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "bash_code_execution",
        "input": {"command": "ls"},
    }
]
XAI = {"server_side_tool_usage_details": {"web_search_calls": 2, "x_search_calls": 1}}
TOOL_TOKENS = {"toolUsePromptTokenCount": 1000, "totalTokenCount": 1110}
SEARCHED = {"server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}}
EXECUTED = [{"type": "search", "index": 0, "arguments": "{}", "output": "x"}]


@pytest.mark.parametrize(
    ("model", "message", "cost", "unpriced"),
    [
        # a region at 1.1 times every token rate, an answer at twice, one of unknown rate
        (SONNET, answer("anthropic", {"inference_geo": "us"}), "0.000495", ()),
        (SONNET, answer("anthropic", {"inference_geo": "not_available"}), "0.00045", ()),
        (SONNET, answer("anthropic", {"inference_geo": "", "speed": "standard"}), "0.00045", ()),
        ("anthropic:claude-opus-5", answer("anthropic", {"speed": "fast"}), "0.0015", ()),
        (SONNET, answer("anthropic", {"speed": "fast"}), "0.00045", ("speed fast",)),
        (SONNET, answer("anthropic", {}, blocks=SHELL), "0.00045", ("code_execution",)),
        (SONNET, answer("anthropic", SEARCHED, blocks=SHELL), "0.01045", ("code_execution",)),
        # Gemini 2.5 bills a prompt that it searched for, Gemini 3 each query
        (
            "gemini:gemini-2.5-flash",
            answer("gemini", {}, grounded=QUERIES, modelVersion="gemini-2.5-flash"),
            "0.035055",
            (),
        ),
        (
            "gemini:gemini-3-pro-preview",
            answer("gemini", {}, grounded=QUERIES, modelVersion="gemini-3-pro-preview"),
            "0.02832",
            (),
        ),
        (
            "vertex:gemini-2.5-pro",
            answer("gemini", {}, grounded={"groundingChunks": [{"maps": {"uri": "u"}}]}),
            "0.025225",
            (),
        ),
        ("gemini:gemini-2.5-flash", answer("gemini", {}, parts=RUN), "0.000055", ()),
        # what a tool added to the prompt, but for what a search found
        ("gemini:gemini-2.5-flash", answer("gemini", TOOL_TOKENS, parts=RUN), "0.000355", ()),
        (
            "gemini:gemini-2.5-flash",
            answer("gemini", TOOL_TOKENS, grounded=QUERIES, modelVersion="gemini-2.5-flash"),
            "0.035055",
            (),
        ),
        ("xai:grok-4", answer("openai-chat", XAI), "0.01545", ()),
        ("openai:gpt-4o-search-preview", answer("openai-chat", {}), "0.02535", ()),
        (
            "groq:openai/gpt-oss-120b",
            answer("openai-chat", {}, message={"executed_tools": EXECUTED}),
            "0.005021",
            (),
        ),
    ],
)
def test_nothing_that_is_billed_costs_nothing_in_silence(
    model: str, message: Message, cost: str, unpriced: tuple[str, ...]
) -> None:
    usage = with_runs(message)
    assert usage is not None
    found = cost_of(usage, model)
    assert (found.total, found.unpriced) == (Decimal(cost), unpriced)
    assert unpriced_parts(usage, model) == unpriced
    assert priced(usage, model).unpriced == (unpriced or None)
    assert Pricer(bundled()).cost(usage, model, NOW) == found.total
    sums = Costs(bundled())
    sums.add(usage, model, NOW)
    assert sums.total == found.total
    whole = message.replace(metadata=message.metadata.replace(model=model))
    (again,) = reprice([whole], bundled())
    assert again.new == found.total
    # a row of the gateway keeps what its cost depends on
    row = _usage(usage, found.total, model, bundled())
    assert row is not None
    assert cost_of(row, model).total == found.total
