"""Counts and kept responses, through the fronts that clients use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai

from interlingua.events.event import NO_SESSION
from interlingua.gateway.server.drain import last_words
from interlingua.gateway.settings import RouteSettings
from tests.gateway.serving import (
    ANTHROPIC,
    OPENAI,
    Upstream,
    asked,
    key,
    served,
    settings_in,
)

ROUTES = {"grok": RouteSettings("xai:grok-4", dialect="openai-responses")}


def run(home: Path, work: Any) -> None:
    async def inside(provider: Upstream) -> None:
        provider.configure(home)
        with (home / "providers.toml").open("a") as file:
            file.write(f'[providers.xai]\nbase_url = "{provider.url}/v1"\nkey = "k-0123456789"\n')
        async with served(home, settings_in(home, routes=ROUTES)) as gateway:
            await asyncio.to_thread(work, gateway.base, provider)

    with Upstream() as provider:
        asyncio.run(inside(provider))


def test_the_sdks_count_tokens(tmp_path: Path) -> None:
    def work(base: str, provider: Upstream) -> None:
        provider.count = 77
        words = "How many tokens are there in this sentence?"
        with anthropic.Anthropic(base_url=base, api_key="any") as client:
            for model, least, most in ((ANTHROPIC, 77, 77), (OPENAI, 5, 40)):
                result = client.messages.count_tokens(
                    model=model, messages=[{"role": "user", "content": words}]
                )
                assert least <= result.input_tokens <= most
        options = genai.types.HttpOptions(base_url=base, api_version="v1beta")
        with genai.Client(api_key="any", http_options=options) as google:
            assert google.models.count_tokens(model=ANTHROPIC, contents=words).total_tokens == 77
            other = google.models.count_tokens(model=OPENAI, contents=words)
            assert 5 <= (other.total_tokens or 0) <= 40

    run(tmp_path, work)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [ANTHROPIC, "grok"])
def test_a_response_is_gone_on_from_fetched_and_deleted(
    tmp_path: Path, model: str, stream: bool
) -> None:
    token = key(tmp_path, keep_content=True).token

    def work(base: str, provider: Upstream) -> None:
        with openai.OpenAI(base_url=f"{base}/v1", api_key=token) as client:
            ids: list[str] = []
            for words in ("first", "second", "third"):
                previous = ids[-1] if ids else openai.omit
                ids.append(_said(client, model, words, previous, stream))
            assert len(set(ids)) == 3
            result = str(provider.requests[-1])
            for words in ("first", "Answer 1 to: first", "Answer 2 to: second", "third"):
                assert words in result
            assert ids[0] not in result, "an id of ours is no provider's business"
            found = client.responses.retrieve(ids[1])
            assert found.output_text == "Answer 2 to: second"
            client.responses.delete(ids[1])
            with pytest.raises(openai.BadRequestError) as odd:
                _said(client, model, "fourth", ids[2], stream)
            assert odd.value.code == "previous_response_not_found"

    run(tmp_path, work)


def _said(client: openai.OpenAI, model: str, words: str, previous: Any, stream: bool) -> str:
    if not stream:
        made = client.responses.create(model=model, input=words, previous_response_id=previous)
        return made.id
    with client.responses.create(
        model=model, input=words, previous_response_id=previous, stream=True
    ) as events:
        last = list(events)[-1]
    assert last.type == "response.completed"
    return last.response.id


@pytest.mark.parametrize("model", [ANTHROPIC, "grok"])
def test_a_key_that_keeps_no_content_cannot_go_on(tmp_path: Path, model: str) -> None:
    token = key(tmp_path).token

    def work(base: str, provider: Upstream) -> None:
        with openai.OpenAI(base_url=f"{base}/v1", api_key=token) as client:
            first = client.responses.create(model=model, input="first", store=True)
            with pytest.raises(openai.NotFoundError):
                client.responses.retrieve(first.id)
            with pytest.raises(openai.BadRequestError) as odd:
                client.responses.create(model=model, input="second", previous_response_id=first.id)
            assert odd.value.code == "previous_response_not_found"
            assert len(provider.requests) == 1

    run(tmp_path, work)


@pytest.mark.parametrize("others", [False, True])
def test_an_answer_says_what_it_cost_and_a_shutdown_is_no_success(
    tmp_path: Path, others: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """With `others`, the server still has to speak to them when this one has heard its last."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            _, _, headers = await gateway.ask(
                "POST", "/v1/chat/completions", asked("hello", max_tokens=50)
            )
            assert headers["x-interlingua-cost-usd"] == "0.0006"
            stream = asyncio.ensure_future(
                gateway.ask(
                    "POST", "/v1/chat/completions", asked("slow", stream=True, max_tokens=50)
                )
            )
            while not gateway.server.under_way:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            if others:
                (connection,) = gateway.server.server_state.connections
                await last_words(connection.cycle)
            else:
                await gateway.server._cut()
            _, text, _ = await stream
            async with asyncio.timeout(5):
                while gateway.server.under_way:
                    await asyncio.sleep(0.01)
            assert "shutting down" in text
            await gateway.stored()
            done, cut = await gateway.service.store.events(NO_SESSION)
        assert (done.type, done.payload["stop_reason"]) == ("llm.call_completed", "end_turn")
        assert (cut.type, cut.payload["error_class"]) == ("llm.call_failed", "cancelled")
        assert "request_failed" not in caplog.text

    with Upstream() as provider:
        asyncio.run(work(provider))
