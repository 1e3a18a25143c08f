"""Input that nobody means well with: every dialect refuses it with an error of ours."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.errors import DepthError, ReadError
from interlingua.streams.frames import Frame

HALF = "\ud83d"
"""Half of a surrogate pair, as other parsers let it through."""
REQUESTS: dict[str, Any] = {
    "anthropic": {"max_tokens": 9, "messages": [{"role": "user", "content": HALF}]},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": HALF}]}]},
    "cohere": {"messages": [{"role": "user", "content": HALF}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": HALF}]}]},
    "ollama": {"messages": [{"role": "user", "content": HALF}]},
    "openai-chat": {"messages": [{"role": "user", "content": HALF}]},
    "openai-responses": {"input": [{"role": "user", "content": HALF}]},
    "openrouter": {"messages": [{"role": "user", "content": HALF}]},
}
EVENTS: dict[str, str | None] = {
    "anthropic": "content_block_delta",
    "bedrock": "contentBlockDelta",
    "cohere": "content-delta",
    "openai-responses": "response.output_text.delta",
}


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_half_a_surrogate_pair_is_refused_in_parsed_requests(name: str) -> None:
    with pytest.raises(ReadError, match="lone surrogate") as caught:
        il.dialect(name).read_request({"model": "m", **REQUESTS[name]}, "m")
    assert caught.value.path.startswith(("$.messages[0].content", "$.contents[0]", "$.input[0]"))


@pytest.mark.parametrize("name", sorted(REQUESTS))
@pytest.mark.parametrize("body", [{HALF: 1}, {"id": HALF}, {"id": [10**30, {"a": HALF}]}])
def test_half_a_surrogate_pair_is_refused_in_parsed_responses(name: str, body: Any) -> None:
    with pytest.raises(ReadError, match="lone surrogate"):
        il.dialect(name).read_response(body)


@pytest.mark.parametrize("name", il.dialects())
@pytest.mark.parametrize(("start", "end"), [('{"a":', "}"), ("[", "]"), ('{"delta":[', "]}")])
def test_a_frame_that_is_nested_too_deep_is_refused(name: str, start: str, end: str) -> None:
    data = start * 3000 + "1" + end * 3000
    for event in (None, EVENTS.get(name)):
        with pytest.raises(DepthError):
            il.dialect(name).stream_reader().feed(Frame(event, data))
