"""One call, however many tries it takes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import interlingua as il
from interlingua.client import AuthError, CallCancelledError, RateLimitError, ServerError
from interlingua.client.retry import RetryPolicy
from tests.client import served
from tests.client.faulty import CHAT, SONNET, ask, both, exchange_id, failing
from tests.client.served import TEXT, client_of, serving


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", ["overloaded", "rate_limited retry_after=0", "dropped"])
def test_u1_u2_what_passes_is_tried_again_and_then_answered(fault: str, stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(fault, fault)
            async with client_of(server, exchange_id("anthropic", stream)) as client:
                assert await ask(client, SONNET, stream) == TEXT
            assert len(server.received) == 3

    asyncio.run(main())


@pytest.mark.parametrize(
    ("asked", "said", "requests"),
    [
        ({"retry_after": 0.05}, 0.05, 2),
        ({"retry_after_ms": 50}, 0.05, 2),
        ({"retry_after": 61}, 61.0, 1),
        ({"retry_after": '"Wed, 21 Oct 2099 07:28:00 GMT"'}, None, 1),
        ({"retry_after": '"Wed, 21 Oct 2015 07:28:00 GMT"'}, 0.0, 2),
        ({"retry_after": -5}, None, 2),
        ({"retry_after": '"soon"'}, None, 2),
        ({"retry_after": '"1e999"'}, None, 2),
    ],
)
def test_u1_a_wait_that_is_asked_for_is_honoured_up_to_a_minute(
    asked: dict[str, Any], said: float | None, requests: int
) -> None:
    from tests.replay.faults import rate_limited

    values = {key: _plain(value) for key, value in asked.items()}

    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=rate_limited(**{"retry_after": None, **values}))
            quick = RetryPolicy(max_retries=1, first=0.001)
            async with client_of(server, "whole-anthropic", retry=quick) as client:
                error, spent = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == requests
        assert type(error) is RateLimitError
        if said is not None:
            assert error.retry_after == said
            assert spent >= said or requests == 1
        elif requests == 1:
            assert error.retry_after is not None
            assert error.retry_after > 1e9
        else:
            assert error.retry_after is None
        assert spent < 2

    asyncio.run(main())


def _plain(value: Any) -> Any:
    return value.strip('"') if isinstance(value, str) else value


def test_u1_no_wait_goes_beyond_the_deadline() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="rate_limited retry_after=30")
            async with client_of(server, "whole-anthropic") as client:
                error, spent = await failing(client.generate(SONNET, "Hello", deadline=0.5))
            assert len(server.received) == 1
        assert type(error) is RateLimitError
        assert error.retry_after == 30
        assert spent < 0.5

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_connection_that_was_closed_while_idle_costs_nobody_anything(stream: bool) -> None:
    """Whatever the race between our request and their end, the caller does not see it."""

    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(*["close_idle"] * 20)
            async with client_of(server, exchange_id("anthropic", stream)) as client:
                for turn in range(20):
                    assert await ask(client, SONNET, stream) == TEXT
                    if turn % 2:
                        await asyncio.sleep(0.005)

    asyncio.run(main())


def test_a_wrong_key_is_no_reason_to_ask_somebody_else_unless_that_is_wanted() -> None:
    async def main() -> None:
        with serving(*both("anthropic"), *both("openai-chat")) as server:
            places = {
                "anthropic": f"{server.url}/@whole-anthropic",
                "openai": f"{server.url}/@whole-openai-chat/v1",
            }
            server.stage("failing status=401", "failing status=401")
            async with client_of(server, "", base_urls=places) as client:
                error, _ = await failing(client.generate(SONNET, "Hello", fallbacks=[CHAT]))
            also = [il.ErrorKind.AUTH]
            async with client_of(server, "", base_urls=places, fallback_on=also) as client:
                answer = await client.generate(SONNET, "Hello", fallbacks=[CHAT])
            assert len(server.received) == 3
        assert type(error) is AuthError
        assert answer.model == CHAT

    asyncio.run(main())


def test_a_fallback_that_is_not_set_up_does_not_hide_why_it_was_asked_for() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="overloaded status=503")
            keys = {"anthropic": served.KEYS["anthropic"]}
            async with client_of(
                server, "whole-anthropic", retry=RetryPolicy(0), keys=keys
            ) as client:
                error, _ = await failing(client.generate(SONNET, "Hello", fallbacks=[CHAT]))
        assert type(error) is ServerError
        assert [attempt.model for attempt in error.attempts] == [SONNET, CHAT]

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_fallback_answers_and_what_happened_is_listed(stream: bool) -> None:
    thought = il.ThinkingBlock("hm", signature="signed by Anthropic")
    by = il.MessageMetadata(model=SONNET, provider="anthropic", protocol="anthropic")
    history = [
        il.Message.user("Hello"),
        il.Message.assistant([thought, il.TextBlock("Hi")], by),
        il.Message.user("How are you?"),
    ]

    async def main() -> None:
        with serving(*both("anthropic"), *both("openai-chat")) as server:
            server.stage("overloaded", "dropped")
            quick = RetryPolicy(max_retries=1, first=0.001)
            places = {
                "anthropic": f"{server.url}/@{exchange_id('anthropic', stream)}",
                "openai": f"{server.url}/@{exchange_id('openai-chat', stream)}/v1",
            }
            async with client_of(server, "", retry=quick, base_urls=places) as client:
                answer = await answered(client, history, stream)
            bodies = [received.body for received in server.received]
        assert answer.text == TEXT
        assert answer.model == CHAT
        assert answer.message.metadata.protocol == "openai-chat"
        assert [(attempt.model, attempt.kind) for attempt in answer.attempts] == [
            (SONNET, il.ErrorKind.SERVER_ERROR),
            (SONNET, il.ErrorKind.NETWORK),
            (CHAT, None),
        ]
        assert b"signed by Anthropic" in bodies[0]
        assert b"signed by Anthropic" not in bodies[2]
        assert b'"messages"' in bodies[2]
        assert len(answer.report.entries) == 1

    async def answered(client: Any, history: list[il.Message], stream: bool) -> Any:
        if not stream:
            return await client.generate(SONNET, history, fallbacks=[CHAT])
        async with client.stream(SONNET, history, fallbacks=[CHAT]) as reported:
            async for _ in reported:
                pass
            return reported.answer()

    asyncio.run(main())


def test_after_the_first_event_nobody_else_is_asked() -> None:
    async def main() -> None:
        with serving(*both("anthropic"), *both("openai-chat")) as server:
            server.stage("error_event after=4 kind=rate_limit")
            async with client_of(server, "stream-anthropic") as client:
                work = ask(client, SONNET, True, fallbacks=[CHAT])
                error, _ = await failing(work)
            assert len(server.received) == 1
        assert type(error) is RateLimitError
        assert error.partial is not None

    asyncio.run(main())


def test_cancelling_while_waiting_for_the_next_try_ends_the_wait() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="rate_limited retry_after=20")
            async with client_of(server, "whole-anthropic") as client:
                task = asyncio.create_task(client.generate(SONNET, "Hello", call_id="mine"))
                begun = time.monotonic()
                await asyncio.sleep(0.2)
                assert client.cancel("mine")
                with pytest.raises(CallCancelledError):
                    await task
                assert time.monotonic() - begun < 10
            assert len(server.received) == 1

    asyncio.run(main())
