"""What a session knows about an answer and the wire does not."""

from __future__ import annotations

import logging
from decimal import Decimal

import pytest

import interlingua as il
from tests.sessions.adapters.answers import CONTEXT, DIALECTS, OURS, RECORD, adapter
from tests.sessions.wires import ERRORS, MODELS, answer, without_usage


@pytest.mark.requirement("S002-78", "S002-65", "S002-52")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_is_a_message_with_what_the_context_knows(dialect: str) -> None:
    dialect_name = adapter(dialect)
    message = dialect_name.from_wire_response(answer(dialect, 1, calls=True), CONTEXT)
    assert message.role is il.Role.ASSISTANT
    assert message.text == "It is so."
    assert all(OURS.fullmatch(call.id) for call in message.tool_calls)
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    known = message.metadata
    assert (known.model, known.provider) == (MODELS[dialect], MODELS[dialect].partition(":")[0])
    assert known.protocol == dialect
    assert known.routing == RECORD
    assert known.usage is not None
    assert (known.usage.input_tokens, known.usage.output_tokens) == (8, 42)
    assert known.usage.latency_ms == 820
    assert not known.usage.estimated
    assert known.stop_reason is il.StopReason.TOOL_USE
    assert message.id is None, "only the core makes message ids"


@pytest.mark.requirement("S002-78")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_body_is_an_empty_message_that_says_so(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    message = adapter(dialect).from_wire_response(ERRORS[dialect], CONTEXT)
    assert message.content == ()
    assert message.metadata.status is il.MessageStatus.ERROR
    assert message.metadata.stop_reason is il.StopReason.ERROR
    assert message.metadata.error_message
    assert message.metadata.usage is None, "nothing is made up for what never arrived"
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.requirement("S002-78", "S002-80")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_usage_that_is_missing_is_estimated_flagged_and_logged(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    dialect_name = adapter(dialect)
    wire = without_usage(dialect, answer(dialect, 1))
    message = dialect_name.from_wire_response(wire, CONTEXT)
    usage = message.metadata.usage
    assert usage is not None
    assert usage.estimated
    assert usage.input_tokens == 12, "what was estimated before sending"
    assert usage.output_tokens is not None
    assert usage.output_tokens > 0
    assert "usage_estimated" in {found.type for found in message.metadata.diagnostics}
    collected = [r for r in caplog.records if r.getMessage() == "usage_estimated"]
    assert [r.levelno for r in collected] == [logging.WARNING]
    assert "It is so." not in caplog.text


def test_searches_are_paid_for_and_another_cost_is_noted() -> None:
    wire = answer("anthropic", 1)
    wire["usage"] |= {"server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 1}}
    known = adapter("anthropic").from_wire_response(wire, CONTEXT).metadata
    assert known.usage is not None
    assert known.usage.cost_breakdown is not None
    assert known.usage.cost_breakdown.tools == Decimal("0.03")
    assert known.diagnostics == ()
    wire = answer("openai-chat", 1)
    wire["usage"] |= {"cost": 5}
    (found,) = adapter("openai-chat").from_wire_response(wire, CONTEXT).metadata.diagnostics
    assert found.type == "cost_differs"
    assert found.message.startswith("the provider says $5, the price table $")
