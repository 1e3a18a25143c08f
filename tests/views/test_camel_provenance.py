"""Maker, stop reason, usage and cost in the camel view."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from interlingua.errors import ReadError
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    CostBreakdown,
    Diagnostic,
    MessageMetadata,
    MessageStatus,
    RoutingMode,
    RoutingRecord,
    StopReason,
    Usage,
)
from interlingua.sessions.adapters.assemble import new_assistant_message
from interlingua.views import camel
from interlingua.views.camel import STOP_REASONS, STOP_WORDS
from tests.views.test_camel import WHOLE, assistant, losses, one, out


@pytest.mark.requirement("S003-15", "S003-17", "S003-18")
def test_an_assistant_message_says_who_made_it() -> None:
    message = one(WHOLE)
    cost = CostBreakdown(input=Decimal("0.000024"), output=Decimal("0.00063"))
    assert message.metadata == MessageMetadata(
        model="anthropic:claude-sonnet-4-5",
        provider="anthropic",
        protocol="anthropic",
        response_model="claude-sonnet-4-5-20250929",
        response_id="msg_1",
        usage=Usage(8, 42, 100, 5, cost_usd=Decimal("0.000654"), cost_breakdown=cost),
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message="the connection was lost",
        diagnostics=(
            Diagnostic("retried", "once", datetime(1970, 1, 1, 0, 0, 0, 5000, UTC), {"n": 1}),
        ),
    )
    assert message.created_at == datetime(2023, 11, 14, 22, 13, 20, 123000, UTC)
    assert out(message) == WHOLE
    assert losses(message) == []


@pytest.mark.requirement("S003-15")
def test_a_clean_message_says_nothing_of_errors_and_diagnostics() -> None:
    assert out(Message.assistant("hi")) == assistant({"type": "text", "text": "hi"})


def test_the_total_of_a_provider_that_counts_otherwise_is_kept() -> None:
    wire = assistant(usage={"input": 1, "output": 1, "totalTokens": 9})
    usage = one(wire).metadata.usage
    assert usage is not None
    assert usage.total_tokens == 2
    assert out(one(wire)) == wire


def test_diagnostics_keep_what_we_do_not_know() -> None:
    wire = assistant(diagnostics=[{"type": "a"}, {"type": "b", "error": {"code": 3}}])
    assert out(one(wire)) == wire


def test_time_is_counted_in_integers() -> None:
    time = datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)
    message = Message(Role.ASSISTANT, (), created_at=time)
    assert out(message)["timestamp"] == 253_402_300_799_999
    assert losses(message) == [("approximated", "$[0].created_at")]
    whole = message.replace(created_at=time.replace(microsecond=999_000))
    assert losses(whole) == []
    assert one(out(whole)) == whole
    with pytest.raises(ReadError) as error:
        one(assistant(timestamp=10**18))
    assert error.value.path == "$[0].timestamp"


def test_money_that_is_no_64_bit_number_is_as_near_as_it_gets() -> None:
    usage = Usage(cost_usd=Decimal("0.1000000000000000000001"))
    metadata = MessageMetadata(usage=usage)
    message = Message(Role.ASSISTANT, (), metadata=metadata)
    assert out(message)["usage"]["cost"] == {"total": 0.1}
    assert losses(message) == [("approximated", "$[0].metadata.usage.cost_usd")]
    huge = metadata.replace(usage=Usage(cost_usd=Decimal("1E+999")))
    assert losses(message.replace(metadata=huge)) == [("dropped", "$[0].metadata.usage.cost_usd")]


@pytest.mark.requirement("S003-16")
def test_an_answer_that_was_begun_has_its_four_facts() -> None:
    time = datetime.fromtimestamp(1_700_000_000.123, UTC)
    message = new_assistant_message("anthropic:claude-sonnet-4-5", created_at=time)
    assert out(message) == {
        name: WHOLE[name] for name in ("role", "protocol", "provider", "model", "timestamp")
    } | {"content": []}


@pytest.mark.requirement("S003-19")
def test_every_ending_has_one_of_five_words() -> None:
    assert set(STOP_REASONS) == {"stop", "length", "toolUse", "error", "aborted"}
    assert set(STOP_WORDS) == set(StopReason)
    assert set(STOP_WORDS.values()) == set(STOP_REASONS)
    assert all(STOP_WORDS[reason] == word for word, reason in STOP_REASONS.items())


@pytest.mark.requirement("S003-19")
def test_a_near_word_is_reported() -> None:
    def ended(reason: StopReason, status: str = "complete") -> list[tuple[str, str]]:
        metadata = MessageMetadata(stop_reason=reason, status=MessageStatus(status))
        return losses(Message(Role.ASSISTANT, (), metadata=metadata))

    assert ended(StopReason.END_TURN) == []
    assert ended(StopReason.CANCELLED, "cancelled") == []
    assert ended(StopReason.STOP_SEQUENCE) == [("approximated", "$[0].metadata.stop_reason")]
    assert ended(StopReason.REFUSAL) == [
        ("approximated", "$[0].metadata.stop_reason"),
        ("approximated", "$[0].metadata.status"),
    ]
    with pytest.raises(ReadError) as error:
        one(assistant(stopReason="tired"))
    assert error.value.path == "$[0].stopReason"


def test_provenance_without_a_field_is_a_loss_of_little_weight() -> None:
    routing = RoutingRecord(RoutingMode.DEFAULT, "openai:gpt-5", "workspace default")
    metadata = MessageMetadata(routing=routing, user_id="usr_1", raw_stop_reason="STOP")
    report = camel.write([Message.assistant("hi", metadata)]).report
    assert [loss.path for loss in report.entries] == [
        "$[0].metadata.routing",
        "$[0].metadata.raw_stop_reason",
        "$[0].metadata.user_id",
    ]
    assert {loss.severity for loss in report.entries} == {"info"}
