"""What a stream is made of."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from interlingua.model.blocks import TextBlock
from interlingua.model.codec import dumps, loads
from interlingua.model.events import WIRE_NAMES, Event
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus
from interlingua.model.rules import validate
from tests.model.exchanges import Scribe

requirement = pytest.mark.requirement


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
