"""How long a reply is waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from interlingua.client import CallError, CallTimeoutError, NetworkError
from interlingua.client.retry import RetryPolicy
from interlingua.providers.provider import Timeouts
from interlingua.providers.read import providers
from tests.client import served
from tests.client.faulty import SONNET, ask, both, exchange_id, failing
from tests.client.served import MODELS, TEXT, client_of, serving


def impatient(**limits: float) -> dict[str, Any]:
    """Providers with other limits."""
    return {key: il_provider_with(each, Timeouts(**limits)) for key, each in providers().items()}


def il_provider_with(provider: Any, timeouts: Timeouts) -> Any:
    import msgspec

    return msgspec.structs.replace(provider, timeouts=timeouts)


async def in_time(once: Callable[[], Awaitable[Any]], low: float, high: float) -> CallError:
    """The error of a call that fails at a given time. A machine that has other things to do gets
    three chances to be late by itself."""
    for chance in range(3):
        error, spent = await failing(once())
        assert spent >= low
        if spent <= high or chance == 2:
            break
    assert spent <= high
    return error


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "fault", ["silence", "silence after=0", "silence after=40", "late seconds=5"]
)
def test_u4_a_deadline_is_kept_wherever_the_server_stalls(fault: str, stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(always=fault)
            async with client_of(server, exchange_id("anthropic", stream)) as client:
                once = lambda: ask(client, SONNET, stream, deadline=0.3)  # noqa: E731 - once each time
                error = await in_time(once, 0.25, 0.55)
        assert isinstance(error, CallTimeoutError)
        assert isinstance(error, TimeoutError)
        assert error.phase == "deadline"
        assert len(error.attempts) == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("limits", "fault", "stream", "phase"),
    [
        ({"total": 0.2}, "silence", False, "total"),
        ({"total": 0.2}, "silence after=20", False, "total"),
        ({"first_byte": 0.2}, "silence", True, "first_byte"),
        ({"first_byte": 0.2}, "silence after=0", True, "first_byte"),
        ({"idle": 0.2}, "silence after=900", True, "idle"),
    ],
)
def test_u4_each_limit_has_its_name_and_nothing_is_sent_twice(
    limits: dict[str, float], fault: str, stream: bool, phase: str
) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(always=fault)
            id = exchange_id("anthropic", stream)
            async with client_of(server, id, providers=impatient(**limits)) as client:
                error = await in_time(lambda: ask(client, SONNET, stream), 0.15, 0.5)
        assert isinstance(error, CallTimeoutError)
        assert error.phase == phase
        assert error.sent
        assert len(error.attempts) == 1

    asyncio.run(main())


def test_u4_a_port_that_nobody_listens_on_and_a_host_that_is_not_there_differ() -> None:
    import socket

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def main() -> None:
        quick = RetryPolicy(max_retries=1, first=0.001)
        async with client_of(f"http://127.0.0.1:{port}", "", retry=quick) as client:
            refused, _ = await failing(client.generate(SONNET, "Hello"))
        assert type(refused) is NetworkError
        assert (refused.phase, refused.sent, len(refused.attempts)) == ("connect", False, 2)
        nowhere = {"ollama": "http://nowhere.invalid"}
        async with client_of("", "", retry=quick, base_urls=nowhere) as client:
            unknown, _ = await failing(client.generate(MODELS["ollama"], "Hello"))
        assert type(unknown) is NetworkError
        assert unknown.phase in ("dns", "connect")

    asyncio.run(main())


def test_u4_a_connection_that_never_stands_times_out_and_may_be_tried_again() -> None:
    """A listener whose queue is full lets nobody in."""
    import socket

    async def main() -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            waiting = [socket.socket() for _ in range(4)]
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(full.getsockname())
            url = f"http://127.0.0.1:{full.getsockname()[1]}"
            quick = RetryPolicy(max_retries=1, first=0.001)
            limits = impatient(connect=0.2)
            async with client_of(url, "", retry=quick, providers=limits) as client:
                error, spent = await failing(client.generate(SONNET, "Hello"))
            for each in waiting:
                each.close()
        assert isinstance(error, CallTimeoutError)
        assert (error.phase, error.sent) == ("connect", False)
        assert len(error.attempts) == 2
        assert 0.35 <= spent <= 1.0

    asyncio.run(main())


def test_u14_pings_keep_a_stream_alive_and_silence_ends_it() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            limits = impatient(idle=0.25, first_byte=0.25, total=0.1)
            async with client_of(server, "stream-anthropic", providers=limits) as client:
                server.stage("keep_alive count=3 pause=0.02")
                begun = time.monotonic()
                assert await ask(client, SONNET, True) == TEXT
                assert time.monotonic() - begun > 0.5, "longer than any one limit"
                server.stage("silence after=900")
                error, _ = await failing(ask(client, SONNET, True))
        assert isinstance(error, CallTimeoutError)
        assert error.phase == "idle"
        assert error.partial is not None
        assert error.partial.message.text

    asyncio.run(main())


def test_u14_a_slow_reader_is_no_silence() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            limits = impatient(idle=0.1, first_byte=0.1)
            async with client_of(server, "stream-anthropic", providers=limits) as client:
                stream = client.stream(SONNET, "Hello")
                async with stream:
                    await asyncio.sleep(0.3)
                    events = [event async for event in stream]
        assert events
        assert stream.message().text == TEXT

    asyncio.run(main())


def test_a_deadline_that_passes_while_the_reader_rests_is_told_when_it_asks_for_more() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic"), pace=0.15) as server:
            async with client_of(server, "stream-anthropic") as client:
                stream = client.stream(SONNET, "Hello", deadline=0.4)

                async def read() -> None:
                    rests = iter([True, True])  # while it passes, and after it; then all that came
                    async with stream:
                        async for _ in stream:
                            if not next(rests, False):
                                continue
                            spent = time.process_time()
                            await asyncio.sleep(0.6)
                            assert time.process_time() - spent < 0.2, "nothing turns meanwhile"

                error, _ = await failing(read())
        assert isinstance(error, CallTimeoutError)
        assert error.phase == "deadline"

    asyncio.run(main())
