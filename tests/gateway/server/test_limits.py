"""Bodies that are too large, too slow or too clever."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlingua.gateway.settings import Limits
from interlingua.gateway.shared.feed import PatientResponse
from tests.effort import examples
from tests.gateway.serving import Served, Upstream, asked, served, settings_in

HOST = b"Host: localhost\r\nContent-Type: application/json\r\n"


async def _raw(gateway: Served, head: bytes, *pieces: bytes, pause: float = 0.0) -> tuple[int, Any]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(gateway.base[-5:].strip(":")))
    try:
        writer.write(head)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        line = await asyncio.wait_for(reader.readline(), 10)
        return int(line.split()[1]), line
    except ConnectionError:
        return 0, b""
    finally:
        writer.close()


def small(home: Path) -> Any:
    limits = Limits(body=2000, body_seconds=0.5, header_seconds=1.0)
    return replace(settings_in(home), limits=limits)


@pytest.mark.parametrize("path", ["/sessions", "/routing/check", "/v1/chat/completions"])
def test_a_body_beyond_the_limit_is_refused_before_it_is_read(tmp_path: Path, path: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, small(tmp_path)) as gateway:
            head = b"POST %b HTTP/1.1\r\n%b" % (path.encode(), HOST)
            status, _ = await _raw(gateway, head + b"Content-Length: 5000000000\r\n\r\n")
            assert status == 413
            chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
            chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
            status, _ = await _raw(gateway, chunked, *[chunk] * 50)
            assert status in (413, 0), "answered, or already closed"
            assert (await gateway.ask("GET", "/health/live"))[0] == 200
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize("path", ["/sessions", "/routing/check", "/v1/messages"])
def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, path: str) -> None:
    async def work() -> None:
        async with served(tmp_path, small(tmp_path)) as gateway:
            head = b"POST %b HTTP/1.1\r\n%bContent-Length: 100\r\n\r\n" % (path.encode(), HOST)
            began = time.monotonic()
            assert (await _raw(gateway, head))[0] == 408
            assert (await _raw(gateway, head, *[b"{"] * 8, pause=0.1))[0] == 408
            assert time.monotonic() - began < 4

    asyncio.run(work())


def test_a_watcher_that_takes_nothing_is_left_after_a_while() -> None:
    ended = []

    async def pieces() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"x"
        finally:
            ended.append(True)

    async def never() -> Any:
        await asyncio.Event().wait()

    async def stuck(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def work() -> None:
        scope = {"type": "http", "path": "/x", "asgi": {"spec_version": "2.3"}}
        began = time.monotonic()
        source = pieces()
        await asyncio.wait_for(PatientResponse(source, 0.2)(scope, never, stuck), 5)
        await source.aclose()
        assert time.monotonic() - began < 2

    asyncio.run(work())
    assert ended == [True]


HOSTS = ("api_base", "base_url", "endpoint", "api_url", "proxy", "host", "x-portkey-custom-host")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from([*HOSTS, "metadata", "user_config", "litellm_params"]), max_size=5),
    st.sampled_from(HOSTS),
)
def test_no_client_chooses_the_host_that_is_asked(gateway: Any, path: list[str], name: str) -> None:
    canary, provider, ask = gateway
    inside: Any = {name: canary.url, "api_key": "k"}
    for each in path:
        inside = {each: inside}
    body = {**asked("hello"), **inside, name: canary.url}
    before = len(provider.requests)
    status = ask("POST", "/v1/chat/completions", body, {name: canary.url})
    assert status in (200, 400)
    assert len(provider.requests) - before == (1 if status == 200 else 0)
    assert canary.requests == []


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import threading
    import urllib.error
    import urllib.request

    home = tmp_path_factory.mktemp("hosts")
    ready, over = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve() -> None:
        async with served(home) as here:
            found.append(here.base)
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.05)

    def ask(method: str, path: str, body: Any, headers: dict[str, str]) -> int:
        collected = {**headers, "content-type": "application/json"}
        collected = {k: v for k, v in collected.items() if k != "host"}
        request = urllib.request.Request(
            found[0] + path, json.dumps(body).encode(), collected, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as odd:
            odd.close()
            return odd.code

    with Upstream() as provider, Upstream() as canary:
        provider.configure(home)
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        assert ready.wait(20)
        yield canary, provider, ask
        over.set()
        thread.join(20)
