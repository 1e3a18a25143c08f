"""Worked examples: whole conversations as canonical values, as JSON, and valid."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, get_args

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
from interlingua.model.events import WIRE_NAMES, Event
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    CostBreakdown,
    MessageMetadata,
    MessageStatus,
    RoutingMode,
    RoutingRecord,
    StopReason,
    Usage,
)
from interlingua.model.rules import validate

requirement = pytest.mark.requirement

SONNET = "anthropic:claude-sonnet-4-6"
GPT = "openai:gpt-5"
MILLION = Decimal(1_000_000)


class Scribe:
    """Writes a session down: ids that rise, a second between messages."""

    def __init__(self) -> None:
        self.ulids = Ulids(clock=lambda: 1_778_241_600_000)
        self.session_id = self.ulids.new()
        self.messages: list[Message] = []
        self.routing = RoutingRecord(RoutingMode.DEFAULT, SONNET, "workspace default")

    def put(self, message: Message) -> Message:
        if message.role is Role.ASSISTANT:
            stop = StopReason.TOOL_USE if message.tool_calls else StopReason.END_TURN
            message = message.replace(metadata=self.metadata(stop))
        held = message.replace(
            id=self.ulids.new(),
            session_id=self.session_id,
            created_at=datetime(2026, 5, 8, 12, tzinfo=UTC) + timedelta(seconds=len(self.messages)),
        )
        self.messages.append(held)
        return held

    def metadata(self, stop: StopReason) -> MessageMetadata:
        model = self.routing.chosen_model
        return MessageMetadata(
            model=model,
            provider=model.split(":")[0],
            routing=self.routing,
            usage=Usage(8, 42, 0, 0, cost_usd=Decimal("0.000654"), pricing_version="2026-05-08"),
            stop_reason=stop,
        )

    def call(self, words: str, path: str) -> ToolUseBlock:
        call = ToolUseBlock(new_tool_id(self.ulids), "read_file", {"path": path})
        self.put(Message.assistant([TextBlock(words), call]))
        return call


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


@requirement("S002-51")
def test_an_answer_grows_until_it_is_complete() -> None:
    scribe = Scribe()
    scribe.put(Message.user("Tell me a story."))
    partial = MessageMetadata(status=MessageStatus.PARTIAL)
    for content in ((), (TextBlock("Once"),), (TextBlock("Once upon a time"),)):
        growing = scribe.messages[0].replace(
            role=Role.ASSISTANT, content=content, metadata=partial, id=scribe.ulids.new()
        )
        assert validate([*scribe.messages, growing]) == []
        assert loads(dumps(growing), strict=True) == growing
        finished = growing.replace(metadata=MessageMetadata())
        assert "model_is_named" in [v.rule for v in validate([*scribe.messages, finished])]


# Events

ANSWER = json.loads(dumps(Message.assistant("hi")))
EIGHT: list[dict[str, Any]] = [
    {"type": "text_delta", "index": 0, "text": "h"},
    {"type": "tool_use_start", "index": 1, "id": "tu_1", "name": "read_file"},
    {"type": "tool_use_input_delta", "index": 1, "text": '{"pa'},
    {"type": "tool_use_end", "index": 1, "input": {"path": "a"}},
    {"type": "thinking_delta", "index": 0, "text": "hm"},
    {"type": "message_complete", "response": {"message": ANSWER}},
    {"type": "usage_update", "usage": {"output_tokens": 3}},
    {"type": "error", "error": {"kind": "server_error", "message": "gone"}, "partial": ANSWER},
]
OURS: list[dict[str, Any]] = [
    {"type": "message_start", "model": "gpt-5", "response_id": "resp_1"},
    {"type": "block_start", "index": 0, "block": {"type": "text", "text": ""}},
    {"type": "block_delta", "index": 0, "field": "signature", "value": "c2ln"},
    {"type": "block_end", "index": 0, "block": {"type": "text", "text": "hi"}},
    {"type": "stop", "stop_reason": "end_turn", "raw_stop_reason": "stop"},
    {"type": "other", "frame": {"number": 3, "rest": {"anthropic": {"type": "ping"}}}},
]


@requirement("S002-87")
@pytest.mark.parametrize("plain", [*EIGHT, *OURS], ids=lambda plain: plain["type"])
def test_an_event_is_told_by_its_type(plain: dict[str, Any]) -> None:
    event: Any = loads(json.dumps(plain), Event, strict=True)  # type: ignore[call-overload]
    assert event.__struct_config__.tag == plain["type"]
    assert event.choice == 0
    assert json.loads(dumps(event)) == plain


@requirement("S002-87")
def test_there_are_eight_base_events_and_six_more() -> None:
    known = {cls.__struct_config__.tag for cls in get_args(Event)}
    assert known == {plain["type"] for plain in [*EIGHT, *OURS]}
    assert len(EIGHT) == 8


@requirement("S002-87")
def test_live_connections_have_dotted_names_for_seven_events() -> None:
    known = {cls.__struct_config__.tag for cls in get_args(Event)}
    assert WIRE_NAMES.keys() <= known
    assert set(WIRE_NAMES.values()) == {
        "message.start",
        "text.delta",
        "thinking.delta",
        "tool.use_start",
        "tool.use_input_delta",
        "tool.use_end",
        "message.complete",
    }


def test_the_rest_of_a_stream_is_kept_with_its_frame() -> None:
    data = json.dumps(
        {"type": "text_delta", "index": 0, "text": "h", "choice": 1, "frame": {"number": 2}}
    )
    event: Any = loads(data, Event, strict=True)  # type: ignore[call-overload]
    assert (event.choice, event.frame.number, event.frame.rest) == (1, 2, None)
    assert json.loads(dumps(event)) == json.loads(data)
