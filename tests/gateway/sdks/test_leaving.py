"""A client that leaves takes its request with it: upstream hears of it at once."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import anthropic
import ollama
import openai
import pytest
from google import genai
from google.genai import types

from interlingua.gateway.shared.state import Exchange, NoTrace
from interlingua.model.exchange import ErrorKind
from tests.gateway.sdks.clients import CLIENTS
from tests.gateway.sdks.provider import BACKS, Upstream, settings, targets
from tests.gateway.sdks.standing import Standing, standing
from tests.replay import faults

# What the SDKs themselves do in a way that their own libraries warn of.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning"),
]
PAIRS = [(front, back) for front in CLIENTS for back in BACKS]
AT_ONCE = 0.5
HELLO: Any = [{"role": "user", "content": "Hello"}]


class Ended(NoTrace):
    """A trace that counts."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def finished(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)


class Place(NamedTuple):
    here: Standing
    upstream: Upstream
    ended: Ended


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    store = str(tmp_path_factory.mktemp("leaving") / "gateway.db")
    ended = Ended()
    with (
        Upstream() as upstream,
        standing(settings(store=store), targets(upstream.url), trace=ended) as here,
    ):
        upstream.size = 1
        yield Place(here, upstream, ended)


async def _chat(url: str, model: str, stream: bool) -> AsyncIterator[str]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        if not stream:
            await client.chat.completions.create(model=model, messages=HELLO)
            return
        result = await client.chat.completions.create(model=model, messages=HELLO, stream=True)
        async for chunk in result:
            yield (chunk.choices[0].delta.content or "") if chunk.choices else ""


async def _responses(url: str, model: str, stream: bool) -> AsyncIterator[str]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        if not stream:
            await client.responses.create(model=model, input="Hello")
            return
        result = await client.responses.create(model=model, input="Hello", stream=True)
        async for event in result:
            yield event.delta if event.type == "response.output_text.delta" else ""


async def _anthropic(url: str, model: str, stream: bool) -> AsyncIterator[str]:
    async with anthropic.AsyncAnthropic(base_url=url, api_key="any", max_retries=0) as client:
        asked: Any = {"model": model, "messages": HELLO, "max_tokens": 99}
        if not stream:
            await client.messages.create(**asked)
            return
        async with client.messages.stream(**asked) as reported:
            async for text in reported.text_stream:
                yield text


async def _gemini(url: str, model: str, stream: bool) -> AsyncIterator[str]:
    options = types.HttpOptions(base_url=url)
    client = genai.Client(api_key="any", vertexai=False, http_options=options)
    try:
        if not stream:
            await client.aio.models.generate_content(model=model, contents="Hello")
            return
        result = await client.aio.models.generate_content_stream(model=model, contents="Hello")
        async for chunk in result:
            yield chunk.text or ""
    finally:
        await client.aio.aclose()
        client.close()


async def _ollama(url: str, model: str, stream: bool) -> AsyncIterator[str]:
    async with ollama.AsyncClient(host=url) as client:
        if not stream:
            await client.chat(model, HELLO)
            return
        async for line in await client.chat(model, HELLO, stream=True):
            yield line.message.content or ""


ASK = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}


async def leave(place: Place, front: str, back: str, stream: bool, heard: bool) -> float:
    """Ask, go away before the first word or after it; when that was."""
    word = asyncio.Event()

    async def ask() -> None:
        async for text in ASK[front](place.here.url, f"back-{back}", stream):
            if text:
                word.set()

    task = asyncio.ensure_future(ask())
    if heard:
        await asyncio.wait_for(word.wait(), 5)
    while not place.upstream.received:
        await asyncio.sleep(0.005)
        assert not task.done(), task
    await asyncio.sleep(0.02)
    at = time.monotonic()
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()
    return at


@pytest.mark.parametrize("moment", ["whole", "before-the-first-word", "in-the-middle"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_upstream_is_cancelled_when_the_client_leaves(
    place: Place, front: str, back: str, moment: str
) -> None:
    upstream, ended = place.upstream, place.ended
    upstream.clear()
    ended.exchanges.clear()
    heard = moment == "in-the-middle"
    upstream.stage(faults.silence(3000 if heard else None))
    at = asyncio.run(leave(place, front, back, moment != "whole", heard))
    received = upstream.received[0]
    assert upstream.wait_until(lambda: received.left_at is not None, 2.0)
    assert received.left_at is not None
    assert received.left_at - at < AT_ONCE
    assert upstream.wait_until(lambda: bool(ended.exchanges), 2.0)
    (exchange,) = ended.exchanges
    assert (exchange.outcome.status, exchange.outcome.error) == (499, ErrorKind.CANCELLED)
    assert len(upstream.received) == 1


def test_clients_that_leave_at_any_moment_leave_nothing_behind(place: Place) -> None:
    upstream, ended = place.upstream, place.ended
    upstream.clear()
    ended.exchanges.clear()
    upstream.stage(always=faults.drip(64, 0.002))
    before = place.here.tasks()
    chance = random.Random(7)
    where = urlsplit(place.here.url)
    count = 150
    for _ in range(count):
        back = chance.choice(list(BACKS))
        body = json.dumps({"model": f"back-{back}", "messages": HELLO, "stream": True}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {where.netloc}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection((where.hostname or "", where.port or 0)) as client:
            client.sendall(head.encode() + body)
            time.sleep(chance.random() * 0.03)
    assert upstream.wait_until(lambda: len(ended.exchanges) >= count, 5.0)
    assert upstream.wait_until(lambda: place.here.tasks() <= before, 5.0)
    assert upstream.wait_until(
        lambda: all(each.finished or each.left_at is not None for each in upstream.received), 5.0
    )
    assert (
        len({exchange.arrival.id for exchange in ended.exchanges}) == len(ended.exchanges) == count
    )
