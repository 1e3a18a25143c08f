"""A message: a role and an ordered tuple of blocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua
from interlingua.model.blocks import (
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
)
from interlingua.model.codec import dumps, loads
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role, from_micros, micros
from interlingua.model.metadata import MessageMetadata
from interlingua.model.rules import validate
from tests.laws import strategies as il
from tests.model.values import CALL, PICTURE, fields, plain, some

requirement = pytest.mark.requirement


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
