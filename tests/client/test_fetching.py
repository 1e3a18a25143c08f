"""Media by URL for models that want its data: what is fetched, and above all what is not."""

from __future__ import annotations

import asyncio
import base64
import gzip
import socket
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

import interlingua as il
from interlingua.client.fetching import InlinedRequest, MediaFetcher, is_public
from interlingua.client.retry import Clock
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.profiles.profile import profile_of
from tests.client.scripted import scripted

NOVA = profile_of("amazon.nova-pro-v1:0", "bedrock", "bedrock")
LLAVA = profile_of("llava", "ollama", "ollama")
PIXEL = b"\x89PNG not much of a picture"
HERE = "127.0.0.1"
NEXT_DOOR = "127.0.0.2"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Site:
    """A server that keeps what it was asked."""

    def __init__(self, pages: dict[str, Any]) -> None:
        self.pages = pages
        self.asked: list[web.Request] = []
        self.port = 0

    def url(self, path: str = "/a.png", host: str = HERE) -> str:
        return f"http://{host}:{self.port}{path}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        page = self.pages[request.path]
        if callable(page):
            done: web.StreamResponse = await page(request)
            return done
        kind, data = page
        return web.Response(body=data, headers={"content-type": kind, "set-cookie": "a=b"})


@asynccontextmanager
async def site(pages: dict[str, Any] | None = None, host: str = HERE) -> AsyncIterator[Site]:
    here = Site({"/a.png": ("image/png", PIXEL)} if pages is None else pages)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", here.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    here.port = runner.addresses[0][1]
    try:
        yield here
    finally:
        await runner.cleanup()


def image(url: str) -> ImageBlock:
    return ImageBlock(Source("url", url))


async def inlined(*blocks: Any, **how: Any) -> InlinedRequest:
    fetcher = MediaFetcher(**{"also_at": [HERE], **how})
    try:
        return await fetcher.inlined(Request((Message(Role.USER, blocks),)), NOVA)
    finally:
        await fetcher.close()


async def problem_of(*blocks: Any, **how: Any) -> str:
    """Why the last of these is not there."""
    done = await inlined(*blocks, **how)
    assert type(done.request.messages[0].content[-1]) is TextBlock
    return done.notes[-1].problem or ""


# -- what is fetched ------------------------------------------------------------------------------


def test_media_comes_with_its_data_and_its_type_and_the_report_says_so() -> None:
    async def go() -> None:
        async with site() as here:
            done = await inlined(TextBlock("what is this?"), image(here.url()))
            block: Any = done.request.messages[0].content[1]
            assert base64.b64decode(block.source.data) == PIXEL
            assert (block.source.kind, block.media_type) == ("base64", "image/png")
            report = Report("bedrock")
            done.tell(report)
            (loss,) = report.notes
            assert (loss.kind, loss.severity) == ("approximated", "info")
            assert (loss.path, loss.rule) == ("$.messages[0].content[1]", "bedrock-converse")

    asyncio.run(go())


def test_media_inside_results_is_fetched_and_the_same_address_once() -> None:
    async def go() -> None:
        async with site() as here:
            result = ToolResultBlock("c1", (TextBlock("so"), image(here.url())))
            done = await inlined(image(here.url()), result)
            outcome: Any = done.request.messages[0].content[1]
            assert outcome.content[1].source.kind == "base64"
            assert [note.path for note in done.notes] == [
                "$.messages[0].content[0]",
                "$.messages[0].content[1].content[1]",
            ]
            assert len(here.asked) == 1

    asyncio.run(go())


def test_a_document_of_text_comes_as_text() -> None:
    async def go() -> None:
        async with site({"/a.md": ("text/markdown; charset=utf-8", "Grüße".encode())}) as here:
            done = await inlined(DocumentBlock(Source("url", here.url("/a.md"))))
            block: Any = done.request.messages[0].content[0]
            assert block.source == Source("text", "Grüße")
            assert block.media_type == "text/markdown"

    asyncio.run(go())


def test_neither_credentials_nor_cookies_are_sent() -> None:
    async def go() -> None:
        async def elsewhere(_: web.Request) -> web.Response:
            headers = {"location": "/a.png", "set-cookie": "s=1; Path=/"}
            return web.Response(status=302, headers=headers)

        pages = {"/from": elsewhere, "/a.png": ("image/png", PIXEL)}
        async with site(pages) as here:
            done = await inlined(image(here.url("/from")))
            assert done.notes[0].problem is None
            for request in here.asked:
                assert request.method == "GET"
                collected = {name.lower() for name in request.headers}
                assert collected <= {
                    "host",
                    "user-agent",
                    "accept",
                    "accept-encoding",
                    "connection",
                }

    asyncio.run(go())


@pytest.mark.parametrize(
    "block",
    [
        ImageBlock(Source("url", "s3://bucket/a.png")),
        ImageBlock(Source("base64", "aGk="), "image/png"),
        DocumentBlock(Source("text", "hi")),
        AudioBlock(Source("url", "https://example.com/a.mp3")),  # Nova takes no sound
    ],
)
def test_what_the_model_takes_or_refuses_anyway_is_not_fetched(block: Any) -> None:
    done = asyncio.run(inlined(block))
    assert done.request.messages[0].content == (block,)
    assert done.notes == ()


# -- what is not ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1.2.3", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
        *("198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1"),
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "fe80::1"),
        *("fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2002:7f00:1::"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2001::1", "2001:db8::1", "2600::1%lo"),
        *("2130706433", "0x7f.1", "017700000001", "127.1", "localhost", "8.8.8.8.", ""),
    ],
)
def test_this_is_no_public_address(host: str) -> None:
    assert not is_public(host)


@pytest.mark.parametrize("host", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450::1"])
def test_this_is_a_public_address(host: str) -> None:
    assert is_public(host)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "0"),
        *("[::1]", "[::ffff:127.0.0.1]", "localhost", "localhost.", "LOCALHOST", "[::]"),
        *("169.254.169.254", "10.0.0.1", "１２７.0.0.1", "127。0。0。1"),
    ],
)
def test_no_spelling_of_a_private_address_is_connected_to(host: str) -> None:
    async def go() -> None:
        async with site() as here:
            problem = await problem_of(image(here.url(host=host)), also_at=())
            assert problem
            assert here.asked == []

    asyncio.run(go())


def test_a_name_that_leads_to_loopback_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = socket.getaddrinfo

    def look_up(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        return found(HERE if host == "pictures.example" else host, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    async def go() -> None:
        async with site() as here:
            url = here.url(host="pictures.example")
            refused = await problem_of(image(url), also_at=())
            assert refused == "its address is not on the public internet"
            assert here.asked == []
            assert (await inlined(image(url))).notes[0].problem is None  # where it is allowed

    asyncio.run(go())


def test_a_redirect_to_a_private_address_is_refused() -> None:
    async def go() -> None:
        async with site(host=NEXT_DOOR) as private:

            async def elsewhere(_: web.Request) -> web.Response:
                raise web.HTTPFound(private.url(host=NEXT_DOOR))

            async with site({"/from": elsewhere}) as here:
                refused = await problem_of(image(here.url("/from")))
                assert refused == "its address is not on the public internet"
                assert private.asked == []

    asyncio.run(go())


def redirects_to(place: str) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"location": place})

    return answer


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("file:///etc/passwd", "only http and https are fetched"),
        ("ftp://example.com/a.png", "only http and https are fetched"),
        ("http://me:word@example.com/a.png", "the URL has credentials in it"),
        ("/from", "more than 3 redirects"),
        ("http://[", "a redirect to an invalid URL"),
    ],
)
def test_redirects_are_looked_at_like_addresses(place: str, why: str) -> None:
    async def go() -> None:
        async with site({"/from": redirects_to(place)}) as here:
            assert await problem_of(image(here.url("/from"))) == why
            assert len(here.asked) == (4 if place == "/from" else 1)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://me:word@example.com/a.png", "the URL has credentials in it"),
        ("http://me@example.com/a.png", "the URL has credentials in it"),
        ("http://", "not a valid URL"),
        ("http://[::1/a.png", "not a valid URL"),
        ("http://example.com:99999/", "not a valid URL"),
        ("http://example.com\\@127.0.0.1/", "not a valid URL"),
        ("http://example.com/a b", "not a valid URL"),
        ("https://example.com/" + "a" * 9000, "not a valid URL"),
    ],
)
def test_what_is_no_plain_address_is_not_asked_for(url: str, why: str) -> None:
    assert asyncio.run(problem_of(image(url))) == why


@pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", "", "video/mp4"])
def test_a_picture_has_to_be_one(kind: str) -> None:
    async def go() -> None:
        async with site({"/a.png": (kind, b"<html>")}) as here:
            assert "content type" in await problem_of(image(here.url()))

    asyncio.run(go())


@pytest.mark.parametrize(
    ("block", "kind", "taken"),
    [
        (VideoBlock, "video/mp4", True),
        (VideoBlock, "image/png", False),
        (DocumentBlock, "application/pdf", True),
        (DocumentBlock, "image/png", False),
    ],
)
def test_each_kind_of_block_has_types_of_its_own(block: Any, kind: str, taken: bool) -> None:
    async def go() -> None:
        async with site({"/a": (kind, b"data")}) as here:
            done = await inlined(block(Source("url", here.url("/a"))))
            assert (done.notes[0].problem is None) is taken

    asyncio.run(go())


async def _in_pieces(request: web.Request) -> web.StreamResponse:
    reply = web.StreamResponse(headers={"content-type": "image/png"})
    await reply.prepare(request)
    for _ in range(8):
        await reply.write(b"x" * 100)
    return reply


async def _packed(request: web.Request) -> web.StreamResponse:
    reply = web.Response(body=b"x" * 5000, headers={"content-type": "image/png"})
    reply.enable_compression(web.ContentCoding.gzip)
    return reply


def test_a_bomb_is_unpacked_no_further_than_its_limit() -> None:
    packed = gzip.compress(b"\0" * 280_000_000)
    assert len(packed) < 300_000

    async def bomb(request: web.Request) -> web.StreamResponse:
        headers = {"content-type": "image/png", "content-encoding": "gzip"}
        return web.Response(body=packed, headers=headers)

    async def fetch() -> int:
        async with site({"/a.png": bomb}) as here:
            fetcher = MediaFetcher(max_bytes=500_000, also_at=[HERE])
            request = Request((Message(Role.USER, (image(here.url()),)),))
            tracemalloc.start()
            done = await fetcher.inlined(request, NOVA)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            await fetcher.close()
            assert "more than 500000 bytes" in str(done.notes[0].problem)
            return peak

    assert asyncio.run(fetch()) < 10_000_000


@pytest.mark.parametrize("page", [("image/png", b"x" * 501), _in_pieces, _packed])
def test_there_is_a_limit_for_bytes_told_or_not_packed_or_not(page: Any) -> None:
    async def go() -> None:
        async with site({"/a.png": page}) as here:
            problem = await problem_of(image(here.url()), max_bytes=500)
            assert problem == "more than 500 bytes in one request"

    asyncio.run(go())


def test_the_limit_holds_for_all_of_a_request() -> None:
    async def go() -> None:
        page = ("image/png", b"x" * 300)
        async with site({"/a.png": page, "/b.png": page}) as here:
            done = await inlined(image(here.url()), image(here.url("/b.png")), max_bytes=500)
            assert sorted([note.problem or "" for note in done.notes]) == [
                "",
                "more than 500 bytes in one request",
            ]

    asyncio.run(go())


def test_there_is_a_limit_for_time() -> None:
    async def go() -> None:
        async def never(_: web.Request) -> web.Response:
            await asyncio.Event().wait()
            return web.Response()

        async with site({"/a.png": never}) as here:
            problem = await problem_of(image(here.url()), seconds=0.05)
            assert problem == "not received within 0.05 seconds"

    asyncio.run(go())


def test_there_is_a_limit_for_how_many() -> None:
    async def go() -> None:
        async with site() as here:
            done = await inlined(*[image(here.url(f"/a.png?{n}")) for n in range(12)])
            problems = [note.problem for note in done.notes]
            assert problems == [None] * 10 + ["more than 10 in one request"] * 2
            assert len(here.asked) == 10

    asyncio.run(go())


@pytest.mark.parametrize("status", [204, 404, 500, 304])
def test_an_answer_without_media_is_told_with_its_status(status: int) -> None:
    async def go() -> None:
        async def answer(_: web.Request) -> web.Response:
            return web.Response(status=status)

        async with site({"/a.png": answer}) as here:
            assert await problem_of(image(here.url())) == f"answered with status {status}"

    asyncio.run(go())


def test_a_host_that_is_not_there_is_reported() -> None:
    with socket.socket() as taken:
        taken.bind((HERE, 0))
        url = f"http://{HERE}:{taken.getsockname()[1]}/a.png"
        assert "connection failed" in asyncio.run(problem_of(image(url)))


# -- in a call ------------------------------------------------------------------------------------

REPLY = il.Response(il.Message.assistant("a cat"))


async def ask(here: Site, **how: Any) -> tuple[Any, il.Answer]:
    """What the provider was asked, and the answer."""
    async with scripted("ollama", REPLY) as server:
        client = il.AsyncClient(base_urls={"ollama": server.url}, environ={}, **how)
        async with client:
            asked = il.Message(Role.USER, (TextBlock("what?"), image(here.url())))
            answer = await client.generate("ollama:llava", asked)
        return server.asked[0], answer


def test_a_client_fetches_only_if_it_is_told_to() -> None:
    async def go() -> None:
        async with site() as here:
            wire, answer = await ask(here)
            assert here.asked == []
            assert "images" not in wire["messages"][0]
            (loss,) = [each for each in answer.report.entries if each.rule == "ollama-url"]
            assert (loss.kind, loss.severity) == ("dropped", "error")
            assert "fetch_media=True" in loss.reason

    asyncio.run(go())


def test_a_client_that_is_told_to_sends_the_data() -> None:
    async def go() -> None:
        async with site() as here:
            wire, answer = await ask(here, fetch_media=MediaFetcher(also_at=[HERE]))
            assert wire["messages"][0]["images"] == [base64.b64encode(PIXEL).decode()]
            (loss,) = [each for each in answer.report.entries if each.rule == "ollama-url"]
            assert (loss.kind, loss.path) == ("approximated", "$.messages[0].content[1]")

    asyncio.run(go())


def test_what_cannot_be_fetched_is_left_out_and_the_call_goes_on() -> None:
    async def go() -> None:
        async with site() as here:
            wire, answer = await ask(here, fetch_media=True)
            assert here.asked == []
            assert "it could not be fetched" in wire["messages"][0]["content"]
            (loss,) = [each for each in answer.report.entries if each.rule == "ollama-url"]
            assert (loss.kind, loss.severity) == ("dropped", "error")
            assert "not on the public internet" in loss.reason
            assert answer.response.message.text == "a cat"

    asyncio.run(go())


def test_another_try_of_a_call_does_not_fetch_again() -> None:
    async def go() -> None:
        fetcher = MediaFetcher(also_at=[HERE])
        async with site({"/a.png": ("image/png", PIXEL), "/b.png": ("image/png", PIXEL)}) as here:
            a, b = image(here.url()), image(here.url("/b.png"))
            first, both = (Request((Message(Role.USER, each),)) for each in ((a,), (a, b)))
            remaining: dict[Any, Any] = {}
            for request, asked in ((first, 1), (first, 1), (both, 2)):
                result = await fetcher.inlined(request, LLAVA, cache=remaining)
                assert len(here.asked) == asked
                assert [note.problem for note in result.notes] == [None] * len(result.notes)
        await fetcher.close()

    asyncio.run(go())


def test_a_client_that_tries_again_fetches_once_and_keeps_nothing() -> None:
    async def go() -> None:
        async with site() as here, scripted("ollama", REPLY, REPLY, REPLY) as server:
            fetcher = MediaFetcher(also_at=[HERE])
            async with il.AsyncClient(
                base_urls={"ollama": server.url}, environ={}, fetch_media=fetcher
            ) as client:
                asker = client.asker
                call = client.call("ollama:llava", il.Message(Role.USER, (image(here.url()),)))
                for _ in range(2):
                    await asker.answer("ollama:llava", call, Clock(None))
                assert len(here.asked) == 1
                client.end(call.id)
                await asker.answer("ollama:llava", call, Clock(None))
                assert len(here.asked) == 2

    asyncio.run(go())


def test_a_stream_fetches_as_well() -> None:
    async def go() -> None:
        async with site() as here, scripted("ollama", REPLY) as server:
            fetcher = MediaFetcher(also_at=[HERE])
            client = il.AsyncClient(
                base_urls={"ollama": server.url}, environ={}, fetch_media=fetcher
            )
            asked = il.Message(Role.USER, (image(here.url()),))
            async with client, client.stream("ollama:llava", asked) as stream:
                async for _ in stream:
                    pass
            assert server.asked[0]["messages"][0]["images"]

    asyncio.run(go())


def test_conversions_never_fetch() -> None:
    async def go() -> None:
        async with site() as here:
            asked = Request((Message(Role.USER, (image(here.url()),)),), "llava")
            done = il.fit(asked, LLAVA)
            assert here.asked == []
            assert [loss.rule for loss in done.report.entries] == ["ollama-url"]

    asyncio.run(go())
