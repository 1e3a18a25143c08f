"""Every official SDK on one side, every dialect on the other: text, tools, pictures, thinking."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import interlingua as il
from tests.cassettes.cases import PIXEL
from tests.gateway.sdks.clients import Client
from tests.gateway.sdks.hosts import ALL, HOSTED
from tests.gateway.sdks.provider import ANSWER, BACKS, CITIES, THOUGHT, Upstream, settings, targets
from tests.gateway.sdks.standing import standing

PAIRS = [(front, back) for front in ALL for back in BACKS]
STOPS = {
    "openai-chat": ("stop", "tool_calls"),
    "openai-responses": ("completed", "completed"),
    "anthropic": ("end_turn", "tool_use"),
    "gemini": ("STOP", "STOP"),
    "ollama": ("stop", "stop"),
    "bedrock": ("end_turn", "tool_use"),
    "bedrock-invoke": ("end_turn", "tool_use"),
    "anthropic-bedrock": ("end_turn", "tool_use"),
    "anthropic-mantle": ("end_turn", "tool_use"),
    "anthropic-vertex": ("end_turn", "tool_use"),
    "gemini-vertex": ("STOP", "STOP"),
    "cohere": ("COMPLETE", "TOOL_CALL"),
}
"""How a client is told that an answer is over, and that it is its turn to call."""


class Place(NamedTuple):
    url: str
    upstream: Upstream

    def client(self, front: str, back: str) -> Client:
        self.upstream.clear()
        self.upstream.asked.clear()
        return ALL[front](self.url, f"back-{back}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    store = str(tmp_path_factory.mktemp("matrix") / "gateway.db")
    with (
        Upstream() as upstream,
        standing(settings(store=store), targets(upstream.url)) as here,
    ):
        yield Place(here.url, upstream)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_an_sdk_hears_what_the_provider_said(
    place: Place, front: str, back: str, stream: bool
) -> None:
    client = place.client(front, back)
    client.say("Hello")
    heard = client.hear(stream)
    client.close()
    assert (heard.text, heard.calls) == (ANSWER, [])
    assert heard.stop == STOPS[front][0]
    assert heard.tokens == (21, 13)
    assert place.upstream.asked[0].messages[-1].text == "Hello"
    received = place.upstream.received[0]
    collected = [value for name, value in received.headers if "auth" in name or "key" in name]
    assert any("k-up" in value for value in collected)
    assert not any("any" in value for value in collected)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_an_sdk_runs_a_tool_loop_with_signatures_in_their_places(
    place: Place, front: str, back: str, stream: bool
) -> None:
    client = place.client(front, back)
    client.say("How is the weather in two cities?")
    heard = client.hear(stream, tools=True)
    assert [(call.name, call.input) for call in heard.calls] == [
        ("get_weather", {"city": city}) for city in CITIES
    ]
    assert heard.text == "I look it up."
    assert heard.stop == STOPS[front][1]
    client.answer([(call, f"{call.input['city']}: 1°") for call in heard.calls])
    heard = client.hear(stream, tools=True)
    assert heard.text == f"I heard: {CITIES[0]}: 1°; {CITIES[1]}: 1°"
    client.say("How is the weather now?")
    heard = client.hear(stream, tools=True)
    assert len(heard.calls) == 2
    client.answer([(call, f"{call.input['city']}: 2°") for call in heard.calls])
    assert client.hear(stream, tools=True).text == f"I heard: {CITIES[0]}: 2°; {CITIES[1]}: 2°"
    client.close()
    last = place.upstream.asked[-1].messages
    calls = [call.id for message in last for call in message.tool_calls]
    results = [
        block.tool_use_id
        for message in last
        for block in message.content
        if isinstance(block, il.ToolResultBlock)
    ]
    assert calls == results
    assert len(set(calls)) == 4


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_a_picture_arrives_whole(place: Place, front: str, back: str, stream: bool) -> None:
    client = place.client(front, back)
    client.say("What is this?", base64.b64decode(PIXEL))
    heard = client.hear(stream)
    client.close()
    picture = place.upstream.asked[0].messages[-1].content[-1]
    assert isinstance(picture, il.ImageBlock)
    assert picture.source.data == PIXEL
    assert heard.text.startswith("I see")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_thinking_is_told_where_both_sides_have_a_place_for_it(
    place: Place, front: str, back: str, stream: bool
) -> None:
    client = place.client(front, back)
    client.say("Please think.")
    heard = client.hear(stream)
    assert heard.text == ANSWER
    if back == "openai-chat" or front == "openai-chat":
        assert heard.thinking in ("", THOUGHT)
    else:
        assert heard.thinking == THOUGHT
    client.say("Hello again")
    assert client.hear(stream).text == ANSWER
    client.close()
    turns = [m for m in place.upstream.asked[-1].messages if m.role is il.Role.ASSISTANT]
    signatures = {
        block.signature
        for message in turns
        for block in message.content
        if isinstance(block, il.ThinkingBlock) and block.signature
    }
    assert signatures <= place.upstream.issued
    if back in ("anthropic", "bedrock", "openai-responses"):
        assert len(signatures) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("front", HOSTED)
def test_a_base_url_with_a_version_serves_the_sdks_of_hosts(
    place: Place, front: str, stream: bool
) -> None:
    client = HOSTED[front](f"{place.url}/v1", "back-openai-chat")
    client.say("hello")
    assert client.hear(stream).text == ANSWER
    client.close()
