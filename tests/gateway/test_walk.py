"""The configuration of the pages, pasted: every promise that stands beside it is seen."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.config import check, read
from interlingua.gateway.settings import Listen, RouteSettings, Settings
from tests.agents.chat.provider import DIALECTS
from tests.gateway.serving import Served, Upstream, asked, key, served, settings_in

PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"
DIALECTS.setdefault("/openai/v1/chat/completions", "openai-chat")
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


def pasted(home: Path) -> Settings:
    """Both TOML blocks of the page's configuration in one file, with a store on this machine."""
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    file, pools = blocks[0], next(block for block in blocks if "[routes.smart]" in block)
    wildcard = '[routes."gpt-*"]\nmodel = "openai:*"\n'
    settings = read(f"{file}\n{pools}\n{wildcard}".encode(), home / "gateway.toml")
    assert not check(replace(settings, providers_file=None)), "all of it can be used"
    usual = settings_in(home)
    return replace(
        settings,
        store=usual.store,
        providers_file=usual.providers_file,
        retry=usual.retry,
        listen=Listen(port=0, notice_seconds=0.0, drain_seconds=1.0),
        tasks=usual.tasks,
    )


class Watched(Upstream):
    """Knows with which key it was asked; some keys fail."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []
        self.failing: dict[str, int] = {}

    def answer(self, handler: Any, dialect: str, wire: dict[str, Any]) -> None:
        headers = handler.headers
        key = headers.get("authorization") or headers.get("x-api-key") or headers.get("api-key")
        key = str(key).removeprefix("Bearer ")
        self.keys.append(key)
        if key in self.failing:
            handler.send_response(self.failing[key])
            handler.send_header("content-length", "2")
            handler.send_header("retry-after", "30")
            handler.end_headers()
            handler.wfile.write(b"{}")
            return
        super().answer(handler, dialect, wire)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_KEY_1", "OPENAI_KEY_2", "AZURE_KEY_2", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, name.lower())
    return tmp_path


def test_the_configuration_of_the_page_does_what_the_page_says(home: Path) -> None:
    made = key(home, default_max_tokens=100)

    async def work(provider: Watched) -> None:
        provider.configure(home)
        file = home / "providers.toml"
        lines = [line for line in file.read_text().splitlines() if "key =" not in line]
        file.write_text("\n".join(lines))
        settings = pasted(home)
        azure = settings.routes["smart"].models[1]
        near = replace(azure, base_url=provider.url)
        smart = replace(settings.routes["smart"], models=(settings.routes["smart"].models[0], near))
        settings = replace(settings, routes={**settings.routes, "smart": smart})
        async with served(home, settings) as gateway:
            await _walk(gateway, provider, made.token)

    with Watched() as provider:
        asyncio.run(work(provider))


async def _walk(gateway: Served, provider: Watched, token: str) -> None:
    async def ask(model: str, words: str = "hi", path: str = CHAT, **more: Any) -> str:
        wire = asked(words, model, **({"max_tokens": 50} if path == MESSAGES else {}), **more)
        status, answer, headers = await gateway.ask("POST", path, wire, token)
        assert status == 200, answer
        return headers["x-interlingua-model"]

    _, listed, _ = await gateway.ask("GET", "/v1/models", token=token)
    names = [each["id"] for each in listed["data"]]
    assert {"fast", "smart"} <= set(names), "routes are listed"
    assert any(name.startswith("openai:") for name in names), "a provider with keys of its own"
    assert await ask("gpt-4.1-mini") == "openai:gpt-4.1-mini", "a wildcard"
    provider.keys.clear()
    for number in range(24):
        assert (await ask("smart", f"question {number}")) in ("openai:gpt-5", "azure:gpt-5")
    shares = Counter(provider.keys)
    assert set(shares) == {"openai_key_1", "openai_key_2", "azure_key_2"}, shares
    provider.keys.clear()
    for path in (CHAT, MESSAGES, CHAT):
        metadata = {"metadata": {"user_id": "ann"}} if path == MESSAGES else {"user": "ann"}
        await ask("smart", "sticky", path, **metadata)
    assert len(set(provider.keys[::2])) == 1, "a conversation stays with its member"
    provider.failing = dict.fromkeys(shares, 429)
    provider.keys.clear()
    assert await ask("smart", "all are busy") == "anthropic:claude-sonnet-4-6", "the fallback"
    provider.failing = {}
    assert await ask("smart", "they rest") == "anthropic:claude-sonnet-4-6", "for 30 seconds"
    assert len(provider.keys) < 8
    await ask("smart", "long", max_tokens=100_000)
    assert provider.requests[-1]["max_tokens"] == 16384, "`max_max_tokens` of the route"


def test_a_key_of_a_wildcard_route_is_offered_what_it_may_use(home: Path) -> None:
    made = key(home, allowed_models=("route:openai:*",))
    routes = {"openai:*": RouteSettings("openai:*"), "other": RouteSettings("openai:gpt-5")}

    async def work(provider: Upstream) -> None:
        provider.configure(home)
        async with served(home, settings_in(home, routes=routes)) as gateway:
            _, listed, _ = await gateway.ask("GET", "/v1/models", token=made.token)
            names = [each["id"] for each in listed["data"]]
            assert names
            assert all(name.startswith("openai:") for name in names)
            for name, expected in ((names[0], 200), ("other", 403), ("sonnet", 403)):
                wire = asked("hi", name, max_tokens=50)
                status, answer, _ = await gateway.ask("POST", CHAT, wire, made.token)
                assert status == expected, answer

    with Upstream() as provider:
        asyncio.run(work(provider))
