"""Worked examples: whole conversations as canonical values, as JSON, and valid."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from interlingua.model.blocks import (
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.codec import dumps, loads
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    CostBreakdown,
    RoutingMode,
    RoutingRecord,
)
from interlingua.model.rules import validate
from tests.model.exchanges import SONNET, Scribe

requirement = pytest.mark.requirement

GPT = "openai:gpt-5"
MILLION = Decimal(1_000_000)


def assert_survives(messages: list[Message]) -> None:
    assert validate(messages) == []
    again = loads(dumps(messages), list[Message], strict=True)
    assert again == messages
    assert dumps(again) == dumps(messages)


EXCHANGE = """
[
  {
    "id": "01KR3C8M000000000000000001",
    "session_id": "01KR3C8M000000000000000000",
    "role": "user",
    "content": [{"type": "text", "text": "What is a ULID?"}],
    "created_at": "2026-05-08T12:00:00.000001Z",
    "schema_version": 1
  },
  {
    "id": "01KR3C8M000000000000000002",
    "session_id": "01KR3C8M000000000000000000",
    "role": "assistant",
    "content": [{"type": "text", "text": "A sortable identifier."}],
    "metadata": {
      "model": "anthropic:claude-sonnet-4-6",
      "provider": "anthropic",
      "routing": {
        "mode": "default",
        "chosen_model": "anthropic:claude-sonnet-4-6",
        "reason": "workspace default"
      },
      "usage": {
        "input_tokens": 8,
        "output_tokens": 42,
        "cached_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cost_usd": "0.000654",
        "pricing_version": "2026-05-08",
        "latency_ms": 820
      },
      "stop_reason": "end_turn"
    },
    "created_at": "2026-05-08T12:00:01.82Z",
    "schema_version": 1
  }
]
"""


@requirement("S002-88")
def test_a_two_message_exchange_costs_exactly_what_it_costs() -> None:
    messages = loads(EXCHANGE, list[Message], strict=True)
    assert validate(messages) == []
    question, answer = messages
    assert (question.role, answer.role) == (Role.USER, Role.ASSISTANT)
    usage, routing = answer.metadata.usage, answer.metadata.routing
    assert usage is not None
    assert routing == RoutingRecord(RoutingMode.DEFAULT, SONNET, "workspace default")
    assert (usage.input_tokens, usage.output_tokens, usage.latency_ms) == (8, 42, 820)
    assert (usage.cost_usd, usage.pricing_version) == (Decimal("0.000654"), "2026-05-08")
    priced = CostBreakdown(input=8 * Decimal(3) / MILLION, output=42 * Decimal(15) / MILLION)
    assert priced.total == usage.cost_usd


@requirement("S002-88", "S002-18")
def test_the_exchange_is_stored_as_it_is_written_here() -> None:
    messages = loads(EXCHANGE, list[Message], strict=True)
    expected = json.loads(EXCHANGE)
    expected[1]["created_at"] = "2026-05-08T12:00:01.820000Z"
    assert json.loads(dumps(messages)) == expected


@requirement("S002-89")
def test_a_round_of_tool_use_is_four_messages() -> None:
    scribe = Scribe()
    scribe.put(Message.user("What is in main.py?"))
    call = scribe.call("Let me look.", "main.py")
    result = scribe.put(Message.tool_result(call.id, "print('hi')", tool_name=call.name))
    last = scribe.put(Message.assistant("It prints hi."))

    roles = [message.role for message in scribe.messages]
    assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert [type(block) for block in scribe.messages[1].content] == [TextBlock, ToolUseBlock]
    (block,) = result.content
    assert isinstance(block, ToolResultBlock)
    assert result.metadata.parent_tool_use_id == block.tool_use_id == call.id
    assert last.metadata.routing == scribe.messages[1].metadata.routing
    assert_survives(scribe.messages)


@requirement("S002-90")
def test_a_session_goes_on_with_another_model_and_a_fresh_tool_id() -> None:
    scribe = Scribe()
    for path in ("a.py", "b.py"):
        scribe.put(Message.user(f"Read {path}."))
        call = scribe.call("Reading.", path)
        scribe.put(Message.tool_result(call.id, "pass"))
        scribe.put(Message.assistant("Nothing there."))
    scribe.routing = RoutingRecord(
        RoutingMode.MANUAL, GPT, "user chose it with /model openai:gpt-5"
    )
    scribe.put(Message.user("And c.py?"))
    fresh = scribe.call("Reading.", "c.py")
    scribe.put(Message.tool_result(fresh.id, "pass"))
    third = scribe.put(Message.assistant("Nothing either."))

    routing = third.metadata.routing
    assert (third.metadata.provider, third.metadata.model) == ("openai", GPT)
    assert routing is not None
    assert routing.mode is RoutingMode.MANUAL
    assert "/model" in routing.reason
    ids = [call.id for message in scribe.messages for call in message.tool_calls]
    assert len(set(ids)) == 3
    assert all(id.startswith("tu_") for id in ids)
    assert_survives(scribe.messages)


def test_a_user_shows_a_picture_and_the_model_thinks() -> None:
    messages = [
        Message.system("Be brief."),
        Message.user(["What is this?", ImageBlock(Source("base64", "iVBORw0KGgo="), "image/png")]),
        Message.assistant([ThinkingBlock("A cat.", "c2lnbmVk"), TextBlock("A cat.")]),
    ]
    assert_survives(messages)
    assert messages[2].reasoning == messages[2].text == "A cat."


# Events
