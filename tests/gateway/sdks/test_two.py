"""Two gateways, two processes, one PostgreSQL: to a client they are one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openai
import pytest

from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.store.open import open_store
from tests.gateway.forks import Fork
from tests.gateway.sdks.clients import CLIENTS
from tests.gateway.sdks.provider import CITIES, Upstream
from tests.replay import faults
from tests.store.conftest import drop_schema, in_schema, new_schema

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

MODEL = "anthropic:claude-sonnet-4-6"
THINKERS = (MODEL, "gemini:gemini-3-pro-preview")
COST = Decimal("0.000258")
"""Of one answer of the scripted provider: 21 tokens in, 13 out."""


@contextmanager
def gateway(home: Path, store: str, upstream: str) -> Iterator[str]:
    """`interlingua serve` as a process of its own; gives its URL."""
    environ = {
        **os.environ,
        "INTERLINGUA_HOME": str(home),
        "INTERLINGUA_STORE": store,
        "PYTHONUNBUFFERED": "1",
        "ANTHROPIC_API_KEY": "k-up",
        "ANTHROPIC_BASE_URL": upstream,
        "GEMINI_API_KEY": "k-up",
        "GOOGLE_GEMINI_BASE_URL": f"{upstream}/v1beta",
    }
    words = ["interlingua", "serve", "--port", "0"]
    process = Fork(words, env=environ, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        assert "http://" in first, "the gateway did not start"
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield "http://" + first.split("http://", 1)[1].split()[0]
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


class Two:
    """Both gateways, what is behind them, and their store."""

    def __init__(self, urls: tuple[str, str], upstream: Upstream, store: str) -> None:
        self.urls = urls
        self.upstream = upstream
        self.store = store

    def key(self, **terms: Any) -> str:
        with open_store(self.store) as store:
            return issue(store, "test", ".", Terms(**terms)).token


@pytest.fixture(scope="module")
def both(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    """They stand for all tests: each has a key of its own, and so its own limits and memory."""
    home, schema = tmp_path_factory.mktemp("two"), new_schema(postgres)
    store = in_schema(postgres, schema)
    with open_store(store):
        pass  # the tables are there before both want to make them
    with (
        Upstream() as upstream,
        gateway(home, store, upstream.url) as one,
        gateway(home, store, upstream.url) as other,
    ):
        yield Two((one, other), upstream, store)
    drop_schema(postgres, schema)


@pytest.fixture
def two(both: Two) -> Two:
    both.upstream.clear()
    both.upstream.asked.clear()
    return both


async def ask_all(two: Two, token: str, count: int, **more: Any) -> list[Any]:
    """So many requests at once, half of them to each; answers and errors."""
    clients = [
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0, timeout=30)
        for url in two.urls
    ]

    async def one(number: int) -> Any:
        return await clients[number % 2].chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "Hello"}], **more
        )

    try:
        return await asyncio.gather(*map(one, range(count)), return_exceptions=True)
    finally:
        for client in clients:
            await client.close()


def split(told: list[Any]) -> tuple[int, int]:
    """How many were answered, and how many were limited; there is nothing else."""
    limited = [each for each in told if isinstance(each, openai.RateLimitError)]
    answered = [each for each in told if not isinstance(each, BaseException)]
    assert len(limited) + len(answered) == len(told), told
    return len(answered), len(limited)


def test_what_one_remembers_the_other_puts_back(two: Two) -> None:
    token = two.key()
    for model in THINKERS:
        for stream in (False, True):
            for front in ("openai-chat", "ollama"):
                both = [CLIENTS[front](url, model, token) for url in two.urls]
                history: list[Any] = both[0].history
                both[1].history = history
                both[0].say("How is the weather?")
                for number in range(3):
                    client = both[number % 2]
                    heard = client.hear(stream, tools=True)
                    assert len(heard.calls) == 2
                    client.answer([(call, "fine") for call in heard.calls])
                    heard = both[(number + 1) % 2].hear(stream, tools=True)
                    assert heard.text == "I heard: fine; fine"
                    client.say("And how is the weather now?")
                for client in both:
                    client.close()
                turns = [m for m in two.upstream.asked[-1].messages if m.tool_calls]
                assert len(turns) == 3
                assert [call.input["city"] for call in turns[0].tool_calls] == list(CITIES)


def test_a_key_of_one_opens_the_other_and_a_stranger_neither(two: Two) -> None:
    token = two.key()
    assert split(asyncio.run(ask_all(two, token, 2))) == (2, 0)
    result = asyncio.run(ask_all(two, "il-nobody", 2))
    assert all(isinstance(each, openai.AuthenticationError) for each in result)


def test_requests_per_minute_hold_over_both(two: Two) -> None:
    token = two.key(requests_per_minute=20)
    if (left := 60 - datetime.now(UTC).second) < 10:
        time.sleep(left + 0.1)  # so that all of it is in one minute
    answered, limited = split(asyncio.run(ask_all(two, token, 64)))
    assert (answered, limited) == (20, 44)
    assert len(two.upstream.received) == 20


def test_calls_at_a_time_hold_over_both(two: Two) -> None:
    token = two.key(concurrent=5)
    two.upstream.stage(always=faults.late(1.0))
    answered, limited = split(asyncio.run(ask_all(two, token, 64)))
    assert (answered, limited) == (5, 59)
    assert split(asyncio.run(ask_all(two, token, 4))) == (4, 0)


def test_money_holds_over_both_to_the_last_answer(two: Two) -> None:
    cap = Decimal("0.01")
    token = two.key(daily_cap_usd=cap)
    total, limited = split(asyncio.run(ask_all(two, token, 64, max_tokens=100)))
    assert limited
    for _ in range(60):
        answered, limited = split(asyncio.run(ask_all(two, token, 2, max_tokens=100)))
        total += answered
        if not answered:
            break
    else:
        pytest.fail("the cap was never reached")
    assert total == len(two.upstream.received)
    assert total * COST <= cap
    # What is left is less than one request may cost: 100 tokens of an answer, and its prompt.
    assert cap - total * COST < Decimal("0.003")
