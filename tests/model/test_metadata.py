"""What is known about a message beside its content."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.model.codec import dumps, loads
from interlingua.model.message import Message
from interlingua.model.metadata import (
    CostBreakdown,
    MessageMetadata,
    MessageStatus,
    RoutingMode,
    RoutingRecord,
    StopReason,
    Usage,
)
from tests.model.values import fields, plain

requirement = pytest.mark.requirement

OWN = ["model", "provider", "routing", "usage", "parent_tool_use_id", "provider_raw"]


@requirement("S002-30", "S002-31", "S002-34")
@pytest.mark.parametrize("name", ["model", "provider", "parent_tool_use_id"])
def test_metadata_names_model_provider_and_answered_call_or_none(name: str) -> None:
    assert get_type_hints(MessageMetadata)[name] == str | None
    assert getattr(MessageMetadata(), name) is None
    metadata = MessageMetadata().replace(**{name: "x"})
    assert plain(metadata) == {name: "x"}


@requirement("S002-32", "S002-33", "S002-36")
def test_metadata_holds_routing_usage_and_provider_data_or_none() -> None:
    hints = get_type_hints(MessageMetadata)
    assert hints["routing"] == RoutingRecord | None
    assert hints["usage"] == Usage | None
    assert [getattr(MessageMetadata(), name) for name in OWN] == [None] * len(OWN)
    odd = {"anthropic": {"anything": [1, {"at": "all"}, None]}}
    metadata = MessageMetadata(provider_raw=odd)
    assert plain(metadata) == {"provider_raw": odd}
    assert loads(dumps(metadata), MessageMetadata, strict=True).provider_raw == odd


@requirement("S002-35", "S002-38")
def test_a_message_is_complete_unless_said_otherwise() -> None:
    assert [status.value for status in MessageStatus] == [
        "complete",
        "partial",
        "cancelled",
        "error",
    ]
    assert MessageMetadata().status is MessageStatus.COMPLETE
    assert "metadata" not in plain(Message.user("hi"))
    assert loads(b'{"role":"user"}').metadata.status is MessageStatus.COMPLETE


def test_stop_reasons_are_ten_words() -> None:
    assert [reason.value for reason in StopReason] == [
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "tool_use",
        "content_filter",
        "refusal",
        "pause",
        "cancelled",
        "error",
        "other",
    ]


@pytest.mark.parametrize("word", ["stop", 7, 1.5, True, None])
def test_a_raw_stop_reason_is_any_json_scalar(word: Any) -> None:
    metadata = MessageMetadata(raw_stop_reason=word)
    again = loads(dumps(metadata), MessageMetadata, strict=True).raw_stop_reason
    assert (again, type(again)) == (word, type(word))


@requirement("S002-39")
def test_a_routing_record_says_what_was_chosen_and_why() -> None:
    record = RoutingRecord(RoutingMode.MANUAL, "openai:gpt-5", "/model openai:gpt-5")
    assert record.alternatives_considered == ()
    assert plain(record) == {
        "mode": "manual",
        "chosen_model": "openai:gpt-5",
        "reason": "/model openai:gpt-5",
    }
    whole = RoutingRecord(RoutingMode.RULE, "a:b", "c", "long", 0.5, ("d:e",))
    assert set(plain(whole)) == {
        "mode",
        "chosen_model",
        "reason",
        "rule_name",
        "confidence",
        "alternatives_considered",
    }
    words = ["override", "manual", "rule", "pattern", "delegate", "default"]
    assert [mode.value for mode in RoutingMode] == words


@requirement("S002-42")
def test_usage_holds_counts_money_version_and_latency() -> None:
    usage = Usage(8, 42, 0, 0, None, Decimal("0.000654"), None, "2026-05-08", 820)
    assert plain(usage) == {
        "input_tokens": 8,
        "output_tokens": 42,
        "cached_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cost_usd": "0.000654",
        "pricing_version": "2026-05-08",
        "latency_ms": 820,
    }
    again = loads(dumps(usage), Usage, strict=True)
    assert type(again.cost_usd) is Decimal
    assert str(again.cost_usd) == "0.000654"


def test_an_unknown_count_is_not_zero() -> None:
    assert plain(Usage()) == {}
    assert Usage() != Usage(0, 0, 0, 0)
    assert (Usage().prompt_tokens, Usage().total_tokens) == (None, None)


@requirement("S002-43")
@given(st.lists(st.none() | st.integers(0, 10**9), min_size=4, max_size=4))
def test_input_counts_are_disjoint_and_add_up(counts: list[int | None]) -> None:
    fresh, output, read, written = counts
    usage = Usage(fresh, output, read, written)
    known = [count for count in (fresh, read, written) if count is not None]
    assert usage.prompt_tokens == (sum(known) if known else None)
    total = [count for count in counts if count is not None]
    assert usage.total_tokens == (sum(total) if total else None)


@requirement("S002-43")
def test_reasoning_is_not_counted_twice() -> None:
    assert Usage(10, 20, reasoning_tokens=15).total_tokens == 30


def test_cost_has_a_category_for_each_kind_of_token() -> None:
    cost = CostBreakdown(Decimal("0.1"), Decimal("0.02"), Decimal("0.003"), Decimal("0.0004"))
    assert cost.total == Decimal("0.1234")
    kinds = ["input", "cached_input", "cache_creation", "output", "tools"]
    assert fields(CostBreakdown) == kinds
    assert loads(dumps(cost), CostBreakdown, strict=True) == cost
