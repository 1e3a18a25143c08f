"""The generated values are what they claim to be: JSON-able, plausible, and of every kind."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from interlingua.model.blocks import BLOCK_TYPES, TYPE_OF, ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps, loads
from interlingua.model.events import Event
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.ids import is_tool_id, is_ulid
from interlingua.model.message import PLACEMENT, Message, Role
from interlingua.model.rules import validate
from interlingua.model.tools import ToolDefinition
from tests.effort import examples
from tests.laws import strategies as il

Messages = tuple[Message, ...]
some = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])


def assert_survives(value: Any, type: Any) -> None:
    data = dumps(value)
    again = loads(data, type)
    assert again == value
    assert dumps(again) == data


@given(il.json_objects())
@some
def test_json_survives_inside_a_block(value: dict[str, Any]) -> None:
    assert_survives(ToolUseBlock("call_1", "add", value), ToolUseBlock)


@pytest.mark.parametrize("name", sorted(BLOCK_TYPES))
@given(data=st.data())
@some
def test_blocks_of_each_type_survive(data: st.DataObject, name: str) -> None:
    block = data.draw(il.BLOCKS[name])
    assert TYPE_OF[type(block)] == name
    assert_survives(block, BLOCK_TYPES[name])


@pytest.mark.parametrize(
    ("strategy", "type"),
    [
        pytest.param(il.messages(with_raw=True), Message, id="message"),
        pytest.param(il.messages(stored=True), Message, id="stored-message"),
        pytest.param(il.conversations(with_raw=True), Messages, id="conversation"),
        pytest.param(il.conversations(stored=True), Messages, id="stored-conversation"),
        pytest.param(il.conversations(failures=True), Messages, id="with-failures"),
        pytest.param(il.tools(with_raw=True), ToolDefinition, id="tool"),
        pytest.param(il.options(with_raw=True), Options, id="options"),
        pytest.param(il.requests(with_raw=True), Request, id="request"),
        pytest.param(il.responses(with_raw=True), Response, id="response"),
        pytest.param(il.events(with_raw=True), list[Event], id="events"),
    ],
)
@given(data=st.data())
@some
def test_values_survive_json(data: st.DataObject, strategy: Any, type: Any) -> None:
    assert_survives(data.draw(strategy), type)


@pytest.mark.parametrize("role", list(Role))
@given(data=st.data())
@some
def test_messages_hold_only_what_their_role_may(data: st.DataObject, role: Role) -> None:
    message = data.draw(il.messages(role, with_raw=True))
    assert message.role is role
    assert {TYPE_OF[type(block)] for block in message.content} <= PLACEMENT[role]


@given(il.conversations())
@some
def test_every_call_of_a_conversation_is_answered_once(messages: tuple[Message, ...]) -> None:
    blocks = [block for message in messages for block in message.content]
    calls = [block.id for block in blocks if isinstance(block, ToolUseBlock)]
    answers = [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]
    assert len(set(calls)) == len(calls)
    assert sorted(calls) == sorted(answers)


@given(il.conversations(stored=True))
@some
def test_a_session_holds_stored_conversations(messages: tuple[Message, ...]) -> None:
    ids = [str(message.id) for message in messages]
    times = [message.created_at for message in messages if message.created_at is not None]
    assert all(is_ulid(id) for id in ids)
    assert ids == sorted(set(ids))
    assert times == sorted(set(times))
    assert len(times) == len(messages)
    assert len({message.session_id for message in messages}) == 1
    calls = [block for m in messages for block in m.content if isinstance(block, ToolUseBlock)]
    assert all(is_tool_id(call.id) for call in calls)


@given(il.conversations() | il.conversations(stored=True, with_raw=True, failures=True))
@some
def test_conversations_are_valid(messages: tuple[Message, ...]) -> None:
    assert not validate(messages)


@given(il.conversations())
@some
def test_raw_is_made_only_when_asked_for(messages: tuple[Message, ...]) -> None:
    data = dumps(messages)
    assert b'"raw":' not in data
    assert b'"provider_raw":' not in data
    assert b'"unknown"' not in data


def test_conversations_come_with_blocks_of_every_type() -> None:
    seen: set[str] = set()

    def is_all_seen(messages: tuple[Message, ...]) -> bool:
        seen.update(TYPE_OF[type(block)] for message in messages for block in message.content)
        return seen == set(BLOCK_TYPES)

    # Looks until they have all come, and fails where they have not after so many.
    find(
        il.conversations(with_raw=True),
        is_all_seen,
        settings=settings(
            some, max_examples=200, phases=[Phase.generate], report_multiple_bugs=False
        ),
        random=Random(0),
    )
