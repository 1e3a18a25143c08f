"""Conversations, background, cancel, items of the input and counting, by the official SDK, with
models of other vendors behind the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.gateway.responses.running import asynchronous
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Upstream]:
    with Upstream(pace=0.01) as provider:
        provider.configure(tmp_path)
        yield provider


def client(here: Served, token: str = "none") -> Any:
    return openai.AsyncOpenAI(base_url=f"{here.base}/v1", api_key=token, max_retries=0)


async def until_done(ai: Any, id: str, seconds: float = 30.0) -> Any:
    async with asyncio.timeout(seconds):
        while True:
            response = await ai.responses.retrieve(id)
            if response.status not in ("queued", "in_progress"):
                return response
            await asyncio.sleep(0.05)


@asynchronous
async def test_the_eight_operations_of_conversations(tmp_path: Path, provider: Upstream) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        hello = {"type": "message", "role": "user", "content": "hello"}
        made = await ai.conversations.create(items=[hello], metadata={"a": "b"})
        assert made.metadata == {"a": "b"}
        assert (await ai.conversations.retrieve(made.id)).id == made.id
        assert (await ai.conversations.update(made.id, metadata={"c": "d"})).metadata == {"c": "d"}
        added = await ai.conversations.items.create(made.id, items=[{**hello, "content": "two"}])
        (item,) = added.data
        texts = [
            each.content[0].text
            async for each in ai.conversations.items.list(made.id, order="asc", limit=1)
        ]
        assert texts == ["hello", "two"]
        found = await ai.conversations.items.retrieve(item.id, conversation_id=made.id)
        assert found.content[0].text == "two"
        await ai.conversations.items.delete(item.id, conversation_id=made.id)
        with pytest.raises(openai.NotFoundError):
            await ai.conversations.items.retrieve(item.id, conversation_id=made.id)
        assert (await ai.conversations.delete(made.id)).deleted
        with pytest.raises(openai.NotFoundError):
            await ai.conversations.retrieve(made.id)


@pytest.mark.parametrize("model", [ANTHROPIC, OPENAI])
@pytest.mark.parametrize("stream", [False, True])
@asynchronous
async def test_a_response_goes_on_from_its_conversation(
    tmp_path: Path, provider: Upstream, model: str, stream: bool
) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        made = await ai.conversations.create()
        for words in ("one", "two"):
            ask = {"model": model, "input": words, "conversation": made.id}
            response = await ai.responses.create(**ask, stream=stream)
            if stream:
                response = [event async for event in response][-1].response
            assert response.conversation.id == made.id
        assert response.output_text == "Answer 2 to: two"
        items = [item async for item in ai.conversations.items.list(made.id, order="asc")]
        texts = [item.content[0].text for item in items]
        assert texts == ["one", "Answer 1 to: one", "two", "Answer 2 to: two"]
        assert len({item.id for item in items}) == 4
        counted = await ai.responses.input_tokens.count(
            model=ANTHROPIC, input="x", conversation=made.id
        )
        assert counted.object == "response.input_tokens"
        assert "Answer 2" in str(provider.requests[-1])
    assert "Answer 1" in str(provider.requests[1])


@asynchronous
async def test_conversations_belong_to_their_key(tmp_path: Path, provider: Upstream) -> None:
    one, other = [key(tmp_path, name, keep_content=True).token for name in ("one", "other")]
    strict = key(tmp_path, "strict").token
    async with served(tmp_path) as here, client(here, one) as ai:
        made = await ai.conversations.create()
        async with client(here, other) as stranger:
            with pytest.raises(openai.NotFoundError):
                await stranger.conversations.retrieve(made.id)
            with pytest.raises(openai.NotFoundError):
                await stranger.responses.create(model=ANTHROPIC, input="x", conversation=made.id)
            run = await ai.responses.create(model=ANTHROPIC, input="x", background=True)
            for call in (stranger.responses.retrieve, stranger.responses.cancel):
                with pytest.raises(openai.NotFoundError):
                    await call(run.id)
        async with client(here, strict) as careful:
            with pytest.raises(openai.BadRequestError, match="does not allow content"):
                await careful.conversations.create()
            with pytest.raises(openai.BadRequestError, match="does not allow content"):
                await careful.responses.create(model=ANTHROPIC, input="x", background=True)


@asynchronous
async def test_a_response_runs_in_the_background(tmp_path: Path, provider: Upstream) -> None:
    token = key(tmp_path, keep_content=True).token
    async with served(tmp_path) as here, client(here, token) as ai:
        queued = await ai.responses.create(model=ANTHROPIC, input="one", background=True)
        assert queued.status == "queued"
        assert queued.background is True
        done = await until_done(ai, queued.id)
        assert done.status == "completed"
        assert done.output_text == "Answer 1 to: one"
        assert done.id == queued.id
        items = [item async for item in ai.responses.input_items.list(queued.id)]
        assert [item.content[0].text for item in items] == ["one"]
        next = await ai.responses.create(
            model=ANTHROPIC, input="two", previous_response_id=queued.id
        )
        assert next.output_text == "Answer 2 to: two"
        assert "Answer 1" in str(provider.requests[1])
        items = [item async for item in ai.responses.input_items.list(next.id)]
        assert [item.content[0].text for item in items] == ["two"]
        again = await ai.responses.cancel(queued.id)
        assert again.status == "completed"
        with pytest.raises(openai.BadRequestError, match="background=true"):
            await ai.responses.cancel(next.id)
        await ai.responses.delete(queued.id)
        with pytest.raises(openai.NotFoundError):
            await ai.responses.retrieve(queued.id)


@asynchronous
async def test_its_stream_is_resumed_from_any_event(tmp_path: Path, provider: Upstream) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        stream = await ai.responses.create(
            model=ANTHROPIC, input="slow", background=True, stream=True
        )
        first: list[Any] = []
        async for event in stream:
            first.append(event)
            if len(first) == 20:
                break
        await stream.close()
        id, last = first[0].response.id, first[-1].sequence_number
        rest = [
            event
            async for event in await ai.responses.retrieve(id, stream=True, starting_after=last)
        ]
        numbers = [event.sequence_number for event in [*first, *rest]]
        assert numbers == list(range(len(numbers)))
        deltas = [e.delta for e in [*first, *rest] if e.type == "response.output_text.delta"]
        assert rest[-1].type == "response.completed"
        assert "".join(deltas) == rest[-1].response.output_text
        assert (await ai.responses.retrieve(id)).status == "completed"


@asynchronous
async def test_it_can_be_cancelled(tmp_path: Path, provider: Upstream) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        run = await ai.responses.create(model=ANTHROPIC, input="slow", background=True)
        async with asyncio.timeout(10):
            while not provider.requests:
                await asyncio.sleep(0.01)
        assert (await ai.responses.cancel(run.id)).status == "cancelled"
        assert (await ai.responses.retrieve(run.id)).status == "cancelled"
        async with asyncio.timeout(10):
            while not provider.left.is_set():
                await asyncio.sleep(0.01)


@asynchronous
async def test_what_fails_in_the_background_says_why(tmp_path: Path, provider: Upstream) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        run = await ai.responses.create(model=ANTHROPIC, input="fail", background=True)
        done = await until_done(ai, run.id)
        assert done.status == "failed"
        assert "no such luck" in done.error.message


@asynchronous
async def test_another_process_finishes_what_one_left(tmp_path: Path, provider: Upstream) -> None:
    async with served(tmp_path) as here, client(here) as ai:
        run = await ai.responses.create(model=ANTHROPIC, input="slow", background=True)
        async with asyncio.timeout(10):
            while not provider.requests:
                await asyncio.sleep(0.01)
    provider.pace = 0.0
    async with served(tmp_path) as here, client(here) as ai:
        done = await until_done(ai, run.id)
        assert done.status == "completed"
        assert done.output_text.startswith("w0 w1 ")
        events = [e async for e in await ai.responses.retrieve(run.id, stream=True)]
        numbers = [event.sequence_number for event in events]
        assert numbers == sorted(set(numbers))
    assert len(provider.requests) == 2
