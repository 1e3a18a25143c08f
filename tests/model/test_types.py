"""The canonical types: what they hold, what they compare by, how they are made."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import interlingua
from interlingua.errors import WriteError
from interlingua.model.base import Value, same
from interlingua.model.blocks import (
    BLOCK_TYPES,
    TYPE_OF,
    AudioBlock,
    Block,
    Cache,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ResultBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.codec import dumps, loads
from interlingua.model.exchange import Options, ProviderError, Request, Response
from interlingua.model.message import Message, Role, from_micros, micros, rewrite, walk
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
from interlingua.model.rules import validate
from interlingua.model.tools import SideEffects, ToolDefinition
from tests.effort import examples
from tests.laws import strategies as il

requirement = pytest.mark.requirement
some = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])

PICTURE = ImageBlock(Source("url", "https://example.com/a.png"), "image/png")
CALL = ToolUseBlock("tu_1", "read_file", {"path": "a.py", "lines": [1, 2]})


def fields(cls: type[Value]) -> list[str]:
    return list(cls.__struct_fields__)


def plain(value: Any) -> Any:
    return msgspec.json.decode(dumps(value))


# Messages


@requirement("S000-1")
def test_one_message_class_serves_every_role_and_provider() -> None:
    messages = [
        Message.system("x"),
        Message.developer("x"),
        Message.user("x"),
        Message.assistant("x", MessageMetadata(provider="openai")),
        Message.assistant("x", MessageMetadata(provider="anthropic")),
        Message.tool_result("a", "x"),
    ]
    assert {type(message) for message in messages} == {Message}
    kinds = [name for name in interlingua.__all__ if name.endswith("Message")]
    assert kinds == ["AssistantMessage", "Message", "ToolMessage", "UserMessage"]


@requirement("S002-14", "S002-17")
def test_a_message_has_these_fields() -> None:
    names = {"id", "session_id", "role", "content", "metadata", "created_at", "schema_version"}
    assert set(fields(Message)) == names | {"name", "changes"}
    assert get_type_hints(Message)["session_id"] == str | None
    assert Message.user("hi").metadata == MessageMetadata()


@requirement("S002-14")
def test_outside_a_session_nothing_is_made_up() -> None:
    message = Message.user("hi")
    assert (message.id, message.session_id, message.created_at) == (None, None, None)
    assert plain(message).keys() == {"role", "content", "schema_version"}


@requirement("S001-4", "S002-15")
def test_there_are_five_roles_and_they_are_words() -> None:
    assert [role.value for role in Role] == ["system", "developer", "user", "assistant", "tool"]
    assert [role.name for role in Role] == ["SYSTEM", "DEVELOPER", "USER", "ASSISTANT", "TOOL"]
    assert all(isinstance(role, str) and str(role) == role.value for role in Role)


@requirement("S002-15")
def test_a_role_may_be_given_as_its_word_and_no_other_word() -> None:
    message = Message("user", (TextBlock("hi"),))  # type: ignore[arg-type]  # as a caller might
    assert message.role is Role.USER
    with pytest.raises(ValueError, match="robot"):
        Message("robot")  # type: ignore[arg-type]


@requirement("S001-5")
def test_developer_instructions_stay_apart_from_system_ones() -> None:
    above, below = Message.developer("Never swear."), Message.system("Be kind.")
    assert (above.role, below.role) == (Role.DEVELOPER, Role.SYSTEM)
    assert above.replace(role=Role.SYSTEM) != above
    stored = loads(dumps([below, above]), list[Message])
    assert [message.role for message in stored] == [Role.SYSTEM, Role.DEVELOPER]


@requirement("S002-9", "S002-16")
@pytest.mark.parametrize("role", list(Role))
def test_content_is_an_ordered_tuple_of_blocks_for_every_role(role: Role) -> None:
    blocks = [TextBlock("b"), TextBlock("a"), TextBlock("c")]
    for content in (blocks, tuple(blocks), iter(blocks)):
        message = Message(role, content)  # type: ignore[arg-type]  # as a caller might
        assert type(message.content) is tuple
        assert list(message.content) == blocks


@requirement("S002-10")
def test_a_tool_result_is_a_message_of_the_tool_role() -> None:
    message = Message.tool_result("tu_1", ["text", PICTURE], is_error=True, tool_name="read_file")
    (block,) = message.content
    assert message.role is Role.TOOL
    assert block == ToolResultBlock("tu_1", (TextBlock("text"), PICTURE), True, "read_file")
    assert message.metadata.parent_tool_use_id == "tu_1"
    assert validate(message) == []


@requirement("S002-11")
def test_system_prompts_are_messages_composed_of_parts() -> None:
    composed = [Message.system("base"), Message.system(["memory", "skills"]), Message.user("hi")]
    assert [block.text for block in composed[1].content if isinstance(block, TextBlock)] == [
        "memory",
        "skills",
    ]
    assert validate(Request(tuple(composed))) == []
    assert "system" not in fields(Request)


@requirement("S002-18")
def test_creation_time_is_utc_to_the_microsecond() -> None:
    there = timezone(timedelta(hours=2))
    message = Message.user("hi").replace(created_at=datetime(2026, 5, 8, 14, 0, 0, 123456, there))
    assert message.created_at == datetime(2026, 5, 8, 12, 0, 0, 123456, UTC)
    assert message.created_at is not None
    assert message.created_at.tzinfo is UTC
    assert plain(message)["created_at"] == "2026-05-08T12:00:00.123456Z"
    assert loads(dumps(message)).created_at == message.created_at


@requirement("S002-18")
def test_a_time_without_a_zone_or_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Message.user("hi").replace(created_at=datetime(2026, 5, 8))
    edge = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))
    with pytest.raises(ValueError, match="years"):
        Message.user("hi").replace(created_at=edge)


ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
FIRST = datetime(1, 1, 2)
LAST = datetime(9999, 12, 30, 23, 59, 59, 999_999)


@requirement("S002-18")
@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_give_back_the_very_time(time: datetime) -> None:
    count = micros(time)
    assert type(count) is int
    assert from_micros(count) == time
    assert from_micros(count).tzinfo is UTC


@requirement("S002-18")
@given(st.datetimes(FIRST, LAST, timezones=ZONES), st.integers(1, 999_999))
def test_microseconds_count_the_same_in_every_zone_and_keep_order(
    time: datetime, step: int
) -> None:
    assert micros(time) == micros(time.astimezone(UTC))
    assert micros(time + timedelta(microseconds=step)) == micros(time) + step


@requirement("S002-18")
@pytest.mark.parametrize(
    ("time", "count"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), -1),
        (datetime(2026, 5, 8, 12, 0, 0, 123_457, UTC), 1_778_241_600_123_457),
        (datetime.min.replace(tzinfo=UTC), -62_135_596_800_000_000),
        (datetime.max.replace(tzinfo=UTC), 253_402_300_799_999_999),
    ],
)
def test_microseconds_are_counted_from_1970(time: datetime, count: int) -> None:
    assert (micros(time), from_micros(count)) == (count, time)


@requirement("S002-19")
def test_every_message_carries_schema_version_one() -> None:
    assert Message.user("hi").schema_version == 1
    assert plain(Message.user("hi"))["schema_version"] == 1
    assert plain([Message.system(""), Message.tool_result("a")])[1]["schema_version"] == 1


# Constructors and accessors


@requirement("S001-19")
def test_a_string_makes_a_message_of_one_text_block() -> None:
    assert Message.user("hi").content == (TextBlock("hi"),)
    assert Message.user("hi").role is Role.USER


@requirement("S001-20")
def test_a_list_of_blocks_and_strings_makes_a_message_of_several() -> None:
    message = Message.user(["look:", PICTURE])
    assert message.content == (TextBlock("look:"), PICTURE)
    assert Message.user(PICTURE).content == (PICTURE,)


@requirement("S001-20")
def test_an_empty_string_is_no_block_and_an_empty_part_is_one() -> None:
    assert Message.user("").content == ()
    assert Message.user([""]).content == (TextBlock(""),)


@pytest.mark.parametrize("content", [b"hi", 5])
def test_what_is_neither_text_nor_blocks_makes_no_message(content: Any) -> None:
    with pytest.raises(TypeError, match="text, a block or several"):
        Message.user(content)


@requirement("S001-22")
def test_each_role_has_a_constructor() -> None:
    made = [
        Message.system("x"),
        Message.developer("x"),
        Message.user("x"),
        Message.assistant("x"),
        Message.tool_result("a", "x"),
    ]
    assert [message.role for message in made] == list(Role)
    (result,) = Message.tool_result("a", "x", True).content
    assert result == ToolResultBlock("a", (TextBlock("x"),), is_error=True)


@requirement("S001-22", "S003-20")
def test_text_joins_text_blocks_in_order_and_nothing_else() -> None:
    content = [ThinkingBlock("hm"), TextBlock("a"), CALL, RefusalBlock("no"), TextBlock("b")]
    assert Message.assistant(content).text == "ab"
    assert Message.assistant([CALL]).text == ""
    assert Message.assistant("").text == ""


@requirement("S001-23")
def test_a_sender_may_be_named_and_an_image_may_ask_for_detail() -> None:
    assert Message.user("hi").name is None
    assert plain(Message.user("hi", name="ada"))["name"] == "ada"
    assert PICTURE.detail is None
    for detail in ("auto", "low", "high"):
        assert plain(PICTURE.replace(detail=detail))["detail"] == detail


@requirement("S003-21")
def test_tool_calls_are_ordered_copies() -> None:
    second = CALL.replace(id="tu_2")
    message = Message.assistant([CALL, TextBlock("and"), second])
    before = dumps(message)
    calls = message.tool_calls
    assert calls == [CALL, second]
    calls[0].input["path"] = "changed"
    calls[0].input["lines"].append(3)
    calls.clear()
    assert dumps(message) == before
    assert message.tool_calls == [CALL, second]


@requirement("S003-21")
def test_without_calls_the_list_is_empty() -> None:
    assert Message.assistant("hi").tool_calls == []
    assert Message.assistant("").tool_calls == []


def test_reasoning_is_the_thinking_that_can_be_read() -> None:
    content = [ThinkingBlock("one", "sig"), RedactedThinkingBlock("xx"), ThinkingBlock("two")]
    assert Message.assistant(content).reasoning == "one\ntwo"
    assert Message.assistant("hi").reasoning == ""


@requirement("S001-2")
@given(il.conversations(with_raw=True))
@some
def test_a_conversation_keeps_its_order(messages: tuple[Message, ...]) -> None:
    stored = loads(dumps(list(messages)), list[Message])
    assert stored == list(messages)
    assert [dumps(message) for message in stored] == [dumps(message) for message in messages]


# Blocks

SIX = ["text", "tool_use", "tool_result", "image", "thinking", "redacted_thinking"]


@requirement("S002-20")
def test_a_text_block_has_text() -> None:
    assert plain(TextBlock("hi")) == {"type": "text", "text": "hi"}
    assert fields(TextBlock) == ["text", "signature", "citations", "cache", "raw", "phase"]


@requirement("S002-21")
def test_a_tool_use_block_has_id_name_and_an_object() -> None:
    assert plain(ToolUseBlock("tu_1", "read_file", {"path": "a"})) == {
        "type": "tool_use",
        "id": "tu_1",
        "name": "read_file",
        "input": {"path": "a"},
    }
    with pytest.raises(interlingua.ReadError):
        loads(b'{"type":"tool_use","id":"a","name":"b","input":"{}"}', ToolUseBlock)


@requirement("S002-22")
def test_a_tool_result_block_has_blocks_and_no_error_unless_said() -> None:
    block = ToolResultBlock("tu_1", (TextBlock("x"), PICTURE))
    assert block.is_error is False
    assert plain(block) == {
        "type": "tool_result",
        "tool_use_id": "tu_1",
        "content": [{"type": "text", "text": "x"}, plain(PICTURE)],
    }
    assert plain(block.replace(is_error=True))["is_error"] is True
    held = {TYPE_OF[cls] for cls in get_args(ResultBlock)}
    assert held == {"text", "image", "audio", "video", "document", "unknown"}


@requirement("S002-23")
def test_an_image_block_has_a_source_and_a_media_type() -> None:
    assert plain(PICTURE) == {
        "type": "image",
        "source": {"kind": "url", "data": "https://example.com/a.png"},
        "media_type": "image/png",
    }


@requirement("S002-24")
@pytest.mark.parametrize(
    ("kind", "data"),
    [("base64", "aGk="), ("url", "https://example.com/a"), ("file_ref", "pictures/a.png")],
)
def test_an_image_comes_inline_by_link_or_from_the_workspace(kind: Any, data: str) -> None:
    block = ImageBlock(Source(kind, data), "image/png")
    assert plain(block)["source"] == {"kind": kind, "data": data}
    assert loads(dumps(block), ImageBlock, strict=True) == block


@requirement("S002-24")
def test_a_source_of_another_kind_is_refused() -> None:
    with pytest.raises(interlingua.ReadError) as caught:
        loads(b'{"kind":"bytes","data":"x"}', Source, strict=True)
    assert caught.value.path == "$.kind"


@requirement("S002-25")
def test_a_thinking_block_may_be_signed() -> None:
    assert plain(ThinkingBlock("hm")) == {"type": "thinking", "text": "hm"}
    assert plain(ThinkingBlock("", "c2ln")) == {"type": "thinking", "text": "", "signature": "c2ln"}


@requirement("S002-26")
def test_a_redacted_thinking_block_has_data_alone() -> None:
    assert plain(RedactedThinkingBlock("ZGF0YQ==")) == {
        "type": "redacted_thinking",
        "data": "ZGF0YQ==",
    }


@requirement("S002-27", "S002-113")
def test_blocks_are_a_closed_set_told_apart_by_type() -> None:
    assert set(BLOCK_TYPES) >= {*SIX, "audio", "video", "document", "refusal", "unknown"}
    assert set(BLOCK_TYPES.values()) == set(get_args(Block))
    for name, cls in BLOCK_TYPES.items():
        assert cls.__struct_config__.tag == name
        assert cls.__struct_config__.tag_field == "type"
        assert TYPE_OF[cls] == name


@requirement("S002-113")
@pytest.mark.parametrize("cls", [AudioBlock, VideoBlock])
def test_audio_and_video_are_blocks_of_their_own(cls: Any) -> None:
    message = Message.user(cls(Source("base64", "AAAA"), "x/y"))
    assert validate(message) == []
    assert loads(dumps(message), strict=True) == message


@pytest.mark.parametrize("name", sorted(BLOCK_TYPES))
def test_every_block_may_carry_a_cache_mark_and_raw(name: str) -> None:
    hints = get_type_hints(BLOCK_TYPES[name])
    assert hints["cache"] == Cache | None
    assert "raw" in hints


@requirement("S003-12")
def test_four_kinds_of_block_carry_a_signature_nobody_reads() -> None:
    odd = "\u00ff not base64 {}\n"
    summary = CompactionBlock("x", signature=odd)
    signed = [TextBlock("x", odd), ThinkingBlock("x", odd), CALL.replace(signature=odd), summary]
    message = Message.assistant(signed)
    again = loads(dumps(message), strict=True)
    assert [block.signature for block in again.content] == [odd] * 4  # type: ignore[union-attr]
    assert validate(message) == []
    assert {name for name, cls in BLOCK_TYPES.items() if "signature" in fields(cls)} == {
        "compaction",
        "text",
        "thinking",
        "tool_use",
    }


def test_a_citation_counts_code_points() -> None:
    text = "\U0001f642 says hello"
    citation = Citation(cited_text="says", start=2, end=6)
    assert text[citation.start : citation.end] == "says"
    block = TextBlock(text, citations=(citation,))
    assert loads(dumps(block), TextBlock, strict=True) == block


# Metadata

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
    assert fields(CostBreakdown) == ["input", "cached_input", "cache_creation", "output"]
    assert loads(dumps(cost), CostBreakdown, strict=True) == cost


# Tools


@requirement("S002-44")
def test_a_tool_definition_has_these_fields_and_no_overrides() -> None:
    tool = ToolDefinition("read_file", "Reads.", {"type": "object"}, SideEffects.READ)
    assert tool.requires_workspace is True
    assert plain(tool) == {
        "name": "read_file",
        "description": "Reads.",
        "input_schema": {"type": "object"},
        "side_effects": "read",
    }
    assert "provider_overrides" not in fields(ToolDefinition)


@requirement("S002-45")
def test_there_are_five_degrees_of_side_effect() -> None:
    words = ["none", "read", "write", "execute", "network"]
    assert [effect.value for effect in SideEffects] == words


@requirement("S003-22")
def test_a_tools_schema_comes_back_byte_for_byte() -> None:
    schema = (
        b'{"z":1,"type":"object","$defs":{},"properties":{"b":{"const":1.0},"a":{"enum":[null,'
        b'9007199254740993,-0.0,""]}},"required":[],"x-odd":{"$ref":"#/nowhere"}}'
    )
    data = b'{"name":"t","input_schema":' + schema + b"}"
    assert dumps(loads(data, ToolDefinition, strict=True)) == data


# Equality and digest


@requirement("S002-76", "S002-60")
def test_provider_data_plays_no_part_in_equality_and_digest() -> None:
    bare = Message.assistant([TextBlock("hi"), CALL])
    kept = bare.replace(
        content=(TextBlock("hi", raw={"openai-chat": {"x": 1}}), CALL.replace(raw={"gemini": {}})),
        metadata=MessageMetadata(provider_raw={"openai-chat": {"fingerprint": "fp"}}),
    )
    assert kept == bare
    assert (kept.digest(), hash(kept)) == (bare.digest(), hash(bare))
    assert dumps(kept) != dumps(bare)
    request = Request((bare,), "m", raw={"gemini": {"x": 1}})
    assert request == Request((kept,), "m")
    assert request.digest() == Request((kept,), "m").digest()


def test_an_unknown_block_is_compared_by_its_raw() -> None:
    one, other = UnknownBlock({"gemini": {"x": 1}}), UnknownBlock({"gemini": {"x": 2}})
    assert one != other
    assert one.digest() != other.digest()
    assert one == UnknownBlock({"gemini": {"x": 1.0}})


class Sealed(dict[str, Any]):
    """Nobody may look inside."""

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("somebody looked into provider data")

    __getitem__ = __iter__ = __contains__ = __len__ = __eq__ = _refuse
    get = keys = items = values = copy = _refuse
    __hash__ = None  # type: ignore[assignment]


@requirement("S002-60", "S002-76")
def test_core_code_does_not_look_into_provider_data() -> None:
    sealed = Message.assistant([TextBlock("a"), CALL], MessageMetadata(provider_raw=Sealed()))
    open_ = Message.assistant([TextBlock("a"), CALL])
    assert sealed == open_
    assert sealed.digest() == open_.digest()
    assert (sealed.text, sealed.reasoning, sealed.tool_calls) == ("a", "", [CALL])
    assert validate([sealed, Message.tool_result("tu_1")]) == []
    assert [path for path, _, _ in walk([sealed])] == ["$[0].content[0]", "$[0].content[1]"]
    assert rewrite(sealed, lambda block: [block]) is sealed


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (1, 1.0, True),
        (2**70, float(2**70), True),
        (0, -0.0, True),
        (True, 1, False),
        (False, 0, False),
        (None, False, False),
        ("1", 1, False),
        ([], {}, False),
        ([], [None], False),
        ({"a": None}, {}, False),
        ({"a": [1, {"b": True}]}, {"a": [1.0, {"b": True}]}, True),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}, False),
    ],
)
def test_equality_and_digest_are_json_equality(a: Any, b: Any, equal: bool) -> None:
    first, second = ToolUseBlock("i", "n", {"x": a}), ToolUseBlock("i", "n", {"x": b})
    assert same(a, b) is equal
    assert (first == second) is equal
    assert (first != second) is not equal
    assert (first.digest() == second.digest()) is equal


def test_values_of_different_types_are_not_equal() -> None:
    assert ThinkingBlock("x") != TextBlock("x")
    assert TextBlock("x").digest() != ThinkingBlock("x").digest()
    assert TextBlock("x") != {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Usage(cost_usd=Decimal("1.50")), Usage(cost_usd=Decimal("1.5"))),
        (Usage(cost_usd=Decimal("-0")), Usage(cost_usd=Decimal("0.000"))),
        (Usage(cost_usd=Decimal("1E+3")), Usage(cost_usd=Decimal("1000"))),
        (
            Diagnostic("x", timestamp=datetime(2026, 1, 1, 12, tzinfo=UTC)),
            Diagnostic(
                "x", timestamp=datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
            ),
        ),
        (MessageMetadata(status=MessageStatus.COMPLETE), MessageMetadata()),
    ],
)
def test_equal_values_have_equal_digests(a: Value, b: Value) -> None:
    assert a == b
    assert (a != b) is False
    assert a.digest() == b.digest()


MONEY = st.decimals(allow_nan=False, allow_infinity=False)


@given(MONEY, MONEY)
def test_money_digests_are_equal_exactly_where_money_is(a: Decimal, b: Decimal) -> None:
    sign, digits, exponent = a.as_tuple()
    assert isinstance(exponent, int)
    longer = Decimal((sign, (0, *digits, 0), exponent - 1))
    assert Usage(cost_usd=a).digest() == Usage(cost_usd=longer).digest()
    assert (Usage(cost_usd=a).digest() == Usage(cost_usd=b).digest()) == (a == b)


def test_money_beyond_the_decimal_context_is_told_apart() -> None:
    a, b = Decimal("1." + "0" * 40 + "1"), Decimal("1." + "0" * 40 + "2")
    assert Usage(cost_usd=a).digest() != Usage(cost_usd=b).digest()
    assert len(Usage(cost_usd=Decimal("1E+999999")).digest()) == 64


@pytest.mark.parametrize(
    "odd",
    [float("nan"), float("inf"), "\ud800", 10**5000],
    ids=["nan", "infinity", "surrogate", "digits"],
)
def test_what_json_cannot_hold_has_no_digest(odd: Any) -> None:
    with pytest.raises(WriteError):
        ToolUseBlock("i", "n", {"x": odd}).digest()


@given(il.messages(with_raw=True))
@some
@requirement("S002-6")
def test_a_digest_survives_json_and_any_change_shows(message: Message) -> None:
    digest = message.digest()
    assert loads(dumps(message)).digest() == digest
    assert message.replace(name="somebody else").digest() != digest
    assert message.replace(content=(*message.content, TextBlock("more"))).digest() != digest


PROGRAM = """
import sys
from interlingua.model.codec import loads
from interlingua.model.message import Message
for message in loads(sys.stdin.buffer.read(), list[Message]):
    print(message.digest(), hash(message.role) != 0)
"""


@requirement("S002-6")
def test_a_digest_is_the_same_in_every_process() -> None:
    content = [
        TextBlock("\u4e16\u754c"),
        ToolUseBlock("a", "b", {"z": 1, "a": {"y": 1.0, "x": []}}),
    ]
    messages = [
        Message.assistant(content, MessageMetadata(usage=Usage(cost_usd=Decimal("0.10")))),
        Message.user("hi", name="ada").replace(created_at=datetime(2026, 5, 8, tzinfo=UTC)),
    ]
    source = Path(interlingua.__file__).parents[1]
    seen = []
    for seed in ("0", "1", "4711"):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=dumps(messages),
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(source)},
            capture_output=True,
        )
        assert run.returncode == 0, run.stderr
        seen.append([line.split()[0] for line in run.stdout.decode().splitlines()])
    assert seen == [[message.digest() for message in messages]] * 3


@requirement("S002-6")
def test_a_digest_does_not_change_between_releases() -> None:
    message = Message.assistant([TextBlock("hi"), ToolUseBlock("a", "b", {"y": 1.0, "x": [None]})])
    spelled = (
        b'{"content":[{"text":"hi","type":"text"},'
        b'{"id":"a","input":{"x":[null],"y":1},"name":"b","type":"tool_use"}],"role":"assistant"}'
    )
    assert message.digest() == hashlib.sha256(spelled).hexdigest()


def test_equal_words_in_other_places_have_the_same_content_digest() -> None:
    here = Message.user("hi").replace(id="a", session_id="s")
    there = Message.user("hi", name="ada")
    assert here.digest() != there.digest()
    assert here.content_digest() == there.content_digest()
    assert here.content_digest() != Message.assistant("hi").content_digest()


def test_values_can_be_keys() -> None:
    assert len({Message.user("hi"), Message.user("hi"), Message.user("ho")}) == 2


# Immutable values


def test_a_value_cannot_be_changed() -> None:
    message = Message.user("hi")
    with pytest.raises(AttributeError):
        message.role = Role.SYSTEM  # type: ignore[misc]
    assert message.replace(role=Role.SYSTEM).role is Role.SYSTEM
    assert message.role is Role.USER


@given(il.messages(with_raw=True))
@some
def test_values_can_be_copied_and_pickled(message: Message) -> None:
    for again in (copy.deepcopy(message), pickle.loads(pickle.dumps(message)), copy.copy(message)):
        assert dumps(again) == dumps(message)


# Walking and rewriting


def test_walking_visits_blocks_inside_blocks() -> None:
    page = DocumentBlock(Source("blocks", content=(TextBlock("x"), PICTURE)))
    messages = [Message.user("hi"), Message.tool_result("a", ["so", page])]
    visited = [(path, TYPE_OF[type(block)]) for path, _, block in walk(messages)]
    assert visited == [
        ("$[0].content[0]", "text"),
        ("$[1].content[0]", "tool_result"),
        ("$[1].content[0].content[0]", "text"),
        ("$[1].content[0].content[1]", "document"),
        ("$[1].content[0].content[1].source.content[0]", "text"),
        ("$[1].content[0].content[1].source.content[1]", "image"),
    ]


@requirement("S002-50")
def test_rewriting_keeps_the_order_of_what_stays() -> None:
    message = Message.assistant([TextBlock("a"), ThinkingBlock("b"), TextBlock("c")])
    split = rewrite(
        message,
        lambda block: [] if isinstance(block, ThinkingBlock) else [block, TextBlock("!")],
    )
    assert split.text == "a!c!"
    assert rewrite(message, lambda block: [block]) is message


def test_rewriting_raw_alone_is_no_change_to_lose() -> None:
    message = Message.user("hi")
    marked = rewrite(message, lambda block: [block.replace(raw={"gemini": {"x": 1}})])
    assert marked.content[0].raw == {"gemini": {"x": 1}}


# Requests and responses


def test_a_request_is_messages_tools_and_options() -> None:
    request = Request((Message.user("hi"),), "gpt-5", (ToolDefinition("t"),), Options(n=1))
    assert plain(request) == {
        "messages": [plain(Message.user("hi"))],
        "model": "gpt-5",
        "tools": [{"name": "t"}],
        "options": {"n": 1},
    }


def test_a_failed_response_has_an_error_and_an_empty_message() -> None:
    metadata = MessageMetadata(status=MessageStatus.ERROR, stop_reason=StopReason.ERROR)
    failed = Response(
        Message(Role.ASSISTANT, metadata=metadata),
        error=ProviderError(interlingua.ErrorKind.RATE_LIMIT, "slow down", status=429),
    )
    assert validate(failed) == []
    assert loads(dumps(failed), Response, strict=True) == failed
