"""Claude at Bedrock in Anthropic's own words: address, body, and streams that are wrapped."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.dialects.framing import decoder
from interlingua.model.events import MessageComplete, StreamError
from interlingua.providers.endpoint import endpoint, speaks
from interlingua.providers.read import provider
from interlingua.streams import aws, sse
from tests.adapt.writing import written_for

CLAUDE = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"
HEAD = {"id": "msg_bdrk_1", "type": "message", "role": "assistant", "model": "claude"}
STEPS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            **HEAD,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
]


def wrapped(*steps: dict[str, Any]) -> bytes:
    """The frames as InvokeModelWithResponseStream sends them."""
    inner = [b64encode(json.dumps(step).encode()).decode() for step in steps]
    return b"".join(
        aws.encode(il.Frame("chunk", json.dumps({"bytes": each, "p": "abc"}))) for each in inner
    )


def test_it_has_an_address_of_its_own_that_says_the_model_and_the_stream() -> None:
    environ = {"AWS_REGION": "us-east-1"}
    found = endpoint(CLAUDE, stream=True, environ=environ, dialect="anthropic")
    assert found.url.endswith("-v1%3A0/invoke-with-response-stream")
    assert found.headers["accept"] == "application/vnd.amazon.eventstream"
    assert endpoint(CLAUDE, environ=environ, dialect="anthropic").url.endswith("/invoke")
    assert endpoint(CLAUDE, environ=environ).url.endswith("/converse")
    target = Targets([provider("bedrock")], environ=environ).find(CLAUDE, "anthropic")
    request = il.Request((il.Message.user("hi"),), options=il.Options(max_output_tokens=9))
    body = written_for(request, target, stream=True).wire
    assert {"model", "stream"}.isdisjoint(body)
    assert body["anthropic_version"] == "bedrock-2023-05-31"


def test_only_claude_is_spoken_to_like_this() -> None:
    for name, is_claude in ((CLAUDE, True), ("bedrock:us.amazon.nova-lite-v1:0", False)):
        assert speaks(provider("bedrock"), "anthropic", name) is is_claude
        assert speaks(provider("bedrock"), "bedrock", name)
    assert not speaks(provider("vertex"), "anthropic", "vertex:gemini-3-pro")
    assert not speaks(provider("openai"), "anthropic", "openai:gpt-5")


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_its_streams_are_unwrapped_wherever_they_are_cut(size: int) -> None:
    data = wrapped(*STEPS)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    found = decoder("anthropic")
    frames = [frame for piece in pieces for frame in found.feed(piece)] + found.close()
    assert [frame.event for frame in frames] == [step["type"] for step in STEPS]
    out = b"".join(il.stream_convert(pieces, "anthropic", "anthropic"))
    plain = sse.Decoder()
    parsed = [json.loads(each.data) for each in [*plain.feed(out), *plain.close()]]
    assert parsed == STEPS


def test_exceptions_are_errors_in_anthropics_words() -> None:
    broken = aws.encode(il.Frame("throttlingException", '{"message": "Too many"}'))
    found, reader = decoder("anthropic"), il.dialect("anthropic").stream_reader()
    frames = [*found.feed(wrapped(*STEPS[:3]) + broken), *found.close()]
    events = [event for frame in frames for event in reader.feed(frame)] + reader.close()
    last = events[-1]
    assert isinstance(last, StreamError)
    assert (last.error.kind, last.error.message) == (il.ErrorKind.RATE_LIMIT, "Too many")
    assert last.partial is not None
    assert last.partial.text == "Grüße"


@pytest.mark.parametrize("payload", ["{}", '{"bytes": 5}', '{"bytes": "!"}', "[]", "no"])
def test_what_is_wrapped_oddly_is_refused_or_left_alone(payload: str) -> None:
    found, reader = decoder("anthropic"), il.dialect("anthropic").stream_reader()
    frames = found.feed(aws.encode(il.Frame("chunk", payload)))
    try:
        events = [event for frame in frames for event in reader.feed(frame)] + reader.close()
    except il.ReadError:
        return
    assert not any(isinstance(event, MessageComplete) for event in events)
