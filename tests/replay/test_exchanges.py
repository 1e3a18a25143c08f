"""Paths lead to their dialect, and recordings become the bytes that a provider would send."""

from __future__ import annotations

import base64
import json

import msgspec
import pytest

import interlingua as il
from interlingua.dialects.framing import DECODERS
from interlingua.model.base import same
from tests.laws import corpus
from tests.replay.exchanges import Exchange, from_record, spelling
from tests.replay.routes import Route, path_of, route_of

STREAMED = b'{"stream": true}'
PATHS: dict[str, Route] = {
    "/v1/chat/completions": Route("openai-chat", False),
    "/openai/v1/chat/completions": Route("openai-chat", False),
    "/openai/deployments/some-model/chat/completions": Route("openai-chat", False),
    "/chat/completions": Route("openai-chat", False),
    "/api/v1/chat/completions": Route("openrouter", False),
    "/v1/responses": Route("openai-responses", False),
    "/v1/messages": Route("anthropic", False),
    "/anthropic/v1/messages": Route("anthropic", False),
    "/model/m/invoke": Route("anthropic", False, None, "m"),
    "/model/m/invoke-with-response-stream": Route("anthropic", True, "invoke", "m"),
    "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict": Route(
        "anthropic", False, None, "m"
    ),
    "/v1beta/models/m:generateContent": Route("gemini", False, None, "m"),
    "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent": Route(
        "gemini", True, "json", "m"
    ),
    "/api/chat": Route("ollama", False),
    "/model/us.amazon.nova%3A0/converse": Route("bedrock", False, None, "us.amazon.nova:0"),
    "/model/m/converse-stream": Route("bedrock", True, None, "m"),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_says_the_dialect_and_whether_it_streams(path: str) -> None:
    assert route_of(path) == PATHS[path]


@pytest.mark.parametrize("path", ["/", "/v1/models", "/v1/messages/count_tokens", "/elsewhere"])
def test_a_path_of_nobody_has_no_route(path: str) -> None:
    assert route_of(path) is None


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "openrouter"])
def test_a_body_says_whether_it_streams(dialect: str) -> None:
    path = path_of(dialect, "m", False)
    assert [route_of(path, body=body).is_stream for body in (STREAMED, b"{}", b"no")] == [  # type: ignore[union-attr]  # it has a route
        True,
        False,
        False,
    ]


def test_ollama_streams_unless_it_is_told_not_to() -> None:
    streams = [route_of("/api/chat", body=body) for body in (b"{}", b'{"stream": false}')]
    assert streams == [Route("ollama", True), Route("ollama", False)]


def test_gemini_says_in_the_query_how_it_streams() -> None:
    path = path_of("gemini", "publishers/google/models/m", True)
    assert route_of(path, "alt=sse&key=k") == Route("gemini", True, "sse", "m")
    assert route_of(path, "key=k") == Route("gemini", True, "json", "m")


def test_requests_are_the_same_however_they_are_spelled() -> None:
    assert spelling(b'{"a": 1, "b": [2]}') == spelling(b'{"b":[2],"a":1}')
    assert spelling(b'{"a":1}') != spelling(b'{"a":2}')
    assert spelling(b"no json") == b"no json"


@pytest.mark.parametrize("dialect", il.dialects())
def test_every_recording_is_written_as_it_was_recorded(dialect: str) -> None:
    corpus.corpus_or_skip()
    count = 0
    for record in corpus.records(dialect):
        exchange = from_record(record)
        route = route_of(exchange.path, body=exchange.request or b"")
        assert route is not None, record
        assert route.dialect == dialect, record
        answer = exchange.answer(route.framing)
        assert answer.status == record.status
        if record.stream is None:
            assert same(msgspec.json.decode(answer.body), record.response), record
        else:
            _same_frames(record, exchange)
        count += 1
    assert count > 30


def _same_frames(record: corpus.Record, exchange: Exchange) -> None:
    assert record.stream is not None
    answer = exchange.answer()
    assert answer.framing is not None
    frames = DECODERS[answer.framing]().feed(answer.body)
    extra = record.framing == "data-only" and exchange.dialect in ("openai-chat", "openrouter")
    assert len(frames) == len(record.stream) + extra, record
    for one, other in zip(frames, record.stream, strict=False):
        assert other.event is None or one.event == other.event, record
        data = one.data if isinstance(other.data, str) else json.loads(one.data)
        assert same(data, other.data), record


def test_a_frame_inside_a_frame_of_bedrock_can_be_unpacked() -> None:
    frame = il.Frame("message_stop", '{"type":"message_stop"}')
    exchange = Exchange("x", "anthropic", "/model/m/invoke", frames=(frame,))
    (packed,) = DECODERS["aws"]().feed(exchange.answer("invoke").body)
    assert packed.event == "chunk"
    assert base64.b64decode(json.loads(packed.data)["bytes"]).decode() == frame.data
