"""HTTP itself: proxies, certificates, limits, and connections that are used again."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from interlingua.client import AsyncClient, CallError, NetworkError, RetryPolicy
from interlingua.client.transport import (
    HttpRequest,
    HttpTransport,
    Limits,
    TooLarge,
    TransportError,
    _proxy_of,
)
from interlingua.client.transport_errors import UNPACKED
from interlingua.errors import InterlinguaError
from interlingua.gateway.upstream.transport import Upstream
from tests.client import served
from tests.client.served import KEYS, MODELS, TEXT, client_of, serving

SONNET = MODELS["anthropic"]
Made = type[HttpTransport] | type[Upstream]
both = pytest.mark.parametrize("made", [HttpTransport, Upstream])
"""The client's own transport, and the gateway's, keep the same promises."""
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
SHORT = Limits(connect=2, first_byte=2, idle=2, total=5)


@asynccontextmanager
async def answering(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    scheme = "https" if tls else "http"
    try:
        yield f"{scheme}://localhost:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def asking(transport: HttpTransport | Upstream, url: str) -> AsyncClient:
    return AsyncClient(base_urls={"anthropic": url}, keys=KEYS, environ={}, transport=transport)


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    wire = served.whole("anthropic").body
    return web.Response(body=wire, content_type="application/json")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that nobody but its holder trusts."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl program to make a certificate")
    folder = tmp_path_factory.mktemp("certificates")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        [*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    return cert, key


def trusting(cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    return context


@both
@pytest.mark.parametrize("how", ["argument", "variable"])
def test_an_own_certificate_authority_is_trusted_when_it_is_named(
    certificate: tuple[Path, Path], how: str, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certificate
    if how == "variable":
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))

    async def main() -> str:
        async with answering(answer, trusting(cert, key)) as url:
            ca = str(cert) if how == "argument" else None
            async with asking(made(ca=ca), url) as client:
                return (await client.generate(SONNET, "Hello")).text

    assert asyncio.run(main()) == TEXT


@both
def test_a_certificate_that_nobody_trusts_is_refused_and_not_tried_again(
    certificate: tuple[Path, Path], made: Made
) -> None:
    async def main() -> None:
        async with answering(answer, trusting(*certificate)) as url, asking(made(), url) as client:
            with pytest.raises(NetworkError, match="certificate") as caught:
                await client.generate(SONNET, "Hello")
        assert caught.value.phase == "tls"
        assert not caught.value.sent
        assert len(caught.value.attempts) == 1

    asyncio.run(main())


@both
def test_a_file_without_certificates_is_named(tmp_path: Path, made: Made) -> None:
    async def main() -> None:
        ca = str(tmp_path / "missing.pem")
        async with asking(made(ca=ca), "https://localhost:1") as client:
            with pytest.raises(InterlinguaError, match=r"missing\.pem"):
                await client.generate(SONNET, "Hello")

    asyncio.run(main())


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_requests_go_through_a_proxy_with_its_own_credentials(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str | None]] = []

    async def note(request: web.BaseRequest) -> web.StreamResponse:
        asked.append((str(request.url), request.headers.get("Proxy-Authorization")))
        return await answer(request)

    async def main() -> str:
        async with answering(note) as url:
            through = url.replace("http://", "http://me:pass%20word@")
            if how == "variable":
                monkeypatch.setenv("HTTP_PROXY", through)
                monkeypatch.setenv("http_proxy", through)
                monkeypatch.setenv("NO_PROXY", "elsewhere.example")
            places = {"ollama": "http://models.example"}
            value = through if how == "argument" else None
            async with AsyncClient(base_urls=places, environ={}, proxy=value) as client:
                wire = await client.generate(MODELS["ollama"], "Hello", dialect="anthropic")
                return wire.text

    assert asyncio.run(main()) == TEXT
    assert asked == [("http://models.example/v1/messages", "Basic bWU6cGFzcyB3b3Jk")]


@both
def test_https_goes_through_a_tunnel(certificate: tuple[Path, Path], made: Made) -> None:
    cert, key = certificate
    tunnels: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        tunnels.append(head)
        port = int(head.split(b" ")[1].rpartition(b":")[2])
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, outer), pump(inner, writer))

    async def main() -> str:
        server = await asyncio.start_server(tunnel, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with answering(answer, trusting(cert, key)) as url, server:
            through = made(ca=str(cert), proxy=f"http://127.0.0.1:{port}")
            async with asking(through, url) as client:
                text = (await client.generate(SONNET, "Hello")).text
            await asyncio.sleep(0.05)
        return text

    assert asyncio.run(main()) == TEXT
    assert tunnels[0].startswith(b"CONNECT localhost:")
    assert KEYS["anthropic"].encode() not in tunnels[0]


def test_a_proxy_that_is_not_there_is_named_as_what_failed() -> None:
    async def main() -> None:
        places = {"ollama": "http://models.example"}
        client = AsyncClient(
            base_urls=places, environ={}, proxy="http://127.0.0.1:9", retry=RetryPolicy(0)
        )
        async with client:
            with pytest.raises(NetworkError, match="proxy") as caught:
                await client.generate(MODELS["ollama"], "Hello")
        assert caught.value.phase == "proxy"

    asyncio.run(main())


def test_which_hosts_go_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ALL_PROXY", raising=False)
    monkeypatch.delenv("all_proxy", raising=False)
    assert _proxy_of("https", "api.example") is None
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example,10.0.0.1")
    assert _proxy_of("https", "api.example") == "http://proxy.example:3128"
    assert _proxy_of("http", "api.example") is None
    for host in ("inside.example", "a.inside.example", "10.0.0.1", "localhost", "127.0.0.1", "::1"):
        assert _proxy_of("https", host) is None


@both
@pytest.mark.parametrize("size", [100, 1000])
def test_a_body_is_read_up_to_a_limit_whether_it_says_its_length_or_not(
    size: int, made: Made
) -> None:
    async def chunked(request: web.BaseRequest) -> web.StreamResponse:
        reply = web.StreamResponse()
        await reply.prepare(request)
        for _ in range(size // 10):
            await reply.write(b"0123456789")
        return reply

    async def plain(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"0" * size)

    async def main() -> None:
        for handler in (chunked, plain):
            async with answering(handler) as url:
                transport = made()
                reply = await transport.send(HttpRequest(url, {}, b""), SHORT)
                if size <= 500:
                    assert len(await reply.body(500)) == size
                else:
                    with pytest.raises(TooLarge):
                        await reply.body(500)
                reply.close()
                await transport.close()

    asyncio.run(main())


@both
def test_a_bomb_of_a_gigabyte_takes_no_more_memory_than_its_limit(made: Made) -> None:
    """U15: 1 GB of zeros in 1 MB, in a process of its own so that its memory can be told."""
    program = f"""
import asyncio, sys
from tests.client import test_transport as here
print(asyncio.run(here.bombed(here.{made.__name__})))
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={"PYTHONPATH": "src:.", "PATH": ""},
    )
    assert int(run.stdout) < 100 * 2**20


@both
def test_a_packed_answer_is_unpacked_in_small_pieces_whatever_the_http_library_does(
    made: Made,
) -> None:
    packed = gzip.compress(b"\0" * 2**25)

    async def bomb(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=packed, headers={"content-encoding": "gzip"})

    async def main() -> tuple[int, int]:
        transport, most, size = made(), 0, 0
        async with answering(bomb) as url:
            reply = await transport.send(HttpRequest(url, {}, b""), SHORT)
            await asyncio.sleep(0.1)  # until all of it is here
            while piece := await reply.chunk():
                most, size = max(most, len(piece)), size + len(piece)
            reply.close()
            await transport.close()
        return most, size

    assert asyncio.run(main()) == (UNPACKED, 2**25)


async def bombed(made: Made) -> int:
    """How much the peak of memory grows by a bomb that is refused."""
    piece = gzip.compress(b"\0" * 2**24, 9)

    async def bomb(request: web.BaseRequest) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"content-encoding": "gzip"})
        await reply.prepare(request)
        for _ in range(64):
            await reply.write(piece)
        return reply

    def peak() -> int:
        status = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])

    async with answering(bomb) as url:
        transport = made()
        before = peak()
        reply = await transport.send(HttpRequest(url, {}, b""), Limits())
        try:
            await reply.body(64 * 2**20)
        except TooLarge:
            reply.close()
        else:
            raise AssertionError("a gigabyte was accepted")
        await transport.close()
        return peak() - before


@both
@pytest.mark.parametrize(
    ("status", "body", "connections"),
    [
        (200, b"{", 2),
        (200, b'{"an": "answer to something else"}', 2),
        (400, b"<html>", 2),
        (400, b'{"error": {"message": "no"}}', 1),
        (400, b"", 1),
    ],
)
def test_a_connection_whose_answer_cannot_be_read_is_not_used_again(
    status: int, body: bytes, connections: int, made: Made
) -> None:
    ports = set()

    async def odd_then_good(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        first = not ports
        ports.add(request.transport.get_extra_info("peername")[1])
        if first:
            return web.Response(status=status, body=body, content_type="application/json")
        return await answer(request)

    async def main() -> None:
        async with answering(odd_then_good) as url, asking(made(), url) as client:
            with pytest.raises(CallError):
                await client.generate(SONNET, "Hello")
            assert (await client.generate(SONNET, "Hello")).text == TEXT

    asyncio.run(main())
    assert len(ports) == connections


@both
@pytest.mark.parametrize("url", ["ftp://example.com/", "http://", "http://host:port/"])
def test_a_url_that_is_none_is_an_error_of_ours(url: str, made: Made) -> None:
    async def main() -> None:
        transport = made()
        with pytest.raises(TransportError):
            await transport.send(HttpRequest(url, {}, b""), SHORT)
        await transport.close()

    asyncio.run(main())


@both
def test_cookies_are_not_kept(made: Made) -> None:
    cookies: list[str | None] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        cookies.append(request.headers.get("Cookie"))
        reply = await answer(request)
        reply.set_cookie("who", "you")
        return reply

    async def main() -> None:
        async with answering(handler) as url, asking(made(), url) as client:
            await client.generate(SONNET, "Hello")
            await client.generate(SONNET, "Hello")

    asyncio.run(main())
    assert cookies == [None, None]


def test_no_provider_sdk_is_imported() -> None:
    program = """
import sys
from interlingua.client import AsyncClient
AsyncClient(environ={})
names = {name.partition(".")[0] for name in sys.modules}
print(sorted(names & {"anthropic", "openai", "google", "ollama", "botocore", "boto3", "mistralai",
    "openrouter", "httpx", "requests", "aiohttp"}))
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PATH": ""},
    )
    assert run.stdout.strip() == "[]", "not even aiohttp before it is needed"


def test_without_aiohttp_the_error_names_the_extra() -> None:
    program = """
import asyncio, sys
sys.modules["aiohttp"] = None
from interlingua.client import Client
try:
    Client(environ={}).generate("ollama:x", "Hello")
except Exception as odd:
    print(type(odd).__name__, odd)
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PATH": ""},
    )
    assert "MissingExtraError" in run.stdout
    assert "interlingua[client]" in run.stdout


def test_a_stale_connection_is_replaced_without_a_wait() -> None:
    """The first try on a connection that was closed under our hands is for free."""

    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            async with client_of(server, "whole-anthropic", retry=RetryPolicy(0)) as client:
                await client.generate(SONNET, "Hello")
                transport = client.asker.transport
                assert isinstance(transport, HttpTransport)
                assert transport._session is not None
                connector = transport._session.connector
                assert connector is not None
                for held in connector._conns.values():
                    for protocol, _ in held:
                        assert protocol.transport is not None
                        protocol.transport.close()  # closing, and not yet noticed by the pool
                answer = await client.generate(SONNET, "Hello")
            assert answer.text == TEXT
            assert len(server.received) == 2

    asyncio.run(main())


@both
def test_what_arrived_together_with_the_break_is_handed_out_before_it(made: Made) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        writer.write(b"5\r\nworld\r\n")
        writer.close()

    async def work() -> tuple[bytes, TransportError]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = made()
        reply = await transport.send(HttpRequest(f"http://127.0.0.1:{port}/", {}, b""), Limits())
        await asyncio.sleep(0.1)  # so that all of it is here, its end included
        got = b""
        try:
            while piece := await reply.chunk():
                got += piece
        except TransportError as broken:
            return got, broken
        finally:
            reply.close()
            await transport.close()
            server.close()
        raise AssertionError("the end was taken for a proper one")

    got, broken = asyncio.run(work())
    assert got == b"helloworld"
    assert broken.begun
