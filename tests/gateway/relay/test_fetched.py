"""Media by URL through the gateway, for models that want its data."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from interlingua.client.fetching import MediaFetcher
from interlingua.client.retry import RetryPolicy
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.gateway import config
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.gateway.shared.state import NoKeys, Principal
from tests.client.test_fetching import HERE, PIXEL, site
from tests.gateway.loops import Answered, ScriptedProvider, post
from tests.gateway.relay.test_fitted import SAID, Listening

OWN = {"models": ["claude-opus-4-8"], "media": {"by_url": "no"}}
SHOWN: dict[str, Any] = {
    "model": "llava",
    "created_at": "2026-11-17T00:00:00Z",
    "message": {"role": "assistant", "content": "a cat"},
    "done": True,
    "done_reason": "stop",
}
DATA = base64.b64encode(PIXEL).decode()


def body(model: str, url: str) -> dict[str, Any]:
    image = {"type": "image", "source": {"type": "url", "url": url}}
    content = [{"type": "text", "text": "what?"}, image]
    return {"model": model, "max_tokens": 99, "messages": [{"role": "user", "content": content}]}


async def through(
    provider: ScriptedProvider,
    model: str,
    url: str,
    settings: Settings,
    keys: NoKeys | None = None,
    **fetching: Any,
) -> Any:
    """What the provider was asked."""
    places = {key: f"http://127.0.0.1:9/{key}" for key in ("anthropic", "ollama")}
    gateway = Gateway(
        settings,
        targets=Targets(keys={"anthropic": "k"}, base_urls=places, environ={}, profiles=[OWN]),
        transport=provider,
        keys=keys,
        fetcher=MediaFetcher(**{"also_at": [HERE], **fetching}),
    )
    status, data = await post(App(gateway), "/v1/messages", body(model, url))
    await gateway.close()
    assert status == 200, data
    return provider.asked[0]


def seeing(everywhere: bool, here: bool | None = None) -> Settings:
    route = RouteSettings("ollama:llava", dialect="ollama", fetch_media=here)
    return Settings(raises=True, fetch_media=everywhere, routes={"eye": route})


@pytest.mark.parametrize(
    ("settings", "fetched"),
    [
        (seeing(False), False),
        (seeing(True), True),
        (seeing(False, True), True),
        (seeing(True, False), False),
    ],
)
def test_a_gateway_fetches_where_that_is_switched_on(settings: Settings, fetched: bool) -> None:
    async def go() -> None:
        async with site() as here:
            provider = ScriptedProvider("ollama", [SHOWN])
            (message,) = (await through(provider, "eye", here.url(), settings))["messages"]
            assert message.get("images") == ([DATA] if fetched else None)
            assert len(here.asked) == fetched

    asyncio.run(go())


@pytest.mark.parametrize(("key", "fetched"), [(True, True), (False, False), (None, True)])
def test_a_key_has_a_switch_of_its_own(key: bool | None, fetched: bool) -> None:
    async def go() -> None:
        async with site() as here:
            provider = ScriptedProvider("ollama", [SHOWN])
            settings = seeing(not key, here=None if key is None else not key)
            await through(provider, "eye", here.url(), settings, keys=OneKey(key))
            assert len(here.asked) == fetched

    asyncio.run(go())


class OneKey(NoKeys):
    """Everybody has the same key."""

    def __init__(self, fetch_media: bool | None) -> None:
        self._principal = Principal(key_id="gk_1", fetch_media=fetch_media)

    async def find(self, token: str | None) -> Principal:
        return self._principal


class Tired(ScriptedProvider):
    """A provider that is overloaded at first."""

    async def send(self, request: HttpRequest, limits: Limits) -> Answered:
        result = await super().send(request, limits)
        if len(self.asked) == 1:
            result.status = 503
        return result


def test_another_try_does_not_fetch_again() -> None:
    async def go() -> None:
        async with site() as here:
            provider = Tired("ollama", [{"error": "overloaded"}, SHOWN])
            settings = dataclasses.replace(seeing(True), retry=RetryPolicy(1, first=0.0))
            await through(provider, "eye", here.url(), settings)
            assert len(here.asked) == 1
            for wire in provider.asked:
                assert wire["messages"][0]["images"] == [DATA]

    asyncio.run(go())


def test_a_body_of_the_models_own_dialect_gets_its_data_too() -> None:
    async def go() -> None:
        async with site() as here:
            provider = Listening("anthropic", [SAID])
            settings = Settings(raises=True, fetch_media=True)
            wire = await through(provider, "claude-opus-4-8", here.url(), settings)
            source = {"type": "base64", "media_type": "image/png", "data": DATA}
            assert wire["messages"][0]["content"][1] == {"type": "image", "source": source}

    asyncio.run(go())


def test_a_body_of_the_models_own_dialect_loses_an_address_that_is_not_taken() -> None:
    async def go() -> None:
        async with site() as here:
            provider = Listening("anthropic", [SAID])
            wire = await through(provider, "claude-opus-4-8", here.url(), Settings(raises=True))
            assert "takes no media by URL" in wire["messages"][0]["content"][1]["text"]
            assert here.asked == []

    asyncio.run(go())


def test_no_client_reaches_loopback_through_a_gateway() -> None:
    async def go() -> None:
        async with site() as here:
            provider = ScriptedProvider("ollama", [SHOWN])
            wire = await through(provider, "eye", here.url(), seeing(True), also_at=())
            assert "it could not be fetched" in json.dumps(wire)
            assert here.asked == []

    asyncio.run(go())


def test_a_file_switches_it_on_for_all_or_for_a_route() -> None:
    text = b'fetch_media = true\n[routes.a]\nmodel = "local"\nfetch_media = false\n'
    settings = config.read(text, Path("gateway.toml"))
    assert settings.fetch_media
    assert settings.routes["a"].fetch_media is False
    assert not config.read(b"", Path("gateway.toml")).fetch_media
    with pytest.raises(config.ConfigError, match="fetch_media"):
        config.read(b'fetch_media = "https://me"', Path("gateway.toml"))
