"""What it means when the connection fails."""

from __future__ import annotations

import asyncio

import pytest

from interlingua.client import NetworkError, ProviderFailure, TooLargeError
from interlingua.client.retry import RetryPolicy
from tests.client import served
from tests.client.faulty import SONNET, STATUSES, ask, both, exchange_id, failing
from tests.client.served import TEXT, client_of, serving
from tests.replay.exchanges import Exchange


@pytest.mark.parametrize("fault", ["garbage where=head", "large_headers size=200000"])
def test_u8_garbage_in_place_of_http_is_an_error_of_ours(fault: str) -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=fault)
            async with client_of(server, "whole-anthropic", retry=RetryPolicy(0)) as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
        assert isinstance(error, (NetworkError, ProviderFailure))

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [403, 500, 502])
def test_u12_a_page_of_some_proxy_has_the_class_of_its_status(status: int, stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(always=f"html_error status={status}")
            id = exchange_id("anthropic", stream)
            async with client_of(server, id, retry=RetryPolicy(0)) as client:
                error, _ = await failing(ask(client, SONNET, stream))
        assert type(error) is STATUSES[status]
        assert "text/html" in str(error)
        assert "<" not in str(error)

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_u15_compressed_answers_are_read_and_too_large_ones_refused(stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage("gzipped", always="gzip_bomb size=8000000")
            id = exchange_id("anthropic", stream)
            async with client_of(server, id, max_bytes=1_000_000) as client:
                assert await ask(client, SONNET, stream) == TEXT
                error, _ = await failing(ask(client, SONNET, stream))
            assert len(server.received) == 2
        assert isinstance(error, TooLargeError)

    asyncio.run(main())


@pytest.mark.parametrize("fault", ["truncated_gzip", "wrong_length by=50"])
def test_u15_a_body_that_is_shorter_than_it_says_is_not_an_answer(fault: str) -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=fault)
            async with client_of(server, "whole-anthropic") as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == 1
        assert isinstance(error, (NetworkError, ProviderFailure))

    asyncio.run(main())


@pytest.mark.parametrize("packed", ["br", "gzip, gzip", "something"])
def test_u15_encodings_that_were_not_asked_for_are_refused(packed: str) -> None:
    exchange = Exchange(
        "packed",
        "anthropic",
        "/v1/messages",
        body=b"...",
        headers=(("content-type", "application/json"), ("content-encoding", packed)),
    )

    async def main() -> None:
        with serving(exchange) as server:
            async with client_of(server, "packed", retry=RetryPolicy(0)) as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
        assert "encoding" in str(error) or "before the response was complete" in str(error)

    asyncio.run(main())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_u16_redirects_are_not_followed(status: int) -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server, serving() as elsewhere:
            server.stage(always=f"redirect to={elsewhere.url}/v1/messages status={status}")
            async with client_of(server, "whole-anthropic") as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == 1
            assert elsewhere.received == []
        assert type(error) is ProviderFailure
        assert "redirect" in str(error)

    asyncio.run(main())
