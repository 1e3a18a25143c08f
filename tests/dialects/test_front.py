"""What an API promises in every answer is there, and is never taken for something that was said."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.gateway.shared.fronts import front_of
from tests.laws.acceptable import problems

FRONTS = ("openai-chat", "openai-responses", "anthropic")


def answer(front: str) -> Any:
    metadata = il.MessageMetadata(
        response_id="r1",
        response_model="m",
        usage=il.Usage(1, 2),
        stop_reason=il.StopReason.TOOL_USE,
        status=il.MessageStatus.COMPLETE,
    )
    content = (il.TextBlock("hello"), il.ToolUseBlock("call_1", "f", {"a": 1}))
    return (
        il.dialect(front).write_response(il.Response(il.Message.assistant(content, metadata))).wire
    )


@pytest.mark.parametrize("front", FRONTS)
def test_filling_says_nothing_new(front: str) -> None:
    wire = answer(front)
    before = json.dumps(wire)
    filled = front_of(front).filler(b'{"model":"m","temperature":0.5}').whole(wire)
    assert json.dumps(wire) == before  # the answer itself is not changed
    assert len(json.dumps(filled)) > len(before)
    codec = il.dialect(front)
    one, other = codec.read_response(wire), codec.read_response(filled)
    assert other.message.content == one.message.content
    assert other.message.metadata.usage == one.message.metadata.usage
    assert other.message.metadata.stop_reason == one.message.metadata.stop_reason
    assert problems(front, "response", filled) == []


def test_a_response_repeats_its_request() -> None:
    asked = b'{"model":"m","temperature":0.5,"reasoning":{"effort":"low"},"metadata":{"a":"b"}}'
    filled = front_of("openai-responses").filler(asked).whole(answer("openai-responses"))
    assert filled["temperature"] == 0.5
    assert filled["reasoning"] == {"effort": "low", "summary": None}
    assert filled["metadata"] == {"a": "b"}
    assert filled["completed_at"] >= filled["created_at"] > 0


def test_only_frames_with_a_response_are_touched() -> None:
    of_responses = front_of("openai-responses").filler(b"{}")
    delta = b'event: response.output_text.delta\ndata: {"delta":"\\"response\\":{"}\n\n'
    assert of_responses.frames(delta) == delta
    frame = b'event: response.created\ndata: {"type":"response.created","response":{"id":"r"}}\n\n'
    out = of_responses.frames(frame + delta)
    assert out.endswith(b"}\n\n" + delta)
    parsed = json.loads(out.split(b"\n")[1][len("data: ") :])
    assert parsed["response"]["id"] == "r"
    assert parsed["response"]["error"] is None


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"temperature":"hot"}', b"\xff"])
def test_a_request_that_cannot_be_read_is_answered_all_the_same(body: bytes) -> None:
    filled = front_of("openai-responses").filler(body).whole(answer("openai-responses"))
    assert filled["temperature"] == 1.0


def test_chunks_of_chat_have_the_time_and_texts_stay_as_they_are() -> None:
    text = '{"created":0,"x":1}'
    frames = [{"id": "c", "created": 0, "choices": [{"delta": {"content": text}}]}]
    data = b"".join(b"data: %b\n\n" % msgspec.json.encode(frame) for frame in frames)
    out = front_of("openai-chat").filler(b"{}").frames(data)
    parsed = json.loads(out.removeprefix(b"data: "))
    assert abs(parsed["created"] - time.time()) < 60
    assert parsed["choices"] == frames[0]["choices"]
