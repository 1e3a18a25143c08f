"""The configuration of the pages, pasted: every promise that stands beside it is seen."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import openai
import pytest

import interlingua as il
from interlingua.gateway.config import check, read
from interlingua.gateway.keys.key_admin import add_budget
from interlingua.gateway.paths import listing
from interlingua.gateway.settings import Listen, RouteSettings, Settings
from interlingua.model.ids import Ulids
from interlingua.store.requests import RequestRow
from tests.agents.chat.provider import DIALECTS
from tests.gateway.faults.continued import TEXT
from tests.gateway.relay.test_continued import Breaking, chat, openai_client
from tests.gateway.serving import Served, Upstream, asked, key, served, settings_in

PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"
DIALECTS.setdefault("/openai/v1/chat/completions", "openai-chat")
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


def pasted(home: Path) -> Settings:
    """The TOML blocks of the page's configuration in one file, with a store on this machine."""
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    file, *parts = blocks[0], *[b for b in blocks if "[routes.smart]" in b or "[routes.sure]" in b]
    pools = "\n".join(parts)
    wildcard = '[routes."gpt-*"]\nmodel = "openai:*"\n[routes."team/*"]\nmodel = "anthropic:*"\n'
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
        self.slow: dict[str, float] = {}
        """Seconds before an answer, by key."""

    def answer(self, handler: Any, dialect: str, wire: dict[str, Any]) -> None:
        headers = handler.headers
        key = headers.get("authorization") or headers.get("x-api-key") or headers.get("api-key")
        key = str(key).removeprefix("Bearer ")
        self.keys.append(key)
        time.sleep(self.slow.get(key, 0.0))
        if key in self.failing:
            handler.send_response(self.failing[key])
            handler.send_header("content-length", "2")
            if self.failing[key] == 429:
                handler.send_header("retry-after", "30")
            handler.end_headers()
            handler.wfile.write(b"{}")
            return
        super().answer(handler, dialect, wire)


Work = Callable[[Served, Watched], Awaitable[None]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_KEY_1", "OPENAI_KEY_2", "AZURE_KEY_2", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, name.lower())
    return tmp_path


def walk(home: Path, work: Work, **changes: Any) -> None:
    """Some requests to a gateway with the page's configuration; `changes` are of its pool."""

    async def run(provider: Watched) -> None:
        provider.configure(home)
        file = home / "providers.toml"
        lines = [line for line in file.read_text().splitlines() if "key =" not in line]
        file.write_text("\n".join(lines))
        settings = pasted(home)
        smart = settings.routes["smart"]
        near = replace(smart.models[1], base_url=provider.url)
        smart = replace(smart, models=(smart.models[0], near), **changes)
        settings = replace(settings, routes={**settings.routes, "smart": smart})
        async with served(home, settings) as gateway:
            await work(gateway, provider)

    with Watched() as provider:
        asyncio.run(run(provider))


def test_the_configuration_of_the_page_does_what_the_page_says(home: Path) -> None:
    made = key(home, default_max_tokens=100)
    walk(home, lambda gateway, provider: _walk(gateway, provider, made.token))


@pytest.mark.parametrize("strategy", ["weighted", "least_busy", "latency", "usage"])
def test_every_strategy_of_the_page_uses_every_member(home: Path, strategy: str) -> None:
    made = key(home)

    async def work(gateway: Served, provider: Watched) -> None:
        asks = [asked(f"question {number}", "smart") for number in range(120)]
        for start in range(0, len(asks), 12):
            some = asks[start : start + 12]
            answers = [gateway.ask("POST", CHAT, wire, made.token) for wire in some]
            assert {status for status, _, _ in await asyncio.gather(*answers)} == {200}
        shares = Counter(provider.keys)
        assert set(shares) == {"openai_key_1", "openai_key_2", "azure_key_2"}, shares
        if strategy == "weighted":
            assert 0.15 < shares["azure_key_2"] / 120 < 0.35, "one in four"

    walk(home, work, strategy=strategy)


def test_retries_and_timeouts_are_those_of_the_page(home: Path) -> None:
    """The page's numbers, but for seconds, which a test cannot wait for."""
    made, smart = key(home), pasted(home).routes["smart"]
    numbers = [smart.retries, smart.timeout, smart.first_byte_timeout, smart.deadline]
    assert numbers == [1, 120, 20, 180]

    async def work(gateway: Served, provider: Watched) -> None:
        provider.slow = dict.fromkeys(("openai_key_1", "openai_key_2", "azure_key_2"), 2.0)
        for stream in (False, True):
            wire = asked("members that take too long are left", "smart", stream=stream)
            status, _, headers = await gateway.ask("POST", CHAT, wire, made.token)
            assert (status, headers["x-interlingua-model"]) == (200, "anthropic:claude-sonnet-4-6")
        provider.slow, provider.failing = {}, {"anthropic_api_key": 500}
        provider.keys.clear()
        wire = asked("hi", "fast")
        status, _, headers = await gateway.ask("POST", CHAT, wire, made.token)
        assert (status, headers["x-interlingua-model"]) == (200, "openai:gpt-4.1-mini")
        await gateway.stored()
        _, reply, _ = await gateway.ask("GET", "/requests?limit=1", token=made.token)
        assert reply["requests"][0]["attempts"] == len(provider.keys) > 1, "each is in the log"

    walk(home, work, timeout=0.5, first_byte_timeout=0.5)


def test_budgets_rates_and_retention_hold_on_the_page_s_gateway(home: Path) -> None:
    made = key(home, requests_per_minute=50, daily_cap_usd=Decimal(5))
    with il.open_store(str(home / "gateway.db")) as store:
        add_budget(store, "end_user", "ann", made.key.id, daily_cap_usd=Decimal("0.000001"))
        old = datetime.now(UTC) - timedelta(days=91)
        store.append_requests([RequestRow(f"req_{Ulids().new()}", old, "openai-chat", 200, 1)])

    async def work(gateway: Served, provider: Watched) -> None:
        status, reply, headers = await gateway.ask("POST", CHAT, asked("hi", "fast"), made.token)
        assert status == 200, reply
        assert headers["x-ratelimit-limit-requests"] == "50"
        wire = asked("hi", "fast", user="ann")
        status, reply, _ = await gateway.ask("POST", CHAT, wire, made.token)
        assert (status, reply["error"]["code"]) == (429, "quota_exceeded"), "the end user's budget"
        await gateway.stored()
        before = len([row async for row in gateway.service.store.all_requests()])
        await gateway.service.sweeper.sweep()
        rows = [row async for row in gateway.service.store.all_requests()]
        assert len(rows) == before - 1, "rows of the log stay for 90 days"

    walk(home, work)


def test_a_stream_that_breaks_off_goes_on_as_the_page_says(home: Path) -> None:
    async def work(provider: Breaking) -> None:
        provider.configure(home)
        settings = pasted(home)
        assert [name for name, each in settings.routes.items() if each.on_break == "continue"] == [
            "sure"
        ]
        async with served(home, settings) as gateway, openai_client(gateway) as ai:
            assert await chat(ai, "sure") == (TEXT, "stop")
            provider.shares = [0.5]
            with pytest.raises(openai.APIError):
                await chat(ai, "openai:gpt-5")

    with Breaking(0.6) as provider:
        asyncio.run(work(provider))


PRICES = """pricing_version = "mine-{version}"
[models."azure:gpt-5"]
input_per_mtok_usd = {input}
output_per_mtok_usd = 10
"""


def test_a_key_with_a_cap_uses_deployments_that_have_a_price(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(home))
    made = key(home, daily_cap_usd=Decimal(5))

    async def work(gateway: Served, provider: Watched) -> None:
        async def costs(words: str) -> dict[str, str]:
            found = {}
            for number in range(40):
                wire = asked(f"{words} {number}", "smart")
                status, reply, headers = await gateway.ask("POST", CHAT, wire, made.token)
                assert status == 200, reply
                found[headers["x-interlingua-model"]] = headers["x-interlingua-cost-usd"]
            return found

        assert set(await costs("one")) == {"openai:gpt-5"}, "one of the two has no price"
        for version, input in enumerate((2, 4)):
            (home / "prices.toml").write_text(PRICES.format(version=version, input=input))
            await gateway.service.reload(None, lambda _: gateway.service.gateway.settings)
            expected = Decimal(input * 100 + 10 * 20).scaleb(-6).normalize()
            found = await costs(f"{version} and")
            assert Decimal(found["azure:gpt-5"]) == expected
            assert found["openai:gpt-5"] == "0.000325"
        with il.open_store(str(home / "gateway.db")) as store:
            assert [each for each in store.price_versions() if "mine" in each]

    walk(home, work)


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
    assert await ask("gpt-of-tomorrow") == "openai:gpt-of-tomorrow", "also for unknown names"
    assert await ask("team/gpt-4.1") == "anthropic:gpt-4.1", "the rest of the name"
    _, reply, _ = await gateway.ask("POST", CHAT, asked("hi", "smrt"), token)
    assert "near: smart" in reply["error"]["message"], "routes are among the nearest names"
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


def test_a_key_with_a_cap_is_offered_what_has_a_price(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["openai:gpt-4.1", "openai:gpt-of-tomorrow"]
    monkeypatch.setattr(listing, "known_models", lambda: names)
    capped, free = key(home, daily_cap_usd=Decimal(5)), key(home, "free")

    async def work(gateway: Served, provider: Watched) -> None:
        for made, expected, status in ((capped, names[:1], 403), (free, names, 200)):
            _, listed, _ = await gateway.ask("GET", "/v1/models", token=made.token)
            found = [each["id"] for each in listed["data"] if each["id"].startswith("openai:gpt")]
            assert found == expected
            wire = asked("hi", names[1])
            assert (await gateway.ask("POST", CHAT, wire, made.token))[0] == status
            embeds = [each["id"] for each in listed["data"] if "embedding" in each["id"]]
            assert embeds, "these have prices of their own"

    walk(home, work)


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
