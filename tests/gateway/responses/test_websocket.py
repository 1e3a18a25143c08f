"""Responses over WebSocket, asked by the official SDK, with models of other vendors behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from interlingua.gateway.settings import Limits
from tests.gateway.responses.running import asynchronous
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served, settings_in


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Upstream]:
    with Upstream(pace=0.01) as provider:
        provider.configure(tmp_path)
        yield provider


def client(here: Served, token: str = "none") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{here.base}/v1", api_key=token, max_retries=0)


async def until_end(connection: Any) -> list[Any]:
    """The events of one response, to its last."""
    events: list[Any] = []
    async with asyncio.timeout(20):
        while True:
            events.append(await connection.recv())
            if events[-1].type in ("response.completed", "response.failed", "error"):
                return events


@asynccontextmanager
async def connected(home: Path, token: str = "none") -> AsyncIterator[tuple[Served, Any]]:
    async with (
        served(home) as here,
        client(here, token) as ai,
        ai.responses.connect() as connection,
    ):
        yield here, connection


@pytest.mark.parametrize("model", [ANTHROPIC, OPENAI])
@asynchronous
async def test_a_response_continues_with_what_is_new_alone(
    tmp_path: Path, provider: Upstream, model: str
) -> None:
    async with connected(tmp_path) as (_, connection):
        await connection.response.create(model=model, input="one", store=False)
        first = await until_end(connection)
        assert [each.sequence_number for each in first] == list(range(len(first)))
        assert first[0].type == "response.created"
        assert "stream_id" not in first[0].to_dict()
        assert first[-1].response.output_text == "Answer 1 to: one"
        id = first[-1].response.id
        await connection.response.create(
            model=model, input="two", previous_response_id=id, store=False
        )
        second = await until_end(connection)
        assert second[-1].response.previous_response_id == id
        assert second[-1].response.output_text == "Answer 2 to: two"
    sent = str(provider.requests[1])
    assert "one" in sent
    assert "Answer 1" in sent
    assert "two" in sent


@asynchronous
async def test_a_stored_response_is_found_outside_of_its_socket(
    tmp_path: Path, provider: Upstream
) -> None:
    token = key(tmp_path, keep_content=True).token
    async with connected(tmp_path, token) as (here, connection):
        await connection.response.create(model=ANTHROPIC, input="one")
        id = (await until_end(connection))[-1].response.id
        async with client(here, token) as ai:
            next = await ai.responses.create(model=ANTHROPIC, input="two", previous_response_id=id)
    assert next.output_text == "Answer 2 to: two"
    assert "Answer 1" in str(provider.requests[1])


@asynchronous
async def test_a_request_can_be_prepared_without_an_answer(
    tmp_path: Path, provider: Upstream
) -> None:
    async with connected(tmp_path) as (_, connection):
        await connection.response.create(model=ANTHROPIC, input="before", generate=False)
        prepared = await until_end(connection)
        assert [each.type for each in prepared] == ["response.created", "response.completed"]
        assert prepared[-1].response.output == []
        assert not provider.requests
        id = prepared[-1].response.id
        await connection.response.create(
            model=ANTHROPIC, input=[], previous_response_id=id, stream_id="lane"
        )
        answered = await until_end(connection)
        assert {each.stream_id for each in answered} == {"lane"}
        assert answered[-1].response.output_text == "Answer 1 to: before"


@asynchronous
async def test_what_cannot_be_done_is_refused_by_name(tmp_path: Path, provider: Upstream) -> None:
    async with connected(tmp_path) as (_, connection):
        await connection.response.create(model=ANTHROPIC, input="x", previous_response_id="resp_0")
        (unknown,) = await until_end(connection)
        assert unknown.error.code == "previous_response_not_found"
        assert unknown.status == 400
        await connection.response.create(model=ANTHROPIC, input="x", background=True)
        (background,) = await until_end(connection)
        assert background.error.param == "background"
        await connection.response.create(model="no:such-model", input="x", generate=False)
        (model,) = await until_end(connection)
        assert model.error.code == "model_not_found"
        await connection.response.steer(input="left", previous_response_id="resp_0")
        steered = await connection.recv()
        assert steered.type == "response.steer.failed"
        assert steered.error.code == "steering_not_supported"
        assert steered.steer.input == "left"
        await connection.send_raw("{")
        (broken,) = await until_end(connection)
        assert broken.error.code == "invalid_json"
        await connection.send({"type": "response.sing"})
        (odd,) = await until_end(connection)
        assert odd.error.code == "unknown_event"
        await connection.response.create(model=ANTHROPIC, input="fail")
        assert (await until_end(connection))[-1].error.message
        await connection.response.create(model=ANTHROPIC, input="still here")
        assert (await until_end(connection))[-1].response.status == "completed"


@asynchronous
async def test_lanes_run_at_the_same_time_and_one_lane_in_order(
    tmp_path: Path, provider: Upstream
) -> None:
    async with connected(tmp_path) as (_, connection):
        for lane, words in (("a", "slow one"), ("b", "quick"), ("b", "quicker")):
            await connection.response.create(model=ANTHROPIC, input=words, stream_id=lane)
        ends: list[tuple[str, str]] = []
        while len(ends) < 3:
            event = await connection.recv()
            if event.type == "response.completed":
                ends.append((event.stream_id, event.response.output_text[-7:]))
    assert [lane for lane, _ in ends] == ["b", "b", "a"]
    assert ends[1][1] == "quicker"


@asynchronous
async def test_keys_are_asked_for_and_requests_are_logged(
    tmp_path: Path, provider: Upstream
) -> None:
    made = key(tmp_path, requests_per_minute=2)
    async with served(tmp_path) as here:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await here.http.ws_connect(f"{here.base}/v1/responses")
        assert refused.value.status == 401
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await here.http.ws_connect(
                f"{here.base}/v1/responses", headers={"origin": "https://elsewhere.example"}
            )
        assert refused.value.status == 403
        headers = {"authorization": f"Bearer {made.token}"}
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await here.http.ws_connect(f"{here.base}/v1/chat/completions", headers=headers)
        assert refused.value.status == 404
        async with client(here, made.token) as ai, ai.responses.connect() as connection:
            for words in ("one", "two", "three"):
                await connection.response.create(model=ANTHROPIC, input=words)
                last = (await until_end(connection))[-1]
        assert last.type == "error"
        assert last.status == 429
        assert int(last.error.headers["retry-after"]) > 0
        await here.stored()
        _, rows, _ = await here.ask("GET", "/requests", token=made.token)
    statuses = [each["status"] for each in rows["requests"]]
    assert sorted(statuses) == [200, 200, 429]
    assert rows["requests"][-1]["usage"]["output_tokens"] == 20


@asynchronous
async def test_a_client_that_leaves_ends_its_request_upstream(
    tmp_path: Path, provider: Upstream
) -> None:
    async with connected(tmp_path) as (here, connection):
        await connection.response.create(model=ANTHROPIC, input="slow")
        await connection.recv()
        await connection.close()
        assert await asyncio.to_thread(provider.left.wait, 10)
        await here.stored()
        _, rows, _ = await here.ask("GET", "/requests")
    assert [each["status"] for each in rows["requests"]] == [499]


@asynchronous
async def test_a_draining_gateway_ends_a_response_and_then_the_socket(
    tmp_path: Path, provider: Upstream
) -> None:
    provider.pace = 0.001
    settings = settings_in(tmp_path)
    settings = replace(settings, listen=replace(settings.listen, drain_seconds=20.0))
    async with served(tmp_path, settings) as here, client(here) as ai:
        connection = await ai.responses.connect().enter()
        idle = await here.http.ws_connect(f"{here.base}/v1/responses")
        await connection.response.create(model=ANTHROPIC, input="slow")
        await connection.recv()
        here.server.handle_exit(15, None)
        events = await until_end(connection)
        assert events[-1].type == "response.completed"
        closed = await idle.receive(10)
        assert closed.type is aiohttp.WSMsgType.CLOSE
        assert closed.data == 1012


@asynchronous
async def test_a_response_that_does_not_end_in_time_is_cut_with_an_error(
    tmp_path: Path, provider: Upstream
) -> None:
    settings = settings_in(tmp_path)
    settings = replace(settings, listen=replace(settings.listen, drain_seconds=0.1))
    async with served(tmp_path, settings) as here, client(here) as ai:
        connection = await ai.responses.connect().enter()
        await connection.response.create(model=ANTHROPIC, input="slow")
        await connection.recv()
        here.server.handle_exit(15, None)
        events = await until_end(connection)
        assert events[-1].error.code == "shutting_down"


@asynchronous
async def test_a_message_beyond_the_limit_ends_the_socket(
    tmp_path: Path, provider: Upstream
) -> None:
    settings = settings_in(tmp_path, limits=Limits(body=10_000))
    async with served(tmp_path, settings) as here:
        socket = await here.http.ws_connect(f"{here.base}/v1/responses")
        await socket.send_str("x" * 20_000)
        closed = await socket.receive(10)
        assert closed.data == 1009
