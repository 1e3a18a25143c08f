"""Lists of models and counts of tokens, as the official SDKs ask for them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import ollama
import openai
import pytest
from google import genai

from interlingua.gateway.relay.counting import count, request_of
from interlingua.gateway.settings import RouteSettings
from interlingua.gateway.shared.fronts import ANTHROPIC as ANTHROPIC_FRONT
from interlingua.gateway.shared.fronts import GEMINI, Match
from interlingua.gateway.shared.state import Arrival, Exchange, Refusal
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, key, served, settings_in

ROUTES = {"fast": RouteSettings(ANTHROPIC)}


def run(work: Any) -> None:
    with Upstream() as provider:
        asyncio.run(work(provider))


def test_each_sdk_lists_the_models_and_finds_one(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path).token
        async with served(tmp_path, settings_in(tmp_path, routes=ROUTES)) as gateway:
            await asyncio.to_thread(_sdks, gateway.base, token)

    run(work)


WANTED = {"fast", ANTHROPIC, OPENAI, "local:smollm2-135m-instruct"}


def _sdks(base: str, token: str) -> None:
    with openai.OpenAI(base_url=f"{base}/v1", api_key=token) as chat:
        assert {model.id for model in chat.models.list()} >= WANTED
        assert chat.models.retrieve(ANTHROPIC).owned_by == "anthropic"
        with pytest.raises(openai.NotFoundError):
            chat.models.retrieve("nobody:x")
    bad = openai.OpenAI(base_url=f"{base}/v1", api_key="bad")
    with bad, pytest.raises(openai.AuthenticationError):
        bad.models.list()
    with anthropic.Anthropic(base_url=base, api_key=token) as messages:
        assert {model.id for model in messages.models.list(limit=7)} >= WANTED, "several pages"
        assert messages.models.retrieve("claude-sonnet-4-6").id == ANTHROPIC
    worse = anthropic.Anthropic(base_url=base, api_key="bad")
    with worse, pytest.raises(anthropic.AuthenticationError):
        worse.models.list()
    options = genai.types.HttpOptions(base_url=base, api_version="v1beta")
    with genai.Client(api_key=token, http_options=options) as google:
        listed = list(google.models.list(config={"page_size": 9}))
        assert {model.name for model in listed} >= {f"models/{name}" for name in WANTED}
        assert (google.models.get(model=ANTHROPIC).input_token_limit or 0) > 100_000
    with ollama.Client(base, headers={"authorization": f"Bearer {token}"}) as local:
        assert {model.model for model in local.list().models} >= WANTED


def test_a_key_sees_only_the_models_that_it_may_use(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, allowed_models=(OPENAI,)).token
        async with served(tmp_path, settings_in(tmp_path, routes=ROUTES)) as gateway:
            _, reply, _ = await gateway.ask("GET", "/v1/models", token=token)
            assert [each["id"] for each in reply["data"]] == [OPENAI]
            assert (await gateway.ask("GET", f"/v1/models/{ANTHROPIC}", token=token))[0] == 404
            _, reply, _ = await gateway.ask("GET", "/models", token=token)
            assert reply["data"][0]["capabilities"]["supports_tools"] is True

    run(work)


def test_models_of_providers_without_a_key_are_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    async def work() -> None:
        async with served(tmp_path) as gateway:
            _, reply, _ = await gateway.ask("GET", "/v1/models")
            listed = {each["id"].partition(":")[0] for each in reply["data"]}
            assert "local" in listed
            assert not listed & {"anthropic", "openai"}

    asyncio.run(work())


def test_pages_that_are_asked_for_oddly_are_refused_in_the_dialect(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            version = {"anthropic-version": "2023-06-01"}
            for query in ("limit=0", "limit=x", "after_id=nobody"):
                status, reply, _ = await gateway.ask("GET", f"/v1/models?{query}", headers=version)
                assert (status, reply["type"]) == (400, "error"), query
            status, reply, _ = await gateway.ask("GET", "/v1beta/models?pageToken=x")
            assert (status, reply["error"]["code"]) == (400, 400)
            assert (await gateway.ask("GET", "/api/version"))[1]["version"]

    run(work)


HELLO = {"messages": [{"role": "user", "content": "Hello there, how are you?"}]}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hello there, how are you?"}]}]}
COUNT_A = Match(ANTHROPIC_FRONT, "count_tokens")
COUNT_G = Match(GEMINI, "count_tokens", OPENAI, False)


@pytest.mark.parametrize(
    ("match", "body", "field"),
    [
        (COUNT_A, {**HELLO, "model": OPENAI}, "input_tokens"),
        (COUNT_G, CONTENTS, "totalTokens"),
        (
            COUNT_G,
            {"generateContentRequest": {"model": "models/x", **CONTENTS}},
            "totalTokens",
        ),
    ],
)
def test_a_prompt_is_estimated_where_the_provider_does_not_count(
    tmp_path: Path, match: Match, body: dict[str, Any], field: str
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            exchange = Exchange(Arrival("req_1", match.front.dialect))
            data = json.dumps(body).encode()
            result = await count(gateway.service.gateway, exchange, match, data, {})
            assert result.status == exchange.outcome.status == 200
            assert 5 <= json.loads(result.body)[field] <= 40
            assert (b"x-interlingua-count", b"estimate") in result.headers
            assert provider.requests == []

    run(work)


def test_a_prompt_is_counted_by_the_provider_that_can(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.count = 77
        async with served(tmp_path) as gateway:
            for match, body in ((COUNT_A, HELLO), (COUNT_G._replace(model=ANTHROPIC), CONTENTS)):
                exchange = Exchange(Arrival("req_1", match.front.dialect))
                data = json.dumps({**body, "model": ANTHROPIC} if match is COUNT_A else body)
                result = await count(gateway.service.gateway, exchange, match, data.encode(), {})
                assert list(json.loads(result.body).values()) == [77]
                assert (b"x-interlingua-count", b"provider") in result.headers
            assert "max_tokens" not in provider.requests[-1]

    run(work)


def test_a_body_that_cannot_be_counted_is_refused() -> None:
    for data in (b"", b"[", b"\xff"):
        with pytest.raises(Refusal, match="request body"):
            request_of(COUNT_G, data)
