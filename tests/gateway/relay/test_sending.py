"""Limits of time of a route, one by one, and rate limits where each SDK has them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from interlingua.gateway.settings import RouteSettings
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, asked, key, served, settings_in
from tests.gateway.sessions.test_metered_client import CLAUDE, GPT, Refusing

CHAT = "/v1/chat/completions"


LIMITS = [
    ("timeout", False, 200, True),
    ("timeout", True, 200, False),
    ("first_byte_timeout", True, 200, True),
    ("first_byte_timeout", False, 200, False),
    ("deadline", False, 502, True),
    ("deadline", True, 502, True),
]
"""A limit, whether the answer is streamed, its status, and whether the limit is for such a one."""


def test_each_limit_of_time_holds_by_itself(tmp_path: Path) -> None:
    slow, provider = 1.5, Refusing(GPT, slow=1.5)

    async def check(gateway: Served, limit: str, stream: bool, expected: int, holds: bool) -> None:
        begun = time.monotonic()
        status, _, _ = await gateway.ask("POST", CHAT, asked("hi", limit, stream=stream))
        seconds = time.monotonic() - begun
        assert (status, seconds < slow) == (expected, holds), (limit, stream, seconds)

    async def work() -> None:
        provider.configure(tmp_path)
        usual: Any = {"fallbacks": (ANTHROPIC,), "retries": 0}
        names = {limit for limit, _, _, _ in LIMITS}
        routes = {name: RouteSettings(OPENAI, **usual, **{name: 0.2}) for name in names}
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:
            await asyncio.gather(*[check(gateway, *each) for each in LIMITS])
            assert [each["model"] for each in provider.requests] == [CLAUDE] * 4

    with provider:
        asyncio.run(work())


def test_each_sdk_finds_what_is_left_of_its_rate_limits(tmp_path: Path) -> None:
    token = key(tmp_path, requests_per_minute=5, tokens_per_minute=100_000).token

    def by_openai(base: str) -> None:
        with openai.OpenAI(base_url=f"{base}/v1", api_key=token, max_retries=0) as client:
            made = client.chat.completions.with_raw_response.create(
                model=OPENAI, messages=[{"role": "user", "content": "hi"}], max_tokens=9
            )
            assert made.headers["x-ratelimit-remaining-requests"] == "4"
            assert made.parse().choices[0].message.content
            response = client.responses.with_raw_response.create(
                model=OPENAI, input="hi", max_output_tokens=16
            )
            assert response.headers["x-ratelimit-remaining-requests"] == "3"

    def by_anthropic(base: str) -> None:
        with anthropic.Anthropic(base_url=base, api_key=token, max_retries=0) as client:
            wire: Any = {"model": ANTHROPIC, "max_tokens": 9}
            items: Any = [{"role": "user", "content": "hi"}]
            made = client.messages.with_raw_response.create(messages=items, **wire)
            assert made.headers["anthropic-ratelimit-requests-remaining"] == "2"
            with client.messages.stream(messages=items, **wire) as stream:
                stream.until_done()
                assert stream.response.headers["anthropic-ratelimit-requests-remaining"] == "1"
            client.messages.create(messages=items, **wire)
            with pytest.raises(anthropic.RateLimitError) as refused:
                client.messages.create(messages=items, **wire)
            result = refused.value.response.headers
            assert result["anthropic-ratelimit-requests-remaining"] == "0"
            assert 0 < float(result["retry-after"]) <= 60

    async def work() -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path)) as gateway:
            if (left := 60 - time.time() % 60) < 5:
                await asyncio.sleep(left)  # all requests in one minute
            await asyncio.to_thread(by_openai, gateway.base)
            await asyncio.to_thread(by_anthropic, gateway.base)

    with Refusing() as provider:
        asyncio.run(work())
