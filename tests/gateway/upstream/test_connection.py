"""Connections to providers: what is used again, what is not, and what is no HTTP."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.client.transport import HttpRequest, Limits, TooLarge, TransportError
from interlingua.client.transport_errors import UNPACKED, Unpacker
from interlingua.gateway.upstream.transport import Slots, Upstream

SHORT = Limits(connect=2, first_byte=2, idle=2, total=5)
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"


class Provider:
    """Answers each request with the next of some bytes, and counts connections."""

    def __init__(self, *answers: bytes, closes: bool = False) -> None:
        self.answers = list(answers)
        self.closes = closes
        self.connections = 0
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.bodies.append(await reader.readexactly(length))
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                writer.write(answer)
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def standing(provider: Provider) -> AsyncIterator[Upstream]:
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1?a=b"
    upstream = Upstream()
    try:
        yield upstream
    finally:
        await upstream.close()
        server.close()


def run(provider: Provider, work: Callable[[Upstream], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        async with standing(provider) as upstream:
            return await work(upstream)

    return asyncio.run(main())


async def whole(
    upstream: Upstream,
    url: str,
    body: bytes = b"{}",
    limit: int = 10**8,
    limits: Limits = SHORT,
) -> bytes:
    reply = await upstream.send(HttpRequest(url, {"x-a": "b"}, body), limits)
    try:
        return await reply.body(limit)
    finally:
        reply.close()


def test_a_connection_is_used_again_when_its_answer_was_read() -> None:
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> list[bytes]:
        return [await whole(upstream, provider.url) for _ in range(3)]

    assert run(provider, work) == [b"hello"] * 3
    assert provider.connections == 1
    assert provider.heads[0].startswith(b"POST /v1?a=b HTTP/1.1\r\nhost: 127.0.0.1:")
    assert b"\r\nx-a: b\r\n" in provider.heads[0]
    assert provider.bodies == [b"{}"] * 3


def test_a_connection_whose_answer_was_not_read_to_its_end_is_given_up() -> None:
    provider = Provider(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nhello", PLAIN)

    async def work(upstream: Upstream) -> bytes:
        reply = await upstream.send(HttpRequest(provider.url, {}, b""), SHORT)
        assert await reply.chunk() == b"hello"
        reply.close()
        reply.close()
        return await whole(upstream, provider.url)

    assert run(provider, work) == b"hello"
    assert provider.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        PLAIN + PLAIN,
        PLAIN + b"more",
    ],
)
def test_a_connection_is_not_used_again_when_the_answer_says_so_or_goes_on(answer: bytes) -> None:
    provider = Provider(answer, PLAIN)

    async def work(upstream: Upstream) -> list[bytes]:
        return [await whole(upstream, provider.url) for _ in range(2)]

    assert run(provider, work) == [b"hello", b"hello"]
    assert provider.connections == 2


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    provider = Provider(b"HTTP/1.1 200 OK\r\n\r\nhello", closes=True)
    assert run(provider, lambda upstream: whole(upstream, provider.url)) == b"hello"


def test_an_answer_that_is_shorter_than_it_said_broke_off() -> None:
    provider = Provider(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello", closes=True)
    with pytest.raises(TransportError, match="before the response was complete") as caught:
        run(provider, lambda upstream: whole(upstream, provider.url))
    assert caught.value.sent
    assert caught.value.begun


@pytest.mark.parametrize(
    "answer",
    [
        b"what is this\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        b"",
    ],
)
def test_what_is_no_answer_of_http_is_an_error_of_ours(answer: bytes) -> None:
    provider = Provider(answer, closes=True)
    with pytest.raises(TransportError) as caught:
        run(provider, lambda upstream: whole(upstream, provider.url))
    assert caught.value.phase == "read"
    assert caught.value.sent


def test_an_answer_that_changes_the_protocol_is_an_error_and_no_fault_of_ours() -> None:
    switching = b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nmore"
    provider = Provider(switching, closes=True)
    faults: list[Any] = []

    async def work(upstream: Upstream) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        with pytest.raises(TransportError):
            await whole(upstream, provider.url)

    run(provider, work)
    assert faults == []


def test_signs_that_an_answer_will_come_are_none() -> None:
    provider = Provider(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\na: b\r\n\r\n" + PLAIN)

    async def work(upstream: Upstream) -> tuple[int, Any, bytes]:
        reply = await upstream.send(HttpRequest(provider.url, {}, b""), SHORT)
        body = await reply.body(100)
        reply.close()
        return reply.status, dict(reply.headers), body

    assert run(provider, work) == (200, {"content-length": "5"}, b"hello")


def test_a_header_that_comes_twice_is_one_with_both_values() -> None:
    provider = Provider(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 0\r\n\r\n")

    async def work(upstream: Upstream) -> Any:
        reply = await upstream.send(HttpRequest(provider.url, {}, b""), SHORT)
        reply.close()
        return reply.headers["x-a"]

    assert run(provider, work) == "1, 2"


@pytest.mark.parametrize("packed", ["gzip", "deflate", "bare", "two", "cut", "garbage"])
def test_packed_answers_are_unpacked_or_refused(packed: str) -> None:
    text = b"hello " * 1000
    bare = zlib.compressobj(wbits=-15)
    body = {
        "gzip": gzip.compress(text),
        "deflate": zlib.compress(text),
        "bare": bare.compress(text) + bare.flush(),
        "two": gzip.compress(text[:600]) + gzip.compress(text[600:]),
        "cut": gzip.compress(text)[:-12],
        "garbage": b"\x1f\x8b" + b"x" * 50,
    }[packed]
    how = b"deflate" if packed in ("deflate", "bare") else b"gzip"
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: %b\r\ncontent-length: %d\r\n\r\n"
    provider = Provider(head % (how, len(body)) + body)
    if packed in ("cut", "garbage"):
        with pytest.raises(TransportError, match="before the response was complete"):
            run(provider, lambda upstream: whole(upstream, provider.url))
    else:
        assert run(provider, lambda upstream: whole(upstream, provider.url)) == text


@given(st.lists(st.binary(max_size=3000), max_size=4), st.integers(1, 400))
def test_packed_bytes_come_out_whole_however_they_are_cut(parts: list[bytes], size: int) -> None:
    packed = b"".join([gzip.compress(part) for part in parts])
    unpacker, out = Unpacker(), b""
    for at in range(0, len(packed), size):
        unpacker.add(packed[at : at + size])
        while piece := unpacker.rest():
            assert len(piece) <= UNPACKED
            out += piece
    assert out == b"".join(parts)
    assert unpacker.is_whole


def test_an_unknown_packing_is_refused() -> None:
    provider = Provider(b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx")
    with pytest.raises(TransportError, match="unknown content encoding 'br'"):
        run(provider, lambda upstream: whole(upstream, provider.url))


def test_who_reads_slowly_makes_the_provider_wait() -> None:
    size = 50 * 2**20
    provider = Provider(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"x" * size)

    async def work(upstream: Upstream) -> tuple[int, int]:
        reply = await upstream.send(HttpRequest(provider.url, {}, b""), SHORT)
        await asyncio.sleep(0.2)
        held, most, got = reply, 0, 0
        while piece := await held.chunk():
            most, got = max(most, len(piece)), got + len(piece)
        return most, got

    most, got = run(provider, work)
    assert got == size
    assert most < 2**20


def test_an_answer_beyond_the_limit_is_not_read() -> None:
    provider = Provider(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n" + b"x" * 5000)
    with pytest.raises(TooLarge):
        run(provider, lambda upstream: whole(upstream, provider.url, limit=100))


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\0b", "snow ☃"])
def test_a_header_that_would_become_two_is_not_sent(value: str) -> None:
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> None:
        for headers in ({"x": value}, {value: "x"}):
            with pytest.raises(TransportError, match="invalid request header") as caught:
                await upstream.send(HttpRequest(provider.url, headers, b""), SHORT)
            assert not caught.value.sent

    run(provider, work)
    assert provider.heads == []


def test_a_path_that_would_become_a_header_is_not_sent() -> None:
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> None:
        url = provider.url.replace("/v1", "/v1 HTTP/1.1\r\nx: y")
        with pytest.raises(TransportError, match="invalid provider URL"):
            await upstream.send(HttpRequest(url, {}, b""), SHORT)

    run(provider, work)
    assert provider.heads == []


def test_nobody_there_and_no_such_host_are_distinguished() -> None:
    async def work(upstream: Upstream) -> list[str]:
        phases = []
        for url in ("http://127.0.0.1:9/", "http://nobody.invalid/"):
            with pytest.raises(TransportError) as caught:
                await upstream.send(HttpRequest(url, {}, b""), SHORT)
            assert not caught.value.sent
            phases.append(caught.value.phase)
        return phases

    assert run(Provider(PLAIN), work) == ["connect", "dns"]


def test_a_request_that_is_cancelled_gives_back_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.gateway.upstream.transport.MOST", 1)
    provider = Provider(b"")

    async def work(upstream: Upstream) -> bytes:
        first = asyncio.ensure_future(whole(upstream, provider.url))
        await asyncio.sleep(0.05)
        second = asyncio.ensure_future(whole(upstream, provider.url))
        await asyncio.sleep(0.05)
        assert provider.connections == 1, "the second waits for its turn"
        provider.answers = [PLAIN]
        first.cancel()
        return await second

    assert run(provider, work) == b"hello"
    assert provider.connections == 2


def test_a_place_that_comes_to_one_who_was_just_cancelled_goes_to_the_next() -> None:
    async def work() -> None:
        slots = Slots(0)
        first, second, third = [asyncio.ensure_future(slots.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        slots.release()
        second.cancel()
        await third
        assert (first.cancelled(), second.cancelled(), slots.free) == (True, True, 0)
        slots.release()
        assert slots.free == 1

    asyncio.run(work())


def test_a_request_waits_for_its_turn_no_longer_than_for_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("interlingua.gateway.upstream.transport.MOST", 1)
    provider = Provider(b"")

    async def work(upstream: Upstream) -> None:
        first = asyncio.ensure_future(whole(upstream, provider.url))
        await asyncio.sleep(0.05)
        with pytest.raises(TransportError) as caught:
            await upstream.send(HttpRequest(provider.url, {}, b""), Limits(0.05, None, None, 5))
        assert (caught.value.phase, caught.value.late, caught.value.sent) == (
            "connect",
            True,
            False,
        )
        first.cancel()

    run(provider, work)
    assert provider.connections == 1


def test_long_waits_are_looked_after_together_and_end_in_time() -> None:
    provider = Provider(b"")

    async def work(upstream: Upstream) -> list[float]:
        begun = time.monotonic()

        async def ended(total: float, heard: bytes) -> float:
            provider.answers = [heard]
            limits = Limits(2, total, None, None) if not heard else Limits(2, None, total, None)
            with pytest.raises(TransportError) as caught:
                await whole(upstream, provider.url, limits=limits)
            assert caught.value.late
            return time.monotonic() - begun

        silent = asyncio.ensure_future(ended(1.3, b""))
        await asyncio.sleep(0.2)
        broken = asyncio.ensure_future(ended(1.3, PLAIN[:-1]))
        await asyncio.sleep(0.2)
        assert len(upstream._ticker.waits) == 2
        both = list(await asyncio.gather(silent, broken))
        assert not upstream._ticker.waits
        return both

    silent, broken = run(provider, work)
    assert 1.3 <= silent < 4
    assert 1.5 <= broken < 4


def test_an_unused_connection_is_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.gateway.upstream.transport.IDLE", 0.05)
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> bytes:
        await whole(upstream, provider.url)
        await asyncio.sleep(0.3)
        assert not upstream._open
        return await whole(upstream, provider.url)

    assert run(provider, work) == b"hello"
    assert provider.connections == 2


def test_a_connection_that_the_provider_closed_is_not_used() -> None:
    provider = Provider(PLAIN, closes=True)

    async def work(upstream: Upstream) -> list[bytes]:
        got = [await whole(upstream, provider.url)]
        await asyncio.sleep(0.05)
        return [*got, await whole(upstream, provider.url)]

    assert run(provider, work) == [b"hello", b"hello"]
    assert provider.connections == 2


def test_a_connection_has_an_end_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.gateway.upstream.transport.REQUESTS", 3)
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> list[bytes]:
        return [await whole(upstream, provider.url) for _ in range(7)]

    assert run(provider, work) == [b"hello"] * 7
    assert provider.connections == 3


def test_a_connection_has_an_end_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.gateway.upstream.transport.AGE", 0.2)
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> None:
        begun = time.monotonic()
        while time.monotonic() < begun + 0.5:
            await whole(upstream, provider.url)
            await asyncio.sleep(0.01)

    run(provider, work)
    assert 2 <= provider.connections <= 4


def test_a_request_on_a_connection_out_of_step_is_not_answered_by_it() -> None:
    provider = Provider(PLAIN, b"")

    async def work(upstream: Upstream) -> None:
        first = await upstream.send(HttpRequest(provider.url, {}, b""), SHORT)
        await first.body(100)
        second = asyncio.ensure_future(whole(upstream, provider.url))
        await asyncio.sleep(0.05)
        first.drop()  # type: ignore[attr-defined]  # it is a reply of this transport
        with pytest.raises(TransportError) as caught:
            await second
        assert (caught.value.phase, caught.value.begun) == ("read", False)

    run(provider, work)
    assert provider.connections == 1
